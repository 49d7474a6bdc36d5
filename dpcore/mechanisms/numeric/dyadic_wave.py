"""Dyadic wave: a square wave whose clients look at the value at different scales, each reporting one cell.

Most clients report the anchor, level 0: a square wave on cells of the whole interval [LiSquareWave2020].  The others draw a
finer level l from a public law, wrap their value at that scale, and report a cell near its phase on a circle.  The anchor
locates the value, the finer levels resolve what the anchor's window blurs.  Every report spends the whole budget and is two
small integers.  The finer levels are ours.

With a declared purpose, levels need not be octaves: several are lines with windows of different widths, others circles that
go around the interval once or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from dpcore.errors import SchemeError, check_whole
from dpcore.mechanisms.calibration import level_sampling, wave_design
from dpcore.mechanisms.declaration import Option, integer, integers, mechanism
from dpcore.mechanisms.numeric.wave import (
    LARGEST_CELLS,
    LARGEST_INPUTS,
    WaveMechanism,
    check_cells,
    half_width_of,
    wave_weights,
)
from dpcore.mechanisms.wave_level import Wave
from dpcore.privacy.budget import Budget

_MOST_LEVELS = 12
_LISTS = ("weights_in", "weights_out", "level_law", "widths")


@mechanism(
    "dyadic_wave",
    attributes={"numeric", "lattice"},
    estimators=("log_spline", "ems", "em"),
    words="how coarsely the value was looked at, drawn without looking, and one cell: near the value or anywhere",
    options=(
        Option("cells", int, words=f"cells of each level, a power of two, 2 to {LARGEST_CELLS}"),
        Option("levels", int, least=1, most=_MOST_LEVELS, words="scales; each shows half the width of the one before"),
        Option("level_law", list[Fraction], words="shares of the devices that report each level"),
        Option("widths", list[int], least=1, words="cells of each level's window around the truth: odd numbers"),
        Option(
            "purpose",
            str,
            choices=wave_design.PURPOSES,
            words="a design that is solved for it: `both`, curve and mean, or the `curve` above all; instead of the four above",
        ),
    ),
    scheme_facts=("points",),
)
@dataclass(frozen=True)
class DyadicWave(WaveMechanism):
    """Report a level and a cell: each cell of a window around the value's phase with weight_in, each other with weight_out.

    cells: M, a power of two, 2..1024, at every level.
    harmonics: (L,), how often each level goes around the interval, a power of two; 0 of a line.  Without them 0, 2, 4, ..,
    2^(L-1), the dyadic ones.  There are M times the largest input cells, M at least and at most 4096.
    half_widths: (L,), h_l, cells; a window has 2 h_l + 1.  level_law: (L,) integers that sum to 2^16.
    weights: (L,) pairs (weight_in, weight_out), each level's total below 2^32.
    A line: input cell c has phase c M // inputs, and the range is extended by h_l on both sides.  A circle of harmonic k: phase
    (c k M // inputs) mod M.

    Privacy.  Claim: Pr(level, z | x) <= e^epsilon Pr(level, z | x') for all x, x' and all reports.
        1. The level is drawn without looking at x, so that its probability cancels: one level at a time.
        2. The client draws r uniform on 0..T-1 and T is the same for every x: all windows have 2 h_l + 1 cells, none is cut.
        3. Exactly weight_in values of r lead to each cell of the window of x, exactly weight_out to each other cell.
        4. So Pr(z | level, x) is weight_in / T or weight_out / T, and every ratio is at most weight_in / weight_out.
        5. The constructor lists all rows, and refuses unequal totals and a ratio above E, a rational lower bound of
           e^epsilon.

    Raises CalibrationError where the weights break the claim, SchemeError for malformed parameters.

    >>> mechanism = DyadicWave.design(Budget.parse("1"))
    >>> mechanism.cells, mechanism.inputs, mechanism.half_widths, mechanism.certificate().holds
    (64, 512, (16, 7, 7, 7), True)
    """

    budget: Budget
    cells: int
    half_widths: tuple[int, ...]
    level_law: tuple[int, ...]
    weights: tuple[tuple[int, int], ...]
    harmonics: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_cells(self.cells)
        levels = len(self.half_widths)
        if self.harmonics:
            _check_harmonics(self.harmonics, levels, self.cells)
        else:
            _check_levels(levels, self.cells)
        level_sampling.check_weights(self.level_law, levels)
        if len(self.weights) != levels:
            raise SchemeError(f"weights must be one pair for each of the {levels} levels, got {len(self.weights)}")
        self.check()

    @classmethod
    def design(
        cls,
        budget: Budget,
        *,
        points: int = 0,
        cells: int | None = None,
        levels: int | None = None,
        level_law: Sequence[Fraction | int] | None = None,
        widths: Sequence[int] | None = None,
        purpose: str | None = None,
    ) -> DyadicWave:
        """Return the mechanism that keeps `budget`, its free constants those of `calibration.wave_design`.

        points: how many values to distinguish; each gets an input cell, and many points need more levels.
        cells: a power of two, 2..1024.  levels: 1..12, with cells 2^(levels-1) <= 4096.  level_law: one positive number per
        level, made integers that sum to 2^16.  widths: the windows' cells, odd, one per level.
        purpose: one of `purposes.PURPOSES`, whose design sets all of these.

        Raises SchemeError for values outside these ranges or of different lengths.
        """
        if purpose is not None:
            options = {"cells": cells, "levels": levels, "level_law": level_law, "widths": widths}
            return cls._for(budget, purpose, [name for name, value in options.items() if value is not None])
        lengths = {
            name: len(numbers)
            for name, numbers in (("level_law", level_law), ("widths", widths))
            if numbers is not None
        }
        lengths |= {} if levels is None else {"levels": levels}
        if len(set(lengths.values())) > 1:
            text = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise SchemeError(f"levels, level_law and widths must be of the same number of levels, got {text}")
        levels = next(iter(lengths.values()), None)
        if levels is None and points > (cells or wave_design.CELLS) << (wave_design.LEVELS - 1):
            levels = 1 + ((points - 1) // (cells or wave_design.CELLS)).bit_length()
        if cells is not None:
            check_cells(cells)
        if levels is not None:
            _check_levels(levels, cells or 2)
        chosen = wave_design.choose(budget, cells=cells, levels=levels)
        half_widths = chosen.half_widths if widths is None else tuple(half_width_of(window) for window in widths)
        return cls(
            budget,
            chosen.cells,
            half_widths,
            chosen.level_law if level_law is None else level_sampling.apportion(level_law),
            tuple(wave_weights(budget, chosen.cells, h, circular=level > 0) for level, h in enumerate(half_widths)),
        )

    @classmethod
    def _for(cls, budget: Budget, purpose: str, conflicts: Sequence[str]) -> DyadicWave:
        if conflicts:
            raise SchemeError(f"purpose = {purpose!r} says {', '.join(conflicts)}, too; leave either out")
        law, patterns = wave_design.choose_for_purpose(budget, purpose)
        harmonics, half_widths = zip(*patterns, strict=True)
        weights = tuple(wave_weights(budget, wave_design.CELLS, h, circular=k > 0) for k, h in patterns)
        return cls(budget, wave_design.CELLS, half_widths, law, weights, harmonics)  # none is dyadic

    @classmethod
    def _read(cls, budget: Budget, parameters: Mapping[str, Any]) -> Self:
        cells, (*weights, law, widths) = integer(parameters["cells"]), (integers(parameters[key]) for key in _LISTS)
        half_widths = tuple(half_width_of(window) for window in widths)
        harmonics = integers(parameters.get("harmonics", ()))
        return cls(budget, cells, half_widths, law, tuple(zip(*weights, strict=True)), harmonics)

    def parameters(self) -> Mapping[str, Any]:
        return {
            "cells": self.cells,
            "level_law": list(self.level_law),
            "widths": [wave.window for wave in self.waves],
            "weights_in": [weight_in for weight_in, _ in self.weights],
            "weights_out": [weight_out for _, weight_out in self.weights],
            **({"harmonics": list(self.harmonics)} if self.harmonics else {}),
        }

    @property
    def level_weights(self) -> tuple[int, ...]:
        return self.level_law

    @cached_property
    def waves(self) -> tuple[Wave, ...]:
        harmonics = self.harmonics or _dyadic(len(self.half_widths))
        finest = max(1, *harmonics)
        return tuple(
            Wave(
                inputs=self.cells * finest,
                cells=self.cells,
                shift=(finest // max(1, harmonic)).bit_length() - 1,
                half_width=half_width,
                circular=harmonic > 0,
                weight_in=weight_in,
                weight_out=weight_out,
            )
            for harmonic, half_width, (weight_in, weight_out) in zip(
                harmonics, self.half_widths, self.weights, strict=True
            )
        )


def _dyadic(levels: int) -> tuple[int, ...]:
    """A line, and circles of octaves."""
    return (0, *(1 << level for level in range(1, levels)))


def _check_harmonics(harmonics: tuple[int, ...], levels: int, cells: int) -> None:
    check_whole(1, _MOST_LEVELS, levels=levels)
    if len(harmonics) != levels or any(k < 0 or k & (k - 1) or k * cells > LARGEST_INPUTS for k in harmonics):
        raise SchemeError(
            f"harmonics must be one for each of the {levels} levels, 0 of a line or a power of two that, times cells, is at "
            f"most {LARGEST_INPUTS}, got {list(harmonics)}"
        )
    if harmonics == _dyadic(levels):
        raise SchemeError(f"harmonics {list(harmonics)} are the dyadic ones; leave them out")


def _check_levels(levels: int, cells: int) -> None:
    check_whole(1, _MOST_LEVELS, levels=levels)
    if cells << (levels - 1) > LARGEST_INPUTS:
        raise SchemeError(
            f"cells 2^(levels-1) must be at most {LARGEST_INPUTS}, got {cells} cells and {levels} levels; use fewer of either"
        )
