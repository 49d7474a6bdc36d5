"""What publishing a round tells of a person, beside what its tables say of budgets; refused where reports are linked.

The crowd is the smallest group whose numbers are shown: by label, and by batch, as the check `homogeneity` compares batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dpcore.privacy.shuffling.condition import FEWEST, Publication
from dpcore.protocol.aggregates import Aggregate
from dpcore.results import warehouse
from dpcore.results.tables.spending import TokenCharges
from dpcore.rounds.run import Run

if TYPE_CHECKING:
    from dpcore.audit.publication import Crowd


def revealed(run: Run, aggregate: Aggregate, parts: Sequence[Aggregate], known: Mapping[str, TokenCharges]) -> Crowd:
    """Return what publishing the round tells of one of its people.

    parts: the aggregates of batches as they came.  known: what tokens show of them.
    """
    from dpcore.audit.publication import crowd  # with all that enumerates

    plan = run.plan
    reports = min(_least(part, plan.min_clients) for part in (aggregate, *_gathered(parts)))
    before = warehouse.accepted_before(plan.warehouse, run.scheme.digest, plan.round, plan.run_id)
    publication = Publication(
        tokens=any(each.known_charges for each in known.values()),
        kept=plan.keep_reports,
        in_order=any(accepted != aggregate.n for accepted in before),
        least_cell=reports,
    )
    return crowd(run.scheme, max(reports, 1), publication=publication, attacked=True)


def beside(tables: Mapping[str, pd.DataFrame], told: Crowd) -> dict[str, pd.DataFrame]:
    """Return `budgets` and `schemes` with what publication tells."""
    figures = [told.attributes.get(name) for name in tables["budgets"]["attribute"]]
    rows = [(None,) * 3 if figure is None else (figure.epsilon, figure.delta, figure.low) for figure in figures]
    epsilons, deltas, least = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    whole = told.whole
    return {
        "budgets": tables["budgets"].assign(published_epsilon=epsilons, published_delta=deltas, published_least=least),
        "schemes": tables["schemes"].assign(
            published_epsilon=np.nan if whole is None else whole.epsilon,
            published_delta=np.nan if whole is None else whole.delta,
            published_crowd=told.reports,
            unpublished="; ".join(told.refusals),
        ),
    }


def _gathered(parts: Sequence[Aggregate]) -> list[Aggregate]:
    """Batches that came one after another, together until they are no longer small; what is left is of the last."""
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
    """The reports of the smallest group that is shown; all of them where none is."""
    if aggregate.labelled is None:
        return aggregate.n
    counts = aggregate.labelled.n
    shown = counts[counts >= max(fewest, 1)]
    return int(shown.min()) if shown.size else aggregate.n
