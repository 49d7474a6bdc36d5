"""Plans for a pair of attributes: the error of a joint functional for each design.

Either two separate answers with independent noise, which need no additional epsilon, or a joint attribute with one report on
both columns and the total epsilon.  Errors are those of the estimate from the expected aggregate, as for one attribute,
assuming independent attributes.
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
from dpcore.protocol.syntax import canonical
from dpcore.rounds.planning.assumed_population import expected_aggregate, expected_statistics
from dpcore.rounds.planning.search import LEAST_CLIENTS, MOST_CLIENTS, fewest_clients

TABLE = "table"
APART, TOGETHER = "two answers", "joint attribute"
_NUMBERS = {number.name: number for number in (Correlation(), RankCorrelation(), Covariance(), Slope())}
_AIM = re.compile(r"^\s*([a-z][a-z0-9_]*)\s*,\s*([a-z][a-z0-9_]*)\s*:\s*(.+?)\s*$")
_PARTS = 8  # ranges of a numeric attribute in a table


@dataclass(frozen=True)
class PairAim:
    """A joint functional: 'correlation', 'covariance', 'slope', 'rank_correlation', or 'table' for all cells.

    >>> PairAim.parse("income, age: correlation")
    PairAim(first='income', second='age', quantity='correlation')
    """

    first: str
    second: str
    quantity: str

    @classmethod
    def parse(cls, text: str) -> PairAim | None:
        """Return the aim written "ATTRIBUTE, ATTRIBUTE: QUANTITY", None for another form; SchemeError for another quantity."""
        match = _AIM.match(text)
        if match is not None and match[3] not in (*_NUMBERS, TABLE):
            raise SchemeError(
                f"aim {match[3]!r}: the planner supports {', '.join(_NUMBERS)} and {TABLE} for two attributes"
            )
        return None if match is None else cls(match[1], match[2], match[3])


@dataclass(frozen=True, kw_only=True)
class Way:
    """One design for both attributes.

    mechanisms; epsilon: of a client for both.  error: the standard error, for a table the root mean square over cells;
    whatever_the_law: of distribution-free intervals.  None if not available, with the reason.
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
    """The result: ways, smallest error first; is_found: whether the number of clients was computed."""

    aim: PairAim
    clients: int
    is_found: bool
    ways: tuple[Way, ...]
    people: str


def plan_pair(
    document: Mapping[str, Any], people: Any, aim: PairAim, *, clients: int | None = None, error: float | None = None
) -> PairPlan:
    """Return the error of each design, or the clients that the best design needs for a target error.

    document: the scheme's TOML.  people: a population.  Raises SchemeError if the scheme does not have both attributes, and
    NotEstimable if no number of clients suffices.
    """
    if error is not None and clients is not None:
        raise SchemeError("clients and error: for two attributes, give only one of them")
    schemes, planned = _ways(document, aim), int(document["clients"])
    if error is not None:
        check_positive(error=error)
        clients = fewest_clients(lambda number: _forecast(schemes, aim, people, number)[0].error, error, planned)
        if clients is None:
            raise NotEstimable(
                f"{aim.quantity} of {aim.first} and {aim.second}: an error of {error:g} needs more than {MOST_CLIENTS:,} "
                "clients; use a larger epsilon or a larger error"
            )
    clients = clients or planned
    check_within(LEAST_CLIENTS, MOST_CLIENTS, clients=clients)
    ways = _forecast(schemes, aim, people, clients)
    return PairPlan(aim=aim, clients=clients, is_found=error is not None, ways=ways, people=people.name)


def _ways(document: Mapping[str, Any], aim: PairAim) -> list[tuple[str, Scheme, bool]]:
    """The designs as schemes: two separate answers, or a joint attribute if both have the same type."""
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
            f"aim {aim.first}, {aim.second}: not two attributes of the scheme; it has {', '.join(attributes)}"
        )
    ways = [(APART, Scheme.from_toml(_written(plain | {"pairs": [list(names)], "attributes": apart})), not tables)]
    if together is not None:
        ways.append((TOGETHER, Scheme.from_toml(_written(plain | {"attributes": {"both": together}})), bool(tables)))
    return ways


def _together(first: Mapping[str, Any], second: Mapping[str, Any], names: tuple[str, str]) -> Mapping[str, Any] | None:
    """The table of a joint attribute with the total epsilon; None if the types differ."""
    epsilon = Budget.parse(first["epsilon"]) + Budget.parse(second["epsilon"])
    asked: dict[str, Any] = {"of": list(names), "epsilon": epsilon.text}
    if all("categories" in table for table in (first, second)):
        return asked | {"type": "categorical", "categories": [list(first["categories"]), list(second["categories"])]}
    if all("lower" in table for table in (first, second)):
        ends = {end: [first[end], second[end]] for end in ("lower", "upper")}
        return asked | {"type": "numeric"} | ends
    return None


def _apart(table: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Tables of the two columns of a joint attribute, each with half of its epsilon."""
    half = Budget.parse(f"{float(Budget.parse(table['epsilon'])) / 2:.6g}").text
    both = {}
    for place, name in enumerate(table["of"]):
        own = {key: table[key][place] for key in ("categories", "lower", "upper") if key in table}
        both[name] = {"type": table["type"], "epsilon": half} | own
    return both


def _written(document: Mapping[str, Any]) -> str:
    return canonical.dumps(document) + "\n"


def _forecast(schemes: list[tuple[str, Scheme, bool]], aim: PairAim, people: Any, clients: int) -> tuple[Way, ...]:
    ways = [_way(*scheme, aim, people, clients) for scheme in schemes]
    return tuple(sorted(ways, key=lambda way: math.inf if way.error is None else way.error))


def _way(name: str, scheme: Scheme, is_asked: bool, aim: PairAim, people: Any, clients: int) -> Way:
    common: dict[str, Any] = {
        "name": name,
        "mechanisms": " with ".join(attribute.mechanism.name for attribute in scheme.attributes.values()),
        "epsilon": scheme.budget,
        "is_asked": is_asked,
    }
    try:
        joint = pipeline.joint(_expected(scheme, people, clients), aim.first, aim.second)
        errors = [_error(joint, aim.quantity, free) for free in (False, True)]
    except (NotEstimable, SchemeError) as error:
        if is_asked and isinstance(error, SchemeError):
            raise
        return Way(**common, error=None, whatever_the_law=None, reason=str(error))
    return Way(**common, error=errors[0], whatever_the_law=errors[1])


def _error(joint: JointEstimate, quantity: str, distribution_free: bool) -> float | None:
    if quantity == TABLE:
        return None if distribution_free else float(np.sqrt(np.mean(joint.to_frame(_PARTS)["standard_error"] ** 2)))
    return joint.functional(_NUMBERS[quantity], distribution_free=distribution_free).standard_error


def _expected(scheme: Scheme, people: Any, clients: int) -> Aggregate:
    """The expected aggregate of clients with independent answers."""
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
    }  # not rounded: most cells of a large table have an expectation below one report
    return Aggregate(scheme, clients, alone.statistics, sums, alone.answered)
