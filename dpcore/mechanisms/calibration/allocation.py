"""How a budget is spread over the blocks of a basis, and how boundary wavelets are scaled down.

Noise scales are integers, lattice units of the tables, rounded up.  Floats choose what is good; whether it keeps the
budget is decided by the exact loss of `sensitivity`.

Boundary scales.  A few wavelets at the ends are larger than all others and set the sensitivity of their level.  Sending
s_k psi_k with s_k < 1 there, and dividing on the aggregator's side, lets every coordinate have less noise.  Privacy
needs no argument: the sensitivity is that of the scaled table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcore.errors import CalibrationError, SchemeError, check_one_of
from dpcore.mechanisms.bases import Basis, SplineWavelet
from dpcore.mechanisms.calibration.sensitivity import joint_loss, sensitivity, squared_sensitivity
from dpcore.mechanisms.calibration.tables import (
    LATTICE,
    SCALE_ONE,
    Scales,
    column_scales,
    integer_tables,
    largest_wavelet_value,
    unscaled,
)
from dpcore.privacy.concentrated import largest_rho

ALLOCATIONS = ("sample", "split", "paper")
USUAL_EXPONENT = Fraction(3, 2)
_GAIN = 1e-6  # smaller improvements are refused, so that rounding cannot make two machines disagree
_WEIGHT_GRID = 1 << 16
_ROOT_BITS = 48
_REACH = 5  # steps of the search in each direction; wide enough not to stop at a kink


@lru_cache(maxsize=256)
def design_scales(
    epsilon: Fraction, basis: Basis, cells: int, allocation: str, a: Fraction | None = None
) -> tuple[Scales, tuple[int, ...]]:
    """Return the boundary scales and the noise scales of `allocation`, 'sample', 'split' or 'paper' with exponent a."""
    scales = unscaled(basis) if allocation == "paper" else boundary_scales(basis, cells)
    tables = integer_tables(basis, cells, scales)
    if allocation == "paper":
        return scales, paper_scales(epsilon, basis, tables, USUAL_EXPONENT if a is None else a)
    deltas = sensitivities(basis, cells, scales)
    if allocation == "sample":
        return scales, sample_scales(epsilon, deltas)
    return scales, split_scales(epsilon, tables, deltas, noise_energies(basis, scales, deltas))


@lru_cache(maxsize=256)
def sensitivities(basis: Basis, cells: int, scales: Scales) -> tuple[int, ...]:
    """Return the exact sensitivity of every block's table."""
    return tuple(sensitivity(table) for table in integer_tables(basis, cells, scales))


@lru_cache(maxsize=64)
def squared_sensitivities(basis: Basis, cells: int, scales: Scales) -> tuple[int, ...]:
    """Return the exact squared l2 sensitivity of every block's table."""
    return tuple(squared_sensitivity(table) for table in integer_tables(basis, cells, scales))


@lru_cache(maxsize=64)
def loss_together(basis: Basis, cells: int, scales: Scales, noise_scales: tuple[int, ...]) -> Fraction:
    """Return the exact loss of clients that send all blocks."""
    return joint_loss(integer_tables(basis, cells, scales), noise_scales)


@lru_cache(maxsize=32)
def gaussian_scales(epsilon: Fraction, delta: Fraction, basis: Basis, cells: int) -> tuple[Scales, tuple[int, ...]]:
    """Return the boundary scales, and per block the least s with Delta_b^2 / (2 s^2) <= rho, for clients that send one block.

    rho is the largest that keeps (epsilon, delta).
    """
    scales = boundary_scales(basis, cells)
    rho = largest_rho(epsilon, delta)
    wanted = [Fraction(square) / (2 * rho) for square in squared_sensitivities(basis, cells, scales)]
    return scales, tuple(math.isqrt(math.ceil(square) - 1) + 1 for square in wanted)


@lru_cache(maxsize=256)
def boundary_scales(basis: Basis, cells: int) -> Scales:
    """Return the scales that minimise K_j = Delta_j(s)^2 sum_k (G^{-1})_kk / s_k^2 at each wavelet level.

    Multiples of 1/256, the same at both ends; a deterministic search over joint steps of 32/256 down to 1/256 that moves
    only for a relative gain above 1e-6.  K_j is never above its value without scales, Delta_j exact.  Bases without boundary
    functions have none.
    """
    if not isinstance(basis, SplineWavelet):
        return unscaled(basis)
    tables = integer_tables(basis, cells, unscaled(basis))
    return tuple(_search(basis, tables[block], block) for block in range(1, basis.blocks))


