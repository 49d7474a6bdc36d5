"""The figure and the two tables of rates of [WassermanZhou2010], by simulation.

Errors are means over independent databases; a slope is that of log error on log n, by least squares, beside the stated
exponent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import sqrt

import numpy as np
import pandas as pd
import scipy

from dpcore._random import Source
from dpcore.laboratory.central.densities.distances import kolmogorov_smirnov
from dpcore.laboratory.central.densities.orthogonal_series import CELLS, PerturbedSeries, printed_loss, sensitivity
from dpcore.laboratory.central.densities.perturbed_histogram import PerturbedHistogram
from dpcore.laboratory.central.densities.releases import cosines
from dpcore.laboratory.central.densities.smoothed_histogram import SmoothedHistogram
from dpcore.laboratory.central.exponential.approximate_exponential import ApproximateExponential, coefficients
from dpcore.laboratory.central.exponential.released_samples import kolmogorov_smirnov_size
from dpcore.laboratory.central.exponential.small_ball import accuracy_bound, small_ball_probability
from dpcore.populations import Beta
from dpcore.privacy.budget import Budget

BINS = (4, 6, 8, 10, 15, 20, 30, 50, 100)
# Mean integrated squared errors that 2,000 runs gave when the theory was written; the slides print a picture only.
STATED: dict[tuple[int, str], tuple[float, ...]] = {
    (100, "none"): (0.63, 0.26, 0.18, 0.154, 0.16, 0.19, 0.29, 0.48, 0.98),
    (100, "0.1"): (1.11, 1.14, 1.43, 1.71, 2.34, 2.75, 3.28, 3.75, 4.13),
    (100, "0.01"): (2.82, 3.26, 3.57, 3.88, 4.07, 4.19, 4.25, 4.46, 4.45),
    (1000, "none"): (0.61, 0.22, 0.13, 0.087, 0.049, 0.038, 0.037, 0.050, 0.099),
    (1000, "0.1"): (0.62, 0.24, 0.16, 0.140, 0.165, 0.233, 0.42, 0.87, 1.82),
    (1000, "0.01"): (1.13, 1.12, 1.42, 1.68, 2.31, 2.75, 3.26, 3.79, 4.15),
}
_FINE = 64  # parts of a bin, at whose edges distribution functions are compared
_ORDER = 1.25  # of the Sobolev ball of the exponential series: steps of its few terms come at smaller n than at order 2
Errors = Callable[[int, Source], float]


def perturbed_histogram_errors(runs: int, random: Source) -> pd.DataFrame:
    """Return the figure's curves: n, epsilon ('none' without noise), bins, error, standard_error, stated.

    The error is int (p - p_hat)^2 for Beta(10, 10), of the histogram and of the perturbed one.
    """
    rows = []
    for (n, epsilon), stated in STATED.items():
        for bins, value in zip(BINS, stated, strict=True):
            law = _Binned.of_beta(10, bins)
            mechanism = None if epsilon == "none" else PerturbedHistogram.design(Budget.parse(epsilon), bins)
            errors = []
            for counts in random.generator().multinomial(n, law.masses, size=runs):
                shares = counts / n if mechanism is None else mechanism.release_counts(counts, random).probabilities
                errors.append(law.squared_l2(shares))
            rows.append((n, epsilon, bins, *_mean(errors), value))
    return pd.DataFrame(rows, columns=["n", "epsilon", "bins", "error", "standard_error", "stated"])


def best_bins(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the bins of least error for each n and epsilon: the smaller epsilon, the fewer."""
    return errors.loc[errors.groupby(["n", "epsilon"])["error"].idxmin(), ["n", "epsilon", "bins", "error"]]


def histogram_rates(*, dimension: int, sizes: Sequence[int], runs: int, random: Source) -> pd.DataFrame:
    """Return Table 1's rows of the two histograms for a Lipschitz density, the product of `dimension` Beta(2, 2).

    Columns: mechanism, distance, dimension, n, error, standard_error, rate (the stated exponent of n, logarithms left out).
    The error is of the released sample: k draws, n for the perturbed histogram.  Kolmogorov-Smirnov for dimension 1 only.
    """
    r, budget = dimension, Budget.parse(1)
    kinds: list[tuple[str, str, float, Errors]] = [
        ("smoothed_histogram", "l2", -2 / (2 * r + 3), lambda n, s: _smoothed(n, r, budget, "l2", s)),
        ("perturbed_histogram", "l2", -2 / (2 + r), lambda n, s: _perturbed(n, r, budget, "l2", s)),
    ]
    if r == 1:
        kinds += [
            ("smoothed_histogram", "ks", -2 / (6 + r), lambda n, s: _smoothed(n, r, budget, "ks", s)),
            ("perturbed_histogram", "ks", -1 / 2, lambda n, s: _perturbed(n, r, budget, "ks", s)),
        ]
    return _rows(kinds, r, sizes, runs, random)


