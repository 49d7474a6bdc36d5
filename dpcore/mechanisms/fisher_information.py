"""Information of reports on a distribution on points with an input cell each, with nearly normal errors.

Counts of a finite channel and score sums are sums over many reports.  Around a distribution p0 near the true one, their
log-likelihood of the distribution p of k points is c'p - p'Fp / 2 + constant, with F the information at p0 and the unbiased
estimates in c: two arrays, for every mechanism and number of reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcore.mechanisms.observation_model import FiniteChannel, ObservationModel, ScoreSums

_SINGULAR = 1e-5  # of the mean variance, added along the sum of the shares, which is known to be one
_TINY = 1e-300
_NOTHING = 1e-12  # relative to the largest eigenvalue of the information: smaller ones count as zero


@dataclass(frozen=True, eq=False)
class Information:
    """The log-likelihood c'p - p'Fp / 2 of the distribution p; matrix: F, (k, k).  vector: c, (k,).

    reading: (k, S), the weights in c of the average reports of the levels; empty if not needed.
    """

    matrix: np.ndarray
    vector: np.ndarray
    reading: np.ndarray | None = None

    def score(self, law: np.ndarray) -> np.ndarray:
        """Return its derivative at a distribution, shape (k,): c - F p."""
        return np.asarray(self.vector - self.matrix @ law)

    def __call__(self, law: np.ndarray) -> float:
        """Return it at a distribution (k,), less its unconstrained maximum."""
        left = self.numbers - self.root @ law
        return -float(left @ left) / 2

    @cached_property
    def root(self) -> np.ndarray:
        """R, (q, k), R'R = F: coefficients of q independent numbers of variance one, q < k if a mechanism has fewer cells."""
        values, directions = np.linalg.eigh(self.matrix)
        identified = values > _NOTHING * values[-1]
        return np.asarray(np.sqrt(values[identified])[:, None] * directions[:, identified].T)

    @cached_property
    def numbers(self) -> np.ndarray:
        """Those numbers, (q,): of mean R p."""
        return np.asarray(self.root @ self.vector / np.sum(self.root**2, axis=1))


def spread(points: int, inputs: int, is_silent: bool = False) -> np.ndarray:
    """Return the input cells of the points, and of nonresponse as the last if it is an answer: (k,) int64, ascending.

    Points are spread evenly over the inputs.  Nonresponse has the last one, and the quarter before it is left empty, to keep it
    apart from large values: with .25 the nonresponse rate has an error of 1.5 / sqrt(n) at epsilon 1, and the respondents' mean
    one a twelfth larger than nonresponse costs anyway; with 0, 2 to 2.6 / sqrt(n) and a third.  If there are no more inputs
    than answers, as for an oracle, each has its own.
    """
    answers = points + is_silent
    if inputs == answers:
        return np.arange(answers)
    room = room_of(inputs) if is_silent else inputs
    cells = (2 * np.arange(points) + 1) * room // (2 * points)
    return np.append(cells, inputs - 1) if is_silent else cells


def room_of(inputs: int) -> int:
    """Return the number of input cells of values if nonresponse has the last, behind an empty quarter."""
    return inputs - inputs // 4


def room_for(points: int, is_silent: bool) -> int:
    """Return how many input cells `spread` needs where there are more of them than answers."""
    return -(-4 * points // 3) + 1 if is_silent else points


@dataclass(frozen=True, eq=False)
class SeenThrough:
    """The points of an attribute as a mechanism shows them.

    model: a FiniteChannel or ScoreSums.  cells: (k,), the points' input cells, rising: all of them where scores are summed.
    """

    model: ObservationModel
    cells: np.ndarray

    @cached_property
    def channel(self) -> np.ndarray:
        """Probabilities of the reported (rows, of a public level) given the point, (S, k), of a finite channel."""
        assert isinstance(self.model, FiniteChannel)
        held = np.zeros((self.model.inputs, len(self.cells)))
        held[self.cells, np.arange(len(self.cells))] = 1.0
        return self.model.probabilities(held)

    def expected(self, law: np.ndarray, n: int) -> np.ndarray:
        """Return F, (k, k), of n reports of respondents with that distribution (k,)."""
        if isinstance(self.model, FiniteChannel):
            return np.asarray(self._weights(law, n * self.model.level_law) @ self.channel)
        return self._of_scores(law, n)

    def observed(self, statistics: np.ndarray, n: int, law: np.ndarray) -> Information:
        """Return the information of the statistics (S,) of n reports, with the weights of that distribution (k,)."""
        if isinstance(self.model, FiniteChannel):
            reports = self.model.reports(statistics)
            weights = self._weights(law, reports)
            vector = weights @ (statistics / np.maximum(self._rows(reports), 1))
            return Information(weights @ self.channel, vector, weights)
        assert isinstance(self.model, ScoreSums)
        matrix = self._of_scores(law, n)
        vector = matrix @ self.model.frequencies(statistics, n)
        return Information(matrix, vector, matrix / float(self.model.contrast))

    def _weights(self, law: np.ndarray, reports: np.ndarray) -> np.ndarray:
        """A' D, (k, S), D the information of an observed share: the reports of its level over its probability."""
        return np.asarray(self.channel.T * (self._rows(reports) / np.maximum(self.channel @ law, _TINY)))

    def _rows(self, reports: np.ndarray) -> np.ndarray:
        """The reports of each row's level, (S,)."""
        assert isinstance(self.model, FiniteChannel)
        return np.repeat(reports, [level.outputs for level in self.model.levels])

    def _of_scores(self, law: np.ndarray, n: int) -> np.ndarray:
        assert isinstance(self.model, ScoreSums)
        own, shared, weights = self.model.covariance(law, n)
        covariance = np.diag(own) + shared.T @ weights @ shared
        return np.linalg.inv(covariance + _SINGULAR * np.diagonal(covariance).mean())
