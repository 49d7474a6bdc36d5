"""The exponential mechanism by a Markov chain, for samples too many to go through: approximate, and no promise of privacy.

After finitely many steps the chain's law is not the mechanism's, and by how much it errs nobody has certified; its draws are in
floating point besides.  It is here to study accuracy at sizes the exact mechanism cannot reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore import _checks
from dpcore._random import Source
from dpcore.central.base import unit_cube
from dpcore.central.releases import HistogramRelease, histogram


@dataclass(frozen=True, eq=False)
class ApproximateExponential:
    """Metropolis steps for the density exp(-epsilon loss(x, z) / (2 Delta)) of samples z of [0, 1]^k: approximate.

    loss: (records, z (chains, k)) -> (chains,) real losses.  sensitivity: Delta.  steps: each moves one point.
    There is no certificate: this class makes no claim of differential privacy.
    """

    epsilon: float
    loss: Callable[[np.ndarray, np.ndarray], np.ndarray]
    sensitivity: float
    size: int
    steps: int

    is_approximate = True

    def __post_init__(self) -> None:
        _checks.positive(epsilon=self.epsilon, sensitivity=self.sensitivity, size=self.size, steps=self.steps)

    def samples(self, records: Any, chains: int, random: Source) -> np.ndarray:
        """Return the last states of independent chains started from uniform points, (chains, k); for studies only.

        Half of the proposals draw the point anew, half move it a little; both are symmetric.
        """
        x = np.sort(unit_cube(records, 1)[:, 0])
        generator = random.generator()
        z = generator.random((chains, self.size))
        loss, rows = self.loss(x, z), np.arange(chains)
        rate = self.epsilon / (2 * self.sensitivity)
        for _ in range(self.steps):
            column = generator.integers(self.size, size=chains)
            near = (z[rows, column] + 0.1 * generator.standard_normal(chains)) % 1.0  # on the circle: symmetric
            proposed = z.copy()
            proposed[rows, column] = np.where(generator.random(chains) < 0.5, generator.random(chains), near)
            new = self.loss(x, proposed)
            accepted = np.log(generator.random(chains)) < rate * (loss - new)
            z[accepted], loss[accepted] = proposed[accepted], new[accepted]
        return z

    def release(self, records: Any, random: Source, bins: int = 16) -> HistogramRelease:
        """Return one approximate draw, with its histogram of `bins` bins and a remark that says so."""
        points = self.samples(records, 1, random)[0]
        of_points = histogram(points, bins)
        return HistogramRelease(
            of_points.probabilities, points[:, None], "approximate: a Markov chain, no privacy is claimed"
        )


def kolmogorov_smirnov_loss(records: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return sup |F_x - F_z| for each row of z, records sorted; of sensitivity 1 / n."""
    n, (_, k) = len(records), z.shape
    ordered = np.sort(z, axis=1)
    below = np.searchsorted(records, ordered, side="left") / n
    up_to = np.searchsorted(records, ordered, side="right") / n
    steps = np.arange(k + 1) / k
    # between two of z's points F_x rises from its value at the left one to its left limit at the right one
    return np.maximum(np.abs(up_to - steps[1:]).max(axis=1), np.abs(below - steps[:-1]).max(axis=1))
