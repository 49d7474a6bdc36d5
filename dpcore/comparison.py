"""Differences between two rounds, groups or cohorts, each estimated from its own aggregate or both from one.

    difference = left - right,    SE^2 = a^2 + b^2 - 2 rho a b,    a, b the standard errors

Rounds and cohorts whose clients differ, or draw anew, are independent: rho = 0.  Two groups of one aggregate are made of the
same reports with weights w and v, so that their errors have, m the reports by what they said,

    rho = sum w v m / sqrt(sum w^2 m  sum v^2 m),

negative for two categories: a difference of groups is less certain than their errors alone say.  It is exact where a report's
contribution varies as much whatever it said of the other attribute, which noise sees to.  Reports that memoization repeats from
round to round are correlated by an amount nobody knows; the sum of variances is used and the result says so.

The interval's ends are those of [ZouDonner2008], which keep what each interval allows for beyond its standard error: with l, u
the distances of the left one's ends and l', u' of the right one's, low = difference - sqrt(l^2 + u'^2 - 2 rho l u').
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.estimates import DensityEstimate, FrequencyEstimate, FunctionalEstimate, Sample, normal_quantile

_MEMOISED = (
    "memoised reports repeat from round to round: the errors are correlated by an unknown amount, counted as none"
)
_OVERLAP = "groups of two attributes overlap by an unknown amount: the largest error that this allows is used"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """left minus right of a functional, in its unit, with an interval.

    difference, standard_error, low, high: None where either side was refused, and reason says why.
    reason: else a remark, or None where nothing is to be said.
    """

    functional: str
    difference: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    confidence: float
    reason: str | None = None

    @property
    def is_refused(self) -> bool:
        """Whether there is no difference, for the reason given."""
        return self.difference is None


def compare(left: Any, right: Any, functional: Any, confidence: float = 0.95, *, memoised: bool = False) -> Comparison:
    """Return left's functional minus right's: two rounds, two cohorts, two groups of one aggregate, or a group and everyone.

    left, right: estimates of one attribute.  memoised: whether the two are rounds in which clients repeated old answers.
    Raises SchemeError for estimates of different attributes or units, or of the very same reports.

    Source: [ZouDonner2008]
    """
    for side in (left, right):
        if not isinstance(side, DensityEstimate | FrequencyEstimate):
            raise SchemeError(f"compare takes two estimates, got {type(side).__name__}; name one group of a dictionary")
    if left.attribute != right.attribute or type(left) is not type(right):
        raise SchemeError(f"compare takes two estimates of one attribute, got {left.attribute} and {right.attribute}")
    if getattr(left, "unit", "") != getattr(right, "unit", ""):
        raise SchemeError(
            f"{left.attribute} is in {left.unit or 'no unit'} on one side, {right.unit or 'none'} on the other"
        )
    rho, remark = 0.0, _MEMOISED if memoised else None
    if left.sample is not None and right.sample is not None and left.sample.aggregate == right.sample.aggregate:
        if left.given == right.given:
            raise SchemeError(
                f"both sides are {left.given or 'everyone'} of one aggregate; name another group or round"
            )
        rho = _correlation(left.sample, right.sample, left.given, right.given)
        remark = _OVERLAP if rho == -1 else None
    pair = left.functional(functional, confidence), right.functional(functional, confidence)
    return difference(*pair, correlation=rho, remark=remark)


def difference(
    left: FunctionalEstimate, right: FunctionalEstimate, *, correlation: float = 0.0, remark: str | None = None
) -> Comparison:
    """Return the difference of two results of one functional and confidence, whose errors have that correlation.

    Raises SchemeError where functional or confidence differ.
    """
    if (left.functional, left.confidence) != (right.functional, right.confidence):
        raise SchemeError(
            f"differences are of one functional and confidence, got {left.functional} at {left.confidence:g} and "
            f"{right.functional} at {right.confidence:g}"
        )
    numbers = [(one.value, one.standard_error, one.low, one.high) for one in (left, right)]
    if any(number is None for side in numbers for number in side):
        reasons = {name: one.reason for name, one in (("left", left), ("right", right)) if one.is_refused}
        return Comparison(
            functional=left.functional,
            difference=None,
            standard_error=None,
            low=None,
            high=None,
            confidence=left.confidence,
            reason="; ".join(f"{name}: {reason}" for name, reason in reasons.items()),
        )
    (v, a, low, high), (w, b, other_low, other_high) = np.array(numbers, dtype=np.float64)
    z = normal_quantile(left.confidence)
    # Ends may have been cut at what is possible: no distance is below the normal one.
    down, up = max(v - low, z * a), max(high - v, z * a)
    other_down, other_up = max(w - other_low, z * b), max(other_high - w, z * b)
    return Comparison(
        functional=left.functional,
        difference=float(v - w),
        standard_error=_together(a, b, correlation),
        low=float(v - w) - _together(down, other_up, correlation),
        high=float(v - w) + _together(up, other_down, correlation),
        confidence=left.confidence,
        reason=remark,
    )


def _together(a: float, b: float, correlation: float) -> float:
    return float(np.sqrt(max(0.0, a * a + b * b - 2 * correlation * a * b)))


def _correlation(left: Sample, right: Sample, left_given: str, right_given: str) -> float:
    """Of the errors of two estimates from one aggregate; -1, the worst for a difference, where nobody knows."""
    weights = [sample.weights for sample in (left, right)]
    reported = next((sample.reported for sample in (left, right) if sample.reported is not None), None)
    attributes = {given.partition("=")[0] for given in (left_given, right_given) if given}
    if reported is None or len(attributes) != 1:
        return -1.0
    w, v = (np.ones(len(reported)) if one is None else one for one in weights)
    return float((w * v) @ reported / np.sqrt((w**2 @ reported) * (v**2 @ reported)))
