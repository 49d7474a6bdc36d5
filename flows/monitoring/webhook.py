"""Messages to the webhook: stored until they are delivered, in the format of their receiver.

The address is LDPFLOW_NOTIFY_URL, or `notify` in the project's file; it is a secret and never shown.  The format is
LDPFLOW_NOTIFY_AS, or `notify_as`: `json`, `slack` or `teams`; by default determined by the host.

Messages are stored in a SQLite file, which survives the death of any process.  Each message has a key, and is stored once per
key.  A message that was answered with 2xx is never sent again.  A message that may have arrived without an answer is sent again
with the same `Idempotency-Key`, by which the receiver can drop duplicates.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dpcore.errors import SchemeError
from dpcore.rounds.project import SHAPES, Project

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
URL, SHAPE = "LDPFLOW_NOTIFY_URL", "LDPFLOW_NOTIFY_AS"
_ANSWER_PATIENCE = 30.0  # seconds for the webhook's answer
_TOO_MUCH = 429
_HOSTS = {"hooks.slack.com": "slack", "webhook.office.com": "teams", "logic.azure.com": "teams"}
_CARD = "http://adaptivecards.io/schemas/adaptive-card.json"


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


@dataclass(frozen=True)
class Answer:
    """The result of sending a message.  refused: the reason, '' if it was delivered; pause: requested seconds."""

    refused: str = ""
    pause: float = 0.0
    is_its_own: bool = False  # whether only this message is refused


@dataclass(frozen=True)
class Webhook:
    """An address and its format: 'json', 'slack' or 'teams'."""

    url: str = field(repr=False)
    shape: str

    @classmethod
    def configured(cls, project: Project | None) -> Webhook | None:
        """Return the configured webhook, None without one.  Raises SchemeError for an invalid address or format."""
        url = os.environ.get(URL) or (project and project.notify)
        if not url:
            return None
        if not url.startswith(("http://", "https://")):
            raise SchemeError(f"{URL} must be a URL that begins with http:// or https://")
        host = urlsplit(url).hostname or ""
        shapes = (shape for name, shape in _HOSTS.items() if host == name or host.endswith(f".{name}"))
        shape = os.environ.get(SHAPE) or (project and project.notify_as) or next(shapes, "json")
        if shape not in SHAPES:
            raise SchemeError(f"{SHAPE} must be one of {', '.join(SHAPES)}, got {shape!r}")
        return cls(url, shape)

    @property
    def host(self) -> str:
        """Its host, which may be shown; the rest of the address is a secret."""
        return urlsplit(self.url).hostname or ""

    def send(self, message: Message) -> Answer:
        """Send a message and return the result; redirections are not followed."""
        import httpx

        headers = {"Idempotency-Key": message.key}
        try:
            answer = httpx.post(
                self.url, json=shaped(message.body, self.shape), headers=headers, timeout=_ANSWER_PATIENCE
            )
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return Answer(f"did not answer ({type(error).__name__})")  # the error's own text contains the address
        if answer.is_success:
            return Answer()
        pause = answer.headers.get("Retry-After", "")
        return Answer(
            f"answered {answer.status_code}",
            float(pause) if pause.isdigit() else 0.0,
            is_its_own=answer.is_client_error and answer.status_code != _TOO_MUCH,
        )


def shaped(body: Mapping[str, str], shape: str) -> dict[str, Any]:
    """Return a message in the webhook's format: unchanged, or for Slack's incoming webhooks or Teams' workflows."""
    if shape == "slack":
        return {"text": body["text"]}
    if shape == "teams":
        text = {"type": "TextBlock", "text": body["text"].removesuffix(body["url"]).strip(), "wrap": True}
        link = {"type": "Action.OpenUrl", "title": "Open in Prefect", "url": body["url"]}
        card = {"$schema": _CARD, "type": "AdaptiveCard", "version": "1.4", "body": [text], "actions": [link]}
        return {
            "type": "message",
            "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
        }
    return dict(body)
