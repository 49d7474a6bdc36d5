"""What a finite channel keeps under each definition of privacy, the worst pair of neighbours: exact.

Epsilons are logarithms of fractions; what is computed and compared is the fraction, `ratio` = e^epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

from dpcore.errors import CalibrationError
from dpcore.laboratory.definitions.channel import Channel, Law
from dpcore.laboratory.definitions.divergences import TOTAL_VARIATION, Divergence

_MOST_OUTPUTS = 14  # whose subsets are enumerated


def pure_ratio(channel: Channel) -> Fraction | None:
    """Return the smallest e^epsilon of epsilon-differential privacy (definition 1), None where there is none.

    >>> pure_ratio(Channel.of_weights([[3, 1], [1, 3]]))
    Fraction(3, 1)
    """
    largest = Fraction(1)
    for p, q in channel.pairs():
        for left, right in zip(p, q, strict=True):
            if left and not right:
                return None
            if left:
                largest = max(largest, left / right)
    return largest


def delta_at(channel: Channel, ratio: Fraction) -> Fraction:
    """Return the smallest delta of (epsilon, delta)-privacy (definition 3) at e^epsilon = ratio >= 1.

    The event that needs most is {z: p_z > ratio q_z}, so that delta = max over pairs of sum_z (p_z - ratio q_z)_+.

    >>> delta_at(Channel.of_weights([[3, 1], [1, 3]]), Fraction(2))
    Fraction(1, 4)
    """
    if ratio < 1:
        raise CalibrationError(f"ratio is e^epsilon and must be at least 1, got {ratio}")
    return max((_excess(p, q, ratio) for p, q in channel.pairs()), default=Fraction(0))


def ratio_at(channel: Channel, delta: Fraction) -> Fraction | None:
    """Return the smallest e^epsilon of (epsilon, delta)-privacy at this delta, None where there is none.

    For each pair the excess is convex and piecewise linear in e^epsilon, with a knot at each likelihood ratio.
    """
    largest = Fraction(1)
    for p, q in channel.pairs():
        needed = _needed(p, q, Fraction(delta))
        if needed is None:
            return None
        largest = max(largest, needed)
    return largest


def total_variation(channel: Channel) -> Fraction:
    """Return the smallest alpha of alpha-total-variation privacy (definition 4).

    >>> total_variation(Channel.of_weights([[3, 1], [1, 3]]))
    Fraction(1, 2)
    """
    return Fraction(divergence(channel, TOTAL_VARIATION))


def divergence(channel: Channel, kind: Divergence) -> Any:
    """Return the smallest alpha of alpha-divergence privacy (definition 5), infinite where there is none."""
    return max((kind.between(p, q) for p, q in channel.pairs()), default=Fraction(0))


def smooth_epsilon(channel: Channel, distance: Callable[[Hashable, Hashable], float]) -> float:
    """Return the smallest epsilon of smooth privacy (definition 2), a float, infinite where there is none.

    Q(A | x) <= exp(epsilon d(x, x')) Q(A | x') for *all* pairs of inputs.
    distance: d of two of the channel's inputs, at least 0, and 0 for two indistinguishable inputs.
    """
    worst = 0.0
    for x, p in enumerate(channel.rows):
        for y, q in enumerate(channel.rows):
            ratio = pure_ratio(Channel((p, q), ((0, 1),)))
            apart = distance(*((channel.inputs[x], channel.inputs[y]) if channel.inputs else (x, y)))
            if ratio == 1:
                continue
            if ratio is None or apart == 0:
                return math.inf
            worst = max(worst, math.log(ratio) / apart)
    return worst


def conditional_testing(channel: Channel, eta: Fraction) -> Fraction:
    """Return the smallest gamma of (gamma, eta)-conditional-testing privacy (definition 8).

    For neighbours x, x' and every event A that is at least eta likely under both, no test that knows A happened has a sum
    of errors below 1 - gamma: gamma is the largest total variation of the two laws given A.  Every A is tried.

    Raises CalibrationError for more than 14 outputs, or eta outside (0, 1].
    """
    if channel.outputs > _MOST_OUTPUTS:
        raise CalibrationError(
            f"the channel must have at most {_MOST_OUTPUTS} outputs, because every event is enumerated, got {channel.outputs}"
        )
    if not 0 < eta <= 1:
        raise CalibrationError(f"eta must lie in (0, 1], got {eta}")
    largest = Fraction(0)
    for p, q in channel.pairs():
        for event in range(1, 1 << channel.outputs):
            inside = [z for z in range(channel.outputs) if event >> z & 1]
            left, right = sum(p[z] for z in inside), sum(q[z] for z in inside)
            if min(left, right) >= eta:
                largest = max(largest, sum((max(p[z] / left - q[z] / right, Fraction(0)) for z in inside), Fraction(0)))
    return largest


def posterior_odds_change(channel: Channel, prior: Sequence[Fraction]) -> Fraction | None:
    """Return the largest factor by which an output changes the odds of two neighbouring inputs; None where none bounds it.

    prior: probabilities of the inputs, all above zero.  The factor is the likelihood ratio, whatever the prior, so that
    epsilon-privacy bounds it by e^epsilon.
    """
    if len(prior) != len(channel.rows) or any(p <= 0 for p in prior):
        raise CalibrationError(f"the prior must give each of the {len(channel.rows)} inputs a probability above 0")
    largest = Fraction(1)
    for x, y in channel.neighbours:
        before = Fraction(prior[x]) / Fraction(prior[y])
        for p, q in zip(channel.rows[x], channel.rows[y], strict=True):
            if p and not q:
                return None
            if p:
                largest = max(largest, (prior[x] * p) / (prior[y] * q) / before)
    return largest


def _excess(p: Law, q: Law, ratio: Fraction) -> Fraction:
    return sum((max(left - ratio * right, Fraction(0)) for left, right in zip(p, q, strict=True)), Fraction(0))


def _needed(p: Law, q: Law, delta: Fraction) -> Fraction | None:
    """The smallest ratio >= 1 at which the excess is at most delta."""
    certain = sum((left for left, right in zip(p, q, strict=True) if not right), Fraction(0))
    if certain > delta:
        return None
    both = sorted(((a / b, a, b) for a, b in zip(p, q, strict=True) if a and b), reverse=True)
    inside, outside = certain, Fraction(0)  # sums of p and q over the outputs whose ratio is above the current one
    for position, (_, left, right) in enumerate(both):
        inside, outside = inside + left, outside + right
        following = both[position + 1][0] if position + 1 < len(both) else Fraction(1)
        if inside - max(following, Fraction(1)) * outside >= delta:
            return max((inside - delta) / outside, Fraction(1))
        if following <= 1:
            break
    return Fraction(1)
