"""The contract of the biorthogonal basis: exact filters, exact means, duality, what is refused and why."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import pywt

from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms.bases import FilterBank, SplineWavelet, bspline
from dpcore.mechanisms.bases.dual import to_orthogonal
from dpcore.mechanisms.bases.filter_bank import ACCEPTED, REFUSED, degree_of, filters
from dpcore.mechanisms.bases.registry import build
from dpcore.mechanisms.bases.registry import degree_of as degree_of_any
from dpcore.mechanisms.bases.spline_wavelet import smallest_coarsest_level
from tests.helpers.cascade import coarser, inner_products, lowpass

FINEST = 6


SOME = ("bior1.3", "bior2.4", "bior3.9")
OTHERS = tuple(name for name in ACCEPTED if name not in SOME)


@pytest.fixture(params=[SOME, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["some", "others"], scope="module")
def bases(request: pytest.FixtureRequest) -> list[FilterBank]:
    return [FilterBank(name, smallest_coarsest_level(degree_of(name)), FINEST) for name in request.param]


def spline(basis: FilterBank, coefficients: np.ndarray):
    level = basis.finest_level + 1
    return lambda x: (bspline.evaluate(np.ravel(x), basis.degree, level) @ coefficients).reshape(np.shape(x))


# Filters


def test_filters_are_exact_and_those_of_pywavelets(bases: list[FilterBank], subtests: pytest.Subtests) -> None:
    for basis in bases:
        with subtests.test(basis=basis.name):
            spline, dual = filters(basis.name)
            for exact, published in zip((spline, dual), lowpass(basis.name), strict=True):
                assert sum(exact.values()) == 1
                assert exact.keys() == published.keys()
                assert all(isinstance(value, Fraction) and value.denominator <= 2**17 for value in exact.values())
                assert all(abs(float(exact[n]) - value) < 1e-15 for n, value in published.items())
            for k in range(-20, 21):
                assert 2 * sum(value * dual.get(n - 2 * k, 0) for n, value in spline.items()) == (k == 0)


def test_filters_that_are_not_the_familys_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpcore.mechanisms.bases import filter_bank

    right = filter_bank._published("bior2.4")
    planted = [*right[1]]
    planted[0] += Fraction(1, 2**20)
    monkeypatch.setattr(filter_bank, "_published", lambda _: (right[0], planted))
    with pytest.raises(CalibrationError, match="not biorthogonal"):
        filter_bank.filters.__wrapped__("bior2.4")


# Means


@cache
def slow_mass(name: str, position: Fraction, width: Fraction) -> Fraction:
    """int of phi~ over [position, position + width], by its definition: down to unit cells, whose values are given."""
    dual = filters(name)[1]
    if width == 1:
        return unit_masses(name).get(position, Fraction(0))
    return sum((value * slow_mass(name, 2 * position - n, 2 * width) for n, value in dual.items()), Fraction(0))


@cache
def unit_masses(name: str) -> dict[Fraction, Fraction]:
    """The fixed point of refinement on unit cells, found in floats by iteration, then as fractions of the same numbers."""
    dual = lowpass(name)[1]
    first, length = min(dual), len(dual) - 1
    masses = np.full(length, 1 / length)
    for _ in range(200):
        masses = np.array(
            [
                sum(
                    value * masses[k]
                    for n, value in dual.items()
                    for k in (2 * i - n + first, 2 * i - n + first + 1)
                    if 0 <= k < length
                )
                for i in range(length)
            ]
        )
    return {Fraction(first + i): Fraction(float(mass)) for i, mass in enumerate(masses)}


@pytest.mark.parametrize("name", ["bior1.3", "bior2.4", pytest.param("bior3.5", marks=pytest.mark.slow)])
def test_means_are_those_of_refinement(name: str) -> None:
    basis = FilterBank(name, 3, 4)
    low, high = filters(name)[1], {1 - n: (-1) ** (1 - n) * value for n, value in filters(name)[0].items()}
    for block, cells in ((0, 32), (1, 64), (2, 64)):
        size, parts = basis.size(block), cells // basis.size(block)
        numerators, denominator = basis.means(block, cells)
        width = Fraction(1, parts)
        reach = range(-len(low), len(low) + 1)  # turns of the circle are taken unit by unit
        for cell in range(0, cells, 3):
            slow = Fraction(0)
            for turn in reach:
                at = Fraction(cell, parts) + turn * size
                if block == 0:
                    slow += slow_mass(name, at, width) / width
                else:  # psi~(x) = 2 sum_n d_n phi~(2x - n)
                    masses = (value * slow_mass(name, 2 * at - n, 2 * width) for n, value in high.items())
                    slow += 2 * sum(masses, Fraction(0)) / (2 * width)
            assert float(Fraction(int(numerators[cell]), denominator)) == pytest.approx(float(slow), abs=1e-12)


def test_means_add_up(bases: list[FilterBank], subtests: pytest.Subtests) -> None:
    """Means of halves average to means of wholes; block 0 is a partition of unity; wavelets have mean zero."""
    for basis in bases:
        with subtests.test(basis=basis.name):
            for block in range(basis.blocks):
                fine, over = basis.means(block, 4096)
                coarse, under = basis.means(block, 2048)
                assert [Fraction(int(a), 2 * over) for a in fine[::2] + fine[1::2]] == [
                    Fraction(int(a), under) for a in coarse
                ]
                assert sum(fine) == (0 if block else over * (4096 >> basis.level(block)))
                if block == 0:
                    folded = fine.reshape(basis.size(0), -1).sum(axis=0)
                    assert all(value == over for value in folded)


def test_evaluate_is_means_and_refuses_derivatives(bases: list[FilterBank], subtests: pytest.Subtests) -> None:
    for basis in bases:
        with subtests.test(basis=basis.name):
            cells = 1 << (FINEST + 5)
            x = (np.arange(cells) + 0.25) / cells
            for block in range(basis.blocks):
                values = basis.evaluate(x, block)
                assert values.shape == (cells, basis.size(block))
                numerators, denominator = basis.means(block, cells)
                first = (numerators / denominator).astype(float) * 2 ** (basis.level(block) / 2)
                assert np.allclose(values[:, 0], first, atol=1e-12)
                assert np.array_equal(values[:, 1], np.roll(values[:, 0], cells // basis.size(block)))
                assert np.array_equal(basis.evaluate(np.array([1.0]), block)[0], values[-1])
            with pytest.raises(SchemeError, match="no derivatives"):
                basis.evaluate(x, 0, order=1)
            with pytest.raises(SchemeError, match="between"):
                basis.evaluate(np.array([1.1]), 0)


def test_what_is_accepted_is_bounded_and_what_is_refused_is_not() -> None:
    """The largest mean of phi~ settles as cells shrink, or it does not."""

    def largest(name: str, bits: int) -> float:
        dual = lowpass(name)[1]
        first = min(dual)
        masses = np.array([float(value) for value in unit_masses(name).values()])
        for step in range(bits):
            finer = np.zeros(2 * len(masses))
            for n, value in dual.items():
                finer[(n - first) << step :][: len(masses)] += value * masses
            masses = finer
        return float(np.max(np.abs(masses))) * 2**bits

    for name in ACCEPTED:
        assert largest(name, 11) < 1.03 * largest(name, 7)
    for name in ("bior2.2", "bior3.3"):
        assert largest(name, 11) > 1.3 * largest(name, 7)
    # phi~ of bior3.1: the transition operator of its square norm has an eigenvalue above one
    taps = np.array(list(lowpass("bior3.1")[1].values()))
    square, reach = np.convolve(taps, taps[::-1]), len(taps) - 1
    lags = range(-reach, reach + 1)
    transition = [[2 * square[2 * i - k + reach] if abs(2 * i - k) <= reach else 0 for k in lags] for i in lags]
    assert max(abs(np.linalg.eigvals(transition))) > 1.5


# Duality


def test_duals_are_biorthogonal_and_span_the_periodic_splines(
    bases: list[FilterBank], subtests: pytest.Subtests
) -> None:
    """<dual, function> is one for the same function and zero for all others, across levels too."""
    for basis in bases:
        with subtests.test(basis=basis.name):
            level = FINEST + 1
            for block in range(basis.blocks):
                duals = basis.synthesis(block, level)
                for k in {0, basis.size(block) // 3, basis.size(block) - 1}:
                    found = inner_products(spline(basis, duals[:, k]), basis.name, basis.coarsest_level, FINEST, level)
                    for other, z in enumerate(found):
                        wanted = np.eye(basis.size(block))[k] if other == block else 0
                        assert np.abs(z - wanted).max() < 1e-10
            every = np.hstack([basis.synthesis(block, level) for block in range(basis.blocks)])
            assert every.shape == (2**level + basis.degree, 2**level)
            assert np.linalg.matrix_rank(every) == 2**level


def test_one_level_down_is_pywavelets_own_transform(bases: list[FilterBank], subtests: pytest.Subtests) -> None:
    """`cascade.coarser` is pywt.dwt on the circle, but for where it starts to count and the wavelet's sign."""
    for basis in bases:
        with subtests.test(basis=basis.name):
            z = np.random.default_rng(3).normal(size=64)
            ours, apart = coarser(z, basis.name), []
            for phase in (0, 1):
                theirs = pywt.dwt(np.roll(z, phase), basis.name, mode="periodization")
                rolled = [[np.roll(part, shift) for shift in range(len(part))] for part in theirs]
                apart.append([min(min(abs(sign * r - part).max() for sign in (1, -1)) for r in all_r)
                              for all_r, part in zip(rolled, ours, strict=True)])  # fmt: skip
            assert min(max(pair) for pair in apart) < 1e-12


