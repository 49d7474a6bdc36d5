"""Differences between two rounds, groups or cohorts, each estimated from its own aggregate or both from one.

    difference = left - right,    SE^2 = a^2 + b^2 - 2 rho a b,    a, b the standard errors

Rounds and cohorts with different clients, or with new draws, are independent: rho = 0.  (A client who takes part twice with new
draws makes rho positive, and the interval conservative.)  Memoization repeats reports and correlates rounds by an unknown
amount; the sum of variances is used and the result has a remark.

Two groups of one aggregate use the same reports with weights w and v.  Their errors have the correlation

    rho = tau sum w v m / sqrt(sum w^2 m  sum v^2 m),

m the reports by reported category, tau the correlation of one report's contributions before weighting.  This assumes that the
variance of a contribution does not depend on the reported category, which noise ensures.  For a mean or a proportion by one
estimator at one level, both contributions are equal and tau = 1.  For other functionals by one estimator at one level, a report
contributes to first order int psi dh and int phi dh, psi and phi the influences at the two densities and h the estimate's
error; tau follows from the estimator's variances of both, of their sum and of their difference.  The smaller rho of the two
sides is used, less a margin for variances that are not quadratic.  Otherwise only |tau| <= 1 is known: the sign with the larger
standard error is used, and the result has a remark.  Second-order terms of the variances count as independent; their covariance
is positive.

The limits are those of [ZouDonner2008], which keep each interval's asymmetry: with l, u the distances of the left estimate to
its limits and l', u' of the right one, low = difference - sqrt(l^2 + u'^2 - 2 rho l u').
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.diagnostics.evidence import Sample
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate, check_confidence, estimated, normal_quantile
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

    difference, standard_error, low, high, correlation: None if either side was refused; `reason` then explains why.
    correlation: of the two sides' errors, as used.  confidence: of this interval alone.
    reason: otherwise a remark, or None.
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
        """Number of standard errors between the difference and zero; None if it was refused.

        Measured by the limit on zero's side, which includes all errors that the interval allows for.
        """
        if self.difference is None or self.low is None or self.high is None:
            return None
        towards = self.difference - self.low if self.difference > 0 else self.high - self.difference
        if self.difference == 0:
            return 0.0
        return abs(self.difference) * normal_quantile(self.confidence) / towards if towards > 0 else np.inf

    @property
    def p_value(self) -> float | None:
        """Two-sided, of the hypothesis that the true difference is zero; None if it was refused."""
        deviations = self.deviations
        return None if deviations is None else math.erfc(deviations / math.sqrt(2))


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
    """Return category -> left's proportion minus right's, of two rounds or cohorts, each with an interval.

    Of texts, for those that are reported on both sides.

    The proportions are unbiased and may be negative: the error of projected ones depends on the number of reports, and would
    make two rounds of the same population differ.
    simultaneous: whether the intervals cover jointly; each then has confidence^(1/k) [Sidak1967].
    memoised: as in `compare`.  Raises SchemeError as it does, and if categories differ.
    """
    check_confidence(confidence)
    _check_pair(left, right)
    if not isinstance(left, FrequencyEstimate) or (left.categories != right.categories and not left.is_selected):
        raise SchemeError(f"frequencies are compared category by category; {left.attribute} has others on either side")
    if _share_reports(left, right):
        raise SchemeError(f"both sides are {left.attribute} of one aggregate; name another round or cohort")
    confidence_of_one = confidence ** (1 / len(left.categories)) if simultaneous else confidence
    others = dict(zip(right.categories, shares(right, confidence_of_one), strict=True))
    remark = _MEMOISED if memoised else None
    return {
        category: difference(one, others[category], remark=remark)
        for category, one in zip(left.categories, shares(left, confidence_of_one), strict=True)
        if category in others
    }


def shares(estimate: FrequencyEstimate, confidence: float = 0.95) -> list[FunctionalEstimate]:
    """Return the unbiased proportion of each category."""
    low, high = estimate.interval(confidence)
    columns = (estimate.values, estimate.raw, estimate.standard_errors, low, high)
    return [
        estimated(f"frequency({category})", interval, confidence, float(shown), "smooth")
        for category, shown, *interval in zip(estimate.categories, *columns, strict=True)
    ]


def related(left: Any, right: Any, functional: Any) -> tuple[float, str | None]:
    """Return the correlation of the errors of a functional of two estimates, or a bound of it, and a remark or None.

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
    """tau and its uncertainty: the correlation of an estimate's errors in a functional's influences at two densities.

    None without influences, or if variances are far from quadratic.
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

    correlation: of their first-order errors, or of all errors of a result without a second-order share.
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
        standard_error=_error_of_difference(a, b, correlation),
        correlation=correlation,
        low=float(v - w) - _error_of_difference(down, other_up, correlation),
        high=float(v - w) + _error_of_difference(up, other_down, correlation),
        confidence=left.confidence,
        reason=remark,
    )


def ratio(left: FunctionalEstimate, right: FunctionalEstimate) -> tuple[float, float, float] | None:
    """Return left / right of two results with independent errors, and its limits.

    None if either was refused, or unless right is significantly above zero.  Limits of both are taken as symmetric, the farther
    one of each.

    Source: [Fieller1954]
    """
    numbers = [(one.value, one.standard_error, one.low, one.high) for one in (left, right)]
    if any(number is None for side in numbers for number in side):
        return None
    values, errors, lows, highs = np.array(numbers, dtype=np.float64).T
    halves = np.maximum(np.maximum(values - lows, highs - values), normal_quantile(left.confidence) * errors)
    (v, w), (numerator, denominator) = values, values**2 - halves**2
    if w <= 0 or denominator <= 0:
        return None
    half = float(np.sqrt((v * w) ** 2 - numerator * denominator))
    return float(v / w), float((v * w - half) / denominator), float((v * w + half) / denominator)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values (k,) adjusted for k hypotheses, however dependent.

    Source: [Holm1979]
    """
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(adjusted, 1.0)


def simultaneous_deviations(confidence: float, comparisons: int) -> float:
    """Return the standard errors that none of so many normal errors exceeds with that confidence, however correlated.

    Source: [Sidak1967]
    """
    check_confidence(confidence)
    return normal_quantile(confidence ** (1 / comparisons))


def _error_of_difference(a: float, b: float, correlation: float) -> float:
    """Return the error of the difference of two correlated estimates with errors a and b."""
    return float(np.sqrt(max(0.0, a * a + b * b - 2 * correlation * a * b)))


def _of_weights(left: Sample, right: Sample, groups: tuple[Group | None, Group | None]) -> float:
    """rho / tau of two estimates from one aggregate; -1, the most conservative value, if unknown."""
    weights = [sample.weights for sample in (left, right)]
    reported = next((sample.reported for sample in (left, right) if sample.reported is not None), None)
    attributes = {group.attribute for group in groups if group is not None}
    if reported is None or len(attributes) != 1:
        return -1.0
    w, v = (np.ones(len(reported)) if one is None else one for one in weights)
    return float((w * v) @ reported / np.sqrt((w**2 @ reported) * (v**2 @ reported)))
