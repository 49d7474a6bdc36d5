"""Means of products E a(X) b(Y), unbiased for every joint distribution, and their covariance.

*Paired*: two reports of one client, independent given the record; the product of unbiased weights for a and b is unbiased for
a(X) b(Y), and its second moment is that of a product again.  *Together*: one report on the product of the cells.  Both are
linear in the table of joint sums, which are exact integers, and so are their second moments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.estimation.joint.report_weights import Side


@dataclass(frozen=True, eq=False)
class Summary:
    """The information of the reports on a smooth joint distribution: estimates of the association, near independence.

    values: (J K,), of the coefficients t in f g (1 + sum t_jk a_j(x) b_k(y)).  covariance: (J K, J K), at independence.
    reading: the expected values under distributions (..., K_x, K_y), shape (..., J K).
    """

    values: np.ndarray
    covariance: np.ndarray
    reading: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Near:
    """Distributions near one, (K_x, K_y), which differ by products of functions (J, K_x) and (K, K_y), and at the margins."""

    law: np.ndarray
    first: np.ndarray
    second: np.ndarray


class Evidence(ABC):
    """Reports of two attributes; n of them."""

    n: int

    @abstractmethod
    def summary(self, first: np.ndarray, second: np.ndarray) -> Summary:
        """Return the estimated coefficients of functions (J, K_x) and (K, K_y), orthonormal at the margins."""

    @abstractmethod
    def association(self, first: np.ndarray, second: np.ndarray) -> float:
        """Return chi-squared of the dependence on such functions, with J K degrees of freedom under independence."""

    @abstractmethod
    def means(self, first: np.ndarray, second: np.ndarray, near: Near | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return means (r,) of products a(X) b(Y) and their covariance (r, r); first: (r, K_x), second: (r, K_y).

        near: the family that contains the true distribution, around one near it; every distribution if None.
        """


@dataclass(frozen=True, eq=False)
class Paired(Evidence):
    """Two reports per client.

    sums: (1 + S_x, 1 + S_y), of products of both reports' statistics, each preceded by a one: counts and sums of each alone are
    the first row and column.
    """

    first: Side
    second: Side
    sums: np.ndarray

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        return round(float(self.sums[0, 0]))

    @cached_property
    def _average(self) -> np.ndarray:
        return np.asarray(self.sums / max(self.n, 1))

    def means(self, first: np.ndarray, second: np.ndarray, near: Near | None = None) -> tuple[np.ndarray, np.ndarray]:
        if near is None:
            g, h = self.first.unbiased(first), self.second.unbiased(second)
        else:
            g, h = self.first.within(near.first, first), self.second.within(near.second, second)
        means = np.einsum("rs,st,rt->r", g, self._average, h, optimize=True)
        i, j = np.triu_indices(len(g))
        left, right = self.first.product(g[i], g[j]), self.second.product(h[i], h[j])
        covariance = _less_means(np.sum((left @ self._average) * right, axis=1), means) / self.n
        if near is not None:  # the part of the functions that the weights miss, at the distribution near the truth
            means_by_cell = self.first.means(g), self.second.means(h)
            pairs = ((first, second, 1), (*means_by_cell, -1))
            means = means + sum(sign * np.einsum("ri,ij,rj->r", a, near.law, b, optimize=True) for a, b, sign in pairs)
        return means, covariance

    def summary(self, first: np.ndarray, second: np.ndarray) -> Summary:
        (g, left), (h, right) = self.first.spoken(first), self.second.spoken(second)
        seen, other = self.first.means(g), self.second.means(h)
        alone = np.outer(g @ self._average[:, 0], self._average[0] @ h.T)

        def reading(laws: np.ndarray) -> np.ndarray:
            return np.asarray((seen @ laws @ other.T).reshape(*laws.shape[:-2], -1))

        return Summary((g @ self._average @ h.T - alone).ravel(), np.kron(left, right) / self.n, reading)

    def association(self, first: np.ndarray, second: np.ndarray) -> float:
        # Where X and Y are independent so are their reports: their covariance D then has the covariance
        # of a product, that of each side's weights, estimated from the sums.
        g, h = self.first.scores(first), self.second.scores(second)
        left, right = self._average[:, 0], self._average[0]
        D = g @ self._average @ h.T - np.outer(g @ left, h @ right)
        own, other = _covariance(self.first, g, left), _covariance(self.second, h, right)
        inverse, second = (np.linalg.pinv(covariance, rcond=1e-10, hermitian=True) for covariance in (own, other))
        return max(0.0, float(self.n * np.trace(inverse @ D @ second @ D.T)))


def _covariance(side: Side, weights: np.ndarray, average: np.ndarray) -> np.ndarray:
    """Covariance of weights (m, 1 + S) applied to one report, (m, m), from the average report."""
    i, j = np.triu_indices(len(weights))
    return _less_means(side.product(weights[i], weights[j]) @ average, weights @ average)


def _less_means(upper: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Covariance, (m, m), from second moments in a triangle's order and means, (m,)."""
    moments = np.zeros((len(means), len(means)))
    moments[np.triu_indices(len(means))] = upper
    return np.asarray(moments + np.triu(moments, 1).T - np.outer(means, means))


@dataclass(frozen=True, eq=False)
class Together(Evidence):
    """One report of both on the product of their cells.

    side: of the product; cells of the second vary fastest.  sums: (1 + S,), preceded by the number of reports.
    """

    side: Side
    sums: np.ndarray

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        return round(float(self.sums[0]))

    def means(self, first: np.ndarray, second: np.ndarray, near: Near | None = None) -> tuple[np.ndarray, np.ndarray]:
        functions = np.einsum("ri,rj->rij", first, second).reshape(len(first), -1)
        family = None if near is None else self._family(near.first, near.second)
        g = self.side.unbiased(functions) if family is None else self.side.within(family, functions)
        average = self.sums / max(self.n, 1)
        means = g @ average
        covariance = _covariance(self.side, g, average) / self.n
        if near is not None:
            means = means + (functions - self.side.means(g)) @ near.law.ravel()
        return means, covariance

    @staticmethod
    def _family(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Functions of each attribute and their products, on the product's cells; the products come last."""
        alone = [np.kron(first, np.ones(second.shape[1])), np.kron(np.ones(first.shape[1]), second)]
        return np.vstack([*alone, np.einsum("ji,kl->jkil", first, second).reshape(len(first) * len(second), -1)])

    def summary(self, first: np.ndarray, second: np.ndarray) -> Summary:
        family, both = self._family(first, second), len(first) * len(second)
        weights, covariance = self.side.spoken(family - (family @ self.side.law)[:, None])
        weights, covariance = weights[-both:], covariance[-both:, -both:]
        seen = self.side.means(weights)

        def reading(laws: np.ndarray) -> np.ndarray:
            return np.asarray(laws.reshape(*laws.shape[:-2], -1) @ seen.T)

        return Summary(weights @ (self.sums / max(self.n, 1)), covariance / self.n, reading)

    def association(self, first: np.ndarray, second: np.ndarray) -> float:
        summary = self.summary(first, second)
        return float(summary.values @ np.linalg.solve(summary.covariance, summary.values))
