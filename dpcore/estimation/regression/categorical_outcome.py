"""Logistic and multinomial regression through a mechanism, by maximum likelihood.

In cell c with covariates x_c the true categories have the distribution pi_c = softmax(x_c'B), the reference category with
coefficients 0.  Counts of a finite channel with matrix A are multinomial with probabilities A pi_c; sums of scores have the
mean and covariance of `ScoreSums`, which are exact.  With s_c = F_c (f_c - pi_c) the score of the unbiased frequencies f_c and
F_c their information at pi_c, Fisher scoring solves

    sum_c D_c' s_c = 0,    D_c = (diag(pi_c) - pi_c pi_c') (x) x_c,

which is the likelihood equation for counts, and the quasi-likelihood equation for sums of scores [McCullaghNelder1989].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.mechanisms.fisher_information import Information, SeenThrough
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums

UNDETERMINED = (
    "the reports do not determine every coefficient; merge categories, drop an interaction, or collect more reports"
)


@dataclass(frozen=True, eq=False)
class Sums:
    """The reports of a categorical outcome by cell.

    model: of the mechanism.  order: (k,), the positions of the categories, the reference first.  statistics: (C, S).
    n: (C,), reports.  weights: (C,), of one report of each cell; ones without weights.
    """

    model: FiniteChannel | ScoreSums
    order: np.ndarray
    statistics: np.ndarray
    n: np.ndarray
    weights: np.ndarray

    def information(self, laws: np.ndarray) -> list[Information]:
        """Return the information of each cell's reports at the distributions `laws`, (C, k)."""
        seen, back = SeenThrough(self.model, np.arange(len(self.order))), np.argsort(self.order)
        in_order = [
            seen.observed(row, int(count), law[back])
            for row, count, law in zip(self.statistics, self.n, laws, strict=True)
        ]
        return [Information(one.matrix[np.ix_(self.order, self.order)], one.vector[self.order]) for one in in_order]

    def unused(self) -> np.ndarray:
        """Return the places in `order` of the categories whose share of all reports is not significantly above 0."""
        share = np.full((1, len(self.order)), 1 / len(self.order))
        together = replace(self, statistics=self.statistics.sum(axis=0)[None], n=np.array([self.n.sum()]))
        information = together.information(share)[0]
        covariance = np.linalg.pinv(information.matrix, hermitian=True)
        return np.flatnonzero(
            covariance @ information.vector < normal_quantile(0.95) * np.sqrt(np.diagonal(covariance))
        )

    def deviance(self, laws: np.ndarray, at: np.ndarray) -> float:
        """Return minus twice the log-likelihood of `laws`, (C, k), up to a constant.

        That of sums of scores is quadratic, with the information at the distributions `at`, (C, k).
        """
        expected = laws[:, np.argsort(self.order)].T
        if isinstance(self.model, ScoreSums) and not self.model.is_one_category:
            return _distance(self, self.information(at), laws)
        means = self.model.means(expected) if isinstance(self.model, ScoreSums) else self.model.probabilities(expected)
        return float(-2 * np.sum(self.weights[:, None] * self.statistics * np.log(np.maximum(means.T, constants.TINY))))


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model.

    coefficients: (k - 1, p), by category but the reference, which is the first.  covariance: of them, row after row.
    laws: (C, k), fitted.  distance: the squared distance from one distribution for each cell, in standard errors; weighted if
    reports are.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    laws: np.ndarray
    distance: float


def fit(sums: Sums, matrix: np.ndarray) -> Fit:
    """Return the fitted model; matrix: (C, p).

    Raises NotEstimable if the reports do not determine the coefficients.
    """
    return _finished(sums, maximum(sums, matrix), matrix)


