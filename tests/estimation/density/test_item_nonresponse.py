"""Densities of numbers that may have no answer: the share of the silent, and everything else of those who answered."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density.densities import cell_masses
from dpcore.estimation.density.item_nonresponse import Answers
from dpcore.estimation.inference.confidence_bands import massless
from dpcore.functionals import Cdf, Mean, Quantile
from dpcore.mechanisms.bases import bspline
from dpcore.protocol.aggregates import Aggregate
from dpcore.results.tables.round_tables import tables_of
from tests.helpers.cases import of_each_kind

LAW = beta(2, 5)
NUMBERS = {Mean(): LAW.mean(), Cdf(0.3): LAW.cdf(0.3), Quantile(0.5): LAW.ppf(0.5)}
ASKED = '[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\nmissing = "category"\n'


def scheme(more: str = "") -> dp.Scheme:
    return dp.Scheme.from_toml(f'name = "s"\nclients = 100000\n{ASKED}{more}')


SCHEME = scheme()
SMALL = scheme("cells = 16\n")  # whose means take a fifth of the time


def people(n: int, silent: float, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    x = LAW.rvs(n, random_state=generator)
    x[generator.random(n) < silent] = np.nan
    return x


def aggregate(silent: float, seed: int = 0, n: int = 100_000, of: dp.Scheme = SCHEME) -> Any:
    return dp.simulate(of, {"x": people(n, silent, seed)}, dp.seeded(seed + 1))


@cache
def of_few() -> Any:
    """An aggregate of which two in five answered, and its estimate."""
    reports = aggregate(0.6, 5, of=SMALL)
    return reports, dp.estimate(reports, "x")


@pytest.mark.parametrize(
    ("name", "silent"),
    of_each_kind(product(["dyadic_wave", "square_wave"], [0.02, 0.6]), ("square_wave", 0.02)),
)
def test_the_share_and_the_numbers_of_those_who_answered_are_found(name: str, silent: float) -> None:
    estimate = dp.estimate(aggregate(silent, 3, of=scheme(f'mechanism = "{name}"\n')), "x")
    share = estimate.silence
    assert share.categories == ("missing",)
    assert abs(share.raw[0] - silent) < 5 * share.standard_errors[0]
    assert 1.0 < share.standard_errors[0] * 100_000**0.5 < 2.5
    for functional, true in NUMBERS.items():
        found = estimate.functional(functional)
        assert abs(found.value - true) < 5 * found.standard_error
    assert estimate.fit.passed
    (low, high), true = estimate.cdf_band(np.array([0.1, 0.3])), LAW.cdf([0.1, 0.3])
    assert np.all(np.abs(true - (low + high) / 2) < 2.5 * (high - low) / 2)  # five standard errors
    assert estimate.curve_sensitivity(np.array([0.3]))[0] > 0


def test_the_share_is_unbiased_whatever_the_law_in_its_span_is() -> None:
    model = SCHEME.attributes["x"].mechanism.model()
    answers = Answers(model, aggregate(0.3).statistics["x"])
    cells = np.diff(LAW.cdf(np.linspace(0, 1, 385)))
    silence, near = answers.estimate(0.3, cells), answers.likelihood(0.3)
    other = cells + 0.01 * (
        cell_masses(constants.DEGREE, constants.COARSEST_LEVEL, 384)
        @ massless(bspline.integrals(constants.DEGREE, constants.COARSEST_LEVEL))
    ) @ np.random.default_rng(2).normal(size=18)
    moved = answers.likelihood(0.32).expected(cells) - near.expected(cells)
    assert silence.weights @ moved == pytest.approx(0.02)
    assert silence.weights @ (near.expected(other) - near.expected(cells)) == pytest.approx(0, abs=1e-9)
    # of so many reports, multinomial within each level
    spread = sum(
        (part**2 @ p - (part @ p) ** 2) / n
        for part, p, n in zip(
            model.split(silence.weights), model.split(near.expected(cells)), model.reports(near.counts), strict=True
        )
    )
    assert silence.error == pytest.approx(spread**0.5, rel=1e-3)


def test_errors_hold_that_of_the_share_and_grow_as_fewer_answer() -> None:
    """Numbers move with the share as they do where all is fitted again with another one."""
    reports, estimate = of_few()
    inference: Any = estimate.inference
    step = inference.silence.error
    again = [_with_share(reports, inference.silence.share + by).inference for by in (-step, step)]
    for functional in NUMBERS:
        found, known = estimate.functional(functional), inference.base.estimate(functional, 0.95)
        low, high = (each.estimate(functional, 0.95).value for each in again)
        along = abs(high - low) / 2
        assert found.standard_error == pytest.approx(np.hypot(known.standard_error, along), rel=0.05)
        most = np.hypot(known.high - known.low, 2 * 1.96 * along)
        assert found.high - found.low == pytest.approx(most, rel=0.1)
    everybody = dp.estimate(aggregate(0.0, 5, of=SMALL), "x").functional(Mean())
    assert estimate.functional(Mean()).standard_error / everybody.standard_error == pytest.approx(2.5, rel=0.15)


def _with_share(reports: Any, share: float) -> Any:
    answers = Answers(SMALL.attributes["x"].mechanism.model(), reports.statistics["x"])
    return dp.LogSpline()._estimate(SMALL.attributes["x"], answers.likelihood(share), None)


def test_influences_say_what_one_report_does_by_way_of_the_share_too() -> None:
    """A number moves as they say when the counts do."""
    before, estimate = of_few()
    more = dp.simulate(SMALL, {"x": np.full(1500, np.nan)}, dp.seeded(9))
    after = before.merge(more)
    estimate_after = dp.estimate(after, "x")
    model = SMALL.attributes["x"].mechanism.model()
    shares = [
        np.concatenate([part / part.sum() for part in model.split(each.statistics["x"])]) for each in (before, after)
    ]
    for functional in (Mean(), Cdf(0.3)):
        weights, _ = estimate.inference.influence(functional)
        moved = estimate_after.functional(functional).value - estimate.functional(functional).value
        assert abs(moved - weights @ (shares[1] - shares[0])) < 0.15 * estimate.functional(functional).standard_error


def test_where_hardly_anyone_answered_the_share_is_told_and_nothing_else() -> None:
    estimate = dp.estimate(aggregate(1.0, n=5000, of=SMALL), "x")
    assert estimate.silence.values[0] > 0.97
    found = estimate.functional(Mean())
    assert found.is_refused
    assert "the response rate is within" in found.reason


def test_what_lands_is_the_density_and_one_share() -> None:
    from dpcore.pipeline import estimate_all

    tables = tables_of(estimate_all(aggregate(0.2, of=SMALL)))
    shares = tables["frequencies"]
    assert list(shares["category"]) == ["missing"]
    assert abs(shares["raw"][0] - 0.2) < 5 * shares["standard_error"][0]
    assert list(tables["categories"]["category"]) == ["missing"]
    assert set(tables["functionals"]["functional"]) == {"mean", "quantile(0.5)"}


def test_what_could_not_be_read_is_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for more, words in [
        ('mechanism = "wavelet_laplace"\n', "needs mechanism = dyadic_wave or square_wave, got wavelet_laplace"),
        ("degree = 2\n", "needs mechanism = dyadic_wave or square_wave, got wavelet_laplace"),
        ('estimator = "ems"\n', 'estimator = "log_spline", got "ems"'),
        ('mechanism = "square_wave"\ncells = 4\n', "needs 8 input cells"),
        ('codes = { 9 = "none" }\n', "may only declare nonresponse"),
    ]:
        with subtests.test(more=more, words=words):
            with pytest.raises(SchemeError) as refused:
                scheme(more)
            assert words in str(refused.value)
            assert "\n" not in str(refused.value)


def test_groups_are_of_a_number_that_everybody_gives() -> None:
    other = '[attributes.b]\ntype = "categorical"\ncategories = ["x", "y"]\nepsilon = 1\n'
    asked = dp.Scheme.from_toml(f'name = "s"\npairs = [["x", "b"]]\n{ASKED}{other}')
    assert asked.grouped == ()
    with pytest.raises(SchemeError, match="every client reports"):
        dp.estimate(Aggregate.zero(asked), "x", given="b")


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("silent", [0.02, 0.2, 0.6])
def test_intervals_hold_as_often_as_they_say(silent: float) -> None:
    rounds, held = 200, dict.fromkeys(("share", *map(str, NUMBERS)), 0)
    for seed in range(rounds):
        estimate = dp.estimate(aggregate(silent, 1000 + seed), "x")
        low, high = estimate.silence.interval()
        held["share"] += int(low[0] <= silent <= high[0])
        for functional, true in NUMBERS.items():
            found = estimate.functional(functional)
            held[str(functional)] += int(found.low <= true <= found.high)
    for name, count in held.items():
        assert count / rounds >= 0.89, name  # of .95, four standard deviations
