"""How an aggregate depends on the truth: the one interface between mechanisms and estimators.

A frequency oracle yields, for each category, the sum of a score that tells the true category from any other.  A finite
channel without that symmetry yields counts, multinomial around known mixtures of the input cells' probabilities.  Additive
noise yields averages of known features of the input cells plus noise of known variance.  Estimators are written once
against these three.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf

import numpy as np

from dpcore.bases.base import Basis


@dataclass(frozen=True)
class ScoreSums:
    """Sums over the reports of a score of each category: s_x = sum_i score(z_i, x).  Statistics are the sums, shape (k,).

    true_mean, other_mean: E score(z, x) of one report when x is true, and when one given other category is.
    true_square, other_square: E score(z, x)^2 likewise; the means themselves where scores are 0 or 1 ("supports").
    true_cross, other_cross: E score(z, x) score(z, y) when x is true, and when neither x nor y is.

    With d = true_mean - other_mean, f_x = (s_x / n - other_mean) / d is unbiased.  One report of a client drawn from f has
    E score_x = other_mean + d f_x, E score_x^2 = f_x true_square + (1 - f_x) other_square and, for x not y,
    E score_x score_y = (f_x + f_y) true_cross + (1 - f_x - f_y) other_cross: all second moments, exactly.
    """

    categories: int
    true_mean: Fraction
    other_mean: Fraction
    true_square: Fraction
    other_square: Fraction
    true_cross: Fraction
    other_cross: Fraction

    @property
    def contrast(self) -> Fraction:
        """true_mean - other_mean, what tells a category from the others; above zero unless reports say nothing."""
        return self.true_mean - self.other_mean

    @property
    def is_one_category(self) -> bool:
        """Whether a report scores one category only, so that the sums count what was said."""
        return self.true_cross == self.other_cross == 0

    def frequencies(self, sums: np.ndarray, n: int) -> np.ndarray:
        """Return unbiased frequencies, shape (k,), from the sums over n > 0 reports; their sum need not be one."""
        return np.asarray((np.asarray(sums) / n - float(self.other_mean)) / float(self.contrast))

    def means(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the mean scores of one report, shape (k,), for frequencies (k,) that sum to one."""
        return np.asarray(float(self.other_mean) + float(self.contrast) * np.asarray(frequencies))

    def variance(self, frequency: float | np.ndarray, n: int = 1) -> float | np.ndarray:
        """Return the variance of a category's unbiased frequency from n reports, the sampling of the clients included.

        Infinite where reports say nothing.
        """
        if self.contrast == 0:
            return inf * np.ones(np.shape(frequency))
        square = float(self.other_square) + frequency * float(self.true_square - self.other_square)
        mean = float(self.other_mean) + frequency * float(self.contrast)
        return (square - mean**2) / float(self.contrast) ** 2 / n

    def covariance(self, frequencies: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return D (k,), F (2, k) and W (2, 2): the unbiased frequencies from n reports have covariance diag(D) + F' W F.

        The rows of F are ones and the frequencies, because every second moment above is bilinear in them.
        """
        f = np.asarray(frequencies, dtype=np.float64)
        slope, level = float(self.true_cross - self.other_cross), float(self.other_cross)
        corner = float(self.true_cross - self.other_cross - self.other_mean * self.contrast)
        weights = [[float(self.other_cross - self.other_mean**2), corner], [corner, -float(self.contrast**2)]]
        own = float(self.other_square) + f * float(self.true_square - self.other_square) - level - 2 * slope * f
        scale = float(self.contrast) ** 2 * n
        return own / scale, np.stack([np.ones_like(f), f]), np.array(weights) / scale

    def score_interval(self, raw: np.ndarray, n: int, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends, shapes (k,), of the f with |raw - f| <= z sqrt(variance(f, n)): Wilson's interval [Wilson1927].

        Its variance is that of the frequency in question and not of the noisy estimate, so that it keeps its coverage for
        categories that few clients, or none, have.  Ends are not cut at 0 and 1.
        """
        d, z_squared = float(self.contrast), z * z
        constant = float(self.other_square - self.other_mean**2)  # n d^2 variance(f) = constant + linear f - d^2 f^2
        linear = float(self.true_square - self.other_square - 2 * self.other_mean * self.contrast)
        scale = n * d * d
        raw = np.asarray(raw, dtype=np.float64)
        # (1 + z^2/n) f^2 - (2 raw + z^2 linear / scale) f + raw^2 - z^2 constant / scale <= 0
        leading, half = 1 + z_squared / n, raw + z_squared * linear / scale / 2
        root = np.sqrt(np.maximum(half**2 - leading * (raw**2 - z_squared * constant / scale), 0.0))
        return (half - root) / leading, (half + root) / leading

    def response(self) -> np.ndarray:
        """Return the probabilities of what is said (rows) given what is true (columns), shape (k, k).

        Raises ValueError where a report scores more than one category.
        """
        if not self.is_one_category:
            raise ValueError("a report scores several categories at once, so that no one category is said")
        matrix = np.full((self.categories, self.categories), float(self.other_mean))
        np.fill_diagonal(matrix, float(self.true_mean))
        return matrix


@dataclass(frozen=True, eq=False)
class FiniteChannel:
    """Counts of reported cells.

    matrices: one (outputs_l, inputs) column-stochastic matrix per level.
    level_law: (L,) probabilities of the levels.
    Statistics are the counts of the levels' cells, level after level.
    """

    matrices: tuple[np.ndarray, ...]
    level_law: np.ndarray

    def split(self, statistics: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the counts of each level, shapes (outputs_l,)."""
        ends = np.cumsum([len(matrix) for matrix in self.matrices])
        return tuple(np.split(statistics, ends[:-1]))


@dataclass(frozen=True, eq=False)
class NoisyFeatures:
    """Sums of integer features of the input cell plus noise, in B blocks.

    basis: the functions whose scaled values are the features; block b of the model is block b of the basis.
    tables: per block (inputs, K_b) integers, what a client in that input cell would send without noise.
    units: per block (K_b,) floats; units * (mean of the reports) is unbiased for <f, psi_bk>, f the density on [0, 1].
    noise_variances: (B,) variance of the noise on one integer of one report, lattice units.
    block_law: (B,) probabilities with which a client sends that block alone, or None where every client sends all blocks.
    Statistics are the reports of each block (B,) followed by the sums of each block's integers, block after block.
    """

    basis: Basis
    tables: tuple[np.ndarray, ...]
    units: tuple[np.ndarray, ...]
    noise_variances: np.ndarray
    block_law: np.ndarray | None

    @cached_property
    def _ends(self) -> np.ndarray:
        return np.cumsum([table.shape[1] for table in self.tables])

    def split(self, statistics: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return the reports of each block, shape (B,), and the sums of each block, shapes (K_b,)."""
        blocks = len(self.tables)
        return statistics[:blocks], tuple(np.split(statistics[blocks:], self._ends[:-1]))

    def coefficients(self, statistics: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return unbiased estimates of <f, psi_bk> per block, shapes (K_b,); NaN where a block has no report."""
        reports, sums = self.split(statistics)
        with np.errstate(invalid="ignore", divide="ignore"):
            return tuple(
                unit * (block / np.float64(count)) for unit, block, count in zip(self.units, sums, reports, strict=True)
            )

    def noise_covariances(self, reports: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the variances, shapes (K_b,), of the coefficients' noise, given the reports of each block."""
        return tuple(
            unit**2 * variance / count
            for unit, variance, count in zip(self.units, self.noise_variances, reports, strict=True)
        )

    def noise_energy(self, n: float, level: int, cell_law: np.ndarray | None = None) -> float:
        """Return E int (f_hat - E f_hat)^2 over [0, 1], the variance of the projection estimate on V_level from n reports.

        Levels are orthogonal, so that blocks add: sum_b E[1/n_b] tr(G_b^{-1} C_b), C_b the variance of one report's
        features in units of <f, psi_k>: the noise, diagonal, and with `cell_law` (inputs,), the probabilities of the input
        cells, the spread of the clients' own features too.  Where a client sends one block, n_b is binomial and
        E[1/n_b] = (1 + (1 - pi_b) / (n pi_b)) / (n pi_b) to second order.
        """
        total = 0.0
        for block in range(level - self.basis.coarsest_level + 1):
            energy = self._block_energy(block, cell_law)
            if self.block_law is None:
                total += energy / n
            else:
                expected = n * float(self.block_law[block])
                total += energy / expected * (1 + (1 - float(self.block_law[block])) / expected)
        return total

    def _block_energy(self, block: int, cell_law: np.ndarray | None) -> float:
        inverse, units = np.linalg.inv(self.basis.gram(block)), self.units[block]
        energy = float(np.sum(np.diagonal(inverse) * units**2) * self.noise_variances[block])
        if cell_law is not None:
            features = self.tables[block] * units
            features = features - cell_law @ features
            energy += float(np.sum((features @ inverse) * features * cell_law[:, None]))
        return energy


ObservationModel = ScoreSums | FiniteChannel | NoisyFeatures
