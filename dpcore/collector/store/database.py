"""What a collector has taken, durable before it answers: one SQLite file, of one collector, of one of those that share a
folder (`partition`), or of any number that take turns.

Rule 1.  `take` returns when the reports are on the disk (write-ahead log, synced at every commit).  It takes those of all
requests that wait, so that they share the sync.
Rule 2.  A report is known by its id for as long as the store lives, or until its round is closed (`forget`).  Ids are read in
the transaction that adds to them, so that two collectors never take one report twice.
Rule 3.  A token is one person's, who reports once a round: another report of a token that was heard for a round is refused
(`SECOND`).  What is kept of that is a hash of token and round, which links nobody from round to round.  Reports that are for
whichever round counts them are that round's to look at (`inbox`).
Rule 4.  What cannot be kept raises StoreError, and nothing of it has been taken.
Rule 5.  No clock decides anything: what comes first has the smaller number.
Rule 6.  The order of arrival, which joins rows to a proxy's log, is kept no longer than sealing needs it (`forget_order`), and
nobody but the owner can read the file.
Rule 7.  What another of those that share the folder owns is kept, too, and handed on (`transfer`); who owns it looks at its id.
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

from dpcore.collector.store.known_ids import KnownIds
from dpcore.collector.store.partition import WHOLE, Share
from dpcore.errors import StoreError
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import NAME_BYTES, are_there
from dpcore.wire import Rows, joined, private_file, sync_folder
from dpcore.wire.inbox import SECOND
from dpcore.wire.inbox import STORE as FILE
from dpcore.wire.locks import alone
from dpcore.wire.parquet_reports import names_of, order_of
from dpcore.wire.parquet_schema import NAMES

FORMAT = 2
_SLICE, TURN = 1 << 20, 0.002  # bytes of bodies that are deleted at a time, and seconds between two times
_PATIENCE = 30.0  # seconds that another collector's transaction is waited for
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
-- the bytes of a segment's file while it stands, in pieces; of one that format 1 sealed, `bodies` has them
create table if not exists contents (
    segment integer not null, piece integer not null, content blob not null, primary key (segment, piece)
);
"""


def checksum(body: bytes) -> bytes:
    """Return what tells a body that has changed: the first 8 bytes of its SHA-256."""
    return hashlib.sha256(body).digest()[:8]


@contextmanager
def words_of(folder: Path) -> Iterator[None]:
    """Turn what SQLite and the disk say into a StoreError."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        hint = "; put back a copy of it" if "malformed" in str(error) or "not a database" in str(error) else ""
        raise StoreError(f"the collector's store in {folder} cannot be used ({error}){hint}") from None
    except OSError as error:
        raise StoreError(f"the collector's store in {folder} cannot be used ({error.strerror or error})") from None


def connect(folder: Path) -> sqlite3.Connection:
    """Return a connection whose commits are on the disk when they return, and which leaves nothing of what is deleted."""
    private_file(folder / FILE)  # the log and its index, beside it, take its mode
    for beside in (folder / f"{FILE}-wal", folder / f"{FILE}-shm"):
        if beside.exists():
            private_file(beside)
    database = sqlite3.connect(folder / FILE, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    database.execute("pragma synchronous = full")
    database.execute("pragma secure_delete = on")
    database.execute("pragma wal_autocheckpoint = 65536")  # pages of 4 KB; the sealing thread is there before that
    return database


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Write alone until the end; what raises leaves nothing."""
    database.execute("begin immediate")
    try:
        yield database
        database.execute("commit")
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("rollback")
        raise


class Fate(NamedTuple):
    """What became of an arrival's rows, (n,) bool each: new ones are kept, the second ones of a token are refused.

    handed: those that another collector owns, new or not.
    """

    new: np.ndarray
    second: np.ndarray
    handed: np.ndarray

    def beside(self, handed: np.ndarray) -> Fate:
        """Return the same of rows among which others are handed on."""
        new, second = np.zeros((2, len(handed)), dtype=bool)
        new[~handed], second[~handed] = self.new, self.second
        return Fate(new, second, handed)


