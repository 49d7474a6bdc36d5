"""What a collector has taken, durable before it answers: one SQLite file that any number of collectors share.

Rule 1.  `take` returns when the reports are on the disk (write-ahead log, synced at every commit).  It takes those of all
requests that wait, so that they share the sync.
Rule 2.  A report is known by its id for as long as the store lives.  Ids are read in the transaction that adds to them, so that
two collectors never take one report twice.
Rule 3.  What cannot be kept raises StoreError, and nothing of it has been taken.
Rule 4.  No clock decides anything: what comes first has the smaller number.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from dpcore.collector.known import KnownIds
from dpcore.errors import StoreError
from dpcore.scheme import Scheme
from dpcore.tokens import NAME_BYTES
from dpcore.wire import Rows, sync_folder

FORMAT = 1
FILE = "store.sqlite"
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
create table if not exists ids (number integer primary key, ids blob not null);
create table if not exists bodies (number integer primary key, body blob not null, checksum blob not null);
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
    """Return a connection whose commits are on the disk when they return."""
    database = sqlite3.connect(folder / FILE, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    database.execute("pragma synchronous = full")
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


class Store:
    """The reports that collectors of one folder have taken; each thread has its own."""

    def __init__(self, folder: Path, schemes: Sequence[Scheme]) -> None:
        """Open the store of a folder, making it where there is none; raises StoreError."""
        self._folder = folder
        self._known = KnownIds()
        self._last = 0
        with words_of(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._database: sqlite3.Connection | None = connect(folder)
            self._prepare(self._database, schemes)
            with transaction(self._database) as database:
                self._catch_up(database)

    def _prepare(self, database: sqlite3.Connection, schemes: Sequence[Scheme]) -> None:
        import fcntl  # POSIX only, as nothing else here is

        with open(self._folder / ".preparing.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            database.execute("pragma journal_mode = wal")
            (found,) = database.execute("pragma user_version").fetchone()
            if found not in (0, FORMAT):
                raise StoreError(
                    f"the store in {self._folder} is of format {found}, expected {FORMAT}; use the newer ldpflow"
                )
            database.executescript(_TABLES)
            database.execute(f"pragma user_version = {FORMAT}")
            named = [(scheme.digest, scheme.canonical) for scheme in schemes]
            database.executemany("insert or ignore into schemes values (?, ?)", named)
        sync_folder(self._folder)

    def __len__(self) -> int:
        """How many reports have been taken, ever."""
        return len(self._known)

    def take(self, arrivals: Sequence[Rows], refused: Mapping[tuple[str, str], int]) -> list[np.ndarray]:
        """Keep the rows whose ids are new and say which they were, (n,) bool for each of the arrivals.

        refused: (scheme's digest, reason) -> how many reports were not taken.  Raises StoreError: then nothing was kept.
        """
        with words_of(self._folder):
            try:
                if self._database is None:
                    self._database = connect(self._folder)
                with transaction(self._database) as database:
                    self._catch_up(database)
                    fresh = self._fresh(arrivals)
                    last = self._insert(database, arrivals, fresh)
                    counts = [(digest, reason, count) for (digest, reason), count in refused.items()]
                    add = (
                        "insert into refused values (?, ?, ?) on conflict do update set count = count + excluded.count"
                    )
                    database.executemany(add, counts)
            except (sqlite3.Error, OSError):
                self.close()  # after a failed sync nothing that the connection holds is to be trusted
                raise
        for rows, new in zip(arrivals, fresh, strict=True):
            self._known.add(rows.ids[new])
        self._last = max(self._last, last)
        return fresh

    def close(self) -> None:
        """Let go of the file; `take` opens it again."""
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _catch_up(self, database: sqlite3.Connection) -> None:
        """Learn the ids that other collectors have added, and those of a commit that failed and stands all the same."""
        for number, ids in database.execute(
            "select number, ids from ids where number > ? order by number", (self._last,)
        ):
            self._known.add(np.frombuffer(ids, dtype=np.uint8).reshape(-1, NAME_BYTES))
            self._last = number

    def _fresh(self, arrivals: Sequence[Rows]) -> list[np.ndarray]:
        """Which rows of each have ids that are in nothing before them."""
        if not arrivals:
            return []
        seen = self._known.seen(np.concatenate([rows.ids for rows in arrivals]))
        return np.split(~seen, np.cumsum([len(rows) for rows in arrivals])[:-1])

    def _insert(self, database: sqlite3.Connection, arrivals: Sequence[Rows], fresh: Sequence[np.ndarray]) -> int:
        """Add what is fresh and return the last number given, 0 if none."""
        last = 0
        for rows, new in zip(arrivals, fresh, strict=True):
            kept = rows.where(new)
            if not len(kept):
                continue
            row = (kept.scheme.digest, kept.sent_for, len(kept))
            made = database.execute("insert into arrivals (scheme, sent_for, reports) values (?, ?, ?)", row)
            last, body = int(made.lastrowid or 0), kept.to_bytes()
            database.execute("insert into ids values (?, ?)", (last, kept.ids.tobytes()))
            database.execute("insert into bodies values (?, ?, ?)", (last, body, checksum(body)))
        return last
