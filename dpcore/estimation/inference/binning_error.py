"""A corrected functional, and what it errs by because values within a cell give the same reports, or sit at few points.

A quantile, or a point at which a density is asked for, errs as if it were anywhere in a cell around it; a share that ends
within a cell by what that cell may do.  Integrals of smooth weights do not: what they leave within a cell is of second order.
How far a cell may bend is seen from the law: one that fills many cells is smooth within each.  Values at points may be anywhere
in what a point stands for, and intervals hold all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.density.densities import DensityOnInterval
from dpcore.estimation.diagnostics.evidence import Discreteness
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.functionals import Expansion, Influence

_FEW_CELLS = (
    "the values lie in so few input cells that counted ones cannot be told from a density; ask for shares or quantiles, or "
    "narrow the bounds"
)
_NO_DENSITY = (
    "the values sit at few points, as far as reports can tell, and have no density; ask for shares or quantiles"
)
_ENDLESS = (
    "at an end of the range the density may be a single value or grow beyond all bounds, as far as reports can tell; ask for "
    "shares, quantiles or moments"
)


@dataclass(frozen=True, eq=False)
class Corrected:
    """A corrected functional; share: of the variance that is of second order.

    missing: times the reports that would do, where its second-order term is too large; 0 where it is not.
    """

    value: float
    error: float
    low: float
    high: float
    share: float = 0.0
    missing: float = 0.0

    def widened(self, spread: float, confidence: float) -> Corrected:
        """Return the same with an error more, of standard deviation `spread`."""
        more = normal_quantile(confidence) * spread
        low = self.value - float(np.hypot(self.value - self.low, more))
        high = self.value + float(np.hypot(self.high - self.value, more))
        return replace(self, error=float(np.hypot(self.error, spread)), low=low, high=high)


@dataclass(frozen=True)
class Cells:
    """The input cells that a density was seen through; inputs: how many."""

    inputs: int
    density: DensityOnInterval

    @property
    def bend(self) -> float:
        """The part of a cell's mass, or of its width, that its own law may move, 0..1.

        A normal law of deviation s changes by 3 / s of itself over a unit of width three deviations out, and has .4 / s of its
        mass on a unit at its mode: by 8 times the share of the fullest cell.
        """
        return min(1.0, constants.TAIL * self._fullest)

    @property
    def is_full(self) -> bool:
        """Whether one of many holds so much that its values may be a single one: a density of them could be anything."""
        return self._fullest >= max(1 / constants.MIN_SUPPORT, constants.TAIL / self.inputs)

    @property
    def are_few(self) -> bool:
        """Whether they hardly tell an atom from the coarsest span's B-splines: a finer span may tell more."""
        return self.inputs < 2 ** (constants.COARSEST_LEVEL + 1) + constants.DEGREE

    @property
    def inner(self) -> np.ndarray:
        """Where the first cell ends and the last one begins, (2,)."""
        own = self.density.width / self.inputs
        return np.array([self.density.lower + own, self.density.upper - own])

    def is_hidden(self, x: np.ndarray) -> np.ndarray:
        """Return whether x (n,) lies within an end cell, where an atom may be: what a finer span says there nobody has seen."""
        begin, end = self.inner
        return ((self.density.lower < x) & (x < begin)) | ((end < x) & (x < self.density.upper))

    @cached_property
    def masses(self) -> np.ndarray:
        """What each cell has of the continuous part, (inputs,)."""
        below = self._below(np.linspace(self.density.lower, self.density.upper, self.inputs + 1))
        below[0] = self.density.atoms[0]
        return np.maximum(np.diff(below), 0.0)

    @property
    def _fullest(self) -> float:
        return float(self.masses.max())

    @property
    def width(self) -> float:
        """The standard deviation of where in its cell a value is."""
        return self.bend * self.density.width / self.inputs / 12**0.5

    def spread(self, influence: Influence) -> float:
        """Return the standard deviation of T(f) for what its points, and the jumps of its weight, look at within cells."""
        parts = []
        for order, at, c in influence.points:
            half = self.density.width / self.inputs / 2
            ends = np.clip([at - half, at + half], self.density.lower, self.density.upper)
            parts.append(self.bend * c * float(np.diff(self.density.derivative(order)(ends))[0]) / 12**0.5)
        for at in influence.breaks:
            jump = influence.jump(at)
            if jump:
                parts.append(jump * float(self.shares(np.array([at]))[0]))
        return float(np.linalg.norm(parts))

    def shares(self, x: np.ndarray) -> np.ndarray:
        """Return the standard deviation of the share at or below x (n,), whose cell's law is its own, (n,).

        At an end of a cell nothing is left open.  Between, a law drawn as widely as beliefs go, Dirichlet's of one
        observation, has the variance s (1 - s) / 2 of the cell's mass squared at the part s of its width.
        """
        lower, width = self.density.lower, self.density.width
        place = np.clip((x - lower) / width * self.inputs, 0.0, self.inputs)
        begin = np.minimum(np.floor(place), self.inputs - 1)
        low, high = (self._below(lower + width * (begin + shift) / self.inputs) for shift in (0, 1))
        part = place - begin
        return np.asarray(self.bend * (high - low) * np.sqrt(part * (1 - part) / 2))

    def _below(self, x: np.ndarray) -> np.ndarray:
        """The share at or below x but for the atom at upper."""
        return np.asarray(self.density.cdf(np.minimum(x, np.nextafter(self.density.upper, -np.inf))))


def check_density(expansion: Expansion, cells: Cells, evidence: Discreteness) -> None:
    """Raise NotEstimable for what a density alone has, where there may be none, or none that is bounded."""
    is_curved = expansion.curvature is not None and not expansion.influence.of_law
    if is_curved and cells.is_full:
        raise NotEstimable(_FEW_CELLS)
    if evidence.is_seen and (is_curved or expansion.influence.points):
        raise NotEstimable(_NO_DENSITY)
    if is_curved and evidence.has_endless_end:
        raise NotEstimable(_ENDLESS)
