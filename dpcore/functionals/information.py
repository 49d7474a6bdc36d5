"""Differential entropy, and Fisher information for location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.functionals.base import Curvature, Density, Expansion, Functional, Influence, needs_degree, nodes

_LEAST_DENSITY = 1e-300  # in a logarithm
_TINY = 1e-90  # the third power of its inverse is still a number


@dataclass(frozen=True)
class Entropy(Functional):
    """-int f log f in nats, x in the attribute's unit; at most log(upper - lower).

    T(h) = -int (1 + log f) h, Q(h) = -int h^2 / (2 f).  It is the negative of the functional that the source studies.
    """

    name = "entropy"
    unit = "nats"
    needs_positive = True

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return -np.inf, float(np.log(upper - lower))

    def expand(self, density: Density) -> Expansion:
        from scipy.special import xlogy

        def positive(u: Any) -> np.ndarray:
            return np.maximum(density.pdf(u), _LEAST_DENSITY)

        x, w = nodes(density.lower, density.upper, density.breakpoints)
        f = np.maximum(density.pdf(x), 0.0)
        influence = Influence.of_density(density, (0, lambda u: -1 - np.log(positive(u))))
        return Expansion(-float(np.sum(w * xlogy(f, f))), influence, Curvature(((0, lambda u: -0.5 / positive(u)),)))


@dataclass(frozen=True)
class FisherInformation(Functional):
    """int (f')^2 / f, per unit of x squared: information of one direct observation on a shift of the density.

    With l = f'/f:  T(h) = int 2 l h' - l^2 h,  Q(h) = int (h' - l h)^2 / f.
    Integration by parts leaves 2 l h at the two ends: atomic of index 0 unless the density is flat there.
    It is infinite where the density falls to zero linearly or more steeply; no quadrature detects that.
    """

    name = "fisher_information"
    unit = -2
    kind = "atomic"
    needs_positive = True

    @property
    def index(self) -> int:
        return 0

    def refuses(self, lower: float, upper: float, degree: int | None = None) -> str | None:
        return needs_degree(1, degree)

    def range_on(self, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, np.inf

    def expand(self, density: Density) -> Expansion:
        slope = density.derivative(1)

        def positive(u: Any) -> np.ndarray:
            return np.maximum(density.pdf(u), _TINY)

        def score(u: Any) -> np.ndarray:  # l
            return slope(u) / positive(u)

        x, w = nodes(density.lower, density.upper, density.breakpoints)
        value = float(np.sum(w * np.where(density.pdf(x) > _TINY, slope(x) * score(x), 0.0)))
        influence = Influence.of_density(density, (1, lambda u: 2 * score(u)), (0, lambda u: -(score(u) ** 2)))
        curvature = Curvature(
            ((1, lambda u: 1 / positive(u)), (0, lambda u: score(u) ** 2 / positive(u))),
            mixed=((0, 1, lambda u: -2 * score(u) / positive(u)),),
        )
        return Expansion(value, influence, curvature)
