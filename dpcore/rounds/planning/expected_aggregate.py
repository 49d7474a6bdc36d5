"""The expected aggregate: every count and sum equals its rounded mean, without randomness.

Its estimates have the standard errors that a round with so many clients will have, which the planner uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.categorical.hashed_sums import HashedSums
from dpcore.mechanisms.categorical.option_sets import SetSums
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import cell_law


def expected_aggregate(scheme: Scheme, people: Any, clients: int) -> Aggregate:
    """Return the expected aggregate of so many reports of every attribute; pairs are empty.

    people: a population, as for `simulate`.
    """
    zero = Aggregate.zero(scheme)
    statistics = {
        name: expected_statistics(attribute.mechanism, cell_law(attribute, people), clients)
        for name, attribute in scheme.attributes.items()
    }
    return Aggregate(scheme, clients, statistics, dict(zero.pairs), dict.fromkeys(scheme.attributes, clients))


def expected_statistics(mechanism: Mechanism, law: np.ndarray, n: int) -> np.ndarray:
    """Return the rounded means of the statistics of n reports, shape (S,), int64; law: (inputs,)."""
    model = mechanism.model()
    if isinstance(model, ScoreSums | SetSums | HashedSums):
        means = n * model.means(law)
    elif isinstance(model, FiniteChannel):
        means = model.expected(law, n * model.level_law)
    else:
        reports = n * (np.ones(len(model.tables)) if model.block_law is None else model.block_law)
        sums = [count * (law @ table) for count, table in zip(reports, model.tables, strict=True)]
        means = np.concatenate([reports, *sums])
    return np.rint(means).astype(np.int64)
