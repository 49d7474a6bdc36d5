"""Weights of one attribute's reports whose conditional mean is a given function of the cell.

A report is its statistics s, (S,), preceded by a one.  E (s | x) = A x is linear in the cell; so weights g with A' g = a have
E (g's | x) = a(x) for every distribution, and the mean of a product of two weighted sums is a function of the cell as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums


@dataclass(frozen=True, eq=False)
class Side(ABC):
    """One attribute, with a distribution f near the true one.

    cells: (K, w), the input cells of each cell, with equal shares.  law: f, (K,), positive.
    """

    model: Any
    cells: np.ndarray
    law: np.ndarray

    @staticmethod
    def from_attribute(attribute: Any, cells: np.ndarray, law: np.ndarray) -> Side:
        """Return an attribute's side; raises NotEstimable for reports with additive noise."""
        model = attribute.mechanism.model()
        if isinstance(model, FiniteChannel):
            return _Counted(model, cells, law)
        if isinstance(model, ScoreSums):
            return _Scored(model, cells, law)
        raise NotEstimable(
            f"{attribute.name}: {attribute.mechanism.name} adds noise, and has no joint distribution with others; use "
            "dp.estimate(..., given=...), or collect with dyadic_wave"
        )

    @property
    @abstractmethod
    def channel(self) -> np.ndarray:
        """A, (S, K): the mean statistics of a report given each cell."""

    @abstractmethod
    def unbiased(self, functions: np.ndarray) -> np.ndarray:
        """Return weights (m, 1 + S) with conditional means (m, K), of least variance at f."""

    @abstractmethod
    def product(self, g: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return weights (m, 1 + S) whose conditional mean is E ((g's) (h's) | x), g and h (m, 1 + S) each."""

    @abstractmethod
    def scores(self, functions: np.ndarray) -> np.ndarray:
        """Return the scores (m, 1 + S), of mean zero at f, of small changes f (1 + t' functions).

        functions: (m, K), of mean zero at f.
        """

    def spoken(self, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return efficient weights (m, 1 + S) of t in small changes f (1 + t' functions), and their covariance (m, m).

        functions: (m, K), of mean zero at f.  The covariance is that of one report, at f.
        """
        weights = self.scores(functions)
        information = self.means(weights) @ (functions * self.law).T
        values, directions = np.linalg.eigh((information + information.T) / 2)
        inverse = (directions / np.maximum(values, constants.RANK_TOLERANCE * values[-1])) @ directions.T
        return inverse @ weights, inverse

    def within(self, family: np.ndarray, functions: np.ndarray) -> np.ndarray:
        """Return weights (m, 1 + S) of functions (m, K) with least variance among distributions f (1 + t' family).

        family: (J, K).  They are unbiased for the part of the functions in the family's span, the only part that such changes
        move.
        """
        family = family - (family @ self.law)[:, None]
        weights, _ = self.spoken(family)
        gram = (family * self.law) @ family.T
        weights = np.linalg.solve(gram, family * self.law @ functions.T).T @ weights
        weights[:, 0] += functions @ self.law
        return np.asarray(weights)

    def means(self, weights: np.ndarray) -> np.ndarray:
        """Return the conditional means of weights (m, 1 + S) given each cell, (m, K)."""
        return np.asarray(weights[:, :1] + weights[:, 1:] @ self.channel)


@dataclass(frozen=True, eq=False)
class _Counted(Side):
    """A finite channel: a report is one output of one level, its statistics one there and zero elsewhere."""

    model: FiniteChannel

    @cached_property
    def channel(self) -> np.ndarray:
        """Return the probability of each output of each level for a value in each cell, (S, K)."""
        held = np.zeros((self.model.inputs, len(self.cells)))
        np.add.at(held, (self.cells, np.arange(len(self.cells))[:, None]), 1 / self.cells.shape[1])
        outputs = [level.outputs for level in self.model.levels]
        return np.asarray(self.model.probabilities(held) * np.repeat(self.model.level_law, outputs)[:, None])

    @cached_property
    def _weighted(self) -> np.ndarray:
        """D^-1 A, (S, K), D the outputs' probabilities at f."""
        return np.asarray(self.channel / np.maximum(self.channel @ self.law, constants.TINY)[:, None])

    @cached_property
    def _inverse(self) -> np.ndarray:
        """(A' D^-1 A)^+, (K, K), of functions scaled by the root of f, which keeps it well conditioned with rare cells."""
        root = np.sqrt(self.law)
        matrix = root[:, None] * (self.channel.T @ self._weighted) * root
        values, directions = np.linalg.eigh(matrix)
        identified = values > constants.EIGENVALUE_TOLERANCE * values[-1]
        directions = directions[:, identified] * root[:, None]
        return np.asarray((directions / values[identified]) @ directions.T)

    def unbiased(self, functions: np.ndarray) -> np.ndarray:
        return _after_nothing(functions @ self._inverse @ self._weighted.T)

    def product(self, g: np.ndarray, h: np.ndarray) -> np.ndarray:
        return _after_nothing((g[:, :1] + g[:, 1:]) * (h[:, :1] + h[:, 1:]))

    def scores(self, functions: np.ndarray) -> np.ndarray:
        return _after_nothing((functions * self.law) @ self._weighted.T)


@dataclass(frozen=True, eq=False)
class _Scored(Side):
    """Score sums: a report scores every category, and all second moments of its scores are known."""

    model: ScoreSums

    @cached_property
    def channel(self) -> np.ndarray:
        """Return the mean of each category's score for a value in each cell, (S, K)."""
        held = np.eye(self.model.categories)[:, self.cells[:, 0]]
        return float(self.model.other_mean) + float(self.model.contrast) * held

    @property
    def _category_of_cell(self) -> np.ndarray:
        """The category of each cell, (K,): a permutation."""
        return self.cells[:, 0]

    @cached_property
    def _covariance(self) -> np.ndarray:
        """Covariance of one report's scores at f, (k, k)."""
        law = np.empty(len(self.law))
        law[self._category_of_cell] = self.law
        own, shared, weights = self.model.covariance(law, 1)
        return np.asarray((np.diag(own) + shared.T @ weights @ shared) * float(self.model.contrast) ** 2)

    def unbiased(self, functions: np.ndarray) -> np.ndarray:
        contrast, along = float(self.model.contrast), self._covariance.sum(axis=1)
        plain = np.empty(functions.shape)
        plain[:, self._category_of_cell] = functions / contrast
        if float(along.sum()) > constants.EIGENVALUE_TOLERANCE * float(np.trace(self._covariance)):
            # One number may be added to all weights; the weight of the leading one compensates.
            plain = plain - (plain @ along / along.sum())[:, None]
        rest = (functions - contrast * plain[:, self._category_of_cell])[:, :1]
        return np.hstack([rest - float(self.model.other_mean) * plain.sum(axis=1, keepdims=True), plain])

    def product(self, g: np.ndarray, h: np.ndarray) -> np.ndarray:
        model = self.model
        left, right = g[:, 1:], h[:, 1:]
        many, others = left.sum(axis=1, keepdims=True), right.sum(axis=1, keepdims=True)
        cross = float(model.true_cross - model.other_cross)
        none = float(model.other_cross) * many * others
        none = none + float(model.other_square - model.other_cross) * np.sum(left * right, axis=1, keepdims=True)
        own = float(model.true_square - model.other_square) - 2 * cross
        squares = none + own * left * right + cross * (left * others + right * many)
        means = [weights @ self.channel for weights in (left, right)]
        alone = g[:, :1] * means[1] + h[:, :1] * means[0] + g[:, :1] * h[:, :1]
        return self.unbiased(squares[:, self._category_of_cell] + alone)

    def scores(self, functions: np.ndarray) -> np.ndarray:
        weights = (
            (functions * self.law) @ self.channel.T @ np.linalg.pinv(self._covariance, rcond=1e-10, hermitian=True)
        )
        return np.hstack([-(weights @ self.channel @ self.law)[:, None], weights])


def _after_nothing(weights: np.ndarray) -> np.ndarray:
    """Weights with a zero for the leading one."""
    return np.asarray(np.hstack([np.zeros((len(weights), 1)), weights]))


def has_side(attribute: Any) -> bool:
    """Return whether `Side.from_attribute` supports an attribute's mechanism."""
    return isinstance(attribute.mechanism.model(), FiniteChannel | ScoreSums)
