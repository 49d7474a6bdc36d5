"""Without noise both spline families project alike: the biorthogonal estimates are the spline basis's least squares.

Inner products come from `cascade` and from quadrature, not rounded to a lattice, and go through the ladder that estimates are
made with.  What can be true and what cannot: inner products with phi~ and psi~ of V~_{J+1} do not determine those with
B-splines, so for a general density the two agree as far as it is a spline in V_{J+1}.
- A periodic spline in V_{J+1}: at every level, everywhere, to rounding.
- A smooth density: up to c 4^{-(degree + 1)(J + 1)}, away from where the circle closes.  That is below 1e-8 for degree 1 and
  2 at the finest levels used here.  For degree 0 it is zero with bior1.1, whose two pairs are one; bior1.3 and bior1.5 keep
  their 4^{-(J + 1)}.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from dpcore.estimation.density import resolution_levels
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.density.resolution_levels import Ladder
from dpcore.mechanisms.bases import Basis, FilterBank, bspline
from dpcore.mechanisms.bases.filter_bank import ACCEPTED, degree_of
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from tests.helpers.cascade import inner_products

FINEST = {0: 7, 1: 8, 2: 7}  # by degree
MIDDLE = np.linspace(0.4, 0.6, 401)
EVERYWHERE = np.linspace(0, 1, 1201)[:-1]
Function = Callable[[np.ndarray], np.ndarray]


def uneven(x: np.ndarray) -> np.ndarray:
    """A smooth density with f(0) != f(1)."""
    bumps = np.exp(-((x - 0.35) ** 2) / 0.02) / 0.1 + np.exp(-((x - 0.8) ** 2) / 0.125) / 0.25
    return np.asarray(bumps / (2 * np.sqrt(2 * np.pi)))


def round_trip(x: np.ndarray) -> np.ndarray:
    """A smooth periodic density; |f''| is at most 127."""
    return np.asarray(1 + 0.5 * np.sin(2 * np.pi * x) + 0.3 * np.cos(6 * np.pi * x))


def slope(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.2 + 1.6 * x)


@lru_cache(maxsize=4)
def model(name: str, degree: int, finest: int):
    options = {"degree": degree} if name == "spline" else {"basis": name}
    return WaveletLaplace.design(Budget.parse("1"), finest_level=finest, **options).model()


def exact_products(basis: Basis, f: Function, cells: int) -> list[np.ndarray]:
    """<f, every function>; f is smooth inside each of `cells` cells."""
    if isinstance(basis, FilterBank):
        return inner_products(f, basis.name, basis.coarsest_level, basis.finest_level, max(cells.bit_length() - 1, 12))
    level = max(basis.finest_level + 1, cells.bit_length() - 1)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    at = ((np.arange(1 << level)[:, None] + (nodes + 1) / 2) / (1 << level)).ravel()
    products = bspline.evaluate(at, basis.degree, level).T @ (np.tile(weights / 2, 1 << level) / (1 << level) * f(at))
    found = []
    for block in range(basis.blocks):
        functions = basis.refine(block)
        for step in range(basis.coarsest_level + block, level):
            functions = bspline.refinement(basis.degree, step) @ functions
        found.append(functions.T @ products)
    return found


def without_noise(name: str, f: Function, degree: int, finest: int, cells: int = 1) -> Ladder:
    """The ladder of an aggregate whose averages are the exact inner products."""
    of = model(name, degree, finest)
    products = exact_products(of.basis, f, cells)
    reports = np.full(of.basis.blocks, 1e6)
    sums = [z / unit * 1e6 for z, unit in zip(products, of.units, strict=True)]
    return resolution_levels.build(
        InnerProducts.from_statistics(of, np.concatenate([reports, *sums])), 1.0, unit_mass=False
    )


def apart(name: str, f: Function, x: np.ndarray, levels: range | None = None, cells: int = 1) -> dict[int, float]:
    """Per level the largest difference at x of the two families' projections."""
    degree = degree_of(name)
    ours, theirs = (without_noise(one, f, degree, FINEST[degree], cells) for one in (name, "spline"))
    return {
        j: float(np.abs(bspline.evaluate(x, degree, j) @ (ours.coefficients(j) - theirs.coefficients(j))).max())
        for j in levels or ours.levels
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ACCEPTED)
def test_splines_of_the_finest_space_are_projected_alike_at_every_level(name: str) -> None:
    degree = degree_of(name)
    level = FINEST[degree] + 1
    rng = np.random.default_rng(level)
    circle = bspline.periodic(degree, level) @ rng.uniform(0.2, 1.8, 1 << level)

    def f(x: np.ndarray) -> np.ndarray:
        return (bspline.evaluate(np.ravel(x), degree, level) @ circle).reshape(np.shape(x))

    assert max(apart(name, f, EVERYWHERE, cells=1 << level).values()) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("name", ACCEPTED)
def test_smooth_densities_are_projected_alike_away_from_the_ends(name: str) -> None:
    degree = degree_of(name)
    finest = FINEST[degree]
    gaps = [
        *apart(name, uneven, MIDDLE, range(6, finest + 2)).values(),
        *apart(name, round_trip, MIDDLE).values(),
    ]
    if degree or name == "bior1.1":
        assert max(gaps) < 1e-8
    else:  # h^2 f'' / 12, and no more: phi~ is exact for parabolas at the centre of a cell, which means over cells are not
        assert 1e-8 < max(gaps) < 1.05 * 130 / 12 * 4.0 ** -(finest + 1)


def test_partial_sums_over_levels_are_not_the_projection(subtests: pytest.Subtests) -> None:
    """The planted bug: adding up blocks 0..j - j0, as if levels were orthogonal."""
    for name in ["bior2.4", "bior3.9"]:
        with subtests.test(name=name):
            degree = degree_of(name)
            of = model(name, degree, 5)
            z = exact_products(of.basis, round_trip, 1)
            rungs, j = without_noise(name, round_trip, degree, 5), of.basis.coarsest_level
            oblique, projected = of.basis.synthesis(0, j) @ z[0], rungs.coefficients(j)
            assert np.abs(bspline.evaluate(EVERYWHERE, degree, j) @ (oblique - projected)).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bior1.3", "bior2.8", "bior3.5"])
def test_a_density_with_different_ends_is_smeared_at_the_finest_level_only(name: str) -> None:
    degree = degree_of(name)
    finest = FINEST[degree]
    rungs = without_noise(name, slope, degree, finest)
    exact = without_noise("spline", slope, degree, finest)
    ends = np.array([0.0, 1.0])
    error = {
        j: float(np.abs(bspline.evaluate(ends, degree, j) @ (rungs.coefficients(j) - exact.coefficients(j))).max())
        for j in rungs.levels
    }
    jump = 1.6
    if degree == 0:  # a histogram sees a jump between cells as it is
        assert max(error.values()) < 1e-8
        return
    assert error[finest + 1] > 0.3 * jump  # half of it
    for j in range(rungs.levels[0], finest - 1):
        assert error[j] < 2 * jump * 2.0 ** (j - finest - 1)
