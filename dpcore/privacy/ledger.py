"""The ledger: what one client has spent, kept on the client's own machine, exactly.

Rule 1.  Charge, then draw.  A charge is in the store before the first word is drawn, so that a crash may waste budget and never
spends any unseen.
Rule 2.  A charge that would go beyond the total is refused with BudgetExceeded: nothing is written, nothing may be drawn.
Rule 3.  A charge with a name is made once: what is drawn again from the same keyed words (`memoization`) is the same answer and
tells nothing new.  A charge without a name is made every time.

Epsilons add up, which is tight for pure differential privacy.  A budget is a rational plus the logarithm of a rational; both
parts are added exactly, and a doubt about which of two sums is larger is a refusal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Protocol

from dpcore.errors import BudgetExceeded, DPCoreError, SchemeError
from dpcore.privacy.budget import Budget


class Store(Protocol):
    """Where a ledger writes: lines that outlive the process."""

    def lines(self) -> list[str]:
        """Return every line that `append` has kept, oldest first; raises DPCoreError where they cannot be trusted."""

    def append(self, line: str) -> None:
        """Keep a line; it survives a crash once this has returned."""

    def held(self) -> AbstractContextManager[None]:
        """Return a context in which no other process reads or appends."""


class InMemory:
    """A store that forgets with the process: for a client that reports once, and for tests."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        return list(self._lines)

    def append(self, line: str) -> None:
        self._lines.append(line)

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What one answer costs.

    attribute: what was asked, '' where that is drawn.  name: what it is charged once for, '' for every time; it is
    written down, so it must not tell the answer.
    """

    attribute: str
    cost: Budget
    name: str = ""


@dataclass(frozen=True)
class Ledger:
    """What a client may spend in all, and a store that remembers what it has spent.

    total: the most that all charges may come to together.  A store belongs to one person: whoever deletes it starts anew.

    >>> ledger = Ledger(Budget.parse("1"), InMemory())
    >>> income = Charge(attribute="income", cost=Budget.parse("0.75"), name="first")
    >>> ledger.charge([income]), ledger.charge([income])
    (1, 0)
    >>> ledger.charge([Charge(attribute="income", cost=Budget.parse("0.75"))])
    Traceback (most recent call last):
    dpcore.errors.BudgetExceeded: 0.75 more would go beyond the total of 1, of which 0.75 is spent; nothing was drawn
    """

    total: Budget
    store: Store

    def charge(self, charges: Iterable[Charge]) -> int:
        """Make the charges of one release, all or none, and return how many were new.

        Raises BudgetExceeded where they go beyond the total, DPCoreError where the store cannot be trusted; then nothing is
        written and nothing may be drawn.
        """
        with self.store.held():
            entries = self._entries()
            known = {entry.name for entry in entries}
            new = [charge for charge in charges if not charge.name or charge.name not in known]
            if not new:
                return 0
            try:
                fits = self.total.covers(_sum([*entries, *new]))
            except SchemeError:  # beyond any budget there is
                fits = False
            if not fits:
                spent = _sum(entries).text if entries else "nothing"
                raise BudgetExceeded(
                    f"{_sum(new).text} more would go beyond the total of {self.total.text}, of which {spent} is spent; "
                    "nothing was drawn"
                )
            self.store.append(json.dumps([[c.attribute, c.cost.text, c.name] for c in new], separators=(",", ":")))
            return len(new)

    def spent(self, attribute: str | None = None) -> Budget | None:
        """Return what all charges, or those of one attribute, come to; None where there are none."""
        entries = [entry for entry in self._entries() if attribute is None or entry.attribute == attribute]
        return _sum(entries) if entries else None

    def _entries(self) -> list[Charge]:
        try:
            rows = [row for line in self.store.lines() for row in json.loads(line)]
            return [Charge(attribute=attribute, cost=Budget.parse(cost), name=name) for attribute, cost, name in rows]
        except (ValueError, TypeError, SchemeError):
            raise DPCoreError(
                "the ledger holds a line that no ledger wrote; what was spent is unknown, so nothing more may be"
            ) from None


def _sum(charges: Iterable[Charge]) -> Budget:
    return reduce(add, (charge.cost for charge in charges))
