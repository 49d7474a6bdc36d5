"""The densities that accuracy is measured on: laws on [0, 1] whose every quantity is known.

Seven shapes and two laws of our own data sets: smooth (`beta_10_10`, `beta_2_5`), two humps (`bimodal`), five narrow peaks
(`claw`), flat (`uniform`), values clipped to the upper bound (`lognormal`, an atom at 1), corners (`age`), the simulated
households' spending (`expenditure`), and a sample of real people that takes 31 values only (`chronic`, nothing but atoms).
Eight that no method was made for: endless at both ends (`arcsine`), a corner (`kink`), steps (`jump`, `blocks`), teeth
(`sawtooth`), a narrow peak on a wide one (`spike`) or far from it (`small_bump`), and a tail (`pareto`, clipped at 1).

Rules for atoms: a law is a continuous part, whose density integrates to one minus the atoms' mass, and atoms.
Integrated squared errors and int f^2 are of the continuous part's density, not rescaled, and so is entropy.
The distribution function, quantiles and the mean are of the whole law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

from dpcore.errors import SchemeError
from dpcore.populations import Beta, consumer_expenditure

FINEST = 1 << 14  # the most cells a law is asked for
_PIECES = 1 << 10  # pieces of [0, 1] that integrals are taken over, each holding a smooth arc of every density below
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_HALVINGS = 60

Function = Callable[[Any], np.ndarray]


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """A law on [0, 1].

    density: of the continuous part, at x of any shape; distribution: its integral from 0; derivatives: the density's, of
    order 1 and 2, between corners; none where the density jumps, or bends where studies look.
    atoms: (place, mass) pairs, places increasing; corners: where the density is not smooth, so that integrals respect it.

    A target is a population of one attribute too: `dp.simulate(scheme, target, ...)` takes it for any name.
    """

    name: str
    density: Function
    distribution: Function
    derivatives: tuple[Function, ...] = ()
    atoms: tuple[tuple[float, float], ...] = ()
    corners: tuple[float, ...] = ()

    @property
    def weights(self) -> Mapping[str, float]:
        """One group, as `simulate` asks of a population."""
        return MappingProxyType({"all": 1.0})

    @property
    def atom_mass(self) -> float:
        return float(sum(mass for _, mass in self.atoms))

    @property
    def has_density(self) -> bool:
        """Whether there is a continuous part."""
        return self.atom_mass < 1 - 1e-9

    def pdf(self, x: Any) -> np.ndarray:
        """Return the continuous part's density at x (any shape); 0 outside [0, 1]."""
        x = np.asarray(x, dtype=np.float64)
        return np.where((x >= 0) & (x <= 1), self.density(np.clip(x, 0.0, 1.0)), 0.0)

    def cdf(self, x: Any) -> np.ndarray:
        """Return the probability of at most x (any shape), atoms included."""
        x = np.asarray(x, dtype=np.float64)
        total = np.where(x < 0, 0.0, self.distribution(np.clip(x, 0.0, 1.0)))
        for place, mass in self.atoms:
            total = total + mass * (x >= place)
        return np.where(x >= 1, 1.0, total)

    def cell_probabilities(
        self, attribute: str, lower: float, upper: float, cells: int, condition: str | None = None
    ) -> np.ndarray:
        """Return the probabilities, shape (cells,), of equal cells of [lower, upper], which must be [0, 1].

        A cell holds its left end; the last one both.
        """
        if (lower, upper) != (0.0, 1.0):
            raise SchemeError(f"targets live on [0, 1]; declare lower = 0 and upper = 1, got {lower} and {upper}")
        return self.cells(cells)

    def cells(self, cells: int) -> np.ndarray:
        """Return the probabilities of that many equal cells of [0, 1], shape (cells,), atoms included."""
        mass = np.diff(self.distribution(np.linspace(0.0, 1.0, cells + 1)))
        for place, share in self.atoms:
            mass[min(int(place * cells), cells - 1)] += share
        return np.maximum(mass, 0.0) / mass.sum()

    def quantile(self, t: float) -> float:
        """Return the smallest x with cdf(x) >= t, for t in (0, 1)."""
        low, high = -(2.0**-_HALVINGS), 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.cdf(middle) >= t else (middle, high)
        return min(max(high, 0.0), 1.0)

    @cached_property
    def mean(self) -> float:
        below = float(self.distribution(np.array(1.0))) - self._integral(self.distribution)  # a density may have no end
        return below + sum(place * mass for place, mass in self.atoms)

    @cached_property
    def entropy(self) -> float:
        """-int f log f of the continuous part's density, in nats."""
        return -self._integral(lambda x: scipy.special.xlogy(self.density(x), self.density(x)))

    @cached_property
    def integrated_square(self) -> float:
        """int f^2 of the continuous part's density."""
        return self._integral(lambda x: self.density(x) ** 2)

    def _integral(self, integrand: Function) -> float:
        ends = np.unique(np.concatenate([np.linspace(0.0, 1.0, _PIECES + 1), self.corners]))
        half = np.diff(ends)[:, None] / 2
        x = ends[:-1, None] + half * (1 + _NODES)
        return float((integrand(x) * _WEIGHTS * half).sum())


