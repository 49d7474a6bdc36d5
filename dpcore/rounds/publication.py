"""The central epsilon by shuffling of a round, for its rows of `budgets` and `schemes`; not available if reports are linked.

The relevant number of reports is that of the smallest published group: by label, and by batch because of the check
`homogeneity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dpcore.privacy.shuffling.condition import FEWEST, Publication
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.label_sums import members
from dpcore.results import warehouse
from dpcore.results.tables.spending import TokenCharges
from dpcore.rounds.run import Run

if TYPE_CHECKING:
    from dpcore.audit.publication import CentralGuarantee


def revealed(
    run: Run, aggregate: Aggregate, parts: Sequence[Aggregate], charges: Mapping[str, TokenCharges]
) -> CentralGuarantee:
    """Return the central epsilon by shuffling of the round.

    parts: the aggregates of batches in order of arrival.  charges: by token.
    """
    from dpcore.audit.publication import central_guarantee  # a slow import

    plan = run.plan
    reports = min(_least(part, plan.min_clients) for part in (aggregate, *_gathered(parts)))
    before = warehouse.accepted_before(plan.warehouse, run.scheme.digest, plan.round, plan.run_id)
    publication = Publication(
        tokens=any(charge.known_charges for charge in charges.values()),
        keeps_reports=plan.keep_reports,
        in_order=any(accepted != aggregate.n for accepted in before),
        least_cell=reports,
    )
    return central_guarantee(run.scheme, max(reports, 1), publication=publication, attacked=True)


def with_central_epsilon(tables: Mapping[str, pd.DataFrame], published: CentralGuarantee) -> dict[str, pd.DataFrame]:
    """Return `budgets` and `schemes` with the columns on published aggregates."""
    figures = [published.attributes.get(name) for name in tables["budgets"]["attribute"]]
    rows = [(None,) * 3 if figure is None else (figure.epsilon, figure.delta, figure.low) for figure in figures]
    epsilons, deltas, least = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    whole = published.whole
    return {
        "budgets": tables["budgets"].assign(published_epsilon=epsilons, published_delta=deltas, published_least=least),
        "schemes": tables["schemes"].assign(
            published_epsilon=np.nan if whole is None else whole.epsilon,
            published_delta=np.nan if whole is None else whole.delta,
            published_crowd=published.reports,
            unpublished="; ".join(published.refusals),
        ),
    }


def _gathered(parts: Sequence[Aggregate]) -> list[Aggregate]:
    """Merge consecutive batches until none is small; the remainder is added to the last one."""
    gathered: list[Aggregate] = []
    for part in parts:
        if gathered and gathered[-1].n < FEWEST:
            gathered[-1] = gathered[-1].merge(part)
        else:
            gathered.append(part)
    if len(gathered) > 1 and gathered[-1].n < FEWEST:
        last = gathered.pop()
        gathered[-1] = gathered[-1].merge(last)
    return gathered


def _least(aggregate: Aggregate, fewest: int) -> int:
    """Number of reports in the smallest published group, by one label or by all of them; all reports without groups.

    A category can be shown although each of its combinations with other labels is too small to be shown.
    """
    if aggregate.labelled is None:
        return aggregate.n
    counts, scheme = aggregate.labelled.n, aggregate.scheme
    by_label = [
        counts[members(scheme, name, category)].sum()
        for name, label in scheme.labels.items()
        for category in label.categories
    ]
    sizes = np.append(counts, by_label)
    shown = sizes[sizes >= max(fewest, 1)]
    return int(shown.min()) if shown.size else aggregate.n
