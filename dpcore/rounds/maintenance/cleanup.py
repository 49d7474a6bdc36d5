"""Deletes what rounds have left behind and nobody needs any longer: files of runs, pictures, and reports that were counted.

Rule 1.  Of a round that has not landed nothing is deleted: not its reports, not its folder, whatever its age.
Rule 2.  The warehouse's tables stay, unless somebody asks for their end; `figures`, which names pictures, forgets those that
are gone.  What was spent, which reports were counted, and that a round landed, stays in any case.
Rule 3.  What is being deleted is first moved out of sight, so that a cleanup that was killed leaves no half of a run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dpcore import wire
from dpcore.errors import SchemeError, WarehouseError
from dpcore.results import warehouse
from dpcore.rounds.defaults import warehouse_of
from dpcore.rounds.run import Run
from dpcore.rounds.settings import Cleanup

_WORDS = {
    "run": "runs' folders",
    "pictures": "folders of pictures",
    "reports": "files of counted reports",
    "result": "results of tasks",
    "leftover": "leftovers",
    "numbers": "rounds' numbers",
}
_LEAVING = ".leaving-"  # of the name of what is being deleted
_DRAFT = re.compile(
    r"\..+\.(\d+)\.tmp(\.wal)?"
)  # a copy of a warehouse, or an export, with the number of who writes it
_UNFINISHED = timedelta(days=1)  # after which nobody is still writing a file


@dataclass(frozen=True, kw_only=True)
class Removal:
    """Something that is deleted, or would be.

    kind: 'run' (its folder: reports, aggregates, tables), 'pictures', 'reports' (a file that clients sent and a round
    counted), 'result' (of a task, kept by Prefect), 'leftover' (of a process that was killed) or 'numbers' (of a round, in a
    warehouse).
    round: where it is of one.  size: bytes.
    """

    kind: str
    path: Path
    round: str
    size: int


def clean(data: Path, *, now: datetime | None = None, **told: Any) -> list[Removal]:
    """Delete what is older than `keep_days`, and return it; with `dry_run` return it only.

    told: as `settings.Cleanup` declares it; `warehouse` is where reports were counted.
    Raises SchemeError for a negative number of days or data that is elsewhere, WarehouseError where a warehouse cannot be read.
    """
    asked = Cleanup(data=data, **told)
    if not wire.is_here(wire.location(data)):
        raise SchemeError(
            f"cleanup deletes files of this machine; let {wire.location(data)} forget old ones by its own rules"
        )
    now = now or datetime.now(UTC)
    cutoff = now - timedelta(days=asked.keep_days)
    runs = list(_runs(data, cutoff))
    removals = [removal for _, of_run in runs for removal in of_run]
    if asked.reports is not None:
        removals += _counted(asked.reports, asked.warehouse or warehouse_of(data), cutoff)
    file = asked.warehouse or warehouse_of(data)
    removals += _leftovers(data, file, now - _UNFINISHED)
    old = [] if asked.tables_days is None else warehouse.rounds_to_forget(file, now - timedelta(days=asked.tables_days))
    removals += [_numbers(file, round_) for _, round_ in old]
    if not asked.dry_run:
        for scheme, round_ in old:
            warehouse.forget_round(file, scheme, round_, now)
        for run, _ in runs:
            warehouse.forget_figures(run.plan.warehouse, [run.plan.run_id])
        _delete_all(removals)
    return removals


def forget(
    data: Path, round_: str, *, scheme: str | None = None, file: Path | None = None, dry_run: bool = False
) -> list[Removal]:
    """Delete a landed round: its numbers, folders and pictures; what was spent stays.  With `dry_run` return it only.

    scheme: its name, where rounds of several are so named.  file: the warehouse, where it is not the data's.
    Raises WarehouseError where no such round has landed, or none of that scheme, or several have.
    """
    file, now = file or warehouse_of(data), datetime.now(UTC)
    schemes = sorted(name for name, landed in warehouse.standing_rounds(file) if landed == round_)
    if scheme is None and len(schemes) > 1:
        raise WarehouseError(f"round {round_} has landed for {', '.join(schemes)}; name one with --scheme")
    if not schemes or (scheme or schemes[0]) not in schemes:
        raise WarehouseError(f"the warehouse {file} has no landed round {round_}{f' of {scheme}' if scheme else ''}")
    scheme = scheme or schemes[0]
    runs = [
        (run, removals)
        for run, removals in _runs(data, now)
        if run.plan.round == round_ and run.scheme.name == scheme and Path(run.plan.warehouse) == file.absolute()
    ]
    removals = [removal for _, of_run in runs for removal in of_run]
    if not dry_run:
        warehouse.forget_round(file, scheme, round_, now)
        _delete_all(removals)
    return [*removals, _numbers(file, round_)]


def clean_folder(folder: Path, *, keep_days: int, dry_run: bool = False, now: datetime | None = None) -> list[Removal]:
    """Delete the files of a folder that nobody has written for so many days, and return them; with `dry_run` return only."""
    cutoff = (now or datetime.now(UTC)) - timedelta(days=keep_days)
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    removals = [_removal("result", path, "") for path in files if _changed(path) < cutoff]
    for removal in [] if dry_run else removals:
        removal.path.unlink(missing_ok=True)
    return removals


def in_words(removals: list[Removal], dry_run: bool) -> str:
    """Return what was deleted, or would be, in a line."""
    counts = Counter(removal.kind for removal in removals)
    parts = [f"{counts[kind]:,} {words}" for kind, words in _WORDS.items() if counts[kind]]
    size = sum(removal.size for removal in removals) / 1e6
    verb = "would be deleted" if dry_run else "deleted"
    return f"{verb}: {', '.join(parts)}; {size:,.1f} MB" if parts else "nothing is old enough to be deleted"


def _runs(data: Path, cutoff: datetime) -> Iterator[tuple[Run, list[Removal]]]:
    """The runs whose round has landed, and which are old, with what there is of each."""
    landed: dict[str, dict[tuple[str, str, str], datetime]] = {}
    for file in sorted((data / "runs").glob("*/plan.json")):
        run = Run.at(file.parent)
        plan = run.plan
        landed_at = landed.setdefault(plan.warehouse, warehouse.landed_rounds(plan.warehouse))
        at = landed_at.get((run.scheme.digest, plan.source, plan.round))
        if at is None or at >= cutoff or datetime.fromisoformat(plan.started_at) >= cutoff:
            continue
        pictures = Path(plan.figures)
        removals = [_removal("pictures", pictures, plan.round)] if pictures.exists() else []
        yield run, [*removals, _removal("run", file.parent, plan.round)]


def _counted(reports: Path, warehouse_file: Path, cutoff: datetime) -> list[Removal]:
    """The files of reports that a round has counted long enough ago."""
    since = warehouse.counted_since(warehouse_file)
    removals = []
    for path in sorted(reports.glob("*.parquet")):
        at = since.get(hashlib.sha256(path.read_bytes()).hexdigest())
        if at is not None and at < cutoff:
            removals.append(_removal("reports", path, ""))
    return removals


def _leftovers(data: Path, file: Path, cutoff: datetime) -> list[Removal]:
    """What killed processes left: files that were being written, and folders that were being deleted.

    file: the warehouse, whose copies are drafted beside it, and that may be elsewhere.
    """
    drafts = _abandoned({*data.rglob(".*.tmp*"), *file.parent.glob(f".{file.stem}.*.tmp*")})
    files = [path for path in (*data.rglob(".*.partial"), *drafts) if _changed(path) < cutoff]
    return [_removal("leftover", path, "") for path in (*files, *data.glob(f"*/{_LEAVING}*"))]


def _abandoned(drafts: Iterable[Path]) -> Iterator[Path]:
    """Those of which the process that writes them is gone; a copy may bear an old time while it is written."""
    for path in sorted(drafts):
        if match := _DRAFT.fullmatch(path.name):
            try:
                os.kill(int(match[1]), 0)
            except ProcessLookupError:
                yield path
            except (PermissionError, OverflowError):  # another user's process; no process's number
                pass


def _numbers(file: Path, round_: str) -> Removal:
    return Removal(kind="numbers", path=file, round=round_, size=0)


def _delete_all(removals: list[Removal]) -> None:
    for removal in removals:
        if removal.kind != "numbers":
            _delete(removal.path)


def _removal(kind: str, path: Path, round_: str) -> Removal:
    files = path.rglob("*") if path.is_dir() else [path]
    return Removal(
        kind=kind, path=path, round=round_, size=sum(file.stat().st_size for file in files if file.is_file())
    )


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _delete(path: Path) -> None:
    if path.is_dir():
        away = path if path.name.startswith(_LEAVING) else path.with_name(f"{_LEAVING}{path.name}")
        if away != path:
            os.replace(path, away)
        shutil.rmtree(away, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