def target(name: str) -> Target:
    """Return the target of that name; raises SchemeError where there is none."""
    if name not in _TARGETS:
        raise SchemeError(f"target must be one of {', '.join(_TARGETS)}; got {name!r}")
    return _TARGETS[name]()


def _beta(name: str, a: int, b: int) -> Target:
    law = Beta(a, b)
    return Target(name=name, density=law.pdf, distribution=law.cdf, derivatives=(law.derivative(1), law.derivative(2)))


def _uniform() -> Target:
    def zero(x: Any) -> np.ndarray:
        return np.zeros(np.shape(x))

    return Target(
        name="uniform", density=lambda x: np.ones(np.shape(x)), distribution=np.asarray, derivatives=(zero, zero)
    )


def _normals(name: str, *parts: tuple[float, float, float]) -> Target:
    """A mixture of normal laws (weight, mean, standard deviation), truncated to [0, 1] as a whole."""

    def below(x: Any) -> np.ndarray:
        return np.asarray(sum(weight * scipy.special.ndtr((np.asarray(x) - mean) / sd) for weight, mean, sd in parts))

    start, total = float(below(0.0)), float(below(1.0) - below(0.0))

    def bells(x: Any, order: int) -> np.ndarray:
        """Of order r: (-1)^r He_r(z) phi(z) / sd^(r + 1) for each part, z its score."""
        x, sums = np.asarray(x, dtype=np.float64), 0.0
        for weight, mean, sd in parts:
            z = (x - mean) / sd
            sums = sums + weight * (1.0, -z, z * z - 1)[order] * np.exp(-0.5 * z * z) / sd ** (order + 1)
        return np.asarray(sums / np.sqrt(2 * np.pi) / total)

    return Target(
        name=name,
        density=lambda x: bells(x, 0),
        distribution=lambda x: (below(x) - start) / total,
        derivatives=(lambda x: bells(x, 1), lambda x: bells(x, 2)),
    )


def _claw() -> Target:
    """Five narrow peaks on a broad one: number 10 of [MarronWand1992], [-3, 3] brought to [0, 1]."""
    peaks = [(0.1, (i / 2 - 1 + 3) / 6, 0.1 / 6) for i in range(5)]
    return _normals("claw", (0.5, 0.5, 1 / 6), *peaks)


