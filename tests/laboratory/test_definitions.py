"""Definitions of privacy on finite channels: exact parameters, what implies what, and where a definition is too weak."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
import scipy

from dpcore.errors import CalibrationError, SchemeError
from dpcore.laboratory import definitions as d
from dpcore.mechanisms import DyadicWave, RandomizedResponse, SubsetSelection
from dpcore.privacy.budget import Budget

TWO_COINS = d.Channel.of_weights([[3, 1], [1, 3]])


def channels(count: int, outputs: int, zeros: bool = False) -> list[d.Channel]:
    draws = np.random.default_rng(7).integers(0 if zeros else 1, 9, size=(count, 2, outputs))
    return [d.Channel.of_weights(weights) for weights in draws if np.all(weights.sum(axis=1) > 0)]


def subsets(outputs: int) -> list[list[int]]:
    return [[z for z in range(outputs) if event >> z & 1] for event in range(1 << outputs)]


def test_the_parameters_of_two_coins() -> None:
    assert d.pure_ratio(TWO_COINS) == 3
    assert d.total_variation(TWO_COINS) == Fraction(1, 2)
    assert d.divergence(TWO_COINS, d.KULLBACK_LEIBLER) == pytest.approx(math.log(3) / 2)
    assert d.divergence(TWO_COINS, d.CHI_SQUARED) == Fraction(4, 3)
    assert d.divergence(TWO_COINS, d.HELLINGER) == pytest.approx(2 - math.sqrt(3))
    assert d.kullback_leibler_of_pure(math.log(3)) == pytest.approx(math.log(3) / 2)  # attained


@pytest.mark.parametrize("kind", [RandomizedResponse, SubsetSelection])
def test_mechanisms_keep_what_their_certificates_say(kind: type) -> None:
    mechanism = kind.design(Budget.parse("ln 3"), categories=5)
    channel = d.Channel.of_weights(mechanism.channel()[0])
    assert d.pure_ratio(channel) == mechanism.certificate().kept


def test_a_wave_keeps_every_definition_its_epsilon_implies() -> None:
    wave = DyadicWave.design(Budget.parse("1"), cells=8, levels=1)
    channel = d.Channel.of_weights(wave.channel()[0])
    promise = d.Promise(d.pure_ratio(channel))
    assert promise.epsilon <= 1
    assert d.total_variation(channel) <= promise.total_variation
    assert d.divergence(channel, d.KULLBACK_LEIBLER) <= d.kullback_leibler_of_pure(promise.epsilon)
    assert d.posterior_odds_change(channel, [Fraction(1, 8)] * 8) == promise.ratio


@pytest.mark.parametrize("zeros", [False, True])
def test_delta_is_that_of_the_worst_event(zeros: bool) -> None:
    for channel in channels(40, 4, zeros):
        for ratio in (Fraction(1), Fraction(3, 2), Fraction(4)):
            worst = max(
                sum((p[z] for z in event), Fraction(0)) - ratio * sum((q[z] for z in event), Fraction(0))
                for p, q in channel.pairs()
                for event in subsets(4)
            )
            assert d.delta_at(channel, ratio) == worst


@pytest.mark.parametrize("zeros", [False, True])
def test_the_ratio_at_a_delta_is_the_smallest(zeros: bool) -> None:
    for channel in channels(60, 4, zeros):
        for delta in (Fraction(0), Fraction(1, 50), Fraction(1, 5), Fraction(2, 3)):
            ratio = d.ratio_at(channel, delta)
            if ratio is None:
                assert d.delta_at(channel, Fraction(10**9)) > delta
                continue
            assert d.delta_at(channel, ratio) <= delta
            assert ratio == 1 or d.delta_at(channel, max(Fraction(1), ratio * Fraction(999_999, 1_000_000))) > delta
        assert d.ratio_at(channel, Fraction(0)) == d.pure_ratio(channel)


def test_delta_at_ratio_one_is_total_variation() -> None:
    for channel in channels(20, 5, zeros=True):
        assert d.delta_at(channel, Fraction(1)) == d.total_variation(channel)
        # TV-privacy with alpha is (0, alpha)-privacy: proposition 1's error sum
        best = max(
            abs(sum((p[z] - q[z] for z in event), Fraction(0))) for p, q in channel.pairs() for event in subsets(5)
        )
        assert best == d.total_variation(channel)


def test_proposition_1_is_an_equivalence() -> None:
    """For every test psi of a pair: r Q(psi = 1 | H0) + Q(psi = 0 | H1) >= 1 - delta, with equality for one."""
    for channel in channels(40, 4, zeros=True):
        ratio = Fraction(2)
        promise = d.Promise(ratio, d.delta_at(channel, ratio))
        left = [
            ratio * sum((p[z] for z in event), Fraction(0)) + 1 - sum((q[z] for z in event), Fraction(0))
            for p, q in channel.pairs()
            for event in subsets(4)
        ]
        assert min(left) == 1 - promise.delta
        assert 1 - d.total_variation(channel) >= promise.error_sum
        assert float(promise.error_sum) >= 1 - promise.epsilon / 2 - float(promise.delta)  # (3), the weaker form


def test_conversions_of_total_variation_and_divergence_hold() -> None:
    for channel in channels(60, 4):
        ratio = d.pure_ratio(channel)
        kl = d.divergence(channel, d.KULLBACK_LEIBLER)
        assert d.total_variation(channel) <= d.Promise(ratio).total_variation
        assert kl <= d.kullback_leibler_of_pure(math.log(ratio)) + 1e-12
        assert d.total_variation(channel) <= d.total_variation_of_kullback_leibler(kl) + 1e-12


def test_theorem_1_from_a_promise_to_conditional_tests() -> None:
    for channel in channels(60, 4, zeros=True):
        for ratio, eta in product((Fraction(1), Fraction(2)), (Fraction(1, 10), Fraction(1, 2))):
            promise = d.Promise(ratio, d.delta_at(channel, ratio))
            assert d.conditional_testing(channel, eta) <= promise.conditional_testing(eta)
        pure = d.pure_ratio(channel)
        if pure is not None:  # 2 / (1 + e^{2 epsilon})
            assert d.Promise(pure).conditional_testing(Fraction(1, 9)) == 1 - 2 / (1 + pure**2)


def test_theorem_1_from_conditional_tests_of_all_processings_to_a_promise() -> None:
    """Some processings give a lower bound of gamma, and the promise that follows from even that must hold."""
    eta = Fraction(1, 10)
    splits = [d.Channel.of_weights([[a, 10 - a] for a in column]) for column in product((0, 1, 10), repeat=3)]
    thirds = [
        d.Channel.of_weights([[a, b, 10 - a - b] for a, b in rows])
        for rows in product(((0, 10), (10, 0), (1, 0)), repeat=3)
    ]
    for channel in channels(12, 3, zeros=True):
        gamma = max(d.conditional_testing(channel.then(post), eta) for post in splits + thirds)
        if gamma < 1:
            promise = d.promised_by_conditional_testing(gamma, eta)
            assert d.delta_at(channel, promise.ratio) <= promise.delta


def test_conditional_testing_privacy_is_not_inherited() -> None:
    """Splitting one output makes events likely enough to be conditioned on that were not before."""
    channel = d.Channel.of_weights([[2, 1, 7], [1, 2, 7]])
    split = d.Channel.of_weights([[7, 0, 0, 0], [0, 7, 0, 0], [0, 0, 6, 1]])
    before, after = (d.conditional_testing(each, Fraction(2, 5)) for each in (channel, channel.then(split)))
    assert (before, after) == (Fraction(1, 10), Fraction(1, 4))
    assert d.is_less_informative(channel.then(split), channel)


def test_divergence_privacy_is_inherited_by_every_processing() -> None:
    posts = np.random.default_rng(3).integers(0, 5, size=(60, 4, 3)) + np.eye(4, 3, dtype=int)
    for channel, weights in zip(channels(60, 4), posts, strict=True):
        weights[weights.sum(axis=1) == 0] = 1
        after = channel.then(d.Channel.of_weights(weights))
        for kind in (d.TOTAL_VARIATION, d.CHI_SQUARED):
            assert d.divergence(after, kind) <= d.divergence(channel, kind)
        for kind in (d.KULLBACK_LEIBLER, d.HELLINGER):
            assert d.divergence(after, kind) <= d.divergence(channel, kind) + 1e-12
        assert d.pure_ratio(after) <= d.pure_ratio(channel)
        assert d.delta_at(after, Fraction(3, 2)) <= d.delta_at(channel, Fraction(3, 2))


def test_release_one_at_random_passes_total_variation_and_fails_the_others() -> None:
    n = 4
    channel = d.release_one_at_random("abc", n)
    assert d.total_variation(channel) == Fraction(1, n)
    assert d.pure_ratio(channel) is None
    assert d.ratio_at(channel, Fraction(1, n) - Fraction(1, 10**9)) is None  # no epsilon for any delta below 1/n
    assert d.divergence(channel, d.KULLBACK_LEIBLER) == math.inf
    assert d.divergence(channel, d.CHI_SQUARED) == math.inf
    assert d.conditional_testing(channel, Fraction(1, n)) == 1  # who sees the record knows it
    assert d.posterior_odds_change(channel, [Fraction(1, 81)] * 81) is None
    assert d.smooth_epsilon(channel, lambda x, y: sum(a != b for a, b in zip(x, y, strict=True))) == math.inf


def test_smooth_privacy_takes_all_pairs_and_is_stronger() -> None:
    values, scale = (0, 1, 2, 3), Fraction(1, 2)

    def law(database: tuple[int, ...]) -> dict[int, Fraction]:
        weights = {z: scale ** abs(z - database[0]) for z in values}
        return {z: weight / sum(weights.values()) for z, weight in weights.items()}

    channel = d.on_databases(values, 1, law)
    epsilon = d.smooth_epsilon(channel, lambda x, y: abs(x[0] - y[0]) / 3)
    assert epsilon >= math.log(d.pure_ratio(channel))
    far = d.smooth_epsilon(channel, lambda x, y: float(x != y))
    assert far == pytest.approx(math.log(d.pure_ratio(channel)))  # Hamming distance: the plain definition
    assert epsilon <= 3 * 2 * math.log(2) + 1e-12  # the numerator's loss plus the normaliser's, per step


def test_groups_and_compositions_of_channels_keep_what_promises_say() -> None:
    def law(database: tuple[int, ...]) -> dict[int, Fraction]:
        weights = {z: Fraction(1, 2) ** abs(z - sum(database)) + Fraction(z == 3, 40) for z in range(5)}
        return {z: weight / sum(weights.values()) for z, weight in weights.items()}

    channel = d.on_databases((0, 1), 3, law)
    promise = d.Promise(Fraction(3, 2), d.delta_at(channel, Fraction(3, 2)))
    for size in (1, 2, 3):
        group = promise.of_group(size)
        assert d.delta_at(channel.of_groups(size), group.ratio) <= group.delta
    twice = channel.beside(channel)
    assert d.pure_ratio(twice) == d.pure_ratio(channel) ** 2
    both = promise + promise
    assert d.delta_at(twice, both.ratio) <= both.delta
    assert d.Promise(Fraction(3)).of_group(2) == d.Promise(Fraction(9))


def test_the_power_of_tests_and_the_trade_off_curve() -> None:
    for channel in channels(40, 5, zeros=True):
        for ratio in (Fraction(1), Fraction(2)):
            promise = d.Promise(ratio, d.delta_at(channel, ratio))
            for level in (Fraction(0), Fraction(1, 20), Fraction(1, 2), Fraction(1)):
                error = d.trade_off_of_channel(channel, level)
                assert error >= d.trade_off_of_promise(promise, level) == 1 - promise.power(level)
    ratio = d.pure_ratio(TWO_COINS)
    for level in (Fraction(1, 100), Fraction(1, 20)):  # theorem 3 of Wasserman and Zhou, attained
        assert 1 - d.trade_off_of_channel(TWO_COINS, level) == ratio * level == d.Promise(ratio).power(level)
    assert d.trade_off((Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 2))) == ((0, Fraction(1, 2)), (1, 0))


def test_the_curve_is_that_of_the_best_test_with_and_without_a_coin() -> None:
    for channel in channels(30, 4, zeros=True):
        p, q = channel.rows
        knots = d.trade_off(p, q)
        for event in subsets(4):
            level = sum((p[z] for z in event), Fraction(0))
            assert d.least_error(knots, level) <= 1 - sum((q[z] for z in event), Fraction(0))
        assert all(0 <= level <= 1 and 0 <= error <= 1 for level, error in knots)
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(knots) if b[0] > a[0]]
        assert slopes == sorted(slopes)


def test_posterior_odds_move_by_the_likelihood_ratio() -> None:
    for channel in channels(20, 3):
        for prior in ([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 100), Fraction(99, 100)]):
            assert d.posterior_odds_change(channel, prior) == d.pure_ratio(channel)
    assert d.Promise(Fraction(3)).posterior_odds(Fraction(1, 2)) == (Fraction(1, 6), Fraction(3, 2))
    with pytest.raises(SchemeError):
        d.Promise(Fraction(3), Fraction(1, 10)).posterior_odds(Fraction(1))


def test_the_order_of_informativeness() -> None:
    weaker = d.Channel.of_weights([[2, 1], [1, 2]])
    assert d.is_less_informative(weaker, TWO_COINS)
    assert not d.is_less_informative(TWO_COINS, weaker)
    assert d.garbling(weaker, TWO_COINS).deficiency == pytest.approx(1 / 12)  # TV 1/6 against 1/4 from the middle
    posts = np.random.default_rng(5).integers(1, 6, size=(10, 4, 3))
    for channel, weights in zip(channels(10, 4), posts, strict=True):
        after = channel.then(d.Channel.of_weights(weights))
        found = d.garbling(channel, after)
        assert found.deficiency < 1e-9
        np.testing.assert_allclose(np.array(channel.rows, float) @ found.matrix, np.array(after.rows, float), atol=1e-9)
    # more private and yet not comparable: neither is a processing of the other
    left, right = d.Channel.of_weights([[8, 1, 1], [4, 5, 1]]), d.Channel.of_weights([[5, 5], [8, 2]])
    assert not d.is_less_informative(left, right)
    assert not d.is_less_informative(right, left)


def test_a_gaussian_mean_is_approximately_private_and_never_purely() -> None:
    mu = 0.7
    grid = np.linspace(-12, 12, 240_001)
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        integrand = np.maximum(scipy.stats.norm.pdf(grid, mu) - np.exp(epsilon) * scipy.stats.norm.pdf(grid), 0.0)
        assert d.gaussian_delta(epsilon, mu) == pytest.approx(np.trapezoid(integrand, grid), rel=1e-6)
    assert d.gaussian_total_variation(mu) == pytest.approx(2 * scipy.stats.norm.cdf(mu / 2) - 1)
    assert all(0 < d.gaussian_delta(e, mu) <= d.gaussian_excess(e, mu) for e in (1.0, 5.0, 20.0, 25.0))
    sigma = d.gaussian_noise(0.5, 1e-6, sensitivity=2.0)
    assert d.gaussian_delta(0.5, 2.0 / sigma) == pytest.approx(1e-6, rel=1e-6)
    assert sigma < 2 * math.sqrt(2 * math.log(1.25e6)) / 0.5  # the usual rule asks for more
    # and for large epsilon the usual rule is no promise at all
    assert d.gaussian_delta(20.0, 20.0 / math.sqrt(2 * math.log(1.25 / 0.4))) > 0.4
    for level in (0.01, 0.2, 0.7):  # its trade-off curve touches each of its promises
        lines = [
            max(1 - d.gaussian_delta(e, mu) - math.exp(e) * level, (1 - d.gaussian_delta(e, mu) - level) * math.exp(-e))
            for e in np.linspace(0, 6, 2001)
        ]
        assert max(lines) == pytest.approx(d.gaussian_trade_off(mu, level), abs=1e-5)


def test_what_is_no_channel_is_refused() -> None:
    with pytest.raises(CalibrationError, match="all zeros"):
        d.Channel.of_weights([[1, 1], [0, 0]])
    with pytest.raises(CalibrationError, match="sum to one"):
        d.Channel(((Fraction(1, 2), Fraction(1, 3)),), ())
    with pytest.raises(CalibrationError, match="4096 databases"):
        d.release_one_at_random(range(10), 5)
    with pytest.raises(CalibrationError, match="at most 14 outputs"):
        d.conditional_testing(d.Channel.of_weights(np.ones((2, 15), int)), Fraction(1, 2))
    with pytest.raises(CalibrationError, match="at least 1"):
        d.delta_at(TWO_COINS, Fraction(1, 2))
    with pytest.raises(CalibrationError, match="2 inputs"):
        TWO_COINS.then(d.Channel.of_weights([[1, 1]]))
    with pytest.raises(CalibrationError, match="whole numbers"):
        d.Channel.of_weights([[1.5, 1.1], [1.0, 3.0]])  # cut down to whole numbers they would be another channel
    with pytest.raises(SchemeError, match="delta"):
        d.Promise(Fraction(2), Fraction(3, 2))
    for refused in (
        lambda: d.Promise(math.inf),  # type: ignore[arg-type]
        lambda: d.Promise(Fraction(2)).of_group(1.5),  # type: ignore[arg-type]
        lambda: d.Promise(Fraction(2)).conditional_testing(Fraction(0)),
        lambda: d.total_variation_of_kullback_leibler(-1.0),
    ):
        with pytest.raises(SchemeError, match="must"):
            refused()


def test_small_and_large_arguments_keep_their_digits() -> None:
    for mu in (1e-12, 1e-8, 1e-3):
        assert d.gaussian_total_variation(mu) == pytest.approx(mu / math.sqrt(2 * math.pi), rel=1e-6)
    assert d.gaussian_delta(math.inf, 1.0) == 0
    assert d.total_variation_of_kullback_leibler(100.0) == 1
