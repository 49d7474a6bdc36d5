"""Inputs and results of the planner."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.errors import SchemeError
from dpcore.privacy.budget import Budget

if TYPE_CHECKING:
    from dpcore.audit.publication import CentralGuarantee

DENSITY = "density"
VISIBLE = "visible_share"  # of texts: from which one is found with a probability of about 0.8
FREQUENCY = re.compile(r"^frequency\((.+)\)$")
_AIM = re.compile(r"^\s*([a-z][a-z0-9_]*)\s*:\s*(.+?)\s*$")


@dataclass(frozen=True)
class Aim:
    """A quantity of one attribute: a functional's name, 'frequency(CATEGORY)', 'density', or 'visible_share' of texts.

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
                f'aim {text!r}: must be "ATTRIBUTE: QUANTITY", such as "income: mean", "race: frequency(asian)" or '
                '"income: density"'
            )
        return cls(match[1], match[2])


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The expected result for an attribute.

    error: the standard error in the aim's unit, for a density the relative error, for texts the visible share; None if no
    estimate would be available.
    value: of the quantity in the assumed population; None for a density.  reason: why no estimate would be available.
    """

    mechanism: str
    error: float | None
    value: float | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The result; missing: the computed one of 'clients', 'epsilon' and 'error'.

    unit: of the error.  forecast: for the planned scheme.  choices: the forecast and those of all other mechanisms with their
    defaults, smallest error first.  needed: the clients or epsilon (see `missing`) that the first of them needs for the same
    aim. limit: lower bound on the error of any mechanism for this quantity and population; None if unknown.
    of_curve: ratio of a density's error to the lower bound for any mechanism near the uniform density; None if unknown.
    may_be_silent: whether item nonresponse can reduce the number of answers.
    one_bin: the error of a distribution function at a value if the attribute asks for nothing else, otherwise None.
    total: epsilon of a client in one round for all attributes.  delta, total_delta: the corresponding deltas.
    published: the central epsilon by shuffling.
    people: name of the assumed population.
    """

    aim: Aim
    missing: str
    clients: int
    epsilon: Budget
    total: Budget
    published: CentralGuarantee
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
        """The choice with the smallest error."""
        return self.choices[0]
