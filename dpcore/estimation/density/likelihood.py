"""How well a law of the input cells explains an aggregate: multinomial counts, or averages with normal errors.

Both are seen through a linear map A from the law to what is expected, a score and Fisher weights, so that estimators are
written once:  l(A p), its derivative in A p, and minus its expected second derivative, a diagonal.
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
    """Counts of a finite channel's outputs, multinomial within each level.

    counts: (S,), level after level.  `expected` is conditional on the level.
    """

    channel: FiniteChannel
    counts: np.ndarray

    @property
    def inputs(self) -> int:
        """How many input cells there are."""
        return self.channel.inputs

    @cached_property
    def reports(self) -> np.ndarray:
        """Of each output's level, shape (S,)."""
        parts = self.channel.split(self.counts)
        return np.concatenate([np.full(len(part), float(part.sum())) for part in parts])

    @property
    def n(self) -> float:
        """Reports used."""
        return float(self.counts.sum())

    def expected(self, law: np.ndarray) -> np.ndarray:
        """Return A p, shape (S[, m]); law p: (inputs[, m])."""
        return self.channel.probabilities(law) if self._is_large else self._folded.expected(law)

    def adjoint(self, scores: np.ndarray) -> np.ndarray:
        """Return A' scores, shape (inputs,); scores: (S,)."""
        return self.channel.adjoint(scores) if self._is_large else self._folded.adjoint(scores)

    def expected_by_spline(self, masses: np.ndarray) -> np.ndarray:
        """Return what each spline's masses of the input cells expect, shape (pieces + d, S).

        masses: (pieces, q, d + 1), of the splines that live on each piece of the interval, at q points of it; pieces * q is a
        multiple of the input cells.  Spline k lives on the pieces k - d..k.
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
        """Return the log-likelihood, up to a constant, of expected shares (S,)."""
        return float(self.counts @ np.log(expected))

    def score(self, expected: np.ndarray) -> np.ndarray:
        """Return its derivative, shape (S,)."""
        return np.asarray(self.counts / expected)

    def weights(self, expected: np.ndarray) -> np.ndarray:
        """Return the Fisher weights, shape (S,): along A h, int h = 0, information is the weighted sum of squares."""
        return np.asarray(self.reports / expected)

    def residual(self, expected: np.ndarray) -> np.ndarray:
        """Return observed minus expected shares, shape (S,); zero in levels without reports."""
        return np.asarray(np.where(self.reports > 0, self.counts / np.maximum(self.reports, 1.0) - expected, 0.0))

    def covariance(self, weights: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the covariance, (m, m), of numbers with weights (m, S) of the observed shares where `expected` are."""
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
        """Return the weights, (S,), of the levels' average reports that those of the observed shares, (S,), mean."""
        return weights

    def chance(self, expected: np.ndarray) -> float:
        """Return how often Pearson's chi-squared is as large as it is under the expected shares."""
        free = int(np.sum(self.reports > 0)) - sum(part.sum() > 0 for part in self.channel.split(self.counts))
        return _chance(float(np.sum(self.residual(expected) ** 2 * self.weights(expected))), free)


