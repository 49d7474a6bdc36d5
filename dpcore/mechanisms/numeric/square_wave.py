"""Square wave: report a cell near the truth with one weight, any other with another.

The bucketized form of [LiSquareWave2020]: values are put into cells before anything is drawn, so that the channel is finite
and its weights are integers.  Decoded by `estimators.ExpectationMaximization`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from dpcore.errors import SchemeError
from dpcore.mechanisms.calibration import level_sampling, wave_design
from dpcore.mechanisms.declaration import Option, integer, mechanism
from dpcore.mechanisms.numeric.wave import LARGEST_CELLS, WaveMechanism, check_cells, half_width_of, wave_weights
from dpcore.mechanisms.wave_level import Wave
from dpcore.privacy.budget import Budget

DEFAULT_CELLS = 256
_KEYS = ("cells", "width", "weight_in", "weight_out")


@mechanism(
    "square_wave",
    attributes={"numeric", "lattice"},
    estimators=("ems", "em", "log_spline"),
    words="one cell of the range: near the value or, with a known probability, anywhere",
    options=(
        Option(
            "cells", int, words=f"cells of the range, a power of two, 2 to {LARGEST_CELLS}: {DEFAULT_CELLS}, or more"
        ),
        Option("widths", list[int], least=1, words="cells of the window around the truth: one odd number"),
    ),
    scheme_facts=("points",),
)
@dataclass(frozen=True)
class SquareWave(WaveMechanism):
    """Report one of cells + 2 half_width outputs: each cell of the window {x, .., x + 2h} with weight_in, others weight_out.

    cells: d, a power of two, 2..1024.  half_width: h, cells; the range is extended by h on both sides.
    weight_in > weight_out >= 1, integers, T = (2h + 1) weight_in + (d - 1) weight_out < 2^32.

    Privacy.  Claim: Pr(z | x) <= e^epsilon Pr(z | x') for all x, x', z.
        1. For every x the client draws r uniform on 0..T-1, T the same for all x: every window has 2h + 1 cells, none is cut.
        2. Exactly weight_in values of r lead to each cell of the window of x, exactly weight_out to each other cell.
        3. So Pr(z | x) is weight_in / T or weight_out / T, whatever x.
        4. Every ratio is at most weight_in / weight_out, an exact fraction.
        5. The constructor lists all rows, and refuses unequal totals and a ratio above E, a rational lower bound of
           e^epsilon.

    Raises CalibrationError where the weights break the claim, SchemeError for malformed parameters.

    >>> mechanism = SquareWave.design(Budget.parse("1"))
    >>> mechanism.cells, mechanism.half_width, mechanism.certificate().holds
    (256, 65, True)
    """

    budget: Budget
    cells: int
    half_width: int
    weight_in: int
    weight_out: int

    def __post_init__(self) -> None:
        check_cells(self.cells)
        self.check()

    @classmethod
    def design(
        cls, budget: Budget, *, points: int = 0, cells: int | None = None, widths: Sequence[int] | None = None
    ) -> SquareWave:
        """Return the mechanism that keeps `budget`; without `widths` the window has the paper's b.

        points: how many values to distinguish; each gets a cell.
        cells: a power of two, 2..1024, default 256, or more where there are more points.
        widths: the window's cells, odd, a list of one number.

        Raises SchemeError for values outside these ranges.
        """
        if points > LARGEST_CELLS:
            raise SchemeError(
                f"square_wave has at most {LARGEST_CELLS:,} cells, and {points:,} are needed; take dyadic_wave"
            )
        cells = max(DEFAULT_CELLS, 1 << (points - 1).bit_length()) if cells is None else cells
        check_cells(cells)
        if widths is not None and len(widths) != 1:
            raise SchemeError(f"widths of square_wave must be one window, got {len(widths)}")
        half_width = wave_design.anchor_half_width(float(budget), cells) if widths is None else half_width_of(widths[0])
        return cls(budget, cells, half_width, *wave_weights(budget, cells, half_width, circular=False))

    @classmethod
    def _read(cls, budget: Budget, parameters: Mapping[str, Any]) -> Self:
        cells, width, *weights = (integer(parameters[key]) for key in _KEYS)
        return cls(budget, cells, half_width_of(width), *weights)

    def parameters(self) -> Mapping[str, Any]:
        return {
            "cells": self.cells,
            "width": 2 * self.half_width + 1,
            "weight_in": self.weight_in,
            "weight_out": self.weight_out,
        }

    @property
    def level_weights(self) -> tuple[int, ...]:
        return (level_sampling.TOTAL,)

    @cached_property
    def waves(self) -> tuple[Wave, ...]:
        return (
            Wave(
                inputs=self.cells,
                cells=self.cells,
                shift=0,
                half_width=self.half_width,
                circular=False,
                weight_in=self.weight_in,
                weight_out=self.weight_out,
            ),
        )
