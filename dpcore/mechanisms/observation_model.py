"""Observation models: how an aggregate depends on the distribution of the inputs; the interface of mechanisms and estimators.

A frequency oracle yields, per category, the sum of a score with one mean for the true category and another for the rest.  A
finite channel without that symmetry yields counts, multinomial around known mixtures of the input cells' probabilities.
Additive noise yields averages of known features of the input cells plus noise of known variance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np

from dpcore.mechanisms.bases import Basis
from dpcore.mechanisms.wave_level import Wave

OneOrEach = float | np.ndarray  # a number for all categories, or one for each, (k,)


class ObservationModel(ABC):
    """How statistics depend on the distribution of input cells.  Checks leave out a model that has not what they need."""

    @abstractmethod
    def expected_statistics(self, law: np.ndarray, n: int) -> np.ndarray:
        """Return the means of the statistics of n reports, shape (S,); law: (inputs,)."""

    def level_counts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the reports of each public level and the distribution of levels, (L,) each; None for a single level."""
        return None

    def single_supports(self, statistics: np.ndarray) -> tuple[ScoreSums, np.ndarray] | None:
        """Return the model of single categories and their supports, (k,); None without them."""
        return None

    def support_covariance(self, statistics: np.ndarray, n: int) -> np.ndarray | None:
        """Return the covariance, (k, k), of their unbiased frequencies from n reports; None if it is that of their model."""
        return None