@dataclass(frozen=True, eq=False)
class Averages:
    """Averages of features of the input cells, whitened: independent normal errors of variance one.

    features: (S, inputs), what each input cell contributes on average.  values: (S,) observed.  n: reports used.
    turn: (S, Z), what whitened them: values = turn @ the averages of the reports' integers; None where nobody said.
    """

    features: np.ndarray
    values: np.ndarray
    n: float
    turn: np.ndarray | None = None

    @property
    def inputs(self) -> int:
        """How many input cells there are."""
        return self.features.shape[1]

    def expected(self, law: np.ndarray) -> np.ndarray:
        """Return A p, shape (S[, m]); law p: (inputs[, m])."""
        return np.asarray(self.features @ law)

    def adjoint(self, scores: np.ndarray) -> np.ndarray:
        """Return A' scores, shape (inputs,); scores: (S,)."""
        return np.asarray(scores @ self.features)

    def expected_by_spline(self, masses: np.ndarray) -> np.ndarray:
        """Return what each spline's masses of the input cells expect, shape (pieces + d, S); see `Counts`."""
        return _by_spline(self._rows, masses)

    @cached_property
    def _rows(self) -> np.ndarray:
        """The features of each input cell, (inputs, S)."""
        return np.ascontiguousarray(self.features.T)

    def log_likelihood(self, expected: np.ndarray) -> float:
        """Return the log-likelihood, up to a constant."""
        return -0.5 * float(np.sum((self.values - expected) ** 2))

    def score(self, expected: np.ndarray) -> np.ndarray:
        """Return its derivative, shape (S,)."""
        return np.asarray(self.values - expected)

    def weights(self, expected: np.ndarray) -> np.ndarray:
        """Return ones, shape (S,)."""
        return np.ones(len(self.values))

    def residual(self, expected: np.ndarray) -> np.ndarray:
        """Return observed minus expected, shape (S,)."""
        return self.score(expected)

    def covariance(self, weights: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the covariance, (m, m), of numbers with weights (m, S) of the values."""
        return np.asarray(weights @ weights.T)

    def of_reports(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights, (Z,), of the average reports that those of the values, (S,), mean."""
        if self.turn is None:
            raise ValueError("these averages do not say what reports they are of")
        return np.asarray(weights @ self.turn)

    def chance(self, expected: np.ndarray) -> float:
        """Return how often the sum of squared errors is as large as it is."""
        return _chance(float(np.sum(self.residual(expected) ** 2)), len(self.values))


Likelihood = Counts | Averages


def _by_spline(rows: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """What splines expect, (pieces + d, S), from rows (inputs, S) of what each input cell does; few live on each piece."""
    pieces, _, alive = masses.shape
    if len(rows) % pieces:
        rows = np.repeat(rows, lcm(len(rows), pieces) // len(rows), axis=0)
    cells = masses.reshape(pieces, len(rows) // pieces, -1, alive).sum(axis=2)  # or what a piece has of one
    return _along_diagonals(cells.transpose(0, 2, 1) @ rows.reshape(pieces, cells.shape[1], -1))


def _along_diagonals(parts: np.ndarray) -> np.ndarray:
    """Return of each spline the sum of what it has on its pieces, (pieces + d, S); parts: (pieces, d + 1, S)."""
    pieces, alive, size = parts.shape
    summed = np.zeros((pieces + alive - 1, size))
    for number in range(alive):
        summed[number : number + pieces] += parts[:, number]
    return summed


def _whole(masses: np.ndarray, inputs: int) -> np.ndarray:
    """Splines' masses of the input cells, (inputs, pieces + d), zeros included."""
    pieces, points, alive = masses.shape
    placed = np.zeros((pieces, points, pieces + alive - 1))
    for piece in range(pieces):
        placed[piece, :, piece : piece + alive] = masses[piece]
    return np.asarray(placed.reshape(inputs, -1, placed.shape[2]).sum(axis=1))


@dataclass(frozen=True, eq=False)
class _Folded:
    """A finite channel as matrices: input cells are summed by phase, then each level's windows are laid over its phases.

    folding: (all levels' phases, inputs), zeros and ones.  windows: per level (outputs, phases).
    """

    folding: scipy.sparse.csr_array
    unfolding: scipy.sparse.csr_array
    windows: tuple[np.ndarray, ...]

    @cached_property
    def _parts(self) -> tuple[tuple[np.ndarray, slice, slice], ...]:
        """Each level's windows, outputs and phases."""
        outputs, phases = np.cumsum([[0, 0], *(window.shape for window in self.windows)], axis=0).T.tolist()
        slices = zip(map(slice, outputs, outputs[1:]), map(slice, phases, phases[1:]), strict=True)
        return tuple((window, *places) for window, places in zip(self.windows, slices, strict=True))

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """How many outputs and phases there are."""
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
        """What each input cell is expected to give, (inputs, S)."""
        return np.ascontiguousarray(self.expected(np.eye(self.folding.shape[1])).T)


@lru_cache(maxsize=8)
def _folded(levels: tuple[Level, ...]) -> _Folded:
    """The matrices of a channel's levels, made once: a channel is new at every call of `model`, its levels are equal."""
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
    """Return the averages with S^{-1/2} applied; directions in which S vanishes say nothing and are left out.

    features: (S, inputs).  values: (S,).  covariance: (S, S).
    """
    scales, axes = np.linalg.eigh(covariance)
    seen = scales > 1e-10 * scales.max()
    turn = axes[:, seen].T / np.sqrt(scales[seen])[:, None]
    return Averages(turn @ features, turn @ values, n, turn)


def of_tables(channel: FiniteChannel, tables: np.ndarray, weights: np.ndarray, law: np.ndarray) -> Likelihood:
    """Return the likelihood of counts (S, k) by reported category: k = 1 of everyone, or of the group with these weights.

    law: (inputs,), the group's, fitted.
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
    """Return the averages of the clients truly in one category, from counts by reported category.

    tables: (k, S), rows the reported categories c'.  inverse: (k,), the row w of R^{-1} for the true category, R the
    (reported, true) response matrix.  Within a level, s = sum_c' w_c' n_c' is unbiased for the group's counts, and N, its share
    of all levels' reports, for how many they are.  With r the group's shares,

        r + (s - r sum s) / N    has the covariance    [diag(u) - u r' - r u' + (sum u) r r'] / N^2,    u = sum_c' w_c'^2 n_c'.

    shares: (k, S), of each level's outputs among those who reported c', fitted; own: (S,), r, fitted.  The observed ones are
    taken where None, and rule what they err by: outputs that nobody happened to report would count as certain, and noise that
    looks like the group would count for nothing, so that a small group's mean is drawn to everybody's.

    Raises NotEstimable where no level's count exceeds three standard errors.
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
