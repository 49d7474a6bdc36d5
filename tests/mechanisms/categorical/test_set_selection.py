"""Set selection by enumeration: of the numbered sets, of what clients draw, and of the model's probabilities."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb, factorial

import numpy as np
import pytest

from dpcore._random import Source, seeded
from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms.categorical import set_selection
from dpcore.mechanisms.categorical.option_sets import OptionSets
from dpcore.mechanisms.categorical.set_selection import SetSelection
from dpcore.mechanisms.odds import total_variation
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.budget import Budget
from tests.helpers.enumeration import largest_ratio

SMALL = [(k, m, t) for k in range(2, 6) for m in range(1, k + 1) for t in range(1, k + 1)]


def _subsets(mechanism: SetSelection) -> list[tuple[int, ...]]:
    return list(combinations(range(mechanism.items), mechanism.size))


def _padded(options: int, at_most: int) -> list[set[int]]:
    """The sets in their order, each with the first dummies that it needs."""
    sets = [
        chosen[::-1]
        for size in range(at_most + 1)
        for chosen in sorted(one[::-1] for one in combinations(range(options), size))
    ]
    return [{*chosen, *range(options, options + at_most - len(chosen))} for chosen in sets]


def test_sets_are_numbered_and_padded_one_way_only(subtests: pytest.Subtests) -> None:
    for k, m in [(2, 1), (4, 2), (5, 5), (9, 4)]:
        with subtests.test(k=k, m=m):
            sets, every = OptionSets(k, m), np.arange(sum(comb(k, size) for size in range(m + 1)))
            assert len(sets) == len(every)
            padded = sets.padded(every)
            assert [set(np.flatnonzero(row).tolist()) for row in padded] == _padded(k, m)
            assert np.array_equal(sets.numbers(padded[:, :k]), every)
            assert np.array_equal(sets.sizes, padded[:, :k].sum(axis=1))
    large = OptionSets(60, 4)
    some = np.random.default_rng(1).integers(0, len(large), 2000)
    assert np.array_equal(large.numbers(large.members(some)), some)


class Unfinished(Exception):
    """The client draws a third subset."""


class Given(Source):
    """The numbers of one client."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self._numbers = list(numbers)

    def residues(self, bound: int, count: int) -> np.ndarray:
        assert count == 1
        if not self._numbers:
            raise Unfinished
        assert self._numbers[0] < bound
        return np.array([self._numbers.pop(0)], dtype=np.uint32)

    words = generator = spawn = None  # type: ignore[assignment]


def test_clients_draw_exactly_the_channel(subtests: pytest.Subtests) -> None:
    """Every first draw, and every two subsets of both kinds: the one of the drawn kind is sent, equally often each.

    A client with two of one kind draws more, whatever its first draw was: so the number of draws depends on neither.
    """
    for k, m, t, inside, outside in [(2, 2, 1, 3, 2), (3, 2, 2, 3, 1), (3, 1, 3, 4, 1)]:
        with subtests.test(k=k, m=m, t=t):
            mechanism = SetSelection(Budget.parse("8"), k, m, t, inside, outside)
            floyd = [range(bound) for bound in range(k + m - t + 1, k + m + 1)]
            (weights,) = mechanism.channel() or ()
            kinds = {True: mechanism.holding, False: mechanism.lacking}
            for cell, padded in enumerate(_padded(k, m)):
                sent: Counter[tuple[bool, tuple[int, ...]]] = Counter()
                finished = Counter[int]()
                for numbers in product(range(mechanism.total), *floyd, *floyd):
                    try:
                        reports = mechanism.privatize(np.array([cell]), Given(numbers))
                    except Unfinished:
                        continue
                    finished[numbers[0]] += 1
                    sent[numbers[0] < inside, tuple(reports.values.tolist())] += 1
                ways = 2 * factorial(t) ** 2  # either kind may come first
                assert set(finished.values()) == {ways * kinds[True] * kinds[False]}
                expected = {
                    (kind, subset): ways * kinds[not kind] * (inside if kind else outside)
                    for subset in _subsets(mechanism)
                    for kind in [bool(padded & {*subset})]
                }
                assert sent == expected
                row = [Fraction(int(weight), int(weights[cell].sum())) for weight in weights[cell]]
                assert [Fraction(number, sum(expected.values())) for number in expected.values()] == row


