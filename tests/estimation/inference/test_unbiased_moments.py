"""Means whatever the distribution: unbiased where values sit at few points, joined with the smooth estimate elsewhere."""

from __future__ import annotations

from functools import cache
from math import hypot

import numpy as np
import pytest

import dpcore as dp
from dpcore import functionals
from dpcore.estimation import constants
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.estimation.inference.binning_error import Corrected
from dpcore.estimation.inference.unbiased_moments import Unbiased, UnbiasedMoments, share_of

POINTS, SHARES = np.array([2.0, 3, 7, 19, 26]), [0.4, 0.25, 0.2, 0.1, 0.05]
N = 100_000
SCHEME = dp.Scheme.from_toml(
    f'name = "s"\nclients = {N}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 30\nepsilon = 4\n'
)


@cache
def estimated(seed):
    values = np.random.default_rng(seed).choice(POINTS, N, p=SHARES)
    return dp.estimate(dp.simulate(SCHEME, {"x": values}, dp.seeded([seed, 1])), "x")


def test_the_mean_of_a_few_points_is_the_unbiased_one():
    """The smooth estimate lies ten standard errors away."""
    found, free = (estimated(1).functional(functionals.Mean(), distribution_free=is_free) for is_free in (False, True))
    assert abs(found.value - free.value) < 0.3 * free.standard_error
    assert found.standard_error < 1.1 * hypot(free.standard_error, 30 / 512 / 12**0.5)


@pytest.mark.slow
def test_the_mean_of_a_few_points_covers():
    """The smooth estimate was off by 2.9 standard errors on average; six rounds tell that from none at four deviations."""
    truth, errors = float(POINTS @ SHARES), []
    for seed in range(6):
        estimate = estimated(seed)
        found = estimate.functional(functionals.Mean())
        errors.append((found.value - truth) / found.standard_error)
    assert abs(np.mean(errors)) < 4 / 6**0.5


def test_the_weight_follows_the_difference_and_the_cost(subtests):
    for smooth_error, difference, low, high in [
        (1.00, 0.0, 0.0, 0.2),  # in doubt it stays with the smaller error
        (
            1.00,
            0.66 * normal_quantile(1 - constants.TEST_ERROR),
            0.45,
            0.55,
        ),  # where a test would just reject, in the middle
        (1.00, 5.0, 0.999, 1.0),
        (1.15, 0.0, 1.0, 1.0),  # an error a twentieth larger is no price
        (1.30, 9.0, 1.0, 1.0),  # the smooth one has the larger error
    ]:
        with subtests.test(smooth_error=smooth_error, difference=difference, low=low, high=high):
            smooth = Corrected(5.0, smooth_error, 4.0, 6.0)
            unbiased = Unbiased(5.0 + difference, 1.2, 0.0, np.zeros(3))
            assert low <= share_of(smooth, unbiased) <= high


def test_what_one_report_does_to_the_mean_is_its_derivative():
    """The influence is that of the average of both estimates at the weight found."""
    estimate = estimated(1)
    weights, _ = estimate.inference.influence(functionals.Mean())
    corrected = estimate.inference.corrected
    unbiased = corrected._moments.estimate(functionals.Mean())
    observed = corrected._moments._weighting.observed
    moved = observed + 1e-3 * (corrected.posterior.expected - observed)
    assert weights @ (moved - observed) == pytest.approx(unbiased.weights @ (moved - observed), rel=0.05)


def test_moments_are_completed_where_weights_do_not_reach():
    """Without noise the variance of two values is exact; the weights alone miss it by 19, and the error says so."""
    channel = SCHEME.attributes["x"].mechanism.model()
    law, cells = np.zeros(channel.inputs), np.arange(channel.inputs) + 0.5
    law[[109, 375]] = [0.7, 0.3]
    likelihood = Counts(channel, channel.expected(law, 1e12 * channel.level_law))
    even = Spline(0.0, float(channel.inputs), 0, 0, np.ones(1))
    found = UnbiasedMoments(likelihood, even, likelihood.expected(law)).estimate(functionals.Variance())
    truth = cells**2 @ law - (cells @ law) ** 2 + 1 / 12  # of values spread evenly within each cell
    assert found.value == pytest.approx(truth, abs=0.01)
    assert found.error == pytest.approx(
        19.2, abs=0.01
    )  # how far the fit, here the uniform density, completes them otherwise
