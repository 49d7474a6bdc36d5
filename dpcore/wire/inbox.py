"""Which of the files of reports that clients sent a round counts.

Rule 1.  A round takes every file that no landed round has counted, if it was sent for this round, for an earlier one (it is
then late) or for none in particular.  What was sent for a later round is left to it.
Rule 2.  A round that has landed is closed: a retry takes the files it counted, and what arrived since is for the next, unless
`again` is set: then it takes both.
Rule 3.  A file is known by its bytes, so that renaming or copying it counts nobody twice.  A file named by the hash of its
bytes, as a collector's is, is refused where they have changed.
Rule 4.  A report is known by its id, whichever way it came: one that another file holds, or that a landed round has counted, is
left out and counted as such.  So is the second report of a token, which is one person's, in a round; late ones give way.
Neither stops the round, since any sender can send one report to two collectors.
Rule 5.  The rounds that have landed are listed next to what a collector seals: it may refuse late reports for them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore import wire
from dpcore.errors import InvalidReport, TooFewClients
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax.fields import listed
from dpcore.protocol.tokens import NAME_BYTES, are_there
from dpcore.wire.report_ids import among, first_halves, is_within, read_names, repeated, twice

AGAIN, SECOND = "already_counted", "second_of_token"  # why a report is left out
LATE = "round_is_closed"  # why a collector refuses one
STORE = "store.sqlite"  # of a collector, beside the folder of the folders it seals into
SHARES = "shares"  # there, where collectors share it: a folder of each, with its store
CLOSED = "closed"  # beside a collector's files: an empty file of each round that has landed, by its name
_NAMED_BY_HASH = re.compile(r".*\.sha256-([0-9a-f]{16})\.parquet")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A file of reports.

    file: SHA-256 of its bytes, hex digits.  sent_for: the round it is declared for, '' without one.
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
    """Return the report files of a folder, sorted.

    Raises TooFewClients where a collector has sealed none there yet, and InvalidReport where there are none for another reason.
    """
    files = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not files and any((folder.parent.parent / name).exists() for name in (STORE, SHARES)):
        raise TooFewClients(
            f"nobody has reported yet: the collector of {folder} has sealed no file; run it again when one is there"
        )
    if not files:
        below = sorted({path.parent for pattern in ("*/*.parquet", "*/*/*.parquet") for path in folder.glob(pattern)})
        where = f"look further down: {listed(tuple(map(str, below)))}" if below else "`ldpflow privatize` writes them"
        raise InvalidReport(f"{folder} holds no .parquet files of reports; {where}")
    return files


def close(folder: Path, round_: str) -> None:
    """Say to the collector that seals into a folder that a round has landed; nothing, where that is nobody's.

    Raises OSError where that cannot be written.
    """
    if any((folder.parent.parent / name).exists() for name in (STORE, SHARES)):
        wire.write_bytes(folder / CLOSED / round_, b"", private=True)


def closed_rounds(folder: Path) -> list[str]:
    """Return the rounds, sorted, that are listed as landed next to what a collector sealed."""
    there = folder / CLOSED
    return sorted(path.name for path in there.iterdir() if path.name[:1] != ".") if there.is_dir() else []


def batches_of(folder: Path, scheme: Scheme) -> list[Batch]:
    """Return the report files of a folder as batches.

    Raises InvalidReport for a copy, whose clients would count twice, for a file that does not match its name, and as
    `wire.read_stamp` does.
    """
    by_digest: dict[str, Batch] = {}
    for path in report_files(folder):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest in by_digest:
            first = Path(by_digest[digest].path).name
            raise InvalidReport(f"{path} is a copy of {first}; remove it, or its clients count twice")
        named = _NAMED_BY_HASH.fullmatch(path.name)
        if named and named[1] != digest[:16]:
            raise InvalidReport(
                f"{path} is damaged: its bytes are not those that its collector wrote; start the collector again, which writes "
                "it anew from its store, or put back a copy"
            )
        sent_for, reports = wire.read_stamp(path, scheme)
        by_digest[digest] = Batch(path=str(path.absolute()), file=digest, sent_for=sent_for, reports=reports)
    return list(by_digest.values())


def due(batches: Iterable[Batch], round_: str, counted: Mapping[str, str], *, again: bool = False) -> list[Batch]:
    """Return the batches that a round takes.

    counted: file -> the landed round that counted it.  again: whether a round that has landed takes what arrived since.
    """
    if again:
        counted = {file: by for file, by in counted.items() if by != round_}
    if round_ in counted.values():
        return [batch for batch in batches if counted.get(batch.file) == round_]
    return [batch for batch in batches if batch.file not in counted and batch.sent_for <= round_]


def left_out(batches: Iterable[Batch], round_: str, counted: Iterable[np.ndarray]) -> dict[str, dict[str, list[int]]]:
    """Return what a round leaves out, file -> reason -> positions.

    counted: the ids, (m, 16) uint8 each, that landed rounds have counted.  Half of every name is held at once, and whole names
    of those alone whose halves are met twice.  Raises InvalidReport as `wire.report_ids.read_names` does.
    """
    ordered = sorted(batches, key=lambda batch: (batch.is_late(round_), batch.file))
    halves = [[first_halves(names) for names in read_names(wire.location(batch.path))] for batch in ordered]
    own, theirs = (np.concatenate([np.zeros(0, np.uint64), *half]) for half in zip(*halves, strict=True))
    for half in (own, theirs):
        half.sort()  # in its place
    recounted = [ids[is_within(first_halves(ids, all_of=True), own)] for ids in counted]
    met = [np.unique(np.concatenate([twice(own), *map(first_halves, recounted)])), twice(theirs)]
    looked_at: list[tuple[Batch, np.ndarray, np.ndarray, np.ndarray]] = []
    for batch, half_names in zip(ordered, halves, strict=True):
        if any(is_within(some, those).any() for some, those in zip(half_names, met, strict=True)):
            both = read_names(wire.location(batch.path))
            at = np.flatnonzero(_have(both[0], met[0]) | _have(both[1], met[1]))
            looked_at.append((batch, at, both[0][at], both[1][at]))
    nothing = np.zeros((0, NAME_BYTES), np.uint8)
    ids, tokens = (np.concatenate([nothing, *(entry[part] for entry in looked_at)]) for part in (2, 3))
    again = repeated(ids) | among(ids, recounted)
    tokens[again] = 0
    second = repeated(tokens)
    ends = np.cumsum([len(at) for _, at, _, _ in looked_at])[:-1]
    out: dict[str, dict[str, list[int]]] = {}
    parts = (np.split(rows, ends) for rows in (again, second)) if looked_at else ((), ())
    for (batch, at, _, _), is_again, is_second in zip(looked_at, *parts, strict=True):
        reasons = {AGAIN: at[is_again].tolist(), SECOND: at[is_second].tolist()}
        if any(reasons.values()):
            out[batch.file] = {reason: positions for reason, positions in reasons.items() if positions}
    return out


def _have(names: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Which names are there and begin with one of some sorted halves, (n,) bool."""
    return are_there(names) & is_within(first_halves(names, all_of=True), halves)


def ids_counted(batch: Batch, left_out: Mapping[str, Iterable[int]]) -> np.ndarray:
    """Return the ids of a file that a round counts, (n, 16) uint8; left_out: reason -> positions of those that it does not."""
    ids, _ = read_names(wire.location(batch.path))
    is_counted = are_there(ids)
    for positions in left_out.values():
        is_counted[list(positions)] = False
    return ids[is_counted]


def nothing_due(folder: Path, round_: str, batches: list[Batch], counted: Mapping[str, str]) -> TooFewClients:
    """Return the error for a round that waits, with the reason why it has no reports to take."""
    taken = sum(batch.file in counted for batch in batches)
    later = len(batches) - taken
    return TooFewClients(
        f"{folder} holds no reports for round {round_}: of its {len(batches)} files other rounds have counted {taken}, "
        f"and {later} are for later rounds"
    )


def content_of(files: Iterable[str]) -> str:
    """Return a hash of the files' hashes, so that collecting the same reports again is the same run."""
    return hashlib.sha256("".join(sorted(files)).encode()).hexdigest()
