"""What is asked of the planner, and what it answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.errors import SchemeError
from dpcore.privacy.budget import Budget

if TYPE_CHECKING:
    from dpcore.audit.publication import Crowd

DENSITY = "density"
FREQUENCY = re.compile(r"^frequency\((.+)\)$")
_AIM = re.compile(r"^\s*([a-z][a-z0-9_]*)\s*:\s*(.+?)\s*$")


@dataclass(frozen=True)
class Aim:
    """A number of one attribute: a functional's name, 'frequency(CATEGORY)', or 'density'.

    >>> Aim.parse("income: quantile(0.5)")
    Aim(attribute='income', quantity='quantile(0.5)')
    """

    attribute: str
    quantity: str

    @classmethod
    def parse(cls, text: str) -> Aim:
        """Return the aim written "ATTRIBUTE: QUANTITY"; raises SchemeError for anything else."""
        match = _AIM.match(text)
        if match is None:
            raise SchemeError(
                f'an aim is "ATTRIBUTE: QUANTITY", such as "income: mean", "race: frequency(asian)" or "income: density"; '
                f"got {text!r}"
            )
        return cls(match[1], match[2])


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What an attribute's reports will say.

    error: the standard error in the aim's unit, or of a density the relative error; None where the estimate would refuse.
    value: of the quantity among the people planned for; None for a density.  reason: why it is refused.
    """

    mechanism: str
    error: float | None
    value: float | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The answer; missing: which of 'clients', 'epsilon' and 'error' was found.

    unit: of the error.  forecast: of the scheme as planned.  choices: beside it every other mechanism by its own defaults, the
    least error first.  needed: the clients or the epsilon (as `missing` says) that the first of them needs for the same aim.
    limit: an error below which no mechanism comes among these people, made for this number alone; None where none is known.
    of_curve: a density's error over the least of any mechanism, of densities near the uniform one; None where none is known.
    may_be_silent: whether the number is of those who answered, who may be fewer than were planned with.
    one_bin: the error of a number's distribution function at a value where nothing else of the number is asked, else None.
    total: what a client then spends in one round, all attributes together.  delta, total_delta: what goes with either.
    published: what the round then tells whoever sees its results alone.
    people: whose law was planned with.
    """

    aim: Aim
    missing: str
    clients: int
    epsilon: Budget
    total: Budget
    published: Crowd
    delta: Fraction
    total_delta: Fraction
    error: float
    unit: str
    people: str
    forecast: Forecast
    choices: tuple[Forecast, ...]
    needed: int | Budget | None
    limit: float | None
    of_curve: float | None
    may_be_silent: bool
    one_bin: float | None

    @property
    def best(self) -> Forecast:
        """The choice with the least error."""
        return self.choices[0]
