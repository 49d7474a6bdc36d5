"""The payload: one attribute's level and integers as bytes, one spelling each.

The level is one byte, left out where the mechanism has a single level.  Every integer is written as its distance from the
lowest value that the mechanism's `ranges` allow there, little-endian, in as few bytes as the largest such distance needs.  So
a payload's length follows from its level, a dyadic-wave report is at most three bytes, and what is out of range has no
spelling or is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from dpcore.errors import InvalidReport, RefusedReport
from dpcore.mechanisms import Mechanism
from dpcore.protocol.scheme import Scheme

Answer = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Layout:
    """How the payloads of one mechanism are laid out."""

    mechanism: Mechanism

    @cached_property
    def levels(self) -> tuple[tuple[tuple[int, int, int], ...], ...]:
        """Of each level the lowest value, the highest value and the number of bytes of each integer."""
        levels = []
        for level in range(len(self.mechanism.sizes)):
            lowest, highest = (limit.tolist() for limit in self.mechanism.ranges(level))
            widths = [max(1, ((high - low).bit_length() + 7) // 8) for low, high in zip(lowest, highest, strict=True)]
            levels.append(tuple(zip(lowest, highest, widths, strict=True)))
        return tuple(levels)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many bytes a payload of each level has, its level's own left out."""
        return tuple(sum(width for _, _, width in level) for level in self.levels)

    @property
    def head(self) -> int:
        """How many bytes say the level: one, or none where there is a single level."""
        return int(len(self.levels) > 1)

    @cached_property
    def longest(self) -> int:
        """How many bytes the longest payload has."""
        return self.head + max(self.lengths)

    def pack(self, answer: Answer) -> bytes:
        """Return the bytes of an answer; raises InvalidReport where it is none of the mechanism's."""
        level, values = answer
        is_shaped = 0 <= level < len(self.levels) and len(values) == len(self.levels[level])
        if not is_shaped or not self._accepts(level, values):
            raise InvalidReport(f"a report that {self.mechanism.name} could not have sent has no spelling")
        parts = [bytes([level] * self.head)]
        for value, (low, _, width) in zip(values, self.levels[level], strict=True):
            parts.append((value - low).to_bytes(width, "little"))
        return b"".join(parts)

    def unpack(self, payload: bytes) -> Answer:
        """Return the answer that `pack` writes as these bytes.

        Raises RefusedReport with one of 'wrong_length', 'unknown_level', 'out_of_range' where there is none.
        """
        if len(payload) < self.head:
            raise RefusedReport("wrong_length", "a payload of at least one byte, which is its level")
        level = payload[0] if self.head else 0
        if level >= len(self.levels):
            raise RefusedReport("unknown_level", f"a level below {len(self.levels)}")
        if len(payload) != self.head + self.lengths[level]:
            raise RefusedReport("wrong_length", "a payload has as many bytes as its level requires")
        values, start = [], self.head
        for low, _, width in self.levels[level]:
            values.append(low + int.from_bytes(payload[start : start + width], "little"))
            start += width
        if not self._accepts(level, tuple(values)):
            raise RefusedReport("out_of_range", "integers that the mechanism can send")
        return level, tuple(values)

    def _accepts(self, level: int, values: tuple[int, ...]) -> bool:
        """As `mechanism.accepts`, without arrays: one report at a time is small."""
        inside = all(low <= value <= high for value, (low, high, _) in zip(values, self.levels[level], strict=True))
        return inside and not (self.mechanism.is_ascending and any(a >= b for a, b in pairwise(values)))


@lru_cache(maxsize=64)
def layouts(scheme: Scheme) -> dict[str, Layout]:
    """Return the layout of every attribute's payload."""
    return {name: Layout(attribute.mechanism) for name, attribute in scheme.reported.items()}
