"""One thread takes what the requests bring: it reads and judges all that wait, and commits them together.

While one group is being synced the next one gathers, so that the sync is shared by as many as come meanwhile.  A request is
answered when its group is on the disk.  What waits is bounded: beyond it a request is told to come again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Literal

import numpy as np

from dpcore.collector.store.database import Store
from dpcore.errors import InvalidReport, RefusedReport, StoreError
from dpcore.protocol.report import Report
from dpcore.protocol.scheme import Scheme
from dpcore.wire import LEAST_BYTES, REASONS, Rows, joined, judge, read_report, read_stream, rows_of
from dpcore.wire.inbox import LATE, SECOND

Kind = Literal["one", "lines", "stream", "excess"]
UNREADABLE = "unreadable_batch"  # the reason of a batch that is none: how many reports it held is unknown
MOST_ROUNDS = 256  # that the lines of a batch may name, each of which is a file some day
_BLANKS = 64  # lines that a batch may have beyond the reports that fit into its bytes
_ROOM = 64 << 20  # bytes of bodies that may wait
_GROUP = 16 << 20  # bytes of bodies in a commit
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """The body of a request: one report, lines of reports, a stream of them, or an excess, which was too large to be read.

    is_handed: whether it is none, but what another collector has accepted for this one.
    """

    scheme: Scheme
    kind: Kind
    content: bytes
    is_handed: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a parcel's reports; refused: reason -> how many; handed: how many another collector owns, new or not.

    failure: '' where all of it was carried out; else 'store' (it cannot be kept now), 'busy' (too much waits) or 'internal'.
    """

    accepted: int = 0
    replayed: int = 0
    handed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failure: str = ""

    @property
    def taken(self) -> int:
        """How many are on the disk and may not have been before."""
        return self.accepted + self.handed


@dataclass(frozen=True)
class _Read:
    """What a parcel was read as: rows, each of one round, and what was refused of it; a stream's are yet to be judged."""

    rows: tuple[Rows, ...] = ()
    refused: Counter[str] = field(default_factory=Counter)
    failure: str = ""
    is_judged: bool = True


_Done = asyncio.Future[Outcome] | Future[Outcome]


class Intake:
    """The way into the store, for the coroutines of one event loop."""

    def __init__(self, store: Store, synced: Callable[[float, int], None] = lambda seconds, requests: None) -> None:
        """synced: told of every commit, how long it took and how many requests shared it."""
        self._store = store
        self._synced = synced
        self._waiting: SimpleQueue[tuple[Parcel, _Done] | None] = SimpleQueue()
        self._bytes = 0
        self._closed, self._forgotten = frozenset[tuple[str, str]](), frozenset[tuple[str, str]]()
        self._thread = threading.Thread(target=self._work, name="intake", daemon=True)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Carry out what waits, and end."""
        self._waiting.put(None)
        self._thread.join()

    def close(self, rounds: frozenset[tuple[str, str]]) -> None:
        """Refuse from now on what comes for rounds, of a scheme's digest each, and forget what came; any thread may say it."""
        self._closed = rounds

    async def take(self, parcel: Parcel) -> Outcome:
        """Return what became of a parcel, once that is on the disk."""
        size = len(parcel.content)
        if self._bytes + size > _ROOM:
            return Outcome(failure="busy")
        self._bytes += size
        try:
            done: asyncio.Future[Outcome] = self._loop.create_future()
            self._waiting.put((parcel, done))
            return await done
        finally:
            self._bytes -= size

    def bring(self, parcel: Parcel) -> Outcome:
        """Return what became of a parcel that another thread brings, or the last one, when this has ended."""
        if not self._thread.is_alive():
            return self._carry_out([parcel])[0]
        done: Future[Outcome] = Future()
        self._waiting.put((parcel, done))
        return done.result()

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            group, size, ends = [first], len(first[0].content), False
            while size < _GROUP and not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    ends = True
                    break
                group.append(more)
                size += len(more[0].content)
            outcomes = self._carry_out([parcel for parcel, _ in group])
            answered = [(done, outcome) for (_, done), outcome in zip(group, outcomes, strict=True)]
            _answer([(done, outcome) for done, outcome in answered if isinstance(done, Future)])
            self._loop.call_soon_threadsafe(
                _answer, [(done, outcome) for done, outcome in answered if not isinstance(done, Future)]
            )
            if ends:
                return

    def _carry_out(self, parcels: Sequence[Parcel]) -> list[Outcome]:
        try:
            return self._keep(parcels, _judged([_read(parcel) for parcel in parcels]))
        except StoreError as error:
            _log.error("%s", error)
            return [Outcome(failure="store")] * len(parcels)
        except Exception as error:
            if len(parcels) > 1:  # one of them is to blame; what has been kept already is known again
                return [outcome for parcel in parcels for outcome in self._carry_out([parcel])]
            _log.error("a request failed: %s", where(error))
            return [Outcome(failure="internal")] * len(parcels)

    def _keep(self, parcels: Sequence[Parcel], read: Sequence[_Read]) -> list[Outcome]:
        if (closed := self._closed) != self._forgotten:
            self._store.forget(closed)
            self._forgotten = closed
        # What was handed on has been accepted, whatever was closed since.
        read = [
            reading if parcel.is_handed else _in_time(reading, closed)
            for parcel, reading in zip(parcels, read, strict=True)
        ]
        refused: Counter[tuple[str, str]] = Counter()
        for parcel, reading in zip(parcels, read, strict=True):
            refused.update({(parcel.scheme.digest, reason): count for reason, count in reading.refused.items()})
        began = time.monotonic()
        fates = iter(self._store.take([rows for reading in read for rows in reading.rows], refused))
        self._synced(time.monotonic() - began, len(parcels))
        outcomes = []
        for reading in read:
            own = [next(fates) for _ in reading.rows]
            new = sum(int(taken.new.sum()) for taken in own)
            second = sum(int(taken.second.sum()) for taken in own)
            handed = sum(int(taken.handed.sum()) for taken in own)
            replayed = sum(map(len, reading.rows)) - new - second - handed
            why = reading.refused + Counter({SECOND: second})
            outcome = Outcome(accepted=new, replayed=replayed, handed=handed, refused=why, failure=reading.failure)
            outcomes.append(outcome)
        return outcomes


