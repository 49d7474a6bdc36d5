"""The check of the fit: it alarms as rarely as it says where the model is right, and often where a window is off by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy
from scipy import stats

import dpcore as dp
from dpcore.laboratory.studies.targets import densities
from tests.helpers.statistical import MISSED, P_VALUE

ESTIMATORS = {"log_spline": dp.LogSpline(), "ems": dp.ExpectationMaximization(), "projection": dp.Projection()}


def fits(mechanism: str, estimator: str, epsilon: int, n: int, runs: int, shift: int = 0, seed: int = 0) -> list[Any]:
    scheme = dp.Scheme.from_toml(
        f'name = "x"\nclients = {n}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\n'
        f'mechanism = "{mechanism}"\nepsilon = {epsilon}'
    )
    found, people = [], densities.target("bimodal")
    model: Any = scheme.attributes["x"].mechanism.model()
    for run in range(seed, seed + runs):
        whole = dp.simulate(scheme, people, dp.seeded([4, run]), n)
        if shift:
            moved = [np.roll(part, shift) for part in model.split(whole.statistics["x"])]
            whole = replace(whole, statistics={"x": np.concatenate(moved)})
        estimate: Any = dp.estimate(whole, "x", estimator=ESTIMATORS[estimator])
        found.append(estimate.fit)
    return found


KINDS = [
    ("dyadic_wave", "log_spline", 1, 40),
    ("wavelet_laplace", "log_spline", 2, 40),
    ("square_wave", "ems", 1, 80),
    ("wavelet_laplace", "projection", 1, 150),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "estimator", "epsilon"), [kind[:3] for kind in KINDS])
def test_the_statistic_has_the_degrees_that_are_said(mechanism: str, estimator: str, epsilon: int) -> None:
    """Over few runs the statistics add up to a chi-squared of the sum of their degrees, and a scale off by 30 % is seen."""
    found, degrees = [], 0.0
    while not _is_seen(1.3, degrees):  # as many runs as that takes
        found += fits(mechanism, estimator, epsilon, 100_000, 1, seed=len(found))
        degrees += found[-1].degrees
    total = sum(fit.statistic for fit in found)

    def agrees(statistic: float) -> bool:
        return bool(stats.chi2.sf(statistic, degrees) > P_VALUE / 2 < stats.chi2.cdf(statistic, degrees))

    assert agrees(total)
    assert not agrees(total * 1.3**2)
    assert not agrees(total * 0.7**2)
    assert all(fit.p_value == pytest.approx(stats.chi2.sf(fit.statistic, fit.degrees), rel=0.2) for fit in found)


def _is_seen(scale: float, degrees: float) -> bool:
    """Whether a chi-squared of so many degrees is beyond the check's bar but for MISSED where its residuals have this scale."""
    bar = stats.chi2.isf(P_VALUE / 2, degrees) / scale**2 if degrees else np.inf
    return bool(stats.chi2.cdf(bar, degrees) < MISSED)


@pytest.mark.slow
@pytest.mark.nightly("a study")
@pytest.mark.parametrize(("mechanism", "estimator", "epsilon", "runs"), KINDS)
def test_false_alarms_are_as_rare_as_promised(mechanism: str, estimator: str, epsilon: int, runs: int) -> None:
    """p-values at or below .05, .01 and .001 come no oftener than chance explains; nor is the test asleep."""
    found = np.array([fit.p_value for fit in fits(mechanism, estimator, epsilon, 100_000, runs)])
    for rate in (0.05, 0.01, 0.001):
        assert scipy.stats.binomtest(int(np.sum(found <= rate)), runs, rate, alternative="greater").pvalue > 1e-4, rate
    assert np.mean(found <= 0.5) > 0.2


@pytest.mark.slow
def test_a_window_off_by_one_is_found() -> None:
    assert all(fit.p_value > 1e-3 for fit in fits("dyadic_wave", "log_spline", 4, 3_000_000, 4))
    assert all(fit.p_value < 1e-3 for fit in fits("dyadic_wave", "log_spline", 4, 3_000_000, 4, shift=1))
