"""People in blocks of 65,536, each of which has streams of randomness of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpcore._random import Source

BLOCK = 65_536
_KEPT = 31 << 20  # bytes; glibc learns from none above 32 MiB


def keep_memory() -> None:
    """Have the C library keep what a block's arrays held for the next block's, twice 31 MiB at most.

    It gives back what is large and asks for it again, a page at a time, which takes a quarter of the time of privatizing a
    block.  glibc counts as large what is larger than any that was given back before: so one is, which nobody wrote to.  Other
    libraries do as they did.
    """
    np.empty(_KEPT, dtype=np.uint8)


def block_sizes(clients: int) -> list[int]:
    """Return the sizes of the blocks of so many clients: 65,536 each, the last one the rest."""
    return [min(BLOCK, clients - start) for start in range(0, clients, BLOCK)]


class People(Protocol):
    """Simulated people, or a table of real ones: `records_block` gives one block's columns."""

    def records_block(self, block: int, size: int, random: Source) -> Mapping[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Table:
    """Real records held in memory, as people: a mapping, DataFrame or Arrow table of columns."""

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
