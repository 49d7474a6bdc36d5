"""The exponential mechanism by a Markov chain, for samples too many to go through: approximate, and no promise of privacy.

After finitely many steps the chain's law is not the mechanism's, and by how much it errs nobody has certified; its draws are in
floating point besides.  It is here to study accuracy at sizes the exact mechanism cannot reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import check_positive
from dpcore.laboratory.central.base import unit_cube
from dpcore.laboratory.central.densities.orthogonal_series import distance_sensitivity
from dpcore.laboratory.central.densities.releases import HistogramRelease, histogram
from dpcore.laboratory.central.exponential.released_samples import (
    kolmogorov_smirnov_size,
    orthogonal_series_size,
    series_terms,
)

Loss = Callable[[np.ndarray], np.ndarray]  # samples (chains, k) -> losses (chains,)


@dataclass(frozen=True, eq=False)
class ApproximateExponential:
    """Metropolis steps for the density exp(-epsilon loss(x, z) / (2 Delta)) of samples z of [0, 1]^k: approximate.

    loss: records (n,), sorted -> the real loss of samples.  sensitivity: Delta.  size: k.  sweeps: moves of each point.
    There is no certificate: this class makes no claim of differential privacy.
    """

    epsilon: float
    loss: Callable[[np.ndarray], Loss]
    sensitivity: float
    size: int
    sweeps: int

    is_approximate = True

    def __post_init__(self) -> None:
        check_positive(epsilon=self.epsilon, sensitivity=self.sensitivity, size=self.size, sweeps=self.sweeps)

    @classmethod
    def for_kolmogorov_smirnov(
        cls, epsilon: float, n: int, *, log_supremum: float, sweeps: int
    ) -> ApproximateExponential:
        """Return Theorem 12's choice for n records of a density of at most exp(log_supremum)."""
        size = kolmogorov_smirnov_size(n, epsilon, log_supremum)
        return cls(epsilon, kolmogorov_smirnov_loss, 1 / n, size, sweeps)

    @classmethod
    def for_orthogonal_series(cls, epsilon: float, n: int, *, order: float, sweeps: int) -> ApproximateExponential:
        """Return Theorem 14's choice for n records of a density of Sobolev order above 1."""
        size, terms = orthogonal_series_size(n), series_terms(n, order)
        sample_terms = series_terms(size, order)
        return cls(
            epsilon, lambda x: series_loss(x, terms, sample_terms), distance_sensitivity(terms) / n, size, sweeps
        )

    def samples(self, records: Any, chains: int, random: Source) -> np.ndarray:
        """Return the last states of independent chains started from uniform points, (chains, k); for studies only.

        Half of the proposals draw the point anew, half move it a little; both are symmetric.
        """
        loss_of = self.loss(np.sort(unit_cube(records, 1)[:, 0]))
        generator = random.generator()
        z = generator.random((chains, self.size))
        loss, rows = loss_of(z), np.arange(chains)
        rate = self.epsilon / (2 * self.sensitivity)
        for _ in range(self.sweeps * self.size):
            column = generator.integers(self.size, size=chains)
            near = (z[rows, column] + 0.1 * generator.standard_normal(chains)) % 1.0  # on the circle: symmetric
            proposed = z.copy()
            proposed[rows, column] = np.where(generator.random(chains) < 0.5, generator.random(chains), near)
            new = loss_of(proposed)
            accepted = np.log(generator.random(chains)) < rate * (loss - new)
            z[accepted], loss[accepted] = proposed[accepted], new[accepted]
        return z

    def release(self, records: Any, random: Source, bins: int = 16) -> HistogramRelease:
        """Return one approximate draw, with its histogram of `bins` bins and a remark that states this."""
        points = self.samples(records, 1, random)[0]
        shares = histogram(points, bins).probabilities
        return HistogramRelease(shares, points[:, None], "approximate: a Markov chain, no privacy is claimed")


def kolmogorov_smirnov_loss(records: np.ndarray) -> Loss:
    """Return sup |F_x - F_z| as a function of samples z; records sorted; of sensitivity 1 / n."""
    n = len(records)

    def loss(z: np.ndarray) -> np.ndarray:
        ordered, k = np.sort(z, axis=1), z.shape[1]
        below = np.searchsorted(records, ordered, side="left") / n
        up_to = np.searchsorted(records, ordered, side="right") / n
        steps = np.arange(k + 1) / k
        # between two of z's points F_x rises from its value at the left one to its left limit at the right one
        return np.maximum(np.abs(up_to - steps[1:]).max(axis=1), np.abs(below - steps[:-1]).max(axis=1))

    return loss


def series_loss(records: np.ndarray, terms: int, sample_terms: int) -> Loss:
    """Return |p_x - p_z| in L2 as a function of samples z, cosine series of terms >= sample_terms."""
    mean = coefficients(records[None, :], terms)[0]
    beyond = float((mean[sample_terms:] ** 2).sum())

    def loss(z: np.ndarray) -> np.ndarray:
        return np.sqrt(((coefficients(z, sample_terms) - mean[:sample_terms]) ** 2).sum(axis=1) + beyond)

    return loss


def coefficients(z: np.ndarray, terms: int) -> np.ndarray:
    """Return the means of psi_1..psi_terms over each row of z, by the recurrence of cosines; shape (rows, terms)."""
    last, cosine = np.ones_like(z), np.cos(np.pi * z)
    now, means = cosine, []
    for _ in range(terms):
        means.append(now.mean(axis=1))
        last, now = now, 2 * cosine * now - last
    return sqrt(2) * np.stack(means, axis=1)
