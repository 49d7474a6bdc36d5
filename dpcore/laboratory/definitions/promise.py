"""Promises: what (epsilon, delta) implies of tests, of groups, of several releases, and of other definitions.

Everything is exact in the ratio e^epsilon and in delta.  Numbers of results are those of [BarberDuchi2014]; the constants of
its theorem 1 are ours, and hold as stated here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpcore.errors import check_positive, check_whole, check_within
from dpcore.privacy.budget import Budget

_MOST_GAMMA = 0.999_999  # nearer to one, no epsilon worth the name follows


@dataclass(frozen=True)
class Promise:
    """(epsilon, delta)-differential privacy; delta = 0 is the pure one.

    ratio: e^epsilon, at least 1, finite.  delta: in [0, 1]; at 1 nothing is promised.

    Raises SchemeError for anything else.

    >>> Promise(Fraction(3)) + Promise(Fraction(2), Fraction(1, 100))
    Promise(ratio=Fraction(6, 1), delta=Fraction(1, 100))
    """

    ratio: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        check_positive(ratio=self.ratio)
        check_within(1, math.inf, ratio=self.ratio)
        check_within(0, 1, delta=self.delta)

    @classmethod
    def from_budget(cls, budget: Budget, delta: Fraction = Fraction(0)) -> Promise:
        """Return what a budget promises, e^epsilon from below."""
        return cls(budget.ratio_floor, delta)

    @property
    def epsilon(self) -> float:
        """ln(ratio)."""
        return math.log(self.ratio)

    def __add__(self, other: Promise) -> Promise:
        """Return the promise of two releases about the same people: epsilons add, deltas add."""
        return Promise(self.ratio * other.ratio, min(self.delta + other.delta, Fraction(1)))

    def of_group(self, size: int) -> Promise:
        """Return what `size` >= 1 people who change together are promised: size epsilon, delta (1 + r + .. + r^(size-1)).

        One step at a time: Q(A | x) <= r Q(A | x') + delta <= r (r Q(A | x'') + delta) + delta, and so on.
        """
        check_whole(1, 10**6, size=size)
        steps = size if self.ratio == 1 else (self.ratio**size - 1) / (self.ratio - 1)
        return Promise(self.ratio**size, min(self.delta * steps, Fraction(1)))

    def power(self, level: Fraction) -> Fraction:
        """Return the most power that any test of that level has to tell two neighbours apart.

        Theorem 3 of [WassermanZhou2010], level e^epsilon; and from the errors of the other kind, 1 - (1 - delta - level) /
        e^epsilon: the smaller of both, at most 1.
        """
        level = Fraction(level)
        check_within(0, 1, level=level)
        return min(
            self.ratio * level + self.delta, 1 - max(1 - self.delta - level, Fraction(0)) / self.ratio, Fraction(1)
        )

    @property
    def error_sum(self) -> Fraction:
        """The least sum of both kinds of errors that a test of two neighbours has, (3): 2 (1 - delta) / (1 + e^epsilon)."""
        return 2 * (1 - self.delta) / (1 + self.ratio)

    @property
    def total_variation(self) -> Fraction:
        """The alpha of total-variation privacy that follows: 1 - error_sum; no smaller one does."""
        return 1 - self.error_sum

    def conditional_testing(self, eta: Fraction) -> Fraction:
        """Return the gamma of (gamma, eta)-conditional-testing privacy that follows (theorem 1), at most 1.

        1 - 2 (1 - d) / (1 + r^2 + r d), d = delta / eta.
        """
        check_positive(eta=eta)
        share = self.delta / Fraction(eta)
        return min(1 - 2 * (1 - share) / (1 + self.ratio**2 + self.ratio * share), Fraction(1))

    def posterior_odds(self, prior_odds: Fraction) -> tuple[Fraction, Fraction]:
        """Return the least and the largest odds of two neighbours that anybody can hold after a pure release.

        Raises SchemeError where delta is not 0: then no bound holds for every output.
        """
        check_within(0, 0, delta=self.delta)
        return Fraction(prior_odds) / self.ratio, Fraction(prior_odds) * self.ratio


def promised_by_conditional_testing(gamma: Fraction, eta: Fraction) -> Promise:
    """Return what follows where *every* post-processing of a channel is (gamma, eta)-conditional-testing private (theorem 1).

    (2 log((1 + gamma) / (1 - gamma)), eta (1 + gamma) / (1 - gamma)).
    """
    check_within(0, _MOST_GAMMA, gamma=gamma)
    odds = (1 + Fraction(gamma)) / (1 - Fraction(gamma))
    return Promise(odds**2, min(Fraction(eta) * odds, Fraction(1)))


def total_variation_of_kullback_leibler(alpha: float) -> float:
    """Return the total-variation privacy that alpha-Kullback-Leibler privacy implies, min(1, sqrt(alpha / 2)) (Pinsker)."""
    check_within(0, math.inf, alpha=alpha)
    return min(math.sqrt(alpha / 2), 1.0)


def kullback_leibler_of_pure(epsilon: float) -> float:
    """Return the Kullback-Leibler privacy that epsilon-privacy implies, epsilon tanh(epsilon / 2); two coins attain it."""
    return epsilon * math.tanh(epsilon / 2)
