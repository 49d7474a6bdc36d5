"""Variance of weighted estimates: sums over cells of labels, whose reports have weight w_c.

An estimate is, to first order, a sum over public levels l of g_l' s_l, with s_l = sum_c w_c T_cl / W_l the weighted average
report of the level, W_l = sum_c w_c n_cl.  Report i of cell c, at level l with statistics z, adds w_c u_i to it,

    u_i = (g_l' z - m_l) / W_l,    m_l = g_l' s_l.

Weights hold the margins fixed, which removes part of the variance.  With b_c the mean of u over the cell's n_c reports, and r_c
the residual of b_c from its regression on the margins' categories, weighted by w_c n_c [DevilleSarndal1992],

    variance = sum_c w_c^2 [ sum_i (u_i - b_c)^2 + n_c r_c^2 ] / (1 - h_c),

h_c the leverage of a report in the regression.  With one level and one margin of all labels r_c is 0, and this is the sum of
w_c^2 n_c (sum_z s_cz g_z^2 - (g' s_c)^2) / (sum w n)^2.  Several levels, which clients draw independently of their cell, and
margins of single labels leave the cells' shares random, which is included.  Equal weights without margins give the multinomial
variance.  Sums of u_i^2 follow from counts, from second moments of scores, and for additive noise from its distribution and
that of the cell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.density.inner_products import InnerProducts
from dpcore.estimation.weighting.raking import Weights
from dpcore.mechanisms.observation_model import FiniteChannel, NoisyFeatures, ObservationModel, ScoreSums

_BY_MODEL: dict[type[ObservationModel], Callable[..., Strata]] = {}


@dataclass(frozen=True, eq=False)
class Strata(ABC):
    """The reports of one attribute by cell of the labels.

    weights: of the cells.  answered: (C,), reports of the attribute.  statistics: (C, S).
    """

    weights: Weights
    answered: np.ndarray
    statistics: np.ndarray

    def __init_subclass__(cls, model: type[ObservationModel]) -> None:
        _BY_MODEL[model] = cls

    @staticmethod
    def from_aggregate(aggregate: Any, attribute: str, weights: Weights) -> Strata:
        """Return those of an aggregate by label; raises NotEstimable if a model has none."""
        model, held = aggregate.scheme.attributes[attribute].mechanism.model(), aggregate.labelled
        answered, statistics = (
            np.asarray(sums[attribute], dtype=np.float64) for sums in (held.answered, held.statistics)
        )
        if type(model) not in _BY_MODEL:
            raise NotEstimable(f"{attribute}: its estimates cannot be weighted; estimate it by label")
        return _BY_MODEL[type(model)](weights, answered, statistics, model)

    @property
    def total(self) -> float:
        """N = sum w n."""
        return float(self.weights.values @ self.answered)

    @property
    def shrinkage(self) -> float:
        """n_eff / N, with n_eff = N^2 / sum w^2 n."""
        return self.total / float(self.weights.values**2 @ self.answered)

    @property
    def effective_n(self) -> float:
        """n_eff: number of equally weighted reports of the same precision, if cells do not differ."""
        return self.total * self.shrinkage

    @cached_property
    def summed(self) -> np.ndarray:
        """The weighted statistics, (S,), scaled to `effective_n` reports."""
        return np.asarray(self.weights.values @ self.statistics) * self.shrinkage

    def variance(self, G: np.ndarray) -> np.ndarray:
        """Return the variances, (m,), of linear combinations with weights (m, S) of the levels' average reports."""
        squares, _, inflated, left = self._parts(G)
        return np.asarray(squares @ inflated + (left**2 - self._means(G) ** 2) @ (inflated * self.weights.counts))

    def assumed(self, G: np.ndarray) -> np.ndarray:
        """Return the variances, (m,), with `effective_n` equally weighted reports of the weighted distribution."""
        return np.asarray(self.squares(G) @ self.weights.values) / self.shrinkage

    def effect(self, G: np.ndarray) -> np.ndarray:
        """Return the design effects, (m,): variances over those of the same number of equally weighted reports."""
        alike = self.assumed(G) * self.effective_n / max(float(self.answered.sum()), 1.0)
        return _ratio(self.variance(G), alike)

    def ratio(self, G: np.ndarray) -> np.ndarray:
        """Return the ratios of variances to the assumed ones, (m,); 1 if either is zero or unknown."""
        return _ratio(self.variance(G), self.assumed(G))

    def excess(self, G: np.ndarray) -> np.ndarray:
        """Return the covariance, (m, m), of combinations with weights (m, S), less the assumed one."""
        _, means, inflated, left = self._parts(G)
        whole = self.products(inflated - self.weights.values / self.shrinkage, G)
        often = inflated * self.weights.counts
        return whole + (left * often) @ left.T - (means * often) @ means.T

    def offsets(self, G: np.ndarray) -> np.ndarray:
        """Return how much the margins compensate a report of each cell, (m, C): the part of mean u held fixed, times N."""
        means = self._means(G)
        return (means - self._left(means)) * self.total

    def _parts(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Sums of squares and means of u, (m, C), w^2 / (1 - h), (C,), and r, (m, C)."""
        means = self._means(G)
        return self.squares(G), means, self.weights.values**2 / (1 - self._taken), self._left(means)

    def _means(self, G: np.ndarray) -> np.ndarray:
        return self.sums(G) / np.maximum(self.weights.counts, 1)

    def _left(self, means: np.ndarray) -> np.ndarray:
        """Means by cell, (m, C), less their regression on the margins' categories."""
        columns = self.weights.columns
        return means - (means * self._often) @ columns @ self._inverse @ columns.T

    @property
    def _often(self) -> np.ndarray:
        return np.asarray(self.weights.values * self.weights.counts)

    @cached_property
    def _inverse(self) -> np.ndarray:
        columns = self.weights.columns
        return np.asarray(np.linalg.pinv((columns.T * self._often) @ columns, hermitian=True))

    @cached_property
    def _taken(self) -> np.ndarray:
        """Leverage h, (C,), without that of the constant, which has no effect."""
        columns, w = self.weights.columns, self.weights.values
        taken = w * np.einsum("cm,mk,ck->c", columns, self._inverse, columns, optimize=True) - w / self._often.sum()
        return np.clip(taken, 0.0, constants.MAX_SHARE)

    def apart(self, sums: np.ndarray) -> np.ndarray:
        """Return the averages of the cells' reports less the weighted average, (C, k), 0 of empty cells; sums: (C, k)."""
        whole = self.weights.values @ sums / self.total
        return np.where(self.answered[:, None] > 0, sums / np.maximum(self.answered, 1)[:, None] - whole, 0.0)

    @abstractmethod
    def squares(self, G: np.ndarray) -> np.ndarray:
        """Return the sums over each cell's reports of u^2, (m, C); G: (m, S)."""

    @abstractmethod
    def sums(self, G: np.ndarray) -> np.ndarray:
        """Return the sums over each cell's reports of u, (m, C)."""

    @abstractmethod
    def products(self, often: np.ndarray, G: np.ndarray) -> np.ndarray:
        """Return the sum over all reports of u u', (m, m), each cell's times a number, (C,)."""


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    is_finite = np.isfinite(above) & np.isfinite(below) & (above > 0) & (below > 0)
    return np.where(is_finite, above, 1.0) / np.where(is_finite, below, 1.0)


@dataclass(frozen=True, eq=False)
class _Counted(Strata, model=FiniteChannel):
    """A finite channel: a report is one output, and counts are sufficient."""

    channel: FiniteChannel

    @cached_property
    def _level(self) -> np.ndarray:
        """Which level each output is of, (S, L), ones and zeros."""
        outputs = [level.outputs for level in self.channel.levels]
        return np.repeat(np.eye(len(outputs)), outputs, axis=0)

    @cached_property
    def _weight(self) -> np.ndarray:
        """W of each output's level, (S,)."""
        return np.maximum(self._level @ (self._level.T @ (self.weights.values @ self.statistics)), constants.TINY)

    def _added(self, G: np.ndarray) -> np.ndarray:
        """u of each output, (m, S)."""
        shares = self.weights.values @ self.statistics / self._weight
        added: np.ndarray = (G - (G * shares) @ self._level @ self._level.T) / self._weight
        return np.where(self._weight > constants.TINY, added, 0.0)

    def squares(self, G: np.ndarray) -> np.ndarray:
        return np.asarray(self._added(G) ** 2 @ self.statistics.T)

    def sums(self, G: np.ndarray) -> np.ndarray:
        return np.asarray(self._added(G) @ self.statistics.T)

    def products(self, often: np.ndarray, G: np.ndarray) -> np.ndarray:
        added = self._added(G)
        return np.asarray((added * (often @ self.statistics)) @ added.T)


@dataclass(frozen=True, eq=False)
class _Scored(Strata, model=ScoreSums):
    """Score sums: second moments of a report are linear in its cell's frequencies, for which the sums are unbiased."""

    model: ScoreSums

    @property
    def _answered_once(self) -> np.ndarray:
        return np.maximum(self.answered, 1)[:, None]

    @cached_property
    def _apart(self) -> np.ndarray:
        """The cells' average scores less the weighted average, (C, k)."""
        return self.apart(self.statistics)

    @cached_property
    def _frequencies(self) -> np.ndarray:
        """Unbiased, of each cell, (C, k)."""
        return self.model.frequencies(self.statistics, self._answered_once)

    def _own(self, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Own variances of one report's scores, (C, k), and the weights of their shared covariance, (2, 2)."""
        own, _, shared = self.model.covariance(frequencies, 1)
        scale = float(self.model.contrast) ** 2
        return own * scale, shared * scale

    def squares(self, G: np.ndarray) -> np.ndarray:
        own, shared = self._own(self._frequencies)
        ones, along = G.sum(axis=1, keepdims=True), G @ self._frequencies.T
        varying = G**2 @ own.T + shared[0, 0] * ones**2 + 2 * shared[0, 1] * ones * along + shared[1, 1] * along**2
        return np.asarray((varying + (G @ self._apart.T) ** 2) * self.answered) / self.total**2

    def sums(self, G: np.ndarray) -> np.ndarray:
        return np.asarray((G @ self._apart.T) * self.answered) / self.total

    def products(self, often: np.ndarray, G: np.ndarray) -> np.ndarray:
        often = often * self.answered / self.total**2
        own, shared = self._own(self._frequencies)
        ones, along, apart = G.sum(axis=1), G @ self._frequencies.T, G @ self._apart.T
        crossed = np.outer(ones, along @ often)
        common = shared[0, 0] * often.sum() * np.outer(ones, ones) + shared[0, 1] * (crossed + crossed.T)
        common += shared[1, 1] * (along * often) @ along.T + (apart * often) @ apart.T
        return np.asarray((G * (often @ own)) @ G.T + common)


@dataclass(frozen=True, eq=False)
class _Noisy(Strata, model=NoisyFeatures):
    """Additive noise: its distribution is known, and the contribution of values follows from the cell's coarse distribution."""

    model: NoisyFeatures

    @cached_property
    def _laws(self) -> np.ndarray:
        """Distributions of the input cells, (C, inputs): that of all clients where a cell has too few reports."""
        everyone = InnerProducts.from_statistics(self.model, self.summed).law
        return np.array([_law(self.model, cell, everyone) for cell in self.statistics])

    @cached_property
    def _blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """Reports of each cell and block, (C, B), and W of each block, (B,)."""
        reports = np.array([self.model.split(cell)[0] for cell in self.statistics])
        return reports, np.maximum(self.weights.values @ reports, constants.TINY)

    def _by_block(self, G: np.ndarray) -> list[np.ndarray]:
        """The part of the weights, (m, S), of each block, (m, K_b), without the counts of reports."""
        return list(self.model.split(np.asarray(G).T)[1])

    def _averages(self, G: np.ndarray) -> np.ndarray:
        """m of each block, (m, B)."""
        _, W = self._blocks
        sums = self.model.split(self.weights.values @ self.statistics)[1]
        pairs = zip(self._by_block(G), sums, W, strict=True)
        return np.array([block.T @ total / weight for block, total, weight in pairs]).T

    def squares(self, G: np.ndarray) -> np.ndarray:
        reports, W = self._blocks
        averages, parts = self._averages(G), []
        together = np.zeros((len(G), len(self.model.tables[0])))
        for b, block in enumerate(self._by_block(G)):
            noise = self.model.noise_variances[b] * np.sum(block**2, axis=0)
            added = (self.model.tables[b] @ block).T - averages[:, b : b + 1]
            together += added / W[b]
            values = added**2 @ self._laws.T if self.model.block_law is not None else np.zeros((len(G), len(reports)))
            parts.append((noise[:, None] + values) * reports[:, b] / W[b] ** 2)
        whole = np.sum(parts, axis=0)
        return np.asarray(
            whole if self.model.block_law is not None else whole + together**2 @ self._laws.T * reports[:, 0]
        )

    def sums(self, G: np.ndarray) -> np.ndarray:
        reports, W = self._blocks
        averages = self._averages(G)
        by_cell = [self.model.split(cell)[1] for cell in self.statistics]
        whole = np.zeros((len(G), len(reports)))
        for b, block in enumerate(self._by_block(G)):
            sums = np.array([cell[b] for cell in by_cell])
            whole += (block.T @ sums.T - averages[:, b : b + 1] * reports[:, b]) / W[b]
        return whole

    def products(self, often: np.ndarray, G: np.ndarray) -> np.ndarray:
        raise NotImplementedError("no estimate of frequencies is made of noisy features")


def _law(model: NoisyFeatures, statistics: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    try:
        return InnerProducts.from_statistics(model, statistics).law
    except NotEstimable:
        return otherwise
