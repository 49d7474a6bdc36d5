"""Two attributes together: what a number of both would have for an error, by each of the ways to ask for them.

Two answers, each with noise of its own, tell of both at no epsilon of their own; one report on both columns spends the same
epsilon at once.  Errors are those of the estimate of the expected aggregate, as for one attribute; people are planned with
who give both answers as if the two had nothing to do with each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore import pipeline
from dpcore.errors import NotEstimable, SchemeError, check_positive, check_within
from dpcore.estimation.joint.joint_estimate import JointEstimate
from dpcore.functionals.joint import Correlation, Covariance, RankCorrelation, Slope
from dpcore.privacy.budget import Budget
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import cell_law
from dpcore.protocol.syntax import toml_writer
from dpcore.rounds.planning.expected_aggregate import expected_aggregate, expected_statistics
from dpcore.rounds.planning.search import LEAST_CLIENTS, MOST_CLIENTS, fewest_clients

TABLE = "table"
APART, TOGETHER = "two answers", "asked together"
_NUMBERS = {number.name: number for number in (Correlation(), RankCorrelation(), Covariance(), Slope())}
_AIM = re.compile(r"^\s*([a-z][a-z0-9_]*)\s*,\s*([a-z][a-z0-9_]*)\s*:\s*(.+?)\s*$")
_PARTS = 8  # ranges of a number, in a table


@dataclass(frozen=True)
class PairAim:
    """A number of two attributes: 'correlation', 'covariance', 'slope', 'rank_correlation', or 'table', all of its cells.

    >>> PairAim.parse("income, age: correlation")
    PairAim(first='income', second='age', quantity='correlation')
    """

    first: str
    second: str
    quantity: str

    @classmethod
    def parse(cls, text: str) -> PairAim | None:
        """Return the aim written "ATTRIBUTE, ATTRIBUTE: QUANTITY", None of another; raises SchemeError for no such quantity."""
        match = _AIM.match(text)
        if match is not None and match[3] not in (*_NUMBERS, TABLE):
            raise SchemeError(
                f"of two attributes {', '.join(_NUMBERS)} or {TABLE} can be planned for; got {match[3]!r}"
            )
        return None if match is None else cls(match[1], match[2], match[3])


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to ask for both.

    mechanisms, epsilon: what answers, and what a client spends on both.  error: the standard error, of a table the root mean
    square of its cells'; whatever_the_law: of intervals that take no law to be smooth.  None where either is refused: reason.
    """

    name: str
    mechanisms: str
    epsilon: Budget
    error: float | None
    whatever_the_law: float | None
    reason: str = ""
    is_asked: bool = False


@dataclass(frozen=True, kw_only=True)
class PairPlan:
    """The answer: ways, the least error first, at so many clients, who were found where is_found."""

    aim: PairAim
    clients: int
    is_found: bool
    ways: tuple[Way, ...]
    people: str


def plan_pair(
    document: Mapping[str, Any], people: Any, aim: PairAim, *, clients: int | None = None, error: float | None = None
) -> PairPlan:
    """Return the error of each way; the clients whom the best way needs where an error is given.

    document: the scheme's TOML.  people: a population.  Raises SchemeError where the scheme does not ask for both or nothing
    within reach would do.
    """
    if error is not None and clients is not None:
        raise SchemeError("of two attributes clients or the error is found; give one of them")
    schemes, planned = _ways(document, aim), int(document["clients"])
    if error is not None:
        check_positive(error=error)
        found = fewest_clients(lambda clients: _forecast(schemes, aim, people, clients)[0].error, error, planned)
        if found is None:
            raise NotEstimable(
                f"not even {MOST_CLIENTS:,} clients would bring {aim.quantity} of {aim.first} and {aim.second} to {error:g}; "
                "raise epsilon or ask for less"
            )
        clients = found
    clients = clients or planned
    check_within(LEAST_CLIENTS, MOST_CLIENTS, clients=clients)
    ways = _forecast(schemes, aim, people, clients)
    return PairPlan(aim=aim, clients=clients, is_found=error is not None, ways=ways, people=people.name)


