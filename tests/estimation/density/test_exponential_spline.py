"""Log-spline densities: mass, distribution function, derivatives and atoms, against quadrature and differences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from dpcore.errors import SchemeError
from dpcore.estimation.density.densities import ExponentialSpline, Spline, cumulated
from dpcore.functionals import Cdf, Entropy, IntegratedSquare, Mean, Probability
from dpcore.mechanisms.bases import bspline

LOWER, UPPER, DEGREE, LEVEL = -1.0, 3.0, 3, 3
ATOMS = (0.1, 0.25)
INSIDE = np.linspace(LOWER, UPPER, 42)[1:-1]  # no knot among them


def _density(atoms: tuple[float, float] = (0.0, 0.0), size: float = 1.5, shift: float = 0.0) -> ExponentialSpline:
    theta = np.random.default_rng(5).normal(size=bspline.size(DEGREE, LEVEL)) * size + shift
    return ExponentialSpline(LOWER, UPPER, DEGREE, LEVEL, theta, atoms)


def _integral(function, lower: float = LOWER, upper: float = UPPER) -> float:
    knots = np.linspace(LOWER, UPPER, (1 << LEVEL) + 1)
    ends = np.unique(np.concatenate([[lower, upper], knots[(knots > lower) & (knots < upper)]]))
    return sum(integrate.quad(function, a, b, epsabs=1e-13)[0] for a, b in pairwise(ends))


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_cumulated_are_the_integrals_of_the_basis(degree):
    u = np.array([0.0, 0.13, 0.5, 0.77, 1.0])
    table = cumulated(u, degree, 2)
    for row, end in zip(table, u, strict=True):
        for k in range(bspline.size(degree, 2)):
            slow = sum(
                integrate.quad(lambda v, k=k: bspline.evaluate(np.array([v]), degree, 2)[0, k], a, b)[0]
                for a, b in ((min(q / 4, end), min((q + 1) / 4, end)) for q in range(4))
            )
            assert row[k] == pytest.approx(slow, abs=1e-10)
    assert table[-1] == pytest.approx(bspline.integrals(degree, 2), abs=1e-14)


def test_the_density_has_the_mass_that_atoms_leave(subtests):
    for atoms in [(0.0, 0.0), (0.1, 0.0), (0.0, 0.25), ATOMS]:
        with subtests.test(atoms=atoms):
            density = _density(atoms)
            assert _integral(density.pdf) == pytest.approx(1 - sum(atoms), abs=1e-10)
            assert np.all(density.pdf(INSIDE) > 0)
            assert np.all(density.pdf([LOWER - 0.01, UPPER + 0.01]) == 0)


def test_a_constant_in_the_exponent_does_not_matter(subtests):
    """Nor does it overflow."""
    for shift in [-2000.0, 0.0, 2000.0]:
        with subtests.test(shift=shift):
            assert _density(ATOMS, shift=shift).pdf(INSIDE) == pytest.approx(_density(ATOMS).pdf(INSIDE), rel=1e-9)


def test_the_log_density_is_the_spline():
    density = _density(ATOMS)
    spline = Spline(LOWER, UPPER, DEGREE, LEVEL, density.coefficients)
    difference = np.log(density.pdf(INSIDE)) - spline.width * spline.pdf(INSIDE)
    assert difference == pytest.approx(difference[0] * np.ones(len(INSIDE)), abs=1e-9)


def test_units_are_those_of_the_attribute():
    """The same law on an interval c times as wide: the density is divided by c, its m-th derivative by c^(m + 1)."""
    narrow = ExponentialSpline(0.0, 1.0, DEGREE, LEVEL, _density().coefficients, ATOMS)
    wide = ExponentialSpline(LOWER, LOWER + 1000.0, DEGREE, LEVEL, _density().coefficients, ATOMS)
    u = np.linspace(0.01, 0.99, 23)
    for order in range(5):
        assert wide.derivative(order)(LOWER + 1000 * u) == pytest.approx(
            narrow.derivative(order)(u) / 1000.0 ** (order + 1), rel=1e-9
        )
    assert wide.cdf(LOWER + 1000 * u) == pytest.approx(narrow.cdf(u), rel=1e-12)
    assert wide.quantile(u) == pytest.approx(LOWER + 1000 * narrow.quantile(u), rel=1e-9)


def test_the_distribution_function_is_the_integral_and_holds_the_atoms(subtests):
    for atoms in [(0.0, 0.0), ATOMS]:
        with subtests.test(atoms=atoms):
            density = _density(atoms)
            for x in (-0.9, 0.0, 0.123, 1.5, 2.99):
                assert density.cdf(x) == pytest.approx(atoms[0] + _integral(density.pdf, LOWER, x), abs=1e-10)
            assert density.cdf([LOWER - 1e-9, LOWER, UPPER, UPPER + 5]) == pytest.approx(
                [0.0, atoms[0], 1.0, 1.0], abs=1e-12
            )
            assert density.cdf(UPPER - 1e-12) == pytest.approx(1 - atoms[1], abs=1e-10)


def test_quantiles_are_the_smallest_x_with_that_much_below(subtests):
    for atoms in [(0.0, 0.0), (0.1, 0.0), (0.0, 0.25), ATOMS]:
        with subtests.test(atoms=atoms):
            density = _density(atoms)
            assert density.quantile(density.cdf(INSIDE)) == pytest.approx(INSIDE, abs=1e-8)
            t = np.linspace(atoms[0] + 1e-6, 1 - atoms[1] - 1e-6, 31)
            assert density.cdf(density.quantile(t)) == pytest.approx(t, abs=1e-10)
            assert density.quantile([0.0, atoms[0], 0.9 * atoms[0]]) == pytest.approx([LOWER] * 3, abs=1e-12)
            assert density.quantile([1 - 0.9 * atoms[1], 1.0]) == pytest.approx([UPPER] * 2, abs=1e-6)
            assert density.quantile(np.full((2, 3), 0.5)).shape == (2, 3)
            for wrong in (-0.1, 1.1, np.nan):
                with pytest.raises(SchemeError, match="between 0 and 1"):
                    density.quantile(wrong)


def test_derivatives_are_limits_of_differences(subtests):
    for order in [0, 1, 2, 3, 4]:
        with subtests.test(order=order):
            density, step = _density(ATOMS, size=0.7), 1e-5
            below, above = (density.derivative(order)(INSIDE + sign * step) for sign in (-1, 1))
            exact = density.derivative(order + 1)(INSIDE)
            assert (above - below) / (2 * step) == pytest.approx(exact, rel=1e-5, abs=1e-5 * np.abs(exact).max())
            assert np.all(density.derivative(order)([LOWER - 0.1, UPPER + 0.1]) == 0)


def test_impossible_orders_are_refused(subtests):
    for order in [-1, 17]:
        with subtests.test(order=order), pytest.raises(SchemeError, match="order"):
            _density().derivative(order)


def test_a_log_density_of_huge_range_stays_proper():
    """Where exp(s) underflows there is no mass, and no NaN."""
    density = _density(size=400.0)
    assert np.all(np.isfinite(density.pdf(INSIDE)))
    assert density.cdf(UPPER) == 1.0
    t = np.linspace(0.01, 0.99, 9)
    assert density.cdf(density.quantile(t)) == pytest.approx(t, abs=1e-6)


def test_functionals_of_a_law_count_atoms_and_those_of_a_density_do_not():
    density = _density(ATOMS)
    atoms = ATOMS[0] * LOWER + ATOMS[1] * UPPER
    assert Mean().value(density) == pytest.approx(_integral(lambda x: x * density.pdf(x)) + atoms, abs=1e-9)
    assert Cdf(0.7).value(density) == pytest.approx(float(density.cdf(0.7)), abs=1e-9)
    assert Probability(0.5, UPPER).value(density) == pytest.approx(1 - float(density.cdf(0.5)), abs=1e-9)
    assert Entropy().value(density) == pytest.approx(
        -_integral(lambda x: density.pdf(x) * np.log(density.pdf(x))), abs=1e-8
    )
    assert IntegratedSquare(0).value(density) == pytest.approx(_integral(lambda x: density.pdf(x) ** 2), abs=1e-8)


def test_what_a_mass_at_the_ends_does_to_a_functional():
    density = _density(ATOMS)
    assert Mean().expand(density).influence.at_ends() == pytest.approx([LOWER, UPPER])
    assert Cdf(0.7).expand(density).influence.at_ends() == pytest.approx([1.0, 0.0])
    for functional in (Entropy(), IntegratedSquare(0)):
        assert functional.expand(density).influence.at_ends() == pytest.approx([0.0, 0.0])


def test_an_influence_counts_the_atoms_of_what_it_is_applied_to():
    """T(f) of a linear functional is its value; without atoms it would be short of theirs."""
    density = _density(ATOMS)
    influence = Mean().expand(density).influence
    assert influence(density) == pytest.approx(Mean().value(density))
    without = influence(density) - influence.at_ends() @ np.array(ATOMS)
    assert without == pytest.approx(_integral(lambda x: x * density.pdf(x)), abs=1e-9)


def test_repr_shows_no_coefficient():
    text = repr(_density(ATOMS))
    assert text == "<ExponentialSpline of degree 3 in V_3 on [-1, 3]>"
