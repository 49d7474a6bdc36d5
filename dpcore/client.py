"""The client: turns one record into one report, on the client's own machine.

The value is mapped to an input cell (public, deterministic), the mechanism draws integers from the given source, and only
those leave.  With a token, what must be fixed for life and known to both sides is a public hash of it (`tokens`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore import tokens
from dpcore._random import Source
from dpcore.errors import InvalidRecord
from dpcore.report import Report
from dpcore.scheme import Scheme


class Client:
    """One participant under one scheme.

    random: where words come from, in this order: four for the report's id, the unit where it is drawn, then each attribute's
    level and noise.  token: what `dpcore.tokens.token_of` makes of a secret, or any text that the collector gave out.

    Every call of `report` spends `scheme.epsilon`, whatever was sent before.
    """

    def __init__(self, scheme: Scheme, random: Source, token: str | None = None) -> None:
        self._scheme = scheme
        self._random = random
        self._token = token

    def __repr__(self) -> str:
        return f"<Client of {self._scheme.name} {self._scheme.digest[:12]}>"

    def report(self, record: Mapping[str, Any], round_: str = "") -> Report:
        """Return the report of one record: a mapping from columns (or attribute names) to values.

        round_: the round it is sent for, '' for whichever counts it.

        Raises InvalidRecord where a value is missing or not allowed; nothing has been drawn then.
        """
        cells = self._scheme.encode(record)
        if any(len(column) != 1 for column in cells.values()):
            raise InvalidRecord(
                "a client reports one record: expected one value for each attribute, got a column of them"
            )
        own_name = self._random.words(tokens.NAME_BYTES // 4).astype("<u4").tobytes()
        if self._token is None:
            levels = dict.fromkeys(tokens.unit(self._scheme, None, self._random))
        else:
            levels = dict(tokens.public_levels(self._scheme, self._token))
        answers = {}
        for name, level in levels.items():
            fixed = None if level is None else np.array([level], dtype=np.uint8)
            answer = self._scheme.attributes[name].mechanism.privatize(cells[name], self._random, fixed)
            answers[name] = (int(answer.level[0]), tuple(int(value) for value in answer.values))
        return Report(self._scheme.digest, answers, tokens.to_text(own_name), self._token, round_)


def units_of(scheme: Scheme, n: int, random: Source) -> np.ndarray | None:
    """Return the drawn unit of each of n clients, shape (n,), or None where every client reports everything."""
    return None if scheme.reporting == "all" else random.below(len(scheme.units), n)
