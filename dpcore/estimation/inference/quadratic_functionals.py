"""Quadratic functionals of a density with |f''|_2 <= M: an unbiased square, and the worst remainder among densities that fit.

With l and Q a functional's first and half its second derivative at the uniform density, and w the coordinates of
`smoothness_class`,

    L(w) = c + l'w + w'Q w,    v = S w + e,  S = seen / h,  e of variance V = seen / h^2,    h = seen + t rough,  t = 2,

    L(w) = c + l'v + v'Q v - tr(Q V)  -  X  +  R(w),    X = (l + 2 Q S w)'e + e'Q e - tr(Q V),

    R(w) = l'(1 - S) w + w'(Q - S Q S) w.

X is a mixture of chi-squareds, with nine tenths of the error probability.  R is bounded over the w of the class whose
chi-squared exceeds that of the nearest one by at most a quantile for a true w (simulated at the nearest).  The dual of
Lagrange's function bounds its maximum for any two multipliers, of the class and of the data.  So the data localise the worst
case: for the claw and 10^5 clients at epsilon 1, int f^2 is known to .7 and not to 1.3.  The variation of f'' within a piece is
neglected: it moves f by (256 pi)^-2 M in L2 at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.diagnostics.chi_square_mixture import error_law
from dpcore.estimation.inference.smoothness_class import SmoothClass
from dpcore.functionals import Functional


@dataclass(frozen=True, eq=False)
class Region:
    """The w of a class in the confidence region: sum seen (w - score / seen)^2 <= radius, over identified coordinates."""

    smooth_class: SmoothClass
    radius: float

    @classmethod
    def from_simulation(
        cls, smooth_class: SmoothClass, simulated: np.ndarray, null: np.ndarray, probability: float
    ) -> Region:
        """Return the region that a true w leaves with that probability; simulated: scores (m, K - 1) of the nearest w, null."""
        gaps = smooth_class.chi_squared(simulated, null) - smooth_class.distance(simulated, 1.0)
        return cls(
            smooth_class,
            float(smooth_class.distance(smooth_class.score[None], 1.0)[0] + np.quantile(gaps, 1 - probability)),
        )

    def range(self, linear: np.ndarray, square: np.ndarray) -> tuple[float, float]:
        """Return bounds of linear'w + w'square w over the region."""
        smooth_class, identified = self.smooth_class, self.smooth_class.identified
        seen, score = np.where(identified, smooth_class.seen, 0.0), np.where(identified, smooth_class.score, 0.0)
        least = self.radius - float(np.sum(smooth_class.score[identified] ** 2 / smooth_class.seen[identified]))
        ends = [[np.inf], [np.inf]]
        for ratio in constants.RATIOS:
            scale = 1 / np.sqrt(smooth_class.rough + ratio * seen)
            values, axes = np.linalg.eigh(square * np.outer(scale, scale))
            own, observed = axes.T @ (scale * linear), axes.T @ (scale * score)
            for side, sign in enumerate((-1.0, 1.0)):
                first = max(float(np.max(sign * values)), 0.0)
                m = first + max(float(np.max(np.abs(values))), 1e-12) * constants.MULTIPLIERS[:, None]
                bent = np.sum((sign * own + 2 * m * ratio * observed) ** 2 / (m - sign * values), axis=1) / 4
                ends[side].append(float(np.min(bent + m[:, 0] * (1 + ratio * least))))
        return -min(ends[0]), min(ends[1])


def quadratic(
    functional: Functional, smooth_class: SmoothClass, region: Region, confidence: float
) -> tuple[float, float, float, float]:
    """Return value, standard error, low and high of a quadratic functional."""
    expansion = functional.expand(Spline(smooth_class.lower, smooth_class.upper, 0, 0, np.ones(1)))
    linear = smooth_class.along(expansion.influence)[0] @ smooth_class.turn
    assert expansion.curvature is not None  # as it is quadratic
    size = len(smooth_class.turn)
    square = (
        smooth_class.turn.T
        @ expansion.curvature.on(smooth_class.features, smooth_class.breakpoints, size)
        @ smooth_class.turn
    )
    damped = smooth_class.seen + constants.DAMPING * smooth_class.rough
    shrunk, variance, estimated = smooth_class.seen / damped, smooth_class.seen / damped**2, smooth_class.score / damped
    value = expansion.value + linear @ estimated + estimated @ square @ estimated - np.diagonal(square) @ variance
    # The slope at the estimate contains the noise twice, which is removed
    slope, second = linear + 2 * square @ estimated, 2 * float(np.sum(square**2 * np.outer(variance, variance)))
    first = float(np.sum(slope**2 * variance))
    slope = slope * np.sqrt(max(first - 2 * second, 0.0) / max(first, constants.TINY))
    law = error_law(slope, square, np.diag(variance))
    tail = (1 - constants.SMALL) * (1 - confidence) / 2
    least, most = region.range(linear * (1 - shrunk), square * (1 - np.outer(shrunk, shrunk)))
    low, high = value - law.quantile(1 - tail) + least, value - law.quantile(tail) + most
    return float(np.clip(value, low, high)), float(np.sqrt(law.variance)), float(low), float(high)
