"""The last steps: pictures, and the landing in the warehouse, which compares the round with the previous one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore import wire
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.results.checks import table_quality
from dpcore.results.tables import comparisons
from dpcore.results.text.joint_phrases import sides_of
from dpcore.results.text.phrases import records
from dpcore.rounds.run import Run, step
from dpcore.rounds.steps.collected_files import batches_of, check_not_overtaken
from dpcore.wire import inbox
from dpcore.wire.locks import alone

HAS_CHARTS = find_spec("matplotlib") is not None


@step("draw")
def draw(run: Run) -> dict[str, Path]:
    """Draw pictures of each attribute, with true values if they are known, and return name -> file.

    Without the extra `charts` nothing is drawn; estimates land anyway.
    """
    if not HAS_CHARTS:
        return {}
    from dpcore.results import plots  # only this step needs matplotlib; Dask's workers do not

    plan, tables = run.plan, run.tables()
    figures = wire.location(plan.figures)
    drawn = {}
    for name, attribute in run.scheme.attributes.items():
        pictures = plots.attribute_pictures(name, tables, attribute.unit, run_id=plan.run_id)
        for picture, content in pictures.items():
            drawn[picture] = figures / f"{picture}.png"
            wire.write_bytes(drawn[picture], content)
    if "associations" in tables:
        sides = sides_of(records(tables["attributes"]), run.scheme.canonical)
        for picture, content in plots.pair_pictures(tables, sides).items():
            drawn[picture] = figures / f"{picture}.png"
            wire.write_bytes(drawn[picture], content)
    return drawn


@step("land")
def land(run: Run) -> Path:
    """Land a run's tables in one transaction and return the warehouse's file; landing again writes the same rows.

    Pictures of changes are drawn for this round and the next one.  The reports are deleted unless the plan keeps them.
    The round is closed in a folder of collected reports, for the collector.
    """
    plan = run.plan
    check_not_overtaken(run)
    tables = run.tables()
    # Older versions made comparisons and these checks before the landing; now they are part of it.
    tables["comparisons"] = tables["comparisons"].query("other_run_id == @plan.run_id")
    judged = tables["checks"]["name"].str.startswith(("quality(", "drift("))
    tables["checks"] = pd.concat([tables["checks"][~judged], table_quality.verdicts(tables)], ignore_index=True)
    if pictures := sorted(wire.location(plan.figures).glob("*.png")):
        tables["figures"] = pd.DataFrame(
            {"name": [path.stem for path in pictures], "path": [str(path) for path in pictures]}
        )
    if batches := batches_of(run):
        tables["batches"] = pd.DataFrame(batches)[["file", "sent_for", "reports"]]
    landing = warehouse.Landing(row_of(run), tables, plan.again)
    file = Path(plan.warehouse)
    compared = warehouse.land(file, landing, judge=comparisons.judge)
    drawn = [_draw_changes(file, identifier, previous, run.scheme) for identifier, previous in compared.items()]
    if any(len(frame) for frame in drawn):
        warehouse.add_figures(file, pd.concat(drawn, ignore_index=True))
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
    return file


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


def _draw_changes(file: Path, run_id: str, previous: str, scheme: Scheme) -> pd.DataFrame:
    """Draw the changes of a landed round since the previous round and return the rows of `figures`."""
    drawn = warehouse.query(file, f"select path from figures where run_id = '{run_id}' limit 1")
    if drawn.empty or not HAS_CHARTS:
        return drawn.head(0)  # the run has no pictures, or they were deleted
    from dpcore.results import plots

    rows = warehouse.query(file, f"from comparisons where run_id = '{run_id}' and other_run_id <> run_id")
    pictures: dict[str, bytes] = {}
    for name, attribute in scheme.attributes.items():
        own = rows[rows["attribute"] == name]
        pictures |= plots.difference_pictures(name, own, unit=attribute.unit, previous=previous, run_id=run_id)
    paths = {name: wire.location(drawn["path"].iloc[0]).with_name(f"{name}.png") for name in pictures}
    for name, content in pictures.items():
        wire.write_bytes(paths[name], content)
    return pd.DataFrame({"run_id": run_id, "name": list(paths), "path": [str(path) for path in paths.values()]})
