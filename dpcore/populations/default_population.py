"""Simulated respondents for any scheme, for dry runs: the distributions that it states, and defaults for the rest.

The scheme's `[simulate.NAME]` tables state distributions.  A number has a `distribution` with its parameters, a `mixture` of
such tables, or `values` with `shares`; what lies beyond the attribute's bounds is clipped, as real records are.  A category
has `shares`, by name or in order; so has an option of a set, which is chosen with that probability, independently of others
but never more than `at_most`.  `missing` is the share without an answer.  Tables below `by` replace these in the groups that
they name.

By default categories have unequal shares, the i-th in proportion to 1 / i; one in ten gives no answer where `missing` is a
category.  The i-th option of a set is chosen with probability 1 / (1 + i), independently of the others but for the limit.
Numbers have the density of Beta(3, 6) between their bounds, skewed to the right, and Beta(3, 5) or Beta(3, 4) in other groups.
Groups are the categories of the first label or, without labels, of the first categorical attribute; within a group all else is
independent but for the correlations that are stated.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from dpcore.errors import SchemeError, check_one_of
from dpcore.populations.base import Population, certain
from dpcore.populations.distributions import Beta, CategoricalLaw, Component, Law, NumericLaw, PointsLaw, Truncated
from dpcore.protocol.attribute import MISSING
from dpcore.protocol.domain import dates
from dpcore.protocol.syntax.fields import check_known

if TYPE_CHECKING:
    from dpcore.protocol.attribute import Attribute
    from dpcore.protocol.scheme import Scheme

_NONRESPONSE = 0.1
_SHAPES = ((3, 6), (3, 5), (3, 4))  # of the groups' densities, in turn
_EVERYBODY = "(respondents)"  # the group of schemes without categories; no attribute has this name
_CORRELATIONS = "correlations"
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "beta": ("a", "b"),
    "lognormal": ("median", "sigma"),
    "normal": ("mean", "sd"),
    "uniform": (),
}
_BOUNDS = ("lower", "upper")  # of beta and uniform: the attribute's where they are left out
_MOST_POINTS = 1 << 16


def default_population(scheme: Scheme) -> Population:
    """Return simulated respondents who answer everything that a scheme asks, distributed as its `simulate` states.

    Raises SchemeError, which names the key, where that states no distribution.
    """
    asked = {one.name: one for attribute in scheme.reported.values() for one in attribute.sides or (attribute,)}
    tables = {name: table for name, table in scheme.simulate.items() if name != _CORRELATIONS}
    for name, table in tables.items():
        if name not in asked or not isinstance(table, Mapping):
            raise SchemeError(f"simulate.{name} must be a table of one of {', '.join(asked)}, got {name!r}")
    groups = [one for one in asked.values() if one.name in scheme.labels]
    groups += [one for one in asked.values() if not one.reads_numbers and one.is_exclusive and not one.is_open]
    name, shares = _EVERYBODY, {"": 1.0}
    if groups:
        name = groups[0].name
        law = _law(groups[0], tables.get(name, {}), 0)
        assert isinstance(law, CategoricalLaw)
        shares = dict(zip(law.categories, law.probabilities, strict=True))
    others = {key: _simulated_by(one, asked, tables) for key, one in asked.items() if key != name}
    return Population(
        name=scheme.name,
        group=name,
        weights=shares,
        laws={
            key: _of_all_categories(
                {
                    group: certain(group, tuple(shares))
                    if one.name == name
                    else _law(one, _within(tables.get(one.name, {}), one.name, group, shares), place)
                    for place, group in enumerate(shares)
                }
            )
            for key, one in others.items()
        },
        nonresponse={
            key: share
            for key, one in others.items()
            if one.reads_numbers and (share := nonresponse(one, tables.get(one.name, {}), _NONRESPONSE))
        },
        correlations=_correlations(scheme.simulate.get(_CORRELATIONS, [])),
    )


def _simulated_by(one: Attribute, asked: Mapping[str, Attribute], tables: Mapping[str, Any]) -> Attribute:
    """The attribute whose simulated values are those of an attribute: itself, or one with the name of its column."""
    other = asked.get(one.column, one)
    is_alike = other.kind == one.kind and other.answers == one.answers
    if other is one or not (is_alike or (other.reads_numbers and one.reads_numbers)):
        return one
    if one.name in tables:
        raise SchemeError(f"simulate.{one.name}: its column is simulated by {other.name}; state the distribution there")
    return _simulated_by(other, {name: another for name, another in asked.items() if another is not one}, tables)


def _within(table: Mapping[str, Any], name: str, group: str, groups: Mapping[str, float]) -> Mapping[str, Any]:
    """The table of an attribute within a group."""
    by = table.get("by", {})
    if (
        not isinstance(by, Mapping)
        or not set(by) <= set(groups)
        or not all(isinstance(own, Mapping) for own in by.values())
    ):
        raise SchemeError(f"simulate.{name}.by must have tables of groups: {', '.join(groups)}")
    own = by.get(group, {})
    return {key: value for key, value in table.items() if key == "missing" or (key != "by" and not own)} | own


def _law(attribute: Attribute, table: Mapping[str, Any], group: int) -> Law:
    lower, upper = _range(attribute) if attribute.reads_numbers else (0.0, 1.0)
    stated = law_of(attribute, table, lower, upper)
    if attribute.reads_numbers:
        return stated or NumericLaw(lower, upper, ((1.0, Beta(*_SHAPES[group % len(_SHAPES)], lower, upper)),))
    answers = attribute.names_of_shares()
    if not attribute.is_exclusive:
        shares_of_each = [1 / (1 + place) for place in range(1, len(answers) + 1)]
        return stated or _law_of_shares(f"simulate.{attribute.name}.shares", attribute, shares_of_each)
    silent = nonresponse(attribute, table, _NONRESPONSE)
    total = sum(1 / place for place in range(1, len(answers) + 1))
    shares = {category: 1 / place / total for place, category in enumerate(answers, 1)}
    if isinstance(stated, CategoricalLaw):
        shares = dict(zip(stated.categories, stated.probabilities, strict=True))
    categories = attribute.answers or (*shares, *[MISSING] * (attribute.missing == "category"))
    return CategoricalLaw(
        categories, tuple((1 - silent) * shares[one] if one in shares else silent for one in categories)
    )


def _of_all_categories(laws: dict[str, Law]) -> dict[str, Law]:
    """The laws of groups, where those of texts also list the texts of the other groups, which nobody has."""
    listed = [law for law in laws.values() if isinstance(law, CategoricalLaw)]
    names = tuple(dict.fromkeys(name for law in listed for name in law.categories))
    if not listed or all(law.categories == names for law in listed):
        return laws
    shares = (dict(zip(law.categories, law.probabilities, strict=True)) for law in listed)
    return {
        group: CategoricalLaw(names, tuple(own.get(name, 0.0) for name in names))
        for group, own in zip(laws, shares, strict=True)
    }


def _range(attribute: Attribute) -> tuple[float, float]:
    """The bounds of a number; ranges are open at both ends: as far beyond the edges as these are apart."""
    if attribute.bins is None:
        return float(attribute.lower), float(attribute.upper)
    first, last = float(attribute.bins[0]), float(attribute.bins[-1])
    reach = (last - first) or 1.0
    return first - reach, last + reach


def _correlations(entries: Any) -> dict[tuple[str, str], float]:
    try:
        return {(str(first), str(second)): float(value) for first, second, value in entries}
    except (TypeError, ValueError):
        raise SchemeError(
            f'simulate.{_CORRELATIONS} must be a list such as [["income", "age", 0.4]], got {entries!r}'
        ) from None


def law_of(attribute: Attribute, table: Mapping[str, Any], lower: float, upper: float) -> Law | None:
    """Return the distribution that a table states, None where it states none; raises SchemeError, which names the attribute.

    table: as in a scheme's TOML, decimals as texts.  lower, upper: between which numbers lie where the table names no bounds.
    """
    where = f"simulate.{attribute.name}"
    if attribute.reads_numbers:
        check_known(table, ("distribution", "mixture", "values", "shares", *_all_parameters(), "missing", "by"), where)
        if "values" in table:
            return _points(where, attribute, table)
        if "mixture" in table or "distribution" in table:
            parts = _parts(where, attribute, table, lower, upper)
            ends = [end for _, part in parts for end in part.support()]
            return NumericLaw(min(ends), max(ends), parts)
        check_known(table, ("missing", "by"), where)
        return None
    check_known(table, ("shares", *(["missing"] if attribute.is_exclusive else []), "by"), where)
    return _categories(where, attribute, table["shares"]) if "shares" in table else None


def nonresponse(attribute: Attribute, table: Mapping[str, Any], default: float) -> float:
    """Return the share of respondents without an answer, 0 where the attribute has no category for it."""
    if attribute.missing != "category":
        if "missing" in table:
            raise SchemeError(
                f'simulate.{attribute.name}.missing needs missing = "category" in the attribute; leave it out'
            )
        return 0.0
    return _number(f"simulate.{attribute.name}.missing", table.get("missing", default), attribute, 0, 1)


def _parts(
    where: str, attribute: Attribute, table: Mapping[str, Any], lower: float, upper: float
) -> tuple[tuple[float, Component], ...]:
    if "mixture" not in table:
        return ((1.0, _component(where, attribute, table, lower, upper)),)
    if not isinstance(table["mixture"], Sequence) or not all(isinstance(part, Mapping) for part in table["mixture"]):
        raise SchemeError(f"{where}.mixture must be a list of tables, each with weight and distribution")
    weights = _shares(f"{where}.weight", [part.get("weight", 1) for part in table["mixture"]], attribute)
    parts = [
        _component(where, attribute, {key: value for key, value in part.items() if key != "weight"}, lower, upper)
        for part in table["mixture"]
    ]
    return tuple((float(weight), part) for weight, part in zip(weights, parts, strict=True) if weight)


def _component(where: str, attribute: Attribute, table: Mapping[str, Any], lower: float, upper: float) -> Component:
    name = table.get("distribution")
    check_one_of(tuple(PARAMETERS), **{f"{where}.distribution": name})
    own = (*PARAMETERS[str(name)], *(_BOUNDS if name in ("beta", "uniform") else ()))
    check_known(table, ("distribution", *own, "missing", "by"), where)
    if lacking := [key for key in PARAMETERS[str(name)] if key not in table]:
        raise SchemeError(f"{where}: {name} needs {', '.join(PARAMETERS[str(name)])}; {lacking[0]} is missing")
    parameters = {key: _number(f"{where}.{key}", table[key], attribute) for key in own if key in table}
    for key in ("a", "b", "sigma", "sd", *(["median"] if name == "lognormal" else [])):
        if not parameters.get(key, 1.0) > 0:
            raise SchemeError(f"{where}.{key} must be above 0, got {parameters[key]:g}")
    if name == "normal":
        return Truncated(scipy.stats.norm(parameters["mean"], parameters["sd"]))
    if name == "lognormal":
        return Truncated(scipy.stats.lognorm(parameters["sigma"], scale=parameters["median"]))
    ends = parameters.get("lower", lower), parameters.get("upper", upper)
    return Beta(parameters.get("a", 1.0), parameters.get("b", 1.0), *ends)


def _points(where: str, attribute: Attribute, table: Mapping[str, Any]) -> PointsLaw:
    check_known(table, ("values", "shares", "missing", "by"), where)
    values = table["values"]
    if not isinstance(values, list) or not 1 <= len(values) <= _MOST_POINTS:
        raise SchemeError(f"{where}.values must be a list of numbers")
    shares = table.get("shares", [1] * len(values))
    if not isinstance(shares, list) or len(shares) != len(values):
        raise SchemeError(f"{where}.shares must be a list with a share for each of the {len(values)} values")
    points = [_number(f"{where}.values", value, attribute) for value in values]
    return PointsLaw.from_values(points, _shares(f"{where}.shares", shares, attribute))


def _categories(where: str, attribute: Attribute, shares: Any) -> CategoricalLaw:
    where = f"{where}.shares"
    try:
        names = attribute.names_of_shares(shares)
    except SchemeError as error:
        raise SchemeError(f"{where}: {error}") from None
    if isinstance(shares, list) and len(shares) == len(names):
        shares = dict(zip(names, shares, strict=True))
    if not isinstance(shares, Mapping) or not set(shares) <= set(names):
        listed_names = "categories" if attribute.answers == attribute.categories else "answers"
        kind = listed_names if attribute.is_exclusive else "options"
        raise SchemeError(f"{where} must be a share for each of the {len(names)} {kind}, by name or in order")
    entries = [shares.get(name, 0) for name in names]
    if not attribute.is_exclusive:
        return _law_of_shares(where, attribute, [_number(where, entry, attribute, 0, 1) for entry in entries])
    return CategoricalLaw(tuple(names), tuple(_shares(where, entries, attribute).tolist()))


def _law_of_shares(where: str, attribute: Attribute, shares: Sequence[float]) -> CategoricalLaw:
    """The distribution of answers that may have several categories, from the share of each."""
    try:
        return CategoricalLaw(attribute.answers, tuple(attribute.law_of_shares(shares).tolist()))
    except SchemeError as error:
        raise SchemeError(f"{where}: {error}") from None


def _shares(where: str, entries: Sequence[Any], attribute: Attribute) -> np.ndarray:
    """Numbers of at least 0, in proportion to which the shares are, which sum to one."""
    mass = np.array([_number(where, entry, attribute, 0) for entry in entries])
    if not mass.sum() > 0:
        raise SchemeError(f"{where}: all are 0; at least one must be above 0")
    return mass / mass.sum()


def _number(where: str, value: Any, attribute: Attribute, least: float = -np.inf, most: float = np.inf) -> float:
    """A finite number, or a date where the attribute holds dates and the key a value of its."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = dates.day_number(value, attribute.unit) if attribute.is_date and _is_date(value) else float(value)
    except (TypeError, ValueError):
        number = None
    if number is None or not least <= number <= most or not np.isfinite(number):
        bounds = f" of at least {least:g}" * (least > -np.inf) + f" and at most {most:g}" * (most < np.inf)
        raise SchemeError(f"{where} must be a number{bounds}, got {value!r}")
    return number


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date) or (isinstance(value, str) and value.count("-") >= 2)


def _all_parameters() -> tuple[str, ...]:
    return (*dict.fromkeys(key for own in PARAMETERS.values() for key in own), *_BOUNDS)
