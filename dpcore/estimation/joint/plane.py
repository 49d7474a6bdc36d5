"""Either number of two that were asked together: what reports of places in the plane say of one, whatever the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation.density_estimate import DensityEstimate
from dpcore.estimation.estimators import LogSpline
from dpcore.mechanisms.observation import FiniteChannel, Listed


def densities(attribute: Any, statistics: np.ndarray) -> tuple[DensityEstimate, DensityEstimate]:
    """Return both numbers' densities; statistics: (S,), of the attribute that asks them together.

    A square window's rows and columns are windows of either number: the row of a report is a report of x through a square wave
    whose window is lighter, as what is outside a window in one direction counts wherever it is in the other.
    Raises NotEstimable where no report is of the plane.
    """
    cells, window = attribute.mechanism.cells, attribute.mechanism.windows[0]
    table = window.weights().reshape(cells, cells, window.rows, window.columns)
    counts = np.asarray(statistics[: window.outputs]).reshape(window.rows, window.columns)
    if not counts.sum():
        raise NotEstimable(f"{attribute.name} has no report of a place; collect some first")
    first = _density(attribute.sides[0], table[:, 0].sum(axis=2), counts.sum(axis=1))
    return first, _density(attribute.sides[1], table[0].sum(axis=1), counts.sum(axis=0))


def _density(side: Any, weights: np.ndarray, counts: np.ndarray) -> DensityEstimate:
    return LogSpline().through(side, FiniteChannel((Listed(weights),), np.ones(1)), counts)
