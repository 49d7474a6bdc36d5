"""The study of bounds: what our estimators err, over what no estimator can err less.

Each row is a problem at one n and epsilon: the lower bound of `theory.lower_bounds`, and the risk of a method of ours measured
where the bound comes from, between the two laws (or all the signs) that are indistinguishable by the bound, each drawn equally
often.  A bound that is one lies below every such risk.  How far above the risk lies is the constant that is left: most of it is
the bounds', whose every step gives something away.

    mean, local       coins (1 +- t) / 2 on the ends of the interval: all frequency oracles, and all mechanisms for numbers
    density, local    1 +- bumps, Lipschitz: integrated squared error of the default estimates
    point, local      1 +- one bump at 0.4: squared error of the density there
    mean, central     the Laplace mechanism and the truncated mean; beside it Garivier's bound of unbiased answers
    density, central  the perturbed histogram
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import cast

import numpy as np
import pandas as pd

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.functionals import Derivative, Mean
from dpcore.laboratory.central.densities.perturbed_histogram import PerturbedHistogram
from dpcore.laboratory.central.laplace_mechanism import LaplaceMechanism
from dpcore.laboratory.central.queries import Mean as MeanQuery
from dpcore.laboratory.central.truncated_mean import SmoothMean
from dpcore.laboratory.theory import lower_bounds as bounds
from dpcore.laboratory.theory.two_points import Local, mean_pair
from dpcore.mechanisms.observation_model import ScoreSums
from dpcore.mechanisms.registry import CATEGORICAL, NUMERIC
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme

CLIENTS, EPSILONS = (10_000, 1_000_000), (0.5, 2.0)
CENTRAL = (0.05, 0.5)
SIZE, POINT = 2.0, 0.4  # of Lipschitz densities; of the density at a point
_GRID = 1 << 11
_DEAR = "local_hashing"  # whose million clients are drawn one by one
_CHEAP = 20  # times the repetitions, where a repetition costs next to nothing

Draw = Callable[[int], float]  # a seed -> one squared error


@dataclass(frozen=True)
class Row:
    """One place; draw: a squared error of the method for each seed; is_cheap: a thousand of them cost a few seconds."""

    problem: str
    method: str
    clients: int
    epsilon: float
    bound: float
    draw: Draw
    is_cheap: bool = False


def table(repetitions: int = 20) -> pd.DataFrame:
    """Return problem, method, clients, epsilon, bound, risk, error, repetitions and ratio = risk / bound.

    error: the standard error of the risk.  repetitions: of what estimates a density; twenty times as many of what is cheap.
    """
    lines = []
    for row in rows():
        count = repetitions * (_CHEAP if row.is_cheap else 1)
        squares = np.array([row.draw(seed) for seed in range(count)])
        risk = float(squares.mean())
        lines.append(
            {
                "problem": row.problem,
                "method": row.method,
                "clients": row.clients,
                "epsilon": row.epsilon,
                "bound": row.bound,
                "risk": risk,
                "error": float(squares.std(ddof=1) / np.sqrt(count)),
                "repetitions": count,
                "ratio": risk / row.bound,
            }
        )
    return pd.DataFrame(lines)


def rows() -> Iterator[Row]:
    """Yield every place of the grid."""
    for n in CLIENTS:
        for epsilon in EPSILONS:
            yield from _local(n, epsilon)
        for epsilon in CENTRAL:
            yield from _central(n, epsilon)


def _local(n: int, epsilon: float) -> Iterator[Row]:
    release = Local(n, epsilon)
    coins = mean_pair(release)
    for name in CATEGORICAL:
        yield Row(
            "mean, local",
            name,
            n,
            epsilon,
            coins.bound,
            _share(name, n, epsilon, coins.separation),
            name != _DEAR,
        )
    hard = bounds.density(release, 1, SIZE)
    point = bounds.derivative(release, 1, SIZE, 0, POINT)
    for name in NUMERIC:
        yield Row("mean, local", name, n, epsilon, coins.bound, _ends(name, n, epsilon, coins.separation))
        yield Row("density, local", name, n, epsilon, hard.bound, _density(name, n, epsilon, hard))
        yield Row("point, local", name, n, epsilon, point.bound, _point(name, n, epsilon, point))


def _central(n: int, epsilon: float) -> Iterator[Row]:
    budget, release = Budget.parse(str(epsilon)), bounds.Central(n, epsilon)
    coins = mean_pair(release)
    laplace = LaplaceMechanism.design(budget, MeanQuery((0.0,), (1.0,)))
    truncated = SmoothMean.design(budget, n=n, moment=inf, bound=1.0)

    def bits(seed: int) -> tuple[np.ndarray, float]:
        share = (1 + (-1) ** seed * coins.separation) / 2
        ones = seeded((seed, 1)).generator().binomial(n, share)
        return (np.arange(n) < ones).astype(np.float64), share

    def by_laplace(seed: int) -> float:
        records, share = bits(seed)
        return float((laplace.release(records, seeded((seed, 2))).values[0] - share) ** 2)

    def by_truncation(seed: int) -> float:
        records, share = bits(seed)
        return float((truncated.release(records, seeded((seed, 2))).values[0] - share) ** 2)

    def unbiased(seed: int) -> float:
        records = bits(0)[0]
        return float((laplace.release(records, seeded((seed, 3))).values[0] - records.mean()) ** 2)

    yield Row("mean, central", "laplace_mechanism", n, epsilon, coins.bound, by_laplace)
    yield Row("mean, central", "truncated_mean_smooth", n, epsilon, coins.bound, by_truncation)
    yield Row(
        "mean of a database, central",
        "laplace_mechanism",
        n,
        epsilon,
        bounds.continuous_linear(1 / n, epsilon),
        unbiased,
    )
    hard = bounds.density(release, 1, SIZE)
    yield Row("density, central", "perturbed_histogram", n, epsilon, hard.bound, _histogram(budget, n, hard))


def _share(mechanism: str, n: int, epsilon: float, separation: float) -> Draw:
    """Frequencies of two categories, (1 +- t) / 2."""
    scheme = _scheme(f'type = "categorical"\ncategories = ["no", "yes"]\nmechanism = "{mechanism}"', n, epsilon)
    oracle = scheme.attributes["x"].mechanism
    model = cast(ScoreSums, oracle.model())

    def draw(seed: int) -> float:
        share = (1 + (-1) ** seed * separation) / 2
        random = seeded((seed, 4))
        statistics = oracle.simulate(random.generator().multinomial(n, [1 - share, share]), random)
        return float((model.frequencies(statistics, n)[1] - share) ** 2)

    return draw


def _ends(mechanism: str, n: int, epsilon: float, separation: float) -> Draw:
    """The mean where everybody is at one end of the interval or the other."""

    def draw(seed: int) -> float:
        scheme = _numbers(mechanism, n, epsilon)
        share = (1 + (-1) ** seed * separation) / 2
        people = _People(lambda x: np.where(x <= 0, 0.0, np.where(x >= 1, 1.0, 1 - share)))
        estimate = pipeline.estimate(pipeline.simulate(scheme, people, seeded((seed, 5)), n), "x")
        return float((estimate.functional(Mean()).value - share) ** 2)

    return draw


def _density(mechanism: str, n: int, epsilon: float, hard: bounds.HardDensities) -> Draw:
    x = (np.arange(_GRID) + 0.5) / _GRID

    def draw(seed: int) -> float:
        scheme = _numbers(mechanism, n, epsilon)
        signs = _signs(seed, hard.cells)
        people = _People(lambda x: hard.distribution(signs, x))
        estimate = pipeline.estimate(pipeline.simulate(scheme, people, seeded((seed, 6)), n), "x")
        return float(np.mean((estimate(x) - hard.density(signs, x)) ** 2))

    return draw


def _point(mechanism: str, n: int, epsilon: float, hard: bounds.HardPoint) -> Draw:
    def draw(seed: int) -> float:
        scheme = _numbers(mechanism, n, epsilon)
        sign = (-1) ** seed
        people = _People(lambda x: hard.distribution(sign, x))
        estimate = pipeline.estimate(pipeline.simulate(scheme, people, seeded((seed, 7)), n), "x")
        value = estimate.functional(Derivative(0, POINT)).value
        return float(((estimate(POINT) if value is None else value) - hard.truth(sign, 0, POINT)) ** 2)

    return draw


def _histogram(budget: Budget, n: int, hard: bounds.HardDensities) -> Draw:
    mechanism, x = PerturbedHistogram.for_rate(budget, n), (np.arange(_GRID) + 0.5) / _GRID

    def draw(seed: int) -> float:
        signs = _signs(seed, hard.cells)
        law = np.diff(hard.distribution(signs, np.linspace(0, 1, mechanism.bins + 1)))
        random = seeded((seed, 8))
        released = mechanism.release_counts(random.generator().multinomial(n, law / law.sum()), random)
        return float(np.mean((released.pdf(x) - hard.density(signs, x)) ** 2))

    return draw


def _signs(seed: int, cells: int) -> np.ndarray:
    return np.where(seeded((seed, 9)).generator().random(cells) < 0.5, 1, -1)


@dataclass(frozen=True, eq=False)
class _People:
    """A distribution function on [0, 1], as a population of one attribute."""

    cdf: Callable[[np.ndarray], np.ndarray]

    @property
    def weights(self) -> Mapping[str, float]:
        return {"all": 1.0}

    def cell_probabilities(self, attribute: str, lower: float, upper: float, cells: int, condition: str) -> np.ndarray:
        cumulated = np.asarray(self.cdf(np.linspace(0, 1, cells + 1)), dtype=float)
        cumulated[0], cumulated[-1] = 0.0, 1.0
        law = np.maximum(np.diff(cumulated), 0.0)
        return law / law.sum()


def _numbers(mechanism: str, n: int, epsilon: float) -> Scheme:
    return _scheme(f'type = "numeric"\nlower = 0\nupper = 1\nmechanism = "{mechanism}"', n, epsilon)


@lru_cache(maxsize=64)
def _scheme(lines: str, n: int, epsilon: float) -> Scheme:
    return Scheme.from_toml(f'name = "bounds"\nclients = {n}\n[attributes.x]\nepsilon = {epsilon:g}\n{lines}\n')
