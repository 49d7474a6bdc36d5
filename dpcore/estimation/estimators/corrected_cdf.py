"""The corrected distribution function of a fit along the whole range: its band, and what shares are reported from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.estimation.estimators import rules
from dpcore.estimation.estimators.bands import standard_errors
from dpcore.estimation.estimators.coherent_cdf import CoherentCdf
from dpcore.estimation.estimators.corrected import Cells
from dpcore.estimation.estimators.distribution_free import DistributionFree
from dpcore.estimation.estimators.posterior import Posterior
from dpcore.estimation.estimators.span import Span
from dpcore.estimation.support import Deviations

LEVELS = range(rules.COARSEST, rules.LEVEL + 1)  # of spans: 19, 35 and 67 B-splines


@dataclass(frozen=True, eq=False)
class CorrectedCdf:
    """The distribution function of a fit, corrected by spans.

    span: what returns the span of a level.  is_discrete: whether reports show that values are concentrated on few points.
    """

    posterior: Posterior
    cells: Cells
    any_distribution: DistributionFree
    span: Callable[[int], Span]
    is_discrete: bool

    def band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, (n,), at x (n,): so many standard errors to either side."""
        below, errors = self._at(x)
        low, high = below - deviations * errors, below + deviations * errors
        if self.cells.are_few:  # within an end cell hardly anything was seen but what is known at its inner edge
            begin, end = edges = self.cells.inner
            value, at_edges = self._at(edges)
            half = np.max(deviations) * at_edges
            low = np.where(x > end, np.maximum(low, value[1] - half[1]), low)
            high = np.where(x < begin, np.minimum(high, value[0] + half[0]), high)
        free = self.any_distribution.band(x, deviations)
        is_free = self.is_discrete | (self.any_distribution.cdf_errors(x) < errors)
        return np.where(is_free, free[0], low), np.where(is_free, free[1], high)

    @cached_property
    def coherent(self) -> CoherentCdf:
        """The distribution function that shares and quantiles are reported from.

        Corrections are to the middle of the distribution-free band where that is what intervals are made of.
        """
        density, grid = self.posterior.density, self.posterior.grid
        x = np.append(grid[:-1], np.nextafter(density.upper, -np.inf))
        middle, free = self.any_distribution.middle(x)
        try:
            with np.errstate(all="ignore"):
                below, errors = self._at(x)
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):
            below, errors = middle, np.full(len(x), np.inf)
        is_free = self.is_discrete | ~(errors <= free)
        return CoherentCdf.of(density, grid, np.where(is_free, middle, below), np.where(is_free, free, errors))

    def _at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The corrected distribution function at x (n,), and its standard errors."""
        posterior, density = self.posterior, self.posterior.density
        columns = np.vstack([posterior.cdf_features[:-1], -posterior.masses[1]])  # the last: what is below upper
        below = np.array([np.interp(x, posterior.grid, column) for column in columns.T]).T  # by parameter
        below[x >= density.upper] = 0.0
        value, variance = np.empty(len(x)), np.full(len(x), np.inf)
        may_go_on = self.cells.are_few & ~self.cells.is_hidden(x)
        open_, is_enough = np.ones(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
        for level in LEVELS:
            seen = self.span(level)
            features = seen.cdf_features(x)
            left = standard_errors(below - features @ seen.reach, posterior.covariance) ** 2
            found = standard_errors(features, seen.covariance) ** 2 + left
            open_ &= found <= rules.DEAR**2 * variance
            does = left <= rules.SMALL * found
            taken = open_ & (~is_enough | does & (found < variance))
            value[taken], variance[taken] = (features @ seen.correction)[taken], found[taken]
            is_enough |= taken & does
            open_ &= ~is_enough | may_go_on
        return density.cdf(x) + value, np.hypot(np.sqrt(variance), self.cells.shares(x))
