from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import CalibrationError
from dpcore.mechanisms import Reports
from dpcore.mechanisms.categorical.hadamard_response import HadamardResponse, walsh_hadamard
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import by_variance, draws_for_law, law_agrees, variance_agrees


def test_the_fast_transform_is_the_matrix() -> None:
    for s in (1, 2, 8, 64):
        rows = np.arange(s)
        matrix = 1 - 2 * (np.bitwise_count(rows[:, None] & rows).astype(np.int64) & 1)
        values = np.random.default_rng(s).integers(-9, 9, s)
        assert np.array_equal(walsh_hadamard(values), matrix @ values)


def test_any_two_and_any_three_categories_are_supported_independently(subtests: pytest.Subtests) -> None:
    for k in [2, 3, 5, 8, 64]:
        with subtests.test(k=k):
            mechanism = HadamardResponse.design(Budget.parse("1"), categories=k)
            rows = mechanism.supports(np.arange(mechanism.symbols), np.arange(k)[:, None]).astype(np.int64)
            s = mechanism.columns
            assert mechanism.symbols >= 2 * k > s  # no larger than it need be
            assert np.array_equal(rows @ rows.T, np.where(np.eye(k), s, s // 2))
            for x in range(min(k, 5)):  # within S_x, pairs of others: an eighth of all symbols each
                others = np.delete(rows, x, axis=0)[:, rows[x] == 1]
                both = others @ others.T
                assert np.all(both[~np.eye(k - 1, dtype=bool)] == s // 4)


def test_moments_of_the_model_are_those_of_the_channel(subtests: pytest.Subtests) -> None:
    for k in [2, 3, 8]:
        with subtests.test(k=k):
            mechanism = HadamardResponse.design(Budget.parse("1"), categories=k)
            model, channel = mechanism.model(), mechanism.channel()
            assert channel is not None
            (weights,) = channel
            said = mechanism.supports(np.arange(mechanism.symbols), np.arange(k)[:, None]).astype(object)
            law = weights.astype(object)
            total = int(law[0].sum())
            for x in range(min(k, 4)):
                for y in range(min(k, 4)):
                    mean = Fraction(int((law[x] * said[y]).sum()), total)
                    assert mean == (model.true_mean if x == y else model.other_mean)
                    for z in range(y + 1, min(k, 4)):
                        cross = Fraction(int((law[x] * said[y] * said[z]).sum()), total)
                        assert cross == (model.true_cross if x in (y, z) else model.other_cross)
            assert (model.true_square, model.other_square) == (model.true_mean, model.other_mean)


@by_variance
def test_closed_form_variance_accepts_the_truth_and_no_other(too_large: float, too_small: float, draws: int) -> None:
    mechanism = HadamardResponse.design(Budget.parse("1"), categories=5)
    n, law = 10_000, np.array([0.5, 0.2, 0.15, 0.15, 0.0])
    rng, random = np.random.default_rng(12), seeded(11)
    said = np.array([mechanism.simulate(rng.multinomial(n, law), random) for _ in range(draws)])
    p = float(mechanism.truth_probability)
    estimates = (said / n - 0.5) / (p - 0.5)
    for category, frequency in enumerate(law):
        variance = mechanism.variance(float(frequency), n)
        assert variance_agrees(estimates[:, category], variance)
        assert not variance_agrees(estimates[:, category], variance * too_large)
        assert not variance_agrees(estimates[:, category], variance * too_small)
    assert mechanism.variance(0.0, 1) == pytest.approx(((np.e + 1) / (np.e - 1)) ** 2, rel=1e-4)


def test_clients_follow_the_channel() -> None:
    mechanism = HadamardResponse.design(Budget.parse("1"), categories=3)
    people = np.array([0.6, 0.3, 0.1])
    law, planted = (
        people @ HadamardResponse.design(Budget.parse(epsilon), categories=3).channel()[0].astype(float)
        for epsilon in ("1", "1.3")
    )
    counts = np.rint(people * draws_for_law(law, planted)).astype(int)
    reports = mechanism.privatize(np.repeat(np.arange(3), counts), seeded(1))
    said = np.bincount(reports.values, minlength=mechanism.symbols)
    assert law_agrees(said, law)
    assert not law_agrees(said, planted)


def test_weights_that_break_the_promise_are_refused(subtests: pytest.Subtests) -> None:
    for scale in [Fraction(13, 10), 1 + Fraction(1, 2**15)]:
        with subtests.test(scale=scale):
            kept = HadamardResponse.design(Budget.parse("1"), categories=4)
            with pytest.raises(CalibrationError, match="exceed"):
                HadamardResponse(kept.budget, 4, int(kept.weight_in * scale), kept.weight_out)
            with pytest.raises(CalibrationError, match="weight_out < weight_in"):
                HadamardResponse(kept.budget, 4, kept.weight_out, kept.weight_in)  # p and q swapped


def test_what_no_client_could_send_is_not_accepted() -> None:
    mechanism = HadamardResponse.design(Budget.parse("1"), categories=5)
    level, values = np.zeros(5, dtype=np.uint8), np.array([0, mechanism.symbols - 1, mechanism.symbols, -1, 3])
    level[4] = 1
    without = values[:4]  # a level nobody knows has no integers
    assert mechanism.accepts(Reports(level, without)).tolist() == [True, True, False, False, False]
    assert not mechanism.accepts(Reports(level, values)).any()  # nobody's integer can be told from the next one's
    assert not mechanism.accepts(Reports(level, values[:3])).any()
