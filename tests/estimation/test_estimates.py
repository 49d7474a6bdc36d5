"""Estimates as objects: units, inverses, bands, frames, and what they never show."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation.estimators import Fixed, Projection, project_density
from dpcore.functionals import Cdf, Derivative, Mean, Quantile, Variance, parse
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from tests.helpers.cases import of_each_kind
from tests.helpers.estimate_cases import SMOOTH, draw, mechanism

DEGREES = of_each_kind([0, 1, 2, 3], 0, 2)


@pytest.fixture(scope="module", params=DEGREES)
def estimate(request):
    return Projection().estimate(draw(mechanism(request.param), SMOOTH["raised"], 3_000_000, seed=request.param), "x")


@pytest.fixture(scope="module", params=DEGREES)
def fixed(request):
    """At a level that somebody chose, functionals are the raw spline's, by the delta method."""
    rule = Projection(level_rule=Fixed(4))
    return rule.estimate(draw(mechanism(request.param), SMOOTH["raised"], 3_000_000, seed=request.param), "x")


def test_the_density_is_proper_in_the_attributes_units(estimate):
    x = np.linspace(-1, 3, 4001)
    assert np.all(estimate(x) >= 0)
    assert estimate.cdf(-1.0) == pytest.approx(0, abs=1e-12)
    assert estimate.cdf(3.0) == pytest.approx(1, abs=1e-12)
    assert estimate(np.array([-1.1, 3.1])).tolist() == [0, 0]
    cells = (x[1:] + x[:-1]) / 2
    assert np.sum(estimate(cells)) * (x[1] - x[0]) == pytest.approx(1, abs=1e-3)
    assert np.all(np.diff(estimate.cdf(x)) >= -1e-12)


