from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcore._random import Source
from dpcore.errors import SchemeError
from dpcore.mechanisms import HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection
from dpcore.privacy.budget import Budget
from dpcore.protocol.syntax.mechanism_design import choose

CASES = [("ln 3", 2), ("0.5", 2), ("1", 3), ("1", 6), ("2", 8), ("4", 64), ("0.1", 10)]


MECHANISMS = {case: RandomizedResponse.design(Budget.parse(case[0]), categories=case[1]) for case in CASES}


class EveryWord(Source):
    """A source whose next draw below T is 0, 1, 2, ..., T - 1: it enumerates the client's code."""

    def words(self, count: int) -> np.ndarray:
        return np.arange(count, dtype=np.uint32)

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


def test_the_clients_code_has_exactly_the_channel_it_certifies(subtests: pytest.Subtests) -> None:
    for epsilon, k in [
        ("ln 3", 2),
        ("1", 3),
        ("2", 8),
        ("0.1", 10),
    ]:  # of 64, each of two inputs has eight million words
        with subtests.test(epsilon=epsilon, k=k):
            mechanism = MECHANISMS[epsilon, k]
            (weights,) = mechanism.channel()
            for true in {0, mechanism.categories - 1}:
                reports = mechanism.privatize(np.full(mechanism.total, true), EveryWord())
                assert np.array_equal(np.bincount(reports.values, minlength=mechanism.categories), weights[true])
            ratio = max(Fraction(int(column.max()), int(column.min())) for column in weights.T)
            assert ratio == mechanism.certificate().kept <= mechanism.budget.ratio_floor
            assert len(set(weights.sum(axis=1).tolist())) == 1


def test_estimates_are_exactly_unbiased(subtests: pytest.Subtests) -> None:
    for (epsilon, k), mechanism in MECHANISMS.items():
        with subtests.test(epsilon=epsilon, k=k):
            p, q, k = mechanism.truth_probability, mechanism.other_probability, mechanism.categories
            assert p + (k - 1) * q == 1
            truth = [Fraction(i + 1, k * (k + 1) // 2) for i in range(k)]
            shares = [p * f + q * (1 - f) for f in truth]
            assert [(share - q) / (p - q) for share in shares] == truth


def test_warner_two_coins() -> None:
    mechanism = RandomizedResponse.design(Budget.parse("ln 3"), categories=2, design="two_coin")
    assert (mechanism.truth_probability, mechanism.other_probability) == (Fraction(3, 4), Fraction(1, 4))
    assert mechanism.certificate().kept == 3
    # The estimator is 2 mean - 1/2; the printed 2 mean - 1 is off by -1/2.
    p = Fraction(3, 10)
    mean = Fraction(1, 4) + p / 2
    q = mechanism.other_probability
    assert (mean - q) / (mechanism.truth_probability - q) == 2 * mean - Fraction(1, 2) == p
    assert 2 * mean - 1 == p - Fraction(1, 2)


def test_two_coins_are_for_two_categories_at_ln_3(subtests: pytest.Subtests) -> None:
    for epsilon, k in [("1.0986", 2), ("ln 3", 3)]:
        with subtests.test(epsilon=epsilon, k=k), pytest.raises(SchemeError, match="two_coin"):
            RandomizedResponse.design(Budget.parse(epsilon), categories=k, design="two_coin")


def test_a_small_epsilon_still_says_something(subtests: pytest.Subtests) -> None:
    for kind in [RandomizedResponse, HadamardResponse, LocalHashing, SubsetSelection]:
        with subtests.test(kind=kind):
            for epsilon in ("0.00001", "0.000001"):
                mechanism = kind.design(Budget.parse(epsilon), categories=2)
                assert 1 < mechanism.certificate().kept <= mechanism.budget.ratio_floor
            with pytest.raises(SchemeError, match="32-bit"):
                kind.design(Budget.parse("1e-12"), categories=2)


def test_auto_finds_one_that_still_says_something(subtests: pytest.Subtests) -> None:
    for epsilon in ["0.00001", "0.0000011", "0.000000001"]:
        with subtests.test(epsilon=epsilon):
            chosen = choose(Budget.parse(epsilon), categories=2)
            assert 1 < chosen.certificate().kept <= chosen.budget.ratio_floor
