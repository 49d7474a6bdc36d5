"""Malicious clients: what they send to move an estimate, every report one that could have been sent.

The attacks of [Cao2021], for every mechanism here: reports drawn from all there are, the honest report of a value that the
attacker wants more of, and the report that adds most to what he is after.  Attackers know everything but others' reports:
scheme, tables, weights.  What their reports gain is in `attack_gains`, how far any can go in `estimators.sensitivity`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcore._random import Source
from dpcore.estimation.diagnostics.poisoning_sensitivity import Averaged
from dpcore.mechanisms import (
    Mechanism,
    RandomizedResponse,
    Reports,
    SubsetSelection,
    UnaryEncoding,
)
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.reports import starts_of


class Attack(ABC):
    """What malicious clients send."""

    @abstractmethod
    def reports(self, mechanism: Mechanism, n: int, random: Source) -> Reports:
        """Return what n malicious clients report."""


@dataclass(frozen=True)
class RandomReports(Attack):
    """Reports drawn alike from all that could be sent (RPA); their levels have the public law.

    clients: planned for the round; lattice reports are drawn up to what so many honest ones would show.
    """

    clients: int

    def reports(self, mechanism: Mechanism, n: int, random: Source) -> Reports:
        """Return n reports, each integer uniform within its range; subsets sorted, as they are sent."""
        levels, generator = mechanism.draw_levels(n, random), random.generator()
        if isinstance(mechanism, SubsetSelection):
            return Reports(levels, _subsets(mechanism.categories, mechanism.size, n, generator).reshape(-1))
        ranges = [mechanism.ranges(level) for level in range(len(mechanism.sizes))]
        if isinstance(mechanism, WaveletLaplace):
            highest = mechanism.furthest(np.ones(len(mechanism.labels().level)), self.clients).values
            ranges = [(-high, high) for high in np.split(highest, np.cumsum(mechanism.sizes)[:-1])]
        return _filled(levels, mechanism, lambda level, size: generator.integers(*ranges[level], size, endpoint=True))


@dataclass(frozen=True)
class RandomItem(Attack):
    """The honest report of a value the client does not have (RIA), drawn alike from the targets: input cells."""

    targets: Sequence[int]

    def reports(self, mechanism: Mechanism, n: int, random: Source) -> Reports:
        """Return n reports, which nobody can tell from those of honest clients who have such values."""
        return mechanism.privatize(np.asarray(self.targets)[random.below(len(self.targets), n)], random)


@dataclass(frozen=True)
class MaximalGain(Attack):
    """The report of a frequency oracle that supports most of the targets (MGA), categories.

    disguised: unary reports get as many ones, at random, as honest ones have on average; else the targets alone.
    """

    targets: Sequence[int]
    disguised: bool = True

    def reports(self, mechanism: Mechanism, n: int, random: Source) -> Reports:
        """Return n reports; a report of one category is a random target; other members are random."""
        levels, generator, targets = np.zeros(n, dtype=np.uint8), random.generator(), np.asarray(self.targets)
        if isinstance(mechanism, RandomizedResponse):
            return Reports(levels, generator.choice(targets, n))
        if isinstance(mechanism, UnaryEncoding):
            pads = max(0, round(honest_ones(mechanism)) - len(targets)) if self.disguised else 0
            return Reports(levels, self._unary(mechanism, n, pads, generator))
        if isinstance(mechanism, SubsetSelection) and len(targets) < mechanism.size:
            rows = self._beside(mechanism.categories, mechanism.size - len(targets), n, generator)
            return Reports(levels, np.sort(rows, axis=1).reshape(-1))
        weights = np.zeros(mechanism.inputs)
        weights[targets] = 1.0
        return Reports(levels, np.tile(mechanism.furthest(weights, n).values, n))

    def _unary(self, mechanism: UnaryEncoding, n: int, pads: int, generator: np.random.Generator) -> np.ndarray:
        bits = np.zeros((n, 32 * mechanism.sizes[0]), dtype=np.uint8)
        np.put_along_axis(bits, self._beside(mechanism.categories, pads, n, generator), 1, axis=1)
        return np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.int64).reshape(-1)

    def _beside(self, categories: int, others: int, n: int, generator: np.random.Generator) -> np.ndarray:
        """The targets and so many other categories at random, (n, targets + others)."""
        rest = np.setdiff1d(np.arange(categories), self.targets)
        return np.hstack([np.tile(self.targets, (n, 1)), rest[_subsets(len(rest), others, n, generator)]])


@dataclass(frozen=True, eq=False)
class MaximalInfluence(Attack):
    """The report that raises a number of an attribute most: MGA's counterpart for densities.

    exposure: of the attribute's reports.  weights: (S,), the number's, of the average reports (`Inference.influence`).
    chosen: whether clients choose the level where it is worth most, which a public hash of a token forbids.
    """

    exposure: Averaged
    weights: np.ndarray
    chosen: bool = True

    def reports(self, mechanism: Mechanism, n: int, random: Source) -> Reports:
        """Return n reports, one and the same at each level."""
        best, worth = self.exposure.furthest(self.weights)
        levels = np.full(n, np.argmax(worth), dtype=np.uint8) if self.chosen else mechanism.draw_levels(n, random)
        parts = np.split(best.values, np.cumsum(mechanism.sizes)[:-1])
        return _filled(levels, mechanism, lambda level, size: np.broadcast_to(parts[level], size))


def honest_ones(mechanism: UnaryEncoding) -> float:
    """Return how many ones an honest report has on average, whatever is true."""
    return float(mechanism.truth_probability + (mechanism.categories - 1) * mechanism.other_probability)


def poisoned(mechanism: Mechanism, honest: np.ndarray, attack: Attack, malicious: int, random: Source) -> np.ndarray:
    """Return the statistics, (S,), of honest reports with those of so many malicious clients."""
    return honest + mechanism.statistics(attack.reports(mechanism, malicious, random))


def _subsets(categories: int, size: int, n: int, generator: np.random.Generator) -> np.ndarray:
    """Sorted uniform subsets, (n, size)."""
    return np.sort(np.argsort(generator.random((n, categories)), axis=1)[:, :size], axis=1)


def _filled(levels: np.ndarray, mechanism: Mechanism, draw: Callable[[int, tuple[int, ...]], np.ndarray]) -> Reports:
    """Reports of these levels; draw: of (level, (reports, size)) their integers."""
    starts = starts_of(levels, mechanism.sizes)
    values = np.zeros(starts[-1], dtype=np.int64)
    for level in np.unique(levels).tolist():
        places = starts[:-1][levels == level][:, None] + np.arange(mechanism.sizes[level])
        values[places] = draw(level, places.shape)
    return Reports(np.asarray(levels, dtype=np.uint8), values)
