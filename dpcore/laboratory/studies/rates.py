"""The study of rates: how fast do errors fall as n epsilon^2 grows, compared with theory?

Smooth functionals (mean, variance, distribution function, median, int f^2, entropy) by the default estimates, on two smooth
densities bounded away from zero; the value is the corrected one.  Theory: (n epsilon^2)^{-1/2} [Szabo2024].  Every n epsilon^2
is measured with epsilon 1, and with epsilon 1/2 and four times the clients.

    dyadic_wave                 its design knows epsilon only
    wavelet_laplace             one scheme for all n, planned for n epsilon^2 = 1e8
    wavelet_laplace_replanned   a scheme planned for each n, as it is by default

They are asked from 1e6 to 1e10; the dyadic wave from 2e6, since which it does not refuse, to 2e9: at 1e10 the entropy of one
density has a bias of 4e-5, as large as its standard error.

Two logarithms are in the theory, and slopes may lie between 1/2 and 1/2 less theirs:

- The distribution function and quantiles have weights that jump, and are no smooth functionals in the theorem's sense.  Every
  level costs them the same: with clients spread evenly over L = log2(n epsilon^2) / 2 levels the error is of the order
  L (n epsilon^2)^{-1/2}, whose slope is .444 from 1e6 to 1e10.
- A wavelet scheme for more clients has more blocks, B ~ log n of them, and the coarse one that moments live in gets little more
  than 1 / (2 B) of the clients.  The error is between (n epsilon^2)^{-1/2} and the root of one over that block's clients times
  epsilon^2, whose slope is .462 there.  `wavelet_laplace_replanned` shows it; the source's split pays a power of log n.

Atomic functionals (the density and its slope at a point, see `pointwise`) by projection in splines of degree 0 and 1, with
p = degree + 1.  Theory: (n epsilon^2)^{-(p - s)/(2 p + 2)}, and bias and noise themselves.  A slope over whole levels is honest
only if nothing but the scale changes from one level to the next:

- The bias at x0 is a polynomial in the place of x0 within its cell.  For x0 = 1/3 that place is one third from the left or
  from the right at every level, so that bias and noise only scale; at 0.3 the places are .4, .8, .6, .2 in turn and the bias
  may all but vanish.  Both are no dyadic numbers, both are held against bias and noise; slopes are of 1/3.
- The density is a sine (cosine) whose p-th derivative is extreme at 1/3, so that the next term of the bias vanishes there.
- n grows by 4 from one place to the next, and by 4^{p + 1} a level: places p + 1 apart are a level apart and otherwise alike,
  and the slope is taken among such places, one intercept for each of their p + 1 classes.

Rows.  `parameters` names the chunk, `metric` is FUNCTIONAL:STATISTIC, `repetitions` counts the chunk's rounds, and `value` is a
sum over those of them that returned a number:

    returned, error, square, fourth   how many; of value - truth, of its square and of its fourth power
    standard_error                    of the standard error, for smooth functionals
    bias, noise, level                values by theory and the level chosen, for atomic ones, as often as `returned`

`failed` counts rounds without an estimate; it has no functional.  The view `rates_cells` adds the chunks up.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.errors import DPCoreError
from dpcore.functionals import Derivative, Functional, FunctionDensity, parse
from dpcore.laboratory.studies import pointwise, runner
from dpcore.laboratory.studies.contestants import ATTRIBUTE, Contestant
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets.densities import Target

CHUNK = 25
EPSILONS = (1.0, 0.5)
FUNCTIONALS = ("mean", "variance", "cdf(0.3)", "quantile(0.5)", "integrated_square(0)", "entropy")
SELF_SIMILAR = 1 / 3
POINTS = (SELF_SIMILAR, 0.3)
STEP = 4  # n of one place over that of the next, for atomic functionals
CLIENTS = tuple(10**10 // STEP**k for k in range(7, -1, -1))  # 610,351 to 1e10, epsilon 1
PLANNED = 10**8  # n epsilon^2 that one scheme for all is planned for
WAVE, WAVELETS, REPLANNED = "dyadic_wave", "wavelet_laplace", "wavelet_laplace_replanned"
DEGREES = {"projection_degree_0": 0, "projection_degree_1": 1}  # method -> degree
METHODS = (WAVE, WAVELETS, REPLANNED, *DEGREES)
_WIDE = tuple(10**k for k in range(6, 11))
SIZES = {WAVE: tuple(2 * 10**k for k in range(6, 10)), WAVELETS: _WIDE, REPLANNED: _WIDE}  # n epsilon^2
_LINES = {
    WAVE: 'mechanism = "dyadic_wave"',
    WAVELETS: 'mechanism = "wavelet_laplace"',
    REPLANNED: 'mechanism = "wavelet_laplace"',
}


def cells(method: str) -> list[Cell]:
    """Return where a method is measured."""
    if method in DEGREES:
        return [Cell(_EXTREME[DEGREES[method]], n, 1.0) for n in CLIENTS]
    places = product(_SMOOTH, SIZES[method], EPSILONS)
    return [Cell(target, round(size / epsilon**2), epsilon) for target, size, epsilon in places]


def measure(method: str, cell: Cell, chunk: int, upto: int) -> pd.DataFrame:
    """Return the rows of one chunk: repetitions chunk * CHUNK up to `upto`."""
    per_repetition = rounds_each(method)
    rounds = range(chunk * CHUNK * per_repetition, upto * per_repetition)
    seeds = [runner.seed(cell, method, number) for number in rounds]
    sums = _atomic(DEGREES[method], cell, seeds) if method in DEGREES else _smooth(method, cell, seeds)
    return runner.rows(method, cell, chunk, len(rounds), sums)


def rounds_each(method: str) -> int:
    """Return how many rounds of an atomic cell go with a repetition: one costs a fiftieth of a smooth one's."""
    return 10 if method in DEGREES else 1


