"""The most that n reports of any channel tell, from three numbers of it: what all people's reports have in common hides one.

Let E bound every ratio Pr(z | x) / Pr(z | x'), R_0 = a and R_1 = b be the laws under the person's two values, and m the least
probability of each output.  Everybody else sends z with probability m(z) whatever they hold; let an attacker know who sent
anything but that, and what.  The rest is n - 1 draws, each there with probability sum m, and the person's report, so that

    delta(epsilon) <= E max(S, 0) / n,    S a sum of n gains: (a - e^epsilon b)(z) / m(z) with probability m(z), else 0

([Balle2019], lemmas 5.2 and 5.3).  E max(S, 0) grows where a gain is replaced by one of the same mean, more spread out:

    1. (a / m, b / m) lies in the square [1, E]^2.  Where a >= b it is a mean of the corners (1, 1), (E, E) and (E, 1), the last
       with weight (a - b) / (m (E - 1)); else of (1, E) in its place.  Drawn at the corners a gain is E - e^epsilon and
       1 - E e^epsilon with probability p = TV(R_0, R_1) / (E - 1) each, E (1 - e^epsilon) with v and 1 - e^epsilon with w.
    2. With M = sum m, both laws sum to one where v = (1 - TV - M) / (E - 1) and w = M - 2 p - v.  Less M moves mass from
       1 - e^epsilon to E (1 - e^epsilon) and to 0, more TV from these two corners to the outer two, with the mean kept: more
       spread.  So a lower bound of M and an upper bound of TV do; the least M is the one at which w = 0.
    3. Nothing but E is needed: at w = 0 the law is linear in p, and its ends, p = 1 / (E + 1) and p = 0, have one mean.  The
       excess of the second over t is convex in t; that of the first is a line from t = 1 - E e^epsilon, where they are equal,
       to t = 0, where the second's is 0; so it lies above.  p = 1 / (E + 1) are the clones of [FeldmanMcMillanTalwar2023].

Numbers.  Gains are spread to the multiples of a step, which keeps their mean: upward.  `sums` adds them up; what it may be off
is added, and `_SLACK` is a thousand times what a million products of rounded numbers are off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.privacy.shuffling.sums import excess, reach_of

_SLACK = 1e-6  # of delta: some millionths of epsilon
_LONGEST = 1 << 17  # of the transform
_STEPS = 1 << 8  # to the largest gain, at most


@dataclass(frozen=True)
class Blanket:
    """What is known of a channel: its largest ratio E or more, the largest total variation of two values or more, M or less.

    >>> round(Blanket(3.0).delta(1, 0.0), 4)  # alone: the total variation
    0.5
    """

    ratio: float
    distance: float = 1.0
    mass: float = 0.0

    @property
    def p(self) -> float:
        """How often anybody's report is a clone of either kind."""
        return min(self.distance / (self.ratio - 1), 1 / (self.ratio + 1)) if self.ratio > 1 else 0.0

    @property
    def telling(self) -> float:
        """The information of one report in a large crowd: epsilon is about five times the root of it over the crowd."""
        return 2 * self.p * (self.ratio - 1) ** 2

    def delta(self, reports: int, epsilon: float, share: float = 1.0) -> float:
        """Return a number that delta is at most, n reports; share: with which probability each other person is there."""
        factor, p = math.exp(epsilon), self.p
        if factor >= self.ratio or p == 0.0:
            return 0.0
        far = max(0.0, 1 - (self.ratio + 1) * p) / self.ratio  # v where w = 0
        if self.mass > 2 * p + far:
            far = max(0.0, (1 - p * (self.ratio - 1) - self.mass) / (self.ratio - 1))
        near = max(0.0, 1 - (self.ratio + 1) * p - self.ratio * far)
        values = np.array([self.ratio - factor, 1 - self.ratio * factor, self.ratio * (1 - factor), 1 - factor])
        masses = np.array([p, p, far, near])
        crowded = expected_excess(values, masses * share, reports) / share * (1 + _SLACK)
        return min(crowded, p * (self.ratio - factor) * (1 + _SLACK))  # whatever others send


def expected_excess(values: np.ndarray, masses: np.ndarray, many: int) -> float:
    """Return a number that E max(S, 0) / many is at most, S a sum of so many gains.

    values: what a gain may be beside 0, the first alone above it; masses: their probabilities.  Their mean is at most 0.  The
    time it takes does not depend on how many they are.
    """
    alone = np.append(values, 0.0), np.append(masses, max(0.0, 1 - masses.sum()))
    reach = min(many * float(values[0]), reach_of(*alone, many))
    step = max(values[0] / _STEPS, 4 * reach / _LONGEST)
    grid, law = _spread(np.maximum(values, -reach) / step, masses)  # less than nothing is nothing
    mean_excess, beside = excess(grid, law, many, math.ceil(4 * reach / step))
    return float((mean_excess + beside) * step / many)


def _spread(values: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers and their masses, 0 among them: each value is parted between its neighbours, and the mean stays."""
    below = np.floor(values + 1e-9)
    above = np.maximum(values - below, 0.0)
    return np.concatenate([below, below + 1, [0.0]]), np.concatenate(
        [masses * (1 - above), masses * above, [max(0.0, 1 - masses.sum())]]
    )
