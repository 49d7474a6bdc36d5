"""Penalised likelihood of a log-spline, averaged over how much and what kind of smoothness by marginal likelihood.

The log density is a cubic spline s = sum_k theta_k B_k of V_level; a prior says how rough it may be:

    -2 log prior = lambda |D^m theta|^2 + |N' theta|^2 / tau^2 + const,

D^m the m-th differences [EilersMarx1996], N the functions whose differences vanish: nothing but the uniform for m = 1,
exponentials for 2, normals for 3.  lambda runs over decades, from so large that only N is left to so small that the basis, not
the prior, decides; m over 1..4.  Each (m, lambda) gets the maximum of the posterior by Fisher scoring and its marginal
likelihood by Laplace's method,

    l(eta) - eta' Q eta / 2 + log det Q / 2 - log det(I + Q) / 2,

Q the prior's precision on the complement of the constants, I the Fisher information.  Coefficients are averaged with these
weights, and so is their covariance, the spread between models included.  Nothing is tuned to a density.  Where the data
contradict the best of all these models, the spline is given twice as many pieces, so that the basis never decides.

Values clipped to the bounds sit at the ends of the interval.  Where a first look, with third differences penalised and atoms
allowed at both ends, finds one of more than two standard errors, models with that atom are tried too, its mass uniform
beforehand; the average is over those with it or over those without, whichever explain the data better together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, log, log10, pi
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, lapack

from dpcore.estimation.estimators.likelihood import Counts, Likelihood
from dpcore.mechanisms.bases import bspline

DEGREE = 3
FINEST = 8  # level: 259 B-splines, half as many as there are input cells
_FINEST = 512  # points at least, on which laws are integrated
_NULL_SPREAD = 2.0  # tau: standard deviation of the log density's null part, root mean square over the interval
_MOST_SPREAD = 15.0  # the same of every other part, however small lambda: what is e^15 times rarer is not seen
_STEPS, _HALVINGS = 20, 30
_MEMORY = 12  # steps that one Fisher information leads
_CONVERGED = 1e-2  # squared step, in posterior standard deviations: the last one taken
_CLOSE = 1e-3  # the same, where the Fisher information is computed again
_NOTHING = 1e-6  # what rounding may take from a log-likelihood
_LOST = 25.0  # log marginal likelihood below the best at which a path is left
_BEHIND = 13.0  # the same, from where on a model need not be exact: it has no weight
_INADEQUATE = 4.0  # standard deviations of chi-squared above its mean at which the data contradict a fit
_LEAST_WEIGHT = 1e-4
_MOST_ATOMS = 0.999  # mass of the atoms together, at most
_LOOK, _ATOM_ERRORS = 3, 2.0  # order of differences, and standard errors, by which a first look finds atoms


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
        return _law(self.design @ eta[:smooth], eta[smooth:])

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
        each = scores if len(scores) == self.points else np.repeat(scores, self.points // len(scores))
        mean = float(smooth @ each) / float(smooth.sum())
        spline = (smooth * (each - mean)) @ self.design
        if not self.atoms:
            return np.asarray(spline)
        return np.concatenate([spline, [scores[-end] - mean for end in np.flatnonzero(self.ends)]])

    def information(self, law: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the Fisher information, shape (D, D): slope' weights slope, the turn last."""
        seen, turn = self._by_spline(law)
        scaled = seen * np.sqrt(self.likelihood.weights(expected))
        return np.asarray(turn.T @ (scaled @ scaled.T) @ turn)