def maximum(sums: Sums, matrix: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Return the coefficients that maximise the likelihood, (k - 1, p); raises NotEstimable as `fit` does."""
    k, p = len(sums.order), matrix.shape[1]
    coefficients = np.zeros((k - 1, p)) if start is None else start
    for _ in range(constants.NEWTON_STEPS):
        laws = proportions(coefficients, matrix)
        information = sums.information(laws)
        moved = slopes(laws, matrix)
        scores = np.array([of_cell.score(law) for of_cell, law in zip(information, laws, strict=True)])
        score = np.einsum("c,ckq,ck->q", sums.weights, moved, scores)
        step = _solved(_curvature(sums.weights, moved, information), score).reshape(k - 1, p)
        if np.abs(step).max(initial=0.0) < constants.COEFFICIENT_TOLERANCE:
            return np.asarray(coefficients + step)
        coefficients = coefficients + _step_length(sums, information, coefficients, step, matrix) * step
        if np.abs(coefficients).max(initial=0.0) > constants.MAX_SPREAD:
            break
    raise NotEstimable(UNDETERMINED)


def proportions(coefficients: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the distributions (C, k) of coefficients (k - 1, p)."""
    scores = np.column_stack([np.zeros(len(matrix)), matrix @ coefficients.T])
    return np.asarray(scipy.special.softmax(scores, axis=1))


def slopes(laws: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the derivatives of distributions (C, k) by the coefficients, (C, k, (k - 1) p)."""
    k = laws.shape[1]
    moved = laws[:, :, None] * (np.eye(k) - laws[:, None, :])
    return np.asarray(np.einsum("ckl,cp->cklp", moved[:, :, 1:], matrix).reshape(len(laws), k, -1))


def _curvature(weights: np.ndarray, slopes: np.ndarray, information: Sequence[Information]) -> np.ndarray:
    """The information of the coefficients, ((k - 1) p, (k - 1) p)."""
    weighted = np.array([weight * of_cell.matrix for weight, of_cell in zip(weights, information, strict=True)])
    return np.asarray(np.einsum("ckq,ckl,clr->qr", slopes, weighted, slopes, optimize=True))


def _solved(curvature: np.ndarray, score: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(curvature), score))
    except (np.linalg.LinAlgError, scipy.linalg.LinAlgError) as error:
        raise NotEstimable(UNDETERMINED) from error


def _step_length(
    sums: Sums, information: Sequence[Information], coefficients: np.ndarray, step: np.ndarray, matrix: np.ndarray
) -> float:
    """The first of 1, 1/2, 1/4, .. that does not increase the distance, whose local approximation the step minimises."""
    before, scale = _distance(sums, information, proportions(coefficients, matrix)), 1.0
    most = before + constants.ROUNDING * max(before, 1.0)  # of a saturated model it is rounding alone
    while scale > constants.MIN_STEP:
        if _distance(sums, information, proportions(coefficients + scale * step, matrix)) <= most:
            return scale
        scale /= 2
    return scale


def _distance(sums: Sums, information: Sequence[Information], laws: np.ndarray) -> float:
    return float(sum(-2 * weight * i(law) for weight, i, law in zip(sums.weights, information, laws, strict=True)))


def _finished(sums: Sums, coefficients: np.ndarray, matrix: np.ndarray) -> Fit:
    """The fit with its covariance: the inverse information, or for weighted reports the sandwich [White1982]."""
    laws = proportions(coefficients, matrix)
    information, moved = sums.information(laws), slopes(laws, matrix)
    bread, meat = (_curvature(sums.weights**power, moved, information) for power in (1, 2))
    inverse = np.linalg.inv(bread)
    return Fit(coefficients, inverse @ meat @ inverse, laws, _from_saturated(sums, information, laws))


def _from_saturated(sums: Sums, information: Sequence[Information], laws: np.ndarray) -> float:
    """The squared distance from one distribution for each cell: its score test, along changes that keep the sum of shares at 1.

    Unbiased frequencies of sums of scores need not add up to 1.  Their distance from the laws includes that sum, which no model
    of proportions explains.
    """
    k = laws.shape[1]
    along = np.eye(k)[:, 1:] - np.eye(k)[:, :1]
    distance = 0.0
    for weight, of_cell, law in zip(sums.weights, information, laws, strict=True):
        score = along.T @ of_cell.score(law)
        distance += weight * float(score @ np.linalg.pinv(along.T @ of_cell.matrix @ along, hermitian=True) @ score)
    return distance
