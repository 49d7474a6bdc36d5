from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, exp, prod

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import SchemeError
from dpcore.mechanisms.categorical import subset_selection
from dpcore.mechanisms.categorical.subset_selection import SubsetSelection
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.budget import Budget
from tests.helpers.enumeration import law_of_clients
from tests.helpers.statistical import (
    MISSED,
    MISSED_BY_DAY,
    draws_for_variance,
    mean_agrees,
    variance_agrees,
)

NIGHTLY = [pytest.mark.slow, pytest.mark.nightly("a study")]


def _subsets(mechanism: SubsetSelection) -> list[tuple[int, ...]]:
    return list(combinations(range(mechanism.categories), mechanism.size))


def test_the_clients_code_has_exactly_the_channel_it_certifies(subtests: pytest.Subtests) -> None:
    for k, w in [(2, 1), (3, 1), (3, 2), (4, 2), (5, 2), (5, 3), (5, 4), (8, 3)]:
        with subtests.test(k=k, w=w):
            mechanism = SubsetSelection(
                Budget.parse("ln 3"), k, w, 3, 1
            )  # small weights, so that all draws can be tried
            (weights,) = mechanism.channel()
            draws = mechanism.total * prod(range(k - w, k))
            for true in range(k):
                law = law_of_clients(mechanism, true, draws)
                said = [law.get(subset, 0) for subset in _subsets(mechanism)]
                assert sum(said) == draws  # every report is one of the sorted subsets
                scale = Fraction(draws, int(weights[true].sum()))
                assert said == [int(weight) * scale for weight in weights[true]]


def test_ratios_of_large_channels_by_formula(subtests: pytest.Subtests) -> None:
    """Of two categories, a subset holds both, one, the other, or none: four kinds of report are all there are."""
    for k, epsilon in [(64, "1"), (1024, "2"), (10_000, "0.5")]:
        with subtests.test(k=k, epsilon=epsilon):
            mechanism = SubsetSelection.design(Budget.parse(epsilon), categories=k)
            assert k <= 64 or mechanism.channel() is None
            w, p = mechanism.size, mechanism.truth_probability
            with_truth, without = (
                p / comb(k - 1, w - 1),
                (1 - p) / comb(k - 1, w),
            )  # one subset's probability, of either kind
            kinds = {(True, True): comb(k - 2, w - 2) if w > 1 else 0, (True, False): comb(k - 2, w - 1)}
            kinds |= {(False, True): comb(k - 2, w - 1), (False, False): comb(k - 2, w)}
            assert sum(number * (with_truth if x else without) for (x, _), number in kinds.items()) == 1
            chances = {True: with_truth, False: without}
            ratios = [chances[x] / chances[y] for (x, y), number in kinds.items() if number]
            assert max(ratios) == mechanism.certificate().kept <= mechanism.budget.ratio_floor


def test_reports_are_sorted_subsets_with_the_right_chances(subtests: pytest.Subtests) -> None:
    for k in [2, 3, 64, 2000]:
        with subtests.test(k=k):
            mechanism = SubsetSelection.design(Budget.parse("1"), categories=k)
            n = 500 if k == 2000 else 5000
            values = np.random.default_rng(k).integers(0, k, n)
            reports = mechanism.privatize(values, seeded(k))
            rows = reports.values.reshape(n, mechanism.size)
            assert mechanism.accepts(reports).all()
            assert np.all(np.diff(rows, axis=1) > 0)
            p = float(mechanism.truth_probability)
            own = np.any(rows == values[:, None], axis=1)
            assert abs(own.mean() - p) < 6 * np.sqrt(p * (1 - p) / n)
            assert np.array_equal(
                mechanism.statistics(reports),
                [(rows == x).sum() for x in range(k)] if k < 100 else np.bincount(rows.ravel(), minlength=k),
            )


@pytest.mark.parametrize("members", [1 << 18, 6, 1])
def test_what_no_client_could_send_is_not_accepted(members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subset_selection, "_MEMBERS", members)  # looked at together
    mechanism = SubsetSelection.design(Budget.parse("1"), categories=9, size=3)
    reports = mechanism.privatize(np.arange(9), seeded(1))
    for bad in ([1, 0, 2], [1, 1, 2], [-1, 0, 2], [0, 2, 9], [2, 1, 0]):
        values = reports.values.copy()
        values[6:9] = bad
        assert np.flatnonzero(~mechanism.accepts(Reports(reports.level, values))).tolist() == [2]
    assert not mechanism.accepts(Reports(reports.level, reports.values[:-1])).any()
    level = reports.level.copy()
    level[3] = 1
    accepted = mechanism.accepts(Reports(level, np.delete(reports.values, [9, 10, 11])))
    assert np.flatnonzero(~accepted).tolist() == [3]