def _lognormal() -> Target:
    """exp(N(log 1/4, .8^2)) clipped to 1: one in 24 people sits at the upper bound."""
    median, sd = 0.25, 0.8

    def score(x: Any) -> np.ndarray:
        return np.asarray((np.log(np.maximum(x, 1e-300)) - log(median)) / sd)

    def density(x: Any) -> np.ndarray:
        x = np.maximum(np.asarray(x, dtype=np.float64), 1e-300)
        return np.asarray(np.exp(-0.5 * score(x) ** 2) / (x * sd * np.sqrt(2 * np.pi)))

    def slope(x: Any) -> np.ndarray:
        """x (log f)'."""
        return -1 - score(x) / sd

    def derivative(x: Any, order: int) -> np.ndarray:
        x = np.maximum(np.asarray(x, dtype=np.float64), 1e-100)  # whose square is a number; f is 0 from here on
        bend = slope(x) if order == 1 else slope(x) ** 2 - slope(x) - 1 / sd**2
        return density(x) * bend / x**order

    return Target(
        name="lognormal",
        density=density,
        distribution=lambda x: scipy.special.ndtr(score(x)),
        derivatives=(lambda x: derivative(x, 1), lambda x: derivative(x, 2)),
        atoms=((1.0, float(scipy.special.ndtr(-score(1.0)))),),
    )


# Relative numbers of people at ages 0, 5, 10, .. 105 in a country of few births: corners, a plateau, a steep old age.
_AGES = (80, 84, 90, 93, 96, 108, 112, 103, 95, 96, 110, 128, 124, 104, 84, 66, 46, 30, 13, 3, 0.4, 0)


