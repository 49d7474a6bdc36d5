"""What leaves a client: a Report, and a ReportBatch of many.

A report contains the scheme's digest and, for each attribute, a public level and integers.  It contains no value, no time
and no identity.  Its random id ensures that it is counted once.  A client may add a token, which links its reports within
one scheme (`tokens`), and the round that the report is sent for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeMismatch
from dpcore.mechanisms import Reports
from dpcore.protocol.tokens import NAME_BYTES, from_text


@dataclass(frozen=True, eq=False)
class Report:
    """One client's privatized answers: attribute -> (level, integers).

    With `reporting = "one"` only the drawn unit's attributes are present.  id: 128 random bits as 22 characters of
    base64url, '' for none.  token: the client's token under this scheme.  sent_for: the round, '' for any round.
    """

    digest: str
    answers: Mapping[str, tuple[int, tuple[int, ...]]]
    id: str = ""
    token: str | None = None
    sent_for: str = ""

    def __repr__(self) -> str:
        return f"<Report of {', '.join(self.answers)} under {self.digest[:12]}>"


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of some of a batch's clients to one attribute.

    clients: (m,) positions 0..n-1 in the batch, ascending, of those who answered; reports: their m answers, in that order.
    """

    clients: np.ndarray
    reports: Reports

    def __len__(self) -> int:
        return len(self.clients)


@dataclass(frozen=True, eq=False)
class ReportBatch:
    """The reports of n clients under one scheme, column by column.

    ids, tokens: (n, 16) uint8, the bytes of each report's id and of its client's token, zeros for none; None if no report
    of the batch has one.
    """

    digest: str
    n: int
    answers: Mapping[str, Answers]
    ids: np.ndarray | None = None
    tokens: np.ndarray | None = None

    def __len__(self) -> int:
        return self.n

    def of(self, attribute: str) -> Answers:
        """Return the answers to an attribute; empty if no client of the batch reported it."""
        return self.answers.get(attribute, _NO_ANSWERS)

    def __repr__(self) -> str:
        return f"<ReportBatch of {self.n} clients, {', '.join(self.answers)}, under {self.digest[:12]}>"


_NO_ANSWERS = Answers(np.zeros(0, dtype=np.int64), Reports(np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64)))


def concatenate(batches: Iterable[ReportBatch]) -> ReportBatch:
    """Return one batch of all clients, in order; at least one batch, all of the same scheme, else SchemeMismatch."""
    parts = list(batches)
    if len(parts) == 1:
        return parts[0]
    digest = parts[0].digest
    if any(part.digest != digest for part in parts):
        raise SchemeMismatch("batches: made under different schemes; aggregate the batches of each scheme separately")
    starts = np.cumsum([0, *(part.n for part in parts)])
    answers = {}
    for name in dict.fromkeys(name for part in parts for name in part.answers):
        columns = [part.of(name) for part in parts]
        answers[name] = Answers(
            np.concatenate([column.clients + start for column, start in zip(columns, starts[:-1], strict=True)]),
            Reports.joined([column.reports for column in columns]),
        )
    ids, tokens = (_stacked([getattr(part, name) for part in parts], np.diff(starts)) for name in ("ids", "tokens"))
    return ReportBatch(digest, int(starts[-1]), answers, ids, tokens)


def _stacked(parts: list[np.ndarray | None], sizes: np.ndarray) -> np.ndarray | None:
    """The ids or tokens of all parts in order; zeros for parts without any."""
    if all(part is None for part in parts):
        return None
    filled = [
        np.zeros((n, NAME_BYTES), np.uint8) if part is None else part for part, n in zip(parts, sizes, strict=True)
    ]
    return np.concatenate(filled)


def in_order(batch: ReportBatch, order: np.ndarray, sizes: Mapping[str, Sequence[int]]) -> ReportBatch:
    """Return the batch with its clients in another order, (n,): the client at position `order[0]` comes first.

    sizes: attribute -> number of integers at each level of its mechanism.
    """
    places = np.empty(batch.n, dtype=np.int64)
    places[order] = np.arange(batch.n)
    answers = {}
    for name, column in batch.answers.items():
        clients, turn = column.clients, order
        if len(column) < batch.n:
            turn = np.argsort(places[clients])
            clients = places[clients][turn]
        answers[name] = Answers(clients, column.reports.take(turn, sizes[name]))
    ids, tokens = (None if names is None else names.take(order, axis=0) for names in (batch.ids, batch.tokens))
    return replace(batch, answers=answers, ids=ids, tokens=tokens)


def with_ids(batch: ReportBatch, random: Source) -> ReportBatch:
    """Return the batch with a fresh id for every report, so that each is counted once."""
    words = random.words(batch.n * NAME_BYTES // 4).astype("<u4")
    return replace(batch, ids=words.view(np.uint8).reshape(-1, NAME_BYTES))


def batch_of(reports: Iterable[Report]) -> ReportBatch:
    """Return single reports as one batch."""
    return concatenate(_single(report) for report in reports)


def _single(report: Report) -> ReportBatch:
    answers = {
        name: Answers(
            np.zeros(1, dtype=np.int64), Reports(np.array([level], dtype=np.uint8), np.array(values, dtype=np.int64))
        )
        for name, (level, values) in report.answers.items()
    }
    return ReportBatch(report.digest, 1, answers, _bytes_of(report.id), _bytes_of(report.token or ""))


def _bytes_of(name: str) -> np.ndarray | None:
    """The 16 bytes of an id or a token, shape (1, 16); None if the text is neither."""
    data = from_text(name)
    return np.frombuffer(data, dtype=np.uint8)[None, :] if data and len(data) == NAME_BYTES else None
