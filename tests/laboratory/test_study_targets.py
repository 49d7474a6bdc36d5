"""The densities that accuracy is measured on: every quantity against an independent one."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.laboratory.studies.targets.densities import FINEST, NAMES, SEVEN, Target, target
from tests.helpers.cases import of_each_kind

DENSITIES = [name for name in NAMES if target(name).has_density]


@pytest.fixture(params=NAMES)
def law(request: pytest.FixtureRequest) -> Target:
    return target(request.param)


def integral(law: Target, of) -> float:
    ends = np.unique([0.0, *law.corners, *np.linspace(0, 1, 61), 1.0])
    return sum(quad(lambda x: float(of(x)), low, high)[0] for low, high in pairwise(ends))


@pytest.mark.parametrize("cells", [1, 2, 64, FINEST])
def test_cells_are_differences_of_the_distribution_function(law: Target, cells: int) -> None:
    found = law.cells(cells)
    assert found.shape == (cells,)
    assert found.sum() == pytest.approx(1, abs=1e-13)
    assert found.min() >= 0
    just_below = np.nextafter(np.arange(1, cells) / cells, 0)  # a cell holds its left end
    np.testing.assert_allclose(np.cumsum(found)[:-1], law.cdf(just_below), atol=1e-12)
    np.testing.assert_array_equal(law.cell_probabilities("any name", 0.0, 1.0, cells), found)


def test_the_distribution_function_rises_from_nothing_to_one(law: Target) -> None:
    x = np.linspace(-0.1, 1.1, 2001)
    values = law.cdf(x)
    assert np.all(np.diff(values) >= 0)
    assert values[0] == 0
    assert values[-1] == 1
    assert np.all(law.pdf(x[(x < 0) | (x > 1)]) == 0)


BOUNDED = [name for name in DENSITIES if name != "arcsine"]  # the square of which has no integral


def test_the_mean_of_a_density_without_end_is_half() -> None:
    assert target("arcsine").mean == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("name", of_each_kind(BOUNDED, "beta_2_5", "age"))
def test_numbers_are_integrals_of_the_density(name: str) -> None:
    law = target(name)
    assert integral(law, law.pdf) == pytest.approx(1 - law.atom_mass, abs=1e-8)
    mean = integral(law, lambda x: x * law.pdf(x)) + sum(place * mass for place, mass in law.atoms)
    assert law.mean == pytest.approx(mean, abs=1e-8)
    assert law.integrated_square == pytest.approx(integral(law, lambda x: law.pdf(x) ** 2), abs=1e-7)

    def surprise(x: float) -> float:
        f = float(law.pdf(x))
        return -f * np.log(f) if f > 0 else 0.0

    assert law.entropy == pytest.approx(integral(law, surprise), abs=1e-6)
    x = np.linspace(0.013, 0.987, 37)
    h = 1e-6
    np.testing.assert_allclose(
        (law.distribution(x + h) - law.distribution(x - h)) / (2 * h), law.pdf(x), rtol=1e-5, atol=1e-7
    )


def test_quantiles_invert_the_distribution_function(law: Target) -> None:
    for t in (0.1, 0.5, 0.9):
        x = law.quantile(t)
        assert law.cdf(x) >= t - 1e-12
        assert law.cdf(x - 1e-9) < t + 1e-12


def test_the_mass_above_the_bound_is_an_atom_there() -> None:
    law = target("lognormal")
    ((place, mass),) = law.atoms
    drawn = np.minimum(np.exp(np.log(0.25) + 0.8 * np.random.default_rng(7).standard_normal(10**6)), 1.0)
    assert place == 1.0
    assert abs((drawn == 1).mean() - mass) < 6 * np.sqrt(mass / 10**6)
    assert abs(drawn.mean() - law.mean) < 6 * drawn.std() / 1000
    assert law.cdf(np.nextafter(1.0, 0.0)) == pytest.approx(1 - mass, abs=1e-12)


def test_the_claw_has_five_peaks() -> None:
    density = target("claw").pdf(np.linspace(0, 1, 10_001))
    assert ((density[1:-1] > density[:-2]) & (density[1:-1] > density[2:])).sum() == 5


def test_the_real_sample_is_the_one_we_ship(root: Path) -> None:
    people = pd.read_parquet(root / "data/samples/health_insurance.parquet")["chronic_index"].astype(float)
    law = target("chronic")
    assert len(law.atoms) == people.nunique() == 31
    assert law.mean == pytest.approx(people.mean() / 60, rel=1e-5)
    counts = np.bincount(np.minimum((people / 60 * 64).astype(int), 63), minlength=64)
    np.testing.assert_allclose(law.cells(64), counts / len(people), atol=1e-12)


def test_a_target_is_a_population_of_one_attribute() -> None:
    scheme = dp.Scheme.from_toml(
        'name = "t"\nclients = 1000\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n'
    )
    assert dp.simulate(scheme, target("claw"), random=dp.seeded(1), clients=5000).n == 5000
    with pytest.raises(SchemeError, match=r"lower = 0 and upper = 1, got 0\.0 and 2\.0"):
        target("claw").cell_probabilities("x", 0.0, 2.0, 64)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(SchemeError, match=r"target must be one of beta_10_10, .*; got 'laplace'"):
        target("laplace")
    assert len(SEVEN) == 7


@pytest.mark.parametrize("name", [name for name in DENSITIES if target(name).derivatives])
def test_derivatives_are_those_of_the_density(name: str) -> None:
    law, h = target(name), 1e-4
    x = np.linspace(0.013, 0.987, 211)
    x = x[[min(abs(x_ - c) for c in (0.0, *law.corners)) > 3 * h for x_ in x]]
    first, second = law.derivatives
    for derivative, differences in (
        (first, (law.pdf(x + h) - law.pdf(x - h)) / (2 * h)),
        (second, (law.pdf(x + h) - 2 * law.pdf(x) + law.pdf(x - h)) / h**2),
    ):
        np.testing.assert_allclose(derivative(x), differences, rtol=2e-3, atol=2e-3 * max(1.0, abs(differences).max()))
