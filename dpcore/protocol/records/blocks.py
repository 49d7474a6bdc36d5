"""Records in blocks of 65,536; each block has its own random streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpcore._random import Source

BLOCK = 65_536
_RETAINED_BYTES = 31 << 20  # glibc adapts its threshold to freed blocks up to 32 MiB


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
