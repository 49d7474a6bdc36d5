"""What is asked of a database: counts, sums, means and histograms, on an integer lattice, each with its l1 sensitivity.

The sensitivity is of the statistic over its whole domain, not of the records at hand, which would reveal something about them
([HuOverview] states otherwise in passing).  Neighbours differ in one record: a count moves by at most 1, a sum by the width of
its bounds, a mean by that over n, and a histogram by 2, for one bin loses what another gains.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord, SchemeError, check_whole

PARTS = 1 << 16  # lattice steps to a record of a count, or to the width of a sum's bounds


class Query(ABC):
    """A statistic in R^k: integers that add over records, each worth `unit(n)` of the answer."""

    @property
    @abstractmethod
    def sensitivity(self) -> Fraction:
        """The same of the statistic itself, in its own unit; a mean's is that of its sum."""

    @property
    @abstractmethod
    def lattice_sensitivity(self) -> int:
        """The most that changing one record moves the integers, in the l1 norm."""

    @abstractmethod
    def integers(self, records: Any) -> np.ndarray:
        """Return the statistic's integers, shape (k,), int64."""

    @abstractmethod
    def unit(self, n: int) -> np.ndarray:
        """Return what one lattice step is worth in each coordinate, shape (k,) or ()."""

    def offset(self, n: int) -> np.ndarray:
        """Return the answer for the integers 0."""
        return np.zeros(())

    def answer(self, integers: np.ndarray, n: int) -> np.ndarray:
        """Return the answer for integers, shape (k,), in the query's unit."""
        return np.asarray(self.offset(n) + integers * self.unit(n))


@dataclass(frozen=True)
class Count(Query):
    """How many records are true; records: (n,) of 0 and 1, or (n, k) for k counts at once (sensitivity k).

    columns: k.
    """

    columns: int = 1

    def __post_init__(self) -> None:
        check_whole(1, 1 << 20, columns=self.columns)

    @property
    def sensitivity(self) -> Fraction:
        """1 for each column."""
        return Fraction(self.columns)

    @property
    def lattice_sensitivity(self) -> int:
        return PARTS * self.columns

    def integers(self, records: Any) -> np.ndarray:
        bits = _table(records, self.columns)
        if not np.all((bits == 0) | (bits == 1)):
            raise InvalidRecord(
                "a count wants 0 or 1 of every record; compare records with what is to be counted first"
            )
        return PARTS * bits.sum(axis=0).astype(np.int64)

    def unit(self, n: int) -> np.ndarray:
        return np.asarray(1 / PARTS)


@dataclass(frozen=True)
class Histogram(Query):
    """How many records fall into each of k cells; records: (n,) cells 0..k-1.  Sensitivity 2, whatever k."""

    cells: int

    def __post_init__(self) -> None:
        check_whole(1, 1 << 24, cells=self.cells)

    @property
    def sensitivity(self) -> Fraction:
        """2: a changed record leaves one cell and enters another."""
        return Fraction(2)

    @property
    def lattice_sensitivity(self) -> int:
        return 2 * PARTS

    def integers(self, records: Any) -> np.ndarray:
        cells = np.asarray(records)
        if cells.ndim != 1 or cells.dtype.kind not in "iu" or np.any((cells < 0) | (cells >= self.cells)):
            raise InvalidRecord(
                f"a histogram wants a cell in 0..{self.cells - 1} of every record; map records to cells first"
            )
        return PARTS * np.bincount(cells, minlength=self.cells).astype(np.int64)

    def unit(self, n: int) -> np.ndarray:
        return np.asarray(1 / PARTS)


@dataclass(frozen=True)
class Sum(Query):
    """The sum of each of k columns, records clipped to [lower, upper]; records: (n,) or (n, k).

    lower, upper: bounds, one for each column, in the records' unit; never taken from the data.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        widths = [b - a for a, b in zip(self.lower, self.upper, strict=False)]
        if len(self.lower) != len(self.upper) or not widths or not all(0 < width < inf for width in widths):
            raise SchemeError(
                f"bounds must be as many lower as upper ones, finite, lower < upper; got {self.lower}, {self.upper}"
            )

    @property
    def sensitivity(self) -> Fraction:
        """sum_j (upper_j - lower_j)."""
        return sum((Fraction(b) - Fraction(a) for a, b in zip(self.lower, self.upper, strict=True)), Fraction(0))

    @cached_property
    def _steps(self) -> tuple[int, ...]:
        """Lattice steps to each column's width: in proportion to it, so that all columns have one unit."""
        widest = max(b - a for a, b in zip(self.lower, self.upper, strict=True))
        return tuple(max(1, round(PARTS * (b - a) / widest)) for a, b in zip(self.lower, self.upper, strict=True))

    @property
    def lattice_sensitivity(self) -> int:
        return sum(self._steps)

    def integers(self, records: Any) -> np.ndarray:
        values = _table(records, len(self.lower))
        if not np.all(np.isfinite(values)):
            raise InvalidRecord("records must be finite numbers; leave out or fill in what is missing first")
        lower, upper, steps = np.array(self.lower), np.array(self.upper), np.array(self._steps)
        share = (np.clip(values, lower, upper) - lower) / (upper - lower)
        return np.rint(share * steps).astype(np.int64).sum(axis=0)

    def unit(self, n: int) -> np.ndarray:
        return (np.array(self.upper) - np.array(self.lower)) / np.array(self._steps)

    def offset(self, n: int) -> np.ndarray:
        return n * np.array(self.lower)


@dataclass(frozen=True)
class Mean(Sum):
    """The mean of each of k columns, records clipped to [lower, upper]: the sum over the public n."""

    def sensitivity_for(self, n: int) -> Fraction:
        """Return sum_j (upper_j - lower_j) / n."""
        return self.sensitivity / n

    def unit(self, n: int) -> np.ndarray:
        return super().unit(n) / n

    def offset(self, n: int) -> np.ndarray:
        return np.array(self.lower)


def _table(records: Any, columns: int) -> np.ndarray:
    values = np.asarray(records, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] != columns:
        raise InvalidRecord(f"records must be a table of {columns} columns, got shape {np.shape(records)}")
    return values