def test_wavelets_kill_polynomials_that_the_splines_hold(bases: list[FilterBank], subtests: pytest.Subtests) -> None:
    """psi~ has D vanishing moments, seen away from where the circle closes; not D + 1."""
    for basis in bases:
        with subtests.test(basis=basis.name):
            for power in range(basis.degree + 2):
                blocks = inner_products(lambda x, p=power: x**p, basis.name, basis.coarsest_level, FINEST, FINEST + 1)
                assert (np.abs(blocks[-1][20:-20]).max() < 1e-12) == (power <= basis.degree)


def test_dual_squares_are_integrals(bases: list[FilterBank], subtests: pytest.Subtests) -> None:
    for basis in bases:
        with subtests.test(basis=basis.name):
            nodes, weights = np.polynomial.legendre.leggauss(4)
            cells = 1 << (FINEST + 1)
            x = ((np.arange(cells)[:, None] + (nodes + 1) / 2) / cells).ravel()
            w = np.tile(weights / 2 / cells, cells)
            for block in range(basis.blocks):
                duals = bspline.evaluate(x, basis.degree, FINEST + 1) @ basis.synthesis(block, FINEST + 1)
                assert np.allclose(basis.dual_squares(block), w @ duals**2, rtol=1e-12)


# The way to orthogonal levels


