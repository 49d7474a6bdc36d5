"""Distributions of the input cells whose log density is a cubic spline, with point masses at the ends, and roughness priors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, lcm, pi

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.mechanisms.bases import bspline


@dataclass(frozen=True, eq=False)
class Prior:
    """A prior on a log density's roughness, in independent coordinates eta: theta = axes eta.

    axes: (K, K - 1), orthonormal, and orthogonal to the constants, which have no effect.
    roughness: (K - 1,) of the coordinates; 0 of the first: order - 1 polynomials, and a logarithm for each falling end.
    falling: the ends at which any power of the distance counts as smooth.
    powers: (falling ends, K - 1), contribution of each coordinate to that power.
    """

    order: int
    axes: np.ndarray
    roughness: np.ndarray
    falling: tuple[bool, bool]
    powers: np.ndarray

    def precision(self, penalty: float) -> np.ndarray:
        """Return the prior's precision of each coordinate, shape (K - 1,)."""
        null, least = (1 / (spread**2 * len(self.axes)) for spread in (constants.NULL_SPREAD, constants.MAX_SPREAD))
        return np.where(self.roughness > 0, np.maximum(penalty * self.roughness, least), null)

    def roughness_of(self, eta: np.ndarray) -> float:
        """Return the roughness |D^m theta|^2 of a spline; eta: its K - 1 coordinates first."""
        return float(self.roughness @ eta[: len(self.roughness)] ** 2)


@dataclass(frozen=True)
class Quadrature:
    """Gauss's points on equal blocks of the interval, a number of nodes on each; one node is the midpoint."""

    blocks: int
    nodes: int

    @classmethod
    def for_likelihood(cls, likelihood: Likelihood, nodes: int) -> Quadrature:
        """Return the rule whose blocks subdivide the input cells and the pieces of every level."""
        whole = lcm(likelihood.inputs, 1 << constants.FINEST_LEVEL)
        return cls(whole * max(1, ceil((2 << constants.FINEST_LEVEL) / whole)), nodes)

    @property
    def points(self) -> int:
        """Number of points."""
        return self.blocks * self.nodes

    @cached_property
    def at(self) -> np.ndarray:
        """The points on the unit interval, rising, (points,)."""
        places = (np.polynomial.legendre.leggauss(self.nodes)[0] + 1) / 2
        return np.asarray(((np.arange(self.blocks)[:, None] + places) / self.blocks).ravel())

    @cached_property
    def weights(self) -> np.ndarray:
        """Weight of each point within its block, (points,)."""
        return np.tile(np.polynomial.legendre.leggauss(self.nodes)[1] / 2, self.blocks)


