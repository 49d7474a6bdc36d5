"""Differences of groups of one aggregate: their standard error is that of repeated rounds, correlation included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

import dpcore as dp

CLIENTS = 60_000
TEXT = """
name = "sides"
pairs = [["height", "side"]]
[attributes.side]
type = "categorical"
categories = ["left", "right"]
epsilon = 1
[attributes.height]
type = "numeric"
lower = 0.5
upper = 2.5
mechanism = {}
epsilon = 1
"""


@pytest.mark.nightly("a study")
@pytest.mark.parametrize(
    ("mechanism", "estimator", "runs"),
    [
        ('"wavelet_laplace"', dp.Projection(level_rule=dp.Fixed(3)), 150),
        pytest.param(
            '"dyadic_wave"\ncells = 16\nlevels = 2',
            dp.ExpectationMaximization(),
            30,
            marks=pytest.mark.nightly("a study"),
        ),
    ],
)
def test_the_error_of_a_difference_of_means(mechanism: str, estimator: Any, runs: int) -> None:
    scheme, rng = dp.Scheme.from_toml(TEXT.format(mechanism)), np.random.default_rng(8)
    found, errors, apart, held = [], [], [], 0
    truth = 2 * (5 / 8 - 3 / 8)
    for run in range(runs):
        left = rng.random(CLIENTS) < 0.6
        height = 0.5 + 2 * np.where(left, rng.beta(3, 5, CLIENTS), rng.beta(5, 3, CLIENTS))
        records = {"side": np.where(left, "left", "right"), "height": height}
        groups = dp.estimate(
            dp.simulate(scheme, records, random=dp.seeded([8, run])), "height", estimator=estimator, given="side"
        )
        one = dp.compare(groups["right"], groups["left"], dp.functionals.Mean())
        parts = [group.functional(dp.functionals.Mean()).standard_error for group in groups.values()]
        found.append(one.difference)
        errors.append(one.standard_error)
        apart.append(np.hypot(*parts))
        held += one.low <= truth <= one.high
    ratio = np.std(found) / np.median(errors)
    assert abs(ratio - 1) < 4 / np.sqrt(2 * runs)  # four standard errors of a standard deviation
    assert np.median(errors) > 1.1 * np.median(apart)  # as if independent, the error would be said too small
    assert scipy.stats.binomtest(held, runs, 0.95).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.nightly("a study")
def test_the_error_of_a_difference_of_what_is_not_a_sum() -> None:
    """Medians and int f^2 of two groups, and of one and everyone, whose errors are less alike than their reports."""
    scheme, rng = dp.Scheme.from_toml(TEXT.format('"wavelet_laplace"')), np.random.default_rng(9)
    functionals = (dp.functionals.Mean(), dp.functionals.Quantile(0.5), dp.functionals.IntegratedSquare(0))
    estimator = dp.Projection(level_rule=dp.Fixed(3))
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for run in range(120):
        left = rng.random(CLIENTS) < 0.6
        height = 0.5 + 2 * np.where(left, rng.beta(3, 5, CLIENTS), rng.beta(5, 3, CLIENTS))
        made = dp.simulate(
            scheme, {"side": np.where(left, "left", "right"), "height": height}, random=dp.seeded([9, run])
        )
        groups = dp.estimate(made, "height", estimator=estimator, given="side")
        others = {"right": groups["right"], "everyone": dp.estimate(made, "height", estimator=estimator)}
        for functional in functionals:
            for name, other in others.items():
                one = dp.compare(groups["left"], other, functional)
                pair = [side.functional(functional).value for side in (groups["left"], other)]
                found.setdefault((str(functional), name), []).append(
                    (one.difference, one.standard_error, one.correlation, *pair)
                )
    for key, rows in found.items():
        difference, error, said, left_values, right_values = np.array(rows).T
        assert 0.72 < np.std(difference) / np.median(error) < 1.25, key
        # The correlation that was counted is at most three standard errors of an observed one above it.
        seen = np.corrcoef(left_values, right_values)[0, 1]
        assert np.median(said) < seen + 3 * (1 - seen**2) / np.sqrt(len(rows)), key
    assert np.median(np.array(found["integrated_square(0)", "right"])[:, 2]) > 0
    assert np.median(np.array(found["mean", "right"])[:, 2]) < -0.5
