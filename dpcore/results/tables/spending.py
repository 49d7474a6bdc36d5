"""The ledgers' other side: what a collector knows of what clients have spent.

Each client keeps its own ledger (`privacy.ledger`), and nobody else sees it.  A collector knows how often each attribute was
answered in a round: all charges together, at most, as a memoized answer may have been paid for before.  Of clients that send
a token it knows how often each of them was heard in the round, and so the most that any of them can have spent in it.  Of
those without a token it does not know whether they are new people or one person again; and it links nobody from round to
round: tokens are counted here, and go no further.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dpcore import wire
from dpcore.mechanisms import Mechanism
from dpcore.protocol import tokens
from dpcore.protocol.aggregates import accepted
from dpcore.protocol.scheme import Scheme


@dataclass(frozen=True, kw_only=True)
class Known:
    """Of the accepted answers to an attribute in a round: those of clients with a token, those clients, the most of any."""

    known_charges: int
    known_clients: int
    most_charges: int


def known_spending(
    scheme: Scheme, files: Iterable[Path], without: Mapping[Path, np.ndarray] | None = None
) -> dict[str, Known]:
    """Return what the tokens in some files of reports show, attribute by attribute.

    without: file -> positions of reports that were left out.  Raises InvalidReport or SchemeMismatch for a file that is not one
    of the scheme's reports.
    """
    heard: dict[str, list[np.ndarray]] = {name: [] for name in scheme.attributes}
    for file in files:
        for batch in wire.read_parts(file, scheme, without=(without or {}).get(file)):
            if batch.tokens is None or not (named := tokens.are_there(batch.tokens)).any():
                continue
            words = np.ascontiguousarray(batch.tokens).view(np.uint64)  # two to a token
            named &= accepted(scheme, batch)
            for name, parts in heard.items():
                clients = batch.of(name).clients
                parts.append(words[clients[named[clients]]])
    return {name: _counted(parts) for name, parts in heard.items()}


def beside(budgets: pd.DataFrame, known: Mapping[str, Known]) -> pd.DataFrame:
    """Return rows of `budgets` with what is known of their charges."""
    columns = pd.DataFrame([{"attribute": name, **asdict(counts)} for name, counts in known.items()])
    return budgets.drop(columns=[name for name in columns if name != "attribute"]).merge(columns, on="attribute")


def states(mechanism: Mechanism) -> int:
    """Return how many answers a client with a key can be charged for in its life: the states of its level.

    >>> from dpcore.mechanisms import RandomizedResponse
    >>> from dpcore.privacy.budget import Budget
    >>> states(RandomizedResponse.design(Budget.parse("1"), categories=5))
    5
    """
    cells = np.arange(mechanism.inputs)
    return max(len(np.unique(mechanism.states(cells, level))) for level in range(len(mechanism.sizes)))


def _counted(parts: list[np.ndarray]) -> Known:
    words = np.concatenate([np.zeros((0, 2), dtype=np.uint64), *parts])
    if not len(words):
        return Known(known_charges=0, known_clients=0, most_charges=0)
    ordered = words[np.lexsort(words.T)]
    begins = np.flatnonzero(np.concatenate([[True], np.any(ordered[1:] != ordered[:-1], axis=1)]))
    times = np.diff(np.append(begins, len(ordered)))
    return Known(known_charges=len(words), known_clients=len(times), most_charges=int(times.max()))
