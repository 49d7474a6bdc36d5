"""Truncated means: sensitivities of the lattice, exact divergences of the noise, refusals, the proposition's radius."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log, sqrt

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError
from dpcore.laboratory.central.truncated_mean import (
    INPUT,
    OUTPUT,
    ApproximateMean,
    KullbackLeiblerMean,
    SmoothMean,
    TruncatedMean,
    approximate_delta,
    l1_per_distance,
    l2_sensitivity,
    projected,
    risk_bound,
)
from dpcore.mechanisms.noise import discrete_gaussian
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import draws_for_variance, law_agrees, mean_agrees, variance_agrees

ONE = Budget.parse(1)
SHAPE = {"n": 2000, "moment": 4.0, "bound": 3.0, "dimension": 3}
DESIGNS: list[TruncatedMean] = [
    KullbackLeiblerMean.design(0.02, **SHAPE),
    ApproximateMean.design(0.7, 1e-6, **SHAPE),
    SmoothMean.design(ONE, **SHAPE),
]


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_projections_move_as_little_as_is_claimed(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    far = rng.standard_normal((4000, dimension)) * rng.choice([0.3, 1, 50], (4000, 1))
    near = far + rng.standard_normal((4000, dimension)) * rng.choice([1 / INPUT, 0.01, 1], (4000, 1))
    for other in (near, -far, far[::-1]):
        a, b = (np.rint(x * INPUT) / INPUT for x in (far, other))
        moved = projected(far, 1.0) - projected(other, 1.0)
        rho = np.minimum(1, np.sqrt(((a - b) ** 2).sum(axis=1)) / 2)
        assert (np.abs(moved).sum(axis=1) <= l1_per_distance(dimension) * rho + 1e-6).all()
        assert np.sqrt((moved.astype(float) ** 2).sum(axis=1)).max() <= l2_sensitivity(dimension)
    assert l1_per_distance(dimension) <= 1.01 * sqrt(dimension) * 2 * OUTPUT
    assert (projected(np.zeros((1, dimension)), 1.0) == 0).all()


@pytest.mark.parametrize("size", [1e100, 1e155, 1e306, 1.7e308])
def test_records_however_far_stay_on_the_ball(size: int) -> None:
    """Their squares do not fit a float, and what an overflow leaves is no projection: one such record would show."""
    for radius in (1e-90, 1.0, 1e90):
        found = projected(np.array([[size, 0.0], [-size, size], [0.0, -size]]), radius)
        corner = round(OUTPUT / sqrt(2))
        assert found.tolist() == [[OUTPUT, 0], [-corner, corner], [0, -OUTPUT]]


def test_divergences_of_shifted_discrete_gaussians() -> None:
    """One dimension, by summation: Kullback-Leibler at most D^2 / (2 s^2), delta at most what the orders prove."""
    y = np.arange(-400, 401)
    for s, shift in ((5, 3), (20, 20), (9, 1)):
        p, q = discrete_gaussian.pmf(y, s), discrete_gaussian.pmf(y - shift, s)
        kept = p > 1e-290
        assert (p[kept] * np.log(p[kept] / q[kept])).sum() <= shift**2 / (2 * s**2) + 1e-9
        for epsilon in (0.1, 1.0):
            exact = np.maximum(p - exp(epsilon) * q, 0).sum()
            proved = approximate_delta(shift, s, epsilon)
            assert exact <= proved <= max(60 * exact, 1e-6)


def test_discrete_gaussian_draws_follow_their_law() -> None:
    for s in (1, 3, 40):
        drawn = discrete_gaussian.sample(s, 60_000, seeded(s))
        counts = np.bincount(np.clip(drawn, -5 * s, 5 * s) + 5 * s, minlength=10 * s + 1)
        span = np.arange(-5 * s, 5 * s + 1)
        assert law_agrees(counts, discrete_gaussian.pmf(span, s))
        assert not law_agrees(counts, discrete_gaussian.pmf(span, s) ** 0.7)
    wide = discrete_gaussian.sample(1 << 29, 20_000, seeded(9)) / 2.0**29
    assert mean_agrees(wide, 0)
    assert variance_agrees(wide, 1)
    assert not variance_agrees(wide, 1.3)
    with pytest.raises(SchemeError):
        discrete_gaussian.sample(1 << 31, 1, seeded(1))


@pytest.mark.parametrize("mechanism", DESIGNS, ids=lambda m: m.name)
def test_less_noise_is_refused(mechanism: TruncatedMean) -> None:
    smaller = 0.5 if isinstance(mechanism, ApproximateMean) else 0.9
    with pytest.raises(CalibrationError):
        replace(mechanism, scale=int(smaller * mechanism.scale))  # type: ignore[type-var]


@pytest.mark.parametrize("mechanism", DESIGNS, ids=lambda m: m.name)
def test_means_are_near_and_errors_are_as_stated(mechanism: TruncatedMean) -> None:
    records = np.random.default_rng(1).standard_normal((2000, 3)) + [1, 0, -1]
    source = seeded(3)
    answers = [mechanism.release(records, source) for _ in range(draws_for_variance(2.0))]
    values = np.array([answer.values for answer in answers])
    assert variance_agrees(values[:, 0], answers[0].standard_errors[0] ** 2)
    assert not variance_agrees(values[:, 0], 2 * answers[0].standard_errors[0] ** 2)
    assert np.abs(values.mean(axis=0) - records.mean(axis=0)).max() < 0.02
    risk = ((values - [1, 0, -1]) ** 2).sum(axis=1).mean()
    assert risk <= risk_bound(mechanism, n=2000, moment=4.0, bound=3.0)


def test_the_radius_is_the_propositions() -> None:
    n, k, r, d = 10_000, 3.0, 2.0, 4
    shape = {"n": n, "moment": k, "bound": r, "dimension": d}
    assert KullbackLeiblerMean.design(0.1, **shape).radius == pytest.approx(r * (n**2 * 0.1 / d) ** (1 / 6))
    assert ApproximateMean.design(0.5, 1e-5, **shape).radius == pytest.approx(
        r * (n**2 * 0.25 / (d * log(1e5))) ** (1 / 6)
    )
    assert SmoothMean.design(ONE, **shape).radius == pytest.approx(r * (n / d) ** (1 / 3))
    assert SmoothMean.design(ONE, **{**shape, "moment": inf}).radius == r


def test_risks_are_within_the_propositions_constants() -> None:
    for n, k, d, alpha in ((1000, 2.0, 1, 0.1), (10_000, 4.0, 8, 0.5), (10**6, inf, 3, 1.0)):
        shape = {"n": n, "moment": k, "bound": 1.0, "dimension": d}
        power = 1.0 if k == inf else (k - 1) / k
        kl = risk_bound(KullbackLeiblerMean.design(alpha, **shape), n=n, moment=k, bound=1.0)
        assert kl <= 1 / n + 3.01 * (d / (n**2 * alpha)) ** power
        smooth = risk_bound(SmoothMean.design(ONE, **shape), n=n, moment=k, bound=1.0)
        assert smooth <= 1 / n + 9.3 * (d**2 / n**2) ** power


def test_bad_parameters_and_records_are_refused() -> None:
    with pytest.raises(SchemeError):
        KullbackLeiblerMean.design(0.0, **SHAPE)
    with pytest.raises(CalibrationError, match="above 2"):
        KullbackLeiblerMean.design(1e-9, **SHAPE)
    for moment in (1.0, 0.0, -2.0, np.nan):
        with pytest.raises(SchemeError, match="moment must be above 1"):
            SmoothMean.design(ONE, n=10, moment=moment, bound=1.0)
    for delta in (0.0, 1.0, 2.0, -1.0, np.nan):
        with pytest.raises(SchemeError, match="delta"):
            ApproximateMean.design(1.0, delta, **SHAPE)
    for mechanism in DESIGNS:
        for changed in (
            {"scale": 0},
            {"scale": -mechanism.scale},
            {"scale": 1e7},
            {"dimension": 1.5},
            {"radius": 1e-200},
        ):
            with pytest.raises(SchemeError, match="must"):
                replace(mechanism, **changed)  # type: ignore[type-var]
    with pytest.raises(SchemeError, match="64"):
        ApproximateMean.design(1e6, 1e-5, **SHAPE)
    with pytest.raises(InvalidRecord, match=r"finite point of R\^3"):
        DESIGNS[0].release(np.array([[1.0, 2.0, np.inf]]), seeded(1))
