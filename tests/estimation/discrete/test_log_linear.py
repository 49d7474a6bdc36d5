"""The law of points: found through every mechanism that fits, with errors that are neither too small nor too large."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.discrete.log_linear import LogLinear, _gain
from dpcore.estimation.discrete.log_linear_average import Average, average, fit
from dpcore.estimation.discrete.log_linear_family import Belief, Family, kinds, slope
from dpcore.functionals import Cdf, Mean, Probability, Quantile, Variance
from dpcore.mechanisms.fisher_information import Information, SeenThrough
from dpcore.mechanisms.registry import BY_KIND
from tests.helpers.statistical import MISSED, MISSED_BY_DAY, draws_for_variance, mean_agrees, variance_agrees

LAW = np.array([0.05, 0.3, 0.2, 0.25, 0.02, 0.18])
POINTS = np.array([0.0, 1, 2, 3, 4, 5])
SILENT_SHARE = 0.3
STUDY = pytest.mark.nightly("a study")


def scheme(name: str = "auto", epsilon: float = 2, more: str = "") -> dp.Scheme:
    said = f'mechanism = "{name}"\nlower = 0\nupper = 5\nstep = 1\nepsilon = {epsilon}\n{more}'
    return dp.Scheme.from_toml(f'name = "s"\n[attributes.a]\ntype = "numeric"\n{said}')


@cache
def many(silent: float) -> dict[str, Any]:
    return people(400_000, np.random.default_rng(1), silent)


def people(n: int, random: np.random.Generator, silent: float = 0.0) -> dict[str, Any]:
    values = random.choice(POINTS, n, p=LAW)
    return {"a": np.where(random.random(n) < silent, np.nan, values)}


def test_every_mechanism_that_fits_gives_the_law(subtests: pytest.Subtests) -> None:
    for name in BY_KIND["lattice"]:
        for more in ["", 'missing = "category"\n'] if name in ("dyadic_wave", "local_hashing", "stated") else [""]:
            with subtests.test(name=name, more=more):
                silent = SILENT_SHARE if more else 0.0
                asked = scheme(name, 2, more)
                found = dp.estimate(dp.simulate(asked, many(silent), dp.seeded(2)), "a")
                truth = np.append(LAW * (1 - silent), [silent] if more else [])
                assert found.values.sum() == pytest.approx(1)
                assert np.all(np.abs(found.raw - truth) <= 5 * found.standard_errors)
                assert np.all(found.standard_errors < 0.02)
                for functional in (Mean(), Cdf(2), Probability(1, 3), Variance(), Quantile(0.5)):
                    result, true = found.functional(functional), functional.of_probabilities(LAW, POINTS)
                    assert result.standard_error is not None
                    assert abs(result.value - true) <= 5 * result.standard_error
                assert found.functional(Quantile(0.5)).value == 2


def test_of_much_data_an_oracles_errors_are_those_of_its_unbiased_frequencies(subtests: pytest.Subtests) -> None:
    for name in ["subset_selection", "hadamard_response"]:
        with subtests.test(name=name):
            asked, n = scheme(name, 2), 1_000_000
            found = dp.estimate(dp.simulate(asked, people(n, np.random.default_rng(1)), dp.seeded(2)), "a")
            own, shared, weights = asked.attributes["a"].mechanism.model().covariance(found.values, n)
            exact = np.diag(own) + shared.T @ weights @ shared
            centred = POINTS - POINTS.mean()
            assert found.spread.along(centred) == pytest.approx(centred @ exact @ centred, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "missed"),
    [
        ("dyadic_wave", MISSED_BY_DAY),
        *(pytest.param(name, MISSED, marks=STUDY) for name in ("subset_selection", "dyadic_wave")),
    ],
)
def test_errors_are_those_that_are_told(name: str, missed: float) -> None:
    """The errors of a mean and of silence, made independent by the covariance that is told, have variance one.

    And not 1.69: a scale off by 30 % is rejected, by day (230 fits) but once in a thousand times, at night (327) in a million.
    """
    asked, truth = scheme(name, 1, 'missing = "category"\n'), np.array([LAW @ POINTS, 0.2])
    errors = []
    for seed in range(math.ceil(draws_for_variance(1.3**2, missed=missed) / 2)):
        records = people(20_000, np.random.default_rng(seed), truth[1])
        found = dp.estimate(dp.simulate(asked, records, dp.seeded(seed)), "a")
        both = np.array([found.functional(Mean()).value, found.raw[-1]])
        moved = np.stack([np.append(POINTS - both[0], 0) / (1 - both[1]), np.eye(7)[-1]])
        errors.append(np.linalg.solve(np.linalg.cholesky(moved @ found.covariance @ moved.T), both - truth))
    scores = np.concatenate(errors)
    assert mean_agrees(scores, 0.0)
    assert variance_agrees(scores, 1.0)
    assert not variance_agrees(1.3 * scores, 1.0)


def test_information_is_the_curvature_of_the_likelihood() -> None:
    """Of a wave's counts: against second differences of the multinomial likelihood, at the law itself."""
    a = scheme("dyadic_wave", 1).attributes["a"]
    seen = SeenThrough(a.mechanism.model(), a.cells)
    statistics = a.mechanism.statistics(a.mechanism.privatize(np.repeat(a.cells, 3000), dp.seeded(1)))
    law = np.full(6, 1 / 6)
    rows = np.repeat(seen.model.reports(statistics), [level.outputs for level in seen.model.levels])

    def likelihood(p: np.ndarray) -> float:
        return float(np.sum(rows * (seen.channel @ law) * np.log(seen.channel @ p)))  # counts as they are expected

    matrix = seen.observed(statistics, 18_000, law).matrix
    for i, j in product(range(6), repeat=2):
        e, f = 1e-4 * np.eye(6)[i], 1e-4 * np.eye(6)[j]
        second = likelihood(law + e + f) - likelihood(law + e - f) - likelihood(law - e + f) + likelihood(law - e - f)
        assert second / 4e-8 == pytest.approx(-matrix[i, j], rel=1e-3)


