"""Messages that are stored until they are delivered: a SQLite file, which survives the death of any process.

Each message has a key, and is stored once per key.  A message that was answered with 2xx is never sent again.  A message that
may have arrived without an answer is sent again with the same `Idempotency-Key`, by which the receiver can drop duplicates.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_REMEMBERED = 90 * 86_400.0  # seconds that delivered messages are remembered
_PATIENCE = 30  # seconds for another process, such as `ldpflow status`
_TABLES = """
create table if not exists messages (
    key text primary key,
    body text not null,
    made_at real not null,
    attempts integer not null default 0,
    due_at real not null default 0,
    answer text not null default '',
    sent_at real
);
create table if not exists looked (one integer primary key check (one = 1), began real not null, until real not null);
"""


@dataclass(frozen=True)
class Message:
    """A message: body, a JSON object, and its key."""

    key: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Waiting:
    """Undelivered messages: their number, the Unix time of the oldest, and the result of the last attempt."""

    count: int
    since: float
    answer: str


class Outbox:
    """The messages of a file, which is created if absent, readable by its owner only.  Times are Unix times."""

    def __init__(self, file: Path) -> None:
        # An existing file is not opened: closing it would free the locks that SQLite holds on it for this whole process.
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._file = file
        self._connection = self._open()  # keeps SQLite's auxiliary files from being created again for each statement
        self._connection.execute("pragma journal_mode = wal")
        self._connection.executescript(_TABLES)

    def put(self, messages: list[Message], *, now: float, taken: bool = False) -> None:
        """Store messages with new keys; taken: as already delivered."""
        rows = [(message.key, json.dumps(message.body), now, now if taken else None) for message in messages]
        with closing(self._open()) as database, database:
            database.executemany(
                "insert or ignore into messages (key, body, made_at, sent_at) values (?, ?, ?, ?)", rows
            )

    def due(self, now: float) -> list[Message]:
        """Return the messages to be sent now: those with the fewest attempts first, then the oldest."""
        asked = "select key, body from messages where sent_at is null and due_at <= ? order by attempts, made_at, key"
        return [Message(key, json.loads(body)) for key, body in self._rows(asked, now)]

    def taken(self, message: Message, *, now: float) -> None:
        """Record that a message was answered with 2xx."""
        with closing(self._open()) as database, database:
            database.execute("update messages set sent_at = ?, answer = '' where key = ?", (now, message.key))

    def put_off(self, message: Message, answer: str, *, until: float) -> None:
        """Record that a message was not delivered, the reason, and the time of the next attempt."""
        with closing(self._open()) as database, database:
            database.execute(
                "update messages set attempts = attempts + 1, answer = ?, due_at = ? where key = ?",
                (answer, until, message.key),
            )

    def wait(self, until: float) -> None:
        """Postpone all messages, because the receiver accepts none now."""
        with closing(self._open()) as database, database:
            database.execute("update messages set due_at = max(due_at, ?) where sent_at is null", (until,))

    def attempts(self, message: Message | None = None) -> int:
        """Return the failed attempts of a message, or the most of any undelivered one."""
        asked = "select coalesce(max(attempts), 0) from messages where sent_at is null and key = coalesce(?, key)"
        ((count,),) = self._rows(asked, message and message.key)
        return int(count)

    def waiting(self) -> Waiting | None:
        """Return the messages with failed attempts, None if there are none."""
        asked = "select count(*), min(made_at) from messages where sent_at is null and attempts > 0"
        ((count, since),) = self._rows(asked)
        if not count:
            return None
        ((answer,),) = self._rows("select answer from messages where sent_at is null order by attempts desc limit 1")
        return Waiting(count, since, answer)

    def looked(self) -> tuple[float, float] | None:
        """Return the start and end of the time whose runs have been examined, None before the first look."""
        return next(iter(self._rows("select began, until from looked")), None)

    def look(self, began: float, until: float) -> None:
        """Record the start and end of the time whose runs have been examined, and delete old delivered messages."""
        with closing(self._open()) as database, database:
            database.execute("insert or replace into looked values (1, ?, ?)", (began, until))
            database.execute("delete from messages where sent_at < ?", (until - _REMEMBERED,))

    def _rows(self, asked: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(self._open()) as database:
            return database.execute(asked, values).fetchall()

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._file, timeout=_PATIENCE)
        database.execute("pragma synchronous = full")
        return database