def exponential_rates(*, sizes: Sequence[int], runs: int, sweeps: int, random: Source) -> pd.DataFrame:
    """Return Table 1's row of the exponential mechanism, Kolmogorov-Smirnov distance to Beta(2, 2), stated n^{-1/3}.

    The statement is an upper bound and not what happens: with k << n points the loss n D / 2 outweighs their entropy, so that
    F_z keeps to F_x and the error falls as n^{-1/2}.
    Approximate: by Markov chains of `sweeps` moves a point, one database and one chain for each run.
    """
    law, rows = Beta(2, 2), []
    for n in sizes:
        chain = ApproximateExponential.for_kolmogorov_smirnov(1.0, n, log_supremum=float(np.log(1.5)), sweeps=sweeps)
        records = [random.generator().beta(2, 2, n) for _ in range(runs)]
        errors = [kolmogorov_smirnov(chain.samples(x, 1, random)[0], law.cdf) for x in records]
        rows.append(("exponential_mechanism", "ks", 1, n, *_mean(errors), -1 / 3))
    return pd.DataFrame(rows, columns=_COLUMNS)


def series_rates(*, order: float, sizes: Sequence[int], runs: int, random: Source) -> pd.DataFrame:
    """Return Table 2's row of the perturbed series at a Sobolev order, stated n^{-2 order / (2 order + 1)}."""
    law = SobolevLaw(order)

    def error(n: int, source: Source) -> float:
        mechanism = PerturbedSeries.for_rate(Budget.parse(1), n, order)
        release = mechanism.release_counts(source.generator().multinomial(n, law.cells), source)
        return law.squared_l2(release.pdf(_MIDPOINTS))

    rate = -2 * order / (2 * order + 1)
    return _rows([("perturbed_orthogonal_series", "l2", rate, error)], 1, sizes, runs, random)


def exponential_series_rates(*, terms: Sequence[int], runs: int, sweeps: int, random: Source) -> pd.DataFrame:
    """Return Table 2's row of the exponential mechanism, order 1.25, stated n^{-order / (2 order + 1)}.

    n is where k = sqrt(n) points have that many terms, k = terms^{2 order + 1}: their truncation is what the error is made of.
     Approximate: by Markov chains.
    """
    law, rows = SobolevLaw(_ORDER), []
    for m in terms:
        n = int(m ** (2 * _ORDER + 1) + 1e-9) ** 2
        chain = ApproximateExponential.for_orthogonal_series(1.0, n, order=_ORDER, sweeps=sweeps)
        errors = []
        for _ in range(runs):
            records = random.generator().choice(_MIDPOINTS, n, p=law.cells)
            beta = coefficients(chain.samples(records, 1, random), m)[0]
            errors.append(law.squared_l2(1 + cosines(_MIDPOINTS, m) @ beta))
        rows.append(("exponential_mechanism", "l2", 1, n, *_mean(errors), -_ORDER / (2 * _ORDER + 1)))
    return pd.DataFrame(rows, columns=_COLUMNS)


