"""The ledger: what one client has spent, kept on the client's own machine, exactly.

Rule 1.  Charge, then draw.  A charge is in the store before the first word is drawn, so that a crash may waste budget and never
spends any unseen.
Rule 2.  A charge that would go beyond the total is refused with BudgetExceeded: nothing is written, nothing may be drawn.
Rule 3.  A charge with a name is made once: what is drawn again from the same keyed words (`memoization`) is the same answer and
reveals nothing new.  A charge without a name is made every time.

Epsilons add up, which is tight for pure differential privacy, and so do the deltas of Gaussian noise: releases that keep
(epsilon_i, delta_i) keep (sum epsilon_i, sum delta_i) together.  Neither total may be exceeded.  A budget is a rational plus
the logarithm of a rational; both parts are added exactly, and a doubt about which of two sums is larger is a refusal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Protocol

from dpcore.errors import BudgetExceeded, DPCoreError, SchemeError, exact
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
    written down, so it must not tell the answer.  delta: what goes with the cost, 0 without Gaussian noise.
    """

    attribute: str
    cost: Budget
    name: str = ""
    delta: Fraction = Fraction(0)


@dataclass(frozen=True)
class Ledger:
    """What a client may spend in all, and a store that remembers what it has spent.

    total, delta: the most that all charges may come to.  A store belongs to one client; deleting it resets the ledger.

    >>> ledger = Ledger(Budget.parse("1"), InMemory())
    >>> income = Charge(attribute="income", cost=Budget.parse("0.75"), name="first")
    >>> ledger.charge([income]), ledger.charge([income])
    (1, 0)
    >>> ledger.charge([Charge(attribute="income", cost=Budget.parse("0.75"))])
    Traceback (most recent call last):
    dpcore.errors.BudgetExceeded: epsilon 0.75 more would go beyond the total of 1, with 0.75 already spent; nothing was drawn
    """

    total: Budget
    store: Store
    delta: Fraction = Fraction(0)

    def charge(self, charges: Iterable[Charge]) -> int:
        """Make the charges of one release, all or none, and return how many were new.

        Raises BudgetExceeded where they go beyond the total, DPCoreError where the store cannot be trusted; then nothing is
        written and nothing may be drawn.
        """
        with self.store.held():
            entries = self._entries()
            paid = {entry.name for entry in entries}
            new = [charge for charge in charges if not charge.name or charge.name not in paid]
            if not new:
                return 0
            try:
                fits = self.total.covers(_sum([*entries, *new]))
            except SchemeError:  # beyond any budget there is
                fits = False
            if not fits:
                spent = _sum(entries).text if entries else "nothing"
                raise BudgetExceeded(
                    f"epsilon {_sum(new).text} more would go beyond the total of {self.total.text}, with {spent} already "
                    "spent; nothing was drawn"
                )
            before, more = _delta(entries), _delta(new)
            if before + more > self.delta:
                raise BudgetExceeded(
                    f"delta {float(more):g} more would go beyond the total delta of {float(self.delta):g}, with "
                    f"{float(before):g} already spent; nothing was drawn"
                )
            self.store.append(json.dumps([_row(charge) for charge in new], separators=(",", ":")))
            return len(new)

    def spent(self, attribute: str | None = None) -> Budget | None:
        """Return what all charges, or those of one attribute, come to; None where there are none."""
        entries = [entry for entry in self._entries() if attribute is None or entry.attribute == attribute]
        return _sum(entries) if entries else None

    def spent_delta(self) -> Fraction:
        """Return what the deltas of all charges come to."""
        return _delta(self._entries())

    def _entries(self) -> list[Charge]:
        try:
            return [_charge(*row) for line in self.store.lines() for row in json.loads(line)]
        except (ValueError, TypeError, SchemeError):
            raise DPCoreError(
                "the ledger has a damaged line, so the spent epsilon is unknown; restore the ledger before spending more"
            ) from None


def _row(charge: Charge) -> list[str]:
    """A charge as it is written; its delta where there is one."""
    row = [charge.attribute, charge.cost.text, charge.name]
    return [*row, str(charge.delta)] if charge.delta else row


def _charge(attribute: str, cost: str, name: str, delta: str = "0") -> Charge:
    exact_delta = exact(delta=delta)
    if exact_delta < 0:
        raise ValueError
    return Charge(attribute=attribute, cost=Budget.parse(cost), name=name, delta=exact_delta)


def _delta(charges: Iterable[Charge]) -> Fraction:
    return sum((charge.delta for charge in charges), Fraction(0))


def _sum(charges: Iterable[Charge]) -> Budget:
    return reduce(add, (charge.cost for charge in charges))
