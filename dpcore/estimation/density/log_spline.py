"""The log-spline estimate of a density: penalised likelihood for any observation model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.errors import SchemeError, check_within
from dpcore.estimation import constants
from dpcore.estimation.density import log_spline_fit
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.item_nonresponse import Answers, OfAnswered
from dpcore.estimation.density.likelihood import Counts, Likelihood, group_counts
from dpcore.estimation.density.log_spline_posterior import Posterior
from dpcore.estimation.diagnostics import goodness_of_fit
from dpcore.estimation.diagnostics.evidence import Deviations, Discreteness, GoodnessOfFit
from dpcore.estimation.estimator import DensityEstimator
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.estimation.inference import bounded_curvature, distribution_free, one_step_correction
from dpcore.estimation.inference.confidence_bands import critical_value, standard_errors
from dpcore.estimation.inference.one_step_correction import OneStep
from dpcore.estimation.joint.conditioning import Pair
from dpcore.functionals import Functional
from dpcore.functionals.group import Group
from dpcore.mechanisms.observation_model import FiniteChannel, NoisyFeatures


@dataclass(frozen=True)
class LogSpline(DensityEstimator):
    """The density whose logarithm is a cubic spline, averaged over smoothness by marginal likelihood (see `log_spline_fit`).

    level: the log density lies in V_level, 2^level + 3 B-splines, or in a finer space where the data contradict all models of
    V_level: the prior, not the basis, determines the smoothness.
    orders: of the differences that the priors penalise, each 1..4.
    Counts have a multinomial likelihood, noisy features a normal one; `one_step_correction` corrects functionals.
    """

    level: int = constants.FIT_LEVEL
    orders: tuple[int, ...] = one_step_correction.ORDERS
    name = "log_spline"
    titles = MappingProxyType({"log_spline": "estimated by a log-spline"})
    needs = "log_spline needs a numeric attribute"

    def __post_init__(self) -> None:
        check_within(3, 8, level=self.level)
        if not self.orders or any(order not in (1, 2, 3, 4) for order in self.orders):
            raise SchemeError(f"orders must be some of 1, 2, 3, 4, got {self.orders}")

    def degree(self, mechanism: Any) -> int | None:
        return constants.DEGREE

    def _reads(self, model: Any) -> bool:
        return isinstance(model, FiniteChannel | NoisyFeatures)

    def through(self, described: Any, channel: FiniteChannel, counts: np.ndarray) -> DensityEstimate:
        """Return the density of a number from counts of a channel; described: its name, unit and bounds."""
        return self._estimate(described, Counts(channel, counts), None)

    def _of_everyone(
        self, described: Any, model: FiniteChannel | NoisyFeatures, statistics: np.ndarray
    ) -> DensityEstimate:
        if isinstance(model, FiniteChannel):
            if described.missing == "category":
                return self._of_answered(described, Answers(model, statistics))
            return self.through(described, model, statistics)
        return self._estimate(described, InnerProducts.from_statistics(model, statistics).averages(), None)

    def _of_answered(self, described: Any, answers: Answers) -> DensityEstimate:
        """Density of the respondents, with the nonresponse rate."""
        first = answers.first()
        pilot = log_spline_fit.fit(answers.likelihood(first), self.level, self.orders)
        silence = answers.estimate(first, pilot.cells)
        plain = self._estimate(described, answers.likelihood(answers.possible(silence.share)), None)
        return replace(
            plain,
            inference=OfAnswered(plain.inference, silence, (plain.lower, plain.upper)),
            assumed=None,
            any_law=None,
            silence=silence.estimate(described.name, described.categories[-1], self.name, plain.n),
        )

    def _of_groups(
        self, described: Any, model: FiniteChannel | NoisyFeatures, pair: Pair
    ) -> Callable[[int, Group], DensityEstimate]:
        if isinstance(model, FiniteChannel):
            shares = np.array([self._shares(model, table) for table in pair.tables])
            everyone = self._shares(model, pair.tables.sum(axis=0))

        def one(place: int, group: Group) -> DensityEstimate:
            row = pair.inverse[place]
            if not isinstance(model, FiniteChannel):
                return self._estimate(described, InnerProducts.of_group(model, pair.tables, row).averages(), group)
            pilot = log_spline_fit.fit(group_counts(model, pair.tables, row, shares, everyone), self.level, self.orders)
            own = model.probabilities(pilot.cells)
            return self._estimate(described, group_counts(model, pair.tables, row, shares, own), group)

        return one

    def _shares(self, model: FiniteChannel, table: np.ndarray) -> np.ndarray:
        """Fitted shares of the outputs of each level among clients who reported one category."""
        if not table.sum():
            return model.probabilities(np.full(model.inputs, 1 / model.inputs))
        return log_spline_fit.fit(Counts(model, table), self.level, self.orders).expected

    def _estimate(self, described: Any, likelihood: Likelihood, group: Group | None) -> DensityEstimate:
        fit = log_spline_fit.fit(likelihood, self.level, self.orders)
        corrected = one_step_correction.of_fit(fit, float(described.lower), float(described.upper))
        return DensityEstimate(
            attribute=described.name,
            unit=described.unit,
            density=corrected.posterior.density,
            covariance=fit.covariance,
            n=round(likelihood.n),
            estimator=self.name,
            group=group,
            inference=LogSplineInference(corrected),
            assumed=cache(partial(bounded_curvature.under_bound, corrected.posterior)),
            any_law=cache(partial(distribution_free.from_likelihood, lambda: likelihood, corrected.posterior.density)),
        )


@dataclass(frozen=True, eq=False)
class LogSplineInference:
    """Bands of a log-spline from the posterior of its parameters; functionals with one-step correction."""

    corrected: OneStep

    @property
    def posterior(self) -> Posterior:
        """The posterior averaged over priors."""
        return self.corrected.posterior

    def density_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, shapes (n,): f exp(-+ deviations sd(log f)) where the density differs from zero.

        The logarithm of a density close to zero is hardly known, and follows the prior.  With u the deviations times the
        standard error of the unpenalised correction, the band changes to [0, f + u] between f = 2 u and f = u; the upper limit
        is nowhere above the larger of f + u and f (1 + deviations sd(log f) / 2)^2.
        """
        posterior = self.posterior
        half = deviations * standard_errors(posterior.log_features(x), posterior.covariance)
        f, u = posterior.density.pdf(x), deviations * self.corrected.density_errors(x)
        weight = np.clip(f / np.maximum(u, constants.TINY) - 1, 0.0, 1.0)
        most = np.maximum(f * (1 + half / 2) ** 2, f + u)
        high = np.minimum(f * np.exp(np.minimum(half, constants.MAX_LOG)), most)
        return weight * f * np.exp(-half), np.maximum(high, f + (1 - weight) * u)

    def cdf_band(self, x: np.ndarray, deviations: Deviations) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper limits, shapes (n,): corrected F -+ deviations sd(F), and the error due to point masses."""
        return self.corrected.cdf_band(x, deviations)

    def critical_value(self, confidence: float) -> float:
        """Return the deviations that hold the whole log density at once."""
        posterior = self.posterior
        return critical_value(posterior.log_features(posterior.grid), posterior.covariance, confidence)

    def goodness(self) -> GoodnessOfFit | None:
        """Return how the fit explains what was observed."""
        posterior = self.posterior
        return goodness_of_fit.of_posterior(
            posterior.likelihood, posterior.expected, posterior.slope, posterior.covariance
        )

    def discreteness(self) -> Discreteness:
        """Return whether the distribution is discrete."""
        return self.corrected.discreteness

    def influence(self, functional: Functional) -> tuple[np.ndarray, bool] | None:
        """Return the weights of the average reports in a functional's estimate, (S,), to first order."""
        return self.corrected.influence(functional)

    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the weights of the average reports in the density and in its cdf at x, (n, S) each, at the priors found.

        The parameters move by V J' W dy with what was observed.
        """
        posterior = self.posterior
        moved = posterior.covariance @ posterior.slope.T * posterior.likelihood.weights(posterior.expected)
        coefficients = np.array([posterior.likelihood.of_reports(row) for row in moved])
        below = np.array(
            [np.interp(x, posterior.grid, column) for column in (posterior.cdf_features @ coefficients).T]
        ).T
        return posterior.features(x) @ coefficients, below

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional's corrected estimate, or a refusal; the caller has checked the confidence."""
        return self.corrected.estimate(functional, confidence)
