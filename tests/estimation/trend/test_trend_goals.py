"""Trends of simulated series: error, coverage, power and false alarms against their goals, and where a goal is not met."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.estimation.trend.trend import Shift, smooth
from tests.estimation.trend.test_trend import levels

SERIES = 2000
# Coverage that misses 92 to 97 %: a constant's band is too wide, as drifts are averaged over; ten rounds show no season.
MISSES = {("constant", 10): 0.99, ("constant", 30): 0.99, ("constant", 100): 0.99, ("season", 10): 0.86}


def alarms(shifts: tuple[Shift, ...]) -> np.ndarray:
    return np.array([shift.is_significant for shift in shifts])


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("rounds", [10, 30, 100])
@pytest.mark.parametrize("kind", ["constant", "walk", "shift", "season"])
def test_smoothed_series_are_better_than_raw_ones_and_their_bands_cover(kind: str, rounds: int) -> None:
    rng = np.random.default_rng([rounds, len(kind)])
    truth = np.array([levels(kind, rounds, rng) for _ in range(SERIES)])
    values = truth + rng.normal(size=truth.shape)
    series = smooth(np.arange(rounds), values, np.ones(values.shape))
    ratio = np.sqrt(np.mean((series.smoothed - truth) ** 2) / np.mean((values - truth) ** 2))
    covered = np.mean(np.abs(series.smoothed - truth) < normal_quantile(0.95) * series.errors)
    assert ratio <= (0.5 if kind == "constant" else 1.05)
    if kind == "constant":
        assert alarms(series.shifts).mean() <= 1 / 365
    if (kind, rounds) in MISSES:
        assert covered == pytest.approx(MISSES[kind, rounds], abs=0.01)
    else:
        assert 0.915 < covered < 0.975  # 92 to 97 %, give or take the chance of the study


@pytest.mark.nightly("a study")
@pytest.mark.parametrize(("rounds", "least"), [(10, 0.7), (30, 0.9), (100, 0.9)])
def test_a_shift_of_four_errors_is_found_within_two_rounds(rounds: int, least: float) -> None:
    """At least 90 %; with ten rounds 74 %, as their level is uncertain."""
    values = np.random.default_rng(rounds).normal(size=(SERIES, rounds))
    values[:, -2:] += 4
    days, errors = np.arange(rounds), np.ones(values.shape)
    first = alarms(smooth(days[:-1], values[:, :-1], errors[:, :-1]).shifts)
    second = alarms(smooth(days, values, errors).shifts)
    assert np.mean(first | second) >= least


@pytest.mark.nightly("a study")
def test_projected_shares_are_closer_than_smoothed_ones() -> None:
    """At epsilon 1 of 1,000 clients; the judged line is .5 of the raw error for constant series of 30 rounds."""
    from dpcore.estimation.consistency import project_simplex

    rng = np.random.default_rng(7)
    truth = np.append([0.5, 0.2], np.full(38, 0.3 / 38))
    values = truth[:, None] + rng.normal(0, 0.06, (40, 30))
    smoothed = smooth(np.arange(30), values, np.full(values.shape, 0.06)).smoothed
    projected = np.apply_along_axis(project_simplex, 0, smoothed)
    raw, alone, together = (np.mean((part - truth[:, None]) ** 2) ** 0.5 for part in (values, smoothed, projected))
    assert together < alone < 0.5 * raw
