"""Expectation maximisation for any finite channel, with a smoothing step after each iteration (EMS) or without (EM).

Source: [LiSquareWave2020].  From probabilities f of the input cells, one iteration distributes the reports of each output over
the input cells in proportion to their posterior probability, and counts:

    f_c <- f_c / n  sum over levels and cells of counts_z A_zc / (A f)_z.

Products with A are prefix sums (`FiniteChannel`): an iteration costs O(cells), not O(cells^2).

Stopping.  EMS converges to a limit that depends on the smoothing and hardly on the rule; it stops where a step moves less than
a given share of the mass, whatever the number of reports.  The limit of EM is the maximum likelihood estimate, a few spikes
that fit the noise; its stopping rule is its only smoothing.  It stops where a step adds less than a twentieth to the
log-likelihood, which noise moves by about one: in simulations the errors of mean, distribution function and density are then
near their minimum, while the published 10^-3 e^epsilon is far into the spikes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from dpcore.errors import NotEstimable, check_within
from dpcore.estimation import constants
from dpcore.estimation.density.channel_projection import project
from dpcore.estimation.density.densities import Spline, cell_masses
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.density.likelihood import Likelihood, of_tables
from dpcore.estimation.density.resolution_levels import Rung
from dpcore.estimation.estimator import DensityEstimator
from dpcore.estimation.inference import distribution_free
from dpcore.estimation.inference.delta_method import DeltaMethod
from dpcore.estimation.joint.conditioning import Pair
from dpcore.functionals.group import Group
from dpcore.mechanisms.observation_model import FiniteChannel


@dataclass(frozen=True)
class ExpectationMaximization(DensityEstimator):
    """Maximum likelihood estimate of the input cells, smoothed after each iteration ("ems") or not ("em"), piecewise constant.

    Functionals are one-step corrected through the likelihood of the counts (`one_step_correction`); `.plug_in` is that of the
    density shown.  Bands are those of the unbiased least squares estimate in a space of 16 quadratic splines
    (`channel_projection`).
    """

    smoothing: bool = True
    name = "ems"
    titles = MappingProxyType({"ems": "estimated by EM with smoothing", "em": "estimated by EM"})
    needs = "em and ems need a mechanism that reports cells of a wave"

    @classmethod
    def from_attribute(cls, attribute: Any) -> Self:
        return cls(smoothing=attribute.estimator == "ems")

    def degree(self, mechanism: Any) -> int | None:
        return 0

    def _reads(self, model: Any) -> bool:
        return isinstance(model, FiniteChannel) and not model.inputs & (model.inputs - 1)

    def _of_everyone(self, described: Any, model: FiniteChannel, counts: np.ndarray) -> DensityEstimate:
        law = maximize(model, counts, self.smoothing)
        return self._estimate(described, model, counts[:, None], np.ones(1), law, None)

    def _of_groups(self, described: Any, model: FiniteChannel, pair: Pair) -> Callable[[int, Group], DensityEstimate]:
        """All groups together: cell and true category are latent, reported cell and category observed."""
        tables = pair.tables.T
        joint = maximize(model, tables, self.smoothing, response=pair.response).T

        def one(place: int, group: Group) -> DensityEstimate:
            law = joint[place] / max(float(joint[place].sum()), constants.TINY)
            return self._estimate(described, model, tables, pair.inverse[place], law, group)

        return one

    def _estimate(
        self,
        described: Any,
        model: FiniteChannel,
        tables: np.ndarray,
        weights: np.ndarray,
        law: np.ndarray,
        group: Group | None,
    ) -> DensityEstimate:
        bounds = float(described.lower), float(described.upper)
        density = Spline(*bounds, 0, model.inputs.bit_length() - 1, law * model.inputs)
        rung = project(model, tables, weights, law, 2, constants.COARSEST_LEVEL, bounds)
        shown = Rung(density, density, rung.covariance)
        likelihood = partial(of_tables, model, tables, weights, law)
        return DensityEstimate(
            attribute=described.name,
            unit=described.unit,
            density=density,
            covariance=rung.covariance,
            raw=rung.raw,
            n=round(float((tables @ weights).sum())),
            estimator=self.name if self.smoothing else "em",
            group=group,
            inference=DeltaMethod(
                shown,
                rung,
                likelihood=likelihood,
                space=partial(_space, law),
            ),
            any_law=cache(partial(distribution_free.from_likelihood, likelihood, density)),
        )


def _space(law: np.ndarray, likelihood: Likelihood) -> tuple[np.ndarray, np.ndarray]:
    """The fit, and a cubic spline space with point masses at the ends by which goodness of fit is judged."""
    inputs = likelihood.inputs
    level = min(constants.FIT_LEVEL, inputs.bit_length() - 1)
    return law, np.hstack([cell_masses(constants.DEGREE, level, inputs), np.eye(inputs)[:, [0, -1]]])


def maximize(
    channel: FiniteChannel,
    counts: np.ndarray,
    smoothing: bool,
    *,
    response: np.ndarray | None = None,
    tolerance: float = constants.EM_TOLERANCE,
    iterations: int = constants.MAX_ITERATIONS,
) -> np.ndarray:
    """Return probabilities of the input cells, (inputs,), from counts (S,) of reported cells.

    smoothing: average neighbours with weights (1, 2, 1) / 4, renormalised at the ends, after each iteration.
    response: for counts (S, k) by reported category, the probabilities (k, k) of the reported (rows) given the true category;
    the result is then the joint distribution (inputs, k) of cell and true category, smoothed along the cells.
    tolerance: share of the mass that the last step of EMS may move; 0 makes all iterations, also of EM.
    iterations: at least 1; the maximum number.

    Raises NotEstimable without reports, SchemeError for a tolerance or iterations out of range.
    """
    check_within(0, 1, tolerance=tolerance)
    check_within(1, 10**7, iterations=iterations)
    counts = np.asarray(counts, dtype=np.float64)
    n = counts.sum()
    if n <= 0:
        raise NotEstimable("no reports yet; collect reports before estimating")
    answers = np.eye(1) if response is None else np.asarray(response, dtype=np.float64)
    counts = counts.reshape(len(counts), len(answers))
    law = np.full((channel.inputs, len(answers)), 1 / (channel.inputs * len(answers)))
    likelihood = -np.inf
    for _ in range(iterations):
        expected = channel.probabilities(law) @ answers.T
        if tolerance > 0 and not smoothing:
            before, likelihood = likelihood, float(np.sum(counts * np.log(expected)))
            if likelihood - before < constants.EM_GAIN:
                break
        step = law * channel.adjoint(counts / expected @ answers) / n
        if smoothing:
            step = _smoothed(step)
        is_still = smoothing and np.abs(step - law).sum() / 2 < tolerance
        law = step
        if is_still:
            break
    return law[:, 0] if response is None else law


def _smoothed(law: np.ndarray) -> np.ndarray:
    """Averages of neighbouring rows with weights (1, 2, 1) / 4, at the ends (2, 1) / 3, normalised to mass one."""
    averages = 2 * law
    averages[1:] += law[:-1]
    averages[:-1] += law[1:]
    averages[1:-1] /= 4
    averages[[0, -1]] /= 3
    return np.asarray(averages / averages.sum())
