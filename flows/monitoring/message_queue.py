"""What somebody is to be told, kept until they were: a file of SQLite, in which a message is there once, whatever dies.

A message has a key.  What is put under a key that is known is no other message; what was answered with 2xx is never sent
again.  One that may have arrived without our having heard so is sent again under its key, `Idempotency-Key`, by which a
receiver that must not be told twice can know it.
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

_KEPT = 90 * 86_400.0  # seconds that what was taken is known
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
    """What somebody is to be told: body, a JSON object, under its key."""

    key: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Waiting:
    """How many messages nobody has taken, since when, a Unix time, and what came of the last attempt."""

    count: int
    since: float
    answer: str


class Outbox:
    """The messages of a file, which is made where there is none, for its owner alone.  Times are Unix times."""

    def __init__(self, file: Path) -> None:
        # One that is there is not opened: closing it would free the locks that SQLite holds on it for this whole process.
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._file = file
        self._kept = self._open()  # so that the files beside it stay, and are not made anew for each statement
        self._kept.execute("pragma journal_mode = wal")
        self._kept.executescript(_TABLES)

    def put(self, messages: list[Message], *, now: float, taken: bool = False) -> None:
        """Keep messages of which the keys are not known; taken: as if they had been told already."""
        rows = [(message.key, json.dumps(message.body), now, now if taken else None) for message in messages]
        with closing(self._open()) as database, database:
            database.executemany(
                "insert or ignore into messages (key, body, made_at, sent_at) values (?, ?, ?, ?)", rows
            )

    def due(self, now: float) -> list[Message]:
        """Return what is to be sent now: what was tried least, then what is oldest, first."""
        asked = "select key, body from messages where sent_at is null and due_at <= ? order by attempts, made_at, key"
        return [Message(key, json.loads(body)) for key, body in self._rows(asked, now)]

    def taken(self, message: Message, *, now: float) -> None:
        """Write down that a message was answered with 2xx."""
        with closing(self._open()) as database, database:
            database.execute("update messages set sent_at = ?, answer = '' where key = ?", (now, message.key))

    def put_off(self, message: Message, answer: str, *, until: float) -> None:
        """Write down that a message was not taken, why, and when it is tried again."""
        with closing(self._open()) as database, database:
            database.execute(
                "update messages set attempts = attempts + 1, answer = ?, due_at = ? where key = ?",
                (answer, until, message.key),
            )

    def wait(self, until: float) -> None:
        """Put everything off: whoever is told takes nothing now."""
        with closing(self._open()) as database, database:
            database.execute("update messages set due_at = max(due_at, ?) where sent_at is null", (until,))

    def attempts(self, message: Message | None = None) -> int:
        """Return how often a message was tried in vain, or of all that wait the one that was tried most."""
        asked = "select coalesce(max(attempts), 0) from messages where sent_at is null and key = coalesce(?, key)"
        ((count,),) = self._rows(asked, message and message.key)
        return int(count)

    def waiting(self) -> Waiting | None:
        """Return what has been tried and was not taken, None where everything was."""
        asked = "select count(*), min(made_at) from messages where sent_at is null and attempts > 0"
        ((count, since),) = self._rows(asked)
        if not count:
            return None
        ((answer,),) = self._rows("select answer from messages where sent_at is null order by attempts desc limit 1")
        return Waiting(count, since, answer)

    def looked(self) -> tuple[float, float] | None:
        """Return since when and until when runs have been looked at, None where they never were."""
        return next(iter(self._rows("select began, until from looked")), None)

    def look(self, began: float, until: float) -> None:
        """Write down since when and until when runs have been looked at, and forget what was taken long before."""
        with closing(self._open()) as database, database:
            database.execute("insert or replace into looked values (1, ?, ?)", (began, until))
            database.execute("delete from messages where sent_at < ?", (until - _KEPT,))

    def _rows(self, asked: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(self._open()) as database:
            return database.execute(asked, values).fetchall()

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._file, timeout=_PATIENCE)
        database.execute("pragma synchronous = full")
        return database
