"""What a round says of itself in `checks`: privacy, fits, what is assumed, how far lies may have moved it, what was refused."""

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

_REJECTED_SHARE = 0.01  # more than one report in a hundred refused means that something is wrong with a client


def checks(round_: Round, rehearsal: bool, parts: Sequence[Aggregate]) -> pd.DataFrame:
    """Return rows of `checks`; parts: the aggregates of whom batches are compared, where there are several."""
    from dpcore.results.checks import poisoning  # the other audits are no part of a round's start

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
        elif estimate.beliefs:
            whose = of_group(estimate.attribute, estimate.given)
            rows += [
                Check(f"{kind}({whose})", True, weight, None, said) for kind, weight, said in kinds(estimate.beliefs)
            ]
    rows += [check for name in round_.estimates for check in _efficiency(round_, name)]
    for name, (_, evidence) in round_.assumed.items():
        unit, bound = aggregate.scheme.attributes[name].unit, float(aggregate.scheme.attributes[name].assume or 0)
        in_unit = f"{bound:.4g}{unit and f' {unit}^(-5/2)'}"
        detail = f"it is assumed that the root of the integral of f''(x)^2 is at most {in_unit}; {evidence}"
        rows.append(Check(f"assumption({name})", evidence.passed, evidence.statistic, evidence.threshold, detail))
    for check in poisoning.checks(aggregate, parts):
        name = f"{check.name}({check.attribute})"
        seen, most = (check.statistic, check.threshold) if check.is_available else (None, None)
        rows.append(Check(name, check.passed, seen, most, check.detail))
    refused = sum(aggregate.rejected.values())
    share = refused / max(1, aggregate.n + refused)
    detail = f"{refused} of {aggregate.n + refused} reports refused"
    rows.append(Check("rejected_share", share <= _REJECTED_SHARE, share, _REJECTED_SHARE, detail))
    if rehearsal:
        detail = "a rehearsal: real records were privatized with a known seed; do not share its reports"
        rows.append(Check("secure_randomness", False, 0.0, 1.0, detail))
    return frame_of(rows)


def every_estimate(round_: Round) -> list[Estimate]:
    """Everyone's, beside densities the shares of who gave no number, then the groups'."""
    silent = (getattr(estimate, "silence", None) for estimate in round_.estimates.values())
    shares = [share for share in silent if share is not None]
    return [
        *round_.estimates.values(),
        *shares,
        *(group.estimate for group in round_.groups if group.estimate is not None),
    ]


def _of_density(estimate: DensityEstimate) -> Iterator[Check]:
    """Whether a density explains the reports, and better than values at few points would."""
    whose, fit, found = of_group(estimate.attribute, estimate.given), estimate.fit, estimate.discreteness
    if fit is not None:
        yield Check(f"fit({whose})", fit.passed, fit.statistic, fit.threshold, str(fit))
    if found is not None:
        said = found.text(estimate.upper - estimate.lower, estimate.unit)
        yield Check(f"values({whose})", not found.is_seen, found.share, 0.0, said)


def _efficiency(round_: Round, name: str) -> Iterator[Check]:
    """How many times the least error of any mechanism a density's mean has, where all reports count the same."""
    estimate, budget = round_.estimates[name], round_.aggregate.scheme.attributes[name].budget
    means = [result for result in round_.functionals.get(name, ()) if result.functional == str(Mean())]
    if not isinstance(estimate, DensityEstimate) or not means or means[0].is_refused or means[0].design_effect:
        return
    least = least_error(Mean(), estimate.density, math.exp(float(budget)), estimate.n)
    if least:
        times, beside = (means[0].standard_error or 0.0) / least, "times the least of any mechanism made for it alone"
        yield Check(f"efficiency({name})", True, round(times, 2), None, f"the mean's error is {times:.2f} {beside}")