def test_quantiles_invert_the_cdf(estimate):
    t = np.array([0.05, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(estimate.cdf(estimate.quantile(t)), t, atol=1e-9)
    assert np.ndim(estimate.quantile(0.5)) == 0
    with pytest.raises(SchemeError):
        estimate.quantile(1.1)


def test_people_are_drawn_by_the_quantiles_of_uniform_numbers(estimate):
    drawn = np.append(np.linspace(0, 1, 1001)[:-1], [0.99999, 1 - 1e-9])
    source = SimpleNamespace(generator=lambda: SimpleNamespace(random=lambda n: drawn[:n]))
    people = estimate.draw(len(drawn), source)
    assert people == pytest.approx(estimate.density.quantile(drawn), abs=4e-4)
    assert people[-1] == pytest.approx(3, abs=1e-4)
    assert estimate.draw(0, source).shape == (0,)


def test_derivatives_are_slopes(estimate):
    x, step = np.array([0.31, 1.17]), 1e-5
    slopes = (estimate(x + step) - estimate(x - step)) / (2 * step)
    np.testing.assert_allclose(estimate.derivative(1)(x), slopes, atol=1e-5)
    assert np.all(estimate.derivative(estimate.density.degree + 1)(x) == 0)


def test_bands_are_the_intervals_of_point_functionals(fixed):
    x = np.array([-0.4, 0.3, 1.9])
    low, high = fixed.band(x, 0.9)
    cdf_low, cdf_high = fixed.cdf_band(x, 0.9)
    for i, at in enumerate(x):
        point, share = fixed.functional(Derivative(0, at), 0.9), fixed.functional(Cdf(at), 0.9)
        assert low[i] == pytest.approx(min(point.low, fixed(at)))
        assert high[i] == pytest.approx(max(point.high, fixed(at)))
        assert cdf_low[i] == pytest.approx(min(share.low, fixed.cdf(at)))
        assert cdf_high[i] == pytest.approx(max(share.high, fixed.cdf(at)))


def test_wider_confidence_gives_wider_intervals(estimate):
    narrow, wide = estimate.functional(Cdf(0.5), 0.5), estimate.functional(Cdf(0.5), 0.99)
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)
    assert narrow.value == wide.value
    for confidence in (0, 1, 95):
        with pytest.raises(SchemeError):
            estimate.functional(Cdf(0.5), confidence)


def test_the_band_of_a_frame_holds_its_cdf_to_the_last_digit():
    """Where the density of a histogram is 0, the sum of its bars may fall by a rounding."""
    scheme = dp.Scheme.from_toml(
        'name = "stairs"\nclients = 20000\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 60\nepsilon = 2\n'
        'mechanism = "wavelet_laplace"\ndegree = 0\n'
    )
    people = np.minimum(60.0, np.random.default_rng(1).geometric(0.1, 20_190) - 1)
    frame = dp.estimate(dp.aggregate(scheme, dp.privatize(scheme, {"x": people}, dp.seeded(0))), "x").to_frame()
    assert (frame["cdf_low"] <= frame["cdf"]).all()
    assert (frame["cdf"] <= frame["cdf_high"]).all()


def test_the_frame_is_a_grid_with_nested_columns(estimate):
    frame = estimate.to_frame(51)
    assert list(frame) == ["x", "density", "low", "high", "cdf", "cdf_low", "cdf_high", "confidence"]
    assert len(frame) == 51
    assert frame["x"].iloc[[0, -1]].tolist() == [-1, 3]
    assert (frame["low"] <= frame["density"]).all()
    assert (frame["density"] <= frame["high"]).all()
    assert (frame["cdf_low"] <= frame["cdf_high"]).all()
    assert frame["low"].min() >= 0
    assert frame["cdf_high"].max() <= 1


def test_no_representation_shows_a_coefficient(estimate):
    for shown in (repr(estimate), repr(estimate.raw), str(estimate)):
        assert "array" not in shown
        assert f"{estimate.density.coefficients[0]:.4f}" not in shown
    assert "level" in repr(estimate)


def test_standard_errors_have_the_attributes_units(fixed):
    """The interval [-1, 3] is four units wide: the mean has four times the error of the unit interval's."""
    raw, covariance = fixed.inference.raw, fixed.inference.covariance
    share = (np.arange(4096) + 0.5) / 4096
    weights = share @ (raw.features(-1 + 4 * share) * 4 / 4096)  # of the unit interval's mean
    error = np.sqrt(weights @ covariance @ weights)
    assert fixed.functional(Mean()).standard_error == pytest.approx(4 * error, rel=1e-3)


def test_an_unanswerable_functional_is_a_refusal_not_an_error():
    estimate = Projection(level_rule=Fixed(2)).estimate(draw(mechanism(1), SMOOTH["beta"], 10_000, seed=2), "x")
    for text in ("derivative(2, 0)", "derivative(0, 7)", "integrated_square(2)"):
        refused = estimate.functional(parse(text))
        assert refused.is_refused
        assert (refused.value, refused.standard_error, refused.low, refused.high) == (None,) * 4
        assert refused.reason
        assert refused.functional == text


def test_entropy_is_refused_where_noise_rules_and_given_where_not():
    rule = Projection(level_rule=Fixed(4))
    noisy = rule.estimate(draw(mechanism(2), SMOOTH["raised"], 10_000, seed=3), "x").functional(parse("entropy"))
    assert noisy.is_refused
    assert "more reports" in noisy.reason
    clear = rule.estimate(draw(mechanism(2), SMOOTH["raised"], 10**9, seed=3), "x").functional(parse("entropy"))
    assert not clear.is_refused
    assert clear.low < clear.value < clear.high


def test_a_square_is_freed_of_its_noise(fixed):
    """int f^2 of the raw fixed exceeds the truth's by tr(G S) on average, and its error has a second-order part."""
    raw, S = fixed.inference.raw, fixed.inference.covariance
    G = bspline.gram(raw.degree, raw.level) / 4  # per unit of x
    found = fixed.functional(parse("integrated_square(0)"))
    assert found.value == pytest.approx(max(raw.coefficients @ G @ raw.coefficients - np.trace(G @ S), 0.25))
    proper = project_density(raw.coefficients, raw.degree, raw.level)
    first, second = 4 * proper @ G @ S @ G @ proper, 2 * np.trace(G @ S @ G @ S)
    assert found.standard_error == pytest.approx(np.sqrt(first + second))


def test_what_the_level_rule_smooths_away_is_put_back():
    """The literal noise of the paper: Lepski cannot contradict V_3, whose entropy misses the truth (-.49 on [0, 1])."""
    of = WaveletLaplace.design(Budget.parse("1"), degree=2, finest_level=6, allocation="paper")
    estimate = Projection().estimate(draw(of, SMOOTH["bimodal"], 10**8, seed=3), "x")
    found = estimate.functional(parse("entropy"))
    truth = -0.4888 + np.log(4)
    assert estimate.level == 3
    assert abs(found.plug_in - truth) > 3 * found.standard_error
    assert found.low <= truth <= found.high


def test_intervals_stay_within_what_is_possible():
    estimate = Projection().estimate(draw(mechanism(0), SMOOTH["beta"], 2_000, seed=5), "x")
    for text in ("mean", "variance", "cdf(2.9)", "probability(-1, 3)", "quantile(0.5)", "integrated_square(0)"):
        functional = parse(text)
        found, (least, most) = estimate.functional(functional), functional.range_on(-1.0, 3.0)
        if not found.is_refused:
            assert least <= found.low <= found.value <= found.high <= most, text


def test_known_moments_come_from_the_raw_estimate():
    estimate = Projection().estimate(draw(mechanism(0), SMOOTH["raised"], 10**10, seed=6), "x")
    mean = -1 + 4 * (0.15 + 0.7 / 3)
    found = estimate.functional(Mean())
    assert abs(found.value - mean) < 5 * found.standard_error < 2e-3
    second = 0.3 / 3 + 0.7 * (2 * 3) / (6 * 7)
    variance = 16 * (second - (0.15 + 0.7 / 3) ** 2)
    spread = estimate.functional(Variance())
    assert abs(spread.value - variance) < 5 * spread.standard_error < 1e-2
    median = estimate.functional(Quantile(0.5))
    assert median.low < median.value < median.high


def test_where_a_density_vanishes_an_interval_is_widened_on_both_sides(subtests):
    for name in ["entropy", "power_integral(0.5)"]:
        with subtests.test(name=name):
            aggregate = draw(mechanism(1, "4", 3), lambda u: np.clip(u / 0.5, 0, 1), 300_000, 1)
            found = Projection(level_rule=Fixed(3)).estimate(aggregate, "x").functional(parse(name))
            below, above = ((end - found.value) / found.standard_error / 1.96 for end in (found.low, found.high))
            assert -below == pytest.approx(above, rel=0.1)
            assert above > 1.2  # by half of what nobody knows there
            truth = {"entropy": np.log(2), "power_integral(0.5)": np.sqrt(2)}[name]
            assert found.low < truth < found.high
