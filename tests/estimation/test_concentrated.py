"""Intervals for concentrated, heaped, sparse and mixed distributions, most of them with and without declared points.

A study of ten minutes: python -m pytest -m nightly -s tests/estimation/test_concentrated.py prints coverage by functional.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.functionals import parse

ROUNDS = 6
PLACES = [(10_000, 1), (100_000, 1), (100_000, 4), (1_000_000, 2)]
POPULATION = 1_000_000  # values that stand for a distribution with a continuous part: its shares are known to .0005

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Distribution:
    """Values on [0, upper]: points with probabilities, the others drawn from `rest`; step: of a lattice of the points."""

    upper: float
    points: np.ndarray
    probabilities: np.ndarray
    step: int | None = None
    rest: Draw | None = None

    def sample(self, generator: np.random.Generator, n: int) -> np.ndarray:
        """Return n values."""
        left = max(0.0, 1 - float(self.probabilities.sum()))
        first, *counts = generator.multinomial(n, [left, *self.probabilities])
        rest = self.rest(generator, first) if self.rest is not None else np.zeros(0)
        return np.concatenate([rest, np.repeat(self.points, counts)])

    @property
    def can_be_declared(self) -> bool:
        return self.rest is None

    def scheme(self, clients: int, epsilon: float, is_declared: bool) -> dp.Scheme:
        head = f'name = "s"\nclients = {clients}\n[attributes.x]\ntype = "numeric"\nepsilon = {epsilon}\n'
        if is_declared and self.step is None:
            return dp.Scheme.from_toml(f"{head}values = {self.points.tolist()}\n")
        step = f"step = {self.step}\n" if is_declared else ""
        return dp.Scheme.from_toml(f"{head}lower = 0\nupper = {self.upper}\n{step}")

    @property
    def functionals(self) -> dict[str, float]:
        """What is asked, and the truth."""
        values, weights = self.points, self.probabilities
        if self.rest is not None:
            values = np.sort(self.sample(np.random.default_rng(5), POPULATION))
            weights = np.full(POPULATION, 1 / POPULATION)
        below = np.cumsum(weights)
        quantiles = [
            float(values[min(np.searchsorted(below, t - 1e-9), len(values) - 1)]) for t in (0.2, 0.5, 0.8, 0.9)
        ]
        between = (self.points[:-1] + self.points[1:]) / 2 if self.rest is None else self.upper * np.array([0.37, 0.62])
        at = sorted({round(x, 9) for x in (*quantiles[:3], float(between[len(between) // 3]), float(between[-1]))})
        asked = {f"cdf({x!r})": float(below[np.searchsorted(values, x, side="right") - 1]) for x in at}
        under = float(weights[values < at[0]].sum())
        asked[f"probability({at[0]!r}, {at[-1]!r})"] = asked[f"cdf({at[-1]!r})"] - under
        mean = float(values @ weights)
        return asked | {
            "mean": mean,
            "variance": float((values - mean) ** 2 @ weights),
            "quantile(0.5)": quantiles[1],
            "quantile(0.9)": quantiles[3],
        }


def points(values, probabilities, upper=1.0, step=None) -> Distribution:
    probabilities = np.asarray(probabilities, dtype=float)
    return Distribution(upper, np.round(np.asarray(values, float), 6), probabilities / probabilities.sum(), step)


def mixed(rest: Draw, spikes: dict[float, float] | None = None) -> Distribution:
    spikes = spikes or {}
    return Distribution(1.0, np.array(list(spikes)), np.array(list(spikes.values())), rest=rest)


@cache
def distributions() -> dict[str, Distribution]:
    generator = np.random.default_rng(77)
    off = {k: (np.sort(generator.uniform(0, 1, k)), generator.dirichlet(np.ones(k))) for k in (7, 15, 40)}
    hundred, forty = np.arange(101), np.arange(41)
    bell = scipy.stats.norm.pdf(hundred, 45, 18)
    income = scipy.stats.gamma.pdf(hundred, 3, scale=9)
    return {
        "five": points([2, 3, 7, 19, 26], [0.4, 0.25, 0.2, 0.1, 0.05], 30, 1),
        "eight": points([1, 2, 3, 5, 8, 13, 21, 34], [0.2, 0.18, 0.16, 0.14, 0.12, 0.1, 0.06, 0.04], 40, 1),
        "two": points([3, 8], [0.6, 0.4], 10, 1),
        "two off a lattice": points([0.2137, 0.7331], [0.7, 0.3]),
        "three off a lattice": points([0.111, 0.523, 0.871], [0.5, 0.3, 0.2]),
        **{f"{k} off a lattice": points(*off[k]) for k in off},
        "eleven": points(np.arange(11), scipy.stats.binom.pmf(np.arange(11), 10, 0.35), 10, 1),
        "seven ranks": points(np.arange(1, 8), [0.05, 0.1, 0.15, 0.3, 0.2, 0.15, 0.05], 8, 1),
        "counts": points(forty, scipy.stats.nbinom.pmf(forty, 3, 0.2), 40, 1),
        "heaped": points(hundred, bell * np.where(hundred % 10 == 0, 6, np.where(hundred % 5 == 0, 3, 1)), 100, 1),
        "quarters": points(hundred, np.where(hundred % 25 == 0, 1, 0.02), 100, 1),
        "many zeros": points(hundred, np.where(hundred == 0, 0.4, 0.6 * income / income.sum()), 100, 1),
        "within 1 %": points([0.501, 0.503, 0.507], [0.3, 0.4, 0.3]),
        "within 1 % at the bound": points([0.1, 0.3, 0.8], [0.2, 0.5, 0.3], 100),
        "a spike": mixed(lambda g, n: g.beta(3, 3, n), {0.4: 0.3}),
        "a small spike": mixed(lambda g, n: g.beta(2, 5, n), {0.25: 0.05}),
        "two spikes": mixed(lambda g, n: g.uniform(0, 1, n), {0.2: 0.3, 0.65: 0.2}),
        "clipped above": mixed(lambda g, n: np.minimum(g.lognormal(-1, 0.6, n), 1)),
        "clipped at both ends": mixed(lambda g, n: np.clip(g.normal(0.5, 0.5, n), 0, 1)),
        "a gap": mixed(lambda g, n: np.where(g.random(n) < 0.6, g.uniform(0.05, 0.2, n), g.uniform(0.7, 0.95, n))),
        "narrow": mixed(lambda g, n: g.uniform(0.3, 0.31, n)),
        "half of it narrow": mixed(lambda g, n: np.where(g.random(n) < 0.5, g.uniform(0.3, 0.31, n), g.beta(2, 2, n))),
        "half of it rounded": mixed(
            lambda g, n: np.where(g.random(n) < 0.4, np.round(20 * g.beta(2, 3, n)) / 20, g.beta(2, 3, n))
        ),
        "a step": mixed(lambda g, n: np.where(g.random(n) < 0.8, g.uniform(0.1, 0.3, n), g.uniform(0.3, 1, n))),
    }


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("is_declared", [False, True])
def test_intervals_cover_whatever_the_distribution(is_declared: bool) -> None:
    asked, withheld, covered, errors = Counter(), Counter(), Counter(), {}
    for place, (name, distribution) in enumerate(distributions().items()):
        truth = distribution.functionals
        for clients, epsilon in PLACES if distribution.can_be_declared or not is_declared else ():
            scheme = distribution.scheme(clients, epsilon, is_declared)
            for seed in range(ROUNDS):
                values = distribution.sample(np.random.default_rng([place, clients, epsilon, seed]), clients)
                estimate = dp.estimate(
                    dp.simulate(scheme, {"x": values}, dp.seeded([place, clients, epsilon, seed])), "x"
                )
                for text, true in truth.items():
                    found, kind = estimate.functional(parse(text)), text.split("(")[0]
                    asked[kind] += 1
                    withheld[kind] += found.is_refused
                    covered[kind] += not found.is_refused and found.low - 1e-6 <= true <= found.high + 1e-6
                    if kind == "mean":
                        errors.setdefault((name, clients, epsilon), []).append(
                            (found.value - true) / found.standard_error
                        )
    for kind in asked:
        shown = asked[kind] - withheld[kind]
        print(
            f"{kind:12s} {covered[kind] / shown:.3f} of {shown} cover, {withheld[kind] / asked[kind]:.3f} are withheld"
        )
    print("largest bias of a mean, in standard errors:", max((abs(np.mean(z)), cell) for cell, z in errors.items()))
    assert 0.93 <= covered.total() / (asked - withheld).total() <= 0.97
    assert withheld["mean"] == 0
    assert withheld.total() <= 0.15 * asked.total()
    assert max(abs(np.mean(z)) for z in errors.values()) <= 0.25 + 3.5 / ROUNDS**0.5
