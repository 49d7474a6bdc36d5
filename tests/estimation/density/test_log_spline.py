"""The log-spline over every mechanism that reports a number: one estimator, whatever was observed."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.density.log_spline_family import Family
from dpcore.estimation.estimators import LogSpline
from dpcore.functionals import parse
from dpcore.populations.base import Population
from dpcore.populations.distributions import Beta, CategoricalLaw, NumericLaw
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import simulate
from tests.helpers.cases import of_each_kind

LOWER, UPPER, N = 0.5, 2.5, 400_000
MECHANISMS = {
    "dyadic_wave": 'mechanism = "dyadic_wave"\ncells = 16',
    "square_wave": 'mechanism = "square_wave"',
    "spline wavelets": 'mechanism = "wavelet_laplace"\ndegree = 3\nfinest_level = 3\ncells = 128',
    "split spline wavelets": 'mechanism = "wavelet_laplace"\ndegree = 1\nallocation = "split"',
    "bior2.4": 'mechanism = "wavelet_laplace"\nbasis = "bior2.4"',
}
FUNCTIONALS = (
    "mean",
    "variance",
    "cdf(1)",
    "probability(0.75, 1.5)",
    "quantile(0.1)",
    "quantile(0.5)",
    "derivative(0, 1)",
    "integrated_square(0)",
    "entropy",
)
PEOPLE = Population(
    name="people",
    group="side",
    weights={"left": 0.6, "right": 0.4, "middle": 0.0},
    laws={
        "height": {
            "left": NumericLaw(LOWER, UPPER, ((1.0, Beta(3, 6, LOWER, UPPER)),)),
            "right": NumericLaw(LOWER, UPPER, ((1.0, Beta(6, 4, LOWER, UPPER)),)),
            "middle": NumericLaw(LOWER, UPPER, ((1.0, Beta(2, 2, LOWER, UPPER)),)),
        },
        "colour": {side: CategoricalLaw(("red", "blue"), (0.5, 0.5)) for side in ("left", "right", "middle")},
    },
)
X = np.linspace(LOWER, UPPER, 401)


@cache
def _scheme(name: str) -> Scheme:
    return Scheme.from_toml(
        f"""
        name = "heights"
        clients = {N}
        pairs = [["height", "side"]]
        [attributes.height]
        type = "numeric"
        lower = {LOWER}
        upper = {UPPER}
        unit = "m"
        epsilon = 2
        estimator = "log_spline"
        {MECHANISMS[name]}
        [attributes.side]
        type = "categorical"
        categories = ["left", "right", "middle"]
        mechanism = "randomized_response"
        epsilon = 3
        [attributes.colour]
        type = "categorical"
        categories = ["red", "blue"]
        epsilon = 1
        """.replace("        ", "")
    )


@cache
def _aggregate(name: str, n: int = N) -> Aggregate:
    return simulate(_scheme(name), PEOPLE, seeded(3), n)


@cache
def _estimate(name: str) -> DensityEstimate:
    return pipeline.estimate(_aggregate(name), "height")


@pytest.fixture(params=of_each_kind(MECHANISMS, "dyadic_wave"))
def name(request) -> str:
    return request.param


def test_the_scheme_chooses_it(name):
    assert _estimate(name).estimator == "log_spline"
    assert (_estimate(name).attribute, _estimate(name).unit, _estimate(name).given) == ("height", "m", "")


@pytest.mark.parametrize("name", of_each_kind(MECHANISMS, "dyadic_wave", "spline wavelets"))
def test_the_density_is_proper_and_near_the_truth(name):
    estimate, truth = _estimate(name), PEOPLE.truth("height")
    density = estimate(X)
    assert np.all(density > 0)
    assert np.trapezoid(density, X) + sum(estimate.atoms) == pytest.approx(1, abs=1e-4)
    width = UPPER - LOWER
    assert np.mean((density - truth.pdf(X)) ** 2) * width**2 < 0.02  # in units of the interval; int f^2 is 1.7
    low, high = estimate.cdf_band(X)
    assert np.all(np.abs(estimate.cdf(X) - truth.cdf(X)) <= 1.5 * (high - low) + 0.005)  # six standard errors
    assert np.abs(estimate.cdf(X) - truth.cdf(X)).max() < 0.05
    assert np.all(np.diff(estimate.cdf(X)) > 0)
    assert estimate.quantile(estimate.cdf(X[1:-1])) == pytest.approx(X[1:-1], abs=1e-6)


def test_functionals_are_within_their_ranges_and_intervals(name, subtests):
    for text in FUNCTIONALS:
        with subtests.test(text=text):
            functional, truth = parse(text), PEOPLE.truth("height")
            found = _estimate(name).functional(functional)
            least, most = functional.range_on(LOWER, UPPER)
            assert not found.is_refused
            assert least <= found.low <= found.value <= found.high <= most
            assert least <= found.plug_in <= most
            assert found.functional == text
            exact = functional.value(truth)
            assert abs(found.value - exact) < 5 * found.standard_error
            assert abs(found.plug_in - exact) < 5 * found.standard_error
            wider = _estimate(name).functional(functional, 0.99)
            assert wider.low <= found.low <= found.high <= wider.high
            assert (wider.value, wider.standard_error) == pytest.approx((found.value, found.standard_error), rel=0.05)


def test_the_same_aggregate_twice_gives_the_same_numbers(name):
    again = pipeline.estimate(_aggregate(name).merge(Aggregate.zero(_scheme(name))), "height")
    assert np.array_equal(again.density.coefficients, _estimate(name).density.coefficients)
    assert np.array_equal(again.covariance, _estimate(name).covariance)
    assert again.functional(parse("entropy")) == _estimate(name).functional(parse("entropy"))


def test_groups_are_near_their_own_truths(name):
    found = pipeline.estimate(_aggregate(name), "height", given="side")
    assert set(found) == {"left", "right"}  # nobody is in the middle
    for side, estimate in found.items():
        truth = PEOPLE.truth("height", side)
        assert estimate.given == f"side={side}"
        assert np.abs(estimate.cdf(X) - truth.cdf(X)).max() < 0.08
        mean = estimate.functional(parse("mean"))
        assert abs(mean.value - parse("mean").value(truth)) < 5 * mean.standard_error
        assert mean.standard_error > 1.1 * _estimate(name).functional(parse("mean")).standard_error
        assert estimate.n < _estimate(name).n


def test_no_report_is_not_estimable(name):
    nobody = Aggregate.zero(_scheme(name))
    for given in (None, "side"):
        with pytest.raises(NotEstimable, match="attribute 'height': no reports yet"):
            pipeline.estimate(nobody, "height", given=given)


def test_a_handful_of_reports_gives_wide_bands_and_no_nonsense(name):
    estimate = pipeline.estimate(simulate(_scheme(name), PEOPLE, seeded(8), 30), "height")
    low, high = estimate.band(X)
    assert np.all(np.isfinite(high))
    assert np.all(estimate(X) >= 0)
    assert estimate.cdf(UPPER) == 1.0
    mean = estimate.functional(parse("mean"))
    if mean.is_refused:
        assert "leave every value possible" in mean.reason
    else:
        assert LOWER <= mean.low <= mean.value <= mean.high <= UPPER
        assert mean.standard_error > 0.02
    assert np.mean(high - low) > 0.2


def test_categories_are_refused_in_one_line(subtests):
    for attribute in ["side", "colour"]:
        with subtests.test(attribute=attribute):
            with pytest.raises(SchemeError, match=f"log_spline needs a numeric attribute; {attribute} has ") as caught:
                pipeline.estimate(_aggregate("dyadic_wave"), attribute, LogSpline())
            assert "\n" not in str(caught.value)


def test_a_pair_that_is_not_kept_is_refused_in_one_line():
    with pytest.raises(SchemeError, match="height given colour is not in the aggregate; add the pair") as caught:
        pipeline.estimate(_aggregate("dyadic_wave"), "height", given="colour")
    assert "it has: height given side" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_repr_shows_no_coefficient(name):
    text = repr(_estimate(name))
    assert "height" in text
    assert "log_spline" in text
    for number in (*_estimate(name).density.coefficients, *np.diagonal(_estimate(name).covariance)):
        assert f"{number:.3g}" not in text
    assert "array" not in text


def test_a_wrong_choice_is_refused_in_one_line(subtests):
    for changes in [{"level": 2}, {"level": 9}, {"orders": ()}, {"orders": (0,)}, {"orders": (2, 5)}]:
        with subtests.test(changes=changes):
            with pytest.raises(SchemeError) as caught:
                LogSpline(**changes)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", of_each_kind(["dyadic_wave", "spline wavelets"], "dyadic_wave"))
def test_a_billion_clients_cost_what_a_hundred_thousand_do(name, monkeypatch):
    steps, gradient = SimpleNamespace(taken=0), Family.gradient

    def counted(self, law, expected):
        steps.taken += 1
        return gradient(self, law, expected)

    monkeypatch.setattr(Family, "gradient", counted)
    taken = []
    for n in (100_000, 1_000_000_000):
        steps.taken = 0
        estimate = pipeline.estimate(_aggregate(name, n), "height")
        taken.append(steps.taken)
        assert estimate.n == n
    assert np.abs(estimate.cdf(X) - PEOPLE.truth("height").cdf(X)).max() < 2e-3
    assert 0 < taken[1] < 3 * taken[0], taken
