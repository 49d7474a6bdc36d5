"""The last steps: the landing in the warehouse, which compares the round with the previous one, and pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore import wire
from dpcore.results import warehouse
from dpcore.results.checks import table_quality
from dpcore.results.tables import comparisons
from dpcore.results.tables.trend_rows import trends_of
from dpcore.results.text.phrases import records, titled
from dpcore.results.text.relation_phrases import sides_of
from dpcore.rounds.defaults import has_charts
from dpcore.rounds.run import Run, State, step
from dpcore.rounds.steps.collected_files import batches_of, check_not_overtaken
from dpcore.wire import inbox
from dpcore.wire.locks import alone


@step("land")
def land(run: Run) -> list[str]:
    """Land a run's tables in one transaction and return the run_ids that were compared with the round before.

    These are this run and the one of the next round.  Landing again writes the same rows.  The reports are deleted unless the
    plan keeps them.  The round is closed in a folder of collected reports, for the collector.
    """
    plan = run.plan
    check_not_overtaken(run)
    tables = run.tables()
    # Older versions made comparisons and these checks before the landing; now they are part of it.
    tables["comparisons"] = tables["comparisons"].query("other_run_id == @plan.run_id")
    judged = tables["checks"]["name"].str.startswith(("quality(", "drift("))
    tables["checks"] = pd.concat([tables["checks"][~judged], table_quality.verdicts(tables)], ignore_index=True)
    if batches := batches_of(run):
        tables["batches"] = pd.DataFrame(batches)[["file", "sent_for", "reports"]]
    landing = warehouse.Landing(row_of(run), tables, plan.again)
    file = Path(plan.warehouse)
    compared = warehouse.land(file, landing, judge=comparisons.judge, smoother=trends_of)
    if plan.again and not plan.is_trial:  # valid once: a later `estimate` must not replace a newer run of the round
        Run(run.folder, replace(Run.at(run.folder).plan, again=False)).keep()
    if plan.is_rehearsal:  # tables for the owner only
        for database in run.folder.glob(f"{Path(warehouse.REHEARSAL).stem}*"):
            database.chmod(0o600)
    if plan.source == "reports":
        inbox.close(wire.location(plan.input), plan.round)
    if not plan.keep_reports:  # only the run's own reports, not a folder of collected ones
        wire.remove_folder(run.folder / "reports")
    share(run)
    return list(compared)


@step("draw")
def draw(run: Run, compared: Sequence[str]) -> list[Path]:
    """Draw the pictures of a landed run, add them to `figures`, and return their files.

    compared: run_ids whose changes since the round before are drawn, as `land` returns them.
    Without the extra `charts` nothing is drawn.
    """
    if not has_charts():
        return []
    from dpcore.results import plots  # only this step needs matplotlib; Dask's workers do not

    plan, tables = run.plan, run.tables()
    pictures: dict[str, bytes] = {}
    folders = {run_id: folder for run_id in compared if (folder := _figures_of(run, run_id)) is not None}
    with titled(run.scheme.canonical):
        for name, attribute in run.scheme.attributes.items():
            pictures |= plots.attribute_pictures(name, tables, attribute.unit, run_id=plan.run_id)
        if "associations" in tables:
            pictures |= plots.pair_pictures(tables, sides_of(records(tables["attributes"]), run.scheme.canonical))
        drawn = [
            _write_pictures(plan.run_id, wire.location(plan.figures), pictures),
            *(_write_pictures(run_id, folder, _change_pictures(run, run_id)) for run_id, folder in folders.items()),
        ]
    rows = pd.concat(drawn, ignore_index=True)
    warehouse.add_figures(plan.warehouse, rows)
    share(run)
    return [wire.location(path) for path in rows["path"]]


def drawable(data: Path, run_id: str) -> Run | None:
    """Return a landed run if its pictures can be drawn: its folder has its tables, and this user may write there."""
    folder = wire.location(data) / "runs" / run_id
    if not has_charts() or not (folder / "plan.json").exists() or not os.access(folder, os.W_OK):
        return None
    run = Run.at(folder)
    return run if run.state >= State.ESTIMATED else None


def share(run: Run) -> None:
    """Copy the warehouse's published copy to the data folder if that is an object store, for readers there.

    A lock ensures that the last copy is the newest.  Raises OSError if the store rejects it.
    """
    copy, waits = warehouse.published(run.plan.warehouse), f"the copy of {run.plan.warehouse} at {run.data}"
    if not wire.is_here(run.data) and copy.exists():
        with alone(copy.with_name(f".{copy.name}.lock"), waits, f"round {run.plan.round}"):
            wire.write_bytes(run.data / copy.name, copy.read_bytes())


def land_failure(run: Run) -> None:
    """Land a failed run: one row of `runs`."""
    started = datetime.fromisoformat(run.plan.started_at)
    warehouse.land_failure(run.plan.warehouse, replace(row_of(run), started_at=started, finished_at=datetime.now(UTC)))
    share(run)


def row_of(run: Run, *, clients: int | None = None) -> warehouse.RunRow:
    """Return the run's row of `runs`, without the seed of a dry run.

    clients: number of clients of a run that is held back; the accepted reports are then null.
    """
    plan, scheme = run.plan, run.scheme
    counts: dict[str, Any] = {} if clients is not None else run.read_json("tables/counts.json", {})
    total = counts.get("accepted", 0) + counts.get("rejected", 0)
    return warehouse.RunRow(
        run_id=plan.run_id,
        scheme=scheme.name,
        scheme_digest=scheme.digest,
        round=plan.round,
        source=plan.source,
        randomness="seeded" if plan.is_rehearsal or plan.seed is not None else "secure",
        seed=plan.seed,
        trial=plan.is_trial,
        clients=clients if clients is not None else plan.clients or total or None,
        accepted=counts.get("accepted"),
        rejected=counts.get("rejected"),
        late=sum(batch.reports for batch in batches_of(run) if batch.is_late(plan.round)) if counts else None,
        started_at=datetime.fromisoformat(counts.get("started_at", plan.started_at)),
        finished_at=datetime.fromisoformat(counts["finished_at"]) if counts else datetime.now(UTC),
        version=version("ldpflow"),
        flow_run_id=counts.get("flow_run_id", plan.flow_run_id),
    )


def _figures_of(run: Run, run_id: str) -> Path | None:
    """The folder with the pictures of a landed run; None if it has none, or they were deleted."""
    if run_id == run.plan.run_id:
        return wire.location(run.plan.figures)
    drawn = warehouse.query(run.plan.warehouse, f"select path from figures where run_id = '{run_id}' limit 1")
    return None if drawn.empty else wire.location(drawn["path"].iloc[0]).parent


def _change_pictures(run: Run, run_id: str) -> dict[str, bytes]:
    """Draw the changes of a landed round since the round before: name -> PNG."""
    from dpcore.results import plots

    rows = warehouse.query(
        run.plan.warehouse,
        'select comparisons.*, "round" as previous from comparisons join runs on runs.run_id = other_run_id '
        f"where comparisons.run_id = '{run_id}' and other_run_id <> comparisons.run_id order by comparisons.rowid",
    )
    if rows.empty:
        return {}
    previous = str(rows.pop("previous").iloc[0])
    pictures: dict[str, bytes] = {}
    for name, attribute in run.scheme.attributes.items():
        own = rows[rows["attribute"] == name]
        pictures |= plots.difference_pictures(name, own, unit=attribute.unit, previous=previous, run_id=run_id)
    return pictures


def _write_pictures(run_id: str, folder: Path, pictures: Mapping[str, bytes]) -> pd.DataFrame:
    """Write pictures and return their rows of `figures`."""
    paths = {name: folder / f"{name}.png" for name in pictures}
    for name, content in pictures.items():
        wire.write_bytes(paths[name], content)
    return pd.DataFrame({"run_id": run_id, "name": list(paths), "path": [str(path) for path in paths.values()]})
