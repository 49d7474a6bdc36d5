from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms import Reports
from dpcore.mechanisms.categorical import local_hashing as module
from dpcore.mechanisms.categorical.local_hashing import LocalHashing
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import draws_for_variance, variance_agrees


def slow_supports(mechanism: LocalHashing, rows: np.ndarray) -> np.ndarray:
    """The obvious loop over categories: hash each into every report's bins and compare."""
    slope, shift, said = rows.T
    return np.array([np.sum(mechanism.hash(slope, shift, np.int64(x)) == said) for x in range(mechanism.categories)])


def test_fast_aggregation_is_the_obvious_loop(subtests: pytest.Subtests) -> None:
    for k, bins in [(2, 2), (3, 2), (5, 3), (8, 5), (64, 4), (64, 67), (200, 17)]:
        with subtests.test(k=k, bins=bins):
            mechanism = LocalHashing.design(Budget.parse("1"), categories=k, bins=bins)
            rows = np.random.default_rng(k).integers(
                (1, 0, 0), (mechanism.prime, mechanism.prime, bins), size=(3000, 3)
            )
            for part in (rows, rows[:1], rows[:0]):
                reports = Reports(np.zeros(len(part), dtype=np.uint8), part.reshape(-1))
                assert np.array_equal(mechanism.statistics(reports), slow_supports(mechanism, part))


def test_aggregation_in_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = LocalHashing.design(Budget.parse("1"), categories=50)
    reports = mechanism.privatize(np.random.default_rng(1).integers(0, 50, 5000), seeded(1))
    whole = mechanism.statistics(reports)
    monkeypatch.setattr(module, "_CELLS", 1)
    for cells in (1, 200, 1000):
        monkeypatch.setattr(module, "_CHUNK", cells)
        assert np.array_equal(mechanism.statistics(reports), whole)


def test_moments_of_the_model_are_those_of_the_channel(subtests: pytest.Subtests) -> None:
    for k, bins in [(2, 2), (3, 2), (3, 3), (5, 3), (7, 4)]:
        with subtests.test(k=k, bins=bins):
            mechanism = LocalHashing.design(Budget.parse("1"), categories=k, bins=bins)
            model, channel = mechanism.model(), mechanism.channel()
            assert channel is not None
            law = channel[0].astype(object)
            p, g = mechanism.prime, mechanism.bins
            slope, shift, said = (part.ravel() for part in np.indices((p - 1, p, g)))
            supports = (mechanism.hash(slope + 1, shift, np.arange(k)[:, None]) == said).astype(object)
            total = int(law[0].sum())
            triples = []
            for x in range(k):
                for y in range(k):
                    mean = Fraction(int((law[x] * supports[y]).sum()), total)
                    assert mean == (model.true_mean if x == y else model.other_mean)
                    for z in range(y + 1, k):
                        cross = Fraction(int((law[x] * supports[y] * supports[z]).sum()), total)
                        if x in (y, z):
                            assert cross == model.true_cross
                        else:
                            triples.append(cross)
            assert (model.true_square, model.other_square) == (model.true_mean, model.other_mean)
            if triples and k == p:  # of a line only the average over triples is known
                assert sum(triples, Fraction(0)) / len(triples) == model.other_cross


def test_bins_are_near_the_odds_and_the_variance_is_that_of_the_paper_or_less() -> None:
    for epsilon in ("0.5", "1", "2", "3"):
        ratio = float(Budget.parse(epsilon).ratio_floor)
        for k in (64, 1000):
            mechanism = LocalHashing.design(Budget.parse(epsilon), categories=k)
            paper = 4 * ratio / (ratio - 1) ** 2
            assert mechanism.variance(0.0, 1) < 1.015 * paper  # bins are whole numbers: up to 1 % at epsilon = 0.5
            others = [LocalHashing.design(Budget.parse(epsilon), categories=k, bins=g) for g in range(2, 60)]
            assert mechanism.variance(0.0, 1) == min(other.variance(0.0, 1) for other in others)


@pytest.mark.slow
def test_the_variance_of_a_sum_of_categories_is_what_the_model_says() -> None:
    """Triples of hash values of a line are not independent; what that does to sums is small where P is near k."""
    mechanism = LocalHashing.design(Budget.parse("1"), categories=40)
    n, model = 300, mechanism.model()
    law = np.linspace(2, 0, 40) / 40
    rng, random = np.random.default_rng(5), seeded(6)
    said = np.array([mechanism.simulate(rng.multinomial(n, law), random) for _ in range(draws_for_variance(1.3))])
    p, q = float(model.true_mean), float(model.other_mean)
    numbers = np.arange(40.0)
    means = (said / n - q) / (p - q) @ numbers
    second = np.add.outer(law, law) * float(model.true_cross) + (1 - np.add.outer(law, law)) * float(model.other_cross)
    marginal = q + law * (p - q)
    np.fill_diagonal(second, marginal)
    covariance = (second - np.outer(marginal, marginal)) / n / (p - q) ** 2
    assert variance_agrees(means, numbers @ covariance @ numbers)
    assert not variance_agrees(means, 1.3 * numbers @ covariance @ numbers)
    assert not variance_agrees(means, 0.7 * numbers @ covariance @ numbers)


def test_moduli_that_are_no_prime_or_too_small_are_refused() -> None:
    kept = LocalHashing.design(Budget.parse("1"), categories=10)
    with pytest.raises(CalibrationError, match="prime"):
        LocalHashing(kept.budget, 10, 12, kept.bins, kept.weight_in, kept.weight_out)
    with pytest.raises(SchemeError, match="prime"):
        LocalHashing(kept.budget, 10, 7, kept.bins, kept.weight_in, kept.weight_out)


def test_what_no_client_could_send_is_not_accepted() -> None:
    mechanism = LocalHashing.design(Budget.parse("1"), categories=7, bins=4)
    rows = [(1, 0, 0), (6, 6, 3), (0, 1, 1), (7, 1, 1), (1, 7, 1), (1, 1, 4), (1, -1, 1), (1, 1, -1)]
    reports = Reports(np.zeros(len(rows), dtype=np.uint8), np.array(rows, dtype=np.int64).reshape(-1))
    assert mechanism.accepts(reports).tolist() == [True, True] + [False] * 6
    mixed = Reports(np.array([0, 1, 0], dtype=np.uint8), reports.values[:6])  # an unknown level holds no integers
    assert mechanism.accepts(mixed).tolist() == [True, False, True]
    assert not mechanism.accepts(Reports(reports.level, reports.values[:-1])).any()


@pytest.mark.slow
def test_a_million_reports_of_a_thousand_categories_take_a_twentieth_of_the_obvious_loop() -> None:
    mechanism = LocalHashing.design(Budget.parse("1"), categories=1024)
    values = np.random.default_rng(1).integers(0, 1024, 1_000_000)
    reports = mechanism.privatize(values, seeded(1))
    mechanism.statistics(reports)  # compiled, where it is, and its tables made
    begun = time.process_time()
    fast = mechanism.statistics(reports)
    took = time.process_time() - begun
    rows, part = reports.values.reshape(-1, 3), 20_000
    begun = time.process_time()
    slow = slow_supports(mechanism, rows[:part])
    obvious = (time.process_time() - begun) * len(rows) / part
    print(f"1,000,000 reports, k = 1024: {took:.3f} s; numpy loop over categories {obvious:.1f} s; packages 464 s")
    assert np.array_equal(slow, mechanism.statistics(Reports(np.zeros(part, dtype=np.uint8), rows[:part].reshape(-1))))
    assert obvious > 20 * took
    assert took < 464 / 20
    assert fast.sum() > 0
