"""Two rounds read at once: ranges are a level of the channel of the wave, and what does not fit is refused in a line."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dpcore as dp
from dpcore._random import seeded
from dpcore.errors import DPCoreError, NotEstimable
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate, refused
from dpcore.estimation.inference import two_rounds
from dpcore.functionals import Cdf, Quantile
from dpcore.laboratory.studies.targets.densities import target
from tests.estimation.inference.test_two_rounds_coverage import answered, ranges, scheme, wave

LAW = target("beta_2_5")


@cache
def first(n: int = 50_000, seed: int = 1) -> dp.Aggregate:
    return dp.simulate(wave(n), LAW, seeded((40, seed)), n)


@cache
def first_estimate(n: int = 50_000) -> DensityEstimate:
    return dp.estimate(first(n), "x")


@cache
def combined(n: int) -> DensityEstimate:
    """With n people who were asked on which side of .265 they are."""
    return two_rounds.combine(first(), answered(ranges("0.265", n), LAW, n, 1), "x")


def test_a_level_says_what_people_of_the_law_would(subtests: pytest.Subtests) -> None:
    """A slow twin: each person's number, the range that the scheme reads it in, and randomized response of that."""
    for edges in ["0.25", "0.1, 0.25, 0.2511", "-1, 0.7, 3"]:
        with subtests.test(edges=edges):
            numeric, question = wave(1000).attributes["x"], ranges(edges, 1000).attributes["x"]
            level = two_rounds._level(numeric, question)
            fine = 64  # people to an input cell, spread over its width
            people = (np.arange(level.inputs * fine) + 0.5) / (level.inputs * fine)
            law = LAW.cells(level.inputs)
            ones = np.eye(len(question.categories))[question.encode(people)]
            told = np.repeat(law / fine, fine) @ ones @ question.mechanism.model().response().T
            np.testing.assert_allclose(level.probabilities(law), told, atol=2e-4 if "0.2511" in edges else 1e-5)
            assert np.max(level.table.max(axis=0) / level.table.min(axis=0)) <= np.exp(
                1
            )  # never more than was promised


def test_a_share_that_was_asked_is_known_by_inverse_variances() -> None:
    """At an edge both rounds' numbers of one share, which `revision` says may be averaged, give what one likelihood does."""
    edge, n = Cdf(0.265625), 50_000
    one, other = first(n), answered(ranges("0.265625", n), LAW, n, 1)
    alone = first_estimate().functional(edge)
    said = dp.estimate(other, "x")
    numbers = np.array([alone.value, said.raw[0]])
    weights = np.array([alone.standard_error, said.standard_errors[0]]) ** -2.0
    both = two_rounds.combine(one, other, "x").functional(edge)
    assert both.standard_error == pytest.approx(weights.sum() ** -0.5, rel=0.1)
    assert both.value == pytest.approx(weights @ numbers / weights.sum(), abs=0.3 * both.standard_error)


def test_half_of_the_people_know_a_median_better_than_all_do_by_a_curve() -> None:
    both = combined(50_000)
    alone = dp.estimate(first(100_000), "x")
    assert both.functional(Quantile(0.5)).standard_error < 0.65 * alone.functional(Quantile(0.5)).standard_error
    assert both.estimator == "two_rounds"
    assert both.n == 100_000
    assert both.fit is not None
    assert both.fit.passed


def test_who_answers_a_level_says_how_many_whatever_its_law_was_planned_as() -> None:
    """Counts of the second round alone move the curve to them, and more of them move it more."""
    few, many, at = combined(1_000), combined(50_000), Cdf(0.265)
    assert many.functional(at).standard_error < 0.4 * few.functional(at).standard_error


def test_how_far_two_rounds_are_apart_is_in_errors_of_both() -> None:
    before, other = dp.estimate(first(1_000_000), "x"), answered(ranges("0.265625", 50_000), LAW, 50_000, 1)
    share, said = before.functional(Cdf(0.265625)), dp.estimate(other, "x")
    (found,) = two_rounds.deviations(before, other, "x")
    apart = abs(said.raw[0] - share.value) / np.hypot(said.standard_errors[0], share.standard_error)
    assert found == pytest.approx(apart, rel=0.01)


