"""The durable store of accepted reports: one SQLite file for each collector or each share of a folder (`report_ids`).

Several collectors without shares may use one file; they take turns.

Rule 1.  `take` returns when the reports are on the disk (write-ahead log, synced at every commit).  All waiting requests share
one commit.
Rule 2.  The store remembers a report's id as long as the store exists, or until its round is closed (`forget`).  It reads ids
in the transaction that adds ids, so two collectors never accept one report twice.
Rule 3.  A token belongs to one respondent, who reports once a round.  A second report of a token for a round is refused
(`SECOND`).  For this the store has a hash of token and round, which links nobody across rounds.  Reports that name no round are
checked by the round that counts them (`inbox`).
Rule 4.  If reports cannot be stored, `take` raises StoreError and accepts none of them.
Rule 5.  No decision depends on a clock; earlier arrivals have smaller numbers.
Rule 6.  The order of arrival links rows to a proxy's log.  It is deleted when the reports are sealed (`forget_order`), and only
the owner can read the file.
Rule 7.  Reports that another share owns are stored and passed on (`transfer`); the owner checks whether their ids are new.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpcore.collector.store.report_ids import WHOLE, KnownIds, Share
from dpcore.errors import StoreError
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import NAME_BYTES, are_there
from dpcore.wire import Rows, joined, private_file, sync_folder
from dpcore.wire.inbox import SECOND
from dpcore.wire.inbox import STORE as FILE
from dpcore.wire.locks import alone
from dpcore.wire.parquet_reports import NAMES, names_of, order_of

FORMAT = 2
_SLICE, TURN = 1 << 20, 0.002  # bytes of bodies per deletion, and seconds between two deletions
_PATIENCE = 30.0  # seconds to wait for another collector's transaction
_TABLES = """
create table if not exists schemes (digest text primary key, canonical text not null) without rowid;
create table if not exists arrivals (
    number integer primary key autoincrement,
    scheme text not null,
    sent_for text not null,
    reports integer not null,
    segment integer -- null: not yet in a file; 0: damaged, set aside
);
create index if not exists arrivals_waiting on arrivals (scheme, sent_for) where segment is null;
create index if not exists arrivals_of_segments on arrivals (segment) where segment is not null; -- asked at every beat
create table if not exists ids (number integer primary key, ids blob not null);
create table if not exists heard (number integer primary key, marks blob not null);
create table if not exists bodies (number integer primary key, body blob not null, checksum blob not null);
create table if not exists handing ( -- what others own; share: whose it is, 0: damaged, set aside
    number integer primary key autoincrement, share integer not null, scheme text not null, sent_for text not null,
    reports integer not null, body blob not null, checksum blob not null
);
create table if not exists closed ( -- rounds whose ids are forgotten; is_done: here, too
    scheme text not null, sent_for text not null, is_done integer not null default 0, primary key (scheme, sent_for)
) without rowid;
create table if not exists refused (
    scheme text not null, reason text not null, count integer not null, primary key (scheme, reason)
) without rowid;
create table if not exists segments (
    number integer primary key autoincrement,
    scheme text not null,
    sent_for text not null,
    refused text not null, -- reason -> count, as JSON
    file text, -- its name, once its bytes are known
    state text not null default 'open' -- then 'sealed', then 'gone'
);
-- the bytes of a segment's file while the file exists, in pieces; of one that format 1 sealed, `bodies` has them
create table if not exists contents (
    segment integer not null, piece integer not null, content blob not null, primary key (segment, piece)
);
"""


def checksum(body: bytes) -> bytes:
    """Return a checksum that detects changes of a body: the first 8 bytes of its SHA-256."""
    return hashlib.sha256(body).digest()[:8]


@contextmanager
def store_errors(folder: Path) -> Iterator[None]:
    """Convert errors of SQLite and the file system into StoreError."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        hint = "; restore it from a backup" if "malformed" in str(error) or "not a database" in str(error) else ""
        raise StoreError(f"the collector's store in {folder} cannot be used ({error}){hint}") from None
    except OSError as error:
        raise StoreError(f"the collector's store in {folder} cannot be used ({error.strerror or error})") from None


