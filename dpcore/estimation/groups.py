"""Groups of one aggregate: number of reports, effective number, and refusals.

A group is the clients whose other, privatized attribute is truly c, known only through reported categories.  A row w of the
inverse of that attribute's channel makes sums over reported categories unbiased for the group.  Its share of n reports is
P = w' m / n, m the reports by reported category; they are worth n P^2 / E w^2 reports of clients known to belong to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.diagnostics.evidence import Sample
from dpcore.estimation.joint.conditioning import Pair


def everyone(aggregate: Any, attribute: str) -> Sample:
    """Return the sample of an estimate of the whole aggregate."""
    return Sample(aggregate=aggregate.fingerprint, n=aggregate.reports(attribute))


def groups(aggregate: Any, attribute: str, by: str) -> dict[str, Sample]:
    """Return category -> the sample of the group's estimate."""
    pair = Pair.from_aggregate(aggregate, attribute, by)
    reported = np.asarray(aggregate.statistics[by], dtype=np.float64)
    fingerprint, n = aggregate.fingerprint, aggregate.reports(attribute)
    return {
        category: Sample(aggregate=fingerprint, n=n, weights=row, reported=reported)
        for category, row in zip(pair.categories, pair.inverse, strict=True)
    }


def reports_by_category(aggregate: Any, by: str) -> dict[str, int]:
    """Return category -> number of reports that name it; respondents to one attribute of a pair also respond to the other."""
    counts = aggregate.statistics[by].tolist()
    return dict(zip(aggregate.scheme.attributes[by].categories, counts, strict=True))


def is_withheld(aggregate: Any, by: str, fewest: int) -> bool:
    """Return whether a group has reports but fewer than `fewest`: the sums of all groups would reveal its own."""
    return any(0 < n < fewest for n in reports_by_category(aggregate, by).values())


def refusal(sample: Sample, reporting: int, fewest: int) -> str:
    """Return why a group with these reports has no estimate, and a remedy: its share must exceed three standard errors.

    reporting: number of reports that name it or, if that is withheld, the smallest group next to it; each needs `fewest`.
    """
    if reporting < fewest:
        return f"{reporting:,} reports name this group or one beside it, which needs {fewest:,} (min_clients); collect more"
    share, error = sample.size / max(1, sample.n), sample.error / max(1, sample.n)
    noise = f"the group is {share:.2%} of the clients with a standard error of {error:.2%}"
    if share <= 0:
        return f"{noise}, not above zero; collect more reports or raise the other attribute's epsilon"
    more = max(1.0, (constants.CLEAR_ERRORS * error / share) ** 2)
    return (
        f"{noise}: its {sample.effective_n:,.0f} effective reports are within three standard errors of none at every level; "
        f"collect about {2 * more:,.1f} times as many, or use a larger epsilon of the other attribute"
    )
