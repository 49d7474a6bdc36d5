"""Records in blocks of 65,536, and their reports, drawn from one source as the clients would draw them.

A seeded source has a stream for each (attribute, block), so the reports do not depend on the distribution of blocks among
workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpcore._random import Source
from dpcore.mechanisms import Reports
from dpcore.protocol.report import Answers, ReportBatch, concatenate
from dpcore.protocol.scheme import Scheme

BLOCK = 65_536
_RETAINED_BYTES = 31 << 20  # glibc adapts its threshold to freed blocks up to 32 MiB
UNITS = 1 << 20  # the stream of the drawn units; attributes have the streams 0, 1, 2, ...


def keep_memory() -> None:
    """Make glibc reuse the memory of one block's arrays for the next block, at most twice 31 MiB.

    By default glibc returns large allocations to the kernel and requests them again page by page, a quarter of the time to
    privatize a block.  Its threshold for "large" rises to the size of the largest freed allocation, so an untouched array of
    that size is allocated and freed.  Other C libraries are not affected.
    """
    np.empty(_RETAINED_BYTES, dtype=np.uint8)


def block_sizes(clients: int) -> list[int]:
    """Return the sizes of the blocks of `clients` clients: 65,536 each, and the remainder."""
    return [min(BLOCK, clients - start) for start in range(0, clients, BLOCK)]


class People(Protocol):
    """Simulated respondents, or a table of real records: `records_block` returns the columns of one block."""

    def records_block(self, block: int, size: int, random: Source) -> Mapping[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Table:
    """Real records in memory: a mapping, DataFrame or Arrow table of columns."""

    columns: Any

    def __len__(self) -> int:
        names = self._names
        return len(self.columns[names[0]]) if names else 0

    @property
    def _names(self) -> list[str]:
        return list(getattr(self.columns, "column_names", self.columns))

    def records_block(self, block: int, size: int, random: Source) -> Mapping[str, Any]:
        rows = slice(block * BLOCK, block * BLOCK + size)
        return {name: self.columns[name][rows] for name in self._names}


def privatize(scheme: Scheme, records: Any, random: Source, first_block: int = 0) -> ReportBatch:
    """Return one report per record, as the records' own clients would have made them.

    records: a mapping or DataFrame of columns of one length.  Raises InvalidRecord before anything is drawn, and SchemeError
    if the scheme's channels are stated, because another system makes its reports.
    """
    scheme.check_asked()
    return _privatize(scheme, records, random, first_block)


def _privatize(scheme: Scheme, records: Any, random: Source, first_block: int) -> ReportBatch:
    cells = scheme.encode(records, first_block * BLOCK)
    n = len(next(iter(cells.values())))
    starts = range(0, max(n, 1), BLOCK)
    return concatenate(
        _privatize_block(scheme, {name: column[start : start + BLOCK] for name, column in cells.items()}, random, block)
        for block, start in enumerate(starts, first_block)
    )


def _privatize_block(scheme: Scheme, cells: Mapping[str, np.ndarray], random: Source, block: int) -> ReportBatch:
    n = len(next(iter(cells.values())))
    unit = None if scheme.reporting == "all" else random.spawn(UNITS, block).below(len(scheme.units), n)
    answers = {}
    for index, (name, attribute) in enumerate(scheme.attributes.items()):
        clients, asked = np.arange(n), cells[name]
        if unit is not None:
            clients = np.flatnonzero(unit == next(i for i, names in enumerate(scheme.units) if name in names))
            asked = asked[clients]
        reports = attribute.mechanism.privatize(asked, random.spawn(index, block))
        answers[name] = Answers(clients, reports)
    for name in scheme.labels:
        answers[name] = Answers(np.arange(n), Reports(np.zeros(n, dtype=np.uint8), cells[name]))
    return ReportBatch(scheme.digest, n, answers)


def report_blocks(
    scheme: Scheme, people: People, clients: int, random: Source, blocks: range
) -> Iterator[tuple[int, ReportBatch]]:
    """Yield (block, its reports) for a range of blocks of the respondents."""
    sizes = block_sizes(clients)
    for block in blocks:
        yield block, _privatize(scheme, people.records_block(block, sizes[block], random), random, block)