def known(law: np.ndarray, n: float) -> Information:
    """What n answers in clear would say: the multinomial's information at the law."""
    matrix = n * np.diag(1 / np.maximum(law, 1e-9))
    return Information(matrix, matrix @ law)


def test_heaps_and_free_laws_are_found_where_they_are() -> None:
    points = np.arange(41.0)
    smooth = np.exp(-((points - 18) ** 2) / 200)
    rounded = np.where(points % 10 == 0, 4.0, np.where(points % 5 == 0, 2.0, 1.0))
    odd = np.random.default_rng(0).dirichlet(np.full(41, 0.7))
    for law, heaps, free in ((smooth, False, False), (smooth * rounded, True, False), (odd, None, True)):
        law = law / law.sum()
        found = average(Family(points), lambda _, law=law: known(law, 2000))
        beliefs = found.beliefs
        assert np.abs(found.law - law).max() < 0.05
        assert not any(belief.multiples or belief.alone for weight, belief in beliefs if weight > 0.1)
        if heaps is not None:
            assert (sum(weight for weight, belief in beliefs if belief.heaps) > 0.9) is heaps
        assert (sum(weight for weight, belief in beliefs if belief.free >= 0.3) > 0.9) is free


@pytest.mark.parametrize(("at", "multiples", "alone"), [(range(0, 61, 12), (12.0,), ()), ([7], (), (7.0,))])
def test_other_multiples_and_single_values_that_stand_out_are_found(at: Any, multiples: Any, alone: Any) -> None:
    points = np.arange(61.0)
    law = np.exp(-((points - 25) ** 2) / 300)
    law[at] *= 8
    law /= law.sum()
    information = known(law, 2000)
    beliefs = average(Family(points), lambda _: information).beliefs
    assert sum(weight for weight, belief in beliefs if (belief.multiples, belief.alone) == (multiples, alone)) > 0.9
    if multiples:  # a scheme that says which are rounded to
        assert all(belief.heaps for _, belief in average(Family(points, False, (12.0,)), lambda _: information).beliefs)
        assert not any(
            belief.heaps or belief.multiples
            for _, belief in average(Family(points, False, ()), lambda _: information).beliefs
        )


def test_what_a_law_was_found_to_be_is_said() -> None:
    smooth, round_, free = Belief(2, 1.0), Belief(2, 1.0, heaps=1.0), Belief(2, 1.0, free=0.3)
    dozens = Belief(2, 1.0, multiples=(12.0,), alone=(7.0,), free=0.1)
    said = {kind: (weight, text) for kind, weight, text in kinds([(0.95, dozens), (0.05, round_)])}
    assert said["heaped"] == (pytest.approx(1), "heaps at multiples of 12 and 7 were found")
    assert said["free"] == (0.95, "values have shares of their own")
    assert [text for *_, text in kinds([(0.95, smooth), (0.05, free)])] == [
        "no heaps were found",
        "the law is smooth beside its heaps",
    ]
    open_ = [text for *_, text in kinds([(0.5, round_), (0.5, free)])]
    assert open_[0] == "reports leave open whether round numbers have heaps, and laws of both kinds are averaged"
    assert "open whether the law is smooth" in open_[1]


def test_corrections_do_not_assume_what_beliefs_do_not_agree_on() -> None:
    """Where reports say nothing, the law may differ by twice as much more as beliefs do."""
    family, apart, nothing = Family(POINTS), np.array([[0.1, 0, 0, -0.1, 0, 0]]), np.zeros((6, 6))
    alike, unlike = (_gain(family, Average(LAW, [], each), nothing) for each in (0 * apart, apart))
    assert unlike - alike == pytest.approx(4 * apart.T @ apart)