def noise_energies(basis: Basis, scales: Scales, sensitivities: Sequence[int]) -> np.ndarray:
    """Return per block 2 Delta_b^2 sum_k unit_k^2 ||dual_k||^2, shape (B,): integrated noise variance at epsilon = n = 1.

    unit_k = 2^{j/2} / (2^16 s_k) takes a lattice integer back to <f, psi_k>.
    """
    energies = []
    for block, delta in enumerate(sensitivities):
        units = block_units(basis, scales, block)
        energies.append(2.0 * delta**2 * float(np.sum(basis.dual_squares(block) * units**2)))
    return np.array(energies)


def block_units(basis: Basis, scales: Scales, block: int) -> np.ndarray:
    """Return the value of one lattice integer of each function, shape (K,): 2^{j/2} 256 / (2^16 s_k)."""
    worth: np.ndarray = 2 ** (basis.level(block) / 2) * SCALE_ONE / (LATTICE * column_scales(basis, scales, block))
    return worth


def sample_scales(epsilon: Fraction, sensitivities: Sequence[int]) -> tuple[int, ...]:
    """Return t_b = ceil(Delta_b / epsilon): each block spends everything, since a client sends one of them."""
    return tuple(math.ceil(delta / epsilon) for delta in sensitivities)


def split_scales(
    epsilon: Fraction, tables: Sequence[np.ndarray], sensitivities: Sequence[int], energies: np.ndarray
) -> tuple[int, ...]:
    """Return the noise scales of the best split: budgets proportional to energy^{1/3}, then tightened by the joint loss.

    Minimising sum_b c_b / w_b^2 with sum_b w_b = 1 gives w_b ~ c_b^{1/3}.  No pair of cells attains the sensitivity of
    every block at once, so that the joint loss leaves room, which is given back to all blocks in proportion.
    """
    roots = np.cbrt(energies)
    weights = [Fraction(max(1, math.floor(_WEIGHT_GRID * w)), _WEIGHT_GRID) for w in roots / roots.sum()]
    first = [math.ceil(delta / (w * epsilon)) for delta, w in zip(sensitivities, weights, strict=True)]
    return rescaled(epsilon, tables, first)


def paper_scales(epsilon: Fraction, basis: Basis, tables: Sequence[np.ndarray], a: Fraction) -> tuple[int, ...]:
    """Return the literal scales of [Szabo2024], enlarged where the exact joint loss exceeds epsilon.

    Half the budget goes to the B-splines, whose rows differ by at most 2; the other half is split as ((a - 1)/a) j^{-a}
    over the levels j, each bounded by 2 (2m - 1) sup|psi|, the supremum over all wavelets.  In lattice units
    t_0 = 2^16 2 / (epsilon/2) and t_j = 2^16 2 (2m - 1) sup|psi| (a/(a - 1)) j^a / (epsilon/2).

    Raises CalibrationError for a <= 1, where sum_j j^{-a} diverges, and for a basis that they do not fit.
    """
    check_literal(basis)
    check_exponent(a)
    half = epsilon / 2
    bound = 2 * (2 * basis.degree + 1) * largest_wavelet_value(basis.degree) * a / (a - 1)
    levels = [basis.level(block) for block in range(1, basis.blocks)]
    scales = [math.ceil(LATTICE * 2 / half)]
    scales += [math.ceil(LATTICE * bound * _power_ceiling(level, a) / half) for level in levels]
    if joint_loss(tables, scales) <= epsilon:
        return tuple(scales)
    return rescaled(epsilon, tables, scales)


def check_allocation(allocation: str, basis: Basis, a: Fraction | None) -> None:
    """Raise SchemeError or CalibrationError unless there is such an allocation, and basis and exponent go with it."""
    check_one_of(ALLOCATIONS, allocation=allocation)
    if allocation == "paper":
        check_literal(basis)
        check_exponent(a or Fraction(0))
    elif a is not None:
        raise SchemeError(f"a belongs to allocation = 'paper', not to {allocation!r}")


def check_literal(basis: Basis) -> None:
    """Raise CalibrationError for a basis that the literal scales do not fit.

    Without orthogonal levels every estimate needs all blocks, and the paper's finest blocks are mostly noise.
    """
    if basis.orthogonal is not basis:
        raise CalibrationError(
            "allocation = 'paper' is the source's mechanism and keeps the source's basis; set basis = \"spline\", or "
            "allocation = 'sample' or 'split'"
        )


def check_exponent(a: Fraction) -> None:
    """Raise CalibrationError unless a > 1 and small enough to compute with."""
    if not 1 < a <= 16 or a.denominator > 1000:
        raise CalibrationError(
            f"allocation = 'paper' needs an exponent 1 < a <= 16 with at most three decimals (1.5 is usual), got a = {a}"
        )


