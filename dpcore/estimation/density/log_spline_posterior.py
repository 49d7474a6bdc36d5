"""A log-spline as one prior sees it: the density at the posterior's maximum, how parameters move it, and their covariance.

The parameters are the coefficients of the log density, then the masses of the atoms there are.  With s = log f,

    d f = f (ds - E_f ds),    d^r f by Leibniz' rule,    d(A f) = A (d f),

so that every functional's derivative along them is known, and everything is linear algebra from here on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import comb

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.density import log_spline_fit
from dpcore.estimation.density.densities import ExponentialSpline
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.density.log_spline_family import Quadrature
from dpcore.estimation.inference import confidence_bands
from dpcore.functionals import Influence
from dpcore.mechanisms.bases import bspline


@dataclass(frozen=True, eq=False)
class Posterior:
    """likelihood: of what was observed.  density: the fit.  expected: (S,), what the likelihood expects under it.

    covariance: (D, D), of the coefficients of the log density and of the atoms there are.
    nodes: on each block over which laws are integrated (see `log_spline_family.Quadrature`).
    """

    likelihood: Likelihood
    density: ExponentialSpline
    expected: np.ndarray
    covariance: np.ndarray
    nodes: int = 1
    _memory: dict[tuple[int, bytes], np.ndarray] = field(default_factory=dict, repr=False)

    @cached_property
    def ends(self) -> np.ndarray:
        """Ends with a point mass, 0 for lower and 1 for upper."""
        return np.flatnonzero(np.array(self.density.atoms) > 0)

    @cached_property
    def detected_ends(self) -> np.ndarray:
        """Ends whose point mass exceeds its standard error."""
        masses = np.array(self.density.atoms)[self.ends]
        own = np.diagonal(self.covariance)[len(self.density.coefficients) :]
        return self.ends[masses > np.sqrt(np.maximum(own, 0.0))]

    @property
    def grid(self) -> np.ndarray:
        """Points from lower to upper, (1025,)."""
        return np.linspace(self.density.lower, self.density.upper, constants.CURVE_CELLS + 1)

    @property
    def masses(self) -> np.ndarray:
        """The atoms' change by parameter, (2, D): of lower and of upper."""
        rows = np.zeros((2, len(self.covariance)))
        for number, end in enumerate(self.ends):
            rows[end, len(self.density.coefficients) + number] = 1.0
        return rows

    def log_features(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """Return d s^(order)(x) by parameter, shape (n, D), s = log f on the unit interval, f the continuous part."""
        share = np.clip((np.asarray(x, dtype=np.float64) - self.density.lower) / self.density.width, 0.0, 1.0)
        splines = bspline.evaluate(share, self.density.degree, self.density.level, order)
        full = np.hstack([splines, np.zeros((len(splines), len(self.ends)))])
        return full - self._means if order == 0 else full

    def features(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """Return d f^(order)(x) by parameter, (n, D), per unit of x to the power order + 1."""
        key = order, np.asarray(x, dtype=np.float64).tobytes()
        if key not in self._memory:
            width = self.density.width
            total = np.zeros((len(x), len(self.covariance)))
            for k in range(order + 1):
                f = self.density.derivative(k)(x)[:, None]
                total += comb(order, k) * f * self.log_features(x, order - k) / width ** (order - k)
            if len(self._memory) >= constants.REMEMBERED:
                self._memory.clear()
            self._memory[key] = total
        return self._memory[key]

    @cached_property
    def cdf_features(self) -> np.ndarray:
        """Derivative of F by the parameters on the grid, (1025, D)."""
        masses = self._masses(constants.CURVE_CELLS)
        below = self.masses[0]  # the point mass at lower
        sums = below + np.vstack([np.zeros(len(below)), np.cumsum(masses, axis=0)])
        sums[-1] = 0.0  # F is 1 at upper
        return sums

    @cached_property
    def slope(self) -> np.ndarray:
        """Derivative of the expected values by the parameters, (S, D)."""
        inputs = self.likelihood.inputs
        masses = self._masses(inputs * -(-(constants.CURVE_CELLS + 1) // inputs))
        cells = masses.reshape(inputs, -1, masses.shape[1]).sum(axis=1)
        cells[[0, -1]] += self.masses
        return self.likelihood.expected(cells)

    @cached_property
    def root(self) -> np.ndarray:
        """V^{1/2}, (D, D): V is its product with its transpose."""
        return confidence_bands.root(self.covariance)

    @cached_property
    def relative_error(self) -> float:
        """Relative standard error of the density, root mean square over the respondents: sqrt of int var f / f."""
        middles = (self.grid[1:] + self.grid[:-1]) / 2
        errors, f = confidence_bands.standard_errors(self.features(middles), self.covariance), self.density.pdf(middles)
        return float(np.sqrt(np.sum(errors**2 / np.maximum(f, constants.TINY)) * self.density.width / len(middles)))

    def along(self, influence: Influence) -> np.ndarray:
        """Return the derivative of a functional by each parameter, (D,)."""
        return influence.on(self.features, self.density.breakpoints, self.masses)

    def _masses(self, blocks: int) -> np.ndarray:
        """Derivative of each block's mass of the continuous part by the parameters, (blocks, D)."""
        rule, density = Quadrature(blocks, self.nodes), self.density
        features = self.features(density.lower + density.width * rule.at) * density.width / blocks
        return (
            features
            if self.nodes == 1
            else np.einsum("bnd,n->bd", features.reshape(blocks, self.nodes, -1), rule.weights[: self.nodes])
        )

    @cached_property
    def _means(self) -> np.ndarray:
        """Minus the derivative of log f by the parameters but for the spline itself, (D,): means, and loss to atoms."""
        rule = Quadrature(constants.CURVE_CELLS, self.nodes)
        splines = bspline.evaluate(rule.at, self.density.degree, self.density.level)
        f = rule.weights * self.density.pdf(self.density.lower + self.density.width * rule.at)
        taken = np.full(len(self.ends), 1 / (1 - sum(self.density.atoms)))
        return np.concatenate([f @ splines / f.sum(), taken])


def of_fit(fit: log_spline_fit.Fit, lower: float, upper: float) -> Posterior:
    """Return the average over priors as one posterior, its density on [lower, upper]."""
    density = ExponentialSpline(lower, upper, constants.DEGREE, fit.level, fit.coefficients, fit.atoms)
    return Posterior(fit.likelihood, density, fit.expected, fit.covariance, fit.nodes)


def of_models(fit: log_spline_fit.Fit, lower: float, upper: float, least: float) -> tuple[Posterior, ...]:
    """Return the posterior under each prior whose marginal likelihood is at least that share of the best one's."""
    weighty = fit.weights >= least * fit.weights[0]
    return tuple(
        _of_model(fit, model, lower, upper) for model, is_kept in zip(fit.models, weighty, strict=True) if is_kept
    )


def holds_uniform(fit: log_spline_fit.Fit, least: float) -> bool:
    """Return whether the uniform density, a limit of every prior, has at least that share of the best marginal likelihood."""
    inputs = fit.likelihood.inputs
    own = fit.likelihood.log_likelihood(fit.likelihood.expected(np.full(inputs, 1 / inputs)))
    return bool(own >= fit.models[0].evidence + np.log(least))


def _of_model(fit: log_spline_fit.Fit, model: log_spline_fit.Model, lower: float, upper: float) -> Posterior:
    parameters, ends = model.turn @ model.eta, np.flatnonzero(model.family.ends)
    size = len(parameters) - len(ends)
    masses = np.maximum(parameters[size:], 0.0)  # an atom without mass is none
    atoms = np.zeros(2)
    atoms[ends] = masses
    present = np.concatenate([np.full(size, True), masses > 0])
    covariance = (model.turn @ scipy.linalg.cho_solve(model.factor, model.turn.T))[np.ix_(present, present)]
    density = ExponentialSpline(lower, upper, constants.DEGREE, fit.level, parameters[:size], (atoms[0], atoms[1]))
    expected = model.family.expected(model.family.law(model.eta))
    return Posterior(fit.likelihood, density, expected, covariance, fit.nodes)
