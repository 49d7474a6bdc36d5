"""Which of the files of reports that clients sent a round counts, by the files' bytes and the reports' ids.

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
import pyarrow as pa
import pyarrow.parquet as pq

from dpcore import wire
from dpcore.errors import InvalidReport, TooFewClients
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax.fields import listed
from dpcore.protocol.tokens import NAME_BYTES, are_there
from dpcore.wire.files import opened
from dpcore.wire.parquet_reports import NAMES, names_of, unreadable

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
    of those alone whose halves are met twice.  Raises InvalidReport as `read_names` does.
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


def read_names(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids and the tokens of the reports in a file, (n, 16) uint8 each, zeros where there is none.

    Raises InvalidReport where it cannot be read or holds something else as names.
    """
    try:
        with opened(path) as source, pq.ParquetFile(source) as file:
            held = [name for name in NAMES if name in file.schema_arrow.names]
            table, n = file.read(held), file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    if any(table.schema.field(name).type != pa.binary(NAME_BYTES) for name in held):
        raise InvalidReport(f"{path} does not have the columns of a report file; collect it anew")
    names = {name: names_of(pa.concat_arrays(table.column(name).chunks)) for name in held if n}
    ids, tokens = (names.get(name, np.zeros((n, NAME_BYTES), dtype=np.uint8)) for name in NAMES)
    return ids, tokens


def repeated(names: np.ndarray) -> np.ndarray:
    """Return which names, (n, 16) uint8, occur earlier among them, (n,) bool; zeros are no name."""
    words = np.ascontiguousarray(names).view("<u8")
    order = np.lexsort((words[:, 1], words[:, 0]))  # stable: the first of equals comes first
    ordered, again = words[order], np.zeros(len(names), dtype=bool)
    again[order[1:]] = np.all(ordered[1:] == ordered[:-1], axis=1)
    return np.asarray(again & are_there(names))


def first_halves(names: np.ndarray, *, all_of: bool = False) -> np.ndarray:
    """Return the first half of every name that is there, or of all rows, (n,) uint64."""
    return np.ascontiguousarray(names if all_of else names[are_there(names)]).view("<u8")[:, 0].copy()


def twice(ordered: np.ndarray) -> np.ndarray:
    """Return the values that occur more than once among sorted ones, once each, sorted."""
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def is_within(values: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return which values are among sorted ones, (n,) bool."""
    if not len(ordered):
        return np.zeros(len(values), dtype=bool)
    return np.asarray(ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values)


def among(names: np.ndarray, others: Iterable[np.ndarray]) -> np.ndarray:
    """Return which names, (n, 16) uint8, are in one of the others, (m, 16) each, (n,) bool; these may be many."""
    halves, is_among = np.ascontiguousarray(names).view("<u8")[:, 0], np.zeros(len(names), dtype=bool)
    ordered = np.sort(halves)
    for other in others:
        theirs = np.ascontiguousarray(other).view("<u8")[:, 0]
        at = np.minimum(np.searchsorted(ordered, theirs), len(ordered) - 1)
        shared = theirs[ordered[at] == theirs] if len(ordered) else theirs[:0]
        if len(shared):
            others_names = set(map(bytes, other[np.isin(theirs, shared)]))
            looked_at = np.flatnonzero(np.isin(halves, shared))
            is_among[looked_at] |= [bytes(names[row]) in others_names for row in looked_at]
    return np.asarray(is_among & are_there(names))
