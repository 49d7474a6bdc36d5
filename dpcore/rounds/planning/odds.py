"""The epsilons for given odds of guessing an answer, and those of published deployments to compare with.

The odds are of one attribute, or of all attributes of a scheme.  (1) They are those of the most informative report, so they are
valid for every mechanism.  (2) The results are conservative: each epsilon is rounded down, and for all attributes together the
odds of the changed scheme are enumerated.  The deployments are from the slides of [Szabo2024].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from dpcore.errors import SchemeError
from dpcore.privacy.budget import Budget
from dpcore.privacy.odds import Odds, budget_of
from dpcore.protocol.odds import SchemeOdds, scheme_odds
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax import canonical

_FIXED = ("client", "design")  # keys that depend on epsilon
_DIGITS = 3
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR)


@dataclass(frozen=True, eq=False, kw_only=True)
class OddsPlan:
    """Epsilons for odds of at most `worst` after so many rounds with fresh noise.

    alone: epsilon of a single attribute.  together: attribute -> epsilon, those of the scheme multiplied by one factor; total:
    their sum.  now, epsilons, epsilon: those of the scheme.  then: the odds with the new epsilons.
    """

    worst: Fraction
    rounds: int
    alone: Budget
    together: Mapping[str, Budget]
    now: SchemeOdds
    then: Odds
    epsilons: Mapping[str, Budget]
    epsilon: Budget
    total: Budget


def plan_odds(document: Mapping[str, Any], worst: Fraction, rounds: int = 1) -> OddsPlan:
    """Return the epsilons for which the probability of a correct guess from the most informative report is at most `worst`.

    document: the scheme's TOML, decimals as texts.  worst: above 1/2, below 1.
    Raises SchemeError if it is not, or if no mechanism supports such a small epsilon.

    >>> question = {"type": "categorical", "categories": ["yes", "no"], "epsilon": "1"}
    >>> plan_odds({"name": "one", "attributes": {"smokes": question}}, Fraction("0.75")).alone.text
    'ln 3'
    """
    scheme = _parsed(document)
    largest = budget_of(worst, rounds)
    alone = _simple(largest)
    factor = largest.floor / _above(scheme.budget)
    together = {
        name: alone if len(scheme.attributes) == 1 else _down(attribute.budget.floor * factor)
        for name, attribute in scheme.attributes.items()
    }
    changed = {**document, "attributes": dict(document["attributes"])}
    for name, budget in together.items():
        table = document["attributes"][name]
        own = {key: value for key, value in table.items() if key not in _FIXED}
        changed["attributes"][name] = own | {"epsilon": budget.text}
    planned = _parsed(changed)
    then = scheme_odds(planned, rounds).after
    if then.worst > worst:
        raise SchemeError(f"odds {float(worst):g}: no epsilons attain them; use fewer attributes")
    return OddsPlan(
        worst=worst,
        rounds=rounds,
        alone=alone,
        together=together,
        now=scheme_odds(scheme, rounds),
        then=then,
        epsilons={name: attribute.budget for name, attribute in scheme.attributes.items()},
        epsilon=scheme.budget,
        total=planned.budget,
    )


def _simple(budget: Budget) -> Budget:
    """The budget itself if it is the logarithm of an integer, otherwise three digits, rounded down."""
    return budget if budget.rational == 0 and budget.ratio.denominator == 1 else _down(budget.floor)


def _down(epsilon: Fraction) -> Budget:
    return Budget(rational=Fraction(_DOWN.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))))


def _above(budget: Budget) -> Fraction:
    return budget.floor + Fraction(1, 1 << 76)


def _parsed(document: Mapping[str, Any]) -> Scheme:
    return Scheme.from_toml(canonical.dumps(document) + "\n")


@dataclass(frozen=True)
class Published:
    """A deployment; low and high: epsilons, natural-log units.  delta: the largest one, 0 for none.

    trust: 'local' if devices add the noise, 'central' if a curator does.
    """

    organization: str
    low: float
    high: float
    delta: float
    trust: str


PUBLISHED = (
    Published("Apple", 2.0, 8.0, 0.0, "local"),
    Published("Google", 0.6, 10.0, 1e-10, "local"),
    Published("Microsoft", 1.67, 4.7, 1e-5, "local"),
    Published("US Census, County Business Patterns", 34.9, 34.9, 1e-5, "central"),
    Published("US Census, 2020 Decennial", 13.64, 49.2, 1e-5, "central"),
)
