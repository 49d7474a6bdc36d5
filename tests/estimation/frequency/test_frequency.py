"""Frequencies: from score sums and channels, their covariance and intervals, what they are projected on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from dpcore._random import seeded
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.estimators import Frequency, project_cumulative, project_simplex
from dpcore.estimation.frequency.frequency import invert
from dpcore.estimation.frequency.proportion_intervals import (
    NormalIntervals,
    ScoreIntervals,
    level_within_bounds,
    within_bounds,
)
from dpcore.estimation.joint.conditioning import left_inverse
from dpcore.functionals import Mean, parse
from dpcore.mechanisms import RandomizedResponse
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums
from dpcore.mechanisms.wave_level import Wave
from dpcore.privacy.budget import Budget


def _aggregate(mechanism, counts, values=None, n=None):
    names = tuple(f"c{i}" for i in range(len(counts)))
    attribute = SimpleNamespace(name="c", mechanism=mechanism, categories=names, values=values, estimator="frequency")
    counted = round(float(np.sum(counts))) if n is None else n
    return SimpleNamespace(
        scheme=SimpleNamespace(attributes={"c": attribute}),
        statistics={"c": np.asarray(counts)},
        reports=lambda _: counted,
    )


def _channel(mechanism):
    """Randomized response, its statistics described as counts of a channel: a circular wave of windows of one cell."""
    wave = Wave(
        inputs=mechanism.categories,
        cells=mechanism.categories,
        shift=0,
        half_width=0,
        circular=True,
        weight_in=mechanism.weight_in,
        weight_out=mechanism.weight_out,
    )
    np.testing.assert_allclose(wave.matrix(), mechanism.model().response(), rtol=1e-15)
    return SimpleNamespace(name="channel", model=lambda: FiniteChannel((wave,), np.ones(1)))


def test_two_coins_are_twice_the_mean_less_a_half():
    mechanism = RandomizedResponse.design(Budget.parse("ln 3"), categories=2, design="two_coin")
    estimate = Frequency().estimate(_aggregate(mechanism, [620, 380]), "c")
    assert estimate.raw[0] == pytest.approx(2 * 0.62 - 0.5)
    assert estimate["c0"] == pytest.approx(0.74)
    assert estimate.n == 1000


def test_expected_counts_give_the_truth_and_the_known_variance(subtests):
    for categories in [2, 3, 6]:
        with subtests.test(categories=categories):
            mechanism = RandomizedResponse.design(Budget.parse("1"), categories=categories)
            truth = np.arange(1, categories + 1) / np.arange(1, categories + 1).sum()
            n = 10_000_000
            estimate = Frequency().estimate(_aggregate(mechanism, n * mechanism.model().means(truth)), "c")
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
    covariance = covariance.matrix()
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
    with pytest.raises(NotEstimable, match="not identified"):
        left_inverse(np.full((4, 2), 0.25))


def test_score_sums_and_the_channels_inverse_agree(subtests):
    """Two roads to one estimate: closed form, and a k x k inverse."""
    for categories in [2, 3, 7]:
        with subtests.test(categories=categories):
            mechanism = RandomizedResponse.design(Budget.parse("1"), categories=categories)
            counts = np.random.default_rng(categories).multinomial(5_000, np.full(categories, 1 / categories))
            fast = Frequency().estimate(_aggregate(mechanism, counts), "c")
            slow = Frequency().estimate(_aggregate(_channel(mechanism), counts), "c")
            np.testing.assert_allclose(fast.raw, slow.raw, atol=1e-12)
            np.testing.assert_allclose(fast.covariance, slow.covariance, atol=1e-15)
            np.testing.assert_allclose(fast.standard_errors, slow.standard_errors, rtol=1e-9)


def test_moments_of_scores_are_those_of_clients_one_by_one():
    """Three categories and scores of three kinds: enumerate the true category and the report."""
    scores = np.array([[3.0, -1, 0], [0, 3, -1], [-1, 0, 3]])  # (reports, categories)
    law = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])  # (true, reports)
    mean, square = law @ scores, law @ scores**2
    moments = [np.mean(np.diag(a)) for a in (mean, square)]
    other = [np.mean(a[~np.eye(3, dtype=bool)]) for a in (mean, square)]
    # make it symmetric in the categories by averaging over the mirrored score, as a client tossing a coin would
    mirrored = scores.T
    true_cross = np.mean([np.einsum("z,z,z->", law[0], s[:, 0], s[:, b]) for s in (scores, mirrored) for b in (1, 2)])
    other_cross = np.mean([np.einsum("z,z,z->", law[0], s[:, 1], s[:, 2]) for s in (scores, mirrored)])
    model = ScoreSums(3, moments[0], other[0], moments[1], other[1], true_cross, other_cross)
    truth = np.array([0.5, 0.3, 0.2])
    own, shared, weights = model.covariance(truth, 1)
    stated = np.diag(own) + shared.T @ weights @ shared
    second = np.zeros((3, 3))
    for s in (scores, mirrored):
        second += 0.5 * np.einsum("x,xz,za,zb->ab", truth, law, s, s)
    centre = truth @ (law @ (scores + mirrored) / 2)
    np.testing.assert_allclose(stated, (second - np.outer(centre, centre)) / float(model.contrast) ** 2, atol=1e-12)
    np.testing.assert_allclose(np.diag(stated), model.variance(truth), atol=1e-12)


def test_an_interval_ends_where_the_truth_would_be_the_deviations_away():
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=5)
    model, n, z = mechanism.model(), 800, 2.5
    raw = np.array([-0.08, 0.0, 0.02, 0.4, 0.66])
    low, high = model.score_interval(raw, n, z)
    for end in (low, high):
        np.testing.assert_allclose(np.abs(raw - end), z * np.sqrt(model.variance(end, n)), rtol=1e-9)
    assert np.all((low < raw) & (raw < high))


FORCED = RandomizedResponse.design(
    Budget.parse("ln 5"), categories=2
)  # yes and no are forced with probability 1/6 each


@pytest.mark.parametrize("described", [lambda mechanism: mechanism, _channel], ids=["score sums", "channel"])
def test_ends_of_a_share_move_without_a_jump_as_answers_do(described):
    """From 0 to 100 of 100 who said yes: of fewer than a sixth the unbiased share is negative."""
    mechanism = described(FORCED)
    found = [Frequency().estimate(_aggregate(mechanism, [yes, 100 - yes]), "c") for yes in range(101)]
    low, high, raw = (np.array([getattr(each, name)[0] for each in found]) for name in ("low", "high", "raw"))
    step = 0.01 / (5 / 6 - 1 / 6)
    for ends in (high, low):
        moved = np.diff(ends)
        assert np.all((moved >= 0) & (moved < 1.5 * step))
    assert np.all(np.diff(high[raw < 0]) > 0)
    one_sided = np.clip([[end[0] for end in each.interval(0.9)] for each in found], 0, 1)
    assert np.all((low <= one_sided[:, 0]) & (high >= one_sided[:, 1]) & (high > low))


def test_intervals_of_small_shares_cover_by_enumeration_and_are_hardly_longer():
    n, said = 100, np.arange(101)
    found = [Frequency().estimate(_aggregate(FORCED, [yes, n - yes]), "c") for yes in said]
    low, high = (np.array([getattr(each, name)[0] for each in found]) for name in ("low", "high"))
    uncut = np.clip([[end[0] for end in each.interval()] for each in found], 0, 1)
    for share in (0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.3):
        chances = stats.binom.pmf(said, n, 1 / 6 + share * 2 / 3)
        assert chances @ ((low <= share) & (share <= high)) >= 0.93  # .937 at least, of Wilson's interval at .2
        assert chances @ (high - low) <= 1.1 * (chances @ (uncut[:, 1] - uncut[:, 0]))


@pytest.mark.parametrize("room", [0, 0.3, 1, 1.5, 1.9, 3])
@pytest.mark.parametrize("bound", [0, 1])
def test_intervals_of_normal_estimates_cover_with_their_confidence_at_any_distance_from_a_bound(bound, room):
    error, at = 0.01, np.linspace(-6, 6, 60_001)
    share = abs(bound - room * error)
    intervals = NormalIntervals(share + at * error, np.full(len(at), error))
    low, high = within_bounds(intervals, intervals.raw, 0.95)
    density = stats.norm.pdf(at)
    assert density @ ((low <= share) & (share <= high)) / density.sum() == pytest.approx(0.95, abs=2e-4)


@pytest.mark.parametrize(("epsilon", "k", "n"), [("4", 1000, 2000), ("4", 60, 300)])
def test_intervals_of_shares_that_few_reports_have_cover(epsilon, k, n):
    """The noise counts 2 to 3 reports a category: skewed.  Without the skewness the least coverage is .90."""
    model = RandomizedResponse.design(Budget.parse(epsilon), categories=k).model()
    intervals = ScoreIntervals(model, model.frequencies(np.arange(n + 1), n), n)
    low, high = within_bounds(intervals, intervals.raw, 0.95)
    shares = np.append(0.0, np.geomspace(1e-4, 0.5, 100))
    chances = stats.binom.pmf(np.arange(n + 1), n, model.means(shares)[:, None])
    coverage = (chances * ((low <= shares[:, None]) & (shares[:, None] <= high))).sum(axis=1)
    assert coverage.min() >= 0.92
    assert 0.945 <= coverage.mean() <= 0.96  # a single threshold: .956 to .967


def test_simultaneous_intervals_contain_an_estimate_far_from_the_unbiased_shares():
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=8)
    estimate = Frequency().estimate(_aggregate(mechanism, [900, 500, 400, 300, 300, 200, 100, 100]), "c")
    frame = replace(estimate, values=np.eye(8)[7]).to_frame()
    assert frame["simultaneous_low"][0] == 0.0 < estimate.simultaneous()[0][0]
    assert frame["simultaneous_high"][7] == 1.0 > estimate.simultaneous()[1][7]


def test_simultaneous_intervals_are_wider_and_hold_more():
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=8)
    estimate = Frequency().estimate(_aggregate(mechanism, [900, 500, 400, 300, 300, 200, 100, 100]), "c")
    pointwise, together = estimate.interval(), estimate.simultaneous()
    assert np.all(together[0] <= np.clip(pointwise[0], 0, 1))
    assert np.all(together[1] >= np.clip(pointwise[1], 0, 1))
    score = within_bounds(estimate.intervals, estimate.raw, 0.95 ** (1 / 8))
    each, (of_said, of_others) = (
        0.95 ** (1 / 8),
        (float(mechanism.model().true_mean), float(mechanism.model().other_mean)),
    )
    exact = [stats.binomtest(said, 2800).proportion_ci(each) for said in (900, 500, 400, 300, 300, 200, 100, 100)]
    ends = np.clip((np.array([(end.low, end.high) for end in exact]).T - of_others) / (of_said - of_others), 0, 1)
    np.testing.assert_allclose(together[0], np.minimum(score[0], ends[0]), atol=1e-4)
    np.testing.assert_allclose(together[1], np.maximum(score[1], ends[1]), atol=1e-4)


def test_simultaneous_intervals_of_few_clients_at_a_large_epsilon_cover_together():
    """The score test's cover all 2,000 shares of 200 clients in fewer than half of the rounds."""
    k, n, rounds = 2_000, 200, 30
    model, random = RandomizedResponse.design(Budget.parse("7"), categories=k).model(), np.random.default_rng(51)
    found = {"exact": 0, "score": 0}
    for _ in range(rounds):
        mechanism_sums = random.multinomial(n, model.means(np.full(k, 1 / k)))
        intervals = ScoreIntervals(model, model.frequencies(mechanism_sums, n), n)
        pairs = {
            "exact": intervals.simultaneous(0.95),
            "score": within_bounds(intervals, intervals.raw, 0.95 ** (1 / k)),
        }
        for name, (low, high) in pairs.items():
            found[name] += bool(np.all((low <= 1 / k) & (1 / k <= high)))
    assert found["exact"] >= 0.9 * rounds > 2 * found["score"]


