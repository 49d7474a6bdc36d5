"""Reports as JSON lines: each line is what `single` writes of one report, and what a collector takes one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dpcore import tokens
from dpcore.report import Report, ReportBatch
from dpcore.scheme import Scheme
from dpcore.wire.files import write_whole
from dpcore.wire.single import write_report


def write_lines(path: Path, scheme: Scheme, batches: Iterable[ReportBatch], sent_for: str = "") -> int:
    """Write the reports of some batches, a line each, and return how many; the file appears whole or not at all.

    sent_for: the round that the reports are for, '' for whichever counts them.  Raises InvalidReport for one without an id.
    """
    n = 0

    def fill(beside: Path) -> None:
        nonlocal n
        with beside.open("wb") as file:
            for batch in batches:
                file.writelines(write_report(report, scheme) + b"\n" for report in _reports(batch, scheme, sent_for))
                n += len(batch)

    write_whole(path, fill)
    return n


def _reports(batch: ReportBatch, scheme: Scheme, sent_for: str) -> Iterator[Report]:
    """The batch, client after client."""
    answers: list[dict[str, tuple[int, tuple[int, ...]]]] = [{} for _ in range(batch.n)]
    for name, attribute in scheme.attributes.items():
        found = batch.of(name)
        lengths = np.array(attribute.mechanism.sizes)[found.reports.level]
        parts = np.split(found.reports.values, np.cumsum(lengths)[:-1])
        for client, level, values in zip(found.clients.tolist(), found.reports.level.tolist(), parts, strict=False):
            answers[client][name] = (level, tuple(values.tolist()))
    for position, answer in enumerate(answers):
        own, token = (None if of is None else of[position].tobytes() for of in (batch.ids, batch.tokens))
        yield Report(
            batch.digest,
            answer,
            tokens.to_text(own) if own else "",
            tokens.to_text(token) if token and any(token) else None,
            sent_for,
        )
