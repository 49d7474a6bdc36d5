"""The central epsilon by shuffling of a round, for its rows of `budgets` and `schemes`; not available if reports are linked.

The relevant number of reports is that of the smallest set of clients whom nothing published distinguishes: by labels, and by
batch because of the check `homogeneity`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dpcore.privacy.shuffling.central_epsilon import FEWEST, Publication
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.label_sums import members
from dpcore.results import warehouse
from dpcore.results.tables.spending import TokenCharges
from dpcore.rounds.run import Run

if TYPE_CHECKING:
    from dpcore.audit.publication import CentralGuarantee
    from dpcore.pipeline import Round


def revealed(
    run: Run,
    aggregate: Aggregate,
    batches: Sequence[Aggregate],
    cells: np.ndarray,
    charges: Mapping[str, TokenCharges],
) -> CentralGuarantee:
    """Return the central epsilon by shuffling of the round.

    batches: the aggregates that the checks compare, see `gathered`.  cells: as from `alike`.  charges: by token.
    """
    from dpcore.audit.publication import central_guarantee  # a slow import

    plan = run.plan
    sizes = np.concatenate([_sizes(part, cells) for part in (aggregate, *batches)])
    reports = int(sizes[sizes > 0].min())
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


def alike(estimates: Round) -> np.ndarray:
    """Return a number for each combination of labels, (C,); equal where everything published adds them with the same weight.

    What is published is then a function of the reports' sums over each such set, and a respondent hides in a set as large as
    the smallest.  Sums over larger sets do not suffice: a respondent is in one of each label, and they can be subtracted.
    """
    scheme = estimates.aggregate.scheme
    cells = math.prod(len(label.categories) for label in scheme.labels.values())
    rows = [np.zeros(cells)]
    groups = {group for _, group in estimates.labelled}
    rows += [members(scheme, group.attribute, group.category) for group in groups]
    rows += [one.cells for one in estimates.regressions.values() if not isinstance(one, str)]
    rows += [] if estimates.weights is None else [estimates.weights.values]
    _, numbers = np.unique(np.array(rows, dtype=np.float64), axis=1, return_inverse=True)
    return np.asarray(numbers.ravel())


def gathered(parts: Sequence[Aggregate], cells: np.ndarray) -> list[Aggregate]:
    """Merge consecutive batches until each set of clients has enough reports for a central epsilon; the rest joins the last.

    cells: as from `alike`.  Sets without enough reports in all batches do not count.
    """
    total = reduce(add, (_sizes(part, cells) for part in parts), np.zeros(1, dtype=np.int64))
    counted = total >= FEWEST
    whole: list[Aggregate] = []
    rest: Aggregate | None = None
    for part in parts:
        rest = part if rest is None else rest.merge(part)
        if (_sizes(rest, cells)[counted] >= FEWEST).all():
            whole.append(rest)
            rest = None
    if rest is not None:
        whole[-1:] = [whole[-1].merge(rest) if whole else rest]
    return whole


def _sizes(aggregate: Aggregate, cells: np.ndarray) -> np.ndarray:
    """Number of reports of each set of clients; of all of them in a scheme without labels."""
    counts = np.array([aggregate.n]) if aggregate.labelled is None else aggregate.labelled.n
    return np.bincount(cells, counts).astype(np.int64)
