"""Windows of outputs around a value, in a row or in a square: the levels of `crossed_wave`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore._random import WORD
from dpcore.errors import CalibrationError

_WEIGHTS = 1 << 24  # of a level, which are listed whole


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
