"""Epsilon spent by clients, from the tokens in collected reports.

Each client has its own ledger (`privacy.ledger`), which nobody else sees.  The collector knows the number of reports of each
attribute in a round, an upper bound on the charges because memoized answers are charged once.  With tokens, it also knows the
number of reports of each client in the round, and so the largest epsilon of any client.  Clients without a token cannot be
distinguished.  Tokens are counted here and not stored, so no client is linked between rounds.
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
class TokenCharges:
    """Accepted reports of an attribute with a token: their number, the number of clients, the maximum per client."""

    known_charges: int
    known_clients: int
    most_charges: int


def token_charges(
    scheme: Scheme, files: Iterable[Path], without: Mapping[Path, np.ndarray] | None = None
) -> dict[str, TokenCharges]:
    """Return the charges by token of each attribute in some files of reports.

    without: file -> positions of excluded reports.  Raises InvalidReport or SchemeMismatch for a file without reports of the
    scheme.
    """
    heard: dict[str, list[np.ndarray]] = {name: [] for name in scheme.attributes}
    for file in files:
        for batch in wire.read_parts(file, scheme, without=(without or {}).get(file)):
            if batch.tokens is None or not (named := tokens.are_there(batch.tokens)).any():
                continue
            words = np.ascontiguousarray(batch.tokens).view(np.uint64)  # two words per token
            named &= accepted(scheme, batch)
            for name, parts in heard.items():
                clients = batch.of(name).clients
                parts.append(words[clients[named[clients]]])
    return {name: _counted(parts) for name, parts in heard.items()}


def with_token_charges(budgets: pd.DataFrame, charges: Mapping[str, TokenCharges]) -> pd.DataFrame:
    """Return rows of `budgets` with their charges by token."""
    columns = pd.DataFrame([{"attribute": name, **asdict(counts)} for name, counts in charges.items()])
    return budgets.drop(columns=[name for name in columns if name != "attribute"]).merge(columns, on="attribute")


def states(mechanism: Mechanism) -> int:
    """Return the maximum number of distinct answers of a client with a key: the number of states of its level.

    >>> from dpcore.mechanisms import RandomizedResponse
    >>> from dpcore.privacy.budget import Budget
    >>> states(RandomizedResponse.design(Budget.parse("1"), categories=5))
    5
    """
    cells = np.arange(mechanism.inputs)
    return max(len(np.unique(mechanism.states(cells, level))) for level in range(len(mechanism.sizes)))


def _counted(parts: list[np.ndarray]) -> TokenCharges:
    words = np.concatenate([np.zeros((0, 2), dtype=np.uint64), *parts])
    if not len(words):
        return TokenCharges(known_charges=0, known_clients=0, most_charges=0)
    ordered = words[np.lexsort(words.T)]
    begins = np.flatnonzero(np.concatenate([[True], np.any(ordered[1:] != ordered[:-1], axis=1)]))
    times = np.diff(np.append(begins, len(ordered)))
    return TokenCharges(known_charges=len(words), known_clients=len(times), most_charges=int(times.max()))
