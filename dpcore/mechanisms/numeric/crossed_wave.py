"""Crossed wave: two numbers of one client in one report: a place in the plane, their product, or one of them.

Many clients report the plane, level 0: one cell of a square of cells, near the two values or anywhere, for the joint
distribution, as a square wave does for one number [LiSquareWave2020].  Some report the product, level 1: a wave on
u = (2x + 1 - M)(2y + 1 - M), which determines the correlation and which the plane's square blurs.  The others report x
alone, level 2, or y alone, level 3: a square wave each, for the margins, on which the plane has little information.
Every report spends the whole budget, and is two small integers.  Reports of the product are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms.base import Certificate, Mechanism, integer_weights
from dpcore.mechanisms.calibration import level_sampling
from dpcore.mechanisms.declaration import Option, integer, integers, mechanism
from dpcore.mechanisms.numeric.wave import half_width_of
from dpcore.mechanisms.observation_model import FiniteChannel, Listed
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.budget import Budget

_WEIGHTS = 1 << 24  # of a level, which are listed whole
SIZES = (8, 16, 32)  # cells of either number that there may be
_CELLS = 32
LEVELS = ("plane", "product", "x", "y")
_LAW = (Fraction(9, 20), Fraction(1, 4), Fraction(3, 20), Fraction(3, 20))  # of the plane, the product, x and y
_LISTS = ("weights_in", "weights_out", "level_law", "widths")


@dataclass(frozen=True, eq=False)
class Window:
    """One level: outputs are a torus of rows x columns; those in a window have `weight_in` and all others `weight_out`.

    tops, lefts: (inputs,) where the window of each input cell starts.  high, wide: its rows and columns, fewer than there are.
    """

    tops: np.ndarray
    lefts: np.ndarray
    rows: int
    columns: int
    high: int
    wide: int
    weight_in: int
    weight_out: int

    def __post_init__(self) -> None:
        inside = self.high * self.wide
        if inside >= self.outputs:
            raise CalibrationError(f"a window must leave out a cell, got {inside} of {self.outputs}; narrow it")
        if not 1 <= self.weight_out < self.weight_in or self.total > WORD:
            raise CalibrationError(
                "a window needs 1 <= weight_out < weight_in and a total of at most 2^32, got weights "
                f"{self.weight_in} and {self.weight_out} over {inside} of {self.outputs}; leave them out to have them computed"
            )
        if len(self.tops) * self.outputs > _WEIGHTS:
            raise CalibrationError(
                f"a level has at most {_WEIGHTS} weights, since all are listed; got {len(self.tops)} cells and "
                f"{self.outputs} outputs; narrow the window"
            )

    @property
    def outputs(self) -> int:
        """How many outputs there are, numbered row by row."""
        return self.rows * self.columns

    @property
    def total(self) -> int:
        """T, the number of equally likely draws, whatever the input."""
        inside = self.high * self.wide
        return inside * self.weight_in + (self.outputs - inside) * self.weight_out

    def reached(self, values: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return the output so many steps from where a value's window starts, int64: those of the window come first.

        Then those right of it, row by row, then those below it; rows and columns go around.
        """
        beside = self.columns - self.wide
        inside, right = self.high * self.wide, self.high * beside
        t = steps - inside
        below = t - right
        row = np.where(
            t < 0, steps // self.wide, np.where(below < 0, t // max(beside, 1), self.high + below // self.columns)
        )
        column = np.where(
            t < 0, steps % self.wide, np.where(below < 0, self.wide + t % max(beside, 1), below % self.columns)
        )
        return (self.tops[values] + row) % self.rows * self.columns + (self.lefts[values] + column) % self.columns

    def weights(self) -> np.ndarray:
        """Return the integer weights, (inputs, outputs): how many draws lead to each output."""
        table = np.full((len(self.tops), self.outputs), self.weight_out, dtype=np.int64)
        cells, steps = np.arange(len(table))[:, None], np.arange(self.high * self.wide)[None, :]
        np.put_along_axis(table, self.reached(cells, steps), self.weight_in, axis=1)
        return table

    def draw(self, values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Return the reported outputs, (n,) int64, of input cells, (n,), and of draws below T, (n,) int64."""
        inside = self.high * self.wide
        heavy = inside * self.weight_in
        steps = np.where(drawn < heavy, drawn // self.weight_in, inside + (drawn - heavy) // self.weight_out)
        return self.reached(values, steps)

    def simulate(self, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return counts of outputs drawn from their distribution given the clients of each input cell, (inputs,).

        With probability inside (weight_in - weight_out) / T a client reports a uniform cell of its window, else a uniform cell.
        """
        inside = self.high * self.wide
        bound = generator.binomial(clients, inside * (self.weight_in - self.weight_out) / self.total)
        reported = generator.multinomial((clients - bound).sum(), np.full(self.outputs, 1 / self.outputs))
        spread = generator.multinomial(bound, np.full(inside, 1 / inside))
        np.add.at(reported, self.reached(np.arange(len(bound))[:, None], np.arange(inside)[None, :]), spread)
        return reported


@mechanism(
    "crossed_wave",
    attributes={"plane"},
    estimators=("together",),
    words="whether the place, the product or one number was looked at, drawn without looking, and a cell: near it or anywhere",
    options=(
        Option("cells", int, words=f"cells of either number: {', '.join(map(str, SIZES))}"),
        Option(
            "level_law",
            list[Fraction],
            words="shares of the devices that report the place, the product, the first number, and the second",
        ),
        Option(
            "widths",
            list[int],
            least=1,
            words="cells of the windows, odd numbers: the side in the plane, then the product, the first number and the second",
        ),
    ),
)
@dataclass(frozen=True)
class CrossedWave(Mechanism):
    """Report a level and a cell: each cell of a window around what it looks at with weight_in, each other with weight_out.

    cells: M, 8, 16 or 32, of either number; input cell x M + y, so that there are M^2.  half_widths: (4,), of the square in the
    plane and of the windows of the product, x and y.  level_law: (4,) integers that sum to 2^16.  weights: (4,) pairs
    (weight_in, weight_out).
    Level 0: (M + 2h)^2 outputs, the range extended by h on all four sides.  Level 1: the phase of u = (2x + 1 - M)(2y + 1 - M)
    is (u + (M - 1)^2) / 2, a whole number, as u is odd; its range is extended, too.  Levels 2 and 3: M + 2h outputs each, the
    phase is x or y.

    Privacy.  Claim: Pr(level, z | x, y) <= e^epsilon Pr(level, z | x', y') for all pairs of values and all reports.
        1. The level is drawn without looking at x and y, so that its probability cancels: one level at a time.
        2. The client draws r uniform on 0..T-1 and T is the same for all x and y: a level's windows are alike, none is cut.
        3. Exactly weight_in values of r lead to each cell of the window, exactly weight_out to each other cell.
        4. So Pr(z | level, x, y) is weight_in / T or weight_out / T, and every ratio is at most weight_in / weight_out.
        5. The constructor lists all rows, and refuses unequal totals and a ratio above E, a rational lower bound of e^epsilon.

    Raises CalibrationError where the weights break the claim, SchemeError for malformed parameters.

    >>> mechanism = CrossedWave.design(Budget.parse("2"))
    >>> mechanism.inputs, mechanism.half_widths, mechanism.outputs, mechanism.certificate().holds
    (1024, (8, 247, 2, 2), (2304, 1456, 36, 36), True)
    """

    budget: Budget
    cells: int
    half_widths: tuple[int, ...]
    level_law: tuple[int, ...]
    weights: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if self.cells not in SIZES:
            raise SchemeError(f"cells must be one of {', '.join(map(str, SIZES))}, got {self.cells}")
        if len(self.half_widths) != len(LEVELS) or len(self.weights) != len(LEVELS):
            raise SchemeError("widths and weights must be of four levels: the plane, the product, x and y")
        level_sampling.check_weights(self.level_law, len(LEVELS))
        for level, table in enumerate(self._tables):
            if np.any(table.sum(axis=1) != self.windows[level].total):
                raise CalibrationError(f"{self.name} level {level}: the totals of the rows must all be the same")
        self.check_certificate()

    @classmethod
    def design(
        cls,
        budget: Budget,
        *,
        cells: int | None = None,
        level_law: Sequence[Fraction | int] | None = None,
        widths: Sequence[int] | None = None,
    ) -> CrossedWave:
        """Return the mechanism that keeps `budget`.

        Windows of the plane and the product reach e^(-epsilon / 3) of half the range to either side, those of x and y a quarter
        as far: they are for what the plane blurs.

        cells: 8, 16 or 32, the default.  level_law, widths: four numbers each, of the plane, the product, x and y.

        Raises SchemeError for values outside these ranges.
        """
        for name, numbers in (("level_law", level_law), ("widths", widths)):
            if numbers is not None and len(numbers) != len(LEVELS):
                raise SchemeError(
                    f"{name} must be four numbers, for the levels plane, product, x and y in this order, got {len(numbers)}"
                )
        M = _CELLS if cells is None else cells
        if M not in SIZES:
            raise SchemeError(f"cells must be one of {', '.join(map(str, SIZES))}, got {M}")
        reach, phases = math.exp(-float(budget) / 3) / 2, (M - 1) ** 2 + 1
        reaches = (reach * M, reach * phases, reach * M / 4, reach * M / 4)
        half_widths = (
            [max(1, int(cells + 0.5)) for cells in reaches] if widths is None else list(map(half_width_of, widths))
        )
        plane, *others = half_widths
        outputs = ((M + 2 * plane) ** 2, *(many + 2 * h for many, h in zip((phases, M, M), others, strict=True)))
        inside = ((2 * plane + 1) ** 2, *(2 * h + 1 for h in others))
        weights = tuple(integer_weights(budget, k, n - k) for k, n in zip(inside, outputs, strict=True))
        law = level_sampling.apportion(_LAW if level_law is None else level_law)
        return cls(budget, M, tuple(half_widths), law, weights)

    @classmethod
    def _read(cls, budget: Budget, parameters: Mapping[str, Any]) -> Self:
        cells, (*weights, law, widths) = integer(parameters["cells"]), (integers(parameters[key]) for key in _LISTS)
        return cls(budget, cells, tuple(map(half_width_of, widths)), law, tuple(zip(*weights, strict=True)))

    def parameters(self) -> Mapping[str, Any]:
        return {
            "cells": self.cells,
            "level_law": list(self.level_law),
            "widths": [2 * half_width + 1 for half_width in self.half_widths],
            "weights_in": [weight_in for weight_in, _ in self.weights],
            "weights_out": [weight_out for _, weight_out in self.weights],
        }

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The plane, the product, x and y."""
        M, (plane, *others) = self.cells, self.half_widths
        x, y = divmod(np.arange(M * M), M)
        phase = ((2 * x + 1 - M) * (2 * y + 1 - M) + (M - 1) ** 2) // 2
        side = M + 2 * plane
        return (
            Window(x, y, side, side, 2 * plane + 1, 2 * plane + 1, *self.weights[0]),
            *(
                Window(np.zeros_like(x), lefts, 1, phases + 2 * h, 1, 2 * h + 1, *weights)
                for lefts, phases, h, weights in zip(
                    (phase, x, y), ((M - 1) ** 2 + 1, M, M), others, self.weights[1:], strict=True
                )
            ),
        )

    @cached_property
    def _tables(self) -> tuple[np.ndarray, ...]:
        return tuple(window.weights() for window in self.windows)

    @property
    def inputs(self) -> int:
        return self.cells**2

    @property
    def sizes(self) -> tuple[int, ...]:
        return (1,) * len(LEVELS)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0]), np.array([self.windows[level].outputs - 1])

    def certificate(self) -> Certificate:
        pairs = {
            pair
            for table in self._tables
            for pair in zip(table.max(axis=0).tolist(), table.min(axis=0).tolist(), strict=True)
        }
        return Certificate("ratio", max(Fraction(most, least) for most, least in pairs), self.budget)

    def channel(self) -> tuple[np.ndarray, ...]:
        return self._tables

    def draw_levels(self, n: int, random: Source) -> np.ndarray:
        return level_sampling.draw_levels(self.level_law, n, random)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        values = self.input_cells(values)
        level = self.public_levels(len(values), random, levels)
        reported = np.empty(len(values), dtype=np.int64)
        for number, window in enumerate(self.windows):
            at = np.flatnonzero(level == number)
            if not at.size:
                continue
            reported[at] = window.draw(values[at], random.residues(window.total, len(at)).astype(np.int64))
        return Reports(level, reported)

    def states(self, values: np.ndarray, level: int) -> np.ndarray:
        values = self.input_cells(values)
        return values if level == 0 else np.asarray(self.windows[level].lefts[values], dtype=np.int64)

    def statistics(self, reports: Reports) -> np.ndarray:
        return self.statistics_by(reports, np.zeros(len(reports), dtype=np.int64), 1)[0]

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        generator, law = random.generator(), np.array(self.level_law) / level_sampling.TOTAL
        by_level = generator.multinomial(np.asarray(counts, dtype=np.int64), law)
        return np.concatenate(
            [window.simulate(part, generator) for window, part in zip(self.windows, by_level.T, strict=True)]
        )

    def model(self) -> FiniteChannel:
        return FiniteChannel(tuple(map(Listed, self._tables)), np.array(self.level_law) / level_sampling.TOTAL)
