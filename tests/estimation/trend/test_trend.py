"""Trends: equal to statsmodels at the same parameters, better than raw estimates, with intervals, and shifts that are found."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation.trend.trend import LocalLevels, smooth

START = date(2026, 1, 1)


def days(rounds: int, step: int = 1) -> list[date]:
    return [START + timedelta(step * place) for place in range(rounds)]


def levels(kind: str, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """True values in standard errors of a round."""
    place = np.arange(rounds)
    return {
        "constant": np.zeros(rounds),
        "walk": np.cumsum(rng.normal(0, 0.5, rounds)),
        "shift": np.where(place < rounds // 2, 0.0, 4.0),
        "season": 1.5 * np.sin(2 * np.pi * place / 7),
    }[kind]


@pytest.mark.parametrize("drift", [0.0, 0.09, 4.0])
def test_the_smoothed_level_is_that_of_statsmodels(drift: float) -> None:
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(1)
    errors = rng.uniform(0.5, 1.5, 40)
    values = np.cumsum(rng.normal(0, 0.3, 40)) + rng.normal(0, errors)
    ours = LocalLevels(np.arange(40), values[None], errors[None], np.array([drift]))
    peer = api.tsa.UnobservedComponents(values, "llevel")
    peer.ssm["obs_cov"] = (errors**2)[None, None, :]
    peer.ssm["state_cov", 0, 0] = drift
    peer.ssm.initialize_diffuse()
    smoothed = peer.ssm.smooth()
    mean, variance = ours.smoothed()
    np.testing.assert_allclose(mean[0], smoothed.smoothed_state[0], atol=1e-8)
    np.testing.assert_allclose(variance[0], smoothed.smoothed_state_cov[0, 0], atol=1e-8)
    ahead, spread = ours.predicted(30, 30)  # of round 31, from the first 30
    np.testing.assert_allclose(ahead[0], smoothed.predicted_state[0, 30], atol=1e-8)
    np.testing.assert_allclose(spread[0], smoothed.predicted_state_cov[0, 0, 30], atol=1e-8)


def test_a_gap_and_a_season_are_those_of_a_dense_normal_model() -> None:
    """The posterior under priors so wide that they are flat, conditioned by brute force."""
    rng, at = np.random.default_rng(2), np.array([0, 1, 2, 5, 6, 7, 8, 10, 11, 12, 13, 15, 17, 20])
    errors, drift = rng.uniform(0.5, 1.5, len(at)), 0.2
    values = rng.normal(size=len(at))
    columns = np.column_stack([np.ones(len(at)), np.eye(7)[at % 7][:, :6] - (at % 7 == 6)[:, None]])
    wide = 1e4 * columns @ columns.T
    shared = drift * np.minimum.outer(at, at) + wide
    gain = np.linalg.solve(shared + np.diag(errors**2), shared).T
    ours = LocalLevels(at, values[None], errors[None], np.array([drift]), has_season=True)
    [mean], [variance] = ours.smoothed()
    np.testing.assert_allclose(mean, gain @ values, atol=1e-2)  # the priors are wide, not flat
    np.testing.assert_allclose(variance, np.diagonal(shared - gain @ shared), atol=1e-2)


def test_series_of_the_same_rounds_have_the_trends_of_each() -> None:
    rng = np.random.default_rng(6)
    at, values, errors = np.arange(20) + 5, rng.normal(size=(3, 20)), rng.uniform(0.5, 1.5, (3, 20))
    together = smooth(at, values, errors)
    for place in range(3):
        alone = smooth(at, values[[place]], errors[[place]])
        np.testing.assert_allclose(together.smoothed[place], alone.smoothed[0], atol=1e-12)
        np.testing.assert_allclose(together.ahead_errors[place], alone.ahead_errors[0], atol=1e-12)
        assert together.shifts[place].p_value == pytest.approx(alone.shifts[0].p_value)


def test_a_constant_is_smoothed_and_nothing_is_made_worse() -> None:
    rng = np.random.default_rng(3)
    ratios, covered = {}, {}
    for kind in ("constant", "walk", "shift", "season"):
        smooth, raw, inside = [], [], []
        for _ in range(25):
            truth = levels(kind, 30, rng)
            values = truth + rng.normal(size=30)
            found = dp.trend(days(30), values, np.ones(30))
            smooth.append(np.mean((found.smoothed - truth) ** 2))
            raw.append(np.mean((values - truth) ** 2))
            inside.append(np.mean((found.low <= truth) & (truth <= found.high)))
        ratios[kind], covered[kind] = (np.mean(smooth) / np.mean(raw)) ** 0.5, np.mean(inside)
    assert ratios["constant"] < 0.5
    assert max(ratios.values()) < 1.05
    assert min(covered.values()) > 0.85
    assert covered["walk"] < 0.99  # intervals of twice the length would have all


def test_a_shift_of_four_errors_is_found_within_two_rounds_and_a_constant_is_left_alone() -> None:
    rng = np.random.default_rng(4)
    found, alarms = 0, 0
    for _ in range(40):
        values = rng.normal(size=30)
        alarms += _is_shifted(values)
        values[-2:] += 4
        found += _is_shifted(values[:-1]) or _is_shifted(values)
    assert found >= 36
    assert alarms <= 2  # 0.1 expected


def _is_shifted(values: np.ndarray) -> bool:
    shift = dp.trend(days(len(values)), values, np.ones(len(values))).shift
    assert shift is not None
    return shift.is_significant


def test_few_rounds_have_a_trend_without_a_shift_and_a_forecast_a_step_later() -> None:
    found = dp.trend(days(2, step=7), [1.0, 2.0], [0.5, 0.5])
    assert found.shift is None
    assert found.forecast[0] == START + timedelta(14)
    low, high = found.forecast[2:]
    assert low < found.forecast[1] < high
    assert high - low > found.high[-1] - found.low[-1]
    assert list(found.to_frame()["estimate"]) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("when", "values", "errors"),
    [
        (days(1), [1.0], [1.0]),
        (days(2)[::-1], [1.0, 2.0], [1.0, 1.0]),
        (days(2), [1.0, 2.0], [1.0, 0.0]),
        (days(2), [1.0, float("nan")], [1.0, 1.0]),
        (days(3), [1.0, 2.0], [1.0, 1.0]),
    ],
)
def test_rounds_that_have_no_trend_are_refused(when: list[date], values: list[float], errors: list[float]) -> None:
    with pytest.raises(SchemeError, match=r"^trend: "):
        dp.trend(when, values, errors)
