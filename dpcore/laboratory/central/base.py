"""What every mechanism of a trusted curator is: it reads all records, and releases once.

Rules.  (1) Two databases are neighbours when they hold as many records, n, and differ in one: n is public.  (2) What carries
the promise is computed with integers and drawn from a `Source`; floats may estimate what has been released.  (3) The
certificate is computed from the integers that are drawn with, and a mechanism that breaks its promise cannot be made.
(4) Nothing a client runs imports anything from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import ceil, log
from typing import Any, ClassVar, Protocol

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import CalibrationError, InvalidRecord, check_whole
from dpcore.mechanisms.base import Certificate
from dpcore.privacy.budget import Budget


class CuratorMechanism(ABC):
    """A release from the records of all n people, by a curator who may see them.

    Subclasses are frozen dataclasses; their constructors call `_refuse_unless_kept`.
    """

    name: ClassVar[str]
    budget: Budget

    @abstractmethod
    def certificate(self) -> Certificate:
        """Return the certified loss, from the integers used for drawing."""

    @abstractmethod
    def release(self, records: np.ndarray, random: Source) -> Any:
        """Return one release; it spends the whole budget."""

    def _refuse_unless_kept(self, advice: str) -> None:
        certificate = self.certificate()
        if not certificate.holds:
            value = Fraction(certificate.kept)
            loss = log(value.numerator) - log(value.denominator) if certificate.kind == "ratio" else float(value)
            raise CalibrationError(
                f"{self.name} would lose {loss:.6g} where epsilon = {self.budget.text} is promised; {advice}"
            )


class DensityRelease(Protocol):
    """A released density on [0, 1]^r; whatever is made of it costs no further privacy."""

    @property
    def dimension(self) -> int: ...

    def pdf(self, x: Any) -> np.ndarray: ...

    def cdf(self, x: Any) -> np.ndarray: ...

    def sample(self, size: int, random: Source) -> np.ndarray: ...


def laplace_scale(sensitivity: int, budget: Budget) -> int:
    """Return the least whole scale t with sensitivity / t <= epsilon; raises CalibrationError where it exceeds 2^32.

    sensitivity: whole, at least 1.
    """
    check_whole(1, 1 << 62, sensitivity=sensitivity)
    scale = ceil(Fraction(sensitivity) / budget.floor)
    if scale > WORD:
        raise CalibrationError(
            f"a sensitivity of {sensitivity} lattice units needs noise of scale {scale} at epsilon = {budget.text}, and the "
            "largest is 2^32; raise epsilon"
        )
    return scale


def unit_cube(records: Any, dimension: int) -> np.ndarray:
    """Return records of [0, 1]^r as (n, r) float64; (n,) is taken for r = 1.  Raises InvalidRecord for any other."""
    values = np.asarray(records, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] != dimension or not np.all((values >= 0) & (values <= 1)):
        raise InvalidRecord(f"records must be n points of [0, 1]^{dimension}; bring them to the unit interval first")
    return values


def cells_of(records: Any, bins: int, dimension: int) -> np.ndarray:
    """Return the number 0..bins^r - 1 of the cube that holds each record, row by row, shape (n,)."""
    values = unit_cube(records, dimension)
    cells = np.minimum((values * bins).astype(np.int64), bins - 1)
    return np.asarray(np.ravel_multi_index(tuple(cells.T), (bins,) * dimension))


def check_cube(bins: int, dimension: int) -> None:
    """Refuse a partition of [0, 1]^r into more than 2^24 cubes."""
    check_whole(1, 16, dimension=dimension)
    check_whole(1, 1 << 24, bins=bins)
    check_whole(1, 1 << 24, cells=bins**dimension)


def check_counts(counts: Any, cells: int) -> np.ndarray:
    """Return how many people each cell holds as (cells,) int64; raises InvalidRecord for any other, and for nobody at all."""
    values = np.asarray(counts)
    if values.shape != (cells,) or values.dtype.kind not in "iu" or np.any((values < 0) | (values > 1 << 40)):
        raise InvalidRecord(
            f"counts must be {cells} whole numbers of people, one of each cell, got shape {values.shape}"
        )
    if not values.any():
        raise InvalidRecord("a release needs at least one record, got none")
    return values.astype(np.int64)
