"""Square waves: what the mechanisms that report one cell near the truth have in common.

A client has a public level and reports one cell of that level's wave (`wave_level.Wave`): each cell of the window around
its phase with weight_in, each other one with weight_out.  Statistics are counts, level after level.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpcore._random import Source
from dpcore.errors import CalibrationError, SchemeError, check_whole
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.base import Certificate, Mechanism, integer_weights
from dpcore.mechanisms.calibration import level_sampling
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.reports import Reports, chunks
from dpcore.mechanisms.wave_level import Wave
from dpcore.privacy.budget import Budget

LARGEST_CELLS = 1024  # the published code's default; a channel of it is still listed whole
LARGEST_INPUTS = 4096
_COUNTED = 1 << 16  # reports counted at a time
_NOTHING = np.empty(0, dtype=np.uint32)


class WaveMechanism(Mechanism):
    """A mechanism whose levels are waves; subclasses say the waves and their law, and call `check` when made."""

    @property
    @abstractmethod
    def waves(self) -> tuple[Wave, ...]:
        """The levels, coarsest first, all of the same input cells."""

    @property
    @abstractmethod
    def level_weights(self) -> tuple[int, ...]:
        """The public distribution of the levels, integers that sum to 2^16."""

    def check(self) -> None:
        """Raise CalibrationError unless rows have one total within a level and the certificate holds."""
        for level, rows in enumerate(self._rows):
            totals = rows.sum(axis=1)
            if np.any(totals != self.waves[level].total):
                raise CalibrationError(
                    f"{self.name} level {level}: the totals of the rows must all be {self.waves[level].total}, got "
                    f"{int(totals.min())} to {int(totals.max())}; a window must not be cut at the edge"
                )
        self.check_certificate()

    @property
    def _rows(self) -> tuple[np.ndarray, ...]:
        """The integer weights of each level, (cells, outputs): input cells of one phase have the same row."""
        return tuple(replace(wave, inputs=wave.cells, shift=0).weights() for wave in self.waves)

    def certificate(self) -> Certificate:
        return Certificate("ratio", self._ratio, self.budget)

    @cached_property
    def _ratio(self) -> Fraction:
        """The largest ratio of two probabilities of one cell, over all levels; rows of a level have one total."""
        pairs = {
            pair
            for rows in self._rows
            for pair in zip(rows.max(axis=0).tolist(), rows.min(axis=0).tolist(), strict=True)
        }
        return max(Fraction(most, least) for most, least in pairs)

    def channel(self) -> tuple[np.ndarray, ...]:
        """Return the integer weights of each level, (inputs, outputs)."""
        return tuple(wave.weights() for wave in self.waves)

    @property
    def inputs(self) -> int:
        return self.waves[0].inputs

    @property
    def sizes(self) -> tuple[int, ...]:
        return (1,) * len(self.waves)

    def draw_levels(self, n: int, random: Source) -> np.ndarray:
        if len(self.waves) == 1:
            return np.zeros(n, dtype=np.uint8)
        return level_sampling.draw_levels(self.level_weights, n, random)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        level = self.public_levels(len(values), random, levels)
        reported = np.empty(len(values), dtype=np.int64)
        counts = [int(np.count_nonzero(level == number)) for number in range(len(self.waves))]
        drawn = [random.residues(wave.total, count) for wave, count in zip(self.waves, counts, strict=True) if count]
        loop = _kernels.chosen(_kernels.wave, len(values))
        if loop is not None:
            next_draw = np.cumsum([0, *counts[:-1]])
            loop(np.concatenate([*drawn, _NOTHING]), next_draw, values, level, self._starts, self._numbers, reported)
            return Reports(level, reported)
        order = np.argsort(level, kind="stable") if len(drawn) > 1 else slice(None)
        ordered = values[order]
        end = 0
        for number, words in zip(np.flatnonzero(counts).tolist(), drawn, strict=True):
            first, end = end, end + len(words)
            for part in chunks(len(words)):
                cells = draw(self.waves[number], self._starts[number], ordered[first:end][part], words[part])
                reported[first:end][part] = cells
        if len(drawn) > 1:
            sent = np.empty_like(reported)
            sent[order] = reported
            reported = sent
        return Reports(level, reported)

    @cached_property
    def _starts(self) -> np.ndarray:
        """Where the window of each level and input cell starts, (levels, inputs), uint32."""
        return np.array([wave.starts(np.arange(self.inputs)) for wave in self.waves], dtype=np.uint32)

    @cached_property
    def _numbers(self) -> np.ndarray:
        """What else the compiled loop reads of each level, (levels, 5), int64."""
        numbers = [
            (wave.window * wave.weight_in, wave.weight_in, wave.weight_out, wave.window * wave.weight_out, wave.outputs)
            for wave in self.waves
        ]
        return np.array(numbers, dtype=np.int64)

    def states(self, values: np.ndarray, level: int) -> np.ndarray:
        wave = self.waves[level]
        return (self.input_cells(values) >> wave.shift) % wave.cells

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0]), np.array([self.waves[level].outputs - 1])

    def statistics(self, reports: Reports) -> np.ndarray:
        outputs = self.outputs
        if len(outputs) == 1:
            return np.bincount(reports.values, minlength=outputs[0]).astype(np.int64)
        counts = np.zeros((len(outputs), max(outputs)), dtype=np.int64)
        loop = _kernels.chosen(_kernels.wave_counts, len(reports))
        if loop is None:
            _count(reports, counts)
        elif not loop(reports.level, reports.values, np.array(outputs), counts):
            raise ValueError("at least one report could not have been sent by any client; pass accepted reports only")
        return np.concatenate([row[:size] for row, size in zip(counts, outputs, strict=True)])

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        """Return counts drawn from their law, at a cost of O(inputs levels + cells^2) however many clients there are."""
        generator = random.generator()
        counts = np.asarray(counts, dtype=np.int64)
        law = np.array(self.level_weights) / level_sampling.TOTAL
        by_level = generator.multinomial(counts, law) if len(self.waves) > 1 else counts[:, None]
        parts = zip(self.waves, by_level.T, strict=True)
        return np.concatenate([simulate_counts(wave, wave.folded(part), generator) for wave, part in parts])

    def model(self) -> FiniteChannel:
        return FiniteChannel(self.waves, np.array(self.level_weights) / level_sampling.TOTAL)


def draw(wave: Wave, starts: np.ndarray, values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the reported cells of n clients of one level, shape (n,), uint32.

    starts: (inputs,) uint32, of each input cell's window.  values: (n,) input cells.  drawn: (n,) uint32 below T: the first
    k weight_in of them are the window's cells, weight_in to a cell, the rest are the others, weight_out to a cell, both counted
    upwards from where the window starts.
    """
    heavy = np.uint32(wave.window * wave.weight_in)
    other = np.maximum(drawn, heavy)
    other -= heavy
    other //= np.uint32(wave.weight_out)
    other += np.uint32(wave.window)
    cells = np.where(drawn < heavy, drawn // np.uint32(wave.weight_in), other)
    cells += starts[values]
    # Modulo outputs: cells are below twice their number, and a negative difference wraps to a large integer in 32 bits.
    return np.minimum(cells, cells - np.uint32(wave.outputs), out=cells)


def simulate_counts(wave: Wave, phases: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the counts of a level's cells, shape (outputs,), drawn from their law given the clients of each phase (cells,).

    With probability k (weight_in - weight_out) / T a client reports any cell of its window, else any cell at all.
    """
    share = Fraction(wave.window * (wave.weight_in - wave.weight_out), wave.total)
    bound = generator.binomial(phases, float(share))
    counts = generator.multinomial(phases.sum() - bound.sum(), np.full(wave.outputs, 1 / wave.outputs))
    spread = generator.multinomial(bound, np.full(wave.window, 1 / wave.window))  # (cells, k)
    starts = wave.starts(np.arange(wave.cells) << wave.shift)
    np.add.at(counts, (starts[:, None] + np.arange(wave.window)) % wave.outputs, spread)
    return counts


def _count(reports: Reports, counts: np.ndarray) -> None:
    """Count the cells of each level in counts (levels, cells)."""
    for first in range(0, len(reports), _COUNTED):
        part = slice(first, first + _COUNTED)
        cells = np.multiply(reports.level[part], counts.shape[1], dtype=np.int64)
        cells += reports.values[part]
        counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)


def wave_weights(budget: Budget, cells: int, half_width: int, circular: bool) -> tuple[int, int]:
    """Return (weight_in, weight_out) of a wave of so many cells, their ratio at most e^epsilon."""
    window = 2 * half_width + 1
    return integer_weights(budget, window, (cells if circular else cells + 2 * half_width) - window)


def half_width_of(window: int) -> int:
    """Return h of a window of 2h + 1 cells; raises SchemeError where that number is even or below 1."""
    if isinstance(window, bool) or not isinstance(window, int) or window < 1 or window % 2 == 0:
        raise SchemeError(f"widths must be odd numbers of cells, so that a window has a centre, got {window}")
    return window // 2


def check_cells(cells: int) -> None:
    """Raise SchemeError unless cells is a power of two in 2..1024."""
    check_whole(2, LARGEST_CELLS, cells=cells)
    if cells & (cells - 1):
        raise SchemeError(f"cells must be a power of two, got {cells}")
