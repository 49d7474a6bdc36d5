"""Inverse sensitivities by brute force, exact privacy over all databases, optimality, and the majority's bounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError
from dpcore.laboratory.central import majority
from dpcore.laboratory.central.exponential import integer_weights
from dpcore.laboratory.central.exponential.integer_weights import largest_ratio
from dpcore.laboratory.central.exponential.inverse_sensitivity import (
    InverseSensitivity,
    Majority,
    MeanOfBits,
    Quantile,
    Target,
    median,
    most_truthful,
    optimality,
    truth_upper_bound,
)
from dpcore.privacy.budget import Budget

ONE = Budget.parse(1)
Truth = Callable[[tuple[int, ...]], int]


def rank(t: Fraction) -> Truth:
    return lambda x: sorted(x)[-(-t.numerator * len(x) // t.denominator) - 1]


CASES: list[tuple[Target, int, int, Truth]] = [
    (Majority(), 5, 2, lambda x: int(2 * sum(x) > len(x))),
    (MeanOfBits(5), 5, 2, sum),
    (median(4), 4, 4, rank(Fraction(1, 2))),
    (Quantile(Fraction(3, 4), 4), 4, 4, rank(Fraction(3, 4))),
    (Quantile(Fraction(1, 10), 3), 3, 3, rank(Fraction(1, 10))),
    (Quantile(Fraction(1), 3), 3, 3, max),
]
NAMES = ["majority", "mean", "median", "upper quartile", "lowest", "largest"]


@pytest.mark.parametrize(("target", "n", "values", "truth"), CASES, ids=NAMES)
def test_distances_are_the_fewest_changes(target: Target, n: int, values: int, truth: Truth) -> None:
    databases = np.array(list(product(range(values), repeat=n)))
    answers = np.array([truth(tuple(x)) for x in databases.tolist()])
    for x in databases:
        changes = (databases != x).sum(axis=1)
        wanted = [changes[answers == t].min() for t in range(len(target.outputs))]
        assert target.distances(x).tolist() == wanted


@pytest.mark.parametrize(("target", "n", "values", "truth"), CASES, ids=NAMES)
@pytest.mark.parametrize("halved", [True, False])
def test_every_pair_of_neighbours_is_within_the_budget(
    target: Target, n: int, values: int, truth: Truth, halved: bool
) -> None:
    if not halved and len(target.outputs) > 2:
        with pytest.raises(CalibrationError, match="2 outputs only"):
            InverseSensitivity(ONE, target, halved)
        return
    mechanism = InverseSensitivity(ONE, target, halved)
    worst = Fraction(1)
    for rest in product(range(values), repeat=n - 1):
        laws = [mechanism.law(np.array([*rest, last])) for last in range(values)]
        worst = max([worst, *(r for a in laws for b in laws if (r := largest_ratio(a, b)))])
    assert 1 < worst <= mechanism.certificate().kept <= ONE.ratio_floor
    if not halved:
        assert worst == mechanism.certificate().kept  # no slack is left


def test_without_its_factor_2_the_mean_is_not_private() -> None:
    q = integer_weights.ratio_above(ONE, 1)
    laws = []
    for ones in (0, 1):
        weights = integer_weights.powers(q, range(6))
        laws.append(integer_weights.law([weights[abs(s - ones)] for s in range(6)]))
    ratio = largest_ratio(*laws)
    assert ratio is not None
    assert ratio > ONE.ratio_floor


@pytest.mark.parametrize("epsilon", ["0.2", "1", "4"])
def test_the_mechanism_is_as_truthful_as_anything_at_a_quarter_or_half_of_epsilon(epsilon: str) -> None:
    """The bound, and the linear program over all unbiased mechanisms, which lies below it."""
    budget, n = Budget.parse(epsilon), 5
    by_sum = [np.array([1] * s + [0] * (n - s)) for s in range(n + 1)]
    for mechanism, values, outputs in (
        (InverseSensitivity(budget, Majority()), [0, 0, 0, 1, 1, 1], 2),
        (InverseSensitivity(budget, Majority(), halved=False), [0, 0, 0, 1, 1, 1], 2),
        (InverseSensitivity(budget, MeanOfBits(n)), list(range(n + 1)), n + 1),
    ):
        for s, bits in enumerate(by_sum):
            found = optimality(mechanism, bits)
            best = most_truthful(values, outputs, found.share * float(budget), s)
            assert best <= found.bound + 1e-7
            assert found.holds
            assert found.truth_probability >= best - 1e-4
            assert best > 1 / outputs - 1e-9
    near = truth_upper_bound(mechanism.target.distances(by_sum[2]), float(budget))
    assert float(mechanism.truth_probability(by_sum[2])) <= near


def test_majority_is_answered_as_the_slides_say() -> None:
    n, epsilon = 9, 0.7
    s = np.arange(n + 1)
    mechanism = InverseSensitivity(Budget.parse("0.7"), Majority(), halved=False)
    kept = np.array([float(mechanism.law(np.array([1] * k + [0] * (n - k)))[1]) for k in s])
    formula = majority.inverse_sensitivity_probability(s, n, epsilon)
    assert np.allclose(kept, formula, atol=1e-4)
    assert np.allclose(formula + formula[::-1], 1)
    winners = s[s > n // 2]
    bound = majority.largest_probability(winners, n, epsilon)
    exponential = majority.exponential_probability(winners, n, epsilon)
    assert (exponential < formula[winners]).all()
    assert (formula[winners] <= bound + 1e-12).all()
    assert formula[winners[0]] == pytest.approx(bound[0])  # next to the edge nothing private does better
    printed = 1 / (1 + np.exp(-(n + 2) * epsilon))  # at s = n, weaker than the general bound at s = n
    assert bound[-1] < printed


def test_a_vote_costs_nothing_from_9_over_epsilon_squared() -> None:
    """At s = n/2 + 3/epsilon the answer is right in 95 of 100 draws; so many records hold the noise within that of sampling."""
    for epsilon in (0.1, 0.3, 1.0):
        n = int(majority.records_for_free(epsilon)) | 1
        s = n // 2 + 1 + int(np.ceil(3 / epsilon))
        assert majority.inverse_sensitivity_probability(np.array(min(s, n)), n, epsilon) >= 0.95
        far = min(0.5 + 1.5 / np.sqrt(n), 0.99)
        extra = majority.wrong_probability(n, far, epsilon) - majority.wrong_probability(n, far, None)
        assert 0 <= extra < 0.04
        fewer = max(3, n // 100) | 1
        share = min(0.5 + 1.5 / np.sqrt(fewer), 0.99)
        assert majority.wrong_probability(fewer, share, epsilon) - majority.wrong_probability(fewer, share, None) > 0.1


def test_the_means_noise_is_four_times_the_variance_of_plain_laplace() -> None:
    """The inverse sensitivity mechanism amounts to Lap(2 / (n epsilon)), plain Laplace needs Lap(1 / (n epsilon))."""
    n, epsilon = 401, 0.2
    mechanism = InverseSensitivity(Budget.parse("0.2"), MeanOfBits(n))
    law = np.array([float(p) for p in mechanism.law(np.array([1] * 200 + [0] * 201))])
    variance = law @ (np.arange(n + 1) / n - 200 / n) ** 2
    assert variance / (2 * (1 / (n * epsilon)) ** 2) == pytest.approx(4, rel=0.01)


def test_bad_records_are_refused() -> None:
    for target, records in ((Majority(), [0, 1]), (Majority(), [0, 1, 2]), (MeanOfBits(3), [0, 1]), (median(3), [3])):
        with pytest.raises(InvalidRecord):
            target.distances(np.array(records))
    for cells in ([np.nan, 1.0], [1.0, 2.0]):
        with pytest.raises(InvalidRecord, match="each a cell"):
            median(3).distances(np.array(cells))
    with pytest.raises(SchemeError):
        Quantile(Fraction(0), 3)
    with pytest.raises(SchemeError, match="n must be"):
        MeanOfBits(0)
    with pytest.raises(SchemeError):
        majority.largest_probability(np.array([2]), 5, 1.0)
    assert InverseSensitivity(Budget.parse(40), median(9)).release(np.array([2, 3, 7]), seeded(1)) == 3
