"""The contract of a wavelet basis: orthogonal levels, explicit duals, polynomials reproduced, to 1e-10."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms.bases import SplineWavelet, bspline
from dpcore.mechanisms.bases.dual import synthesis, upper_band
from dpcore.mechanisms.bases.spline_wavelet import smallest_coarsest_level, stencils

FINEST = 7  # blocks reach V_8


BASES = [SplineWavelet(degree, smallest_coarsest_level(degree), FINEST) for degree in range(4)]


class Quadrature:
    """Gauss nodes on the cells of the finest space: exact for products of its functions, and for f times them."""

    def __init__(self, level: int) -> None:
        nodes, weights = np.polynomial.legendre.leggauss(6)
        cells = 1 << level
        self.x = ((np.arange(cells)[:, None] + (nodes + 1) / 2) / cells).ravel()
        self.w = np.tile(weights / 2 / cells, cells)


@pytest.fixture(scope="module")
def rule() -> Quadrature:
    return Quadrature(FINEST + 1)


def values(basis: SplineWavelet, rule: Quadrature) -> list[np.ndarray]:
    return [basis.evaluate(rule.x, block) for block in range(basis.blocks)]


def test_sizes_add_up_to_the_dimension(subtests: pytest.Subtests) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            for block in range(basis.blocks):
                level = basis.coarsest_level + block
                assert sum(basis.size(b) for b in range(block + 1)) == bspline.size(basis.degree, level)


def test_levels_are_orthogonal(rule: Quadrature, subtests: pytest.Subtests) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            blocks = values(basis, rule)
            for a, left in enumerate(blocks):
                for right in blocks[:a]:
                    assert np.abs((left.T * rule.w) @ right).max() < 1e-12


def test_grams_are_inner_products_of_unit_norm_wavelets(rule: Quadrature, subtests: pytest.Subtests) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            for block, functions in enumerate(values(basis, rule)):
                gram = basis.gram(block)
                assert np.allclose(gram, (functions.T * rule.w) @ functions, atol=1e-12)
                assert np.array_equal(gram, gram.T)
                if block:
                    assert np.allclose(np.diagonal(gram), 1, atol=1e-12)
                    assert np.linalg.cond(gram) < 6  # 1, 2.3, 3.6, 5.9: stable at every level
            spline = bspline.evaluate(rule.x, basis.degree, basis.coarsest_level)
            assert np.allclose(basis.evaluate(rule.x, 0), 2 ** (basis.coarsest_level / 2) * spline)


def test_wavelets_have_degree_plus_one_vanishing_moments(rule: Quadrature, subtests: pytest.Subtests) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            for functions in values(basis, rule)[1:]:
                for power in range(basis.degree + 1):
                    assert np.abs(functions.T @ (rule.w * rule.x**power)).max() < 1e-12
                assert np.abs(functions.T @ (rule.w * rule.x ** (basis.degree + 1))).max() > 1e-12


def test_synthesis_is_biorthogonal_to_the_block_and_blind_to_the_others(
    rule: Quadrature, subtests: pytest.Subtests
) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            level = FINEST + 1
            splines = bspline.evaluate(rule.x, basis.degree, level)
            blocks = values(basis, rule)
            for block in range(basis.blocks):
                dual = splines @ basis.synthesis(block, level)
                for other, functions in enumerate(blocks):
                    wanted = np.eye(basis.size(block)) if other == block else 0
                    assert np.abs((dual.T * rule.w) @ functions - wanted).max() < 1e-10


def test_polynomials_up_to_the_degree_are_reproduced_in_every_space(
    rule: Quadrature, subtests: pytest.Subtests
) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            blocks = values(basis, rule)
            for level in range(basis.coarsest_level, FINEST + 2):
                splines = bspline.evaluate(rule.x, basis.degree, level)
                for power in range(basis.degree + 1):
                    f = rule.x**power
                    coefficients = sum(
                        basis.synthesis(block, level) @ (blocks[block].T @ (rule.w * f))
                        for block in range(level - basis.coarsest_level + 1)
                    )
                    assert np.abs(splines @ coefficients - f).max() < 1e-10
            # and the next power is not
            f = rule.x ** (basis.degree + 1)
            level = basis.coarsest_level
            coefficients = basis.synthesis(0, level) @ (blocks[0].T @ (rule.w * f))
            assert np.abs(bspline.evaluate(rule.x, basis.degree, level) @ coefficients - f).max() > 1e-7


def test_projection_through_the_dual_is_the_projection_in_b_splines(
    rule: Quadrature, subtests: pytest.Subtests
) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            f = np.exp(-3 * rule.x) * (1 + np.sin(20 * rule.x))
            for level in range(basis.coarsest_level, FINEST + 2):
                splines = bspline.evaluate(rule.x, basis.degree, level)
                direct = np.linalg.solve(bspline.gram(basis.degree, level), splines.T @ (rule.w * f))
                by_blocks = sum(
                    basis.synthesis(block, level) @ (basis.evaluate(rule.x, block).T @ (rule.w * f))
                    for block in range(level - basis.coarsest_level + 1)
                )
                assert np.allclose(by_blocks, direct, atol=1e-10)


def test_right_boundary_wavelets_mirror_the_left(subtests: pytest.Subtests) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            x = np.linspace(0, 1, 101)[1:-1] + 1e-4
            for block in range(1, basis.blocks):
                left, right = basis.evaluate(x, block), basis.evaluate(1 - x, block)
                for k in range(basis.degree):
                    assert np.allclose(left[:, k], right[:, -1 - k], atol=1e-9)


def test_supports_grow_by_one_cell(subtests: pytest.Subtests) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            boundary, interior = stencils(basis.degree)
            m = basis.degree + 1
            assert [len(s.coefficients) for s in boundary] == [2 * window for window in range(m, 2 * m - 1)]
            assert len(interior.coefficients) == 3 * m - 1
            for block in range(1, basis.blocks):
                gram, degree = basis.gram(block), basis.degree
                assert np.allclose(
                    gram[:degree, :degree], np.eye(degree), atol=1e-12
                )  # orthogonalised to the earlier ones


def test_derivatives_are_limits_of_differences(subtests: pytest.Subtests) -> None:
    for basis in BASES:
        with subtests.test(degree=basis.degree):
            x = (np.arange(50) + 0.413) / 50
            step = 1e-7
            for block in range(basis.blocks - 3):
                slope = (basis.evaluate(x + step, block) - basis.evaluate(x - step, block)) / (2 * step)
                assert np.allclose(basis.evaluate(x, block, order=1), slope, rtol=1e-4, atol=1e-3)


def test_degree_zero_is_haar() -> None:
    haar = SplineWavelet(0, 1, 2)
    assert np.allclose(
        haar.evaluate(np.array([0.1, 0.3, 0.6, 0.9]), 1), np.sqrt(2) * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    )


def test_levels_too_coarse_for_the_wavelets_are_refused(subtests: pytest.Subtests) -> None:
    for degree, least in [(0, 1), (1, 2), (2, 3), (3, 3)]:
        with subtests.test(degree=degree, least=least):
            SplineWavelet(degree, least, least)
            for level in range(-1, least):
                with pytest.raises(CalibrationError, match=f"at least {least}"):
                    SplineWavelet(degree, level, 5)


def test_other_ranges_are_refused(subtests: pytest.Subtests) -> None:
    for arguments in [(4, 3, 4), (-1, 1, 3), (1, 3, 2), (1, 2, 40)]:
        with subtests.test(arguments=arguments), pytest.raises(SchemeError, match="between"):
            SplineWavelet(*arguments)


def test_blocks_and_spaces_out_of_range_are_refused() -> None:
    basis = SplineWavelet(1, 2, 3)
    with pytest.raises(SchemeError, match="block"):
        basis.gram(3)
    with pytest.raises(SchemeError, match="level"):
        basis.synthesis(2, 3)  # W_3 is not in V_3


def test_banded_solve_is_the_inverse() -> None:
    gram = SplineWavelet(3, 3, 5).gram(3)
    assert len(upper_band(gram)) < 12
    assert np.allclose(synthesis(np.eye(len(gram)), gram) @ gram, np.eye(len(gram)), atol=1e-12)
