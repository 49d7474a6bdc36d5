"""The thread that validates all waiting uploads and commits them together.

While one group is being synced, the next group accumulates, so many requests share one sync.  A request is answered when its
group is on the disk.  The queue is bounded: above the limit, a request is answered with `busy` and should be sent again.
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
UNREADABLE = "unreadable_batch"  # a batch that cannot be parsed; the number of its reports is unknown
MOST_ROUNDS = 256  # rounds that the lines of a batch may name; each becomes a file
_BLANKS = 64  # lines of a batch beyond the number of reports that fit into its bytes
_MOST_WAITING = 64 << 20  # bytes of waiting bodies
_MOST_COMMITTED = 16 << 20  # bytes of bodies in a commit
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Upload:
    """The body of a request: one report, lines of reports, a stream of reports, or an excess (too large and not read).

    is_handed: whether another collector accepted the reports and passed them on to this one.
    """

    scheme: Scheme
    kind: Kind
    content: bytes
    is_handed: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of an upload; refused: reason -> number of reports; handed: reports that another collector owns, new or not.

    failure: '' if it was processed; otherwise 'store' (cannot be stored now), 'busy' (too many uploads wait) or 'internal'.
    """

    accepted: int = 0
    replayed: int = 0
    handed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failure: str = ""

    @property
    def taken(self) -> int:
        """Number of reports on the disk that are new, or may be new to another collector."""
        return self.accepted + self.handed


@dataclass(frozen=True)
class _Read:
    """A parsed upload: rows by round, and refusals by reason; rows of a stream are not validated yet."""

    rows: tuple[Rows, ...] = ()
    refused: Counter[str] = field(default_factory=Counter)
    failure: str = ""
    is_judged: bool = True


_Done = asyncio.Future[Outcome] | Future[Outcome]


class Intake:
    """The queue into the store, for the coroutines of one event loop."""

    def __init__(self, store: Store, synced: Callable[[float, int], None] = lambda seconds, requests: None) -> None:
        """synced: called after each commit, with its duration in seconds and its number of requests."""
        self._store = store
        self._synced = synced
        self._waiting: SimpleQueue[tuple[Upload, _Done] | None] = SimpleQueue()
        self._bytes = 0
        self._closed, self._forgotten = frozenset[tuple[str, str]](), frozenset[tuple[str, str]]()
        self._thread = threading.Thread(target=self._work, name="intake", daemon=True)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Process the waiting uploads and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def close(self, rounds: frozenset[tuple[str, str]]) -> None:
        """Refuse reports for these rounds, (scheme's digest, round), from now on, and forget their ids; thread-safe."""
        self._closed = rounds

    async def take(self, upload: Upload) -> Outcome:
        """Return the outcome of an upload once it is on the disk."""
        size = len(upload.content)
        if self._bytes + size > _MOST_WAITING:
            return Outcome(failure="busy")
        self._bytes += size
        try:
            done: asyncio.Future[Outcome] = self._loop.create_future()
            self._waiting.put((upload, done))
            return await done
        finally:
            self._bytes -= size

    def bring(self, upload: Upload) -> Outcome:
        """Return the outcome of an upload from another thread, or from the only one left after `stop`."""
        if not self._thread.is_alive():
            return self._carry_out([upload])[0]
        done: Future[Outcome] = Future()
        self._waiting.put((upload, done))
        return done.result()

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            group, size, ends = [first], len(first[0].content), False
            while size < _MOST_COMMITTED and not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    ends = True
                    break
                group.append(more)
                size += len(more[0].content)
            outcomes = self._carry_out([upload for upload, _ in group])
            answered = [(done, outcome) for (_, done), outcome in zip(group, outcomes, strict=True)]
            _answer([(done, outcome) for done, outcome in answered if isinstance(done, Future)])
            self._loop.call_soon_threadsafe(
                _answer, [(done, outcome) for done, outcome in answered if not isinstance(done, Future)]
            )
            if ends:
                return

    def _carry_out(self, uploads: Sequence[Upload]) -> list[Outcome]:
        try:
            return self._commit(uploads, _judged([_read(upload) for upload in uploads]))
        except StoreError as error:
            _log.error("%s", error)
            return [Outcome(failure="store")] * len(uploads)
        except Exception as error:
            if len(uploads) > 1:  # one of them causes the error; those already stored count as replayed
                return [outcome for upload in uploads for outcome in self._carry_out([upload])]
            _log.error("a request failed: %s", where(error))
            return [Outcome(failure="internal")] * len(uploads)

    def _commit(self, uploads: Sequence[Upload], read: Sequence[_Read]) -> list[Outcome]:
        if (closed := self._closed) != self._forgotten:
            self._store.forget(closed)
            self._forgotten = closed
        # Uploads of other collectors have been accepted, so they count even if the round has closed since.
        read = [
            reading if upload.is_handed else _in_time(reading, closed)
            for upload, reading in zip(uploads, read, strict=True)
        ]
        refused: Counter[tuple[str, str]] = Counter()
        for upload, reading in zip(uploads, read, strict=True):
            refused.update({(upload.scheme.digest, reason): count for reason, count in reading.refused.items()})
        began = time.monotonic()
        results = iter(self._store.take([rows for reading in read for rows in reading.rows], refused))
        self._synced(time.monotonic() - began, len(uploads))
        outcomes = []
        for reading in read:
            own = [next(results) for _ in reading.rows]
            new = sum(int(taken.new.sum()) for taken in own)
            second = sum(int(taken.second.sum()) for taken in own)
            handed = sum(int(taken.handed.sum()) for taken in own)
            replayed = sum(map(len, reading.rows)) - new - second - handed
            why = reading.refused + Counter({SECOND: second})
            outcome = Outcome(accepted=new, replayed=replayed, handed=handed, refused=why, failure=reading.failure)
            outcomes.append(outcome)
        return outcomes


