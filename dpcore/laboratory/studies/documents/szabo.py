"""The rates of [Szabo2024], by simulation: derivatives at a point and in L2, the elbow, and Lepski's rule.

Reports are wavelet Laplace; a density is projected on splines of degree p - 1.  The numbers of clients are whole levels of the
theory apart, so that between one and the next nothing but the scale changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import cast

import numpy as np
import pandas as pd

from dpcore import pipeline
from dpcore._random import Source, seeded
from dpcore.estimation.estimators import Lepski, Projection
from dpcore.laboratory.studies import pointwise, rates
from dpcore.laboratory.studies.contestants import ATTRIBUTE
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.theory import rates as theory
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace

_START = 1 << 20  # clients of the first place
_PLACES = {0: (_START, 5), 1: (_START, 4), 2: (10**12 >> 16, 3)}  # degree -> clients of the first place, places
_GRID = (np.arange(97) + 0.5) / 97  # no dyadic numbers, so that each lies elsewhere in its cell
_DEGREE = 1  # of the splines of the elbow and of Lepski's rule, p = 2
_LAW = rates.extreme(_DEGREE)
_RATE = -float(theory.density(_DEGREE + 1).exponent) / 2  # of the error in n, and half of it in epsilon
_SMOOTH = ("mean", "variance", "quantile(0.5)", "integrated_square(0)", "entropy")


def sizes(degree: int) -> list[int]:
    """Return numbers of clients, each a level of theory after the one before: 2^{2p+2} times as many."""
    start, places = _PLACES[degree]
    return [start * 4 ** ((degree + 2) * k) for k in range(places)]


def derivative_rates(*, runs: int, random: Source) -> pd.DataFrame:
    """Return root mean square errors of derivatives of order 0, 1 and 2 where the density has one more, p = order + 1.

    Columns: where ('point': at 1/3, 'L2'), order, n, error, standard_error, rate: of the error in n, -(p - order)/(2p + 2).
    """
    rows = []
    points = [rates.SELF_SIMILAR, *_GRID]
    for order in _PLACES:
        degree, law = order, rates.extreme(order)
        rate = -float(theory.atomic(degree + 1, order).exponent)
        truth = np.array([pointwise.truth(law, order, x) for x in points])
        for n in sizes(degree):
            level = pointwise.balanced_level(law, degree, order, rates.SELF_SIMILAR, n, 1.0)
            estimates = pointwise.draws(law, degree, {order: level}, points, n, 1.0, _seeds(runs, random))[:, 0, :]
            squares = (estimates - truth) ** 2
            rows.append(("point", order, n, *_root(squares[:, 0]), rate))
            rows.append(("L2", order, n, *_root(squares[:, 1:].mean(axis=1)), rate))
    return pd.DataFrame(rows, columns=["where", "order", "n", "error", "standard_error", "rate"])


def elbow(*, n: int, epsilons: Sequence[float], runs: int, random: Source) -> pd.DataFrame:
    """Return the L2 error of a density against epsilon at the best of all levels: epsilon, error, standard_error, stated.

    stated: the larger of (n epsilon^2)^{-p/(2p+2)} through the first point and n^{-p/(2p+1)} through the last.
    """
    rows = [(epsilon, *min(_levels(n, epsilon, runs, random))) for epsilon in epsilons]
    table = pd.DataFrame(rows, columns=["epsilon", "error", "standard_error"])
    falling = table["error"].iloc[0] * (table["epsilon"] / table["epsilon"].iloc[0]) ** (2 * _RATE)
    return table.assign(stated=np.maximum(falling, table["error"].iloc[-1]))


def lepski(*, places: int, runs: int, random: Source) -> pd.DataFrame:
    """Return L2 errors of a density at the best level and at the one that Lepski's rule chooses, n growing by 8.

    Columns: method, n, error, standard_error, rate: of the error in n, without the rule's logarithm.
    """
    law, rows = _LAW, []
    truth = law.pdf(_GRID)
    for n in (_START * 8**k for k in range(places)):
        rows.append(("best level", n, *min(_levels(n, 1.0, runs, random)), _RATE))
        squares = []
        for seed in _seeds(runs, random):
            aggregate = pipeline.simulate(pointwise.scheme(_DEGREE, n, 1.0), law, seeded(seed), n)
            estimate = pipeline.estimate(aggregate, ATTRIBUTE, Projection(Lepski(), unit_mass=False))
            squares.append(float(np.mean((estimate.raw.pdf(_GRID) - truth) ** 2)))
        rows.append(("Lepski's rule", n, *_root(np.array(squares)), _RATE))
    return pd.DataFrame(rows, columns=["method", "n", "error", "standard_error", "rate"])


def smooth_rates(*, runs: int, places: int) -> pd.DataFrame:
    """Return root mean square errors of smooth functionals as the study of rates measures them, dyadic wave, epsilon = 1.

    Columns: functional, n, error, standard_error, rate (-1/2).
    """
    rows = []
    for cell in [Cell("hill", n, 1.0) for n in rates.SIZES[rates.WAVE][:places]]:
        sums = rates.measure(rates.WAVE, cell, 0, runs).set_index("metric")["value"]
        for functional in _SMOOTH:
            returned, square, fourth = (sums[f"{functional}:{name}"] for name in ("returned", "square", "fourth"))
            mean = square / returned
            spread = sqrt(max(fourth / returned - mean**2, 0.0) / returned)
            rows.append(
                (functional, cell.clients, sqrt(mean), spread / (2 * sqrt(mean)), -float(theory.smooth().exponent))
            )
    return pd.DataFrame(rows, columns=["functional", "n", "error", "standard_error", "rate"])


def _levels(n: int, epsilon: float, runs: int, random: Source) -> list[tuple[float, float]]:
    """The error of every level, and its standard error."""
    truth, seeds, errors = _LAW.pdf(_GRID), _seeds(runs, random), []
    mechanism = cast(WaveletLaplace, pointwise.scheme(_DEGREE, n, epsilon).attributes[ATTRIBUTE].mechanism)
    basis = mechanism.basis
    for level in range(basis.coarsest_level, basis.finest_level + 2):
        draws = pointwise.draws(_LAW, _DEGREE, {0: level}, list(_GRID), n, epsilon, seeds)[:, 0, :]
        errors.append(_root(((draws - truth) ** 2).mean(axis=1)))
    return errors


def _seeds(runs: int, random: Source) -> list[tuple[int, int]]:
    first = int(random.generator().integers(1 << 40))
    return [(first, run) for run in range(runs)]


def _root(squares: np.ndarray) -> tuple[float, float]:
    """The root of the mean, and its standard error."""
    root = sqrt(float(squares.mean()))
    return root, float(squares.std(ddof=1) / sqrt(len(squares)) / (2 * root))
