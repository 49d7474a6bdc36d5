"""The client: turns one record into one report, on the client's own machine.

It maps the value to an input cell (public, deterministic), charges the cost, and draws integers with the mechanism; only these
integers leave the machine.  With a token, level and unit are a public hash of it, permanent and known to both sides (`tokens`).
With a secret, answers are memoized (`privacy.memoization`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import InvalidRecord
from dpcore.privacy.ledger import Charge, Ledger
from dpcore.privacy.memoization import Memory
from dpcore.protocol import tokens
from dpcore.protocol.report import Report
from dpcore.protocol.scheme import Scheme


class Client:
    """One participant under one scheme.

    random: source of the words, in this order: four for the report's id, the unit if it is drawn, then level and noise of each
    attribute.  token: the result of `dpcore.protocol.tokens.token_of` for a secret, or any text issued by the collector.
    secret: at least 16 bytes, permanent; replaces the token, which is derived from it.  `random` then draws ids only, and a
    repeated question gets the same answer.  ledger: every report is charged to it before it is drawn.

    Without a secret, every call of `report` spends `scheme.epsilon`, whatever was sent before.  With a secret, each new state
    of an attribute spends its epsilon once.
    """

    def __init__(
        self,
        scheme: Scheme,
        random: Source,
        token: str | None = None,
        *,
        secret: bytes | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        scheme.check_asked()
        if token is not None and secret is not None:
            raise TypeError("pass a token or a secret, not both; a token is derived from a secret")
        self._scheme = scheme
        self._random = random
        self._memory = None if secret is None else Memory(secret, scheme.digest)
        self._token = token if secret is None else tokens.token_of(secret, scheme.digest)
        self._ledger = ledger

    def __repr__(self) -> str:
        return f"<Client of {self._scheme.name} {self._scheme.digest[:12]}>"

    def report(self, record: Mapping[str, Any], round_: str = "") -> Report:
        """Return the report of one record: a mapping from columns (or attribute names) to values.

        round_: the round that the report is for, '' for any round.

        Raises InvalidRecord if a value is missing or not allowed, and BudgetExceeded if the ledger's rest is too small; nothing
        is drawn in either case.
        """
        cells = self._scheme.encode({column: [value] for column, value in record.items()})  # lists are sets
        if any(len(column) != 1 for column in cells.values()):
            raise InvalidRecord(
                "a client reports one record: expected one value for each attribute, got a column of them"
            )
        fixed = None if self._token is None else tokens.public_levels(self._scheme, self._token)
        if self._ledger is not None:
            self._ledger.charge(self._charges(cells, fixed))
        own_name = self._random.words(tokens.NAME_BYTES // 4).astype("<u4").tobytes()
        answers = {}
        for name in fixed or tokens.unit(self._scheme, None, self._random):
            level = None if fixed is None else np.array([fixed[name]], dtype=np.uint8)
            source = self._source(name, cells, fixed)
            answer = self._scheme.attributes[name].mechanism.privatize(cells[name], source, level)
            answers[name] = (int(answer.level[0]), tuple(int(value) for value in answer.values))
        answers |= {label: (0, (int(cells[label][0]),)) for label in self._scheme.labels}
        return Report(self._scheme.digest, answers, tokens.to_text(own_name), self._token, round_)

    def _charges(self, cells: Mapping[str, np.ndarray], fixed: Mapping[str, int] | None) -> list[Charge]:
        """Return the cost of a report: its attributes' budgets, or the largest per-unit loss if the unit is not drawn yet."""
        if fixed is None and self._scheme.reporting == "one":
            return [Charge(attribute="", cost=self._scheme.budget, delta=self._scheme.delta)]
        charges = []
        for name in self._scheme.attributes if fixed is None else fixed:
            named = ""
            if self._memory is not None and fixed is not None:
                named = self._memory.name(name, fixed[name], self._state(name, cells, fixed[name]))
            asked = self._scheme.attributes[name]
            charges.append(Charge(attribute=name, cost=asked.budget, name=named, delta=asked.delta))
        return charges

    def _source(self, name: str, cells: Mapping[str, np.ndarray], fixed: Mapping[str, int] | None) -> Source:
        if self._memory is None or fixed is None:
            return self._random
        return self._memory.words(name, fixed[name], self._state(name, cells, fixed[name]))

    def _state(self, name: str, cells: Mapping[str, np.ndarray], level: int) -> int:
        return int(self._scheme.attributes[name].mechanism.states(cells[name], level)[0])