@dataclass(frozen=True)
class ScoreSums(ObservationModel):
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

    @cached_property
    def contrast(self) -> Fraction:
        """true_mean - other_mean, the difference of the score's means; above zero unless reports are uninformative."""
        return self.true_mean - self.other_mean

    @property
    def is_one_category(self) -> bool:
        """Whether a report scores one category only, so that the sums count reported categories."""
        return self.true_cross == self.other_cross == 0

    def frequencies(self, sums: np.ndarray, n: float | np.ndarray) -> np.ndarray:
        """Return unbiased frequencies, shape (k,), of sums over n > 0 reports, or of many (C, k); they need not sum to one."""
        return np.asarray((np.asarray(sums) / n - float(self.other_mean)) / float(self.contrast))

    def means(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the mean scores of one report, shape (k,), for frequencies (k,) that sum to one."""
        return np.asarray(float(self.other_mean) + float(self.contrast) * np.asarray(frequencies))

    def expected_statistics(self, law: np.ndarray, n: int) -> np.ndarray:
        return n * self.means(law)

    def single_supports(self, statistics: np.ndarray) -> tuple[ScoreSums, np.ndarray]:
        return self, statistics

    def variance(self, frequency: OneOrEach, n: OneOrEach = 1) -> OneOrEach:
        """Return the variance of a category's unbiased frequency from n reports, the sampling of the clients included.

        Infinite if reports are uninformative.
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
        corner = float(self.true_cross - self.other_cross - self.other_mean * self.contrast)
        weights = [[float(self.other_cross - self.other_mean**2), corner], [corner, -float(self.contrast**2)]]
        none, everyone = self.own_variances
        scale = float(self.contrast) ** 2 * n
        return (none + (everyone - none) * f) / n, np.stack([np.ones_like(f), f]), np.array(weights) / scale

    @cached_property
    def own_variances(self) -> tuple[float, float]:
        """n D of `covariance` for a category of frequency 0 and one of frequency 1; it is linear in between.

        For weights w that sum to zero, n Var(w' raw) = sum n D w^2 - (w' f)^2: it depends on no other moment.
        """
        none = (self.other_square - self.other_cross) / self.contrast**2
        everyone = (self.true_square + self.other_cross - 2 * self.true_cross) / self.contrast**2
        return float(none), float(everyone)

    def score_interval(self, raw: np.ndarray, n: OneOrEach, z: OneOrEach) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends, shapes (k,), of the f with |raw - f| <= z sqrt(variance(f, n)): Wilson's interval [Wilson1927].

        Its variance is that of the frequency in question and not of the noisy estimate, so that it keeps its coverage for
        categories that few clients, or none, have.  Ends are not cut at 0 and 1.  n, z: of all categories, or of each, (k,).
        """
        scale = float(self.contrast) ** 2  # n variance(f) = constant + linear f - f^2
        constant = float(self.other_square - self.other_mean**2) / scale
        linear = float(self.true_square - self.other_square - 2 * self.other_mean * self.contrast) / scale
        return wilson(np.asarray(raw, dtype=np.float64), np.asarray(z * z / n), constant, linear)

    def union_interval(self, raw: float, n: int, z: float, share: float) -> tuple[float, float]:
        """Return the ends of `score_interval` of a union; share: how many of all categories it has, 0 < share < 1.

        raw: the sum of their unbiased frequencies, less share times by how much those of all categories exceed one.
        """
        none, everyone = self.own_variances
        gain = everyone - none
        constant = none * self.categories * share * (1 - share) + (gain - 1) * share**2
        low, high = wilson(np.array(raw), np.array(z * z / n), constant, gain + 2 * share * (1 - gain))
        return float(low), float(high)

    def response(self) -> np.ndarray:
        """Return the probabilities of the reported (rows) given the true category (columns), shape (k, k).

        Raises ValueError if a report scores more than one category.
        """
        if not self.is_one_category:
            raise ValueError("a report scores several categories at once, so that it does not name one category")
        matrix = np.full((self.categories, self.categories), float(self.other_mean))
        np.fill_diagonal(matrix, float(self.true_mean))
        return matrix


def wilson(raw: np.ndarray, narrow: np.ndarray, constant: float, linear: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the f with (raw - f)^2 <= narrow (constant + linear f - f^2) [Wilson1927]."""
    leading, half = 1 + narrow, raw + narrow * linear / 2
    root = np.sqrt(np.maximum(half**2 - leading * (raw**2 - narrow * constant), 0.0))
    return (half - root) / leading, (half + root) / leading


@dataclass(frozen=True, eq=False)
class Listed:
    """One level of any finite channel, all of whose weights are listed.

    table: (inputs, outputs) integers of at least 0; an input's outputs have the probabilities of its row over the row's total.

    >>> Listed(np.array([[2, 1, 1], [1, 1, 2]])).matrix()
    array([[0.5 , 0.25],
           [0.25, 0.25],
           [0.25, 0.5 ]])
    """

    table: np.ndarray
    shift: ClassVar[int] = 0  # as a wave has it: no two input cells have one phase

    @property
    def inputs(self) -> int:
        return len(self.table)

    cells = inputs

    @property
    def outputs(self) -> int:
        return self.table.shape[1]

    def matrix(self) -> np.ndarray:
        """Return the probabilities of the outputs (rows) given the inputs (columns), shape (outputs, inputs)."""
        return np.asarray((self.table / self.table.sum(axis=1, keepdims=True)).T)

    def probabilities(self, law: np.ndarray) -> np.ndarray:
        """Return `matrix() @ law`, shape (outputs[, m]); law: (inputs,) or (inputs, m)."""
        return np.asarray(self.matrix() @ law)

    def adjoint(self, scores: np.ndarray) -> np.ndarray:
        """Return `matrix().T @ scores`, shape (inputs[, m]); scores: (outputs,) or (outputs, m)."""
        return np.asarray(self.matrix().T @ scores)


Level = Wave | Listed


@dataclass(frozen=True, eq=False)
class FiniteChannel(ObservationModel):
    """Counts of reported cells, by public level.

    levels: a wave or a list of weights per level, all of the same input cells.
    level_law: (L,) probabilities of the levels.
    Statistics are the counts of the levels' cells, level after level, shape (S,).

    The level is drawn without looking at the input, so that the counts are multinomial within each level given how many
    reports it has: `probabilities` are conditional on the level and sum to one within each.
    """

    levels: tuple[Level, ...]
    level_law: np.ndarray

    @property
    def inputs(self) -> int:
        """How many input cells there are."""
        return self.levels[0].inputs

    @cached_property
    def matrices(self) -> tuple[np.ndarray, ...]:
        """One (outputs_l, inputs) column-stochastic matrix per level; made when asked for."""
        return tuple(wave.matrix() for wave in self.levels)

    def response(self) -> np.ndarray:
        """Return the probabilities of the reported (rows) given the true category (columns), for a single level."""
        (matrix,) = self.matrices
        return matrix

    def split(self, statistics: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the part of each level, shapes (outputs_l[, m]), of counts or scores (S,) or (S, m)."""
        ends = np.cumsum([wave.outputs for wave in self.levels])
        return tuple(np.split(statistics, ends[:-1]))

    def reports(self, statistics: np.ndarray) -> np.ndarray:
        """Return how many reports each level has, shape (L,)."""
        return np.array([counts.sum() for counts in self.split(statistics)])

    def level_counts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        return (self.reports(statistics), self.level_law) if len(self.levels) > 1 else None

    def probabilities(self, law: np.ndarray) -> np.ndarray:
        """Return the cells' probabilities given their level, shape (S[, m]); law: (inputs,) or (inputs, m)."""
        return np.concatenate([wave.probabilities(law) for wave in self.levels])

    def expected(self, law: np.ndarray, n_levels: np.ndarray) -> np.ndarray:
        """Return expected counts, shape (S,), of n_levels (L,) reports of each level; law: (inputs,)."""
        return self.probabilities(law) * np.repeat(n_levels, [wave.outputs for wave in self.levels])

    def expected_statistics(self, law: np.ndarray, n: int) -> np.ndarray:
        return self.expected(law, n * self.level_law)

    def adjoint(self, scores: np.ndarray) -> np.ndarray:
        """Return the sum over levels of A_l' scores_l, shape (inputs[, m]): the transpose of `probabilities`.

        scores: (S,) or (S, m).
        """
        parts = zip(self.levels, self.split(np.asarray(scores)), strict=True)
        return np.asarray(sum(wave.adjoint(part) for wave, part in parts))


@dataclass(frozen=True, eq=False)
class NoisyFeatures(ObservationModel):
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

    def level_counts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        return None if self.block_law is None else (self.split(statistics)[0], self.block_law)

    def expected_statistics(self, law: np.ndarray, n: int) -> np.ndarray:
        reports = n * (np.ones(len(self.tables)) if self.block_law is None else self.block_law)
        sums = [count * (law @ table) for count, table in zip(reports, self.tables, strict=True)]
        return np.concatenate([reports, *sums])

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