def test_the_mode_is_where_nothing_pulls(subtests: pytest.Subtests) -> None:
    """Of all six points, and of two numbers of them, whose Newton steps are taken in two dimensions."""
    for told in [6, 2]:
        with subtests.test(told=told):
            seen = np.random.default_rng(1).random((6, 6))[:told]
            family, clear = Family(POINTS), seen.T @ known(seen @ LAW, 500).matrix @ seen
            information = Information(clear, clear @ LAW)
            assert information.root.shape == (told, 6)
            belief = Belief(2, 0.1, free=0.3)
            mode, columns = fit(family, belief, information), family.columns(belief)
            moved = slope(columns, mode.law)
            pull, curvature = moved.T @ information.score(mode.law) - mode.coordinates, moved.T @ clear @ moved
            curvature += np.eye(len(pull))
            assert pull @ np.linalg.solve(curvature, pull) < 1e-2
            left = information.numbers - information.root @ mode.law
            determinant = np.linalg.slogdet(curvature)[1]
            exact = -(left @ left + mode.coordinates @ mode.coordinates + determinant) / 2
            assert mode.evidence == pytest.approx(exact, abs=0.05)
            assert told < 6 or mode.evidence > fit(family, Belief(1, 100.0), information).evidence


def test_a_quantile_is_the_least_value_that_so_many_do_not_exceed(subtests: pytest.Subtests) -> None:
    for t, least in [(0.05, 0), (0.051, 1), (0.35, 1), (0.36, 2), (0.98, 5)]:
        with subtests.test(t=t, least=least):
            assert Quantile(t).of_probabilities(LAW, POINTS) == least
            assert Quantile(t).of_probabilities(LAW[::-1], POINTS[::-1]) == least


def test_what_it_does_not_read_is_refused() -> None:
    plain = dp.Scheme.from_toml('name = "s"\n[attributes.a]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n')
    aggregate = dp.simulate(plain, {"a": np.zeros(100)}, dp.seeded(1))
    with pytest.raises(SchemeError, match="needs an attribute with support points"):
        dp.estimate(aggregate, "a", LogLinear())
    with pytest.raises(NotEstimable, match="no report"):
        dp.estimate(dp.aggregate(scheme()), "a")


def test_no_report_moves_a_number_further_than_is_told() -> None:
    asked = scheme("dyadic_wave", 1)
    mechanism = asked.attributes["a"].mechanism
    aggregate = dp.simulate(asked, people(50_000, np.random.default_rng(1)), dp.seeded(1))
    found = dp.estimate(aggregate, "a")
    bound = found.sensitivity(Mean())
    assert bound is not None
    assert not bound.is_exact
    before = found.functional(Mean()).value
    lies = mechanism.statistics(mechanism.furthest(found.exposure.reading.T @ POINTS, 1))
    statistics = {"a": aggregate.statistics["a"] + 50 * lies}
    lied = dp.estimate(type(aggregate)(asked, 50_000 + 50 * 4, statistics, {}, {"a": 50_000 + 50 * 4}), "a")
    moved = lied.functional(Mean()).value - before
    assert 0 < moved < 1.5 * bound.bias(200 / 50_200)


def test_numbers_of_those_who_answered_are_refused_where_hardly_anyone_did(subtests: pytest.Subtests) -> None:
    """They are divided by a share that is zero but for noise, and below it as often as not."""
    for name in ["randomized_response", "dyadic_wave"]:
        with subtests.test(name=name):
            asked = scheme(name, 2, 'missing = "category"\n')
            for seed in range(2):  # a share at zero falls to either side
                found = dp.estimate(
                    dp.simulate(asked, people(5000, np.random.default_rng(seed), 1.0), dp.seeded(seed)), "a"
                )
                assert found["missing"] > 0.9
                for functional in (Mean(), Quantile(0.5), Cdf(2)):
                    result = found.functional(functional)
                    assert result.is_refused
                    assert "the response rate of" in result.reason
                    assert found.sensitivity(functional) is None
            half = dp.estimate(dp.simulate(asked, people(5000, np.random.default_rng(1), 0.5), dp.seeded(1)), "a")
            assert not half.functional(Mean()).is_refused


def test_points_that_nobody_reports_do_not_bias_the_mean() -> None:
    """33 of 41 points are empty: what a smooth prior leaves on each biased the mean by 1.0 standard errors on average."""
    points, shares = np.array([1.0, 2, 3, 5, 8, 13, 21, 34]), [0.2, 0.18, 0.16, 0.14, 0.12, 0.1, 0.06, 0.04]
    scheme = dp.Scheme.from_toml(
        'name = "s"\nclients = 100_000\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 40\nstep = 1\nepsilon = 4\n'
    )
    errors = []
    for seed in range(6):
        values = np.random.default_rng(seed).choice(points, 100_000, p=shares)
        found = dp.estimate(dp.simulate(scheme, {"x": values}, dp.seeded([seed, 1])), "x").functional(Mean())
        errors.append((found.value - points @ shares) / found.standard_error)
    assert abs(np.mean(errors)) < 0.7