def where(error: BaseException) -> str:
    """Return an error's kind and place: all of it that may be logged, since its words may hold what was sent."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else f" at {last.tb_frame.f_globals.get('__name__', '')}:{last.tb_lineno}"
    return f"{type(error).__name__}{place}"


def _answer(answered: Sequence[tuple[_Done, Outcome]]) -> None:
    for done, outcome in answered:
        if not done.done():  # nobody waits where the sender has gone
            done.set_result(outcome)


def _read(parcel: Parcel) -> _Read:
    if parcel.kind == "excess":
        return _Read(refused=Counter(too_large=1))
    try:
        return _stream(parcel) if parcel.kind == "stream" else _lines(parcel)
    except Exception as error:
        _log.error("a request failed: %s", where(error))
        return _Read(failure="internal")


def _stream(parcel: Parcel) -> _Read:
    try:
        rows = read_stream(parcel.content, parcel.scheme)
    except InvalidReport:
        return _Read(refused=Counter({UNREADABLE: 1}))
    return _Read((rows,), is_judged=False)


def _judged(read: Sequence[_Read]) -> list[_Read]:
    """Judge the rows of all streams, those of one scheme and round together: a small batch costs as much as a large one."""
    groups: dict[tuple[str, str], list[int]] = {}
    for place, reading in enumerate(read):
        if not reading.is_judged:
            groups.setdefault((reading.rows[0].scheme.digest, reading.rows[0].sent_for), []).append(place)
    judged = list(read)
    for places in groups.values():
        parts = [read[place].rows[0] for place in places]
        faults = np.split(judge(joined(parts)), np.cumsum([len(rows) for rows in parts])[:-1])
        for place, rows, own in zip(places, parts, faults, strict=True):
            counts = np.bincount(own, minlength=1 + len(REASONS))
            refused = Counter({reason: int(count) for reason, count in zip(REASONS, counts[1:], strict=True) if count})
            judged[place] = _Read((rows.where(own == 0),), refused)
    return judged


def _in_time(reading: _Read, closed: frozenset[tuple[str, str]]) -> _Read:
    """What is left where rounds are closed."""
    late = [rows for rows in reading.rows if (rows.scheme.digest, rows.sent_for) in closed]
    if not late:
        return reading
    open_rows = tuple(rows for rows in reading.rows if (rows.scheme.digest, rows.sent_for) not in closed)
    return replace(reading, rows=open_rows, refused=reading.refused + Counter({LATE: sum(map(len, late))}))


def _lines(parcel: Parcel) -> _Read:
    """Read line after line, unless most are too short for a report: a byte then costs as much as a report does."""
    lines = [parcel.content]
    if parcel.kind == "lines":
        if parcel.content.count(b"\n") > _BLANKS + len(parcel.content) // LEAST_BYTES:
            return _Read(refused=Counter({UNREADABLE: 1}))
        lines = parcel.content.removesuffix(b"\n").split(b"\n")
    elif parcel.content.endswith(b"\n"):  # a shell's tools end lines
        lines = [parcel.content[:-1].removesuffix(b"\r")]
    taken: dict[str, list[Report]] = {}
    refused: Counter[str] = Counter()
    for line in lines:
        try:
            report = read_report(line, parcel.scheme)
        except RefusedReport as error:
            refused[error.reason] += 1
        else:
            taken.setdefault(report.sent_for, []).append(report)
    if len(taken) > MOST_ROUNDS:
        return _Read(refused=Counter({UNREADABLE: 1}))
    return _Read(tuple(rows_of(reports, parcel.scheme) for reports in taken.values()), refused)
