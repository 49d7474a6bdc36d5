"""What a functional is corrected by where hardly anybody is: logarithms there have derivatives without a bound.

A correction by such a derivative is noise of places where nobody is.  It may be read at a density that is nowhere below a part
of the uniform one; what the two derivatives differ by is then the posterior's to answer for (`one_step_correction`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.densities import DensityOnInterval
from dpcore.functionals import Expansion, Functional, Influence


def influences(functional: Functional, expansion: Expansion, density: DensityOnInterval) -> tuple[Influence, ...]:
    """Return the derivatives to correct by: the expansion's own, then one with a bound where that may have none."""
    if not functional.needs_positive:
        return (expansion.influence,)
    return expansion.influence, functional.expand(_NowhereScarce(density)).influence


@dataclass(frozen=True, eq=False)
class _NowhereScarce:
    """A density, nowhere below a part of the uniform one."""

    whole: DensityOnInterval

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    def pdf(self, x: Any) -> np.ndarray:
        return np.maximum(self.whole.pdf(x), constants.SMALL / self.whole.width)
