"""Tests of whether values are concentrated on few points.

The density fitted to reports of integers, of rounded values, or of a value shared by many respondents is smooth where the truth
jumps, and its intervals do not cover.  The fitted distribution p of the input cells is changed into discrete ones, and the
log-likelihood of the reports compares them:

    a lattice    a part of p, as it is or smoothed, moved to the nearest multiples of 1 / k of the range, or to the midpoints
                 between them; the prior of k is proportional to 1 / k, and all of p is five times as likely as a part;
    a place      the mass of p above a part of a peak's height, moved to one of its cells, or to the two around its mean.

A lattice, or part of a peak, counts if the reports prefer it.  A whole peak that is significant, or a cell twice as high as its
neighbours, counts if the reports do not distinguish it from a single value.  A peak at an end of the range that is not
distinguished from an unbounded density rules out functionals of a density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.densities import DensityOnInterval
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.diagnostics.evidence import Discreteness
from dpcore.estimation.inference.binning_error import Cells

Gains = Callable[[np.ndarray], np.ndarray]


def assess(likelihood: Likelihood, density: DensityOnInterval) -> Discreteness:
    """Return the evidence of discreteness for the density fitted to the reports; point masses at the bounds do not count."""
    cells, law = likelihood.inputs, Cells(likelihood.inputs, density).masses
    atoms = np.zeros(cells)
    atoms[[0, -1]] += density.atoms
    fitted = likelihood.log_likelihood(likelihood.expected(law + atoms))

    def expected(laws: np.ndarray) -> np.ndarray:
        """Expected values of each distribution, (cells, m), shape (m, S)."""
        return np.ascontiguousarray(likelihood.expected(laws + atoms[:, None]).T)

    def preferred(expected: np.ndarray) -> np.ndarray:
        """Log-likelihood of expected values, (m, S), less that of the fit."""
        return np.array([likelihood.log_likelihood(row) for row in np.maximum(expected, constants.TINY)]) - fitted

    def gains(laws: np.ndarray) -> np.ndarray:
        """Log-likelihood of each distribution, (cells, m), less that of the fit."""
        return preferred(expected(laws))

    lattice, on_lattice = _lattice(law, expected, preferred)
    peaks, share = _places(law, gains)
    return Discreteness(peaks, max(on_lattice, share), lattice, _has_endless_end(law, atoms, gains))


def _lattice(law: np.ndarray, expected: Gains, preferred: Gains) -> tuple[int, float]:
    """The coarsest lattice within the tie margin of the best, and the share of respondents on it; or 0, 0.

    Expected values are linear: a part of the mass moved gives that part of the change of all of it.
    """
    numbers, nearest = _nearest(len(law))
    if not len(numbers):  # too few cells for a coarser lattice
        return 0, 0.0
    even = _evened(law, np.round(len(law) / numbers).astype(np.int64))
    even *= law.sum() / even.sum(axis=1, keepdims=True)
    masses = np.stack([np.broadcast_to(law, even.shape), even], axis=1)  # (lattices, 2, cells)
    rows = np.arange(2 * len(numbers)).reshape(-1, 2, 1) * len(law)
    moved = np.bincount((rows + nearest[:, None]).ravel(), masses.ravel(), rows.size * len(law)).reshape(-1, len(law))
    unmoved, all_moved = expected(law[:, None]), expected(moved.T)
    preference = np.stack(
        [preferred(unmoved + (all_moved - unmoved) * part) for part in constants.LATTICE_SHARES], axis=1
    )
    preference = preference.reshape(len(numbers), 2, -1) - np.log(numbers)[:, None, None]
    is_part = constants.LATTICE_SHARES < 1
    preference -= np.where(
        is_part,
        np.where(numbers < constants.COARSE_LATTICE, np.inf, -np.log(constants.LATTICE_SHARES[0]))[:, None, None],
        0.0,
    )
    preference = preference.reshape(len(numbers), -1)
    best = preference.max(axis=1)
    if best.max() <= constants.evidence_bound():
        return 0, 0.0
    coarsest = int(np.argmax(best >= best.max() - constants.LIKELY_ERRORS**2 / 2))
    return int(numbers[coarsest]), float(
        constants.LATTICE_SHARES[np.argmax(preference[coarsest]) % len(constants.LATTICE_SHARES)]
    )


def _evened(law: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Moving averages of the distribution over that number of cells, (m, cells), mirrored at its ends; widths: (m,)."""
    beyond = int(widths.max())
    sums = np.cumsum(np.pad(law, (beyond + 1, beyond), mode="symmetric"))
    first = np.arange(len(law)) + beyond - widths[:, None] // 2  # the sum's, of all before the first cell
    return np.asarray((sums[first + widths[:, None]] - sums[first]) / widths[:, None])


