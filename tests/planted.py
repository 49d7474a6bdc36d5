"""Planted bugs: mechanisms that break their promise and certify that they keep it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpcore._random import Source
from dpcore.mechanisms import DyadicWave, Mechanism, RandomizedResponse, SquareWave
from dpcore.mechanisms.base import Certificate, Reports
from dpcore.privacy.budget import Budget


def lies(mechanism: Mechanism) -> Certificate:
    """A certificate that believes what it is told."""
    return Certificate("ratio", Fraction(1), mechanism.budget)


@dataclass(frozen=True)
class OneTooMany(RandomizedResponse):
    """The true category's weight is one unit too large for the promise."""

    certificate = lies

    @classmethod
    def design(cls, budget: Budget, *, categories: int, design: str | None = None) -> OneTooMany:
        honest = RandomizedResponse.design(budget, categories=categories)
        return cls(budget, categories, honest.weight_in + 1, honest.weight_out)


@dataclass(frozen=True)
class CutWindow(RandomizedResponse):
    """Neighbours have the larger weight too; at the ends the window is cut off and the row's total is smaller."""

    certificate = lies

    def channel(self) -> tuple[np.ndarray, ...]:
        apart = np.abs(np.subtract.outer(np.arange(self.categories), np.arange(self.categories)))
        return (np.where(apart <= 1, self.weight_in, self.weight_out),)


class CutWave(SquareWave):
    """The range is not extended: outputs beyond the first and the last cell are never sent."""

    def channel(self) -> tuple[np.ndarray, ...]:
        return tuple(weights[:, self.half_width : self.half_width + self.cells] for weights in super().channel())


class CutDyadicWave(DyadicWave):
    """A finer level whose window does not go around the circle: its part across the end has the smaller weight."""

    def channel(self) -> tuple[np.ndarray, ...]:
        cut = [weights.copy() for weights in super().channel()]
        for value in range(self.half_widths[1]):
            cut[1][value * self.inputs // (2 * self.cells), -1] = self.weights[1][1]
        return tuple(cut)


@dataclass(frozen=True)
class TellingLevel(RandomizedResponse):
    """Two levels, both honest randomized response; which one is sent depends on the value."""

    @property
    def sizes(self) -> tuple[int, ...]:
        return (1, 1)

    def channel(self) -> tuple[np.ndarray, ...]:
        return super().channel() * 2

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        return replace(super().privatize(values, random), level=np.asarray(values % 2, dtype=np.uint8))
