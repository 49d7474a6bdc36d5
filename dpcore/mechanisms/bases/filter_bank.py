"""Biorthogonal spline wavelets, wrapped round [0, 1]: PyWavelets' `biorD.K`, with its filters in exact fractions.

The family of [Cohen1992], filters as [Lee2019] has them.  D is the order of the splines, degree D - 1; K is the number of
polynomials that the other side reproduces.  Two pairs:

- decomposition: phi~ and psi~, rough and of compact support.  Clients evaluate these.
- reconstruction: phi, the B-spline of the knots 0, 1, ..., D, and psi, a spline on half cells.  The aggregator adds these.

Both are refinable, phi(x) = 2 sum_n c_n phi(2x - n) and psi(x) = 2 sum_n (-1)^n c~_{1-n} phi(2x - n), and the same with c and
c~ exchanged; <phi, phi~(. - k)> = 1 where k = 0 and zero elsewhere.  Functions are 2^{j/2} psi(2^j x - k), wrapped round the
circle: every level is made of one function and its translates, and nothing is special at the ends.

Rules.  (1) phi~ has no formula and no value that can be computed in finitely many steps, but its means over dyadic cells are
exact fractions: refinement gives those over half cells from those over cells.  Tables hold means for this reason, and because
means at a rough place are bounded and unbiased for a histogram where a value may be neither.  (2) Nothing here is private:
sensitivities are those of the tables.  (3) The spaces are periodic.  A density with f(0) != f(1) is seen as one with a jump
where the circle closes: in V_{J+1} degrees 1 and 2 smear it over a few of the finest cells at both ends.  Estimates in coarser
spaces do not wrap (see `dual.to_orthogonal`); at the ends of V_j they are off by at most twice the jump times 2^{j-J-1}.

PyWavelets has more pairs than can be used; the error message explains why each of the others is rejected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcore.errors import CalibrationError, SchemeError, check_one_of, check_within
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.bases.base import Basis
from dpcore.mechanisms.bases.spline_wavelet import LARGEST_LEVEL, SplineWavelet, null_space

ACCEPTED = ("bior1.1", "bior1.3", "bior1.5", "bior2.4", "bior2.6", "bior2.8", "bior3.5", "bior3.7", "bior3.9")
_UNBOUNDED = "its decomposition functions are unbounded, and no noise would hide them"
_NO_SPLINE = "its reconstruction functions are no splines"
REFUSED = {
    "bior2.2": _UNBOUNDED,
    "bior3.1": "its decomposition functions are not square integrable, so that coefficients do not exist",
    "bior3.3": _UNBOUNDED,
    "bior4.4": _NO_SPLINE,
    "bior5.5": _NO_SPLINE,
    "bior6.8": _NO_SPLINE,
}
_FILTER_BITS = 24  # the published filters over sqrt(2) are multiples of 2^-17 or coarser
_FINER_BITS = 5  # `evaluate` shows means over cells 2^5 times finer than those of the finest level

Filter = dict[int, Fraction]  # n -> c_n, of sum one


def degree_of(name: str) -> int:
    """Return the degree of the splines of a pair; raise CalibrationError, saying why, for one that cannot be used.

    SchemeError for a name that is none.

    >>> degree_of("bior2.4")
    1
    """
    if name in REFUSED:
        raise CalibrationError(f"basis = {name!r} is refused: {REFUSED[name]}; use one of {', '.join(ACCEPTED)}")
    check_one_of(ACCEPTED, basis=name)
    return int(name[len("bior")]) - 1


@lru_cache(maxsize=16)
def filters(name: str) -> tuple[Filter, Filter]:
    """Return c of the B-spline, first index 0, and c~ of phi~, exact; 2 sum_n c_n c~_{n-2k} is one at k = 0, else zero.

    Raises CalibrationError where PyWavelets' filters are not what this family is.
    """
    order = degree_of(name) + 1
    spline = {n: Fraction(math.comb(order, n), 1 << order) for n in range(order + 1)}
    reconstruction, decomposition = _published(name)
    first = (order + 1 - len(decomposition)) // 2  # both are symmetric, about the same point
    dual = {first + n: value for n, value in enumerate(decomposition)}
    shifts = range(-len(decomposition), len(decomposition) + 1)
    paired = all(2 * sum(value * dual.get(n - 2 * k, 0) for n, value in spline.items()) == (k == 0) for k in shifts)
    if reconstruction != list(spline.values()) or not paired:
        raise CalibrationError(
            f"the filters of {name} in this PyWavelets are not biorthogonal to B-splines; use another"
        )
    return spline, dual


@dataclass(frozen=True)
class FilterBank(Basis):
    """A biorthogonal spline family on the circle: levels coarsest_level..finest_level, B-splines of degree D - 1.

    name: one of `ACCEPTED`, such as "bior2.4".  coarsest_level: at least 1, 2, 3 for degree 0, 1, 2, so that the family is
    comparable with `SplineWavelet`.  finest_level: coarsest_level..10.

    Raises CalibrationError for a refused pair or too coarse a level, SchemeError for other ranges.

    >>> basis = FilterBank("bior2.4", coarsest_level=2, finest_level=4)
    >>> basis.degree, [basis.size(block) for block in range(basis.blocks)]
    (1, [4, 4, 8, 16])
    """

    name: str
    coarsest_level: int
    finest_level: int
    degree: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", degree_of(self.name))
        SplineWavelet(self.degree, self.coarsest_level, self.finest_level)  # the same ranges

    def size(self, block: int) -> int:
        return 1 << self.level(block)

    def means(self, block: int, cells: int) -> tuple[np.ndarray, int]:
        """Return the exact means over the `cells` input cells of the block's first function, without its factor 2^{j/2}.

        Integer numerators, shape (cells,), of dtype object, and their denominator.  Function k is the same, k 2^-j later.
        cells: a power of two, at least 2^{j+1}.
        """
        parts = cells >> self.level(block)
        check_within(2, cells, parts_of_a_cell=parts)
        first, numerators, denominator = _means(self.name, block > 0, parts.bit_length() - 1)
        wrapped = np.zeros(cells, dtype=object)
        np.add.at(wrapped, (first + np.arange(len(numerators))) % cells, numerators)
        return wrapped, denominator

    def evaluate(self, x: np.ndarray, block: int, order: int = 0) -> np.ndarray:
        """Return the means of the block's functions over the dyadic cells that hold x, shape (n, size(block)).

        x: (n,) in [0, 1].  The cells are 2^5 times finer than those of the finest level.

        Raises SchemeError for derivatives, which rough functions do not have, and for x outside [0, 1].
        """
        if order:
            raise SchemeError(
                f"the functions that clients evaluate have no derivatives in {self.name}; got order {order}"
            )
        x = np.asarray(x, dtype=float).ravel()
        if x.size:
            check_within(0, 1, smallest_x=float(np.min(x)), largest_x=float(np.max(x)))
        cells, size = 1 << (self.finest_level + _FINER_BITS), self.size(block)
        numerators, denominator = self.means(block, cells)
        column = (numerators / denominator).astype(float) * 2 ** (self.level(block) / 2)
        cell = np.minimum((x * cells).astype(np.int64), cells - 1)
        return np.asarray(column[(cell[:, None] - np.arange(size) * (cells // size)) % cells])

    def synthesis(self, block: int, level: int) -> np.ndarray:
        self._check_block(block)
        check_within(self.coarsest_level + block, LARGEST_LEVEL + 1, level=level)
        return _synthesis(self, block, level)

    def dual_squares(self, block: int) -> np.ndarray:
        level = self.coarsest_level + block
        duals = self.synthesis(block, level)
        return np.einsum("ik,ik->k", duals, bspline.gram(self.degree, level) @ duals)

    @property
    def boundary(self) -> int:
        return 0

    @property
    def orthogonal(self) -> SplineWavelet:
        return SplineWavelet(self.degree, self.coarsest_level, self.finest_level)


def _published(name: str) -> tuple[list[Fraction], list[Fraction]]:
    """PyWavelets' reconstruction and decomposition low-pass filters over sqrt(2), without the zeros around them."""
    import pywt  # only where these pairs are used: everybody else's clients need numpy alone

    wavelet = pywt.Wavelet(name)
    filters = []
    for published in (wavelet.rec_lo, wavelet.dec_lo):
        exact = [Fraction(round(value / math.sqrt(2) * 2**_FILTER_BITS), 2**_FILTER_BITS) for value in published]
        inside = [n for n, value in enumerate(exact) if value]
        filters.append(exact[inside[0] : inside[-1] + 1])
    return filters[0], filters[1]


