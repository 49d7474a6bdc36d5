"""Which of the files of reports that clients sent a round counts.

Rule 1.  A round takes every file that no landed round has counted, if it was sent for this round, for an earlier one (it is
then late) or for none in particular.  What was sent for a later round is left to it.
Rule 2.  A round that has landed is closed: run again, it takes the files it counted, and what arrived since is for the next.
Rule 3.  A file is known by its bytes, so that renaming or copying it counts nobody twice, and a report by its id: a file that
holds one of another's is refused.  One whose name says the hash of its bytes, as a collector's does, is refused where they have
changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dpcore import wire
from dpcore.errors import InvalidReport
from dpcore.scheme import Scheme
from dpcore.wire.ids import check_ids, first_halves

_NAMED_BY_HASH = re.compile(r".*\.sha256-([0-9a-f]{16})\.parquet")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A file of reports.

    file: SHA-256 of its bytes, hex digits.  sent_for: the round it says it is for, '' where it says none.
    """

    path: str
    file: str
    sent_for: str
    reports: int

    def is_late(self, round_: str) -> bool:
        """Return whether it was sent for a round before this one."""
        return bool(self.sent_for) and self.sent_for < round_


def sealed_name(number: int, content: bytes) -> str:
    """Return the name of a file of a collector: its number, and the hash by which it is seen to be whole."""
    return f"{number:08d}.sha256-{hashlib.sha256(content).hexdigest()[:16]}.parquet"


def report_files(folder: Path) -> list[Path]:
    """Return the report files of a folder, sorted; raises InvalidReport where there are none."""
    files = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not files:
        raise InvalidReport(f"{folder} holds no .parquet files of reports; `ldpflow privatize` writes them")
    return files


def batches_of(folder: Path, scheme: Scheme) -> list[Batch]:
    """Return the report files of a folder as batches.

    Raises InvalidReport for a copy, or a report that is there twice, whose clients would count twice, for a file that is not
    what its name says, and as `wire.read_stamp` does.
    """
    found: dict[str, Batch] = {}
    files, halves = report_files(folder), []
    for path in files:
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest in found:
            first = Path(found[digest].path).name
            raise InvalidReport(f"{path} is a copy of {first}; remove it, or its clients count twice")
        named = _NAMED_BY_HASH.fullmatch(path.name)
        if named and named[1] != digest[:16]:
            raise InvalidReport(
                f"{path} is damaged: its bytes are not those that its collector wrote; start the collector again, which writes "
                "it anew from its store, or put back a copy"
            )
        sent_for, reports = wire.read_stamp(path, scheme)
        found[digest] = Batch(path=str(path.absolute()), file=digest, sent_for=sent_for, reports=reports)
        halves.append(first_halves(path, content))
    check_ids(files, halves)
    return list(found.values())


def due(batches: Iterable[Batch], round_: str, counted: Mapping[str, str]) -> list[Batch]:
    """Return the batches that a round takes.

    counted: file -> the landed round that counted it.
    """
    if round_ in counted.values():
        return [batch for batch in batches if counted.get(batch.file) == round_]
    return [batch for batch in batches if batch.file not in counted and batch.sent_for <= round_]


def nothing_due(folder: Path, round_: str, batches: list[Batch], counted: Mapping[str, str]) -> InvalidReport:
    """Return the error that says why a round has no reports to take."""
    taken = sum(batch.file in counted for batch in batches)
    later = len(batches) - taken
    return InvalidReport(
        f"{folder} holds no reports for round {round_}: of its {len(batches)} files other rounds have counted {taken}, "
        f"and {later} are for later rounds"
    )


def content_of(files: Iterable[str]) -> str:
    """Return a hash of the files' hashes, so that collecting the same reports again is the same run."""
    return hashlib.sha256("".join(sorted(files)).encode()).hexdigest()
