"""Every functional: its name, its units, and its derivatives against differences of values."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pytest
import scipy

from dpcore.errors import SchemeError
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.registry import check_estimates
from dpcore.functionals import (
    KINDS,
    Both,
    CentralMoment,
    Derivative,
    Entropy,
    FisherInformation,
    FunctionDensity,
    Influence,
    IntegratedSquare,
    KullbackLeibler,
    PowerIntegral,
    Reference,
    Wasserstein,
    parse,
)
from dpcore.mechanisms.bases import bspline
from dpcore.protocol.scheme import Scheme
from tests.helpers.cases import every_value_once

LOWER, UPPER, DEGREE, LEVEL = -1.0, 3.0, 3, 3
EXAMPLES = tuple(kind.example or kind.name for kind in KINDS if kind is not Both)  # of options, not of a density
TEXTS = (
    *EXAMPLES,
    "central_moment(4)",
    "derivative(1, 0.9)",
    "integrated_square(1)",
    "power_integral(1.5)",
    "wasserstein(2, uniform)",
)


def some_and_others(cases):
    """Two groups of cases: the quick ones, and the slow ones."""
    quick = [case for case in cases if not hasattr(case, "marks")]
    others = [case.values for case in cases if hasattr(case, "marks")]
    return [pytest.param(quick, id="some"), pytest.param(others, id="others", marks=pytest.mark.slow)]


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


@dataclass(frozen=True, eq=False)
class _Law:
    """A spline, and masses at lower and upper: a law, or a direction in which one moves."""

    coefficients: np.ndarray
    atoms: tuple[float, float] = (0.0, 0.0)
    lower, upper = LOWER, UPPER

    @property
    def spline(self) -> Spline:
        return _spline(self.coefficients)

    @property
    def breakpoints(self):
        return self.spline.breakpoints

    def pdf(self, x):
        return self.spline.pdf(x)

    def derivative(self, order):
        return self.spline.derivative(order)

    def cdf(self, x):
        return self.atoms[0] + self.spline.cdf(x) + np.where(np.asarray(x) >= UPPER, self.atoms[1], 0.0)

    def quantile(self, t):
        low, high = np.full(np.shape(t), LOWER), np.full(np.shape(t), UPPER)
        for _ in range(60):
            middle = (low + high) / 2
            below = self.cdf(middle) < t
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(np.asarray(t) <= self.atoms[0], LOWER, high)

    def moved(self, step: _Law, t: float) -> _Law:
        ends = (a + t * b for a, b in zip(self.atoms, step.atoms, strict=True))
        return _Law(self.coefficients + t * step.coefficients, tuple(ends))


def _laws() -> dict[str, tuple[_Law, _Law]]:
    """Laws and directions of mass zero: one that crosses the uniform often, a steep one near zero, one with atoms."""
    mass = bspline.integrals(DEGREE, LEVEL)
    density, step = _density_and_step()
    steep = np.exp(-0.6 * np.arange(len(mass))) + 0.02
    clipped = 0.7 * density
    clipped_step = 0.2 * np.cos(np.arange(len(mass)))
    return {
        "wavy": (_Law(density), _Law(step)),
        "steep": (_Law(steep / (mass @ steep)), _Law(step * steep)),
        "atoms": (_Law(clipped, (0.1, 0.2)), _Law(clipped_step, (0.05, -0.05 - mass @ clipped_step))),
    }


def _mass_zero(law: _Law, step: _Law) -> _Law:
    """The direction without the mass it moves, taken from the law itself."""
    moved = step.atoms[0] + step.atoms[1] + bspline.integrals(DEGREE, LEVEL) @ step.coefficients
    return step.moved(law, -moved)


LAWS = {name: (law, _mass_zero(law, step)) for name, (law, step) in _laws().items()}


def test_names_are_read_back(subtests):
    for text in TEXTS:
        with subtests.test(text=text):
            assert str(parse(text)) == text
            assert parse(str(parse(text))) == parse(text)


def test_each_declares_all_that_is_asked_of_it(subtests):
    for kind in KINDS:
        with subtests.test(kind=kind):
            functional = parse(kind.example or kind.name)
            assert type(functional) is kind
            assert functional.unit in ("%", "nats") or float(functional.unit) != 0
            values = {field.name: "3" for field in fields(kind)}
            said = functional.phrase.format(**values, unit="USD")
            assert "{" not in said
            assert (said == "") or said[0].islower() or said[0].isdigit()
            least, most = functional.range_on(LOWER, UPPER)
            assert least < most
            numbers = np.array([0.0, 1.0, 2.5])
            if functional.refuses_probabilities() is None:
                least, most = functional.range_of_numbers(numbers)
                assert least <= functional.of_probabilities(np.array([0.5, 0.3, 0.2]), numbers) <= most


def test_a_scheme_may_ask_for_each(subtests):
    for text in TEXTS:
        with subtests.test(text=text):
            scheme = Scheme.from_toml(
                f"""
        name = "asked"
        [attributes.x]
        type = "numeric"
        lower = {LOWER}
        upper = {UPPER}
        epsilon = 1
        functionals = ["{text}"]
        """
            )
            assert scheme.attributes["x"].functionals == (text,)
            assert Scheme.from_toml(scheme.canonical).digest == scheme.digest
            check_estimates(scheme)


def test_other_names_are_refused(subtests):
    for text in [
        "median",
        "mean(1)",
        "cdf",
        "cdf(a)",
        "cdf(uniform)",
        "cdf(1, 2)",
        "cdf(nan)",
        "quantile(1)",
        "moment(0)",
        "moment(1.5)",
        "wasserstein(1)",
        "wasserstein(3, uniform)",
        "wasserstein(1, normal)",
        "wasserstein(uniform, 1)",
        "kullback_leibler(1)",
        "fisher_information(0)",
        "",
    ]:
        with subtests.test(text=text), pytest.raises(SchemeError):
            parse(text)


@pytest.mark.parametrize("cases", some_and_others(every_value_once(TEXTS, LAWS)))
def test_influence_is_the_derivative_with_a_quadratic_remainder(cases, subtests):
    for text, name in cases:
        with subtests.test(text=text, name=name):
            functional, (law, step) = parse(text), LAWS[name]
            expansion = functional.expand(law)
            value, influence = expansion.value, expansion.influence
            slope = influence(step)
            size = max(abs(slope), abs(value), 1e-3)
            remainders = []
            for t in (1e-2, 1e-3):
                remainders.append(functional.value(law.moved(step, t)) - value - t * slope)
                assert abs(remainders[-1]) <= 100 * size * t**2
            if functional.is_linear:
                assert np.max(np.abs(remainders)) <= 1e-11 * size
            else:
                assert abs(remainders[1]) <= 0.02 * abs(remainders[0]) + 1e-10 * size  # a hundredth, as squares are


@pytest.mark.parametrize(
    "cases",
    some_and_others(
        every_value_once([text for text in TEXTS if not parse(text).is_linear and "quantile" not in text], LAWS)
    ),
)
def test_curvature_is_half_the_second_derivative(cases, subtests):
    for text, name in cases:
        with subtests.test(text=text, name=name):
            functional, (law, step) = parse(text), LAWS[name]
            expansion = functional.expand(law)
            t = 1e-3
            ahead, behind = (functional.value(law.moved(step, sign * t)) for sign in (1, -1))
            numeric = (ahead + behind - 2 * expansion.value) / (2 * t**2)
            curvature = expansion.curvature(step, LOWER, UPPER)
            rounding = (
                8 * np.finfo(float).eps * abs(expansion.value) / (2 * t**2)
            )  # of the values whose difference this is
            assert curvature == pytest.approx(numeric, rel=1e-3, abs=rounding)
            if name != "atoms":  # a basis has no atoms
                matrix = expansion.curvature.on(law.spline.features, law.breakpoints, len(law.coefficients))
                assert step.coefficients @ matrix @ step.coefficients == pytest.approx(curvature, rel=1e-9)
            if functional.is_quadratic:
                exact = expansion.value + expansion.influence(step) + curvature
                assert functional.value(law.moved(step, 1.0)) == pytest.approx(exact, rel=1e-10)


def test_integrals_are_expanded_in_directions_that_change_the_mass_too(subtests):
    """Inference expands around a density kept above its noise, whose mass is not one."""
    for text in ["entropy", "power_integral(1.5)", "power_integral(3)", "integrated_square(0)"]:
        with subtests.test(text=text):
            functional, (density, _) = parse(text), _density_and_step()
            expansion = functional.expand(_spline(density))
            value, influence = expansion.value, expansion.influence
            step = _spline(np.full(len(density), 1e-4))
            change = functional.value(_spline(density + 1e-4)) - value
            assert influence(step) == pytest.approx(change, rel=1e-2)


def test_influence_on_a_basis_agrees_with_influence_of_functions(subtests):
    for text in TEXTS:
        with subtests.test(text=text):
            density, step = _density_and_step()
            influence = parse(text).expand(_spline(density)).influence
            on_basis = influence.on(_spline(density).features, _spline(density).breakpoints)
            assert on_basis @ step == pytest.approx(influence(_spline(step)), rel=1e-9, abs=1e-12)


def _quad(of) -> float:
    return sum(scipy.integrate.quad(of, 10 + 4 * i, 14 + 4 * i, epsabs=1e-13)[0] for i in range(10))


def test_values_of_a_known_density_in_the_attributes_units():
    law = scipy.stats.beta(3, 4, loc=10, scale=40)
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
        "kullback_leibler(uniform)": np.log(40) - law.entropy(),
        "wasserstein(1, uniform)": _quad(lambda x: abs(law.cdf(x) - (x - 10) / 40)),
        "wasserstein(2, uniform)": np.sqrt(_quad(lambda x: (x - 10 - 40 * law.cdf(x)) ** 2 * law.pdf(x))),
    }
    for text, value in known.items():
        assert parse(text).value(truth) == pytest.approx(float(value), rel=1e-6), text


def test_values_lie_within_the_stated_range(subtests):
    for text in TEXTS:
        with subtests.test(text=text):
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


def test_a_wrong_influence_would_be_caught(subtests):
    """The pair to the tests above: with a weight off by a tenth the remainder is no longer quadratic."""
    for text in [text for text in TEXTS if not parse(text).is_linear]:
        with subtests.test(text=text):
            functional, (law, step) = parse(text), LAWS["wavy"]
            expansion = functional.expand(law)
            value, right = expansion.value, expansion.influence
            weights = [(order, lambda x, weight=weight: 1.1 * weight(x)) for order, weight in right.weights[:1]]
            wrong = Influence(LOWER, UPPER, (*weights, *right.weights[1:]), right.points, right.breaks, right.of_law)
            slope = wrong(step)
            large, small = (functional.value(law.moved(step, t)) - value - t * slope for t in (1e-2, 1e-3))
            assert abs(small) > 0.02 * abs(large)


def test_the_index_of_atomic_functionals():
    index = {text: parse(text).index for text in TEXTS}
    assert {text: s for text, s in index.items() if s is not None} == {
        "derivative(0, 0.9)": 0,
        "derivative(1, 0.9)": 1,
        "integrated_square(1)": 0,
        "fisher_information": 0,
    }
    assert parse("integrated_square(3)").index == 2
    assert all(parse(text).kind == "atomic" for text, s in index.items() if s is not None)


def test_fisher_information_of_a_known_density_and_after_integration_by_parts():
    """[2 l h] at the ends less int (2 l' + l^2) h, l = f'/f: where the point values of index 0 come from."""
    rate = 0.7
    scale = rate / (np.exp(-rate * LOWER) - np.exp(-rate * UPPER))

    def falling(x):
        return scale * np.exp(-rate * np.asarray(x))

    law = FunctionDensity(LOWER, UPPER, falling, derivatives=(lambda x: -rate * falling(x),))
    expansion = FisherInformation().expand(law)
    value, influence = expansion.value, expansion.influence
    assert value == pytest.approx(rate**2)
    _, step = LAWS["wavy"]
    at_ends = -2 * rate * (float(step.pdf(UPPER)) - float(step.pdf(LOWER)))
    assert influence(step) == pytest.approx(at_ends, rel=1e-9)  # l is constant and int h = 0
    assert "degree >= 1" in FisherInformation().refuses(LOWER, UPPER, degree=0)


@pytest.mark.parametrize(
    "name", [name if name == "atoms" else pytest.param(name, marks=pytest.mark.slow) for name in LAWS]
)
def test_distances_to_a_density_that_is_given(name):
    """Values against brute force over quantiles and cells, and T and Q once more with a reference that is not flat."""
    law, step = LAWS[name]
    reference = LAWS["atoms" if name == "steep" else "steep"][0]
    t = (np.arange(10_000) + 0.5) / 10_000
    gap = np.abs(law.quantile(t) - reference.quantile(t))
    assert Wasserstein(1, reference).value(law) == pytest.approx(np.mean(gap), rel=1e-4)
    assert Wasserstein(2, reference).value(law) == pytest.approx(np.sqrt(np.mean(gap**2)), rel=1e-3)
    for functional in (Wasserstein(1, reference), Wasserstein(2, reference), KullbackLeibler(reference)):
        expansion = functional.expand(law)
        t = 1e-3
        ahead, behind = (functional.value(law.moved(step, sign * t)) for sign in (1, -1))
        assert expansion.influence(step) == pytest.approx((ahead - behind) / (2 * t), rel=1e-4, abs=1e-7)
        numeric = (ahead + behind - 2 * expansion.value) / (2 * t**2)
        assert expansion.curvature(step, LOWER, UPPER) == pytest.approx(numeric, rel=2e-2, abs=1e-5)


def test_names_of_references():
    law = LAWS["wavy"][0]
    assert str(Wasserstein(2, law)) == "wasserstein(2, given)"
    assert str(KullbackLeibler(Reference("last_year", law))) == "kullback_leibler(last_year)"
    for wrong in ("normal", 3, None, Reference("last_year", 3)):
        with pytest.raises(SchemeError, match="reference must be 'uniform' or, from Python, a density"):
            KullbackLeibler(wrong)
    for wrong in ("uniform", "Last year"):
        with pytest.raises(SchemeError, match="lower-case letters"):
            Reference(wrong, law)


def test_references_that_cannot_be_taken_are_refused_with_a_reason():
    elsewhere = FunctionDensity(0.0, 1.0, lambda x: np.ones(np.shape(x)))
    half = FunctionDensity(LOWER, UPPER, lambda x: np.where(np.asarray(x) < 1, 0.5, 0.0), breaks=(1.0,))
    for functional in (Wasserstein(1, elsewhere), KullbackLeibler(elsewhere)):
        assert "give one on the attribute's bounds" in functional.refuses(LOWER, UPPER)
        with pytest.raises(SchemeError, match="the reference lives on"):
            functional.value(LAWS["wavy"][0])
    assert "nowhere zero" in KullbackLeibler(half).refuses(LOWER, UPPER)
    assert Wasserstein(1, half).refuses(LOWER, UPPER) is None


def test_distances_from_itself_are_zero_and_have_no_normal_limit():
    law = LAWS["wavy"][0]
    for p in (1, 2):
        functional = Wasserstein(p, law)
        assert functional.value(law) == pytest.approx(0, abs=1e-7)
        assert not functional.has_normal_limit(law)
        with pytest.raises(SchemeError, match="no influence where law and reference are equal"):
            functional.expand(law)
        assert Wasserstein(p, "uniform").has_normal_limit(law)
        assert not Wasserstein(p, "uniform").has_normal_limit(law, within=0.5)
    assert KullbackLeibler(law).value(law) == pytest.approx(0, abs=1e-12)
    assert all(parse(text).has_normal_limit(law) for text in TEXTS)


def test_the_distance_near_equality_grows_as_the_norm_of_the_step():
    """W1 of f + t h from f is |t| int |H|, which no T describes: the reason for `has_normal_limit`."""
    law, step = LAWS["wavy"]
    ahead, behind = (Wasserstein(1, law).value(law.moved(step, t)) for t in (1e-3, -1e-3))
    assert ahead == pytest.approx(behind, rel=1e-9)
    assert ahead > 1e-6


def test_a_linear_functional_of_many_sets_needs_no_square_of_them():
    """62 options, 4 of them at most, have 597,619 sets: a matrix of them would have 2.6 TB."""
    many = 597_619
    assert parse("mean").of_probabilities(np.full(many, 1 / many), np.ones(many)) == pytest.approx(1)