def where(error: BaseException) -> str:
    """Return an error's type and code location, which may be logged; its message may quote a request."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else f" at {last.tb_frame.f_globals.get('__name__', '')}:{last.tb_lineno}"
    return f"{type(error).__name__}{place}"


def _answer(answered: Sequence[tuple[_Done, Outcome]]) -> None:
    for done, outcome in answered:
        if not done.done():  # the request was cancelled, as its sender disconnected
            done.set_result(outcome)


def _read(upload: Upload) -> _Read:
    if upload.kind == "excess":
        return _Read(refused=Counter(too_large=1))
    try:
        return _stream(upload) if upload.kind == "stream" else _lines(upload)
    except Exception as error:
        _log.error("a request failed: %s", where(error))
        return _Read(failure="internal")


def _stream(upload: Upload) -> _Read:
    try:
        rows = read_stream(upload.content, upload.scheme)
    except InvalidReport:
        return _Read(refused=Counter({UNREADABLE: 1}))
    return _Read((rows,), is_judged=False)


def _judged(read: Sequence[_Read]) -> list[_Read]:
    """Validate the rows of all streams, grouped by scheme and round, because each validation has a fixed cost."""
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
    """Return an upload without the rows of closed rounds, which are refused."""
    late = [rows for rows in reading.rows if (rows.scheme.digest, rows.sent_for) in closed]
    if not late:
        return reading
    open_rows = tuple(rows for rows in reading.rows if (rows.scheme.digest, rows.sent_for) not in closed)
    return replace(reading, rows=open_rows, refused=reading.refused + Counter({LATE: sum(map(len, late))}))


def _lines(upload: Upload) -> _Read:
    """Parse a batch line by line; refuse it if most lines are too short for reports, as each line has a fixed cost."""
    lines = [upload.content]
    if upload.kind == "lines":
        if upload.content.count(b"\n") > _BLANKS + len(upload.content) // LEAST_BYTES:
            return _Read(refused=Counter({UNREADABLE: 1}))
        lines = upload.content.removesuffix(b"\n").split(b"\n")
    elif upload.content.endswith(b"\n"):  # shell tools append a line end
        lines = [upload.content[:-1].removesuffix(b"\r")]
    taken: dict[str, list[Report]] = {}
    refused: Counter[str] = Counter()
    for line in lines:
        try:
            report = read_report(line, upload.scheme)
        except RefusedReport as error:
            refused[error.reason] += 1
        else:
            taken.setdefault(report.sent_for, []).append(report)
    if len(taken) > MOST_ROUNDS:
        return _Read(refused=Counter({UNREADABLE: 1}))
    return _Read(tuple(rows_of(reports, upload.scheme) for reports in taken.values()), refused)