def test_ten_thousand_categories_need_no_square_matrix():
    k = 10_000
    mechanism = RandomizedResponse.design(Budget.parse("4"), categories=k)
    counts = mechanism.simulate(np.bincount([0, 1, 1, 7], minlength=k) * 250_000, seeded(1))
    estimate = Frequency().estimate(_aggregate(mechanism, counts, tuple(range(k))), "c")
    assert estimate["c1"] == pytest.approx(0.5, abs=0.02)
    assert estimate.spread.shared.size == 2 * k
    mean = estimate.functional(Mean())
    assert abs(mean.value - 2.25) < 5 * mean.standard_error
    low, high = estimate.simultaneous()
    assert low[1] < 0.5 < high[1]
    assert low[3] == 0.0 <= high[3]


def test_values_are_frequencies_and_intervals_hold_them():
    mechanism = RandomizedResponse.design(Budget.parse("0.2"), categories=5)
    estimate = Frequency().estimate(_aggregate(mechanism, [2, 30, 3, 4, 1]), "c")
    assert estimate.values.min() >= 0
    assert estimate.values.sum() == pytest.approx(1, abs=1e-15)
    assert estimate.raw.min() < 0  # so that the projection had something to do
    assert np.all((estimate.low >= 0) & (estimate.low <= estimate.values))
    assert np.all((estimate.values <= estimate.high) & (estimate.high <= 1))
    frame = estimate.to_frame()
    simultaneous = ["simultaneous_low", "simultaneous_high"]
    assert list(frame) == ["category", "estimate", "standard_error", "confidence", "low", "high", *simultaneous]
    assert np.all((frame[simultaneous[0]] <= frame["low"]) & (frame["high"] <= frame[simultaneous[1]]))
    assert len(frame) == 5


