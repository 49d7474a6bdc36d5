"""The log-spline estimate of a density: penalised likelihood through whatever was observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError, check_within
from dpcore.estimation.estimates import DensityEstimate, FunctionalEstimate, GoodnessOfFit
from dpcore.estimation.estimators import goodness_of_fit, ladder, one_step, smoothing
from dpcore.estimation.estimators.bands import critical_value, standard_errors
from dpcore.estimation.estimators.base import Estimator
from dpcore.estimation.estimators.frequency import left_inverse
from dpcore.estimation.estimators.likelihood import Counts, Likelihood, group_counts
from dpcore.estimation.estimators.one_step import OneStep
from dpcore.estimation.estimators.posterior import Posterior
from dpcore.functionals import Functional, Mean
from dpcore.mechanisms.observation import FiniteChannel, NoisyFeatures, ScoreSums

_LARGEST = 100.0  # logarithm of a factor by which a band may exceed its density, before it is bounded otherwise
_TINY = 1e-300


@dataclass(frozen=True)
class LogSpline(Estimator):
    """The density whose logarithm is a cubic spline, its smoothness averaged over by marginal likelihood (see `smoothing`).

    level: the log density is sought in V_level, 2^level + 3 B-splines, and in finer spaces where the data contradict all of it:
    the prior, not the basis, decides.
    orders: of the differences that the priors penalise, each 1..4.
    Counts have a multinomial likelihood, noisy features a normal one; functionals are corrected as `one_step` says.
    """

    level: int = one_step.LEVEL
    orders: tuple[int, ...] = one_step.ORDERS
    name = "log_spline"

    def __post_init__(self) -> None:
        check_within(3, 8, level=self.level)
        if not self.orders or any(order not in (1, 2, 3, 4) for order in self.orders):
            raise SchemeError(f"orders must be some of 1, 2, 3, 4, got {self.orders}")

    def estimate(
        self, aggregate: Any, attribute: str, given: str | None = None
    ) -> DensityEstimate | dict[str, DensityEstimate]:
        """Return the attribute's density; with `given`, {category: density}, without the categories too rare to tell.

        Raises NotEstimable where there is no report, SchemeError for a categorical attribute or a pair that is not kept.
        """
        described = aggregate.scheme.attributes[attribute]
        model = described.mechanism.model()
        if not isinstance(model, FiniteChannel | NoisyFeatures):
            raise SchemeError(f"log_spline needs a numeric attribute; {attribute} has {described.mechanism.name}")
        if aggregate.reports(attribute) == 0:
            raise NotEstimable(f"{attribute} has no report; collect some first")
        if given is not None:
            return self._groups(aggregate, attribute, given, model)
        statistics = aggregate.statistics[attribute]
        likelihood = (
            Counts(model, statistics) if isinstance(model, FiniteChannel) else ladder.averages(model, statistics)
        )
        return self._estimate(described, likelihood, "")

    def _groups(
        self, aggregate: Any, attribute: str, given: str, model: FiniteChannel | NoisyFeatures
    ) -> dict[str, DensityEstimate]:
        if (attribute, given) not in aggregate.pairs:
            kept = ", ".join(f"{numeric} given {other}" for numeric, other in aggregate.pairs) or "none"
            raise SchemeError(f"{attribute} given {given} is not kept; name the pair in the scheme (it keeps: {kept})")
        described, other = aggregate.scheme.attributes[attribute], aggregate.scheme.attributes[given]
        channel = other.mechanism.model()
        if not isinstance(channel, ScoreSums) or not channel.is_one_category:
            raise SchemeError(f"groups need reports of one category each; {given} has {other.mechanism.name}")
        tables, found = aggregate.pairs[attribute, given], {}
        if isinstance(model, FiniteChannel):
            shares = np.array([self._shares(model, table) for table in tables])
        for row, category in zip(left_inverse(channel.response()), other.categories, strict=True):
            try:
                if isinstance(model, FiniteChannel):
                    likelihood: Likelihood = group_counts(model, tables, row, shares)
                else:
                    likelihood = ladder.group_averages(model, tables, row)
            except NotEstimable:
                continue  # too few for this group; the others stand
            found[category] = self._estimate(described, likelihood, f"{given}={category}")
        if not found:
            raise NotEstimable(f"no group of {given} has enough reports of {attribute}; collect more")
        return found

    def _shares(self, model: FiniteChannel, table: np.ndarray) -> np.ndarray:
        """The fitted shares of each level's outputs among those who reported one category."""
        if not table.sum():
            return model.probabilities(np.full(model.inputs, 1 / model.inputs))
        return smoothing.fit(Counts(model, table), self.level, self.orders).expected

    def _estimate(self, described: Any, likelihood: Likelihood, given: str) -> DensityEstimate:
        fit = smoothing.fit(likelihood, self.level, self.orders)
        corrected = one_step.of_fit(fit, float(described.lower), float(described.upper))
        return DensityEstimate(
            attribute=described.name,
            unit=described.unit,
            density=corrected.posterior.density,
            covariance=fit.covariance,
            n=round(likelihood.n),
            estimator=self.name,
            given=given,
            inference=LogSplineInference(corrected),
        )