def test_the_number_of_drawn_subsets_shows_nothing() -> None:
    """Of a report and an option: as often many draws whether the option is in the set or not."""
    mechanism = SetSelection.design(Budget.parse("2"), categories=5, at_most=3)

    class Counting(Source):
        def __init__(self, inner: Source) -> None:
            self.inner, self.drawn = inner, 0

        def residues(self, bound: int, count: int) -> np.ndarray:
            self.drawn += 1
            return self.inner.residues(bound, count)

        words = generator = spawn = None  # type: ignore[assignment]

    source = Counting(seeded(5))
    counts = np.zeros((2, 2, 4))  # report has the first option or not, set likewise, draws
    for place, cell in ((0, 0), (1, 1)):
        for _ in range(6000):
            source.drawn = 0
            report = mechanism.privatize(np.array([cell]), source).values
            counts[int(0 in report), place, min((source.drawn - 1) // mechanism.size, 5) - 2] += 1
    for table in counts:
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        assert ((table - expected) ** 2 / expected).sum() < 16.3  # of chi-squared(3), one in a thousand


def test_every_small_design_keeps_its_promise_by_brute_force(subtests: pytest.Subtests) -> None:
    for epsilon in ("0.1", "1", "4"):
        for k, m, t in SMALL:
            with subtests.test(epsilon=epsilon, k=k, m=m, t=t):
                mechanism = SetSelection.design(Budget.parse(epsilon), categories=k, at_most=m, size=t)
                (weights,) = mechanism.channel() or ()
                assert largest_ratio(weights) == mechanism.certificate().kept <= mechanism.budget.ratio_floor
                rows = weights.astype(object)
                total = int(rows[0].sum())
                apart = max(int(np.abs(one - other).sum()) for one in rows for other in rows)
                assert total_variation(mechanism) == Fraction(apart, 2 * total)


def test_the_model_is_that_of_the_channel(subtests: pytest.Subtests) -> None:
    for k, m, t in [(2, 1, 1), (4, 3, 2), (5, 2, 3), (5, 5, 4)]:
        with subtests.test(k=k, m=m, t=t):
            mechanism = SetSelection.design(Budget.parse("1"), categories=k, at_most=m, size=t)
            (weights,), model = mechanism.channel() or (), mechanism.model()
            for row, padded in zip(weights.astype(object), _padded(k, m), strict=True):
                law = dict(zip(_subsets(mechanism), row / row.sum(), strict=True))
                for a, b in combinations(range(mechanism.items), 2):
                    own = sum(chance for subset, chance in law.items() if a in subset)
                    both = sum(chance for subset, chance in law.items() if {a, b} <= {*subset})
                    assert own == pytest.approx(float(model.true_mean if a in padded else model.other_mean), rel=1e-12)
                    expected = model.true_both if padded & {a, b} else model.other_both
                    assert both == pytest.approx(float(expected), rel=1e-12, abs=1e-15)


def test_statistics_count_every_two_items() -> None:
    mechanism = SetSelection.design(Budget.parse("1"), categories=6, at_most=3, size=4)
    reports = mechanism.privatize(np.arange(2000) % mechanism.inputs, seeded(1))
    assert mechanism.accepts(reports).all()
    counts = Counter(
        pair for row in reports.values.reshape(-1, 4).tolist() for pair in combinations(sorted([*row, *row]), 2)
    )
    cells = mechanism.labels().cell
    seen = {
        (cell // 9, cell % 9): number
        for cell, number in zip(cells.tolist(), mechanism.statistics(reports), strict=True)
    }
    for (a, b), number in seen.items():
        assert number * (1 if a == b else 4) == counts[a, b]
    assert np.array_equal(mechanism.scores(reports).sum(axis=0), mechanism.statistics(reports))


def test_many_clients_are_handled_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = SetSelection.design(Budget.parse("8"), categories=6, at_most=2, size=2)
    values = np.repeat([0, 20], 500)  # those of one part have other sets than those of another
    plain = mechanism.statistics(mechanism.privatize(values, seeded(1)))
    monkeypatch.setattr(set_selection, "_CLIENTS", 300)
    reports = mechanism.privatize(values, seeded(1))
    padded = mechanism.sets.padded(values)
    has = np.take_along_axis(padded, reports.values.reshape(-1, 2), axis=1).any(axis=1)
    assert has.mean() > 0.95  # epsilon 8
    assert mechanism.statistics(reports).sum() == plain.sum() == 3000


def test_only_sorted_subsets_of_the_right_length_are_accepted() -> None:
    mechanism = SetSelection.design(Budget.parse("1"), categories=4, at_most=2, size=2)
    rows = [[0, 1], [4, 5], [1, 0], [3, 3], [-1, 2], [4, 6]]
    reports = Reports(np.zeros(6, dtype=np.uint8), np.array(rows).reshape(-1))
    assert mechanism.accepts(reports).tolist() == [True, True, False, False, False, False]
    assert {len(mechanism.privatize(np.array([cell]), seeded(cell)).values) for cell in range(mechanism.inputs)} == {2}


def test_the_design_has_the_least_variance_of_all_sizes(subtests: pytest.Subtests) -> None:
    for k, m in [(8, 2), (20, 4), (62, 2)]:
        for epsilon in ("0.5", "1", "2", "4"):
            with subtests.test(k=k, m=m, epsilon=epsilon):
                best, *others = (
                    SetSelection.design(Budget.parse(epsilon), categories=k, at_most=m, size=size)
                    .model()
                    .of_one.variance(0.0)
                    for size in (None, *range(1, k // 2))  # larger ones leave too few subsets without an item of a set
                )
                assert best == min(others)


def test_what_is_not_possible_is_refused() -> None:
    budget = Budget.parse("1")
    for options, most, message in [
        (63, 2, "categories"),
        (5, 6, "at_most"),
        (21, 21, "at_most"),
        (60, 5, "possible answers"),
    ]:
        with pytest.raises(SchemeError, match=message):
            SetSelection.design(budget, categories=options, at_most=most)
    for size in (0, 6):
        with pytest.raises(SchemeError, match="size"):
            SetSelection.design(budget, categories=5, at_most=2, size=size)
    with pytest.raises(SchemeError, match="size = 60 leaves too few subsets"):
        SetSelection.design(budget, categories=62, at_most=4, size=60)
    with pytest.raises(SchemeError, match="does not fit"):
        SetSelection.design(Budget.parse("40"), categories=5, at_most=2)
    designed = SetSelection.design(budget, categories=5, at_most=2)
    for inside in (designed.weight_in + 2, 1):
        with pytest.raises(CalibrationError):
            SetSelection(budget, 5, 2, designed.size, inside, designed.weight_out)
