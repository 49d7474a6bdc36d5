"""The order of channels by what they tell: Q' is less informative than Q if Q' is Q followed by a processing of its output.

Definition 7 of [BarberDuchi2014], the order of Blackwell and Le Cam.  Whether such a processing exists is a linear program:
find a stochastic T that makes Q T as near Q' as can be, in the largest total variation over inputs.  That distance is Le
Cam's deficiency, and zero exactly where Q' is less informative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from dpcore.errors import CalibrationError
from dpcore.laboratory.definitions.channel import Channel

_TOLERANCE = 1e-9  # of a linear program in floats


@dataclass(frozen=True, eq=False)
class Garbling:
    """The processing of Q's outputs that comes nearest to Q'.

    matrix: (outputs of Q, outputs of Q'), rows sum to one.  deficiency: max over inputs of TV(Q T, Q'), in [0, 1].
    """

    matrix: np.ndarray
    deficiency: float


def garbling(informative: Channel, other: Channel) -> Garbling:
    """Return how near a processing of `informative` can come to `other`, and which one does.

    Raises CalibrationError where they have not the same number of inputs.
    """
    if len(informative.rows) != len(other.rows):
        raise CalibrationError(f"both channels need the same inputs, got {len(informative.rows)} and {len(other.rows)}")
    q = np.array(informative.rows, dtype=float)
    wanted = np.array(other.rows, dtype=float)
    inputs, outputs = wanted.shape
    # Unknowns: T row after row, then bounds s[x, z] >= |(Q T - Q')[x, z]|, then d >= sum_z s[x, z] / 2 for all x
    size, entries = q.shape[1] * outputs, inputs * outputs
    processed, slack, none = np.kron(q, np.eye(outputs)), np.eye(entries), np.zeros((entries, 1))
    halves = np.kron(np.eye(inputs), np.ones((1, outputs)) / 2)
    above = np.block(
        [
            [processed, -slack, none],
            [-processed, -slack, none],
            [np.zeros((inputs, size)), halves, -np.ones((inputs, 1))],
        ]
    )
    limits = np.concatenate([wanted.ravel(), -wanted.ravel(), np.zeros(inputs)])
    sums = np.hstack([np.kron(np.eye(q.shape[1]), np.ones((1, outputs))), np.zeros((q.shape[1], entries + 1))])
    cost = np.append(np.zeros(size + entries), 1.0)
    solution = scipy.optimize.linprog(cost, above, limits, sums, np.ones(q.shape[1]), method="highs")
    if not solution.success or solution.x is None:
        raise CalibrationError(f"the linear program of the two channels was not solved: {solution.message}")
    return Garbling(solution.x[:size].reshape(-1, outputs), max(float(solution.x[-1]), 0.0))


def is_less_informative(other: Channel, informative: Channel) -> bool:
    """Return whether `other` is `informative` with something done to its outputs, within 1e-9."""
    return garbling(informative, other).deficiency <= _TOLERANCE
