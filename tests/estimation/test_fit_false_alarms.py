"""The check of the fit: it alarms as rarely as it says where the model is right, and often where a window is off by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy

import dpcore as dp

ESTIMATORS = {"log_spline": dp.LogSpline(), "ems": dp.ExpectationMaximization(), "projection": dp.Projection()}


def p_values(mechanism: str, estimator: str, epsilon: int, n: int, runs: int, shift: int = 0) -> np.ndarray:
    scheme = dp.Scheme.from_toml(
        f'name = "x"\nclients = {n}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\n'
        f'mechanism = "{mechanism}"\nepsilon = {epsilon}'
    )
    rng, found = np.random.default_rng(4), []
    model: Any = scheme.attributes["x"].mechanism.model()
    for run in range(runs):
        x = np.where(rng.random(n) < 0.5, rng.beta(8, 20, n), rng.beta(30, 12, n))
        whole = dp.simulate(scheme, {"x": x}, random=dp.seeded([4, run]))
        if shift:
            moved = [np.roll(part, shift) for part in model.split(whole.statistics["x"])]
            whole = replace(whole, statistics={"x": np.concatenate(moved)})
        estimate: Any = dp.estimate(whole, "x", estimator=ESTIMATORS[estimator])
        found.append(estimate.fit.p_value)
    return np.array(found)


@pytest.mark.nightly("a study")
@pytest.mark.parametrize(
    ("mechanism", "estimator", "epsilon", "runs"),
    [
        ("dyadic_wave", "log_spline", 1, 40),
        ("wavelet_laplace", "log_spline", 2, 40),
        ("square_wave", "ems", 1, 80),
        ("wavelet_laplace", "projection", 1, 150),
    ],
)
def test_false_alarms_are_as_rare_as_promised(mechanism: str, estimator: str, epsilon: int, runs: int) -> None:
    """p-values at or below .05, .01 and .001 come no oftener than chance explains; nor is the test asleep."""
    found = p_values(mechanism, estimator, epsilon, 100_000, runs)
    for rate in (0.05, 0.01, 0.001):
        assert scipy.stats.binomtest(int(np.sum(found <= rate)), runs, rate, alternative="greater").pvalue > 1e-4, rate
    assert np.mean(found <= 0.5) > 0.2


@pytest.mark.slow
def test_a_window_off_by_one_is_found() -> None:
    assert np.all(p_values("dyadic_wave", "log_spline", 4, 3_000_000, 4) > 1e-3)
    assert np.all(p_values("dyadic_wave", "log_spline", 4, 3_000_000, 4, shift=1) < 1e-3)
