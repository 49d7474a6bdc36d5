"""One of two attributes seen together: the cells that its values have, and functions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpcore.errors import SchemeError

Part = tuple[float | str, ...]  # a category, ('rural',), or a range, (low, high)


@dataclass(frozen=True, eq=False, kw_only=True)
class Axis:
    """The values of an attribute, one cell each, K of them; nonresponse is the last cell if it is an answer.

    numbers: (K,), the cells' values, centres of ranges, in the attribute's unit; None for categories without numbers.
    squares: (K,), mean squares, of values uniform within a range.  edges: (K + 1,), of a density's ranges.
    categories: the names of cells that have one.  answered: (K,), one for a response, zero for nonresponse.
    """

    name: str
    unit: str
    answered: np.ndarray
    numbers: np.ndarray | None = None
    squares: np.ndarray | None = None
    edges: np.ndarray | None = None
    categories: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """K."""
        return len(self.answered)

    @property
    def is_silent(self) -> bool:
        """Whether nonresponse is an answer."""
        return bool(self.answered[-1] == 0)

    def values(self, functional: str) -> np.ndarray:
        """Return the numbers, zero for nonresponse; raises SchemeError where there are none: the `functional` needs them."""
        if self.numbers is None:
            raise SchemeError(f"{functional} needs numbers, and {self.name} has categories; give them values = [...]")
        return self.numbers * self.answered

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number; without end where there are none."""
        if self.numbers is None:
            return -np.inf, np.inf
        ends = self.numbers[self.answered > 0] if self.edges is None else self.edges
        return float(ends.min()), float(ends.max())

    def within(self, low: float, high: float) -> np.ndarray:
        """Return the share of each cell in [low, high], (K,), limits included."""
        if not low <= high:
            raise SchemeError(f"a range of {self.name} needs its lower end first, got {low:g} and {high:g}")
        if self.edges is None:
            numbers = self.values("a range")
            return np.asarray(((low <= numbers) & (numbers <= high)) * self.answered, dtype=np.float64)
        below, above = self.edges[:-1], self.edges[1:]
        overlap = np.minimum(above, high) - np.maximum(below, low)
        share = np.clip(overlap / (above - below), 0.0, 1.0)
        return np.asarray(np.append(share, 0.0) if len(share) < self.size else share)

    def at(self, category: str) -> np.ndarray:
        """Return one at a category and zero elsewhere, (K,); raises SchemeError where there is none of that name."""
        if category not in self.categories:
            there = ", ".join(self.categories) or "a density, which has ranges"
            raise SchemeError(f"{self.name} has no category {category!r}; it has {there}")
        return np.asarray(np.arange(self.size) == self.categories.index(category), dtype=np.float64)

    def part(self, where: Sequence[float | str]) -> np.ndarray:
        """Return the share of each cell in a category, ('rural',), or in a range, (low, high), shape (K,)."""
        if len(where) == 1 and isinstance(where[0], str):
            return self.at(where[0])
        if len(where) == 2 and not any(isinstance(end, str) for end in where):
            return self.within(float(where[0]), float(where[1]))
        raise SchemeError(f"a part of {self.name} is one category or a range's two ends, got {tuple(where)!r}")

    def parts(self, most: int) -> tuple[tuple[str, Part], ...]:
        """Return the parts that a table shows, with their names: every value, or at most that number of ranges."""
        if self.categories and (self.numbers is None or len(self.categories) <= most):
            return tuple((name, (name,)) for name, seen in zip(self.categories, self.answered, strict=True) if seen)
        if self.edges is not None:
            ends = [float(end) for end in np.linspace(self.edges[0], self.edges[-1], most + 1)]
            return tuple((f"{_number_text(low)} to {_number_text(high)}", (low, high)) for low, high in pairwise(ends))
        groups = np.array_split(np.sort(self.values("a range")[self.answered > 0]), most)
        both = [(float(group[0]), float(group[-1])) for group in groups if len(group)]
        return tuple(
            (_number_text(low) if low == high else f"{_number_text(low)} to {_number_text(high)}", (low, high))
            for low, high in both
        )

    def ranges(self, most: int) -> tuple[tuple[str, np.ndarray], ...]:
        """Return those parts as shares of each cell."""
        return tuple((name, self.part(where)) for name, where in self.parts(most))


def _number_text(number: float) -> str:
    """To six digits, and never as a power of ten below 10^15."""
    return f"{float(f'{number:.6g}') + 0.0:.15g}"