@dataclass(frozen=True, eq=False)
class LogSplineInference:
    """Bands of a log-spline from the posterior of its parameters; functionals with one-step correction."""

    corrected: OneStep

    @property
    def posterior(self) -> Posterior:
        """The average over priors."""
        return self.corrected.posterior

    def density_band(self, x: np.ndarray, deviations: float) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,): f exp(-+ deviations sd(log f)), where the density is told from zero.

        The logarithm of a density that all but vanishes is hardly known, and the prior's smoothness rules it.  With u the
        deviations times the unpenalised correction's error, the band goes over to [0, f + u] between f = 2 u and f = u; and
        high is nowhere above the larger of f + u and f (1 + deviations sd(log f) / 2)^2.
        """
        posterior = self.posterior
        half = deviations * standard_errors(posterior.log_features(x), posterior.covariance)
        f, u = posterior.density.pdf(x), deviations * self.corrected.density_errors(x)
        told = np.clip(f / np.maximum(u, _TINY) - 1, 0.0, 1.0)
        most = np.maximum(f * (1 + half / 2) ** 2, f + u)
        high = np.minimum(f * np.exp(np.minimum(half, _LARGEST)), most)
        return told * f * np.exp(-half), np.maximum(high, f + (1 - told) * u)

    def cdf_band(self, x: np.ndarray, deviations: float) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high, shapes (n,): F -+ deviations sd(F)."""
        posterior = self.posterior
        errors = standard_errors(posterior.cdf_features, posterior.covariance)
        half = deviations * np.interp(x, posterior.grid, errors)
        cdf = posterior.density.cdf(x)
        return cdf - half, cdf + half

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

    def influence(self, functional: Functional) -> tuple[np.ndarray, bool] | None:
        """Return the weights of the average reports in a functional's estimate, (S,), to first order."""
        return self.corrected.influence(functional)

    def curve(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the weights of the average reports in the density and in its cdf at x, (n, S) each, at the priors found.

        The parameters move by V J' W dy with what was observed.
        """
        posterior = self.posterior
        moved = posterior.covariance @ posterior.slope.T * posterior.likelihood.weights(posterior.expected)
        of = np.array([posterior.likelihood.of_reports(row) for row in moved])
        below = np.array([np.interp(x, posterior.grid, column) for column in (posterior.cdf_features @ of).T]).T
        return posterior.features(x) @ of, below

    def mean_error(self) -> float:
        """Return the standard error of the mean."""
        return float(self.estimate(Mean(), 0.95).standard_error or np.nan)

    def estimate(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        """Return the functional's corrected estimate, or a refusal; the caller has checked the confidence."""
        return self.corrected.estimate(functional, confidence)
