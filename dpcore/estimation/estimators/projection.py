"""The projection estimate of a density: the plug-in through the dual, at a level that a rule chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.densities import Spline, cell_masses
from dpcore.estimation.estimates import DensityEstimate, GoodnessOfFit
from dpcore.estimation.estimators import goodness_of_fit, ladder, one_step
from dpcore.estimation.estimators.base import Estimator
from dpcore.estimation.estimators.frequency import left_inverse
from dpcore.estimation.estimators.inference import DeltaMethod
from dpcore.estimation.estimators.ladder import Ladder
from dpcore.estimation.estimators.level_rule import Fixed, Lepski, LevelRule
from dpcore.estimation.estimators.likelihood import Averages
from dpcore.estimation.estimators.one_step import OneStep
from dpcore.mechanisms.observation import NoisyFeatures, ScoreSums


@dataclass(frozen=True)
class Projection(Estimator):
    """Least squares in V_j: coefficients through the explicit dual, j chosen by `level_rule`.

    unit_mass: use that the density has mass one, which is known (see `ladder`); False is the source's literal plug-in.
    The density shown is the nearest proper one; functionals are evaluated as `inference` says.
    """

    level_rule: LevelRule = field(default_factory=Lepski)
    unit_mass: bool = True
    name = "projection"

    def estimate(
        self, aggregate: Any, attribute: str, given: str | None = None
    ) -> DensityEstimate | dict[str, DensityEstimate]:
        """Return the attribute's density; with `given`, {category: density}, without the categories too rare to tell.

        Raises NotEstimable where no level has reports, SchemeError for a mechanism without noisy features or a pair that
        the scheme does not keep.
        """
        described = aggregate.scheme.attributes[attribute]
        model = described.mechanism.model()
        if not isinstance(model, NoisyFeatures):
            raise SchemeError(
                f"projection needs a mechanism of noisy features; {attribute} has {described.mechanism.name}"
            )
        if given is not None:
            return self._groups(aggregate, attribute, given, model)
        statistics, epsilon = aggregate.statistics[attribute], float(described.budget)
        if aggregate.reports(attribute) == 0:
            raise NotEstimable(f"{attribute} has no report; collect some first")
        averages = partial(ladder.averages, model, statistics)
        return self._estimate(described, ladder.build(model, statistics, epsilon, self.unit_mass), "", averages)

    def _groups(self, aggregate: Any, attribute: str, given: str, model: NoisyFeatures) -> dict[str, DensityEstimate]:
        if (attribute, given) not in aggregate.pairs:
            kept = ", ".join(f"{numeric} given {other}" for numeric, other in aggregate.pairs) or "none"
            raise SchemeError(f"{attribute} given {given} is not kept; name the pair in the scheme (it keeps: {kept})")
        described, other = aggregate.scheme.attributes[attribute], aggregate.scheme.attributes[given]
        channel = other.mechanism.model()
        if not isinstance(channel, ScoreSums) or not channel.is_one_category:
            raise SchemeError(f"groups need reports of one category each; {given} has {other.mechanism.name}")
        inverse, tables = left_inverse(channel.response()), aggregate.pairs[attribute, given]
        found = {}
        for row, category in zip(inverse, other.categories, strict=True):
            try:
                rungs = ladder.build_given(model, tables, row, float(described.budget), self.unit_mass)
                averages = partial(ladder.group_averages, model, tables, row)
                found[category] = self._estimate(described, rungs, f"{given}={category}", averages)
            except NotEstimable:
                continue  # too few for this group; the others stand
        if not found:
            raise NotEstimable(f"no group of {given} has enough reports of {attribute}; collect more")
        return found

    def _estimate(self, described: Any, rungs: Ladder, given: str, averages: Callable[[], Averages]) -> DensityEstimate:
        lower, upper = float(described.lower), float(described.upper)
        level, rows = self.level_rule.select(rungs)
        shown = rungs.rung(level, lower, upper)
        fine = min(level + self.level_rule.undersmoothing, rungs.levels[-1])
        finer = rungs.rung(fine, lower, upper) if fine > level else shown
        corrected = partial(_corrected, averages, shown.proper) if self.level_rule.undersmoothing else None
        return DensityEstimate(
            attribute=described.name,
            unit=described.unit,
            density=shown.proper,
            covariance=shown.covariance,
            raw=shown.raw,
            n=round(float(np.asarray(rungs.n))),
            estimator=self.name,
            given=given,
            levels=rows,
            inference=DeltaMethod(
                shown,
                finer,
                partial(_goodness, averages, finer.proper),
                corrected,
                is_linear=isinstance(self.level_rule, Fixed) and not self.unit_mass and not given,
            ),
        )


def _corrected(averages: Callable[[], Averages], shown: Spline) -> OneStep:
    """The inference of functionals: through a log-spline of the same averages."""
    return one_step.of_likelihood(averages(), shown.lower, shown.upper, shown)


def _goodness(averages: Callable[[], Averages], finest: Spline) -> GoodnessOfFit | None:
    """How the space that functionals are evaluated in explains the blocks finer than it, and the mass, which is one."""
    likelihood = averages()
    masses = cell_masses(finest.degree, finest.level, likelihood.inputs)
    return goodness_of_fit.of_space(likelihood, masses @ finest.coefficients, masses)
