"""Quantiles, by inverting the distribution function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.functionals.base import Density, Expansion, Functional, Influence

_ROUNDING = 1e-12  # of a sum of shares, by which it may miss a quantile that it reaches


@dataclass(frozen=True)
class Quantile(Functional):
    """The x below which a share t lies, 0 < t < 1; in the attribute's unit.

    T(h) = -int 1{u <= x} h / f(x).  Inference inverts the band of the distribution function instead of dividing by f(x).
    """

    t: float

    name = "quantile"
    unit = 1
    example = "quantile(0.3)"

    def __post_init__(self) -> None:
        if not 0 < self.t < 1:
            raise SchemeError(f"t of quantile must lie strictly between 0 and 1, got {self.t}")

    @property
    def phrase(self) -> str:  # type: ignore[override]
        return "median" if self.t == 0.5 else f"{100 * self.t:.10g} % of clients are below"

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return lower, upper

    def refuses_probabilities(self) -> None:
        """It applies to categories with numbers, by inversion of their distribution function."""

    def among(self, numbers: np.ndarray, below: np.ndarray) -> float:
        """Return the least of ascending numbers (k,) with at least a proportion t at or below it, below: (k,); or the last."""
        reached = np.flatnonzero(np.asarray(below) >= self.t)
        return float(numbers[reached[0] if len(reached) else -1])

    def of_probabilities(self, probabilities: np.ndarray, numbers: np.ndarray) -> float:
        order = np.argsort(numbers)
        return self.among(np.asarray(numbers)[order], np.cumsum(np.asarray(probabilities)[order]) + _ROUNDING)

    def value(self, density: Density) -> float:
        return float(density.quantile(self.t))

    def expand(self, density: Density) -> Expansion:
        at = self.value(density)
        height = float(density.pdf(at))
        if height <= 0:
            raise SchemeError(f"{self} has no influence where the density is zero")
        influence = Influence(
            density.lower,
            density.upper,
            ((0, lambda u: -(np.asarray(u) <= at).astype(np.float64) / height),),
            (),
            (at,),
        )
        return Expansion(at, influence)


def proportions(t: Any) -> np.ndarray:
    """Return t (any shape) as floats; raises SchemeError unless all lie in [0, 1]."""
    t = np.asarray(t, dtype=np.float64)
    if not np.all((t >= 0) & (t <= 1)):
        raise SchemeError("t of a quantile must lie between 0 and 1")
    return t