def test_an_interval_beyond_what_is_possible_ends_where_the_test_against_the_bound_rejects():
    """Cut at zero it would have a length of nothing, which reads as certainty."""
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=3)
    estimate = Frequency().estimate(_aggregate(mechanism, [60, 40, 3]), "c")
    uncut, raw = estimate.interval(0.95)[1][2], estimate.raw[2]
    assert uncut < 0
    assert (estimate.values[2], estimate.low[2]) == (0, 0)
    end, model = estimate.high[2], mechanism.model()
    ratio = (raw - end) ** 2 / model.variance(end, 103) - raw**2 / model.variance(0.0, 103)
    room, skewness = end / np.sqrt(model.variance(end, 103)), stats.binom(103, model.means(end)).stats("s")
    assert level_within_bounds(np.sqrt(ratio), room, skewness) == pytest.approx(0.95)
    assert stats.norm.ppf(0.95) ** 2 < ratio < stats.norm.ppf(0.975) ** 2


def test_functionals_of_numbered_categories():
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=3)
    truth, numbers = np.array([0.5, 0.3, 0.2]), (0.0, 1.0, 2.5)
    counts = 10_000 * mechanism.model().means(truth)
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
    wave = _channel(RandomizedResponse.design(Budget.parse("1"), categories=2)).model().levels[0]
    two = SimpleNamespace(name="two", model=lambda: FiniteChannel((wave, wave), np.array([0.5, 0.5])))
    alike = ScoreSums(3, *[Fraction(1, 3)] * 4, Fraction(0), Fraction(0))
    assert alike.variance(0.0) == np.inf
    mute = SimpleNamespace(name="mute", model=lambda: alike)
    with pytest.raises(NotEstimable, match="raise its epsilon"):
        Frequency().estimate(_aggregate(mute, [1, 2, 3]), "c")
    with pytest.raises(SchemeError, match="consistency"):
        Frequency(consistency="smooth")
    with pytest.raises(SchemeError, match="one level"):
        Frequency().estimate(_aggregate(two, [1, 2]), "c")


