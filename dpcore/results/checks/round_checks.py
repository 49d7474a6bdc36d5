"""Checks of a round: certified privacy, goodness of fit, assumptions, signs of poisoning, rejected reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.diagnostics.efficiency import least_error
from dpcore.estimation.discrete.log_linear_family import kinds
from dpcore.functionals import Mean
from dpcore.pipeline import Estimate, Round
from dpcore.protocol.aggregates import Aggregate
from dpcore.results.checks.check import Check, frame_of, of_group

_REJECTED_SHARE = 0.01  # more than one rejected report in a hundred indicates a faulty client


def checks(round_: Round, rehearsal: bool, parts: Sequence[Aggregate]) -> pd.DataFrame:
    """Return rows of `checks`; parts: the aggregates of the batches, which the homogeneity check compares."""
    from dpcore.results.checks import poisoning  # imported here so that a round starts faster

    aggregate = round_.aggregate
    rows: list[Check] = []
    for name, attribute in aggregate.scheme.attributes.items():
        certificate = attribute.mechanism.certificate()
        promised = math.exp(float(attribute.budget)) if certificate.kind == "ratio" else float(attribute.budget)
        rows.append(Check(f"privacy({name})", certificate.holds, float(certificate.kept), promised, certificate.text))
        if name in round_.unavailable:
            rows.append(
                Check(f"estimable({name})", False, float(aggregate.reports(name)), None, round_.unavailable[name])
            )
    for estimate in every_estimate(round_):
        if isinstance(estimate, DensityEstimate):
            rows += _of_density(estimate)
        elif estimate.visible is not None:
            detail = f"a text is found from a share of about {100 * estimate.visible:.2g} %, with a probability of 0.8"
            rows.append(
                Check(f"visible({of_group(estimate.attribute, estimate.given)})", True, estimate.visible, None, detail)
            )
        elif estimate.beliefs:
            whose = of_group(estimate.attribute, estimate.given)
            rows += [
                Check(f"{kind}({whose})", True, weight, None, detail)
                for kind, weight, detail in kinds(estimate.beliefs)
            ]
    rows += [check for name in round_.estimates for check in _efficiency(round_, name)]
    for name, (_, evidence) in round_.assumed.items():
        unit, bound = aggregate.scheme.attributes[name].unit, float(aggregate.scheme.attributes[name].assume or 0)
        in_unit = f"{bound:.4g}{unit and f' {unit}^(-5/2)'}"
        detail = f"assumes that the L2 norm of the second derivative of the density is at most {in_unit}; {evidence}"
        rows.append(Check(f"assumption({name})", evidence.passed, evidence.statistic, evidence.threshold, detail))
    for check in poisoning.checks(aggregate, parts):
        name = f"{check.name}({check.attribute})"
        seen, most = (check.statistic, check.threshold) if check.is_available else (None, None)
        rows.append(Check(name, check.passed, seen, most, check.detail))
    rejected = sum(aggregate.rejected.values())
    share = rejected / max(1, aggregate.n + rejected)
    detail = f"{rejected} of {aggregate.n + rejected} reports rejected"
    rows.append(Check("rejected_share", share <= _REJECTED_SHARE, share, _REJECTED_SHARE, detail))
    if rehearsal:
        detail = "dry run: real records were privatized with a known seed; do not share its reports"
        rows.append(Check("secure_randomness", False, 0.0, 1.0, detail))
    return frame_of(rows)


def every_estimate(round_: Round) -> list[Estimate]:
    """Return the estimates for all clients, the item nonresponse of densities, then the estimates for groups."""
    nonresponse = (getattr(estimate, "silence", None) for estimate in round_.estimates.values())
    return [
        *round_.estimates.values(),
        *(share for share in nonresponse if share is not None),
        *(group.estimate for group in round_.groups if group.estimate is not None),
    ]


def _of_density(estimate: DensityEstimate) -> Iterator[Check]:
    """Goodness of fit of a density, and whether the reports suggest a discrete distribution."""
    whose, fit, discreteness = of_group(estimate.attribute, estimate.given), estimate.fit, estimate.discreteness
    if fit is not None:
        yield Check(f"fit({whose})", fit.passed, fit.statistic, fit.threshold, str(fit))
    if discreteness is not None:
        detail = discreteness.text(estimate.upper - estimate.lower, estimate.unit)
        yield Check(f"values({whose})", not discreteness.is_seen, discreteness.share, 0.0, detail)


def _efficiency(round_: Round, name: str) -> Iterator[Check]:
    """Standard error of a density's mean relative to the lower bound for any mechanism; unweighted reports only."""
    estimate, budget = round_.estimates[name], round_.aggregate.scheme.attributes[name].budget
    means = [result for result in round_.functionals.get(name, ()) if result.functional == str(Mean())]
    if not isinstance(estimate, DensityEstimate) or not means or means[0].is_refused or means[0].design_effect:
        return
    least = least_error(Mean(), estimate.density, math.exp(float(budget)), estimate.n)
    if least:
        ratio = (means[0].standard_error or 0.0) / least
        detail = f"standard error of the mean: {ratio:.2f} times the lower bound for any mechanism at this epsilon"
        yield Check(f"efficiency({name})", True, round(ratio, 2), None, detail)