def _smooth(method: str, cell: Cell, seeds: list[tuple[int, ...]]) -> dict[str, float]:
    """metric -> sum over rounds."""
    law = target(cell.target)
    n = cell.clients if method == REPLANNED else round(PLANNED / cell.epsilon**2)
    scheme = Contestant(method, _LINES[method]).scheme(n, cell.epsilon)
    asked, failed = truths(cell.target), 0
    pairs: dict[str, list[tuple[float, float]]] = {str(functional): [] for functional in asked}
    for seed in seeds:
        try:
            estimate = pipeline.estimate(pipeline.simulate(scheme, law, seeded(seed), cell.clients), ATTRIBUTE)
        except (DPCoreError, np.linalg.LinAlgError):
            failed += 1
            continue
        for functional, value in asked.items():
            result = estimate.functional(functional)
            if result.value is not None and np.isfinite(result.value):
                pairs[str(functional)].append((result.value - value, float(result.standard_error or np.nan)))
    sums = {"failed": float(failed)}
    for name, rows in pairs.items():
        errors, standard = np.array(rows).reshape(-1, 2).T
        sums |= _powers(name, errors) | {f"{name}:standard_error": float(standard.sum())}
    return sums


def _atomic(degree: int, cell: Cell, seeds: list[tuple[int, ...]]) -> dict[str, float]:
    """metric -> sum over rounds."""
    law, n, epsilon = target(cell.target), cell.clients, cell.epsilon
    levels = {
        order: pointwise.balanced_level(law, degree, order, SELF_SIMILAR, n, epsilon) for order in range(degree + 1)
    }
    estimates = pointwise.draws(law, degree, levels, POINTS, n, epsilon, seeds)
    sums = {"failed": 0.0}
    for row, (order, level) in enumerate(levels.items()):
        for column, x in enumerate(POINTS):
            name = str(Derivative(order, x))
            theory = {
                "bias": pointwise.bias(law, degree, level, order, x),
                "noise": pointwise.noise(law, degree, level, order, x, n, epsilon),
                "level": float(level),
            }
            sums |= _powers(name, estimates[:, row, column] - pointwise.truth(law, order, x))
            sums |= {f"{name}:{statistic}": len(seeds) * value for statistic, value in theory.items()}
    return sums


def _powers(name: str, errors: np.ndarray) -> dict[str, float]:
    powers = {"returned": 0, "error": 1, "square": 2, "fourth": 4}
    return {f"{name}:{statistic}": float(np.sum(errors**power)) for statistic, power in powers.items()}


# The densities, and what is true of them


def target(name: str) -> Target:
    """Return a density of the study."""
    return _TARGETS[name]


@lru_cache(maxsize=8)
def truths(name: str) -> Mapping[Functional, float]:
    """Return smooth functional -> its value at a density."""
    law = target(name)
    density = FunctionDensity(0.0, 1.0, law.pdf)
    return {functional: functional.value(density) for functional in map(parse, FUNCTIONALS)}


def extreme(degree: int) -> Target:
    """Return the wave whose derivative of order degree + 1 is extreme at 1/3, so that the next vanishes there."""
    return _wave(f"extreme_{degree}", 0.8, 2, _START + degree * np.pi / 2)


def _wave(name: str, height: float, cycles: int, phase: float) -> Target:
    """1 + height sin(2 pi cycles x + phase): one whole number of times, so that its mass is one."""
    pace = 2 * np.pi * cycles

    def derivative(order: int) -> Any:
        return lambda x: height * pace**order * np.sin(pace * np.asarray(x) + phase + order * np.pi / 2)

    return Target(
        name=name,
        density=lambda x: 1 + derivative(0)(x),
        distribution=lambda x: np.asarray(x) + derivative(-1)(x) - derivative(-1)(0.0),
        derivatives=(derivative(1), derivative(2)),
    )


def _hill() -> Target:
    """.3 + .7 Beta(2, 4): 20 x (1 - x)^3 over an even ground."""
    return Target(
        name="hill",
        density=lambda x: 0.3 + 14 * np.asarray(x) * (1 - np.asarray(x)) ** 3,
        distribution=lambda x: 0.3 * np.asarray(x) + 0.7 * (1 - (1 + 4 * np.asarray(x)) * (1 - np.asarray(x)) ** 4),
    )


_SMOOTH = ("hill", "wave")
_EXTREME = ("sine", "cosine")  # by degree: what is extreme at 1/3 is the first derivative, the second
_START = -4 * np.pi * SELF_SIMILAR
_TARGETS = {
    "hill": _hill(),
    "wave": _wave("wave", 0.6, 1, 0.7),
    "sine": _wave("sine", 0.8, 2, _START),
    "cosine": _wave("cosine", 0.8, 2, _START + np.pi / 2),
}
