"""Differences between two rounds, groups or cohorts, each estimated from its own aggregate or both from one.

    difference = left - right,    SE^2 = a^2 + b^2 - 2 rho a b,    a, b the standard errors

Rounds and cohorts whose clients differ, or draw anew, are independent: rho = 0.  (Where a person takes part twice with fresh
draws, what they have in common makes rho positive, and the difference surer than is said.)  Reports that memoization repeats
from round to round are correlated by an amount nobody knows; the sum of variances is used and the result says so.

Two groups of one aggregate are made of the same reports with weights w and v, so that their errors have, m the reports by what
they said,

    rho = tau sum w v m / sqrt(sum w^2 m  sum v^2 m),

tau the correlation of what one report adds to either estimate before it is weighted; this takes what a report adds to vary as
much whatever it said of the other attribute, which noise sees to.  For a mean or a share by one estimator at one level, both
add the same and tau = 1.  For other functionals by one estimator at one level, a report adds to the first order int psi dh on
one side and int phi dh on the other, psi and phi the influences at either density and h the estimate's error; the estimate
itself is asked for the variances of both, of their sum and of their difference, and so tells tau.  The smaller rho of the two
sides' answers is taken, less what variances that are not quite quadratic leave open.  Elsewhere nobody knows more than
|tau| <= 1: the sign is taken that makes the difference least sure, and the result says so.  Second-order terms of the
variances are counted as independent; their covariance is positive.

The interval's ends are those of [ZouDonner2008], which keep what each interval allows for beyond its standard error: with l, u
the distances of the left one's ends and l', u' of the right one's, low = difference - sqrt(l^2 + u'^2 - 2 rho l u').
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.diagnostics.evidence import Sample
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate, check_confidence, normal_quantile
from dpcore.functionals import Expansion, Functional, Influence
from dpcore.functionals.group import Group

_MEMOISED = (
    "memoised reports repeat from round to round: the errors are correlated by an unknown amount, counted as none"
)
_OVERLAP = "groups of two attributes overlap by an unknown amount: the largest error that this allows is used"
_BOUND = "both groups are made of the same reports: the largest error that their weights allow is used"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """left minus right of a functional, in its unit, with an interval.

    difference, standard_error, low, high, correlation: None where either side was refused, and reason says why.
    correlation: of the two sides' errors, as it was counted.  confidence: of this interval alone.
    reason: else a remark, or None where nothing is to be said.
    """

    functional: str
    difference: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float
    correlation: float | None = None
    reason: str | None = None

    @property
    def is_refused(self) -> bool:
        """Whether there is no difference, for the reason given."""
        return self.difference is None

    @property
    def deviations(self) -> float | None:
        """How many standard errors lie between the difference and zero; None where it was refused.

        They are those of the interval's end on zero's side, and so hold what it allows for beyond the standard error.
        """
        if self.difference is None or self.low is None or self.high is None:
            return None
        towards = self.difference - self.low if self.difference > 0 else self.high - self.difference
        if self.difference == 0:
            return 0.0
        return abs(self.difference) * normal_quantile(self.confidence) / towards if towards > 0 else np.inf


def compare(left: Any, right: Any, functional: Any, confidence: float = 0.95, *, memoised: bool = False) -> Comparison:
    """Return left's functional minus right's: two rounds, two cohorts, two groups of one aggregate, or a group and everyone.

    left, right: estimates of one attribute.  Cohorts must not share clients, nor one be part of the other.
    memoised: whether the two are rounds in which clients repeated old answers.
    Raises SchemeError for estimates of different attributes or units, or of the very same reports.

    Source: [ZouDonner2008]
    """
    rho, remark = related(left, right, functional)
    pair = left.functional(functional, confidence), right.functional(functional, confidence)
    return difference(*pair, correlation=rho, remark=_MEMOISED if memoised else remark)


def compare_frequencies(
    left: FrequencyEstimate,
    right: FrequencyEstimate,
    confidence: float = 0.95,
    *,
    simultaneous: bool = False,
    memoised: bool = False,
) -> dict[str, Comparison]:
    """Return category -> left's share minus right's, of two rounds or cohorts, each with an interval.

    The shares are the unbiased ones, which may lie below zero: projections on what is possible err in a way that depends on
    the number of reports, and would make two rounds of the same people differ.
    simultaneous: whether all intervals hold at once with the confidence; each alone then has confidence^(1/k) [Sidak1967].
    memoised: as in `compare`.  Raises SchemeError as it does, and for other categories.
    """
    check_confidence(confidence)
    _check_pair(left, right)
    if not isinstance(left, FrequencyEstimate) or left.categories != right.categories:
        raise SchemeError(f"frequencies are compared category by category; {left.attribute} has others on either side")
    if _share_reports(left, right):
        raise SchemeError(f"both sides are {left.attribute} of one aggregate; name another round or cohort")
    confidence_of_one = confidence ** (1 / len(left.categories)) if simultaneous else confidence
    sides = _shares(left, confidence_of_one), _shares(right, confidence_of_one)
    remark = _MEMOISED if memoised else None
    return {
        category: difference(one, other, remark=remark)
        for category, one, other in zip(left.categories, *sides, strict=True)
    }


def _shares(estimate: FrequencyEstimate, confidence: float) -> list[FunctionalEstimate]:
    low, high = estimate.interval(confidence)
    columns = (estimate.raw, estimate.standard_errors, low, high, estimate.values)
    return [
        FunctionalEstimate(
            functional=f"frequency({category})",
            value=float(raw),
            standard_error=float(error),
            low=float(below),
            high=float(above),
            confidence=confidence,
            plug_in=float(shown),
            kind="smooth",
        )
        for category, raw, error, below, above, shown in zip(estimate.categories, *columns, strict=True)
    ]


def related(left: Any, right: Any, functional: Any) -> tuple[float, str | None]:
    """Return the correlation of the errors of a functional of two estimates, as far as it is known, and a remark or None.

    0 for two aggregates.  Raises SchemeError as `compare` does.
    """
    _check_pair(left, right)
    if not _share_reports(left, right):
        return 0.0, None
    if left.group == right.group:
        raise SchemeError(f"both sides are {left.given or 'everyone'} of one aggregate; name another group or round")
    rho = _of_weights(left.sample, right.sample, (left.group, right.group))
    if rho == -1:
        return rho, _OVERLAP
    if (left.estimator, left.level) == (right.estimator, right.level):
        if functional.is_linear:
            return rho, None
        alignments = [_alignment(side, functional, left.density, right.density) for side in (left, right)]
        if all(alignments):
            least = min(rho * tau - abs(rho) * slack for tau, slack in filter(None, alignments))
            return max(least, -abs(rho)), None
    return -abs(rho), _BOUND


@dataclass(frozen=True)
class _Along(Functional):
    """int psi f: the linear functional of an influence."""

    influence: Influence

    name = "along"
    is_linear = True

    def expand(self, density: Any) -> Expansion:
        return Expansion(self.influence(density), self.influence)


def _alignment(estimate: DensityEstimate, functional: Functional, one: Any, other: Any) -> tuple[float, float] | None:
    """tau and how far it may be off: the correlation of an estimate's errors in a functional's influences at two densities.

    None where there are no influences, or variances so far from quadratic ones that they say nothing.
    """

    def variance(influence: Influence) -> float:
        error = estimate.functional(_Along(influence)).standard_error
        return np.nan if error is None else error**2

    try:
        with np.errstate(all="ignore"):
            psi, phi = (functional.expand(density).influence for density in (one, other))
            psi, phi = (_scaled(coefficients, 1 / np.sqrt(variance(coefficients))) for coefficients in (psi, phi))
            together, apart = variance(_added(psi, phi)), variance(_added(psi, _scaled(phi, -1.0)))
    except SchemeError:
        return None
    # Quadratic variances add up to 4; an estimator that looks closer at some weights than at others has others.
    slack = abs(together + apart - 4) / 2
    return (float(np.clip((together - apart) / 4, -1.0, 1.0)), float(slack)) if slack < constants.MAX_SHARE else None


def _scaled(influence: Influence, by: float) -> Influence:
    weights = tuple((order, _times(weight, by)) for order, weight in influence.weights)
    return replace(influence, weights=weights, points=tuple((order, x, by * c) for order, x, c in influence.points))


def _times(weight: Any, by: float) -> Any:
    return lambda x: by * weight(x)


def _added(one: Influence, other: Influence) -> Influence:
    return replace(
        one,
        weights=one.weights + other.weights,
        points=one.points + other.points,
        breaks=tuple(np.unique([*one.breaks, *other.breaks])),
    )


def _check_pair(left: Any, right: Any) -> None:
    for side in (left, right):
        if not isinstance(side, DensityEstimate | FrequencyEstimate):
            raise SchemeError(f"compare takes two estimates, got {type(side).__name__}; name one group of a dictionary")
    if left.attribute != right.attribute or type(left) is not type(right):
        raise SchemeError(f"compare takes two estimates of one attribute, got {left.attribute} and {right.attribute}")
    if getattr(left, "unit", "") != getattr(right, "unit", ""):
        raise SchemeError(
            f"{left.attribute} is in {left.unit or 'no unit'} on one side, {right.unit or 'none'} on the other"
        )


def _share_reports(left: Any, right: Any) -> bool:
    return left.sample is not None and right.sample is not None and left.sample.aggregate == right.sample.aggregate


def difference(
    left: FunctionalEstimate, right: FunctionalEstimate, *, correlation: float = 0.0, remark: str | None = None
) -> Comparison:
    """Return the difference of two results of one functional and confidence.

    correlation: of their errors to the first order; of all of them where a result does not say what share is of second order.
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
        refusals = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        return Comparison(functional=left.functional, confidence=left.confidence, reason=refusals)
    (v, a, low, high), (w, b, other_low, other_high) = np.array(numbers, dtype=np.float64)
    z = normal_quantile(left.confidence)
    if correlation > -1:
        correlation *= float(np.sqrt((1 - (left.second_order or 0.0)) * (1 - (right.second_order or 0.0))))
    # Ends may have been cut at what is possible: no distance is below the normal one.
    down, up = max(v - low, z * a), max(high - v, z * a)
    other_down, other_up = max(w - other_low, z * b), max(other_high - w, z * b)
    return Comparison(
        functional=left.functional,
        difference=float(v - w),
        standard_error=_together(a, b, correlation),
        correlation=correlation,
        low=float(v - w) - _together(down, other_up, correlation),
        high=float(v - w) + _together(up, other_down, correlation),
        confidence=left.confidence,
        reason=remark,
    )


def simultaneous_deviations(confidence: float, comparisons: int) -> float:
    """Return the standard errors that none of so many normal errors exceeds with that confidence, however correlated.

    Source: [Sidak1967]
    """
    check_confidence(confidence)
    return normal_quantile(confidence ** (1 / comparisons))


def _together(a: float, b: float, correlation: float) -> float:
    return float(np.sqrt(max(0.0, a * a + b * b - 2 * correlation * a * b)))


def _of_weights(left: Sample, right: Sample, groups: tuple[Group | None, Group | None]) -> float:
    """rho / tau of two estimates from one aggregate; -1, the worst for a difference, where nobody knows."""
    weights = [sample.weights for sample in (left, right)]
    reported = next((sample.reported for sample in (left, right) if sample.reported is not None), None)
    attributes = {group.attribute for group in groups if group is not None}
    if reported is None or len(attributes) != 1:
        return -1.0
    w, v = (np.ones(len(reported)) if one is None else one for one in weights)
    return float((w * v) @ reported / np.sqrt((w**2 @ reported) * (v**2 @ reported)))
