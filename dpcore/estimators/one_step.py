"""One-step corrected functionals: what a smooth fit leaves in the data, put back where a functional looks.

A penalised density f is smoother than the truth, so that L(f) is biased and intervals around it do not cover.  The residual
shares r = observed - A f, projected on K' density B-splines by weighted least squares, estimate f* - f without a penalty:

    h = sum_k c_k B_k, int h = 0,   c = (A_B' W A_B)^{-1} A_B' W r,   S = (A_B' W A_B)^{-1},

W the Fisher weights, A_B = A applied to the B-splines.  A functional's corrected value and error are

    value = L(f) + T(h) + tr(Q V),   SE^2 = t' S t + 2 tr((Q V)^2),   t_k = T(B_k),

T its first and Q half its second derivative at f, V the covariance of f: the second-order term that T leaves out has the
mean tr(Q V) and the variance 2 tr((Q V)^2).  Where either exceeds the first-order error, the functional is refused.  It is the
undersmoothing of [Szabo2024] in one line: K' does not depend on how smooth f was found to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.bases import bspline
from dpcore.densities import DensityOnInterval, cumulated
from dpcore.estimates import FunctionalEstimate, normal_quantile
from dpcore.estimators.bands import invert_band, standard_errors, within
from dpcore.estimators.likelihood import Likelihood
from dpcore.functionals import Functional, Influence, Quantile

_DEGREE, _LEVEL = 3, 4  # of the B-splines of the correction: K' = 19
_WINDOW = 1 / 8  # of the interval: two of the correction's knot intervals, so that its knots do not show
_POINTS = 2049  # of the grid on which distribution functions are inverted

Features = Callable[[np.ndarray, int], np.ndarray]  # (x, order) -> (n, D)


@dataclass(frozen=True, eq=False)
class OneStep:
    """Functionals of a density found through a likelihood.

    density: the fit.  expected: (S,), what the likelihood expects under it.
    features: (x, order) -> (n, D), how the density's derivatives move with the fit's parameters; covariance: (D, D), theirs.
    """

    likelihood: Likelihood
    density: DensityOnInterval
    expected: np.ndarray
    features: Features
    covariance: np.ndarray

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional's corrected estimate, or a refusal; the caller has checked the confidence."""
        density = self.density
        reason = functional.refuses(density.lower, density.upper)
        if reason is not None:
            return self._refusal(functional, confidence, None, reason)
        plug_in = float(functional.value(density))
        if isinstance(functional, Quantile):
            value, error, low, high = self._quantile(functional.t, confidence)
            least, most, share = density.lower, density.upper, 0.0
        else:
            expansion = functional.expand(density)
            t = self._along(expansion.influence)
            first = float(np.sqrt(max(0.0, t @ self._span_covariance @ t)))
            value, second, debias = plug_in + float(t @ self._correction), 0.0, 0.0
            if expansion.curvature is not None:
                Q = expansion.curvature.on(self.features, density.breakpoints, len(self.covariance))
                QV = Q @ self.covariance
                debias, second = float(np.trace(QV)), float(np.sqrt(max(0.0, 2 * np.sum(QV * QV.T))))
            if max(abs(debias), second) > first:
                ratio = max(abs(debias), second) / first if first > 0 else np.inf
                return self._refusal(
                    functional,
                    confidence,
                    plug_in,
                    f"the noise is too large for this functional: its second-order term is {ratio:.2g} times the first-order "
                    "error, at most 1 can be trusted; more reports or a larger epsilon would do",
                )
            value, error = value + debias, float(np.hypot(first, second))
            share = (second / error) ** 2 if error > 0 else 0.0
            half = normal_quantile(confidence) * error
            low, high = value - half, value + half
            least, most = functional.range_on(density.lower, density.upper)
            if len(self._ends) and not expansion.influence.of_law:  # the density beside atoms has less mass than one
                least, most = min(least, 0.0), np.inf
        if not np.all(np.isfinite([value, error, low, high])):
            reason = "the fit leaves this functional without a finite value; the density is too concentrated for it"
            return self._refusal(functional, confidence, None, reason)
        value, low, high = within(value, low, high, least, most)
        return FunctionalEstimate(
            functional=str(functional),
            value=value,
            standard_error=error,
            low=low,
            high=high,
            confidence=confidence,
            plug_in=plug_in,
            kind=functional.kind,
            second_order=share,
        )

    def density_errors(self, x: np.ndarray) -> np.ndarray:
        """Return the standard errors, (n,), of the corrected density's average over an eighth of the range around x, (n,)."""
        width = self.density.upper - self.density.lower
        share = np.clip((np.asarray(x, dtype=np.float64) - self.density.lower) / width, _WINDOW / 2, 1 - _WINDOW / 2)
        each = (_cumulated(share + _WINDOW / 2) - _cumulated(share - _WINDOW / 2)) / (_WINDOW * width)
        features = np.hstack([each, np.zeros((len(each), len(self._ends)))])
        return standard_errors(features, self._span_covariance)

    def _refusal(
        self, functional: Functional, confidence: float, plug_in: float | None, reason: str
    ) -> FunctionalEstimate:
        return FunctionalEstimate(
            functional=str(functional),
            value=None,
            standard_error=None,
            low=None,
            high=None,
            confidence=confidence,
            plug_in=plug_in,
            kind=functional.kind,
            reason=reason,
        )

    def _quantile(self, t: float, confidence: float) -> tuple[float, float, float, float]:
        density = self.density
        x = np.linspace(density.lower, density.upper, _POINTS)
        share = (x - density.lower) / (density.upper - density.lower)
        cdf, features = density.cdf(x), self._span_cdf(share)
        if density.atoms[1] > 0:  # it jumps at upper: there stands what is below, too, or the jump would be a slope
            below = np.append(features[-1, :-1], 0.0)
            x, cdf = np.append(x, x[-1]), np.insert(cdf, -1, 1 - density.atoms[1])
            features = np.insert(features, -1, below, axis=0)
        errors = standard_errors(features, self._span_covariance)
        return invert_band(x, cdf + features @ self._correction, errors, t, confidence)

    # The span of the correction: B-splines of the unit interval and the atoms, of mass zero in all

    @cached_property
    def _ends(self) -> np.ndarray:
        """Which of lower and upper hold an atom."""
        return np.flatnonzero(np.array(self.density.atoms) > 0)

    @cached_property
    def _directions(self) -> np.ndarray:
        """Orthonormal columns of the coefficients whose mass is zero, (K' + atoms, K' + atoms - 1)."""
        mass = np.concatenate([bspline.integrals(_DEGREE, _LEVEL), np.ones(len(self._ends))])
        return np.linalg.qr(np.column_stack([mass, np.eye(len(mass))[:, 1:]]))[0][:, 1:]

    @cached_property
    def _solved(self) -> tuple[np.ndarray, np.ndarray]:
        """The correction's coefficients (K' + atoms,) and their covariance."""
        inputs = self.likelihood.inputs
        edges = np.arange(inputs + 1) / inputs
        masses = np.diff(_cumulated(edges), axis=0)
        atoms = np.zeros((inputs, len(self._ends)))
        for column, end in enumerate(self._ends):
            atoms[-end, column] = 1.0  # cell 0 or cell -1
        seen = self.likelihood.expected(np.hstack([masses, atoms])) @ self._directions
        weights = self.likelihood.weights(self.expected)
        information = (seen * weights[:, None]).T @ seen
        inverse = np.linalg.pinv(information, rcond=1e-12, hermitian=True)
        found = inverse @ (seen.T @ (weights * self.likelihood.residual(self.expected)))
        return self._directions @ found, self._directions @ inverse @ self._directions.T

    @property
    def _correction(self) -> np.ndarray:
        return self._solved[0]

    @property
    def _span_covariance(self) -> np.ndarray:
        return self._solved[1]

    def _along(self, influence: Influence) -> np.ndarray:
        """T of each function of the span, shape (K' + atoms,)."""
        lower, width = self.density.lower, self.density.upper - self.density.lower

        def features(x: np.ndarray, order: int) -> np.ndarray:
            u = np.clip((np.asarray(x, dtype=np.float64) - lower) / width, 0.0, 1.0)
            return bspline.evaluate(u, _DEGREE, _LEVEL, order) / width ** (order + 1)

        smooth = influence.on(features, self.density.breakpoints)
        return np.concatenate([smooth, influence.at_ends()[self._ends]])

    def _span_cdf(self, share: np.ndarray) -> np.ndarray:
        """The distribution function of each function of the span at shares (n,) of the interval, (n, K' + atoms)."""
        steps = [np.where(share >= end, 1.0, 0.0) for end in self._ends]
        return np.column_stack([_cumulated(share), *steps])


def _cumulated(share: np.ndarray) -> np.ndarray:
    """int_0^u B_k for u (n,), shape (n, K')."""
    return cumulated(share, _DEGREE, _LEVEL)