def _ways(document: Mapping[str, Any], aim: PairAim) -> list[tuple[str, Scheme, bool]]:
    """The schemes that ask for both: two answers, or one of both columns where their kinds are alike."""
    attributes, names = document["attributes"], (aim.first, aim.second)
    plain = {"name": document["name"], "clients": document["clients"]}
    tables = [table for table in attributes.values() if sorted(table.get("of", ())) == sorted(names)]
    if tables:
        together, apart = tables[0], _apart(tables[0])
    elif aim.first != aim.second and all(name in attributes for name in names):
        apart = {name: attributes[name] for name in names}
        together = _together(apart[aim.first], apart[aim.second], names)
    else:
        raise SchemeError(
            f"the scheme does not ask for {aim.first} and another, {aim.second}; it has {', '.join(attributes)}"
        )
    ways = [(APART, Scheme.from_toml(_written(plain | {"pairs": [list(names)], "attributes": apart})), not tables)]
    if together is not None:
        ways.append((TOGETHER, Scheme.from_toml(_written(plain | {"attributes": {"both": together}})), bool(tables)))
    return ways


def _together(first: Mapping[str, Any], second: Mapping[str, Any], names: tuple[str, str]) -> Mapping[str, Any] | None:
    """The table that asks both columns in one report, with the epsilon of both; None where their kinds differ."""
    epsilon = Budget.parse(first["epsilon"]) + Budget.parse(second["epsilon"])
    asked: dict[str, Any] = {"of": list(names), "epsilon": epsilon.text}
    if all("categories" in table for table in (first, second)):
        return asked | {"type": "categorical", "categories": [list(first["categories"]), list(second["categories"])]}
    if all("lower" in table for table in (first, second)):
        ends = {end: [first[end], second[end]] for end in ("lower", "upper")}
        return asked | {"type": "numeric"} | ends
    return None


def _apart(table: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Both columns of a table that asks them together, each with half of its epsilon."""
    half = Budget.parse(f"{float(Budget.parse(table['epsilon'])) / 2:.6g}").text
    both = {}
    for place, name in enumerate(table["of"]):
        own = {key: table[key][place] for key in ("categories", "lower", "upper") if key in table}
        both[name] = {"type": table["type"], "epsilon": half} | own
    return both


def _written(document: Mapping[str, Any]) -> str:
    return toml_writer.dumps(document) + "\n"


def _forecast(schemes: list[tuple[str, Scheme, bool]], aim: PairAim, people: Any, clients: int) -> tuple[Way, ...]:
    ways = [_way(*scheme, aim, people, clients) for scheme in schemes]
    return tuple(sorted(ways, key=lambda way: math.inf if way.error is None else way.error))


def _way(name: str, scheme: Scheme, is_asked: bool, aim: PairAim, people: Any, clients: int) -> Way:
    told: dict[str, Any] = {
        "name": name,
        "mechanisms": " with ".join(attribute.mechanism.name for attribute in scheme.attributes.values()),
        "epsilon": scheme.budget,
        "is_asked": is_asked,
    }
    try:
        found = pipeline.joint(_expected(scheme, people, clients), aim.first, aim.second)
        errors = [_error(found, aim.quantity, free) for free in (False, True)]
    except (NotEstimable, SchemeError) as why:
        if is_asked and isinstance(why, SchemeError):
            raise
        return Way(**told, error=None, whatever_the_law=None, reason=str(why))
    return Way(**told, error=errors[0], whatever_the_law=errors[1])


def _error(found: JointEstimate, quantity: str, distribution_free: bool) -> float | None:
    if quantity == TABLE:
        return None if distribution_free else float(np.sqrt(np.mean(found.to_frame(_PARTS)["standard_error"] ** 2)))
    return found.functional(_NUMBERS[quantity], distribution_free=distribution_free).standard_error


def _expected(scheme: Scheme, people: Any, clients: int) -> Aggregate:
    """The expected aggregate of people whose two answers have nothing to do with each other."""
    if not scheme.pairs:
        [attribute] = scheme.attributes.values()
        law = np.zeros(attribute.mechanism.inputs)
        both = np.outer(*(cell_law(side, people) for side in attribute.sides)).ravel()
        law[attribute.cells if attribute.categories else slice(None)] = both
        statistics = {attribute.name: expected_statistics(attribute.mechanism, law, clients)}
        return Aggregate(scheme, clients, statistics, {}, {attribute.name: clients})
    alone = expected_aggregate(scheme, people, clients)
    sums = {
        (a, b): np.outer(alone.statistics[b], alone.statistics[a] / clients) for a, b in scheme.pairs
    }  # no integers: most cells of a large table are expected to hold less than one report
    return Aggregate(scheme, clients, alone.statistics, sums, alone.answered)