def _wavelet(lowpass: Filter) -> Filter:
    """The high-pass filter of the other side: n -> (-1)^n c_{1-n}."""
    return {1 - n: value if n % 2 else -value for n, value in lowpass.items()}


@lru_cache(maxsize=32)
def _means(name: str, is_wavelet: bool, bits: int) -> tuple[int, np.ndarray, int]:
    """Means of phi~ or psi~ over cells of width 2^-bits: the first cell's number, integer numerators, their denominator."""
    spline, dual = filters(name)
    if not is_wavelet:
        masses, denominator = _masses(name, bits)
        return min(dual) << bits, masses << bits, denominator
    # The mean of phi~(2x - n) over a cell is one of phi~ over a cell twice as wide.
    first, coarser, denominator = _means(name, False, bits - 1)
    highpass, scale = _integers(_wavelet(spline))
    reach = 1 << (bits - 1)
    least = min(highpass)
    numerators = np.zeros(len(coarser) + (max(highpass) - least) * reach, dtype=object)
    for n, value in highpass.items():
        start = (n - least) * reach
        numerators[start : start + len(coarser)] += 2 * value * coarser
    return first + least * reach, numerators, denominator * scale


@lru_cache(maxsize=64)
def _masses(name: str, bits: int) -> tuple[np.ndarray, int]:
    """Integrals of phi~ over the cells of width 2^-bits of its support, as integer numerators over one denominator.

    Over unit cells they are an eigenvector, int_i^{i+1} phi~ = sum_n c~_n int_{2i-n}^{2i-n+2} phi~, of sum one.  From there
    a cell [i, i + 1] 2^-bits of phi~ is made of cells [i, i + 1] 2^{1-bits} - n.
    """
    dual = filters(name)[1]
    first, length = min(dual), len(dual) - 1
    if bits == 0:
        matrix = [[Fraction(-int(i == k)) for k in range(length)] for i in range(length)]
        for i in range(length):
            for n, value in dual.items():
                for k in (2 * i - n + first, 2 * i - n + first + 1):
                    if 0 <= k < length:
                        matrix[i][k] += value
        (vector,) = null_space(matrix)
        unit = [entry / sum(vector) for entry in vector]
        denominator = math.lcm(*(entry.denominator for entry in unit))
        return np.array([int(entry * denominator) for entry in unit], dtype=object), denominator
    coarser, denominator = _masses(name, bits - 1)
    integers, scale = _integers(dual)
    masses = np.zeros(2 * len(coarser), dtype=object)
    for n, whole in integers.items():
        start = (n - first) << (bits - 1)
        masses[start : start + len(coarser)] += whole * coarser
    return masses, denominator * scale


