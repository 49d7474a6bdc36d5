"""Every functional: its name, its units, and its derivatives against differences of values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcore import scheme
from dpcore.bases import bspline
from dpcore.densities import Spline
from dpcore.errors import SchemeError
from dpcore.functionals import (
    NAMES,
    CentralMoment,
    Derivative,
    Entropy,
    FunctionDensity,
    Influence,
    IntegratedSquare,
    PowerIntegral,
    parse,
)

LOWER, UPPER, DEGREE, LEVEL = -1.0, 3.0, 3, 3
TEXTS = (
    "mean",
    "variance",
    "moment(3)",
    "central_moment(3)",
    "central_moment(4)",
    "cdf(0.7)",
    "probability(-0.5, 1.25)",
    "atom(3)",
    "quantile(0.3)",
    "derivative(0, 0.9)",
    "derivative(1, 0.9)",
    "integrated_square(0)",
    "integrated_square(1)",
    "power_integral(3)",
    "power_integral(1.5)",
    "entropy",
)


def _spline(coefficients) -> Spline:
    return Spline(LOWER, UPPER, DEGREE, LEVEL, np.asarray(coefficients))


def _density_and_step():
    """A density bounded away from zero, and a direction of mass zero."""
    rng = np.random.default_rng(4)
    mass = bspline.integrals(DEGREE, LEVEL)
    density = rng.uniform(0.5, 1.5, len(mass))
    density /= mass @ density
    step = rng.normal(size=len(mass))
    return density, 0.2 * (step - mass @ step)


@pytest.mark.parametrize("text", TEXTS)
def test_names_are_read_back(text):
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_schemes_accept_exactly_these_names():
    assert set(NAMES) == set(scheme.FUNCTIONALS)
    assert {text.split("(")[0] for text in TEXTS} == set(NAMES)


@pytest.mark.parametrize(
    "text",
    ["median", "mean(1)", "cdf", "cdf(a)", "cdf(1, 2)", "cdf(nan)", "quantile(1)", "moment(0)", "moment(1.5)", ""],
)
def test_other_names_are_refused(text):
    with pytest.raises(SchemeError):
        parse(text)


@pytest.mark.parametrize("text", TEXTS)
def test_influence_is_the_derivative_with_a_quadratic_remainder(text):
    functional = parse(text)
    density, step = _density_and_step()
    value, influence = functional.value_and_influence(_spline(density))
    slope = influence(_spline(step))
    size = max(abs(slope), abs(value), 1e-3)
    remainders = []
    for t in (1e-2, 1e-3):
        remainders.append(functional.value(_spline(density + t * step)) - value - t * slope)
        assert abs(remainders[-1]) <= 100 * size * t**2
    if functional.is_linear:
        assert np.max(np.abs(remainders)) <= 1e-11 * size
    else:
        assert abs(remainders[1]) <= 0.02 * abs(remainders[0]) + 1e-10 * size  # a hundredth, as squares are


@pytest.mark.parametrize("text", [text for text in TEXTS if not parse(text).is_linear and "quantile" not in text])
def test_curvature_is_half_the_second_derivative(text):
    functional = parse(text)
    density, step = _density_and_step()
    expansion = functional.expand(_spline(density))
    t = 1e-3
    ahead, behind = (functional.value(_spline(density + sign * t * step)) for sign in (1, -1))
    numeric = (ahead + behind - 2 * expansion.value) / (2 * t**2)
    curvature = expansion.curvature(_spline(step), LOWER, UPPER)
    assert curvature == pytest.approx(numeric, rel=1e-3)
    matrix = expansion.curvature.on(_spline(density).features, _spline(density).breakpoints, len(density))
    assert step @ matrix @ step == pytest.approx(curvature, rel=1e-9)
    if functional.is_quadratic:
        exact = expansion.value + expansion.influence(_spline(step)) + curvature
        assert functional.value(_spline(density + step)) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("text", ["entropy", "power_integral(1.5)", "power_integral(3)", "integrated_square(0)"])
def test_integrals_are_expanded_in_directions_that_change_the_mass_too(text):
    """Inference expands around a density kept above its noise, whose mass is not one."""
    functional, (density, _) = parse(text), _density_and_step()
    value, influence = functional.value_and_influence(_spline(density))
    step = _spline(np.full(len(density), 1e-4))
    change = functional.value(_spline(density + 1e-4)) - value
    assert influence(step) == pytest.approx(change, rel=1e-2)


@pytest.mark.parametrize("text", TEXTS)
def test_influence_on_a_basis_agrees_with_influence_of_functions(text):
    density, step = _density_and_step()
    influence = parse(text).expand(_spline(density)).influence
    on_basis = influence.on(_spline(density).features, _spline(density).breakpoints)
    assert on_basis @ step == pytest.approx(influence(_spline(step)), rel=1e-9, abs=1e-12)


def test_values_of_a_known_density_in_the_attributes_units():
    law = stats.beta(3, 4, loc=10, scale=40)
    truth = FunctionDensity(10.0, 50.0, law.pdf)
    known = {
        "mean": law.mean(),
        "variance": law.var(),
        "moment(2)": law.moment(2),
        "central_moment(3)": law.stats("s") * law.std() ** 3,
        "cdf(25)": law.cdf(25),
        "probability(20, 30)": law.cdf(30) - law.cdf(20),
        "quantile(0.5)": law.median(),
        "derivative(0, 25)": law.pdf(25),
        "integrated_square(0)": law.expect(law.pdf),
        "power_integral(3)": law.expect(lambda x: law.pdf(x) ** 2),
        "entropy": law.entropy(),
    }
    for text, value in known.items():
        assert parse(text).value(truth) == pytest.approx(float(value), rel=1e-6), text


@pytest.mark.parametrize("text", TEXTS)
def test_values_lie_within_the_stated_range(text):
    functional = parse(text)
    least, most = functional.range_on(LOWER, UPPER)
    density, _ = _density_and_step()
    assert least <= functional.value(_spline(density)) <= most


def test_a_uniform_density_attains_the_bounds_of_entropy_and_squares():
    uniform = FunctionDensity(LOWER, UPPER, lambda x: np.full(np.shape(x), 0.25))
    assert Entropy().value(uniform) == pytest.approx(Entropy().range_on(LOWER, UPPER)[1])
    assert IntegratedSquare(0).value(uniform) == pytest.approx(IntegratedSquare(0).range_on(LOWER, UPPER)[0])
    assert PowerIntegral(0.5).value(uniform) == pytest.approx(PowerIntegral(0.5).range_on(LOWER, UPPER)[1])


def test_categories_with_numbers():
    p, numbers = np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 2.5])
    assert parse("mean").of_probabilities(p, numbers) == pytest.approx(0.8)
    assert parse("variance").of_probabilities(p, numbers) == pytest.approx(0.3 + 0.2 * 6.25 - 0.64)
    assert parse("central_moment(3)").of_probabilities(p, numbers) == pytest.approx(float(p @ (numbers - 0.8) ** 3))
    assert parse("cdf(1)").of_probabilities(p, numbers) == pytest.approx(0.8)
    assert parse("probability(1, 3)").of_probabilities(p, numbers) == pytest.approx(0.5)
    with pytest.raises(SchemeError, match="not of categories"):
        parse("entropy").of_probabilities(p, numbers)
    for k in (2, 3, 4):
        value, gradient, curvature = CentralMoment(k).expand_probabilities(p, numbers)
        step = np.array([0.4, -0.3, -0.1])
        t = 1e-4
        ahead, behind = (CentralMoment(k).of_probabilities(p + sign * t * step, numbers) for sign in (1, -1))
        assert gradient @ step == pytest.approx((ahead - behind) / (2 * t), rel=1e-5)
        assert step @ curvature @ step == pytest.approx((ahead + behind - 2 * value) / (2 * t**2), rel=1e-3)


def test_what_cannot_be_asked_is_refused_with_a_reason():
    assert "outside" in Derivative(0, 5).refuses(LOWER, UPPER)
    assert "degree >= 2" in Derivative(2, 0).refuses(LOWER, UPPER, degree=1)
    assert "degree >= 1" in IntegratedSquare(1).refuses(LOWER, UPPER, degree=0)
    with pytest.raises(SchemeError):
        Derivative(0, 5).value(_spline(np.ones(11)))


def test_a_wrong_influence_would_be_caught():
    """The pair to the test above: with the weight off by a tenth the remainder is no longer quadratic."""
    density, step = _density_and_step()
    functional = IntegratedSquare(0)
    value, right = functional.value_and_influence(_spline(density))
    wrong = Influence(LOWER, UPPER, ((0, lambda x: 1.1 * right.weights[0][1](x)),), (), right.breaks)
    for influence, is_right in ((right, True), (wrong, False)):
        slope = influence(_spline(step))
        large, small = (functional.value(_spline(density + t * step)) - value - t * slope for t in (1e-2, 1e-3))
        assert (abs(small) <= 0.02 * abs(large)) == is_right