def test_orthogonal_levels_are_the_identity_for_a_basis_that_has_them() -> None:
    basis = SplineWavelet(2, 3, 5)
    assert basis.orthogonal is basis
    assert to_orthogonal(basis, 4) is None
    assert basis.boundary == 2
    haar, twin = FilterBank("bior1.1", 1, 4), SplineWavelet(0, 1, 4)
    assert haar.orthogonal == twin
    turn = to_orthogonal(haar, haar.blocks)  # the same functions, but for signs
    assert turn is not None
    assert np.allclose(np.abs(turn), np.eye(len(turn)), atol=1e-12)


def test_the_turn_gives_inner_products_of_what_the_blocks_say(
    bases: list[FilterBank], subtests: pytest.Subtests
) -> None:
    for basis in bases:
        with subtests.test(basis=basis.name):
            for blocks in [1, 2, 4]:
                with subtests.test(blocks=blocks):
                    z = np.random.default_rng(blocks).normal(size=sum(basis.size(b) for b in range(blocks)))
                    level = basis.coarsest_level + blocks - 1
                    together = np.hstack([basis.synthesis(b, level) for b in range(blocks)]) @ z
                    gram = bspline.gram(basis.degree, level)
                    turn = to_orthogonal(basis, blocks)
                    assert turn is not None
                    found = np.split(turn @ z, np.cumsum([basis.orthogonal.size(b) for b in range(blocks)])[:-1])
                    for block, mine in enumerate(found):
                        functions = basis.orthogonal.refine(block)
                        for step in range(basis.coarsest_level + block, level):
                            functions = bspline.refinement(basis.degree, step) @ functions
                        assert np.allclose(mine, functions.T @ gram @ together, atol=1e-12)


# Names


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_pairs_say_why(name: str) -> None:
    for ask in (lambda: FilterBank(name, 3, 4), lambda: degree_of_any(name), lambda: filters(name)):
        with pytest.raises(CalibrationError, match=REFUSED[name]) as caught:
            ask()
        assert "bior2.4" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_every_biorthogonal_pair_of_pywavelets_is_accepted_or_refused() -> None:
    assert sorted((*ACCEPTED, *REFUSED)) == pywt.wavelist("bior")


def test_names_become_bases() -> None:
    assert build("spline", 2, 3, 4) == SplineWavelet(2, 3, 4)
    assert build("bior3.5", 2, 3, 4) == FilterBank("bior3.5", 3, 4)
    assert [degree_of_any(name) for name in ("spline", "bior1.1", "bior2.4", "bior3.9")] == [2, 0, 1, 2]
    with pytest.raises(SchemeError, match="splines of degree 1, got degree = 2"):
        degree_of_any("bior2.4", 2)
    for name in ("db2", "bior9.9", "rbio2.4", "Spline", ""):
        with pytest.raises(SchemeError, match=r"'spline', 'bior1\.1'"):
            degree_of_any(name)


def test_levels_out_of_range_are_refused(subtests: pytest.Subtests) -> None:
    for levels in [(2, 4), (3, 2), (3, 11)]:
        with subtests.test(levels=levels), pytest.raises(SchemeError, match=r"coarsest_level|finest_level"):
            FilterBank("bior3.5", *levels)


def test_blocks_and_spaces_out_of_range_are_refused() -> None:
    basis = FilterBank("bior2.4", 2, 3)
    assert math.isclose(basis.dual_squares(0)[0], 2 / 3)  # of 2 N(4x - k): 4 (2/3) / 4
    with pytest.raises(SchemeError, match="block"):
        basis.size(3)
    with pytest.raises(SchemeError, match="level"):
        basis.synthesis(2, 3)
    with pytest.raises(SchemeError, match="parts"):
        basis.means(2, 8)
