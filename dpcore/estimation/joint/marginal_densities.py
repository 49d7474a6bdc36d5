"""The margins of a joint attribute of two numbers: the density of each from its own reports and those of the plane.

The attribute itself has no estimator of its own: `dp.joint` estimates the joint distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.estimator import Estimator
from dpcore.estimation.estimators import LogSpline
from dpcore.mechanisms.observation_model import FiniteChannel, Listed


def densities(attribute: Any, statistics: np.ndarray) -> tuple[DensityEstimate, DensityEstimate]:
    """Return both numbers' densities; statistics: (S,), of the joint attribute.

    The rows and columns of a square window are windows of each number.  The row of a report of the plane is a report of x
    through a square wave with a lower contrast, as points outside the window in one direction count wherever they are in the
    other.  Reports of x alone concern the same x, and both are fitted together.
    Raises NotEstimable without reports of the plane or of the number.
    """
    mechanism = attribute.mechanism
    cells, (window, _, *alone) = mechanism.cells, mechanism.windows
    places, _, *others = mechanism.model().split(np.asarray(statistics))
    table = window.weights().reshape(cells, cells, window.rows, window.columns)
    places = places.reshape(window.rows, window.columns)
    sides = (
        (table[:, 0].sum(axis=2), places.sum(axis=1), alone[0].weights()[::cells], others[0]),
        (table[0].sum(axis=1), places.sum(axis=0), alone[1].weights()[:cells], others[1]),
    )
    estimates = []
    for side, level, (lines, seen, weights, own) in zip(attribute.sides, (2, 3), sides, strict=True):
        counts = np.append(seen, own)
        if not counts.sum():
            raise NotEstimable(f"{attribute.name} has no report of {side.name} or of a place; collect some first")
        law = np.array([mechanism.level_law[0], mechanism.level_law[level]], dtype=np.float64)
        channel = FiniteChannel((Listed(lines), Listed(weights)), law / law.sum())
        estimates.append(LogSpline().through(side, channel, counts))
    return estimates[0], estimates[1]


@dataclass(frozen=True)
class Together(Estimator):
    """The estimator that a joint attribute names; it always refuses, and refers to `dp.joint`."""

    name = "together"
    titles = MappingProxyType({"together": "joint attribute of two numbers"})

    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> Any:
        """Raise NotEstimable."""
        one, other = aggregate.scheme.attributes[attribute].of
        raise NotEstimable(
            f'{attribute} is the joint distribution of two numbers; use dp.joint(aggregate, "{one}", "{other}")'
        )
