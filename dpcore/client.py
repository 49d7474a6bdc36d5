"""The client: turns one record into one report, on the client's own machine.

The value is mapped to an input cell (public, deterministic), the mechanism draws integers from the given source, and only
those leave.  With a token, what must be fixed for life and known to both sides (the level of each attribute, and the
drawn unit where `reporting = "one"`) is a public hash of (token, digest, attribute), so that a server can check it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore._random import Source, keyed
from dpcore.errors import InvalidRecord
from dpcore.report import Report
from dpcore.scheme import Scheme


class Client:
    """One participant under one scheme.

    Every call of `report` spends `scheme.epsilon`, whatever was sent before.
    """

    def __init__(self, scheme: Scheme, random: Source, token: str | None = None) -> None:
        self._scheme = scheme
        self._random = random
        self._token = token

    def __repr__(self) -> str:
        return f"<Client of {self._scheme.name} {self._scheme.digest[:12]}>"

    def report(self, record: Mapping[str, Any]) -> Report:
        """Return the report of one record: a mapping from columns (or attribute names) to values.

        Raises InvalidRecord where a value is missing or not allowed; nothing has been drawn then.
        """
        cells = self._scheme.encode(record)
        if any(len(column) != 1 for column in cells.values()):
            raise InvalidRecord(
                "a client reports one record: expected one value for each attribute, got a column of them"
            )
        answers = {}
        for name in self._unit():
            mechanism = self._scheme.attributes[name].mechanism
            levels = None if self._token is None else mechanism.draw_levels(1, self._public(name))
            answer = mechanism.privatize(cells[name], self._random, levels)
            answers[name] = (int(answer.level[0]), tuple(int(value) for value in answer.values))
        return Report(self._scheme.digest, answers)

    def _unit(self) -> tuple[str, ...]:
        units = self._scheme.units
        if self._scheme.reporting == "all":
            return tuple(self._scheme.attributes)
        source = self._random if self._token is None else self._public("")
        return units[int(source.below(len(units), 1)[0])]

    def _public(self, attribute: str) -> Source:
        """The stream both sides can compute: keyed by a hash of the token, labelled by digest and attribute."""
        key = hashlib.sha256((self._token or "").encode()).digest()
        return keyed(key, self._scheme.digest, attribute)


def units_of(scheme: Scheme, n: int, random: Source) -> np.ndarray | None:
    """Return the drawn unit of each of n clients, shape (n,), or None where every client reports everything."""
    return None if scheme.reporting == "all" else random.below(len(scheme.units), n)
