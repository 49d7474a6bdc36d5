"""How far a release is from the law F of the people, and from their empirical distribution, in the two distances of the source.

rho(F, G) = sup_x |F(x) - G(x)| (Kolmogorov-Smirnov) and rho(F, G) = int (f - g)^2 (squared L2), each of the released density
and of the released sample: a mechanism is judged by what its user holds [WassermanZhou2010].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Protocol

import numpy as np

from dpcore._random import Source
from dpcore.laboratory.central.base import DensityRelease, unit_cube
from dpcore.laboratory.central.densities.releases import histogram

Cdf = Callable[[Any], Any]

_STEPS = {1: 1 << 12, 2: 60, 3: 24}  # of a side, where two functions are compared; beyond r = 3 there are 8
_HIGHLY_DIVISIBLE = 5040  # steps for squared L2 in one dimension: the edges of most histograms lie on them
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)  # on each step of a side


class UnitLaw(Protocol):
    """A law on [0, 1]^r with its density; x is (n, r), or (n,) in one dimension."""

    def pdf(self, x: Any) -> Any: ...

    def cdf(self, x: Any) -> Any: ...


@dataclass(frozen=True)
class Distances:
    """Of a released density and a released sample, to the law and to the records; `ks` Kolmogorov-Smirnov, `l2` squared L2."""

    density_ks: float
    sample_ks: float
    density_ks_empirical: float
    sample_ks_empirical: float
    density_l2: float
    sample_l2: float
    density_l2_empirical: float
    sample_l2_empirical: float


def distances(
    release: DensityRelease, law: UnitLaw, records: Any, *, size: int, bins: int, random: Source
) -> Distances:
    """Return all eight; samples and records have densities through their histograms of `bins` bins a side.

    size: of the sample drawn from the release where it holds no sample of its own.
    """
    r = release.dimension
    points = getattr(release, "points", None)
    points = release.sample(size, random) if points is None else points
    records = unit_cube(records, r)
    of_sample, of_records = histogram(points, bins, r), histogram(records, bins, r)
    return Distances(
        kolmogorov_smirnov(release.cdf, law.cdf, r),
        kolmogorov_smirnov(unit_cube(points, r), law.cdf, r),
        kolmogorov_smirnov(release.cdf, records, r),
        kolmogorov_smirnov(unit_cube(points, r), records, r),
        squared_l2(release.pdf, law.pdf, r),
        squared_l2(of_sample.pdf, law.pdf, r),
        squared_l2(release.pdf, of_records.pdf, r),
        squared_l2(of_sample.pdf, of_records.pdf, r),
    )


def kolmogorov_smirnov(first: Cdf | np.ndarray, second: Cdf | np.ndarray, dimension: int = 1) -> float:
    """Return sup |F - G| over [0, 1]^r, each a continuous distribution function or a sample (n, r).

    In one dimension exact wherever a sample is compared, on 2^12 steps for two functions; in more dimensions over a lattice
    of steps, a lower bound.
    """
    if dimension == 1:
        return _one_dimension(first, second)
    corners = _corners(dimension)
    return float(np.abs(_at(first, corners, dimension) - _at(second, corners, dimension)).max())


def squared_l2(first: Cdf, second: Cdf, dimension: int = 1) -> float:
    """Return int (f - g)^2 over [0, 1]^r, by Gauss' rule on steps of a side (exact where breaks lie on the steps)."""
    steps = _steps(dimension) if dimension > 1 else _HIGHLY_DIVISIBLE
    side = ((np.arange(steps)[:, None] + (_NODES + 1) / 2) / steps).ravel()
    weight = np.tile(_WEIGHTS / (2 * steps), steps)
    if dimension == 1:
        return float(weight @ (np.asarray(first(side)) - np.asarray(second(side))) ** 2)
    rest = np.array(list(product(side, repeat=dimension - 1)))
    masses = np.prod(np.array(list(product(weight, repeat=dimension - 1))), axis=1)
    total = 0.0
    for head, mass in zip(side, weight, strict=True):
        x = np.column_stack([np.full(len(rest), head), rest])
        total += mass * float(masses @ (np.asarray(first(x)) - np.asarray(second(x))) ** 2)
    return total


@lru_cache(maxsize=4)
def _corners(dimension: int) -> np.ndarray:
    side = np.arange(1, _steps(dimension) + 1) / _steps(dimension)
    return np.array(list(product(side, repeat=dimension)))


def _steps(dimension: int) -> int:
    return _STEPS.get(dimension, 8)


def _one_dimension(first: Cdf | np.ndarray, second: Cdf | np.ndarray) -> float:
    if callable(first) and callable(second):
        x = np.arange(_STEPS[1] + 1) / _STEPS[1]
        return float(np.abs(np.asarray(first(x)) - np.asarray(second(x))).max())
    if callable(first):
        return _one_dimension(second, first)
    points = np.sort(np.ravel(first))
    if callable(second):  # the supremum is reached at a jump, on either side of it
        at = np.asarray(second(points))
        n = len(points)
        return float(max(np.max(np.arange(1, n + 1) / n - at), np.max(at - np.arange(n) / n)))
    other = np.sort(np.ravel(second))
    x = np.concatenate([points, other])
    return float(np.abs(_empirical(points, x) - _empirical(other, x)).max())


def _empirical(points: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.searchsorted(points, x, side="right") / len(points)


def _at(which: Cdf | np.ndarray, corners: np.ndarray, dimension: int) -> np.ndarray:
    if callable(which):
        return np.asarray(which(corners))
    steps = _steps(dimension)
    cell = np.clip(np.ceil(which * steps).astype(np.int64) - 1, 0, steps - 1)
    counts = np.zeros((steps,) * dimension)
    np.add.at(counts, tuple(cell.T), 1.0)
    for axis in range(dimension):
        counts = counts.cumsum(axis=axis)
    return counts.ravel() / len(which)