def _integers(weights: Filter) -> tuple[dict[int, int], int]:
    """The filter as integers over their common denominator."""
    scale = math.lcm(*(value.denominator for value in weights.values()))
    return {n: int(value * scale) for n, value in weights.items()}, scale


@lru_cache(maxsize=256)
def _synthesis(basis: FilterBank, block: int, level: int) -> np.ndarray:
    own = basis.coarsest_level + block
    if level > own:
        matrix = bspline.refinement(basis.degree, level - 1) @ _synthesis(basis, block, level - 1)
    else:
        matrix = bspline.periodic(basis.degree, own) @ _periodic_duals(basis, block)
    matrix.flags.writeable = False
    return matrix


def _periodic_duals(basis: FilterBank, block: int) -> np.ndarray:
    """The duals of a block in N(2^l x - k), l = coarsest_level + block, wrapped: shape (2^l, size)."""
    size, unit = basis.size(block), 2 ** (basis.level(block) / 2)
    if block == 0:
        return np.eye(size) * unit
    matrix = np.zeros((2 * size, size))
    columns = np.arange(size)
    for n, value in _wavelet(filters(basis.name)[1]).items():
        np.add.at(matrix, ((2 * columns + n) % (2 * size), columns), 2 * float(value) * unit)
    return matrix
