"""The laws of the input cells whose log density is a cubic spline, with atoms at the two ends, and priors of its roughness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, pi

import numpy as np

from dpcore.estimation.estimators.likelihood import Likelihood
from dpcore.mechanisms.bases import bspline

DEGREE = 3
_FINEST = 512  # points at least, on which laws are integrated
_NULL_SPREAD = 2.0  # tau: standard deviation of the log density's null part, root mean square over the interval
_MOST_SPREAD = 15.0  # the same of every other part, however small lambda: what is e^15 times rarer is not seen


@dataclass(frozen=True, eq=False)
class Prior:
    """What is believed of a log density's roughness, in coordinates of its own: theta = axes eta, eta independent.

    axes: (K, K - 1), orthonormal and orthogonal to the constants, which do not matter.
    roughness: (K - 1,) of the coordinates, 0 where differences of that order vanish: the first order - 1 of them.
    """

    order: int
    axes: np.ndarray
    roughness: np.ndarray

    def precision(self, penalty: float) -> np.ndarray:
        """Return the prior's precision of each coordinate, shape (K - 1,)."""
        null, least = (1 / (spread**2 * len(self.axes)) for spread in (_NULL_SPREAD, _MOST_SPREAD))
        return np.where(self.roughness > 0, np.maximum(penalty * self.roughness, least), null)


