"""A lower bound of one person's loss from n reports where all others hold one value, with all kinds of reports.

As in `contrast`, delta = E max(S, 0) / n, S a sum of n gains (a - e^epsilon b)(Z), Z a kind drawn from *others*.  Here there
may be more than three kinds; the first, which is uninformative, has a = b.  The result is a lower bound, since it is an attack:

    an observer may relabel reports of the first kind at random.  A kind of mass m and gain v that is given the
    mass x of the first, whose gain is r, has the gain (m v + x r) / (m + x) on average: any number between v and r.

So each gain is brought to the next whole number of steps from r, toward r, and `sums` adds up whole numbers.

A large crowd hides least where all others hold one value, so that the bound is exact for a large crowd, but for terms that
vanish with its size.  The loss at first order is the information of c, the shares of what others hold,

    I(c) = max over v of (v . (one - other))^2 / sum_y c_y Var_y(v),

as a sum of n reports has the covariance sum_y c_y Cov_y.  Each term is a constant over a line in c, which is convex; so is the
largest of them; and a convex function of shares is largest where one of them is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.privacy.shuffling.sums import excess, reach_of

_SLACK = 1e-6  # of delta
_LONGEST = 1 << 17  # steps in the window
_STEPS = 1 << 8  # to the largest gain, about
_FEWEST = 2  # steps; what is nearer to the first kind is of it

Law = tuple[float, ...]


@dataclass(frozen=True)
class Kinds:
    """The distributions of one report's kind: the person's under one value and under another, and everybody else's.

    The first kind is uninformative: it is as frequent under the one value as under the other.

    >>> law = Kinds(one=(0.25, 0.5, 0.25), other=(0.25, 0.25, 0.5), others=(0.5, 0.25, 0.25))
    >>> round(law.below(1, 0.0), 3)  # alone: the total variation
    0.25
    """

    one: Law
    other: Law
    others: Law

    def among(self, share: float) -> Kinds:
        """Return the kinds where each other person is there with that probability only; who is not is of the first kind."""
        first, *rest = self.others
        return Kinds(self.one, self.other, (share * first + 1 - share, *(share * other for other in rest)))

    @property
    def reversed(self) -> Kinds:
        """The other value against the one."""
        return Kinds(self.other, self.one, self.others)

    @property
    def strength(self) -> float:
        """The information of one report in a large crowd."""
        return sum((a - b) ** 2 / o for a, b, o in zip(self.one, self.other, self.others, strict=True))

    def below(self, reports: int, epsilon: float) -> float:
        """Return a number that delta is at least, in one direction."""
        others = np.array(self.others)
        gains = (np.array(self.one) - math.exp(epsilon) * np.array(self.other)) / others
        if gains.max() <= 0:
            return 0.0
        reach = min(reports * float(np.abs(gains).max()), reach_of(gains, others, reports))
        for _ in range(2):  # the second time with what is near joined to the first kind
            first, largest = float(gains[0]), float(gains.max())
            step = (largest - first) / max(1, min(_STEPS, math.floor((largest - first) * _LONGEST / (2 * reach))))
            near = np.abs(gains - first) < _FEWEST * step
            joined = float(others[near].sum())
            gains = np.append(float(gains[near] @ others[near]) / joined, gains[~near])
            others = np.append(joined, others[~near])
        first = float(gains[0])
        steps = (gains[1:] - first) / step
        whole = np.trunc(steps * (1 + 1e-12))
        moved = others[1:] * np.maximum(steps / whole - 1, 0.0)
        left = float(others[0] - moved.sum())
        if left < 0:
            return 0.0
        grid, law = np.append(0.0, whole), np.append(left, others[1:] + moved)
        mean_excess, beside = excess(grid, law, reports, math.ceil(4 * reach / step), -reports * first / step)
        return max(0.0, mean_excess * (1 - _SLACK) - beside) * step / reports


def kinds_of(one: np.ndarray, other: np.ndarray, others: np.ndarray) -> Kinds | None:
    """Return the kinds that reports are of by how likely they are under each of two values; None where all tell something."""
    there = others > 0
    if (one + other)[~there].any():
        return None
    laws = np.array([one, other, others])[:, there]
    ratios = np.where(np.isclose(laws[0], laws[1], rtol=1e-12, atol=0), np.inf, laws[:2] / laws[2])
    keys = np.where(np.isinf(ratios), ratios, np.round(ratios, 9)).T
    _, kind = np.unique(keys, axis=0, return_inverse=True)
    nothing = np.isinf(keys[:, 0])
    if not nothing.any():
        return None
    order = np.where(nothing, 0, 1 + kind.ravel())
    sums = np.array([np.bincount(order, law) for law in laws])
    sums = sums[:, sums[2] > 0]
    first = float(sums[:2, 0].mean())
    return Kinds(
        *(tuple(float(entry) for entry in law) for law in ((first, *sums[0, 1:]), (first, *sums[1, 1:]), sums[2]))
    )
