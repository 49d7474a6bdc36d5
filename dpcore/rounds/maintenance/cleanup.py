"""Deletes old files of landed rounds: run folders, pictures, and counted reports.

Rule 1.  Files of a round that has not landed are never deleted.
Rule 2.  Tables of the warehouse are not changed unless requested; `figures` loses the rows of deleted pictures.  The list of
runs, the counted reports and the spent epsilon always remain.
Rule 3.  Files are renamed before they are deleted, so that an interrupted cleanup leaves no incomplete run.
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
    "numbers": "rounds' results",
}
_LEAVING = ".leaving-"  # prefix of folders that are being deleted
_DRAFT = re.compile(r"\..+\.(\d+)\.tmp(\.wal)?")  # draft of a warehouse's copy or of an export, with its process number
_UNFINISHED = timedelta(days=1)  # age at which a draft is considered abandoned


@dataclass(frozen=True, kw_only=True)
class Removal:
    """An item that is or would be deleted.

    kind: 'run' (its folder: reports, aggregates, tables), 'pictures', 'reports' (a counted file), 'result' (of a Prefect task),
    'leftover' (of a killed process) or 'numbers' (results of a round in the warehouse).
    round: its round, if any.  size: bytes.
    """

    kind: str
    path: Path
    round: str
    size: int


def clean(data: Path, *, now: datetime | None = None, **options: Any) -> list[Removal]:
    """Delete items older than `keep_days` and return them; with `dry_run`, only return them.

    options: those of `settings.Cleanup`; `warehouse` has the list of counted reports.
    Raises SchemeError for a negative number of days or data on another machine, WarehouseError if a warehouse cannot be read.
    """
    asked = Cleanup(data=data, **options)
    if not wire.is_here(wire.location(data)):
        raise SchemeError(
            f"data {wire.location(data)}: cleanup deletes local files only; use the store's own retention rules"
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
    """Delete a landed round's results, folders and pictures; the spent epsilon remains.  With `dry_run`, only return the items.

    scheme: its name, if several schemes have the round.  file: the warehouse, default that of the data folder.
    Raises WarehouseError if the round has not landed, or is ambiguous.
    """
    file, now = file or warehouse_of(data), datetime.now(UTC)
    schemes = sorted(name for name, landed in warehouse.standing_rounds(file) if landed == round_)
    if scheme is None and len(schemes) > 1:
        raise WarehouseError(f"round {round_}: it has landed for {', '.join(schemes)}; add --scheme")
    if not schemes or (scheme or schemes[0]) not in schemes:
        raise WarehouseError(f"warehouse {file}: no landed round {round_}{f' of {scheme}' if scheme else ''}")
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
    """Delete files that were not modified for so many days and return them; with `dry_run`, only return them."""
    cutoff = (now or datetime.now(UTC)) - timedelta(days=keep_days)
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    removals = [_removal("result", path, "") for path in files if _changed(path) < cutoff]
    for removal in [] if dry_run else removals:
        removal.path.unlink(missing_ok=True)
    return removals


def in_words(removals: list[Removal], dry_run: bool) -> str:
    """Return a one-line summary of the items."""
    counts = Counter(removal.kind for removal in removals)
    parts = [f"{counts[kind]:,} {words}" for kind, words in _WORDS.items() if counts[kind]]
    size = sum(removal.size for removal in removals) / 1e6
    verb = "would be deleted" if dry_run else "deleted"
    return f"{verb}: {', '.join(parts)}; {size:,.1f} MB" if parts else "nothing is old enough to be deleted"


def _runs(data: Path, cutoff: datetime) -> Iterator[tuple[Run, list[Removal]]]:
    """The old runs of landed rounds, with their items."""
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
    """The files of reports that a round counted before the cutoff."""
    since = warehouse.counted_since(warehouse_file)
    removals = []
    for path in sorted(reports.glob("*.parquet")):
        at = since.get(hashlib.sha256(path.read_bytes()).hexdigest())
        if at is not None and at < cutoff:
            removals.append(_removal("reports", path, ""))
    return removals


def _leftovers(data: Path, file: Path, cutoff: datetime) -> list[Removal]:
    """Leftovers of killed processes: unfinished files, and folders that were being deleted.

    file: the warehouse; drafts of its copies are next to it, possibly outside `data`.
    """
    drafts = _abandoned({*data.rglob(".*.tmp*"), *file.parent.glob(f".{file.stem}.*.tmp*")})
    files = [path for path in (*data.rglob(".*.partial"), *drafts) if _changed(path) < cutoff]
    return [_removal("leftover", path, "") for path in (*files, *data.glob(f"*/{_LEAVING}*"))]


def _abandoned(drafts: Iterable[Path]) -> Iterator[Path]:
    """The drafts without a living process; the modification time is no criterion, because copies have an old one."""
    for path in sorted(drafts):
        if match := _DRAFT.fullmatch(path.name):
            try:
                os.kill(int(match[1]), 0)
            except ProcessLookupError:
                yield path
            except (PermissionError, OverflowError):  # another user's process; not a process number
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
