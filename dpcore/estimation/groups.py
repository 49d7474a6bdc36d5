"""Groups of one aggregate: how many reports each has, how much they are worth, and why one says nothing.

A group is the clients whose other, privatized attribute is truly c.  Who they are nobody knows, but what they said; w, a row
of the inverse of that attribute's channel, makes sums over what was said unbiased for the group.  Its share of n reports is
P = w' m / n, m the reports by what they said; its reports are worth n P^2 / E w^2 of clients known to belong to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.diagnostics.evidence import Sample
from dpcore.estimation.joint.conditioning import Pair


def everyone(aggregate: Any, attribute: str) -> Sample:
    """Return whose reports an estimate of the whole aggregate is made of."""
    return Sample(aggregate=aggregate.fingerprint, n=aggregate.reports(attribute))


def groups(aggregate: Any, attribute: str, given: str) -> dict[str, Sample]:
    """Return category -> whose reports the group's estimate is made of."""
    pair = Pair.from_aggregate(aggregate, attribute, given)
    reported = np.asarray(aggregate.statistics[given], dtype=np.float64)
    fingerprint, n = aggregate.fingerprint, aggregate.reports(attribute)
    return {
        category: Sample(aggregate=fingerprint, n=n, weights=row, reported=reported)
        for category, row in zip(pair.categories, pair.inverse, strict=True)
    }


def reports_by_category(aggregate: Any, given: str) -> dict[str, int]:
    """Return category -> how many reports say it; those who answer one attribute of a pair answer the other."""
    counts = aggregate.statistics[given].tolist()
    return dict(zip(aggregate.scheme.attributes[given].categories, counts, strict=True))


def is_withheld(aggregate: Any, given: str, fewest: int) -> bool:
    """Return whether a group has reports and fewer than so many; the numbers of all groups tell its own, and are refused."""
    return any(0 < n < fewest for n in reports_by_category(aggregate, given).values())


def refusal(sample: Sample, reporting: int, fewest: int) -> str:
    """Return why a group of these reports has no estimate, and what would do: its share must exceed three standard errors.

    reporting: how many reports name it or, where that is withheld with it, the smallest group beside it; each needs `fewest`.
    """
    if reporting < fewest:
        return f"{reporting:,} reports name this group or one beside it, which needs {fewest:,} (min_clients); collect more"
    share, error = sample.size / max(1, sample.n), sample.error / max(1, sample.n)
    noise = f"the group is {share:.2%} of the clients with a standard error of {error:.2%}"
    if share <= 0:
        return (
            f"{noise}, which no number of clients told from none; collect more or raise the other attribute's epsilon"
        )
    more = max(1.0, (constants.CLEAR_ERRORS * error / share) ** 2)
    return (
        f"{noise}: its {sample.effective_n:,.0f} effective reports cannot be told from none at every level; about "
        f"{2 * more:,.1f} times as many clients, or a larger epsilon of the other attribute, would do"
    )
