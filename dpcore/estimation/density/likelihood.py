"""Likelihood of an aggregate given the distribution of the input cells: multinomial counts, or averages with normal errors.

Both are functions of A p, a linear map A of the distribution p.  Each class gives the log-likelihood l(A p), its derivative by
A p (the score), and minus its expected second derivative, which is diagonal (the Fisher weights).  Estimators use only these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import lcm

import numpy as np
import scipy

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.mechanisms.observation_model import FiniteChannel, Level


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of the outputs of a finite channel, multinomial within each level.

    counts: (S,), level after level.  `expected` is conditional on the level.
    """

    channel: FiniteChannel
    counts: np.ndarray

    @property
    def inputs(self) -> int:
        """Number of input cells."""
        return self.channel.inputs

    @cached_property
    def reports(self) -> np.ndarray:
        """Number of reports of the level of each output, shape (S,)."""
        parts = self.channel.split(self.counts)
        return np.concatenate([np.full(len(part), float(part.sum())) for part in parts])

    @property
    def n(self) -> float:
        """Number of reports."""
        return float(self.counts.sum())

    def expected(self, law: np.ndarray) -> np.ndarray:
        """Return expected shares A p, shape (S[, m]), of distributions p, shape (inputs[, m])."""
        return self.channel.probabilities(law) if self._is_large else self._folded.expected(law)

    def adjoint(self, scores: np.ndarray) -> np.ndarray:
        """Return A' scores, shape (inputs,); scores: (S,)."""
        return self.channel.adjoint(scores) if self._is_large else self._folded.adjoint(scores)

    def expected_by_spline(self, masses: np.ndarray) -> np.ndarray:
        """Return the expected shares of each spline's masses, shape (pieces + d, S).

        masses: (pieces, q, d + 1), masses of the d + 1 splines that are not zero on each piece, at q points of it; pieces * q
        is a multiple of the number of input cells.  Spline k is not zero on pieces k - d..k.
        """
        if self._is_large:
            return self.channel.probabilities(_whole(masses, self.inputs)).T
        return _by_spline(self._folded.rows, masses)

    @cached_property
    def _is_large(self) -> bool:
        return self.inputs * len(self.counts) > constants.DENSE_ENTRIES

    @cached_property
    def _folded(self) -> _Folded:
        return _folded(self.channel.levels)

    def log_likelihood(self, expected: np.ndarray) -> float:
        """Return the log-likelihood, up to a constant, at expected shares (S,)."""
        return float(self.counts @ np.log(expected))

    def score(self, expected: np.ndarray) -> np.ndarray:
        """Return the derivative of the log-likelihood by the expected shares, shape (S,)."""
        return np.asarray(self.counts / expected)

    def weights(self, expected: np.ndarray) -> np.ndarray:
        """Return the Fisher weights, shape (S,): the information of h, int h = 0, is the weighted sum of (A h)^2."""
        return np.asarray(self.reports / expected)

    def residual(self, expected: np.ndarray) -> np.ndarray:
        """Return observed minus expected shares, shape (S,); zero in levels without reports."""
        return np.asarray(np.where(self.reports > 0, self.counts / np.maximum(self.reports, 1.0) - expected, 0.0))

    def covariance(self, weights: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the covariance, (m, m), of combinations with weights (m, S) of observed shares of mean `expected`, (S,)."""
        total = np.zeros((len(weights), len(weights)))
        rows = self.channel.split(weights.T)
        for reports, part, shares in zip(
            self.channel.reports(self.counts), rows, self.channel.split(expected), strict=True
        ):
            if reports:
                mean = shares @ part
                total += ((part.T * shares) @ part - np.outer(mean, mean)) / float(reports)
        return total

    def of_reports(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights, (S,), of each level's average report that equal weights (S,) of the observed shares."""
        return weights

    def chance(self, expected: np.ndarray) -> float:
        """Return the p-value of Pearson's chi-squared test of the expected shares."""
        free = int(np.sum(self.reports > 0)) - sum(part.sum() > 0 for part in self.channel.split(self.counts))
        return _chance(float(np.sum(self.residual(expected) ** 2 * self.weights(expected))), free)


@dataclass(frozen=True, eq=False)
class Averages:
    """Averages of features of the input cells, whitened: errors are independent standard normal.

    features: (S, inputs), the mean contribution of each input cell.  values: (S,), observed.  n: number of reports.
    turn: (S, Z), the whitening matrix: values = turn @ averages of the reports' integers; None if unknown.
    """

    features: np.ndarray
    values: np.ndarray
    n: float
    turn: np.ndarray | None = None

    @property
    def inputs(self) -> int:
        """Number of input cells."""
        return self.features.shape[1]

    def expected(self, law: np.ndarray) -> np.ndarray:
        """Return expected averages A p, shape (S[, m]), of distributions p, shape (inputs[, m])."""
        return np.asarray(self.features @ law)

    def adjoint(self, scores: np.ndarray) -> np.ndarray:
        """Return A' scores, shape (inputs,); scores: (S,)."""
        return np.asarray(scores @ self.features)

    def expected_by_spline(self, masses: np.ndarray) -> np.ndarray:
        """Return the expected averages of each spline's masses, shape (pieces + d, S); see `Counts`."""
        return _by_spline(self._rows, masses)

    @cached_property
    def _rows(self) -> np.ndarray:
        """Features of each input cell, (inputs, S)."""
        return np.ascontiguousarray(self.features.T)

    def log_likelihood(self, expected: np.ndarray) -> float:
        """Return the log-likelihood, up to a constant."""
        return -0.5 * float(np.sum((self.values - expected) ** 2))

    def score(self, expected: np.ndarray) -> np.ndarray:
        """Return the derivative of the log-likelihood by the expected averages, shape (S,)."""
        return np.asarray(self.values - expected)

    def weights(self, expected: np.ndarray) -> np.ndarray:
        """Return the Fisher weights, all one, shape (S,)."""
        return np.ones(len(self.values))

    def residual(self, expected: np.ndarray) -> np.ndarray:
        """Return observed minus expected, shape (S,)."""
        return self.score(expected)

    def covariance(self, weights: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the covariance, (m, m), of linear combinations with weights (m, S) of the values."""
        return np.asarray(weights @ weights.T)

    def of_reports(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights, (Z,), of the average report that equal weights (S,) of the whitened values."""
        if self.turn is None:
            raise ValueError("averages: the whitening matrix is unknown; pass `turn`")
        return np.asarray(weights @ self.turn)

    def chance(self, expected: np.ndarray) -> float:
        """Return the p-value of the sum of squared errors under the expected averages."""
        return _chance(float(np.sum(self.residual(expected) ** 2)), len(self.values))


Likelihood = Counts | Averages


def _by_spline(rows: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Expected values of splines, (pieces + d, S), from rows (inputs, S) of the input cells."""
    pieces, _, alive = masses.shape
    if len(rows) % pieces:
        rows = np.repeat(rows, lcm(len(rows), pieces) // len(rows), axis=0)
    cells = masses.reshape(pieces, len(rows) // pieces, -1, alive).sum(axis=2)  # or what a piece has of one
    return _along_diagonals(cells.transpose(0, 2, 1) @ rows.reshape(pieces, cells.shape[1], -1))


def _along_diagonals(parts: np.ndarray) -> np.ndarray:
    """Return the sum of each spline's parts over its pieces, (pieces + d, S); parts: (pieces, d + 1, S)."""
    pieces, alive, size = parts.shape
    summed = np.zeros((pieces + alive - 1, size))
    for number in range(alive):
        summed[number : number + pieces] += parts[:, number]
    return summed


def _whole(masses: np.ndarray, inputs: int) -> np.ndarray:
    """Masses of the input cells of each spline, (inputs, pieces + d), zeros included."""
    pieces, points, alive = masses.shape
    placed = np.zeros((pieces, points, pieces + alive - 1))
    for piece in range(pieces):
        placed[piece, :, piece : piece + alive] = masses[piece]
    return np.asarray(placed.reshape(inputs, -1, placed.shape[2]).sum(axis=1))


@dataclass(frozen=True, eq=False)
class _Folded:
    """A finite channel as matrices: input cells are summed by phase, then the windows of each level are applied to its phases.

    folding: (phases of all levels, inputs), zeros and ones.  windows: per level (outputs, phases).
    """

    folding: scipy.sparse.csr_array
    unfolding: scipy.sparse.csr_array
    windows: tuple[np.ndarray, ...]

    @cached_property
    def _parts(self) -> tuple[tuple[np.ndarray, slice, slice], ...]:
        """Windows, outputs and phases of each level."""
        outputs, phases = np.cumsum([[0, 0], *(window.shape for window in self.windows)], axis=0).T.tolist()
        slices = zip(map(slice, outputs, outputs[1:]), map(slice, phases, phases[1:]), strict=True)
        return tuple((window, *places) for window, places in zip(self.windows, slices, strict=True))

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """Numbers of outputs and of phases."""
        _, outputs, phases = self._parts[-1]
        return outputs.stop, phases.stop

    def expected(self, law: np.ndarray) -> np.ndarray:
        """Return the channel's `probabilities(law)`."""
        folded = self.folding @ law
        smoothed = np.empty((self._sizes[0], *folded.shape[1:]))
        for window, outputs, phases in self._parts:
            np.matmul(window, folded[phases], out=smoothed[outputs])
        return smoothed

    def adjoint(self, scores: np.ndarray) -> np.ndarray:
        """Return the channel's `adjoint(scores)`."""
        folded = np.empty(self._sizes[1])
        for window, outputs, phases in self._parts:
            np.matmul(scores[outputs], window, out=folded[phases])
        return np.asarray(self.unfolding @ folded)

    @cached_property
    def rows(self) -> np.ndarray:
        """Expected shares of each input cell, (inputs, S)."""
        return np.ascontiguousarray(self.expected(np.eye(self.folding.shape[1])).T)


@lru_cache(maxsize=8)
def _folded(levels: tuple[Level, ...]) -> _Folded:
    """Matrices of a channel, cached by its levels: `model` makes a new channel at every call, with equal levels."""
    cells = np.arange(levels[0].inputs)
    phases = [(cells >> wave.shift) % wave.cells for wave in levels]
    starts = np.cumsum([0] + [wave.cells for wave in levels])
    rows = np.concatenate([start + phase for start, phase in zip(starts, phases, strict=False)])
    columns = np.tile(cells, len(levels))
    folding = scipy.sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(starts[-1], len(cells)))
    windows = tuple(
        np.ascontiguousarray(wave.matrix()[:, : wave.cells << wave.shift : 1 << wave.shift]) for wave in levels
    )
    return _Folded(folding, folding.T.tocsr(), windows)


def _chance(squares: float, free: int) -> float:
    return float(scipy.special.chdtrc(max(free, 1), squares))


def whiten(features: np.ndarray, values: np.ndarray, covariance: np.ndarray, n: float) -> Averages:
    """Return the averages multiplied by S^{-1/2}, without the directions in which the covariance S vanishes.

    features: (S, inputs).  values: (S,).  covariance: (S, S).
    """
    scales, axes = np.linalg.eigh(covariance)
    seen = scales > 1e-10 * scales.max()
    turn = axes[:, seen].T / np.sqrt(scales[seen])[:, None]
    return Averages(turn @ features, turn @ values, n, turn)


def of_tables(channel: FiniteChannel, tables: np.ndarray, weights: np.ndarray, law: np.ndarray) -> Likelihood:
    """Return the likelihood of counts (S, k) by reported category: k = 1 for all clients, else for the group with weights (k,).

    law: (inputs,), the fitted distribution of the group.
    """
    if tables.shape[1] == 1:
        return Counts(channel, tables[:, 0])
    return group_counts(channel, tables.T, weights, own=channel.probabilities(law))


def group_counts(
    channel: FiniteChannel,
    tables: np.ndarray,
    inverse: np.ndarray,
    shares: np.ndarray | None = None,
    own: np.ndarray | None = None,
) -> Averages:
    """Return the averages of the clients whose true category is one given, from counts by reported category.

    tables: (k, S), by reported category c'.  inverse: (k,), the row w of R^{-1} for the true category, R the (reported, true)
    response matrix.  Within a level, s = sum_c' w_c' n_c' is unbiased for the group's counts; N is the group's share of all
    levels' reports.  With r the group's shares,

        r + (s - r sum s) / N    has the covariance    [diag(u) - u r' - r u' + (sum u) r r'] / N^2,    u = sum_c' w_c'^2 n_c'.

    shares: (k, S), fitted shares of each level's outputs among clients who reported c'.  own: (S,), fitted r.  Where either is
    None the observed shares are used, and bias the weights: outputs that nobody reported count as certain, and a small group's
    mean moves towards that of all clients.

    Raises NotEstimable if no level's count exceeds three standard errors.
    """
    reports = np.array([channel.reports(table) for table in tables], dtype=np.float64)  # (k, levels)
    outputs = [wave.outputs for wave in channel.levels]
    seen = tables if shares is None else np.repeat(reports, outputs, axis=1) * shares
    signed, squared = channel.split(inverse @ tables), channel.split(inverse**2 @ seen)
    errors = np.sqrt(inverse**2 @ reports)
    sizes = (inverse @ reports).sum() * reports.sum(axis=0) / max(1.0, reports.sum())
    of_own = channel.split(np.zeros(sum(outputs)) if own is None else own)
    features, values, turns, total = [], [], [], 0.0
    ends = np.cumsum([0, *outputs])
    for level, (matrix, s, u, size) in enumerate(zip(channel.matrices, signed, squared, sizes, strict=True)):
        if size <= constants.CLEAR_ERRORS * errors[level]:
            continue
        r = s / s.sum() if own is None else of_own[level]
        covariance = (np.diag(u) - np.outer(u, r) - np.outer(r, u) + u.sum() * np.outer(r, r)) / size**2
        part = whiten(matrix, r + (s - r * s.sum()) / size, covariance, size)
        features.append(part.features)
        values.append(part.values)
        turn = np.zeros((len(part.values), ends[-1]))
        turn[:, ends[level] : ends[level + 1]] = part.turn
        turns.append(turn)
        total += size
    if not features:
        raise NotEstimable("the group is too rare to tell from none; collect more")
    return Averages(np.concatenate(features), np.concatenate(values), total, np.concatenate(turns))