def _law(logs: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Masses of the points, in proportion to exp(logs), and of the atoms."""
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


@dataclass(frozen=True, eq=False)
class Model:
    """One (m, lambda): the posterior's maximum eta (D,), the Cholesky factor of its precision, the log marginal likelihood."""

    family: Family
    penalty: float
    eta: np.ndarray
    factor: tuple[np.ndarray, bool]
    evidence: float

    @cached_property
    def turn(self) -> np.ndarray:
        """From eta to theta and the atoms, shape (K + atoms, D)."""
        axes = self.family.prior.axes
        full = np.eye(len(axes) + self.family.atoms, axes.shape[1] + self.family.atoms, k=-1)
        full[: len(axes), : axes.shape[1]] = axes
        return full


@dataclass(frozen=True, eq=False)
class Fit:
    """The average over models.

    parameters: (K + atoms,), theta and the masses of the atoms.  covariance: the same twice.  models: best first, and their
    weights.
    """

    likelihood: Likelihood
    level: int
    ends: tuple[bool, bool]
    parameters: np.ndarray
    covariance: np.ndarray
    models: tuple[Model, ...]
    weights: np.ndarray

    @property
    def coefficients(self) -> np.ndarray:
        """theta, (2^level + 3,): the log density's coefficients, but for a constant."""
        return self.parameters[: len(self.parameters) - sum(self.ends)]

    @cached_property
    def law(self) -> np.ndarray:
        """Masses of the points and of the atoms, shape (points + atoms,)."""
        size = len(self.coefficients)
        return _law(_splines(points_of(self.likelihood), size) @ self.coefficients, self.parameters[size:])

    @cached_property
    def expected(self) -> np.ndarray:
        """What the likelihood expects, shape (S,)."""
        points = points_of(self.likelihood)
        return self.likelihood.expected(cells_of(self.law, self.likelihood.inputs, points, self.ends))

    @property
    def excess(self) -> float:
        """By how many standard deviations the data's chi-squared exceeds its mean under the fit."""
        return self.likelihood.excess(self.expected)

    @property
    def atoms(self) -> tuple[float, float]:
        """Masses at the two ends."""
        masses = iter(self.parameters[len(self.coefficients) :])
        left, right = (float(next(masses)) if allowed else 0.0 for allowed in self.ends)
        return left, right


def fit(likelihood: Likelihood, level: int, orders: tuple[int, ...]) -> Fit:
    """Return the average over orders and penalties, with atoms where the data ask for them.

    level: j of V_j, in which the log density is sought; finer, up to V_8, where the data contradict the best model found there.
    orders: of the differences that priors penalise, each 1..4.
    """
    found = _fit(likelihood, level, orders)
    while found.excess > _INADEQUATE and found.level < FINEST:
        finer = _fit(likelihood, found.level + 1, (min(orders),))  # the prior of the roughest
        if finer.models[0].evidence <= found.models[0].evidence:
            break
        found = finer
    return found


def _fit(likelihood: Likelihood, level: int, orders: tuple[int, ...]) -> Fit:
    ends = _wanted_atoms(likelihood, level)
    models = _models(likelihood, level, orders, ends)
    if any(ends):
        models += _models(likelihood, level, orders, (False, False), max(model.evidence for model in models))
    return _average(likelihood, level, sorted(models, key=lambda model: -model.evidence))


def _wanted_atoms(likelihood: Likelihood, level: int) -> tuple[bool, bool]:
    """The ends whose atom is told from none, where both are allowed and third differences penalised."""
    family = Family(likelihood, _prior(level, _LOOK), (True, True))
    best = max(_path(family, level), key=lambda model: model.evidence)
    errors = np.sqrt(np.diagonal(cho_solve(best.factor, np.eye(len(best.eta)))))
    left, right = (bool(best.eta[end] > _ATOM_ERRORS * errors[end]) for end in (-2, -1))
    return left, right


def _models(
    likelihood: Likelihood, level: int, orders: tuple[int, ...], ends: tuple[bool, bool], best: float = -np.inf
) -> list[Model]:
    """All models but those that have no weight beside another of the log marginal likelihood `best`."""
    models: list[Model] = []
    for order in orders:
        for model in _path(Family(likelihood, _prior(level, order), ends), level, best):
            models.append(model)
            best = max(best, model.evidence)
    return models


def _average(likelihood: Likelihood, level: int, models: list[Model]) -> Fit:
    """The average of the models, best first, of that family, with or without atoms, whose marginal likelihoods add up to more.

    A spike and an atom explain the same data; half of each in a log density would explain them no longer.
    """
    evidence = np.array([model.evidence for model in models])
    weights = np.exp(evidence - evidence[0])
    kept = int(np.sum(weights > _LEAST_WEIGHT * weights.sum()))
    models, weights = models[:kept], weights[:kept] / weights[:kept].sum()
    with_atoms = np.array([model.family.atoms > 0 for model in models])
    averaged = with_atoms == (weights[with_atoms].sum() > weights[~with_atoms].sum())
    own = weights[averaged] / weights[averaged].sum()
    family = [model for model, is_in in zip(models, averaged, strict=True) if is_in]
    ends = family[0].family.ends
    each = np.array([model.turn @ model.eta for model in family])
    size = each.shape[1] - sum(ends)
    each[:, size:] = np.maximum(each[:, size:], 0.0)
    centre = own @ each
    covariance = (each - centre).T @ ((each - centre) * own[:, None])
    for w, model in zip(own, family, strict=True):
        covariance += w * (model.turn @ cho_solve(model.factor, model.turn.T))
    present = np.concatenate([np.full(size, True), centre[size:] > 0])  # an atom without mass is none
    return Fit(
        likelihood,
        level,
        _spread(ends, present[size:]),
        centre[present],
        covariance[np.ix_(present, present)],
        tuple(models),
        weights,
    )


def _spread(ends: tuple[bool, bool], present: np.ndarray) -> tuple[bool, bool]:
    """Which ends have an atom, of those allowed."""
    found = iter(present)
    left, right = (allowed and bool(next(found)) for allowed in ends)
    return left, right


def _path(family: Family, level: int, best: float = -np.inf) -> Iterator[Model]:
    """The models of one order, from the largest penalty down, each started where the last one ended.

    best: log marginal likelihood of another order's model; those too far below it are left out.
    """
    eta, information, highest = family.start, None, -np.inf
    for penalty in _penalties(family.likelihood.n, level, family.prior.order):
        precision = family.prior.precision(penalty)
        constant = float(np.sum(np.log(precision))) / 2
        constant += family.atoms * log(2 * pi) / 2  # masses are uniform; of the spline's, prior and posterior cancel it
        free = np.append(precision, np.zeros(family.atoms))
        found = _maximise(family, free, eta, information, max(best, highest) - _BEHIND - constant)
        eta, information, evidence = found.eta, found.information, found.value + constant
        if not found.is_behind:
            yield Model(family, penalty, eta, found.factor, evidence)
        highest = max(highest, evidence)
        if evidence < highest - _LOST and family.likelihood.excess(family.expected(family.law(eta))) < _INADEQUATE:
            return  # as smooth as the data allow, and rough enough for them


class _Maximum(NamedTuple):
    """Where the posterior is highest, the factor of its precision there, the value l - eta' Q eta / 2 - log det(I + Q) / 2.

    information: I, of the last place where it was asked for.  is_behind: whether the value is less than was asked for.
    """

    eta: np.ndarray
    factor: tuple[np.ndarray, bool]
    value: float
    information: np.ndarray | None
    is_behind: bool


def _maximise(
    family: Family,
    precision: np.ndarray,
    eta: np.ndarray,
    information: np.ndarray | None = None,
    least: float = -np.inf,
) -> _Maximum:
    """Fisher scoring with step halving; in between, quasi-Newton steps.

    The Fisher information is what costs.  It is kept while limited-memory BFGS steps, whose first guess it is, lead to
    the maximum; there it is computed again, and the last step is a Fisher step.

    precision: (D,) of the prior.  information: (D, D), of a place nearby.  least: below which a value need not be exact.
    """
    law, expected, value = _seen(family, precision, eta)
    gradient = family.gradient(law, expected) - precision * eta
    lowest = float(np.sum(np.log(precision[precision > 0]))) / 2  # of half log det(I + Q)
    memory: list[tuple[np.ndarray, np.ndarray, float]] = []
    is_here = information is None
    for _ in range(_STEPS):
        if information is None or is_here:
            information, memory = family.information(law, expected), []
        factor = _factor(information, precision)
        half = float(np.sum(np.log(np.diagonal(factor[0]))))
        for _ in range(_MEMORY):
            step = _direction(factor, memory, gradient)
            left = float(gradient @ step)
            if (is_here or left < _CLOSE) and value + 2 * left - (half if is_here else lowest) < least:
                return _Maximum(eta, factor, value - half, information, True)
            if left < _CLOSE and not is_here:
                break
            for _ in range(_HALVINGS if is_here else 1):
                tried = _seen(family, precision, eta + step)
                if tried[2] >= value - _NOTHING:
                    break
                step = step / 2
            else:
                if is_here:
                    return _Maximum(eta, factor, value - half, information, False)
                break
            eta, (law, expected, value) = eta + step, tried
            if is_here and left < _CONVERGED:
                return _Maximum(eta, factor, value - half, information, False)
            before, gradient = gradient, family.gradient(law, expected) - precision * eta
            lost = before - gradient
            if (curvature := float(lost @ step)) > 0:
                memory.append((step, lost, curvature))
            is_here = False
        is_here = True
    return _Maximum(eta, factor, value - half, information, False)


def _seen(family: Family, precision: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The law, what is expected, and the penalised value, minus infinity where the law is impossible."""
    law = family.law(eta)
    expected = family.expected(law)
    if (
        family.atoms and float(np.maximum(law[family.points :], 0.0).sum()) >= _MOST_ATOMS
    ):  # something is left to the density
        return law, expected, -np.inf
    if isinstance(family.likelihood, Counts) and not expected.min() > 0:
        return law, expected, -np.inf
    return law, expected, family.likelihood.log_likelihood(expected) - float(precision @ eta**2) / 2


def _direction(
    factor: tuple[np.ndarray, bool], memory: list[tuple[np.ndarray, np.ndarray, float]], gradient: np.ndarray
) -> np.ndarray:
    """The limited-memory BFGS step [LiuNocedal1989], the factor standing for the first guess.

    memory: the last steps, what the gradient lost by each, and the product of the two.
    """
    shares, rest = [], gradient
    for step, lost, curvature in reversed(memory):
        shares.append(float(step @ rest) / curvature)
        rest = rest - shares[-1] * lost
    found = np.asarray(lapack.dpotrs(factor[0], rest, lower=0)[0])
    for (step, lost, curvature), share in zip(memory, reversed(shares), strict=True):
        found += (share - float(lost @ found) / curvature) * step
    return found


def _factor(information: np.ndarray, precision: np.ndarray) -> tuple[np.ndarray, bool]:
    """The Cholesky factor of the posterior's precision, with the least ridge that lets it exist."""
    matrix, ridge = information.copy(), 0.0
    diagonal = np.diagonal(information) + precision
    while np.isfinite(ridge):
        np.fill_diagonal(matrix, diagonal + ridge)
        factor, failed = lapack.dpotrf(matrix, lower=0, clean=0)
        if not failed:
            return factor, False
        ridge = max(10 * ridge, 1e-12 * float(diagonal.sum()) / len(matrix))
    raise np.linalg.LinAlgError("the information is not finite")


@lru_cache(maxsize=16)
def _splines(points: int, size: int) -> np.ndarray:
    """The B-splines of the level of that size at the midpoints, (points, size); read-only."""
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
    values = _splines(points, size).reshape(pieces, -1, size)
    return np.array([values[piece, :, piece : piece + DEGREE + 1] for piece in range(pieces)])


@lru_cache(maxsize=32)
def _design(points: int, prior: Prior) -> np.ndarray:
    """The log density at the points by the prior's coordinates, (points, K - 1); read-only."""
    values = _splines(points, len(prior.axes)) @ prior.axes
    values.flags.writeable = False
    return values


@lru_cache(maxsize=32)
def _prior(level: int, order: int) -> Prior:
    """Differences of that order, scaled so that a wave of frequency k on the interval has roughness about k^(2 order) a^2 / 2,
    a its amplitude.
    """
    pieces, size = 1 << level, bspline.size(DEGREE, level)
    differences = np.diff(np.eye(size), order, axis=0) * (pieces / (2 * pi)) ** order / pieces**0.5
    values, axes = np.linalg.eigh(differences.T @ differences)  # rising: the polynomials below the order come first
    polynomials = np.linalg.qr(np.vander(np.arange(size) / size, order, increasing=True))[0]  # constants first
    axes = np.hstack([polynomials[:, 1:], axes[:, order:]])
    return Prior(order, axes, np.concatenate([np.zeros(order - 1), values[order:]]))


def _penalties(n: float, level: int, order: int) -> list[float]:
    """Decades of lambda, from where no wave can be told from none to where the finest are free."""
    most = ceil(log10(max(n, 10.0))) + 1
    least = -ceil(2 * order * log10(2 ** (level - 1)))
    return [10.0**power for power in range(most, least - 1, -1)]
