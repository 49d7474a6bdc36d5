"""The Laplace mechanism: sensitivities by brute force, exact scales, report noisy max by summation, the differencing attack."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, inf, sqrt

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError
from dpcore.laboratory.central.differencing import attack_rate, exact_attack
from dpcore.laboratory.central.laplace_mechanism import (
    LaplaceMechanism,
    ReportNoisyMax,
    most_common_value,
    winning_probabilities,
)
from dpcore.laboratory.central.queries import PARTS, Count, Histogram, Mean, Query, Sum
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import mean_agrees, variance_agrees

ONE = Budget.parse(1)
QUERIES: list[tuple[Query, list, Fraction]] = [
    (Count(), [0, 1], Fraction(1)),
    (Count(2), [(0, 0), (0, 1), (1, 0), (1, 1)], Fraction(2)),
    (Histogram(4), [0, 1, 2, 3], Fraction(2)),
    (Sum((-1.0,), (3.0,)), [-5.0, -1.0, 0.3, 3.0, 9.0], Fraction(4)),
    (Sum((0.0, 0.0), (1.0, 4.0)), [(0.0, 0.0), (1.0, 4.0), (0.2, 4.0), (1.0, 0.0)], Fraction(5)),
]


@pytest.mark.parametrize(("query", "values", "sensitivity"), QUERIES, ids=lambda v: type(v).__name__)
def test_sensitivities_are_the_largest_changes(query: Query, values: list, sensitivity: Fraction) -> None:
    moved = max(
        int(np.abs(query.integers(np.array([rest, a])) - query.integers(np.array([rest, b]))).sum())
        for rest, a, b in product(values, repeat=3)
    )
    assert moved == query.lattice_sensitivity
    assert query.sensitivity == sensitivity
    assert float(np.max(query.unit(2))) * moved == pytest.approx(float(sensitivity), rel=1e-4)


def test_the_scale_is_the_least_that_keeps_the_budget() -> None:
    for epsilon in ("0.01", "0.3", "ln 3", "7"):
        mechanism = LaplaceMechanism.design(Budget.parse(epsilon), Histogram(5))
        assert mechanism.certificate().holds
        with pytest.raises(CalibrationError, match="from `design`"):
            LaplaceMechanism(mechanism.budget, mechanism.query, mechanism.scale - 1)
    with pytest.raises(CalibrationError, match=r"largest is 2\^32"):
        LaplaceMechanism.design(Budget.parse("0.00001"), Histogram(5))


def test_the_scale_of_each_query_is_its_sensitivity_over_epsilon() -> None:
    records = np.linspace(-1, 3, 100)
    budget = Budget.parse("0.5")
    for query, wanted in ((Sum((-1.0,), (3.0,)), 8.0), (Mean((-1.0,), (3.0,)), 0.08)):
        answer = LaplaceMechanism.design(budget, query).release(records, seeded(1))
        assert answer.noise_scale[0] == pytest.approx(wanted, rel=1e-4)
        assert answer.standard_errors[0] == pytest.approx(sqrt(2) * wanted, rel=1e-4)
    assert Mean((-1.0,), (3.0,)).sensitivity_for(100) == Fraction(4, 100)


def test_answers_are_unbiased_with_the_stated_error() -> None:
    mechanism, source = LaplaceMechanism.design(ONE, Mean((0.0, 0.0), (1.0, 2.0))), seeded(2)
    records = np.column_stack([np.linspace(0, 1, 50), np.linspace(2, 0, 50)])
    answers = [mechanism.release(records, source) for _ in range(1000)]
    values = np.array([answer.values for answer in answers])
    for column, truth in enumerate((0.5, 1.0)):
        assert mean_agrees(values[:, column], truth)
        assert variance_agrees(values[:, column], answers[0].standard_errors[column] ** 2)
        assert not variance_agrees(values[:, column], 1.7 * answers[0].standard_errors[column] ** 2)
    assert answers[0].noise_scale == pytest.approx([3 / 50, 3 / 50], rel=1e-3)  # one l1 sensitivity serves both columns


def test_report_noisy_max_is_private_at_lap_2_over_epsilon_and_not_at_half_of_it() -> None:
    """All neighbouring counts of four people on three values, and scores that a record moves by one in opposite directions."""
    worst = {}
    for scale in (2, 1):  # at epsilon = 1 and one lattice step to a count
        losses = []
        for counts in product(range(5), repeat=2):
            for up, down in ((1, -1), (-1, 1), (1, 0)):
                x = winning_probabilities(np.array([counts[0], counts[1]]), scale, parts=1)
                y = winning_probabilities(np.array([counts[0] + up, counts[1] + down]), scale, parts=1)
                losses.append(np.abs(np.log(x / y)).max())
        worst[scale] = max(losses)
    assert worst[2] <= 1 + 1e-9
    assert worst[1] > 1.2
    with pytest.raises(CalibrationError):
        ReportNoisyMax(ONE, PARTS)


def test_the_most_common_value_is_found_among_many() -> None:
    cells = np.concatenate([np.full(400, 17), np.arange(1000) % 1000])
    assert most_common_value(cells, 1000, ONE, seeded(1)) == 17
    found = [ReportNoisyMax.design(ONE).release(np.array([3, 0, 2]), seeded(k)) for k in range(400)]
    law = winning_probabilities(np.array([3, 0, 2]), 2 * 64, parts=64)
    assert np.abs(np.bincount(found, minlength=3) / 400 - law).max() < 0.1


def test_bad_records_are_refused() -> None:
    for query, records in ((Count(), [2]), (Histogram(2), [2]), (Sum((0.0,), (1.0,)), [np.nan]), (Count(2), [1])):
        with pytest.raises(InvalidRecord):
            query.integers(np.array(records))
    for lower, upper in (((1.0,), (1.0,)), ((-inf,), (inf,)), ((0.0,), (inf,)), ((-1e308,), (1e308,)), ((), ())):
        with pytest.raises(SchemeError, match="bounds must be"):
            Sum(lower, upper)
    for columns in (0, -1, 1.5):
        with pytest.raises(SchemeError, match="columns"):
            Count(columns)  # type: ignore[arg-type]
    with pytest.raises(InvalidRecord, match="scores must lie"):
        ReportNoisyMax.design(ONE).release(np.array([2**47, 2**47 - 1]), seeded(1))
    with pytest.raises(InvalidRecord, match="at least one"):
        LaplaceMechanism.design(ONE, Count()).release(np.array([]), seeded(1))


def test_differencing_finds_everyone_in_exact_answers_and_nobody_in_private_ones() -> None:
    bits = np.array([0, 1, 1, 0, 1])
    assert [exact_attack(bits, person) for person in range(5)] == bits.tolist()
    assert attack_rate(10, None, runs=50, random=seeded(1)).rate == 1
    private = attack_rate(10, Budget.parse("0.5"), runs=200, random=seeded(2))
    assert private.bound == pytest.approx(exp(0.5) / (1 + exp(0.5)))
    assert private.rate < private.bound < 0.63