def rescaled(epsilon: Fraction, tables: Sequence[np.ndarray], scales: Sequence[int]) -> tuple[int, ...]:
    """Return the scales times loss/epsilon, rounded up: their joint loss is at most epsilon, and close to it.

    With t'_b >= t_b loss/epsilon every pair of cells has sum_b d_b / t'_b <= (epsilon/loss) sum_b d_b / t_b <= epsilon.
    """
    factor = joint_loss(tables, scales) / epsilon
    return tuple(max(1, math.ceil(scale * factor)) for scale in scales)


def _search(basis: SplineWavelet, table: np.ndarray, block: int) -> tuple[int, ...]:
    degree, functions = basis.degree, basis.size(block)
    best = np.full(degree, SCALE_ONE)
    if not degree:
        return ()
    energy = np.diagonal(np.linalg.inv(basis.gram(block)))
    inner, ends = float(energy[degree : functions - degree].sum()), energy[:degree] + energy[::-1][:degree]
    base, slopes = _distances(table, functions, degree)

    def objective(scales: np.ndarray) -> np.ndarray:
        """K_j up to a constant, for candidates of shape (c, degree); convex in log s, so that local search is global."""
        s = scales / SCALE_ONE
        spread = (base[:, None] + slopes @ s.T).max(axis=0)
        return np.asarray(spread**2 * (inner + (ends / s**2).sum(axis=1)))

    value = float(objective(best[None, :])[0])
    moves = np.array(list(itertools.product(range(-_REACH, _REACH + 1), repeat=degree)))
    step = SCALE_ONE // 8
    while step:
        tried = np.clip(best + step * moves, 1, SCALE_ONE)
        values = objective(tried)
        least = int(np.argmin(values))
        if values[least] < value * (1 - _GAIN):
            best, value = tried[least], float(values[least])
        else:
            step //= 2
    # The search looked at a part of the cells; the exact sensitivities have the last word.
    start = np.full(degree, SCALE_ONE)
    exact = [_exact_objective(basis, table, energy, scales) for scales in (start, best)]
    return tuple(int(scale) for scale in (best if exact[1] <= exact[0] else start))


def _distances(table: np.ndarray, functions: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances of pairs of rows as affine functions of the scales: base (r,) + slopes (r, degree) @ s.

    From 2^j >= 4 m on the two ends have disjoint supports and levels repeat: twice the norms of the rows at the left end
    are enough.  Below, all pairs at a coarser step, one of them in the left half by mirror symmetry.
    """
    is_separated = functions >= 4 * (degree + 1)
    stride = max(1, len(table) // ((64 if is_separated else 32) * functions))
    # Both end cells are in: boundary wavelets are largest there.
    rows = np.concatenate([table[: len(table) // 2 : stride], table[::-1][: len(table) // 2 : stride]]).astype(float)
    half = rows[: len(rows) // 2]
    if is_separated:
        sizes = 2 * np.abs(half[: len(rows) * 2 * (degree + 1) // functions])
    else:
        sizes = np.abs(half[:, None, :] - rows[None, :, :]).reshape(-1, functions)
    base = sizes[:, degree : functions - degree].sum(axis=1)
    slopes = sizes[:, :degree] + sizes[:, ::-1][:, :degree]
    active = base + slopes.sum(axis=1) >= base.max()  # the others are below the maximum whatever the scales
    return base[active], slopes[active]


def _exact_objective(basis: SplineWavelet, table: np.ndarray, energy: np.ndarray, scales: np.ndarray) -> float:
    columns = np.full(len(energy), SCALE_ONE)
    columns[: basis.degree] = scales
    columns[len(energy) - basis.degree :] = scales[::-1]
    # Rounded half up here, away from zero in the tables: one lattice unit cannot turn a comparison that matters.
    scaled = (2 * table * columns + SCALE_ONE) // (2 * SCALE_ONE)
    return float(sensitivity(scaled)) ** 2 * float(np.sum(energy * (SCALE_ONE / columns) ** 2))


def _power_ceiling(j: int, a: Fraction) -> Fraction:
    """A rational at least j^a, within 2^-48: the integer root of j^p 2^(48 q), a = p/q, rounded up."""
    p, q = a.numerator, a.denominator
    target = j**p << (_ROOT_BITS * q)
    low, high = 0, 1 << (target.bit_length() // q + 1)
    while low < high:  # the least root with root^q >= target
        middle = (low + high) // 2
        if middle**q >= target:
            high = middle
        else:
            low = middle + 1
    return Fraction(low, 1 << _ROOT_BITS)
