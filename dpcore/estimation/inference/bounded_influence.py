"""Influence functions where a density is close to zero: logarithms have unbounded derivatives there.

A correction by an unbounded derivative is mostly noise.  It may be evaluated at a density bounded below by a share of the
uniform one; the posterior then accounts for the difference of the two derivatives (`one_step_correction`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.densities import DensityOnInterval
from dpcore.functionals import Expansion, Functional, Influence


def influences(functional: Functional, expansion: Expansion, density: DensityOnInterval) -> tuple[Influence, ...]:
    """Return the derivatives for a correction: the expansion's own, and a bounded one if that may be unbounded."""
    if not functional.needs_positive:
        return (expansion.influence,)
    return expansion.influence, functional.expand(_NowhereScarce(density)).influence


@dataclass(frozen=True, eq=False)
class _NowhereScarce:
    """A density bounded below by a share of the uniform one."""

    whole: DensityOnInterval

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    def pdf(self, x: Any) -> np.ndarray:
        return np.maximum(self.whole.pdf(x), constants.SMALL / self.whole.width)
