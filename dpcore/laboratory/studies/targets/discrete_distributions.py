"""Discrete distributions as in surveys, on declared values: counts, ages, rounded incomes, many zeros.

Ten and thirty-one values in no order, drawn once; counts; ages, some rounded to 5 and 10; incomes by 1000, rounded
to 5000 and 10,000; and two distributions with four in ten exactly zero, at the bound and inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from dpcore.laboratory.studies.targets.densities import Target


@dataclass(frozen=True, eq=False)
class PointLaw:
    """probabilities: (k,), of lower, lower + step, ..."""

    name: str
    lower: int
    step: int
    probabilities: np.ndarray

    @property
    def points(self) -> np.ndarray:
        """The values, (k,)."""
        return self.lower + self.step * np.arange(len(self.probabilities), dtype=np.float64)

    @property
    def places(self) -> np.ndarray:
        """The values as shares of the range, (k,)."""
        return np.arange(len(self.probabilities)) / (len(self.probabilities) - 1)

    def scheme(self, epsilon: float, clients: int, more: str = "") -> str:
        """Return a scheme that asks for such a value."""
        upper = self.lower + self.step * (len(self.probabilities) - 1)
        return (
            f'name = "points"\nclients = {clients}\n[attributes.x]\ntype = "numeric"\nlower = {self.lower}\nupper = {upper}\n'
            f"step = {self.step}\nepsilon = {epsilon}\n{more}"
        )

    def target(self) -> Target:
        """Return it as peers see it: nothing but atoms on [0, 1]."""
        atoms = tuple(zip(self.places.tolist(), self.probabilities.tolist(), strict=True))
        return Target(name=self.name, density=np.zeros_like, distribution=np.zeros_like, atoms=atoms)

    def wasserstein(self, law: np.ndarray) -> float:
        """Return the Wasserstein-1 distance of a distribution on the points, (k,), as a share of the range."""
        return float(np.abs(np.cumsum(law - self.probabilities))[:-1].sum() / (len(law) - 1))

    def wasserstein_of_cells(self, cells: np.ndarray) -> float:
        """Return that of a law of equal cells, (d,), uniform within each: to a hundredth of a cell."""
        grid = np.linspace(0.0, 1.0, 1 << 14)
        below = np.interp(grid, np.linspace(0, 1, len(cells) + 1), np.concatenate([[0.0], np.cumsum(cells)]))
        true = np.concatenate([[0.0], np.cumsum(self.probabilities)])[np.searchsorted(self.places, grid, side="right")]
        return float(np.abs(below - true).mean())


@lru_cache(maxsize=1)
def point_laws() -> dict[str, PointLaw]:
    """Return the laws by their names."""
    generator = np.random.default_rng(5)
    counts, percent, years = np.arange(31), np.arange(101), np.arange(101)
    thousands = np.arange(251) * 1000
    old = scipy.stats.norm(42, 20).pdf(years) + 0.3 * scipy.stats.norm(70, 8).pdf(years)
    ages = old * np.where(years < 18, 0.4, 1.0) * _heaped(years, 5, 1.8) * _heaped(years, 10, 1.4)
    incomes = scipy.stats.lognorm(0.7, scale=45_000).pdf(thousands + 500)
    incomes = incomes * _heaped(thousands, 5_000, 2.5) * _heaped(thousands, 10_000, 1.6)
    laws = (
        ("ten_values", 1, 1, generator.dirichlet(np.ones(10))),
        ("31_values", 0, 1, generator.dirichlet(np.full(31, 0.5))),
        ("counts", 0, 1, scipy.stats.nbinom(2, 0.3).pmf(counts)),
        ("ages", 0, 1, ages),
        ("incomes", 0, 1000, incomes),
        ("zeros_at_bound", 0, 1, _zeros(scipy.stats.gamma(3, scale=9).pdf(percent + 0.5), 0)),
        ("zeros_inside", -50, 1, _zeros(scipy.stats.norm(55, 18).pdf(percent), 50)),
    )
    return {name: PointLaw(name, lower, step, law / law.sum()) for name, lower, step, law in laws}


def _heaped(values: np.ndarray, multiple: int, times: float) -> np.ndarray:
    return np.where(values % multiple == 0, times, 1.0)


def _zeros(law: np.ndarray, at: int) -> np.ndarray:
    law = 0.6 * law / law.sum()
    law[at] += 0.4
    return law
