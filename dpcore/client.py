"""The client: turns one record into one report, on the client's own machine.

The value is mapped to an input cell (public, deterministic), the cost is charged, the mechanism draws integers from the given
source, and only those leave.  With a token, what must be fixed for life and known to both sides is a public hash of it
(`tokens`).  With a secret, answers are memoized (`privacy.memoization`).
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

    random: where words come from, in this order: four for the report's id, the unit where it is drawn, then each attribute's
    level and noise.  token: what `dpcore.protocol.tokens.token_of` makes of a secret, or any text that the collector gave out.
    secret: at least 16 bytes, kept for life in place of a token, which is made of it; `random` then draws ids only, and what is
    asked again gets the same answer.  ledger: what every report is charged to before it is drawn.

    Without a secret every call of `report` spends `scheme.epsilon`, whatever was sent before; with one, each new state of an
    attribute spends its epsilon once.
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
            raise TypeError("give a token or the secret it is made of, not both")
        self._scheme = scheme
        self._random = random
        self._memory = None if secret is None else Memory(secret, scheme.digest)
        self._token = token if secret is None else tokens.token_of(secret, scheme.digest)
        self._ledger = ledger

    def __repr__(self) -> str:
        return f"<Client of {self._scheme.name} {self._scheme.digest[:12]}>"

    def report(self, record: Mapping[str, Any], round_: str = "") -> Report:
        """Return the report of one record: a mapping from columns (or attribute names) to values.

        round_: the round it is sent for, '' for whichever counts it.

        Raises InvalidRecord where a value is missing or not allowed, BudgetExceeded where the ledger has not enough left;
        nothing has been drawn then.
        """
        cells = self._scheme.encode(record)
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
        """What a report costs: its attributes' budgets, or the dearest unit's where the unit is yet to be drawn."""
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
