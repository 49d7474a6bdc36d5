"""What a round publishes: levels by the integers, beside the channels that mechanisms list, and the figures of schemes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dpcore.audit.mechanisms.base import levels
from dpcore.audit.mechanisms.numeric import _with_noise
from dpcore.audit.publication import central_guarantee, planned
from dpcore.mechanisms import (
    CrossedWave,
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from dpcore.privacy.shuffling.central_epsilon import Publication, published, upward
from dpcore.privacy.shuffling.channel import Level, level_of
from dpcore.protocol.scheme import Scheme

N, DELTA = 100_000, 1e-6
FOUR, TWO, ONE = (Budget.parse(text) for text in ("4", "2", "1"))

MECHANISMS = {
    "randomized_response": lambda budget: RandomizedResponse.design(budget, categories=5),
    "of two": lambda budget: RandomizedResponse.design(budget, categories=2),
    "unary_encoding": lambda budget: UnaryEncoding.design(budget, categories=5),
    "unary_encoding, symmetric": lambda budget: UnaryEncoding.design(budget, categories=5, variant="symmetric"),
    "unary_encoding of two": lambda budget: UnaryEncoding.design(budget, categories=2),
    "subset_selection": lambda budget: SubsetSelection.design(budget, categories=8),
    "hadamard_response": lambda budget: HadamardResponse.design(budget, categories=5),
    "hadamard_response of two": lambda budget: HadamardResponse.design(budget, categories=2),
    "local_hashing": lambda budget: LocalHashing.design(budget, categories=7),
    "square_wave": lambda budget: SquareWave.design(budget, cells=32),
    "dyadic_wave": lambda budget: DyadicWave.design(budget, cells=16),
    "crossed_wave": lambda budget: CrossedWave.design(budget, cells=8),
}
# Upper over lower bound, where it is more than 1.02: there the upper one counts less than hides a person.
LOOSE = {
    (FOUR, "unary_encoding, symmetric"): 1.08,
    (FOUR, "unary_encoding of two"): 1.43,
    (FOUR, "hadamard_response"): 1.43,
    (FOUR, "hadamard_response of two"): 1.43,
    (ONE, "unary_encoding"): 1.12,
    (ONE, "unary_encoding, symmetric"): 1.17,
    (ONE, "unary_encoding of two"): 1.24,
    (ONE, "subset_selection"): 1.07,
    (ONE, "hadamard_response"): 1.24,
    (ONE, "hadamard_response of two"): 1.24,
    (ONE, "local_hashing"): 1.07,
    (ONE, "square_wave"): 1.04,
    (ONE, "dyadic_wave"): 1.07,
}
SCHEME = """name = "crowd"
clients = 100000
{top}
[attributes.a]
type = "categorical"
categories = ["x", "y", "z"]
mechanism = "randomized_response"
epsilon = 2
[attributes.b]
type = "numeric"
lower = 0
upper = 1
mechanism = "square_wave"
epsilon = 2
{bottom}
"""


def scheme_of(top: str = "", bottom: str = "") -> Scheme:
    return Scheme.from_toml(SCHEME.format(top=top, bottom=bottom))


@cache
def shown_by(name: str, budget: Budget) -> list[Level]:
    return list(levels(MECHANISMS[name](budget)))


@pytest.mark.parametrize("budget", [FOUR, pytest.param(ONE, marks=pytest.mark.slow)], ids=lambda budget: budget.text)
def test_levels_are_those_of_the_channel_that_is_listed(subtests, budget):
    for name in MECHANISMS:
        with subtests.test(name=name):
            found, channel = shown_by(name, budget), MECHANISMS[name](budget).channel()
            assert len(found) == len(channel)
            for level, weights in zip((replace(level, share=1.0) for level in found), channel, strict=True):
                listed = level_of(weights)
                assert level.ratio == pytest.approx(listed.ratio, rel=1e-12)
                assert level.distance == pytest.approx(listed.distance, rel=1e-12)
                assert 0 < level.mass <= listed.mass * (1 + 1e-12)
                assert listed.below(500, 0.3) * 0.99 <= level.below(500, 0.3) <= listed.above(500, 0.3)
            assert math.fsum(level.share for level in found) == pytest.approx(1)


def test_a_shipped_channel_tells_no_more_than_any_and_bounds_are_close(subtests):
    for budget, any_channel in [(FOUR, 0.1182), (ONE, 0.0118)]:
        for name in MECHANISMS:
            with subtests.test(budget=budget, any_channel=any_channel, name=name):
                found = shown_by(name, budget)
                figure = published([replace(level, share=1.0) for level in found[:1]], N, DELTA)
                assert 0 < figure.low < figure.epsilon <= any_channel
                assert 1 <= figure.epsilon / figure.low <= LOOSE.get((budget, name), 1.02)


def test_an_attack_is_landed_where_each_reports_one_of_several_and_on_levels_apart(subtests):
    """What `budgets.published_least` holds, by each kind of attack; of the other channels, where all report, as above."""
    for name in ("randomized_response", "of two", "unary_encoding", "dyadic_wave"):
        with subtests.test(name=name):
            assert published(shown_by(name, ONE), 5_000, DELTA, 0.5).low > 0
    for name in ("dyadic_wave", "crossed_wave"):
        with subtests.test(name=name, crowd="all"):
            assert published(shown_by(name, ONE), 5_000, DELTA).low > 0


@pytest.mark.parametrize("allocation", ["sample", "split"])
def test_an_attack_on_additive_noise_sees_one_coefficient(allocation):
    mechanism = WaveletLaplace.design(TWO, degree=1, coarsest_level=2, finest_level=3, allocation=allocation)
    found = levels(mechanism)
    figure = published(found, N, DELTA)
    assert 0 < figure.low < figure.epsilon
    for level in found:
        first = level.attacks[0]
        assert set(level.attacks) <= {first, first.reversed}
        for one, other, others in zip(first.one, first.other, first.others, strict=True):
            assert max(one, other, others) <= level.ratio * min(one, other, others) * (1 + 1e-9)


def test_a_coefficient_with_noise_has_the_law_of_the_noise():
    values, edges, noise = np.array([0, 6, 3]), np.array([0, 2, 6]), np.arange(-300, 301)
    for value, law in zip(values, _with_noise(values, edges, 2), strict=True):
        bins = np.searchsorted(edges, noise + value, side="right")
        assert law == pytest.approx(np.bincount(bins, discrete_laplace.pmf(noise, 2)), abs=1e-12)


def test_all_levels_of_a_wave_are_close():
    figure = published(levels(MECHANISMS["dyadic_wave"](FOUR)), N, DELTA)
    assert 1 <= figure.epsilon / figure.low <= 1.02


def test_many_categories_are_enumerated_without_their_channel():
    for mechanism in (
        RandomizedResponse.design(FOUR, categories=10_000),
        UnaryEncoding.design(FOUR, categories=1_000),
        SubsetSelection.design(FOUR, categories=1_000),
        LocalHashing.design(FOUR, categories=1_000),
        LocalHashing.design(FOUR, categories=5_000),
    ):
        assert published(levels(mechanism), N, DELTA, attacked=False).epsilon < 0.1182


def test_a_round_is_the_sum_of_its_units():
    told = central_guarantee(scheme_of(), N)
    assert list(told.units) == [("a",), ("b",)]
    assert told.whole.epsilon == pytest.approx(told.attributes["a"].epsilon + told.attributes["b"].epsilon)
    assert told.whole.delta == pytest.approx(DELTA)


def test_pairs_are_counted_together():
    told, apart = central_guarantee(scheme_of('pairs = [["b", "a"]]'), N), central_guarantee(scheme_of(), N)
    assert list(told.units) == [("a", "b")]
    assert told.whole.epsilon > apart.whole.epsilon


def test_an_answer_is_told_no_better_than_its_own_report_tells_it():
    told = central_guarantee(scheme_of('pairs = [["b", "a"]]'), 60)
    assert told.attributes["a"].epsilon == told.attributes["b"].epsilon == 2
    assert told.whole.epsilon <= 4


def test_who_reports_one_of_two_hides_among_half():
    told = central_guarantee(scheme_of('reporting = "one"'), N)
    alone = published(levels(RandomizedResponse.design(Budget.parse("2"), categories=3)), N // 2, DELTA, attacked=False)
    assert told.attributes["a"].epsilon == pytest.approx(alone.epsilon, rel=0.01)
    assert (
        min(told.attributes[name].epsilon for name in "ab")
        < told.whole.epsilon
        < max(told.attributes[name].epsilon for name in "ab")
    )


def test_labels_shrink_the_crowd():
    labelled = planned(scheme_of(bottom='[labels.region]\ncategories = ["n", "s", "e", "w"]'))
    assert labelled.reports == 25_000
    assert "in each of 4 groups by label" in labelled.words
    assert labelled.whole.epsilon == pytest.approx(central_guarantee(scheme_of(), 25_000).whole.epsilon)


def test_rounds_add_up():
    once, thrice = central_guarantee(scheme_of(), N), central_guarantee(scheme_of(), N, rounds=3)
    assert thrice.whole.delta == pytest.approx(once.whole.delta)
    assert thrice.whole.epsilon > 3 * once.whole.epsilon


def test_it_is_refused_where_reports_are_linked():
    told = central_guarantee(scheme_of(), N, publication=Publication(tokens=True))
    assert told.whole is None
    assert not told.attributes
    assert "tokens" in told.words


def test_gaussian_noise_has_no_second_figure():
    scheme = Scheme.from_toml(
        'name = "g"\nclients = 1000\n[attributes.v]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 0.5\n'
        'mechanism = "wavelet_laplace"\nnoise = "discrete_gaussian"\ndelta = 1e-6\n'
    )
    assert "Gaussian" in planned(scheme).words


def test_digits_are_rounded_up():
    assert upward(0.118104) == "0.119"
    assert upward(1.2) == "1.2"
    assert upward(0.0) == "0"


def test_two_numbers_asked_together_have_a_figure():
    """A scheme of them is shown, planned and landed with it; every level of the mechanism has its own share."""
    scheme = Scheme.from_toml(
        'name = "plane"\nclients = 100000\n[attributes.plane]\ntype = "numeric"\nof = ["x", "y"]\nlower = [0, 0]\n'
        "upper = [1, 1]\nepsilon = 2\n"
    )
    assert 0 < planned(scheme).whole.epsilon < 0.1
    assert len(levels(scheme.attributes["plane"].mechanism)) == 4