@lru_cache(maxsize=4)
def _nearest(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """The lattices, (m,), and for each the cell of the lattice point nearest to each cell, (m, cells); read-only."""
    k = np.arange(2, min(constants.FINEST_LATTICE, cells // 3) + 1)[:, None, None]
    shift = np.array([[0.0], [0.5]])
    points = np.clip(np.round((np.arange(cells) + 0.5) / cells * k - shift), 0, k - (shift > 0)) + shift
    nearest = np.minimum((points / k * cells).astype(np.int64), cells - 1).reshape(-1, cells)
    nearest.flags.writeable = False
    return np.repeat(k.ravel(), 2), nearest


def _places(law: np.ndarray, gains: Gains) -> tuple[int, float]:
    """Number of intervals that may be one value each, and the share of the respondents there."""
    moved = np.zeros(len(law))  # mass at possible single values, by cell
    for part in constants.PEAK_PARTS:
        is_whole = part == constants.PEAK_PARTS[0]
        peaks = [_Peak.around(law, *peak, part) for peak in _peaks(law, part)]
        peaks = [peak for peak in peaks if peak.mass >= constants.PEAK_MASS]
        if not peaks:
            continue
        enough = -(constants.LIKELY_ERRORS**2) / 2 if is_whole else constants.evidence_bound()
        if is_whole:
            peaks = [
                peak
                for peak, gain in zip(peaks, gains(_flattened(law, peaks)), strict=True)
                if gain <= -constants.evidence_margin()
            ]
        gained = _best(law, peaks, gains) if peaks else np.zeros(0)
        peaks = [peak for peak, gain in zip(peaks, gained, strict=True) if gain >= enough or peak.first == peak.last]
        if is_whole and sum(peak.mass for peak in peaks) < constants.SMALL:
            continue
        for peak in peaks:
            moved[peak.first : peak.last + 1] = np.maximum(moved[peak.first : peak.last + 1], peak.excess)
    begins = np.diff((moved > 0).astype(np.int8), prepend=0) == 1
    return int(begins.sum()), float(moved.sum())


def _has_endless_end(law: np.ndarray, atoms: np.ndarray, gains: Gains) -> bool:
    """Whether a peak at an end, higher than the uniform density, may have half its height from one value."""
    tops = [peak for peak in _peaks(law, 0.5) if peak[0] in (0, len(law) - 1) and law[peak[0]] * len(law) >= 1]
    ends = [_Peak.around(law, *peak, 0.5) for peak in tops]
    ends = [peak for peak in ends if law[peak.first : peak.last + 1].sum() >= constants.PEAK_MASS]
    has_atom = any(atoms[peak.first] + atoms[peak.last] > 0 for peak in ends)  # an atom replaced a peak here
    return has_atom or (bool(ends) and bool(np.any(_best(law, ends, gains) > -(constants.LIKELY_ERRORS**2) / 2)))


def _flattened(law: np.ndarray, peaks: list[_Peak]) -> np.ndarray:
    """The distributions, (cells, m), each with one peak's excess spread over all cells."""
    laws = np.repeat(law[:, None], len(peaks), axis=1)
    for column, peak in enumerate(peaks):
        laws[peak.first : peak.last + 1, column] -= peak.excess
    return np.asarray(laws + np.array([peak.mass for peak in peaks]) / len(law))


def _best(law: np.ndarray, peaks: list[_Peak], gains: Gains) -> np.ndarray:
    """The largest gain of each peak, (m,), over where all of it may be."""
    counts = [peak.contracted(law) for peak in peaks]
    best_gains = gains(np.concatenate(counts).T)
    ends = np.cumsum([0, *(len(laws) for laws in counts)])
    return np.array([best_gains[begin:end].max() for begin, end in pairwise(ends)])


def _peaks(law: np.ndarray, part: float) -> list[tuple[int, int, int]]:
    """Top, first and last cell of each stretch around a maximum with at least that part of it: disjoint, highest first."""
    taken, padded, stretches = np.zeros(len(law), dtype=bool), np.pad(law, 1), []
    tops = np.flatnonzero((law > 0) & (law >= padded[:-2]) & (law >= padded[2:]))
    for top in tops[np.argsort(-law[tops], kind="stable")]:
        if taken[top]:
            continue
        beside = np.flatnonzero(taken | (law < part * law[top]))
        at = int(np.searchsorted(beside, top))
        first = int(beside[at - 1]) + 1 if at else 0
        last = int(beside[at]) - 1 if at < len(beside) else len(law) - 1
        taken[first : last + 1] = True
        stretches.append((int(top), first, last))
    return stretches


@dataclass(frozen=True, eq=False)
class _Peak:
    """first, last: its cells.  excess: (last - first + 1,), their mass above a part of its height."""

    first: int
    last: int
    excess: np.ndarray

    @classmethod
    def around(cls, law: np.ndarray, top: int, first: int, last: int, part: float) -> _Peak:
        base = part * law[top] if last > first else 0.0  # of one cell all of it
        return cls(first, last, np.maximum(law[first : last + 1] - base, 0.0))

    @property
    def mass(self) -> float:
        return float(self.excess.sum())

    def contracted(self, law: np.ndarray) -> np.ndarray:
        """Laws, (m, cells), with the excess in the two cells around its mean, and in each of the peak's cells if few."""
        rest = law.copy()
        rest[self.first : self.last + 1] -= self.excess
        mean = float(self.excess @ np.arange(self.first, self.last + 1)) / self.mass
        left = min(int(mean), len(law) - 2)
        places = np.zeros((1, len(law)))
        places[0, [left, left + 1]] = left + 1 - mean, mean - left
        if self.last - self.first < constants.MAX_TRIED:
            places = np.vstack([places, np.eye(len(law))[self.first : self.last + 1]])
        return np.asarray(rest + self.mass * places)
