"""Planted bugs: mechanisms that break their promise and certify that they keep it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpcore._random import Source, seeded
from dpcore.mechanisms import DyadicWave, Mechanism, RandomizedResponse, SquareWave
from dpcore.mechanisms.base import Certificate
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.reports import Reports
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


def without_noise(mechanism: Mechanism, values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The integers of reports that forgot their noise, flat."""
    if isinstance(mechanism, WaveletLaplace):
        return np.concatenate([mechanism.tables[level][value] for value, level in zip(values, levels, strict=True)])
    return np.asarray(values)


def releasing(honest: Mechanism, share: float) -> Mechanism:
    """The mechanism, but that a few clients drawn at random send their value in clear."""

    class Releasing(type(honest)):  # type: ignore[misc]
        certificate = lies

        def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
            said = super().privatize(values, random, levels)
            few = random.words(len(values)) < share * 2**32
            clear = np.repeat(few, np.array(self.sizes)[said.level])
            return replace(said, values=np.where(clear, without_noise(self, values, said.level), said.values))

    return planted(honest, Releasing)


def half_scale(honest: WaveletLaplace) -> WaveletLaplace:
    """The mechanism, its noise of half the scale that it states."""

    class HalfScale(WaveletLaplace):
        certificate = lies

        def _noise(self, level: int, n: int, random: Source) -> np.ndarray:
            scale = self.noise_scales[level] // 2
            return discrete_laplace.sample(scale, n * self.sizes[level], random).reshape(n, self.sizes[level])

    return planted(honest, HalfScale)


def float_laplace(honest: WaveletLaplace) -> WaveletLaplace:
    """The mechanism with textbook noise: floats of the right scale, of which some sums cannot come from some values."""

    class FloatLaplace(WaveletLaplace):
        certificate = lies

        def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
            level = self.draw_levels(len(values), random) if levels is None else np.asarray(levels, dtype=np.uint8)
            scale = np.repeat(np.array(self.noise_scales)[level], np.array(self.sizes)[level])
            clear = without_noise(self, values, level)
            unit = float(scale[0])  # coefficients in units of the noise, as a textbook has them
            noise = random.generator().laplace(size=len(clear)) * scale / unit
            return Reports(level, clear / unit + noise)

    return planted(honest, FloatLaplace)


def even_noise(honest: WaveletLaplace) -> WaveletLaplace:
    """The mechanism with noise on a lattice twice as coarse: its variance is right, and parity tells the value's."""

    class EvenNoise(WaveletLaplace):
        certificate = lies

        def _noise(self, level: int, n: int, random: Source) -> np.ndarray:
            half = discrete_laplace.sample(self.noise_scales[level] // 2, n * self.sizes[level], random)
            return 2 * half.reshape(n, self.sizes[level])

    return planted(honest, EvenNoise)


def known_seed(honest: Mechanism, seed: int = 7) -> Mechanism:
    """The mechanism, drawing from a seed that is in the warehouse for all to see."""

    class KnownSeed(type(honest)):  # type: ignore[misc]
        certificate = lies

        def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
            return super().privatize(values, seeded(seed), levels)

    return planted(honest, KnownSeed)


def planted(honest: Mechanism, kind: type) -> Any:
    """A mechanism of the kind with the honest one's parameters."""
    return kind(*(getattr(honest, field.name) for field in fields(honest)))
