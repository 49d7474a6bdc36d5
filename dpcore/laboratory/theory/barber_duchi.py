"""Means under different definitions of privacy: lower bounds and the table of rates of [BarberDuchi2014].

Laws on R^d with E ||X||^k <= r^k; errors are squared and Euclidean.  Where the source leaves a constant open, ours is worked
out from its proof: propositions 2 and 4 are maximised over their mixture's share p instead of fixing it.  The upper bounds of
proposition 6 are `central.truncated_mean.risk_bound`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpcore.errors import check_positive, check_within
from dpcore.laboratory.theory.two_points import Release, two_points

_SHARES = np.geomspace(1e-12, 1.0, 600)


def marginal_probability(n: int, p: float, epsilon: float, delta: float, likely: float) -> float:
    """Return the least that P_v'(A) can be where P_v(A) = likely (lemma 2), (27).

    Laws (1 - p) P_0 + p P_v of n records: with probability one half at most ceil(n p) of them differ.
    """
    factor, lost = _coupled(n, p, epsilon, delta)
    return factor * (likely - 0.5) - lost


def packing_error(points: float, n: int, p: float, epsilon: float, delta: float = 0.0) -> float:
    """Return the least average probability of being at least rho* off, over that many distributions of a packing (theorem 3).

    (|V| - 1) (e^-c / 2 - delta (1 - e^-c) / (1 - e^-epsilon)) / (1 + (|V| - 1) e^-c), c = epsilon ceil(n p); at least 0.
    points: |V| >= 2, inf for as many as one likes.
    """
    check_within(2, math.inf, points=points)
    factor, lost = _coupled(n, p, epsilon, delta)
    rarity = 1 / (points - 1)
    return max((factor / 2 - lost) / (rarity + factor), 0.0) if rarity + factor > 0 else 0.0


def mean_two_points(release: Release, r: float, k: float) -> float:
    """Return a bound from the laws (1 - p) delta_0 + p delta_v and its mirror, |v| = r p^{-1/k} (proposition 2).

    Their means are 2 r p^{1 - 1/k} apart, their total variation is p.  For an alpha-total-variation private release and p =
    1 / (2 n alpha) this is the printed (12), c r^2 (n^2 alpha^2)^{-(k-1)/k}.
    """
    check_positive(r=r)
    return max(two_points(2 * r * float(p) ** (1 - 1 / k), release.variation(float(p), math.inf), 2) for p in _SHARES)


def support(n: int, alpha: float) -> float:
    """Return the bound min(1, 1 / (n alpha)) / 16 of E |error| for theta of uniform laws on [0, theta], theta <= 1 (13)."""
    return min(1.0, 1 / (n * alpha)) / 16


def support_two_points(release: Release) -> float:
    """Return the bound of proposition 3 from uniform laws on [0, 1] and [0, 1 - t], whose total variation is t."""
    return max(two_points(float(t), release.variation(float(t), math.inf)) for t in _SHARES)


def mean_packing(n: int, epsilon: float, delta: float, d: int, r: float, k: float) -> float:
    """Return a bound for an (epsilon, delta)-private release (proposition 4), (15).

    2^d points of the unit ball at least 1/2 apart, |V| = 2^d, rho* = r p^{1 - 1/k} / 4; the best p of theorem 3.
    """
    check_positive(n=n, epsilon=epsilon, r=r)
    points = 2.0**d if d < 1024 else math.inf
    bounds = [
        (r * float(p) ** (1 - 1 / k) / 4) ** 2 * packing_error(points, n, float(p), epsilon, delta) for p in _SHARES
    ]
    return max(bounds)


def table_1(n: int, epsilon: float, delta: float, d: int, r: float, k: float) -> Mapping[str, tuple[float, float]]:
    """Return definition -> (rate of the upper bound, rate of the lower bound), constants left out; r^2 / n is in each.

    epsilon: alpha under total variation and Kullback-Leibler.  delta: in (0, 1).  k: at least 1, inf for bounded laws.
    """
    check_positive(n=n, epsilon=epsilon, delta=delta, d=d, r=r)
    power = 1 - 1 / k
    one, log = (n * epsilon) ** -2, math.log(1 / delta)

    def rate(term: float) -> float:
        return r**2 / n + r**2 * min(1.0, term**power)

    return {
        "none": (r**2 / n, r**2 / n),
        "pure": (rate(d**2 * one), rate(d**2 * one)),
        "smooth": (rate(d**2 * one), rate(d**2 * one)),
        "approximate": (rate(d * log * one), rate(min(d, log) ** 2 * one)),
        "total_variation": (rate(d * one), rate(one)),
        "kullback_leibler": (rate(d / (n**2 * epsilon)), rate(1 / (n**2 * epsilon))),
    }


def free_epsilon(n: int, d: int, delta: float, k: float) -> float:
    """Return the least epsilon at which (epsilon, delta)-privacy costs no rate, (16); infinite for k <= 2.

    delta: 0 for the pure promise.
    """
    if k <= 2:
        return math.inf
    log = math.log(1 / delta) if delta else math.inf
    return min(d, log) * n ** (-0.5 if k == math.inf else -(k - 2) / (2 * (k - 1)))


def _coupled(n: int, p: float, epsilon: float, delta: float) -> tuple[float, float]:
    """e^-c and delta (1 - e^-c) / (1 - e^-epsilon), c = epsilon ceil(n p), whose limit at epsilon = 0 is delta ceil(n p)."""
    check_within(0, math.inf, epsilon=epsilon)
    changed = math.ceil(n * p)
    factor = math.exp(-epsilon * changed)
    return factor, delta * (-math.expm1(-epsilon * changed) / -math.expm1(-epsilon) if epsilon else changed)