class Store:
    """The reports that a collector of a folder has taken; each thread has its own."""

    def __init__(self, folder: Path, schemes: Sequence[Scheme], share: Share = WHOLE) -> None:
        """Open the store of a folder, or of one of those that share it, making it where there is none; raises StoreError."""
        self._share = share
        self._folder = share.place(folder)
        self._known, self._heard = KnownIds(), KnownIds()
        self._last = 0
        with words_of(folder):
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
                    f"the store in {self._folder} was written by a newer ldpflow: it is of format {version}, this code reads "
                    f"{FORMAT} and older; update ldpflow"
                )
            database.executescript(_TABLES)
            database.execute(f"pragma user_version = {FORMAT}")
            named = [(scheme.digest, scheme.canonical) for scheme in schemes]
            database.executemany("insert or ignore into schemes values (?, ?)", named)
        sync_folder(self._folder)

    def __len__(self) -> int:
        """How many reports that have been taken are known: all, ever, but those of closed rounds."""
        return len(self._known)

    def take(self, arrivals: Sequence[Rows], refused: Mapping[tuple[str, str], int]) -> list[Fate]:
        """Keep the rows whose ids are new and say what became of each of the arrivals.

        refused: (scheme's digest, reason) -> how many reports were not taken.  Raises StoreError: then nothing was kept.
        """
        others = [self._share.owners(rows.ids) != self._share.number for rows in arrivals]
        own = [rows.where(~theirs) for rows, theirs in zip(arrivals, others, strict=True)]
        marks = [marks_of(rows) for rows in own]
        with words_of(self._folder):
            try:
                if self._database is None:
                    self._database = connect(self._folder)
                with transaction(self._database) as database:
                    self._catch_up(database)
                    fates = self._fresh(own, marks)
                    last = self._insert(database, own, fates, marks)
                    self._set_down(database, arrivals, others)
                    also = Counter(refused)
                    for rows, fate in zip(own, fates, strict=True):
                        also[rows.scheme.digest, SECOND] += int(fate.second.sum())
                    counts = [(digest, reason, count) for (digest, reason), count in also.items() if count]
                    add = (
                        "insert into refused values (?, ?, ?) on conflict do update set count = count + excluded.count"
                    )
                    database.executemany(add, counts)
            except (sqlite3.Error, OSError):
                self.close()  # after a failed sync nothing that the connection holds is to be trusted
                raise
        for rows, fate, heard in zip(own, fates, marks, strict=True):
            self._known.add(rows.ids[fate.new])
            self._heard.add(_present(heard[fate.new]))
        self._last = max(self._last, last)
        return [fate.beside(theirs) if theirs.any() else fate for fate, theirs in zip(fates, others, strict=True)]

    def forget(self, closed: Iterable[tuple[str, str]]) -> None:
        """Drop the ids of rounds from memory; whoever calls this takes no reports for them any more.

        closed: scheme's digest, round.  From the disk sealing drops them.  Raises StoreError: then all are remembered.
        """
        with words_of(self._folder):
            if self._database is None:
                self._database = connect(self._folder)
            with transaction(self._database) as database:
                database.executemany("insert or ignore into closed (scheme, sent_for) values (?, ?)", sorted(closed))
                self._last, self._known, self._heard = 0, KnownIds(), KnownIds()
                self._catch_up(database)

    def close(self) -> None:
        """Let go of the file; `take` opens it again."""
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _catch_up(self, database: sqlite3.Connection) -> None:
        """Learn the ids that other collectors have added, and those of a commit that failed and stands all the same."""
        asked = (
            "select number, ids, marks from ids join arrivals using (number) left join closed using (scheme, sent_for) "
            "left join heard using (number) where number > ? and closed.scheme is null order by number"
        )
        is_first = not self._last
        for number, *names in database.execute(asked, (self._last,)):
            for memory, text in zip((self._known, self._heard), names, strict=True):
                stored = np.frombuffer(text or b"", dtype=np.uint8).reshape(-1, NAME_BYTES)
                # A sealed segment's stand together under its last number, of which some are known.
                memory.add(stored if is_first else stored[~memory.seen(stored)])
            self._last = number

    def _fresh(self, arrivals: Sequence[Rows], marks: Sequence[np.ndarray]) -> list[Fate]:
        """Which rows of each have ids that are in nothing before them, and which of those a token that was heard."""
        if not arrivals:
            return []
        new = ~self._known.seen(np.concatenate([rows.ids for rows in arrivals]))
        every, second = np.concatenate(marks), np.zeros(len(new), dtype=bool)
        asked = np.flatnonzero(new & are_there(every))
        if asked.size:
            second[asked] = self._heard.seen(every[asked])
        ends = np.cumsum([len(rows) for rows in arrivals])[:-1]
        parts = (np.split(rows, ends) for rows in (new & ~second, second, np.zeros(len(new), dtype=bool)))
        return list(map(Fate, *parts))

    def _insert(
        self, database: sqlite3.Connection, arrivals: Sequence[Rows], fates: Sequence[Fate], marks: Sequence[np.ndarray]
    ) -> int:
        """Add what is new and return the last number given, 0 if none."""
        last = 0
        for rows, fate, own in zip(arrivals, fates, marks, strict=True):
            new = rows.where(fate.new)
            if not len(new):
                continue
            row = (new.scheme.digest, new.sent_for, len(new))
            cursor = database.execute("insert into arrivals (scheme, sent_for, reports) values (?, ?, ?)", row)
            last, body = int(cursor.lastrowid or 0), new.to_bytes()
            database.execute("insert into ids values (?, ?)", (last, new.ids.tobytes()))
            if len(heard := _present(own[fate.new])):
                database.execute("insert into heard values (?, ?)", (last, heard.tobytes()))
            database.execute("insert into bodies values (?, ?, ?)", (last, body, checksum(body)))
        return last

    def _set_down(self, database: sqlite3.Connection, arrivals: Sequence[Rows], others: Sequence[np.ndarray]) -> None:
        """Add what others own, those of an owner, scheme and round together."""
        parts: dict[tuple[int, str, str], list[Rows]] = {}
        for rows, theirs in zip(arrivals, others, strict=True):
            if not theirs.any():
                continue
            owners = self._share.owners(rows.ids)
            for owner in np.unique(owners[theirs]).tolist():
                parts.setdefault((owner, rows.scheme.digest, rows.sent_for), []).append(rows.where(owners == owner))
        for key, held in parts.items():
            whole = joined(held)
            row = (*key, len(whole), body := whole.to_bytes(), checksum(body))
            asked = "insert into handing (share, scheme, sent_for, reports, body, checksum) values (?, ?, ?, ?, ?, ?)"
            database.execute(asked, row)


def delete_in_turns(database: sqlite3.Connection, table: str, bodies: list[tuple[int, int]]) -> None:
    """Delete bodies from a table, a few at a time: requests that wait to be kept have their turn between.

    bodies: the number and length of each; it is empty afterwards.
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
    """Let a segment's ids and marks stand together, sorted, under the last of its numbers.

    Who has read up to a number before the last reads all of them again; who has read the last knows them.
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
    """Return the hash of token and round of each row, (n, 16) uint8, zeros where it names neither or one of them only."""
    marks, held = np.zeros((len(rows), NAME_BYTES), dtype=np.uint8), rows.columns.column(NAMES[1])
    if not rows.sent_for or held.null_count == len(rows):
        return marks
    named = names_of(held)
    key = hashlib.sha256(f"{rows.scheme.digest} {rows.sent_for}".encode()).digest()
    for row in np.flatnonzero(are_there(named)):
        own = hashlib.blake2b(named[row].tobytes(), digest_size=NAME_BYTES, key=key).digest()
        marks[row] = np.frombuffer(own, dtype=np.uint8)
    return marks


def _present(marks: np.ndarray) -> np.ndarray:
    """Return the marks of those that have one."""
    return marks[are_there(marks)]
