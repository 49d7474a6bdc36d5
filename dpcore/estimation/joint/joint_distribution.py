"""The joint distribution of two attributes with given margins, as smooth as the evidence selects.

    P = u(x) f(x) g(y) v(y) exp(sum t_jk a_j(x) b_k(y)),

f and g the margins, the estimates of each attribute; a_j and b_k orthonormal at them, polynomials of increasing order for
numbers and contrasts for categories; u and v such that P has the margins f and g, for any t.  A normal distribution has one
nonzero t.
The prior of t_jk is normal with mean 0 and variance s^2 (j k)^(-2r); s and r maximise the evidence, so that s = 0 where the
reports show no association.  The likelihood of t is that near independence (`Summary`), exact there and accurate elsewhere, as
the noise is larger than the sampling variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.polynomial import legendre

from dpcore.estimation import constants
from dpcore.estimation.joint.product_moments import Summary
from dpcore.functionals.axis import Axis

Margins = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Functions:
    """a_j, (J, K), orthonormal with one at a margin f, (K,), and their orders, (J,): those of a prior."""

    values: np.ndarray
    orders: np.ndarray

    @classmethod
    def at_margin(cls, axis: Axis, margin: np.ndarray) -> Functions:
        """Return those of an axis at its margin."""
        held = margin > 1e-9
        if axis.numbers is None or axis.size <= 3:
            columns: np.ndarray = np.eye(axis.size)[:, held][:, 1:]
            orders: np.ndarray = np.ones(columns.shape[1])
        else:
            numbers = axis.numbers - float(axis.numbers.min())
            answers = int(held[axis.answered > 0].sum())
            order = max(0, min(constants.MAX_ORDER, answers - 1))
            columns = legendre.legvander(2 * numbers / float(numbers.max()) - 1, order)[:, 1:]
            columns = columns * axis.answered[:, None]
            orders = np.arange(1.0, order + 1)
            if axis.is_silent and held[-1] and answers:
                columns, orders = np.hstack([1 - axis.answered[:, None], columns]), np.append(1.0, orders)
        root = np.sqrt(margin)
        basis, _ = np.linalg.qr(root[:, None] * np.hstack([np.ones((axis.size, 1)), columns]))
        return cls((basis[:, 1:] / root[:, None]).T, orders)


@dataclass(frozen=True, eq=False)
class Surface:
    """The joint distribution shown, with its posterior.

    law: P, (K_x, K_y), sum one.  directions: (m, K_x, K_y), its derivatives by t.  covariance: of t, (m, m), a posteriori.
    strength: s, 0 without association.
    """

    law: np.ndarray
    directions: np.ndarray
    covariance: np.ndarray
    strength: float

    @cached_property
    def errors(self) -> np.ndarray:
        """Posterior standard deviations of P, given the margins, (K_x, K_y)."""
        squares = np.sum(self.directions * np.tensordot(self.covariance, self.directions, axes=1), axis=0)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def fit(summary: Summary, first: Functions, second: Functions, margins: Margins) -> Surface:
    """Return the posterior mode with these margins, (K_x,) and (K_y,)."""
    strength, decay = _prior(summary, first, second)
    orders = np.outer(first.orders, second.orders).ravel()
    if strength == 0:
        none = np.zeros((0, *map(len, margins)))
        return Surface(np.outer(*margins), none, np.zeros((0, 0)), 0.0)
    belief = 1 / (strength**2 * orders ** (-2 * decay))
    precision = np.linalg.inv(summary.covariance)
    t, observed = np.zeros(len(orders)), summary.values
    law = _law(t, first, second, margins)
    best = _loss(law, t, summary, precision, belief)
    for _ in range(constants.JOINT_STEPS):
        directions = _directions(law, first, second, margins)
        slopes, left = summary.reading(directions), observed - summary.reading(law)
        curvature = slopes @ precision @ slopes.T + np.diag(belief)
        step = np.linalg.solve(curvature, slopes @ precision @ left - belief * t)
        size = 1.0
        while size > 1e-3:
            tried = t + size * step
            law_tried = _law(tried, first, second, margins)
            loss = _loss(law_tried, tried, summary, precision, belief)
            if loss <= best:
                break
            size /= 2
        else:
            break
        gained, t, law, best = best - loss, tried, law_tried, loss
        if gained < constants.JOINT_GAIN:
            break
    return Surface(law, directions, np.linalg.inv(curvature), strength)


def _prior(summary: Summary, first: Functions, second: Functions) -> tuple[float, float]:
    """s and r of the largest evidence, by the linearised estimate."""
    values, orders = summary.values, np.outer(first.orders, second.orders).ravel()
    best, chosen = _evidence(values, summary.covariance), (0.0, 0.0)
    decays = constants.ASSOCIATION_DECAYS if orders.max() > 1 else constants.ASSOCIATION_DECAYS[:1]
    for strength, decay in product(constants.ASSOCIATION_SPREADS, decays):
        evidence = _evidence(values, summary.covariance + np.diag(strength**2 * orders ** (-2 * decay)))
        if evidence > best:
            best, chosen = evidence, (float(strength), decay)
    return chosen


def _evidence(values: np.ndarray, covariance: np.ndarray) -> float:
    factor = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(factor, values)
    return float(-(scaled @ scaled) / 2 - np.sum(np.log(np.diagonal(factor))))


def _loss(law: np.ndarray, t: np.ndarray, summary: Summary, precision: np.ndarray, belief: np.ndarray) -> float:
    left = summary.values - summary.reading(law)
    return float(left @ precision @ left + t @ (belief * t)) / 2


def _law(t: np.ndarray, first: Functions, second: Functions, margins: Margins) -> np.ndarray:
    exponent = first.values.T @ t.reshape(len(first.values), -1) @ second.values
    return with_margins(np.outer(*margins) * np.exp(np.clip(exponent - exponent.max(), -300.0, 0.0)), margins)


def _directions(law: np.ndarray, first: Functions, second: Functions, margins: Margins) -> np.ndarray:
    """Derivatives of P by t, (m, K_x, K_y): products of functions, less the part that would change the margins."""
    f, g = margins
    directions = np.einsum("ij,ai,bj->abij", law, first.values, second.values, optimize=True)
    directions = directions.reshape(-1, *law.shape)
    rows, columns = directions.sum(axis=2), directions.sum(axis=1)
    # u f + P v = rows, P'u + g v = columns: one equation follows from the others, and v may sum to zero.
    left = np.diag(g) - law.T @ (law / f[:, None]) + np.outer(g, g)
    v = np.linalg.solve(left, (columns - (rows / f) @ law).T).T
    u = (rows - v @ law.T) / f
    return np.asarray(directions - law * (u[:, :, None] + v[:, None, :]))


def with_margins(table: np.ndarray, margins: Margins) -> np.ndarray:
    """Return the table with rows and columns scaled alternately to these sums [DemingStephan1940]."""
    f, g = margins
    for _ in range(constants.MARGIN_PASSES):
        table = table * (f / np.maximum(table.sum(axis=1), constants.TINY))[:, None]
        sums = table.sum(axis=0)
        table = table * (g / np.maximum(sums, constants.TINY))
        if np.max(np.abs(sums - g)) < constants.MARGIN_TOLERANCE:
            break
    return table
