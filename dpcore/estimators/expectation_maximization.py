"""Expectation maximisation for any finite channel, with a smoothing step after each iteration (EMS) or without (EM).

Source: [LiSquareWave2020].  From probabilities f of the input cells, one iteration shares every reported cell out among the
input cells in proportion to how likely each is to have led to it, and counts:

    f_c <- f_c / n  sum over levels and cells of counts_z A_zc / (A f)_z.

Products with A are prefix sums (`FiniteChannel`), so that an iteration costs O(cells), not O(cells^2).

When to stop.  EMS converges, to a law that depends on the smoothing and hardly on the rule: it stops where a step moves less
than a given share of the mass, which means the same whatever the number of reports.  EM's limit is the most likely law, a few
spikes that follow the noise; it stops before, where it fits the counts as well as the truth would.
"""

from __future__ import annotations

import numpy as np

from dpcore import _checks
from dpcore.errors import NotEstimable
from dpcore.mechanisms.observation import FiniteChannel

TOLERANCE = 1e-5  # of the mass: a hundredth of it, at most, is then left to move
ITERATIONS = 10_000
_SLACK = 2.0  # standard deviations of the deviance at the truth: of fifty truths, one is not fitted so well


def maximize(
    channel: FiniteChannel,
    counts: np.ndarray,
    smoothing: bool,
    *,
    response: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
    iterations: int = ITERATIONS,
) -> np.ndarray:
    """Return probabilities of the input cells, (inputs,), nonnegative and of sum one, from counts (S,) of reported cells.

    smoothing: average neighbours, weights (1, 2, 1) / 4 renormalised at the ends, after each iteration.
    response: for counts (S, k) by reported category, the probabilities (k, k) of what is said (rows) given what is true; the
    result is then the joint law (inputs, k) of cell and true category, smoothed along the cells.
    tolerance: share of the mass that the last step may move; 0 makes all iterations.  iterations: at most so many, 1 or more.

    Raises NotEstimable without reports, SchemeError for a tolerance or iterations out of range.
    """
    _checks.within(0, 1, tolerance=tolerance)
    _checks.within(1, 10**7, iterations=iterations)
    counts = np.asarray(counts, dtype=np.float64)
    n = counts.sum()
    if n <= 0:
        raise NotEstimable("no report, so that no law is more likely than another; collect some first")
    said = np.eye(1) if response is None else np.asarray(response, dtype=np.float64)
    counts = counts.reshape(len(counts), len(said))
    law = np.full((channel.inputs, len(said)), 1 / (channel.inputs * len(said)))
    enough = _deviance_of_the_truth(channel, counts)
    for _ in range(iterations):
        expected = channel.probabilities(law) @ said.T
        if tolerance > 0 and not smoothing and _deviance(channel, counts, expected) <= enough:
            break
        step = law * channel.adjoint(counts / expected @ said) / n
        if smoothing:
            step = _smoothed(step)
        moved = float(np.abs(step - law).sum()) / 2
        law = step
        if tolerance > 0 and moved <= tolerance:
            break
    return law[:, 0] if response is None else law


def _smoothed(law: np.ndarray) -> np.ndarray:
    """Averages of neighbouring rows with weights (1, 2, 1) / 4, at the ends (2, 1) / 3, of mass one."""
    averages = 2 * law
    averages[1:] += law[:-1]
    averages[:-1] += law[1:]
    averages[1:-1] /= 4
    averages[[0, -1]] /= 3
    return np.asarray(averages / averages.sum())


def _deviance(channel: FiniteChannel, counts: np.ndarray, expected: np.ndarray) -> float:
    """2 sum counts log(counts / expected counts), given how many reports each level has."""
    outputs = [wave.outputs for wave in channel.levels]
    reports = np.repeat([part.sum() for part in channel.split(counts)], outputs)[:, None]
    seen = counts > 0
    return 2 * float(np.sum(counts[seen] * np.log((counts / (reports * expected + (reports == 0)))[seen])))


def _deviance_of_the_truth(channel: FiniteChannel, counts: np.ndarray) -> float:
    """What the deviance at the truth hardly exceeds: it has a chi-square law, as many degrees as cells less levels."""
    degrees = counts.size - len(channel.levels)
    return float(degrees + _SLACK * np.sqrt(2 * degrees))