@pytest.mark.parametrize(
    ("k", "epsilon", "stated", "missed"),
    [
        (5, "0.5", 1.3**2, MISSED_BY_DAY),
        pytest.param(6, "0.2", 1.3, MISSED, marks=pytest.mark.slow),
        pytest.param(8, "2", 1.3, MISSED, marks=NIGHTLY),
    ],
)
def test_simulated_counts_follow_the_law_of_clients(k: int, epsilon: str, stated: float, missed: float) -> None:
    """Moments of every category and pair, and the whole law of three clients' counts."""
    mechanism = SubsetSelection.design(Budget.parse(epsilon), categories=k)
    (weights,) = mechanism.channel()
    members = np.array([[x in subset for x in range(k)] for subset in _subsets(mechanism)], dtype=float)
    law = weights / weights.sum(axis=1, keepdims=True)
    counts = np.arange(k) * 30
    mean = counts @ (law @ members)
    each = [members.T @ (row[:, None] * members) - np.outer(row @ members, row @ members) for row in law]
    covariance = np.tensordot(counts, each, axes=1)
    random = seeded(5)
    said = np.array([mechanism.simulate(counts, random) for _ in range(draws_for_variance(stated, missed=missed))])
    assert np.all(said.sum(axis=1) == counts.sum() * mechanism.size)
    for x in range(k):
        assert mean_agrees(said[:, x], mean[x])
        assert variance_agrees(said[:, x], covariance[x, x])
        assert not variance_agrees(said[:, x], covariance[x, x] * stated)
        for y in range(x):
            assert variance_agrees(said[:, x] - said[:, y], covariance[x, x] + covariance[y, y] - 2 * covariance[x, y])

    few = np.bincount([0, 1, 1], minlength=k)
    by_clients = mechanism.privatize(np.tile([0, 1, 1], 20_000), seeded(7)).values.reshape(20_000, -1)
    by_law = np.array([mechanism.simulate(few, random) for _ in range(1500)])
    keys, law_counts = np.unique(by_law @ 4 ** np.arange(k), return_counts=True)
    made = np.array([np.bincount(row, minlength=k) for row in by_clients]) @ 4 ** np.arange(k)
    client_keys, client_counts = np.unique(made, return_counts=True)
    expected = dict(zip(client_keys.tolist(), client_counts.tolist(), strict=True))
    common = np.array([[c, expected.get(key, 0)] for key, c in zip(keys.tolist(), law_counts, strict=True)])
    often = common[common[:, 1] >= 400]  # expected in the simulation: 30 and more
    share = often[:, 1] / 20_000
    z = (often[:, 0] / 1500 - share) / np.sqrt(share * (1 - share) * (1 / 1500 + 1 / 20_000))
    assert len(often) > 5 or k > 4
    assert np.all(np.abs(z) < 6)


def test_the_variances_of_the_literature(subtests: pytest.Subtests) -> None:
    for epsilon, k, expected in [
        ("0.5", 32, 14.64),
        ("1", 32, 3.402),
        ("2", 32, 0.621),
        ("1", 1024, 3.674),
        ("2", 1024, 0.721),
        ("4", 1024, 0.074),
    ]:
        with subtests.test(epsilon=epsilon, k=k, expected=expected):
            mechanism = SubsetSelection.design(Budget.parse(epsilon), categories=k)
            assert mechanism.variance(0.0, 1) == pytest.approx(expected, rel=0.01)
            assert abs(mechanism.size - k / (exp(float(mechanism.budget)) + 1)) <= 1


def test_the_size_is_the_one_of_least_variance() -> None:
    for epsilon in ("0.3", "1", "2.5"):
        for k in (2, 3, 7, 40):
            chosen = SubsetSelection.design(Budget.parse(epsilon), categories=k).variance(0.0, 1)
            tried = [SubsetSelection.design(Budget.parse(epsilon), categories=k, size=w) for w in range(1, k)]
            assert chosen == min(mechanism.variance(0.0, 1) for mechanism in tried)


@pytest.mark.slow
def test_ten_thousand_categories_and_a_billion_clients_are_simulated() -> None:
    mechanism = SubsetSelection.design(Budget.parse("2"), categories=300)
    counts = np.zeros(300, dtype=np.int64)
    counts[[3, 5]] = 1_400_000_000, 600_000_000
    said = mechanism.simulate(counts, seeded(1))
    assert said.sum() == 2_000_000_000 * mechanism.size
    estimates = mechanism.model().frequencies(said, 2_000_000_000)
    errors = (estimates - counts / 2e9) / np.sqrt(mechanism.model().variance(counts / 2e9, 2_000_000_000))
    assert np.all(np.abs(errors) < 6)
    large = SubsetSelection.design(Budget.parse("4"), categories=10_000)
    assert large.simulate(np.ones(10_000, dtype=np.int64), seeded(2)).sum() == 10_000 * large.size


def test_weights_fit_whatever_the_budget(subtests: pytest.Subtests) -> None:
    for k, epsilon in [(2, "0.0000001"), (300, "0.000001"), (10_000, "0.0001"), (10_000, "12"), (2, "21")]:
        with subtests.test(k=k, epsilon=epsilon):
            mechanism = SubsetSelection.design(Budget.parse(epsilon), categories=k)
            assert 1 < mechanism.certificate().kept <= mechanism.budget.ratio_floor
            assert np.isfinite(mechanism.variance(0.0, 1))


def test_a_budget_that_no_weights_fit_is_refused(subtests: pytest.Subtests) -> None:
    for epsilon in ["0.0000000001", "40"]:
        with subtests.test(epsilon=epsilon), pytest.raises(SchemeError, match="32-bit weights"):
            SubsetSelection.design(Budget.parse(epsilon), categories=9)
