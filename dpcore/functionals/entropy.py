"""Differential entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.functionals.base import Curvature, Density, Expansion, Functional, Influence, nodes

_TINY = 1e-300


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
            return np.maximum(density.pdf(u), _TINY)

        x, w = nodes(density.lower, density.upper, density.breakpoints)
        f = np.maximum(density.pdf(x), 0.0)
        influence = Influence.of_density(density, (0, lambda u: -1 - np.log(positive(u))))
        return Expansion(-float(np.sum(w * xlogy(f, f))), influence, Curvature(((0, lambda u: -0.5 / positive(u)),)))