@dataclass(frozen=True, eq=False)
class Family:
    """Distributions of the input cells whose log density is a spline, with point masses allowed at the two ends.

    eta: (D,) = the prior's K - 1 coordinates of the spline, then the mass of each point mass allowed.
    nodes: per block of the quadrature.
    """

    likelihood: Likelihood
    prior: Prior
    ends: tuple[bool, bool] = (False, False)
    nodes: int = 1

    @cached_property
    def quadrature(self) -> Quadrature:
        """The quadrature of the interval."""
        return Quadrature.for_likelihood(self.likelihood, self.nodes)

    @property
    def points(self) -> int:
        """Number of quadrature points."""
        return self.quadrature.points

    @cached_property
    def atoms(self) -> int:
        """Number of point masses allowed."""
        return sum(self.ends)

    @property
    def smooth(self) -> int:
        """Number of coordinates of the spline, K - 1."""
        return self.prior.axes.shape[1]

    @property
    def start(self) -> np.ndarray:
        """The uniform density, without point masses."""
        return np.zeros(self.smooth + self.atoms)

    def precision(self, penalty: float) -> np.ndarray:
        """Return the prior precision of each coordinate and of each point mass, shape (D,)."""
        # A uniform mass has the mean square 1 / 3
        return np.append(self.prior.precision(penalty), np.full(self.atoms, 3.0))

    def law(self, eta: np.ndarray) -> np.ndarray:
        """Return the probabilities of the quadrature points and the point masses, shape (points + atoms,)."""
        return law_of(self.prior.axes @ eta[: self.smooth], eta[self.smooth :], self.quadrature)

    def expected(self, law: np.ndarray) -> np.ndarray:
        """Return the expected values under the likelihood, shape (S,)."""
        return self.likelihood.expected(cells_of(law, self.likelihood.inputs, self.points, self.ends))

    def _by_spline(self, law: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected values of each B-spline's part and each point mass, (K + atoms, S), and their derivative, (K + atoms, D).

        The B-splines add up to one, so that the sum of their expected values is that of the continuous part.
        """
        smooth, axes = law[: self.points], self.prior.axes
        alive = _alive(self.quadrature, len(axes))
        seen = self.likelihood.expected_by_spline(smooth.reshape(len(alive), -1, 1) * alive)
        turn = np.zeros((len(axes) + self.atoms, axes.shape[1] + self.atoms))
        turn[: len(axes), : axes.shape[1]] = axes - self._by_axes(smooth) / smooth.sum()
        if self.atoms:
            turn[: len(axes), axes.shape[1] :] = -1 / smooth.sum()
            turn[len(axes) :, axes.shape[1] :] = np.eye(self.atoms)
            seen = np.vstack([seen, self._atoms_alone.T])
        return seen, turn

    @cached_property
    def _atoms_alone(self) -> np.ndarray:
        """Expected values of each point mass, (S, atoms)."""
        cells = np.zeros((self.likelihood.inputs, self.atoms))
        for number, end in enumerate(np.flatnonzero(self.ends)):
            cells[-end, number] = 1.0  # cell 0 or cell -1
        return self.likelihood.expected(cells)

    def _by_axes(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum over the points, (points,), of the log density's derivative by eta, (K - 1,)."""
        alive = _alive(self.quadrature, len(self.prior.axes))
        by_piece = weights.reshape(len(alive), 1, -1) @ alive
        by_spline = np.bincount(_splines(len(alive)).ravel(), by_piece.ravel(), len(self.prior.axes))
        return np.asarray(by_spline @ self.prior.axes)

    def slope(self, law: np.ndarray) -> np.ndarray:
        """Return the derivative of `expected` by eta, shape (S, D).

        For the spline A diag(p) (X - E_f X), E_f the mean under the continuous part; for a point mass the difference of its
        expected values and those of the continuous part.
        """
        seen, turn = self._by_spline(law)
        return np.asarray(seen.T @ turn)

    def gradient(self, law: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the derivative of the log-likelihood by eta, shape (D,): slope' score, without forming the slope."""
        smooth, scores = law[: self.points], self.likelihood.adjoint(self.likelihood.score(expected))
        by_point = scores if len(scores) == self.points else np.repeat(scores, self.points // len(scores))
        mean = float(smooth @ by_point) / float(smooth.sum())
        spline = self._by_axes(smooth * (by_point - mean))
        if not self.atoms:
            return np.asarray(spline)
        return np.concatenate([spline, [scores[-end] - mean for end in np.flatnonzero(self.ends)]])

    def information(self, law: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the Fisher information, shape (D, D): slope' weights slope, by the factors of the slope."""
        seen, turn = self._by_spline(law)
        scaled = seen * np.sqrt(self.likelihood.weights(expected))
        return np.asarray(turn.T @ (scaled @ scaled.T) @ turn)


def law_of(coefficients: np.ndarray, atoms: np.ndarray, quadrature: Quadrature) -> np.ndarray:
    """Return the probabilities of the points under the log spline with these coefficients, (K,), and the point masses."""
    alive = _alive(quadrature, len(coefficients))
    logs = (alive @ coefficients[_splines(len(alive))][..., None]).ravel()
    smooth = quadrature.weights * np.exp(logs - logs.max())
    if not len(atoms):
        return np.asarray(smooth / smooth.sum())
    return np.concatenate([smooth * ((1 - atoms.sum()) / smooth.sum()), atoms])


def cells_of(law: np.ndarray, inputs: int, points: int, ends: tuple[bool, bool]) -> np.ndarray:
    """Return the probabilities of the input cells, (inputs,): points summed, point masses added to the end cells."""
    folded = law[:points] if inputs == points else law[:points].reshape(inputs, -1).sum(axis=1)
    if not any(ends):
        return np.asarray(folded)
    folded = folded.copy()
    for number, end in enumerate(np.flatnonzero(ends)):
        folded[-end] += law[points + number]  # cell 0 or cell -1
    return np.asarray(folded)


@lru_cache(maxsize=16)
def _alive(quadrature: Quadrature, size: int) -> np.ndarray:
    """B-splines that are not zero on each piece of their level, at the piece's points, (pieces, q, degree + 1); read-only."""
    pieces = size - constants.DEGREE
    values = bspline.evaluate(quadrature.at, constants.DEGREE, pieces.bit_length() - 1).reshape(pieces, -1, size)
    alive = np.array([values[piece, :, piece : piece + constants.DEGREE + 1] for piece in range(pieces)])
    alive.flags.writeable = False
    return alive


@lru_cache(maxsize=16)
def _splines(pieces: int) -> np.ndarray:
    """Indices of the B-splines that are not zero on each piece, (pieces, degree + 1); read-only."""
    splines = np.arange(pieces)[:, None] + np.arange(constants.DEGREE + 1)
    splines.flags.writeable = False
    return splines


@lru_cache(maxsize=32)
def prior_of(level: int, order: int, falling: tuple[bool, bool] = (False, False)) -> Prior:
    """Return the scaled prior of differences of that order.

    A wave of frequency k and amplitude a on the interval has roughness about k^(2 order) a^2 / 2, less the part that the best
    powers at falling ends explain.
    """
    pieces, size = 1 << level, bspline.size(constants.DEGREE, level)
    differences = np.diff(np.eye(size), order, axis=0) * (pieces / (2 * pi)) ** order / pieces**0.5
    logarithms = _logarithms(level)[:, list(falling)]
    bent = np.linalg.qr(differences @ logarithms)[0]
    differences -= bent @ (bent.T @ differences)
    free = order + sum(falling)
    values, axes = np.linalg.eigh(differences.T @ differences)  # ascending: functions without roughness come first
    polynomials = np.vander(np.arange(size) / size, order, increasing=True)  # constants first
    null, parts = np.linalg.qr(np.hstack([polynomials, logarithms]))
    axes = np.hstack([null[:, 1:], axes[:, free:]])
    powers = np.linalg.solve(parts, null.T @ axes)[order:]
    return Prior(order, axes, np.concatenate([np.zeros(free - 1), values[free:]]), falling, powers)


def _logarithms(level: int) -> np.ndarray:
    """Coefficients, (K, 2), of the logarithms of the distances to lower and to upper.

    Least squares weighted by the distance, the error of a density proportional to it: an end with hardly any mass then causes
    no oscillation inside.
    """
    at = Quadrature(2 << constants.FINEST_LEVEL, 1).at
    splines = bspline.evaluate(at, constants.DEGREE, level)
    fits = [np.linalg.lstsq(splines * d[:, None], d * np.log(d), rcond=None)[0] for d in (at, 1 - at)]
    return np.column_stack(fits)
