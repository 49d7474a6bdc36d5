"""The continuous exponential mechanism on an interval: a density that is constant on pieces, drawn exactly.

The interval is a lattice of 2^20 steps, on which records lie and answers are drawn: fine enough to pass for a continuum, and
finite, so that a release is exact.  The quantile's two losses show what an atom does [Lalanne2023]: the error of a rank is
uninformative when half of the records are one value; how many records must move, allowing answers to be off by `width`, does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, inf
from typing import Any, ClassVar

import numpy as np

from dpcore._random import Source
from dpcore.errors import InvalidRecord, SchemeError, check_whole
from dpcore.laboratory.central.base import CuratorMechanism
from dpcore.laboratory.central.exponential import integer_weights
from dpcore.mechanisms.base import Certificate
from dpcore.privacy.budget import Budget

STEPS = 1 << 20  # lattice steps of the interval


@dataclass(frozen=True)
class Interval:
    """[lower, upper] in the records' unit, as STEPS steps; never taken from the data."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not 0 < (self.upper - self.lower) / STEPS < inf:
            raise SchemeError(
                f"an interval needs finite lower < upper, 2^20 steps apart, got {self.lower}, {self.upper}"
            )

    def steps(self, records: Any) -> np.ndarray:
        """Return the step 0..STEPS-1 of each record, (n,) sorted; records outside are clipped."""
        values = np.asarray(records, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values)):
            raise InvalidRecord("records must be at least one finite number each")
        share = (np.clip(values, self.lower, self.upper) - self.lower) / (self.upper - self.lower)
        return np.sort(np.minimum((share * STEPS).astype(np.int64), STEPS - 1))

    def value(self, steps: np.ndarray) -> np.ndarray:
        """Return the middle of each step, in the records' unit."""
        return self.lower + (self.upper - self.lower) * (np.asarray(steps) + 0.5) / STEPS


class PiecewiseLoss(ABC):
    """A whole loss on steps 0..STEPS-1 that is constant between edges; of sensitivity 1."""

    @abstractmethod
    def pieces(self, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return edges (K + 1,), increasing from 0 to STEPS, and the loss on each piece [edge_i, edge_{i+1}), (K,)."""


@dataclass(frozen=True)
class RankLoss(PiecewiseLoss):
    """| #{records <= s} - r |, r = ceil(t n), t in (0, 1]: the plain loss of a quantile, lost at atoms."""

    t: Fraction

    def __post_init__(self) -> None:
        _check_order(self.t)

    def pieces(self, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges = np.unique(np.concatenate([[0], steps, [STEPS]]))
        up_to = np.searchsorted(steps, edges[:-1], side="right")
        return edges, np.abs(up_to - ceil(self.t * len(steps)))


@dataclass(frozen=True)
class SmoothedDistance(PiecewiseLoss):
    """min over |u - s| <= width of D_f(x, u), f the ceil(t n)-th smallest: the smoothed inverse sensitivity [AsiDuchi2020].

    t: in (0, 1].  width: in lattice steps, >= 0; the answer may be off by as much, and an atom then is 2 width + 1 steps wide.
    """

    t: Fraction
    width: int

    def __post_init__(self) -> None:
        _check_order(self.t)
        check_whole(0, STEPS, width=self.width)

    def pieces(self, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rank = ceil(self.t * len(steps))
        left, right = steps[:rank] - self.width, steps[rank - 1 :] + self.width + 1
        edges = np.unique(np.clip(np.concatenate([[0], left, right, [STEPS]]), 0, STEPS))
        s = edges[:-1]
        above = np.searchsorted(steps, s - self.width, side="left") - rank + 1  # of records below s - width
        below = rank - np.searchsorted(steps, s + self.width, side="right")
        return edges, np.maximum(0, np.maximum(above, below))


@dataclass(frozen=True)
class ContinuousExponential(CuratorMechanism):
    """Release s with density proportional to q^loss(x, s), q a rational just above exp(-epsilon / 2).

    Privacy.  Claim: f_x(s) <= e^epsilon f_y(s) for all neighbours x, y and all s.
        1. The loss at s moves by at most 1 when one record does: one rank, or one more change to reach s.
        2. So q^loss(x, s) <= q^-1 q^loss(y, s), for each s.
        3. Summed over the steps of the interval the same holds the other way round.
        4. So the ratio of the densities is at most q^-2.
        5. The constructor compares q^-2 with a rational lower bound of e^epsilon.
    """

    name: ClassVar[str] = "continuous_exponential"

    budget: Budget
    interval: Interval
    loss: PiecewiseLoss

    def __post_init__(self) -> None:
        self._refuse_unless_kept("leave the weights to the mechanism")

    @cached_property
    def ratio(self) -> Fraction:
        """q."""
        return integer_weights.ratio_above(self.budget, 2)

    def certificate(self) -> Certificate:
        return Certificate("ratio", self.ratio**-2, self.budget, (1,))

    def weights(self, records: Any) -> tuple[np.ndarray, list[int]]:
        """Return the edges of the pieces and an integer for each: its mass is that over their sum, spread evenly."""
        edges, losses = self.loss.pieces(self.interval.steps(records))
        weights = integer_weights.powers(self.ratio, np.unique(losses).tolist())
        lengths = np.diff(edges).tolist()
        return edges, [length * weights[int(loss)] for length, loss in zip(lengths, losses, strict=True)]

    def draw(self, records: Any, size: int, random: Source) -> np.ndarray:
        """Return `size` independent releases, (size,): each of them spends the budget; for studies."""
        edges, weights = self.weights(records)
        piece = integer_weights.draw(weights, size, random)
        offset = [integer_weights.below(int(edges[i + 1] - edges[i]), random) for i in piece]
        return np.asarray(self.interval.value(edges[piece] + np.array(offset)))

    def release(self, records: Any, random: Source) -> float:
        """Return one answer in the records' unit."""
        return float(self.draw(records, 1, random)[0])


def _check_order(t: Fraction) -> None:
    if not 0 < t <= 1:
        raise SchemeError(f"t of a quantile must lie in (0, 1], got {t}")
