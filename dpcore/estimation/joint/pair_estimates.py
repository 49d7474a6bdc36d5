"""Estimates of two attributes together in every round: functionals and tests by type, or the reason of a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.estimation.groups import is_withheld
from dpcore.estimation.joint.joint_estimate import JointEstimate, Test, asked_together, axis_of, paired
from dpcore.estimation.joint.report_weights import has_side
from dpcore.functionals.axis import Axis
from dpcore.functionals.joint import (
    ConditionalMean,
    ConditionalProbability,
    ConditionalQuantile,
    Correlation,
    Intercept,
    JointFunctional,
    RankCorrelation,
    Slope,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Number:
    """A functional of two attributes, and the parts that it conditions on; '' for none."""

    result: FunctionalEstimate
    first_part: str = ""
    second_part: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairEstimates:
    """The estimates of two attributes together: functionals of the first along the second.

    estimate: None with a reason.
    """

    first: str
    second: str
    estimate: JointEstimate | None = None
    numbers: tuple[Number, ...] = ()
    tests: tuple[Test, ...] = ()
    reason: str = ""

    @property
    def has_table(self) -> bool:
        """Whether the table of their parts is small enough to show."""
        axes = () if self.estimate is None else (self.estimate.first, self.estimate.second)
        return bool(axes) and all(_is_small(axis) for axis in axes)

    def table(self) -> pd.DataFrame:
        """Return that table, a row per cell, as `JointEstimate.to_frame` does."""
        assert self.estimate is not None
        return self.estimate.to_frame(constants.TABLE_PARTS)


def pair_estimates(
    aggregate: Any, estimates: Mapping[str, Any], unavailable: Mapping[str, str], fewest: int = 0
) -> tuple[PairEstimates, ...]:
    """Return the estimates of every pair whose reports identify a joint distribution; additive noise has group estimates only.

    estimates, unavailable: of single attributes, the estimate of each or the reason of its absence.  fewest: number of reports
    below which a category has its pair refused, as for groups.
    """
    return tuple(_pair(aggregate, *names, estimates, unavailable, fewest) for names in _pairs(aggregate.scheme))


def _pairs(scheme: Any) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The pairs, numbers before categories, and their attributes: two, or one joint attribute."""
    for one, other in scheme.pairs:
        attributes = [scheme.attributes[name] for name in (one, other)]
        if all(map(has_side, attributes)):
            is_number = [axis_of(attribute).numbers is not None for attribute in attributes]
            pair = (other, one) if is_number == [False, True] else (one, other)
            yield (*pair, pair)
    for name, attribute in scheme.attributes.items():
        if attribute.of:
            yield (*attribute.of, (name,))


def _pair(
    aggregate: Any,
    first: str,
    second: str,
    told_by: tuple[str, ...],
    estimates: Mapping[str, Any],
    unavailable: Mapping[str, str],
    fewest: int,
) -> PairEstimates:
    alone = (
        told_by if len(told_by) > 1 or not aggregate.scheme.attributes[told_by[0]].is_numeric else ()
    )  # as they are needed
    reason = "; ".join(f"{name}: {unavailable[name]}" for name in alone if name in unavailable)
    reason = reason or _withheld(aggregate, told_by, fewest)
    estimate = None
    try:
        if not reason and len(told_by) == 1:
            estimate = asked_together(aggregate, told_by[0], first, estimates.get(told_by[0]))
        elif not reason:
            estimate = paired(aggregate, first, second, (estimates[first], estimates[second]))
    except NotEstimable as error:
        reason = str(error)
    if estimate is None:
        return PairEstimates(first=first, second=second, reason=reason)
    numbers = tuple(_numbers(estimate))
    return PairEstimates(first=first, second=second, estimate=estimate, numbers=numbers, tests=tuple(_tests(estimate)))


def _withheld(aggregate: Any, told_by: tuple[str, ...], fewest: int) -> str:
    """Why too few reports prevent a pair from being shown; '' otherwise."""
    if (n := aggregate.reports(told_by[0])) < fewest:
        return f"{n:,} reports, and {fewest:,} are needed (min_clients); collect more"
    for name in told_by if len(told_by) > 1 else ():  # a joint attribute's shares are shown by themselves
        if aggregate.scheme.attributes[name].mechanism.declared.names_one and is_withheld(aggregate, name, fewest):
            return f"fewer than {fewest:,} reports name a category of {name} (min_clients); collect more, or join categories"
    return ""


def _is_small(axis: Axis) -> bool:
    return len(axis.parts(constants.TABLE_PARTS)) <= constants.TABLE_CATEGORIES


def _numbers(estimate: JointEstimate) -> Iterator[Number]:
    first, second = estimate.first, estimate.second
    asked: list[tuple[JointFunctional, str, str]] = []
    if first.numbers is not None and second.numbers is not None:
        asked += [(functional, "", "") for functional in (Correlation(), RankCorrelation(), Slope(), Intercept())]
    for part, where in second.parts(constants.TABLE_PARTS) if _is_small(second) else ():
        if first.numbers is not None:
            asked.append((ConditionalMean(where), "", part))
            if first.edges is not None:
                asked.append((ConditionalQuantile(0.5, where), "", part))
        elif _is_small(first):
            asked += [
                (ConditionalProbability(own, where), name, part) for name, own in first.parts(constants.TABLE_PARTS)
            ]
    for functional, own, part in asked:
        yield Number(result=estimate.functional(functional), first_part=own, second_part=part)


def _tests(estimate: JointEstimate) -> Iterator[Test]:
    yield estimate.independence()
    if estimate.first.numbers is not None:
        if estimate.second.numbers is not None:
            yield estimate.trend()
        yield estimate.equal_means()