def _age() -> Target:
    """A population's ages over 105 years: linear between fifth birthdays."""
    knots = np.linspace(0.0, 1.0, len(_AGES))
    heights = np.array(_AGES, dtype=np.float64)
    heights /= np.trapezoid(heights, knots)
    cumulated = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2 * np.diff(knots))])

    def density(x: Any) -> np.ndarray:
        return np.asarray(np.interp(x, knots, heights))

    def distribution(x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        piece = np.minimum((x * (len(knots) - 1)).astype(int), len(knots) - 2)
        past = x - knots[piece]
        slope = (heights[piece + 1] - heights[piece]) * (len(knots) - 1)
        return np.asarray(cumulated[piece] + past * (heights[piece] + slope * past / 2))

    def slope(x: Any) -> np.ndarray:
        piece = np.minimum((np.asarray(x, dtype=np.float64) * (len(knots) - 1)).astype(int), len(knots) - 2)
        return np.asarray((heights[piece + 1] - heights[piece]) * (len(knots) - 1))

    return Target(
        name="age",
        density=density,
        distribution=distribution,
        derivatives=(slope, lambda x: np.zeros(np.shape(x))),
        corners=tuple(knots),
    )


def _expenditure() -> Target:
    """What the simulated households of the scheme `consumer_expenditure` spend, in units of the upper bound."""
    law = consumer_expenditure().truth("expenditure")
    first, second = law.derivative(1), law.derivative(2)
    return Target(
        name="expenditure",
        density=lambda x: law.pdf(np.asarray(x) * law.upper) * law.upper,
        distribution=lambda x: law.cdf(np.asarray(x) * law.upper),
        derivatives=(
            lambda x: first(np.asarray(x) * law.upper) * law.upper**2,
            lambda x: second(np.asarray(x) * law.upper) * law.upper**3,
        ),
    )


# The chronic-disease index of data/samples/health_insurance.parquet, in points of 60: value -> people.
_CHRONIC = {
    0.0: 1307,
    3.4: 1980,
    4.3: 292,
    6.9: 1889,
    8.7: 384,
    9.9673: 1986,
    10.3: 1654,
    10.5763: 2375,
    11.8427: 1251,
    13.0: 361,
    13.7319: 2389,
    13.8: 1122,
    17.2: 833,
    17.4: 309,
    20.7: 574,
    21.7: 214,
    24.1: 410,
    26.1: 126,
    27.6: 269,
    30.4: 96,
    31.0: 126,
    34.5: 74,
    34.8: 28,
    37.9: 74,
    39.1: 12,
    41.4: 21,
    43.5: 13,
    44.8: 9,
    47.8: 4,
    48.3: 3,
    58.6: 5,
}


def _chronic() -> Target:
    """20,190 person-years' index of chronic diseases over 60 points: real, and nothing but atoms."""
    total = sum(_CHRONIC.values())
    return Target(
        name="chronic",
        density=lambda x: np.zeros(np.shape(x)),
        distribution=lambda x: np.zeros(np.shape(x)),
        atoms=tuple((value / 60, people / total) for value, people in sorted(_CHRONIC.items())),
    )


def _arcsine() -> Target:
    """Beta(1/2, 1/2)."""

    def density(x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(divide="ignore"):  # at the ends it has none
            return 1 / (np.pi * np.sqrt(x * (1 - x)))

    return Target(
        name="arcsine",
        density=density,
        distribution=lambda x: 2 / np.pi * np.arcsin(np.sqrt(x)),
    )


def _kink(top: float = 0.3) -> Target:
    """A triangle."""

    def sides(x: Any, left: Any, right: Any) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        return np.where(x < top, left(x), right(x))

    return Target(
        name="kink",
        density=lambda x: sides(x, lambda x: 2 * x / top, lambda x: 2 * (1 - x) / (1 - top)),
        distribution=lambda x: sides(x, lambda x: x**2 / top, lambda x: 1 - (1 - x) ** 2 / (1 - top)),
        corners=(0.0, top, 1.0),
    )


def _steps(name: str, edges: list[float], masses: list[float]) -> Target:
    """A density that is constant between edges, of these masses."""
    heights = np.array(masses) / np.diff(edges)
    below = np.concatenate([[0.0], np.cumsum(masses)])
    return Target(
        name=name,
        density=lambda x: heights[np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(heights) - 1)],
        distribution=lambda x: np.interp(x, edges, below),
        corners=tuple(edges),
    )


def _sawtooth() -> Target:
    """Five teeth, each rising from nothing."""
    return Target(
        name="sawtooth",
        density=lambda x: 2 * (5 * np.asarray(x) % 1),
        distribution=lambda x: (np.floor(5 * np.asarray(x)) + (5 * np.asarray(x) % 1) ** 2) / 5,
        corners=tuple(np.arange(6) / 5),
    )


def _pareto() -> Target:
    """Pareto's law from .05 on with index 3/2, clipped to 1: one in 89 people sits at the upper bound."""
    least, index = 0.05, 1.5

    def above(x: Any) -> np.ndarray:
        return (least / np.maximum(x, least)) ** index

    return Target(
        name="pareto",
        density=lambda x: np.where(np.asarray(x) < least, 0.0, index * above(x) / np.maximum(x, least)),
        distribution=lambda x: 1 - above(x),
        atoms=((1.0, float(above(1.0))),),
        corners=(0.0, least, 1.0),
    )


_BLOCKS = [0, 0.1, 0.2, 0.28, 0.45, 0.6, 0.63, 0.8, 1], [0.02, 0.2, 0.03, 0.3, 0.05, 0.15, 0.15, 0.1]
_TARGETS: Mapping[str, Callable[[], Target]] = MappingProxyType(
    {
        "beta_10_10": lambda: _beta("beta_10_10", 10, 10),
        "beta_2_5": lambda: _beta("beta_2_5", 2, 5),
        "bimodal": lambda: _normals("bimodal", (0.6, 0.3, 0.07), (0.4, 0.7, 0.1)),
        "claw": _claw,
        "uniform": _uniform,
        "lognormal": _lognormal,
        "age": _age,
        "expenditure": _expenditure,
        "chronic": _chronic,
        "arcsine": _arcsine,
        "kink": _kink,
        "jump": lambda: _steps("jump", [0, 0.4, 1], [0.2, 0.8]),
        "spike": lambda: _normals("spike", (0.8, 0.4, 0.15), (0.2, 0.6, 0.01)),
        "blocks": lambda: _steps("blocks", *_BLOCKS),
        "sawtooth": _sawtooth,
        "small_bump": lambda: _normals("small_bump", (0.95, 0.5, 0.2), (0.05, 0.75, 0.02)),
        "pareto": _pareto,
    }
)
NAMES = tuple(_TARGETS)
SEVEN = NAMES[:7]
USUAL = NAMES[:9]  # what accuracy is measured on unless others are asked for