def test_no_representation_shows_a_frequency():
    mechanism = RandomizedResponse.design(Budget.parse("1"), categories=2)
    estimate = Frequency().estimate(_aggregate(mechanism, [613, 387]), "c")
    assert f"{estimate.values[0]:.3f}" not in repr(estimate)


def test_the_simplex_projection_is_nearest(subtests):
    for seed in range(20):
        with subtests.test(seed=seed):
            rng = np.random.default_rng(seed)
            values = rng.normal(size=rng.integers(2, 9))
            projected = project_simplex(values)
            assert projected.min() >= 0
            assert projected.sum() == pytest.approx(1, abs=1e-15)
            for other in rng.dirichlet(np.ones(len(values)), size=200):  # obtuse angle to every frequency vector
                assert (values - projected) @ (other - projected) <= 1e-12


def test_cumulative_frequencies_are_the_nearest_nondecreasing_ones(subtests):
    for seed in range(20):
        with subtests.test(seed=seed):
            rng = np.random.default_rng(seed)
            values = rng.normal(size=rng.integers(2, 9))
            projected = project_cumulative(values)
            assert projected.min() >= 0
            assert projected.sum() == pytest.approx(1, abs=1e-15)
            raw, near = np.cumsum(values)[:-1], np.cumsum(projected)[:-1]
            for other in rng.dirichlet(np.ones(len(values)), size=200):
                assert (raw - near) @ (np.cumsum(other)[:-1] - near) <= 1e-12
            truth = rng.dirichlet(np.ones(len(values)))
            np.testing.assert_allclose(project_cumulative(truth), truth, atol=1e-15)


def test_ordered_categories_may_be_made_consistent_in_order():
    mechanism = RandomizedResponse.design(Budget.parse("0.2"), categories=5)
    estimate = Frequency(consistency="isotonic").estimate(_aggregate(mechanism, [190, 230, 210, 170, 200]), "c")
    np.testing.assert_allclose(estimate.values, project_cumulative(estimate.raw))
    assert not np.allclose(estimate.values, project_simplex(estimate.raw))
