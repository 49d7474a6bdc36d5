"""Corrected functionals, with the error due to binning and to discrete values.

Values within one input cell have the same reports.  A quantile, or the density at a point, may be anywhere in the cell around
it; a proportion whose limit lies within a cell has the error of the cell's own distribution.  For integrals of smooth weights
the error within cells is of second order.  How far a density changes within a cell follows from its width: one that fills many
cells is smooth within each.  Discrete values may be anywhere in a cell, and intervals cover all of it.
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
    "the values lie in too few input cells to distinguish a density from discrete values; ask for proportions or quantiles, or "
    "narrow the bounds"
)
_NO_DENSITY = (
    "the reports suggest values concentrated on few points, without a density; ask for proportions or quantiles"
)
_ENDLESS = (
    "the reports do not exclude a point mass or an unbounded density at an end of the range; ask for "
    "proportions, quantiles or moments"
)


@dataclass(frozen=True, eq=False)
class Corrected:
    """A corrected functional; share: of the variance that is of second order.

    missing: required reports as a multiple of the present ones, if the second-order term is too large; else 0.
    """

    value: float
    error: float
    low: float
    high: float
    share: float = 0.0
    missing: float = 0.0

    def widened(self, spread: float, confidence: float) -> Corrected:
        """Return it with an additional independent error of standard deviation `spread`."""
        more = normal_quantile(confidence) * spread
        low = self.value - float(np.hypot(self.value - self.low, more))
        high = self.value + float(np.hypot(self.high - self.value, more))
        return replace(self, error=float(np.hypot(self.error, spread)), low=low, high=high)


@dataclass(frozen=True)
class Cells:
    """The input cells through which a density was observed; inputs: their number."""

    inputs: int
    density: DensityOnInterval

    @property
    def bend(self) -> float:
        """Largest share of a cell's mass, or of its width, that the distribution within the cell may move, 0..1.

        A normal distribution of deviation s changes by 3 / s of itself over a unit of width three deviations out, and has mass
        .4 / s on a unit at its mode: the change is 8 times the share of the fullest cell.
        """
        return min(1.0, constants.TAIL * self._fullest)

    @property
    def is_full(self) -> bool:
        """Whether one cell holds so much mass that its values may be a single one, which leaves the density undetermined."""
        return self._fullest >= max(1 / constants.MIN_SUPPORT, constants.TAIL / self.inputs)

    @property
    def are_few(self) -> bool:
        """Whether so few cells hardly distinguish a point mass from the coarsest span's B-splines."""
        return self.inputs < 2 ** (constants.COARSEST_LEVEL + 1) + constants.DEGREE

    @property
    def inner(self) -> np.ndarray:
        """Upper limit of the first cell and lower limit of the last, (2,)."""
        own = self.density.width / self.inputs
        return np.array([self.density.lower + own, self.density.upper - own])

    def is_hidden(self, x: np.ndarray) -> np.ndarray:
        """Return whether x (n,) lies within an end cell, where a point mass may be and a finer span sees nothing."""
        begin, end = self.inner
        return ((self.density.lower < x) & (x < begin)) | ((end < x) & (x < self.density.upper))

    @cached_property
    def masses(self) -> np.ndarray:
        """Mass of the continuous part in each cell, (inputs,)."""
        below = self._below(np.linspace(self.density.lower, self.density.upper, self.inputs + 1))
        below[0] = self.density.atoms[0]
        return np.maximum(np.diff(below), 0.0)

    @property
    def _fullest(self) -> float:
        return float(self.masses.max())

    @property
    def width(self) -> float:
        """Standard deviation of a value's place within its cell."""
        return self.bend * self.density.width / self.inputs / 12**0.5

    def spread(self, influence: Influence) -> float:
        """Return the standard deviation of T(f) due to the places within cells of its points and of the jumps of its weight."""
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
        """Return the standard deviation of the proportion at or below x (n,) due to the distribution within x's cell, (n,).

        It vanishes at cell limits.  Between them, a prior as wide as Dirichlet's of one observation gives the variance s (1 -
        s) / 2 of the cell's mass squared at the part s of its width.
        """
        lower, width = self.density.lower, self.density.width
        place = np.clip((x - lower) / width * self.inputs, 0.0, self.inputs)
        begin = np.minimum(np.floor(place), self.inputs - 1)
        low, high = (self._below(lower + width * (begin + shift) / self.inputs) for shift in (0, 1))
        part = place - begin
        return np.asarray(self.bend * (high - low) * np.sqrt(part * (1 - part) / 2))

    def _below(self, x: np.ndarray) -> np.ndarray:
        """The proportion at or below x without the point mass at upper."""
        return np.asarray(self.density.cdf(np.minimum(x, np.nextafter(self.density.upper, -np.inf))))


def check_density(expansion: Expansion, cells: Cells, evidence: Discreteness) -> None:
    """Raise NotEstimable for functionals of a density if there may be no density, or an unbounded one."""
    is_curved = expansion.curvature is not None and not expansion.influence.of_law
    if is_curved and cells.is_full:
        raise NotEstimable(_FEW_CELLS)
    if evidence.is_seen and (is_curved or expansion.influence.points):
        raise NotEstimable(_NO_DENSITY)
    if is_curved and evidence.has_endless_end:
        raise NotEstimable(_ENDLESS)
