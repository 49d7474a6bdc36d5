"""Small-ball probabilities of the Kolmogorov-Smirnov distance, and the accuracy they promise of the exponential mechanism.

R(k, e) = Pr(sup |F - G_k| <= e), G_k the empirical distribution of k draws from F [WassermanZhou2010], Theorem 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import check_positive, check_within
from dpcore.laboratory.central.densities.distances import kolmogorov_smirnov

_AT_ONCE = 1 << 22  # uniforms


@dataclass(frozen=True)
class SmallBall:
    """An estimated probability and its standard error, from `runs` simulations."""

    value: float
    standard_error: float
    runs: int


def small_ball_probability(
    size: int, radius: float, *, runs: int, random: Source, dimension: int = 1, law: Any = None
) -> SmallBall:
    """Return R(size, radius) by simulation; for r = 1 it is the same for every continuous F.

    dimension, law: for r > 1, where it does depend on F; a law with `cdf` and `sample(n, generator)`, points (n, r).
    """
    check_within(1, 1 << 20, size=size)
    check_positive(radius=radius, runs=runs)
    generator = random.generator()
    inside, done = 0, 0
    while done < runs:
        some = min(runs - done, max(1, _AT_ONCE // size))
        if dimension == 1:
            points = np.sort(generator.random((some, size)), axis=1)
            steps = np.arange(size + 1) / size
            far = np.maximum((steps[1:] - points).max(axis=1), (points - steps[:-1]).max(axis=1))
        else:
            far = np.array([kolmogorov_smirnov(law.sample(size, generator), law.cdf, dimension) for _ in range(some)])
        inside += int((far <= radius).sum())
        done += some
    share = inside / runs
    return SmallBall(share, sqrt(share * (1 - share) / runs), runs)


def accuracy_bound(n: int, size: int, epsilon: float, radius: float, supremum: float, small_ball: float) -> float:
    """Return Theorem 11's bound on Pr(sup |F - F_Z| > radius), at most 1; r = 1.

    small_ball: R(size, radius / 2), must be above 0, or the bound is trivial.  supremum: sup p >= 1.
    (sup p)^k exp(-3 epsilon e / (16 Delta)) / R(k, e/2) with Delta = 1/n, plus Pr(sup |F - F_X| > e / 16), for which the source
    has O(n^-c), here replaced by 2 exp(-2 n (e / 16)^2) [Massart1990].
    """
    check_positive(n=n, size=size, epsilon=epsilon, radius=radius)
    check_within(1, inf, supremum=supremum)
    if small_ball <= 0:
        return 1.0
    exponent = size * log(supremum) - 3 * epsilon * radius * n / 16 - log(small_ball)
    return min(1.0, exp(min(exponent, 0.0)) + 2 * exp(-2 * n * (radius / 16) ** 2))


def smallest_radius(n: int, size: int, epsilon: float, supremum: float, small_ball: Any, level: float = 0.05) -> float:
    """Return the smallest radius of 1/64, 2/64, .., 1 whose bound is at most `level`; inf where none is.

    small_ball: a function (size, radius) -> probability.
    """
    for radius in np.arange(1, 65) / 64:
        if accuracy_bound(n, size, epsilon, float(radius), supremum, small_ball(size, radius / 2)) <= level:
            return float(radius)
    return inf