@dataclass(frozen=True, eq=False)
class Family:
    """The laws of the input cells whose log density is a spline, and the atoms allowed at the two ends.

    eta: (D,) = the prior's K - 1 coordinates of the spline, then the mass of each atom allowed.
    """

    likelihood: Likelihood
    prior: Prior
    ends: tuple[bool, bool] = (False, False)

    @cached_property
    def points(self) -> int:
        """How many midpoints stand for the interval, a multiple of the input cells."""
        return points_of(self.likelihood)

    @cached_property
    def atoms(self) -> int:
        """How many atoms are allowed."""
        return sum(self.ends)

    @cached_property
    def design(self) -> np.ndarray:
        """The log density at the points by the prior's coordinates, shape (points, K - 1)."""
        return _design(self.points, self.prior)

    @property
    def start(self) -> np.ndarray:
        """The uniform density, without atoms."""
        return np.zeros(self.design.shape[1] + self.atoms)

    def law(self, eta: np.ndarray) -> np.ndarray:
        """Return the masses of the points and of the atoms, shape (points + atoms,)."""
        smooth = self.design.shape[1]
        return law_of(self.design @ eta[:smooth], eta[smooth:])

    def expected(self, law: np.ndarray) -> np.ndarray:
        """Return what the likelihood expects, shape (S,)."""
        return self.likelihood.expected(cells_of(law, self.likelihood.inputs, self.points, self.ends))

    def _by_spline(self, law: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What each B-spline times the continuous part expects, and each atom, (K + atoms, S); and how they move with eta,
        (K + atoms, D).

        The B-splines add up to one, so that the continuous part itself is the sum of what they expect.
        """
        smooth, axes = law[: self.points], self.prior.axes
        alive = _alive(self.points, len(axes))
        seen = self.likelihood.expected_by_spline(smooth.reshape(len(alive), -1, 1) * alive)
        turn = np.zeros((len(axes) + self.atoms, axes.shape[1] + self.atoms))
        turn[: len(axes), : axes.shape[1]] = axes - smooth @ self.design / smooth.sum()
        if self.atoms:
            turn[: len(axes), axes.shape[1] :] = -1 / smooth.sum()
            turn[len(axes) :, axes.shape[1] :] = np.eye(self.atoms)
            seen = np.vstack([seen, self._atoms_alone.T])
        return seen, turn

    @cached_property
    def _atoms_alone(self) -> np.ndarray:
        """What each atom expects, (S, atoms)."""
        cells = np.zeros((self.likelihood.inputs, self.atoms))
        for number, end in enumerate(np.flatnonzero(self.ends)):
            cells[-end, number] = 1.0  # cell 0 or cell -1
        return self.likelihood.expected(cells)

    def slope(self, law: np.ndarray) -> np.ndarray:
        """Return the derivative of `expected` by eta, shape (S, D).

        By the spline A diag(p) (X - E_f X), E_f the mean under the continuous part; by an atom what it alone expects less what
        the continuous part does.
        """
        seen, turn = self._by_spline(law)
        return np.asarray(seen.T @ turn)

    def gradient(self, law: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the derivative of the log-likelihood by eta, shape (D,): slope' score, without the slope."""
        smooth, scores = law[: self.points], self.likelihood.adjoint(self.likelihood.score(expected))
        by_point = scores if len(scores) == self.points else np.repeat(scores, self.points // len(scores))
        mean = float(smooth @ by_point) / float(smooth.sum())
        spline = (smooth * (by_point - mean)) @ self.design
        if not self.atoms:
            return np.asarray(spline)
        return np.concatenate([spline, [scores[-end] - mean for end in np.flatnonzero(self.ends)]])

    def information(self, law: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the Fisher information, shape (D, D): slope' weights slope, the turn last."""
        seen, turn = self._by_spline(law)
        scaled = seen * np.sqrt(self.likelihood.weights(expected))
        return np.asarray(turn.T @ (scaled @ scaled.T) @ turn)


def law_of(logs: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Return the masses of the points, in proportion to exp(logs), and of the atoms."""
    smooth = np.exp(logs - logs.max())
    if not len(atoms):
        return np.asarray(smooth / smooth.sum())
    return np.concatenate([smooth * ((1 - atoms.sum()) / smooth.sum()), atoms])


def points_of(likelihood: Likelihood) -> int:
    """Return how many midpoints stand for the interval, a multiple of the input cells."""
    return likelihood.inputs * max(1, ceil(_FINEST / likelihood.inputs))


def cells_of(law: np.ndarray, inputs: int, points: int, ends: tuple[bool, bool]) -> np.ndarray:
    """Return the masses of the input cells, (inputs,): points summed, atoms added to the end cells."""
    folded = law[:points] if inputs == points else law[:points].reshape(inputs, -1).sum(axis=1)
    if not any(ends):
        return np.asarray(folded)
    folded = folded.copy()
    for number, end in enumerate(np.flatnonzero(ends)):
        folded[-end] += law[points + number]  # cell 0 or cell -1
    return np.asarray(folded)


@lru_cache(maxsize=16)
def splines_at(points: int, size: int) -> np.ndarray:
    """Return the B-splines of the level of that size at the midpoints, (points, size); read-only."""
    level = (size - DEGREE).bit_length() - 1
    values = bspline.evaluate((np.arange(points) + 0.5) / points, DEGREE, level)
    values.flags.writeable = False
    return values


@lru_cache(maxsize=16)
def _alive(points: int, size: int) -> np.ndarray:
    """The B-splines of the level of that size that do not vanish on each of its pieces, at the piece's midpoints, (pieces, q,
    degree + 1); read-only.
    """
    pieces = size - DEGREE
    values = splines_at(points, size).reshape(pieces, -1, size)
    return np.array([values[piece, :, piece : piece + DEGREE + 1] for piece in range(pieces)])


@lru_cache(maxsize=32)
def _design(points: int, prior: Prior) -> np.ndarray:
    """The log density at the points by the prior's coordinates, (points, K - 1); read-only."""
    values = splines_at(points, len(prior.axes)) @ prior.axes
    values.flags.writeable = False
    return values


@lru_cache(maxsize=32)
def prior_of(level: int, order: int) -> Prior:
    """Return the prior of differences of that order, scaled.

    A wave of frequency k on the interval, of amplitude a, then has roughness about k^(2 order) a^2 / 2.
    """
    pieces, size = 1 << level, bspline.size(DEGREE, level)
    differences = np.diff(np.eye(size), order, axis=0) * (pieces / (2 * pi)) ** order / pieces**0.5
    values, axes = np.linalg.eigh(differences.T @ differences)  # rising: the polynomials below the order come first
    polynomials = np.linalg.qr(np.vander(np.arange(size) / size, order, increasing=True))[0]  # constants first
    axes = np.hstack([polynomials[:, 1:], axes[:, order:]])
    return Prior(order, axes, np.concatenate([np.zeros(order - 1), values[order:]]))