def connect(folder: Path) -> sqlite3.Connection:
    """Return a connection that syncs every commit to the disk and overwrites deleted data."""
    private_file(folder / FILE)  # SQLite gives the log and its index the same mode
    for beside in (folder / f"{FILE}-wal", folder / f"{FILE}-shm"):
        if beside.exists():
            private_file(beside)
    database = sqlite3.connect(folder / FILE, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    database.execute("pragma synchronous = full")
    database.execute("pragma secure_delete = on")
    database.execute(
        "pragma wal_autocheckpoint = 65536"
    )  # pages of 4 KB; the sealing thread normally checkpoints earlier
    return database


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Hold the write lock until the end of the block; an exception rolls everything back."""
    database.execute("begin immediate")
    try:
        yield database
        database.execute("commit")
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("rollback")
        raise


class TakeResult(NamedTuple):
    """The outcome of an arrival's rows, as masks, (n,) bool: new rows are stored, second reports of a token are refused.

    handed: rows that another collector owns, new or not.
    """

    new: np.ndarray
    second: np.ndarray
    handed: np.ndarray

    def with_handed(self, handed: np.ndarray) -> TakeResult:
        """Return masks of all rows, given the rows that are passed on; `self` covers the other rows."""
        new, second = np.zeros((2, len(handed)), dtype=bool)
        new[~handed], second[~handed] = self.new, self.second
        return TakeResult(new, second, handed)


class Store:
    """The reports that a collector of a folder has accepted; an instance belongs to one thread."""

    def __init__(self, folder: Path, schemes: Sequence[Scheme], share: Share = WHOLE) -> None:
        """Open the store of a folder or of a share of it, creating it if necessary; raises StoreError."""
        self._share = share
        self._folder = share.place(folder)
        self._known, self._heard = KnownIds(), KnownIds()
        self._last = 0
        with store_errors(folder):
            share.move_in(folder)
            self._database: sqlite3.Connection | None = connect(self._folder)
            self._prepare(self._database, schemes)
            with transaction(self._database) as database:
                self._catch_up(database)

    def _prepare(self, database: sqlite3.Connection, schemes: Sequence[Scheme]) -> None:
        with alone(self._folder / ".preparing.lock", f"the store in {self._folder}", "a collector that starts"):
            database.execute("pragma journal_mode = wal")
            (version,) = database.execute("pragma user_version").fetchone()
            if version not in (0, 1, FORMAT):
                raise StoreError(
                    f"the store in {self._folder} was written by a newer ldpflow: it has format {version}, this code reads "
                    f"{FORMAT} and older; update ldpflow"
                )
            database.executescript(_TABLES)
            database.execute(f"pragma user_version = {FORMAT}")
            named = [(scheme.digest, scheme.canonical) for scheme in schemes]
            database.executemany("insert or ignore into schemes values (?, ?)", named)
        sync_folder(self._folder)

    def __len__(self) -> int:
        """Return the number of accepted reports, without those of closed rounds."""
        return len(self._known)

    def take(self, arrivals: Sequence[Rows], refused: Mapping[tuple[str, str], int]) -> list[TakeResult]:
        """Store the rows with new ids, and return the outcome of each arrival.

        refused: (scheme's digest, reason) -> number of refused reports.  Raises StoreError if nothing was stored.
        """
        others = [self._share.owners(rows.ids) != self._share.number for rows in arrivals]
        own = [rows.where(~theirs) for rows, theirs in zip(arrivals, others, strict=True)]
        marks = [marks_of(rows) for rows in own]
        with store_errors(self._folder):
            try:
                if self._database is None:
                    self._database = connect(self._folder)
                with transaction(self._database) as database:
                    self._catch_up(database)
                    results = self._fresh(own, marks)
                    last = self._insert(database, own, results, marks)
                    self._insert_for_others(database, arrivals, others)
                    also = Counter(refused)
                    for rows, result in zip(own, results, strict=True):
                        also[rows.scheme.digest, SECOND] += int(result.second.sum())
                    counts = [(digest, reason, count) for (digest, reason), count in also.items() if count]
                    add = (
                        "insert into refused values (?, ?, ?) on conflict do update set count = count + excluded.count"
                    )
                    database.executemany(add, counts)
            except (sqlite3.Error, OSError):
                self.close()  # after a failed sync the connection's cache may differ from the disk
                raise
        for rows, result, heard in zip(own, results, marks, strict=True):
            self._known.add(rows.ids[result.new])
            self._heard.add(_present(heard[result.new]))
        self._last = max(self._last, last)
        return [
            result.with_handed(theirs) if theirs.any() else result
            for result, theirs in zip(results, others, strict=True)
        ]

    def forget(self, closed: Iterable[tuple[str, str]]) -> None:
        """Drop the ids of closed rounds from memory; the caller refuses reports for these rounds from now on.

        closed: (scheme's digest, round).  Sealing deletes the ids from the disk.  Raises StoreError; then all ids remain.
        """
        with store_errors(self._folder):
            if self._database is None:
                self._database = connect(self._folder)
            with transaction(self._database) as database:
                database.executemany("insert or ignore into closed (scheme, sent_for) values (?, ?)", sorted(closed))
                self._last, self._known, self._heard = 0, KnownIds(), KnownIds()
                self._catch_up(database)

    def close(self) -> None:
        """Close the file; `take` opens it again."""
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _catch_up(self, database: sqlite3.Connection) -> None:
        """Load ids that other collectors added, and those of a commit that reported failure but is on the disk."""
        asked = (
            "select number, ids, marks from ids join arrivals using (number) left join closed using (scheme, sent_for) "
            "left join heard using (number) where number > ? and closed.scheme is null order by number"
        )
        is_first = not self._last
        for number, *names in database.execute(asked, (self._last,)):
            for memory, text in zip((self._known, self._heard), names, strict=True):
                stored = np.frombuffer(text or b"", dtype=np.uint8).reshape(-1, NAME_BYTES)
                # A sealed segment's ids share one row, under its last number; some of them may be in memory already.
                memory.add(stored if is_first else stored[~memory.seen(stored)])
            self._last = number

    def _fresh(self, arrivals: Sequence[Rows], marks: Sequence[np.ndarray]) -> list[TakeResult]:
        """Return which rows have new ids, and which of those repeat a token within a round."""
        if not arrivals:
            return []
        new = ~self._known.seen(np.concatenate([rows.ids for rows in arrivals]))
        every, second = np.concatenate(marks), np.zeros(len(new), dtype=bool)
        asked = np.flatnonzero(new & are_there(every))
        if asked.size:
            second[asked] = self._heard.seen(every[asked])
        ends = np.cumsum([len(rows) for rows in arrivals])[:-1]
        parts = (np.split(rows, ends) for rows in (new & ~second, second, np.zeros(len(new), dtype=bool)))
        return list(map(TakeResult, *parts))

    def _insert(
        self,
        database: sqlite3.Connection,
        arrivals: Sequence[Rows],
        results: Sequence[TakeResult],
        marks: Sequence[np.ndarray],
    ) -> int:
        """Insert the new rows; return the last arrival number, or 0 if there is none."""
        last = 0
        for rows, result, own in zip(arrivals, results, marks, strict=True):
            new = rows.where(result.new)
            if not len(new):
                continue
            row = (new.scheme.digest, new.sent_for, len(new))
            cursor = database.execute("insert into arrivals (scheme, sent_for, reports) values (?, ?, ?)", row)
            last, body = int(cursor.lastrowid or 0), new.to_bytes()
            database.execute("insert into ids values (?, ?)", (last, new.ids.tobytes()))
            if len(heard := _present(own[result.new])):
                database.execute("insert into heard values (?, ?)", (last, heard.tobytes()))
            database.execute("insert into bodies values (?, ?, ?)", (last, body, checksum(body)))
        return last

    def _insert_for_others(
        self, database: sqlite3.Connection, arrivals: Sequence[Rows], others: Sequence[np.ndarray]
    ) -> None:
        """Insert the rows that other collectors own, grouped by owner, scheme and round."""
        parts: dict[tuple[int, str, str], list[Rows]] = {}
        for rows, theirs in zip(arrivals, others, strict=True):
            if not theirs.any():
                continue
            owners = self._share.owners(rows.ids)
            for owner in np.unique(owners[theirs]).tolist():
                parts.setdefault((owner, rows.scheme.digest, rows.sent_for), []).append(rows.where(owners == owner))
        for key, group in parts.items():
            whole = joined(group)
            row = (*key, len(whole), body := whole.to_bytes(), checksum(body))
            asked = "insert into handing (share, scheme, sent_for, reports, body, checksum) values (?, ?, ?, ?, ?, ?)"
            database.execute(asked, row)


def delete_in_turns(database: sqlite3.Connection, table: str, bodies: list[tuple[int, int]]) -> None:
    """Delete bodies from a table in small transactions, so that waiting requests can commit in between.

    bodies: (number, length) of each; the list is empty afterwards.
    """
    while bodies:
        some, size = [], 0
        while bodies and size < _SLICE:
            number, own = bodies.pop()
            some.append((number,))
            size += own
        with transaction(database):
            database.executemany(f"delete from {table} where number = ?", some)
        time.sleep(TURN)


def forget_order(database: sqlite3.Connection, segment: int) -> None:
    """Merge a segment's ids and marks into one sorted row, under the segment's last number.

    A collector that has read up to an earlier number reads all of them again; one that has read the last number has them.
    """
    chosen = "number in (select number from arrivals where segment = ?)"
    for table, column in (("ids", "ids"), ("heard", "marks")):
        rows = database.execute(
            f"select number, {column} from {table} where {chosen} order by number", (segment,)
        ).fetchall()
        if not rows:
            continue
        names = np.frombuffer(b"".join(text for _, text in rows), dtype=np.uint8).reshape(-1, NAME_BYTES)
        database.execute(f"delete from {table} where {chosen}", (segment,))
        (last,) = database.execute("select max(number) from arrivals where segment = ?", (segment,)).fetchone()
        database.execute(f"insert into {table} values (?, ?)", (last, names[order_of(names)].tobytes()))


def marks_of(rows: Rows) -> np.ndarray:
    """Return the hash of token and round of each row, (n, 16) uint8; zeros for rows without a token or a round."""
    marks, tokens = np.zeros((len(rows), NAME_BYTES), dtype=np.uint8), rows.columns.column(NAMES[1])
    if not rows.sent_for or tokens.null_count == len(rows):
        return marks
    named = names_of(tokens)
    key = hashlib.sha256(f"{rows.scheme.digest} {rows.sent_for}".encode()).digest()
    for row in np.flatnonzero(are_there(named)):
        own = hashlib.blake2b(named[row].tobytes(), digest_size=NAME_BYTES, key=key).digest()
        marks[row] = np.frombuffer(own, dtype=np.uint8)
    return marks


def _present(marks: np.ndarray) -> np.ndarray:
    """Return the nonzero marks."""
    return marks[are_there(marks)]
