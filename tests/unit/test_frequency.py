"""Frequencies: the channel's inverse, its covariance, the simplex."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimators import Frequency, project_simplex
from dpcore.estimators.frequency import invert, left_inverse
from dpcore.functionals import Mean, parse
from dpcore.mechanisms import RandomizedResponse
from dpcore.mechanisms.observation import FiniteChannel
from dpcore.privacy.budget import Budget


def _aggregate(mechanism, counts, values=None):
    attribute = SimpleNamespace(
        name="c", mechanism=mechanism, categories=tuple("abcdefgh"[: len(counts)]), values=values
    )
    return SimpleNamespace(scheme=SimpleNamespace(attributes={"c": attribute}), statistics={"c": np.asarray(counts)})


def test_two_coins_are_twice_the_mean_less_a_half():
    mechanism = RandomizedResponse.design(Budget.parse("ln 3"), categories=2, design="two_coin")
    estimate = Frequency().estimate(_aggregate(mechanism, [620, 380]), "c")
    assert estimate.raw[0] == pytest.approx(2 * 0.62 - 0.5)
    assert estimate["a"] == pytest.approx(0.74)
    assert estimate.n == 1000


@pytest.mark.parametrize("categories", [2, 3, 6])
def test_expected_counts_give_the_truth_and_the_known_variance(categories):
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=categories)
    truth = np.arange(1, categories + 1) / np.arange(1, categories + 1).sum()
    n = 10_000_000
    estimate = Frequency().estimate(_aggregate(mechanism, n * (mechanism.model().matrices[0] @ truth)), "c")
    np.testing.assert_allclose(estimate.raw, truth, atol=1e-12)
    np.testing.assert_allclose(estimate.values, truth, atol=1e-12)
    expected = [mechanism.variance(f, n) for f in truth]
    np.testing.assert_allclose(estimate.standard_errors**2, expected, rtol=1e-5)
    assert np.abs(estimate.covariance.sum()) < 1e-15  # frequencies sum to one exactly


def test_covariance_is_that_of_the_clients_one_by_one():
    """Enumerate one client: its unbiased contribution is a column of the inverse, drawn with the channel's law."""
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.ones(4), size=4).T + np.eye(4)
    matrix /= matrix.sum(axis=0)
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    raw, covariance = invert(matrix, 5_000 * (matrix @ truth))
    np.testing.assert_allclose(raw, truth, atol=1e-12)
    inverse, shares = np.linalg.inv(matrix), matrix @ truth
    slow = np.zeros((4, 4))
    for z, share in enumerate(shares):
        deviation = inverse[:, z] - truth
        slow += share * np.outer(deviation, deviation)
    np.testing.assert_allclose(covariance, slow / 5_000, atol=1e-12)


def test_a_channel_with_more_outputs_than_inputs_is_inverted_too():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(7), size=3).T
    np.testing.assert_allclose(left_inverse(matrix) @ matrix, np.eye(3), atol=1e-12)
    with pytest.raises(NotEstimable, match="apart"):
        left_inverse(np.full((4, 2), 0.25))


def test_values_are_frequencies_and_intervals_hold_them():
    mechanism = RandomizedResponse.design(Budget.parse("0.2"), categories=5)
    estimate = Frequency().estimate(_aggregate(mechanism, [2, 30, 3, 4, 1]), "c")
    assert estimate.values.min() >= 0
    assert estimate.values.sum() == pytest.approx(1, abs=1e-15)
    assert estimate.raw.min() < 0  # so that the projection had something to do
    assert np.all((estimate.low >= 0) & (estimate.low <= estimate.values))
    assert np.all((estimate.values <= estimate.high) & (estimate.high <= 1))
    frame = estimate.to_frame()
    assert list(frame) == ["category", "estimate", "standard_error", "confidence", "low", "high"]
    assert len(frame) == 5


def test_functionals_of_numbered_categories():
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=3)
    truth, numbers = np.array([0.5, 0.3, 0.2]), (0.0, 1.0, 2.5)
    counts = 10_000 * (mechanism.model().matrices[0] @ truth)
    estimate = Frequency().estimate(_aggregate(mechanism, counts, numbers), "c")
    mean = estimate.functional(Mean(), 0.9)
    assert mean.value == pytest.approx(0.8)
    assert mean.standard_error == pytest.approx(np.sqrt(np.array(numbers) @ estimate.covariance @ np.array(numbers)))
    assert mean.high - mean.value == pytest.approx(1.6449 * mean.standard_error, rel=1e-4)
    variance = estimate.functional(parse("variance"))
    assert variance.value == pytest.approx(0.91 + mean.standard_error**2)  # the square of the mean's noise given back
    assert estimate.functional(parse("entropy")).is_refused
    nameless = Frequency().estimate(_aggregate(mechanism, counts), "c").functional(Mean())
    assert nameless.is_refused
    assert "values" in nameless.reason


def test_what_cannot_be_estimated():
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=3)
    with pytest.raises(NotEstimable):
        Frequency().estimate(_aggregate(mechanism, [0, 0, 0]), "c")
    with pytest.raises(SchemeError, match="given"):
        Frequency().estimate(_aggregate(mechanism, [1, 2, 3]), "c", given="d")
    two = SimpleNamespace(name="two", model=lambda: FiniteChannel((np.eye(2), np.eye(2)), np.array([0.5, 0.5])))
    with pytest.raises(SchemeError, match="one level"):
        Frequency().estimate(_aggregate(two, [1, 2]), "c")


def test_no_representation_shows_a_frequency():
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=2)
    estimate = Frequency().estimate(_aggregate(mechanism, [613, 387]), "c")
    assert f"{estimate.values[0]:.3f}" not in repr(estimate)


@pytest.mark.parametrize("seed", range(20))
def test_the_simplex_projection_is_nearest(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=rng.integers(2, 9))
    projected = project_simplex(values)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-15)
    for other in rng.dirichlet(np.ones(len(values)), size=200):  # obtuse angle to every frequency vector
        assert (values - projected) @ (other - projected) <= 1e-12