def slopes(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the empirical exponent of n beside the stated one: mechanism, distance, dimension, slope, rate."""
    rows = []
    for key, cell in errors.groupby(["mechanism", "distance", "dimension"]):
        slope = np.polyfit(np.log(cell["n"]), np.log(cell["error"]), 1)[0]
        rows.append((*key, float(slope), float(cell["rate"].iloc[0])))
    return pd.DataFrame(rows, columns=["mechanism", "distance", "dimension", "slope", "rate"])


def printed_series_losses(terms: Sequence[int] = (1, 2, 3, 5, 10, 20, 50)) -> pd.DataFrame:
    """Return the privacy loss over epsilon of the printed series' scale and of ours, by enumeration: terms, printed, ours."""
    budget = Budget.parse(1)
    rows = [(m, printed_loss(m), sensitivity(m) / PerturbedSeries.design(budget, m).scale) for m in terms]
    return pd.DataFrame(rows, columns=["terms", "printed", "ours"])


def small_balls(*, sizes: Sequence[int], radii: Sequence[float], runs: int, random: Source) -> pd.DataFrame:
    """Return small-ball probabilities beside their exact law: size, radius, value, standard_error, exact."""
    rows = []
    for size in sizes:
        for radius in radii:
            estimate = small_ball_probability(size, radius, runs=runs, random=random)
            rows.append(
                (size, radius, estimate.value, estimate.standard_error, float(scipy.stats.kstwo.cdf(radius, size)))
            )
    return pd.DataFrame(rows, columns=["size", "radius", "value", "standard_error", "exact"])


def accuracy_bounds(*, sizes: Sequence[int], radii: Sequence[float], runs: int, random: Source) -> pd.DataFrame:
    """Return Theorem 11's bound for Beta(2, 2) at epsilon = 1 and Theorem 12's k: n, size, radius, small_ball, bound."""
    rows = []
    for n in sizes:
        size = kolmogorov_smirnov_size(n, 1.0, float(np.log(1.5)))
        for radius in radii:
            ball = small_ball_probability(size, radius / 2, runs=runs, random=random).value
            rows.append((n, size, radius, ball, accuracy_bound(n, size, 1.0, radius, 1.5, ball)))
    return pd.DataFrame(rows, columns=["n", "size", "radius", "small_ball", "bound"])


_COLUMNS = ["mechanism", "distance", "dimension", "n", "error", "standard_error", "rate"]
_MIDPOINTS = (np.arange(CELLS) + 0.5) / CELLS


@dataclass(frozen=True, eq=False)
class _Binned:
    """A product law on cubes: masses (cells,), and int p^2."""

    masses: np.ndarray
    square: float

    @classmethod
    def of_beta(cls, a: int, bins: int, dimension: int = 1) -> _Binned:
        one = np.diff(scipy.stats.beta(a, a).cdf(np.arange(bins + 1) / bins))
        x, w = np.polynomial.legendre.leggauss(64)
        square = float((w / 2) @ scipy.stats.beta(a, a).pdf((x + 1) / 2) ** 2)
        return cls(reduce(np.multiply.outer, [one] * dimension).ravel(), square**dimension)

    def squared_l2(self, shares: np.ndarray) -> float:
        """int (p - q)^2 for the density q that is constant on cubes with these shares; exact."""
        shares = shares.ravel()
        return float(self.square + len(shares) * (shares @ shares - 2 * shares @ self.masses))


@dataclass(frozen=True, eq=False)
class SobolevLaw:
    """The density 1 + sum_j beta_j psi_j, beta_j = c j^{-(order + 1/2)}: at the edge of the ball of that order; positive."""

    order: float

    @property
    def beta(self) -> np.ndarray:
        """The coefficients, of half the cells' number."""
        falling = np.arange(1, CELLS // 2) ** -(self.order + 0.5)
        return np.asarray(0.7 / (sqrt(2) * falling.sum()) * falling)

    @property
    def density(self) -> np.ndarray:
        """The density at the middles of 1024 cells."""
        return np.asarray(1 + cosines(_MIDPOINTS, CELLS // 2 - 1) @ self.beta)

    @property
    def cells(self) -> np.ndarray:
        """The probabilities of 1024 cells."""
        return self.density / self.density.sum()

    def squared_l2(self, density: np.ndarray) -> float:
        """int (p - q)^2 on the cells."""
        return float(((self.density - density) ** 2).mean())


def _rows(
    kinds: Sequence[tuple[str, str, float, Errors]], dimension: int, sizes: Sequence[int], runs: int, random: Source
) -> pd.DataFrame:
    rows = []
    for mechanism, distance, rate, error in kinds:
        for n in sizes:
            summary = _mean([error(n, random) for _ in range(runs)])
            rows.append((mechanism, distance, dimension, n, *summary, rate))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _smoothed(n: int, r: int, budget: Budget, distance: str, random: Source) -> float:
    design = SmoothedHistogram.for_squared_l2 if distance == "l2" else SmoothedHistogram.for_kolmogorov_smirnov
    mechanism = design(budget, n, r)
    law, generator = _Binned.of_beta(2, mechanism.bins, r), random.generator()
    counts = generator.multinomial(n, law.masses)
    delta = float(mechanism.delta)
    shares = (1 - delta) * counts / n + delta / mechanism.cells
    return _of_sample(law, mechanism.bins, shares, mechanism.size, distance, generator)


def _perturbed(n: int, r: int, budget: Budget, distance: str, random: Source) -> float:
    mechanism = PerturbedHistogram.for_rate(budget, n, r)
    law, generator = _Binned.of_beta(2, mechanism.bins, r), random.generator()
    release = mechanism.release_counts(generator.multinomial(n, law.masses), random)
    return _of_sample(law, mechanism.bins, release.probabilities.ravel(), n, distance, generator)


def _of_sample(
    law: _Binned, bins: int, shares: np.ndarray, size: int, distance: str, generator: np.random.Generator
) -> float:
    """The distance of a sample of that size: its histogram's, or its distribution function's at 64 edges to a bin."""
    if distance == "l2":
        return law.squared_l2(generator.multinomial(size, shares) / size)
    drawn = generator.multinomial(size, np.repeat(shares / _FINE, _FINE) / shares.sum())
    edges = np.arange(1, bins * _FINE + 1) / (bins * _FINE)
    return float(np.abs(drawn.cumsum() / size - scipy.stats.beta(2, 2).cdf(edges)).max())


def _mean(errors: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(errors)), float(np.std(errors, ddof=1) / sqrt(len(errors)))
