"""A density and its slope at a point, by projection: the level that theory balances, bias and noise there, and draws.

With n reports of epsilon, splines of degree d in V_j and p = d + 1, the order-s derivative at x0 has

    bias   (P_j f)^(s)(x0) - f^(s)(x0), of the order 2^{-j (p - s)},   P_j the L2 projection: exact, by quadrature,
    noise  the square root of N' S N, of the order 2^{j (1 + s)} / sqrt(n epsilon^2),

N the s-th derivatives of the B-splines at x0 and S the covariance that the ladder of levels knows.  They balance at
2^j = c (n epsilon^2)^{1/(2p+2)}, which leaves an error of the order (n epsilon^2)^{-(p-s)/(2p+2)}: atomic functionals of index
s in [Szabo2024].  Here c is such that the sum of squares is least at n epsilon^2 = 1e8 and j is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

import numpy as np

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.estimation.estimators import Fixed, Projection
from dpcore.laboratory.studies.contestants import ATTRIBUTE, Contestant
from dpcore.laboratory.studies.targets.densities import Target
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.planning.assumed_population import expected_aggregate

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)  # on each cell, where every density here is smooth
_BALANCED_AT, _REFERENCE_LEVEL = 1e8, 5  # n epsilon^2, and a level near the balance there


def scheme(degree: int, n: int, epsilon: float) -> Scheme:
    """Return the scheme of wavelet Laplace at that degree planned for n clients, everything else by default."""
    name = f"projection_degree_{degree}"
    return Contestant(name, f'mechanism = "wavelet_laplace"\ndegree = {degree}').scheme(n, epsilon)


def _mechanism(degree: int, n: int, epsilon: float) -> WaveletLaplace:
    return cast(WaveletLaplace, scheme(degree, n, epsilon).attributes[ATTRIBUTE].mechanism)


def projected(target: Target, degree: int, level: int) -> np.ndarray:
    """Return the B-spline coefficients of the L2 projection of a density on V_level, shape (2^level + degree,)."""
    cells = 1 << level
    x = ((np.arange(cells)[:, None] + (_NODES + 1) / 2) / cells).ravel()
    weights = np.tile(_WEIGHTS / (2 * cells), cells)
    products = bspline.evaluate(x, degree, level).T @ (weights * target.pdf(x))
    return np.asarray(np.linalg.solve(bspline.gram(degree, level), products))


def bias(target: Target, degree: int, level: int, order: int, x: float) -> float:
    """Return (P_j f)^(order)(x) - f^(order)(x)."""
    features = bspline.evaluate(np.array([x]), degree, level, order)[0]
    return float(features @ projected(target, degree, level)) - truth(target, order, x)


def truth(target: Target, order: int, x: float) -> float:
    """Return f^(order)(x), order 0, 1 or 2."""
    return float(target.pdf(x) if order == 0 else target.derivatives[order - 1](x))


def noise(target: Target, degree: int, level: int, order: int, x: float, n: int, epsilon: float) -> float:
    """Return the standard deviation that the estimate's covariance gives to the order-th derivative at x.

    The estimate is that of the expected aggregate, so that nothing is random.
    """
    estimate = pipeline.estimate(expected_aggregate(scheme(degree, n, epsilon), target, n), ATTRIBUTE, _plug_in(level))
    features = estimate.raw.features(np.array([x]), order)[0]
    return float(np.sqrt(features @ estimate.covariance @ features))


def balanced_level(target: Target, degree: int, order: int, x: float, n: int, epsilon: float) -> int:
    """Return the level j that balances bias and noise at x by theory; never coarser than the coarsest there is."""
    p = degree + 1
    wanted = _balance(target, degree, order, x) + np.log2(n * epsilon**2 / _BALANCED_AT) / (2 * p + 2)
    return max(round(wanted), _mechanism(degree, n, epsilon).basis.coarsest_level)


def draws(
    target: Target,
    degree: int,
    levels: Mapping[int, int],
    points: Sequence[float],
    n: int,
    epsilon: float,
    seeds: Sequence,
) -> np.ndarray:
    """Return estimates of the derivatives at the points, shape (seeds, orders, points), one simulated round a seed.

    levels: order -> level.  They are what `Projection(Fixed(level), unit_mass=False)` gives, the source's literal plug-in
    through the dual, without the covariance that it works out for each.
    """
    planned, model = scheme(degree, n, epsilon), _mechanism(degree, n, epsilon).model()
    duals = [
        [
            bspline.evaluate(np.array(points), degree, level, order) @ model.basis.synthesis(block, level)
            for block in range(level - model.basis.coarsest_level + 1)
        ]
        for order, level in levels.items()
    ]
    estimates = np.empty((len(seeds), len(duals), len(points)))
    for row, seed in enumerate(seeds):
        statistics = pipeline.simulate(planned, target, seeded(seed), n).statistics[ATTRIBUTE]
        products = model.coefficients(statistics)
        for column, blocks in enumerate(duals):
            estimates[row, column] = sum(dual @ z for dual, z in zip(blocks, products, strict=False))
    return estimates


def _plug_in(level: int) -> Projection:
    return Projection(Fixed(level), unit_mass=False)


@lru_cache(maxsize=64)
def _balance(target: Target, degree: int, order: int, x: float) -> float:
    """The real j at which bias^2 + noise^2 is least for n epsilon^2 = 1e8, both on their power laws."""
    p, n = degree + 1, round(_BALANCED_AT)
    ratio = bias(target, degree, _REFERENCE_LEVEL, order, x) / noise(target, degree, _REFERENCE_LEVEL, order, x, n, 1.0)
    # d/dj of bias^2 4^{-(p - s)(j - r)} + noise^2 4^{(1 + s)(j - r)} is zero
    return float(_REFERENCE_LEVEL + np.log2(ratio**2 * (p - order) / (1 + order)) / (2 * p + 2))
