"""Quantiles, by inverting the distribution function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.errors import SchemeError
from dpcore.functionals.base import Density, Expansion, Functional, Influence


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