def test_two_questions_of_one_column_are_both_read() -> None:
    asks = 'type = "categorical"\nepsilon = 1\nmechanism = "randomized_response"\ncolumn = "x"\nbins = '
    both = dp.Scheme.from_toml(f'name = "two"\n[attributes.low]\n{asks}[0.2]\n[attributes.high]\n{asks}[0.45]\n')
    people = {"x": seeded((3,)).generator().beta(2, 5, 50_000)}
    found = two_rounds.combine(first(), dp.aggregate(both, dp.privatize(both, people, seeded((4,)))), "x")
    for edge in (0.2, 0.45):
        alone = first_estimate().functional(Cdf(edge))
        assert found.functional(Cdf(edge)).standard_error < 0.65 * alone.standard_error


def test_two_populations_show() -> None:
    before = first_estimate()
    alike, other = (answered(ranges("0.2, 0.265", 50_000), law, 50_000, 1) for law in (LAW, target("beta_10_10")))
    assert max(two_rounds.deviations(before, alike, "x")) < 3.5
    assert min(two_rounds.deviations(before, other, "x")) > 10


def test_thresholds_are_round_and_near(subtests: pytest.Subtests) -> None:
    for value, error, round_ in [
        (0.2644, 0.006, "0.265"),
        (41_234.0, 12.0, "41235"),
        (9_234.5, 98.0, "9250"),
        (0.0, 1.0, "0"),
        (-3.3, 0.2, "-3.3"),
    ]:
        with subtests.test(value=value, error=error, round_=round_):
            numbers = {"functional": "quantile(0.5)", "confidence": 0.95, "plug_in": value, "kind": "smooth"}
            found = two_rounds.threshold(
                FunctionalEstimate(value=value, standard_error=error, low=value - error, high=value + error, **numbers)
            )
            assert found == Fraction(round_)
            assert abs(float(found) - value) <= error / 4


def test_a_quantile_that_is_not_known_is_nowhere_to_ask() -> None:
    with pytest.raises(NotEstimable, match="has no estimate in the first round: too few"):
        two_rounds.threshold(refused(Quantile(0.5), "too few", 0.95))


def test_what_has_no_curve_of_a_wave_cannot_be_followed(subtests: pytest.Subtests) -> None:
    for asks, message in [
        (
            'type = "numeric"\nlower = 0\nupper = 1\nmechanism = "wavelet_laplace"',
            "cannot be followed .* wavelet_laplace",
        ),
        (
            'type = "numeric"\nlower = 0\nupper = 1\nestimator = "em"\nmechanism = "square_wave"',
            "cannot be followed .* em",
        ),
        ('type = "numeric"\nlower = 0\nupper = 1\nmissing = "category"', "cannot be followed"),
        ('type = "numeric"\nlower = 0\nupper = 9\nstep = 1', "no number with a density"),
        ('type = "categorical"\ncategories = ["a", "b"]', "no number with a density"),
    ]:
        with subtests.test(asks=asks, message=message), pytest.raises(DPCoreError, match=f"^x .*{message}.*$"):
            two_rounds.asked(scheme(asks, 1000, "1"), "x")


def test_what_asks_for_no_ranges_is_no_second_round(subtests: pytest.Subtests) -> None:
    for asks, message in [
        ('type = "numeric"\nlower = 0\nupper = 1', "asks nobody for ranges"),
        ('type = "categorical"\nbins = [0.5]\ncolumn = "y"', "asks nobody for ranges"),
        ('type = "categorical"\nbins = [0.5]\nmissing = "category"', "asks nobody for ranges"),
        ('type = "categorical"\nbins = [0.5]\nmechanism = "unary_encoding"', "asks by randomized_response"),
    ]:
        with subtests.test(asks=asks, message=message), pytest.raises(DPCoreError, match=message):
            two_rounds.combine(first(1000), dp.Aggregate.zero(scheme(asks, 1000, "1")), "x")


def test_a_round_without_reports_is_refused() -> None:
    empty = dp.Aggregate.zero(ranges("0.5", 1000))
    with pytest.raises(NotEstimable, match="has no report"):
        two_rounds.combine(first(1000), empty, "x")
    with pytest.raises(DPCoreError, match="has no attribute 'y'"):
        two_rounds.combine(first(1000), empty, "y")
