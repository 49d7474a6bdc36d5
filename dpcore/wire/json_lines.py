"""Reports as JSON lines: each line is what `json_report` writes of one report, and what a collector takes one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from dpcore.protocol import tokens
from dpcore.protocol.report import Report, ReportBatch, concatenate
from dpcore.protocol.scheme import Scheme
from dpcore.wire.files import write_whole
from dpcore.wire.json_report import write_report
from dpcore.wire.parquet_reports import batch_of, by_id, table_of

_AT_ONCE = 1 << 16  # reports that are spelled at a time


def write_lines(path: Path, scheme: Scheme, batches: Iterable[ReportBatch], sent_for: str = "") -> int:
    """Write the reports of some batches, a line each, sorted by their ids, and return how many.

    The file appears whole or not at all, and only its owner can read it.  sent_for: the round that the reports are for, ''
    for whichever counts them.  Raises InvalidReport for one without an id.
    """
    n = 0

    def fill(beside: Path) -> None:
        nonlocal n
        parts = list(batches)
        table = by_id(table_of(scheme, concatenate(parts), "")) if parts else pa.table({})
        with beside.open("wb") as file:
            for columns in table.to_batches(_AT_ONCE):
                batch = batch_of(scheme, columns)
                file.writelines(write_report(report, scheme) + b"\n" for report in _reports(batch, scheme, sent_for))
                n += len(batch)

    write_whole(path, fill, private=True)
    return n


def _reports(batch: ReportBatch, scheme: Scheme, sent_for: str) -> Iterator[Report]:
    """The batch, client after client."""
    answers: list[dict[str, tuple[int, tuple[int, ...]]]] = [{} for _ in range(batch.n)]
    for name, attribute in scheme.reported.items():
        answered = batch.of(name)
        lengths = np.array(attribute.mechanism.sizes)[answered.reports.level]
        parts = np.split(answered.reports.values, np.cumsum(lengths)[:-1])
        for client, level, values in zip(
            answered.clients.tolist(), answered.reports.level.tolist(), parts, strict=False
        ):
            answers[client][name] = (level, tuple(values.tolist()))
    for position, answer in enumerate(answers):
        own, token = (None if names is None else names[position].tobytes() for names in (batch.ids, batch.tokens))
        yield Report(
            batch.digest,
            answer,
            tokens.to_text(own) if own else "",
            tokens.to_text(token) if token and any(token) else None,
            sent_for,
        )
