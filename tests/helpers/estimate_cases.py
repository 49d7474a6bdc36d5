"""Aggregates for tests of estimators: one numeric attribute, its truth, and as little else as estimators ask for."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
from scipy import special

from dpcore import _random as dp_random
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget

LOWER, UPPER = Fraction(-1), Fraction(3)


def _beta(a, b, u):
    return special.betainc(a, b, np.clip(u, 0, 1))


SMOOTH = {  # distribution functions on the unit interval
    "beta": lambda u: _beta(2, 5, u),
    "bimodal": lambda u: 0.5 * _beta(8, 20, u) + 0.5 * _beta(30, 12, u),
    "raised": lambda u: 0.3 * np.clip(u, 0, 1) + 0.7 * _beta(2, 4, u),
}


class FakeAggregate:
    """What estimators ask of an aggregate."""

    def __init__(self, mechanism, statistics, pairs=None, **others):
        numeric = SimpleNamespace(
            name="x", mechanism=mechanism, budget=mechanism.budget, lower=LOWER, upper=UPPER, unit="m", values=None
        )
        self.scheme = SimpleNamespace(attributes={"x": numeric, **others})
        self.statistics = {"x": np.asarray(statistics)}
        self.pairs = pairs or {}

    def reports(self, attribute):
        counted = self.scheme.attributes[attribute].mechanism.model().split(self.statistics[attribute])[0]
        return int(
            np.max(counted) if self.scheme.attributes[attribute].mechanism.model().block_law is None else counted.sum()
        )


@cache
def mechanism(degree: int, epsilon: str = "1", finest_level: int = 4, allocation: str = "sample") -> WaveletLaplace:
    return WaveletLaplace.design(Budget.parse(epsilon), degree=degree, finest_level=finest_level, allocation=allocation)


def cell_law(of: WaveletLaplace, cdf) -> np.ndarray:
    law = np.diff(cdf(np.linspace(0, 1, of.inputs + 1)))
    return law / law.sum()


def draw(of: WaveletLaplace, cdf, n: int, seed: int) -> FakeAggregate:
    """An aggregate of n clients drawn from its exact law."""
    counts = np.random.default_rng(seed).multinomial(n, cell_law(of, cdf))
    return FakeAggregate(of, of.simulate(counts, dp_random.seeded([seed, 1])))


def noiseless(of: WaveletLaplace, law: np.ndarray, n: int = 1 << 40) -> FakeAggregate:
    """The statistics that n clients would have on average: so many that rounding to integers is invisible."""
    sums = np.concatenate([np.rint(n * (law @ table)) for table in of.tables]).astype(np.int64)
    return FakeAggregate(of, np.concatenate([np.full(of.basis.blocks, n), sums]))
