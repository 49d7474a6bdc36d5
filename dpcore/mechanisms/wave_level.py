"""One level of a square wave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore._random import WORD
from dpcore.errors import CalibrationError

_WEIGHTS = 1 << 24  # of a wave, which are listed whole


@dataclass(frozen=True)
class Wave:
    """One level of a square wave: outputs in a window around the input's phase have `weight_in`, all others `weight_out`.

    inputs: the mechanism's input cells, a multiple of cells 2^shift.  cells: M; input cell c has phase (c >> shift) mod M.
    half_width: h, cells; a window holds k = 2h + 1 outputs.  weight_in > weight_out >= 1, integers, total T < 2^32.
    circular: M outputs on a circle, the window centred on the phase.  Else M + 2h outputs, h more on both sides, so that the
    window {a, .., a + 2h} of phase a is never cut: every phase has exactly k outputs of weight_in and shares T.

    Raises CalibrationError for anything else.

    >>> Wave(inputs=2, cells=2, shift=0, half_width=1, circular=False, weight_in=3, weight_out=1).weights()
    array([[3, 3, 3, 1],
           [1, 3, 3, 3]])
    """

    inputs: int
    cells: int
    shift: int
    half_width: int
    circular: bool
    weight_in: int
    weight_out: int

    def __post_init__(self) -> None:
        numbers = (self.inputs, self.cells, self.shift, self.half_width, self.weight_in, self.weight_out)
        if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
            raise CalibrationError(
                "a wave's cells, shift, half width and weights must be integers: a window of an even number of cells has no "
                f"centre; got half_width = {self.half_width!r}"
            )
        if self.cells < 2 or self.shift < 0 or self.inputs < 1 or self.inputs % (self.cells << self.shift):
            raise CalibrationError(
                f"a wave needs 2 or more cells whose number times 2^shift divides the inputs, got {self.cells} cells, shift "
                f"{self.shift} and {self.inputs} inputs"
            )
        if self.half_width < 0 or self.window >= self.outputs:
            raise CalibrationError(
                f"a window must leave out a cell, got {self.window} of {self.outputs}; narrow it or add cells"
            )
        if not 1 <= self.weight_out < self.weight_in or self.total >= WORD:
            raise CalibrationError(
                f"a wave needs 1 <= weight_out < weight_in and a total below 2^32, got weights {self.weight_in} and "
                f"{self.weight_out}; leave them out to have them computed"
            )
        if self.cells * self.outputs > _WEIGHTS:
            raise CalibrationError(
                f"a level has at most {_WEIGHTS} weights, since all are listed; got {self.cells} cells and "
                f"{self.outputs} outputs; narrow the window"
            )

    @property
    def window(self) -> int:
        """k = 2h + 1, how many outputs have weight_in."""
        return 2 * self.half_width + 1

    @property
    def outputs(self) -> int:
        """How many outputs there are: M on a circle, else M + 2h."""
        return self.cells if self.circular else self.cells + 2 * self.half_width

    @property
    def total(self) -> int:
        """T = k weight_in + (outputs - k) weight_out, the number of equally likely draws, whatever the input."""
        return self.window * self.weight_in + (self.outputs - self.window) * self.weight_out

    def starts(self, values: np.ndarray) -> np.ndarray:
        """Return the first output of each input cell's window, shape (n,), int64; windows run upwards, modulo outputs."""
        phase = (np.asarray(values, dtype=np.int64) >> self.shift) % self.cells
        return (phase - self.half_width) % self.cells if self.circular else phase

    def weights(self) -> np.ndarray:
        """Return the integer weights of the outputs, shape (inputs, outputs)."""
        offsets = (np.arange(self.outputs) - self.starts(np.arange(self.inputs))[:, None]) % self.outputs
        return np.where(offsets < self.window, self.weight_in, self.weight_out).astype(np.int64)

    def matrix(self) -> np.ndarray:
        """Return the probabilities of the outputs (rows) given the inputs (columns), shape (outputs, inputs)."""
        return np.asarray(self.weights().T / self.total)

    def folded(self, law: np.ndarray) -> np.ndarray:
        """Return sums over the input cells of each phase, shape (cells[, m]); law: (inputs,) or (inputs, m)."""
        law = np.asarray(law)
        return np.asarray(law.reshape(-1, self.cells, 1 << self.shift, *law.shape[1:]).sum(axis=(0, 2)))

    def probabilities(self, law: np.ndarray) -> np.ndarray:
        """Return `matrix() @ law`, shape (outputs[, m]), in O(inputs + outputs); law: (inputs,) or (inputs, m)."""
        phases = self.folded(np.asarray(law, dtype=np.float64))
        reach = self._around(phases) if self.circular else _padded(phases, 2 * self.half_width)
        inside = _sliding(reach, self.window)
        return np.asarray((self.weight_out * phases.sum(axis=0) + self._gain * inside) / self.total)

    def adjoint(self, scores: np.ndarray) -> np.ndarray:
        """Return `matrix().T @ scores`, shape (inputs[, m]), in O(inputs + outputs); scores: (outputs,) or (outputs, m)."""
        scores = np.asarray(scores, dtype=np.float64)
        inside = _sliding(self._around(scores) if self.circular else scores, self.window)
        phases = (self.weight_out * scores.sum(axis=0) + self._gain * inside) / self.total
        repeated = np.repeat(phases, 1 << self.shift, axis=0)
        return np.concatenate([repeated] * (self.inputs // len(repeated)))

    @property
    def _gain(self) -> int:
        return self.weight_in - self.weight_out

    def _around(self, values: np.ndarray) -> np.ndarray:
        """The circle with h cells repeated on both sides."""
        h = self.half_width
        return np.concatenate([values[self.cells - h :], values, values[:h]])


def _sliding(values: np.ndarray, window: int) -> np.ndarray:
    """The sums of all runs of `window` rows, by prefix sums."""
    ends = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)])
    return np.asarray(ends[window:] - ends[:-window])


def _padded(values: np.ndarray, rows: int) -> np.ndarray:
    nothing = np.zeros((rows, *values.shape[1:]))
    return np.concatenate([nothing, values, nothing])
