"""One attribute's table in the text of a scheme: its domain, its mechanism and what is estimated, read and written.

What a person left out has its default here, but for a mechanism's integers, which `declaration` computes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from dpcore.errors import SchemeError, check_one_of, check_within
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.named import BY_TYPE, from_parameters, options_of
from dpcore.privacy.budget import Budget
from dpcore.protocol._fields import fraction, integer, known, listed, number, printable
from dpcore.protocol.attribute import MISSING, OTHER, Attribute

NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")
AUTO = "auto"  # a categorical attribute's mechanism chosen by `choose`; the canonical scheme names the one it chose
_LARGEST = 10**30  # of a bound: its eighth power is still a number
_FINEST = 2.0**-32  # least width of the bounds, relative to them: input cells are then far above rounding
_LEVEL_RULES = ("lepski", "undersmoothed", "fixed")
_SHARED_KEYS = ("type", "column", "missing", "mechanism", "epsilon", "functionals", "estimator", "client")
_KEYS = {
    "numeric": ("lower", "upper", "unit", "outside", "level_rule", "level", *options_of("numeric")),
    "categorical": ("categories", "codes", "values", "outside", *options_of("categorical")),
}


def read(name: str, table: Any, clients: int, functionals: tuple[str, ...]) -> Attribute:
    """Return the attribute that a table describes; raises SchemeError, which names it, where it describes none.

    clients: how many are planned for.  functionals: a numeric attribute's where it names none.
    """
    where = f"attributes.{name}"
    if not isinstance(table, Mapping) or not NAME.match(name):
        raise SchemeError(f"{where} must be a table whose name is lower-case letters, digits and _")
    kind = table.get("type")
    if kind not in ("numeric", "categorical"):
        raise SchemeError(f"{where}.type must be 'numeric' or 'categorical', got {kind!r}")
    known(table, _SHARED_KEYS + _KEYS[kind], where)
    if "epsilon" not in table:
        raise SchemeError(f'{where}.epsilon is missing; give a number above 0 or "ln 3"')
    if isinstance(table["epsilon"], bool) or not isinstance(table["epsilon"], (int, str)):
        raise SchemeError(f'{where}.epsilon must be a number above 0 or "ln 3", got {table["epsilon"]!r}')
    missing = table.get("missing", "refuse")
    try:
        budget = Budget.parse(table["epsilon"])
        check_one_of(("refuse", "category") if kind == "categorical" else ("refuse",), missing=missing)
        estimators = _estimators(table)
        shared = {
            "name": name,
            "column": str(table.get("column", name)),
            "missing": missing,
            "estimator": table.get("estimator", estimators[0]),
        }
        check_one_of(estimators, estimator=shared["estimator"])
        printable(column=shared["column"], unit=str(table.get("unit", "")))
        if kind == "numeric":
            return _numeric(table, budget, clients, functionals, shared)
        return _categorical(table, budget, shared)
    except SchemeError as error:
        raise type(error)(f"{where}: {error}") from None


def _numeric(
    table: Mapping[str, Any], budget: Budget, clients: int, functionals: tuple[str, ...], shared: dict[str, Any]
) -> Attribute:
    lower, upper = fraction(table, "lower"), fraction(table, "upper")
    check_within(-_LARGEST, _LARGEST, lower=lower, upper=upper)
    if not lower < upper:
        raise SchemeError(f"lower must be below upper, got {number(lower)} and {number(upper)}")
    if float(upper - lower) <= _FINEST * max(abs(float(lower)), abs(float(upper))):
        raise SchemeError(
            f"lower and upper are too close to tell values apart, got {number(lower)} and {number(upper)}"
        )
    outside, level_rule = table.get("outside", "clip"), table.get("level_rule", "lepski")
    check_one_of(("clip", "refuse"), outside=outside)
    check_one_of(_LEVEL_RULES, level_rule=level_rule)
    if shared["estimator"] != "projection" and ("level_rule" in table or "level" in table):
        raise SchemeError(
            f'level_rule and level go with estimator = "projection" only, got estimator = "{shared["estimator"]}"'
        )
    level = integer(table, "level", 0, 20) if "level" in table else None
    if (level_rule == "fixed") != (level is not None):
        raise SchemeError('level goes with level_rule = "fixed", and only with it')
    return Attribute(
        type="numeric",
        mechanism=_mechanism(table, budget, {"clients": clients}),
        functionals=_own_functionals(table, functionals),
        lower=lower,
        upper=upper,
        unit=str(table.get("unit", "")),
        outside=outside,
        level_rule=level_rule,
        level=level,
        **shared,
    )


def _categorical(table: Mapping[str, Any], budget: Budget, shared: dict[str, Any]) -> Attribute:
    categories = table.get("categories")
    if not isinstance(categories, list) or len(categories) < 2 or not all(isinstance(c, str) and c for c in categories):
        raise SchemeError(f"categories must be a list of at least two names, got {categories!r}")
    for label in categories:
        printable(categories=label)
    labels = tuple(categories)
    if shared["missing"] == "category" and MISSING not in labels:
        labels += (MISSING,)
    if len(set(labels)) != len(labels):
        raise SchemeError(f"categories must differ, got {categories!r}")
    codes = table.get("codes", {})
    if not isinstance(codes, Mapping):
        raise SchemeError(f'codes must map a file\'s codes to categories, such as {{ 1 = "urban" }}, got {codes!r}')
    for code, label in codes.items():
        if label not in labels:
            raise SchemeError(f"codes.{code} must be one of the categories {listed(labels)}; got {label!r}")
    values = table.get("values")
    if values is not None:
        if not isinstance(values, list) or len(values) != len(labels):
            raise SchemeError(f"values must list one number for each of the {len(labels)} categories, got {values!r}")
        values = tuple(float(fraction({"values": value}, "values")) for value in values)
    outside = table.get("outside", "refuse")
    check_one_of(("refuse", OTHER), outside=outside)
    if outside == OTHER and OTHER not in labels:
        raise SchemeError(f'outside = "other" needs a category named "other" among the {len(labels)} categories')
    mechanism = _mechanism(table, budget, {"categories": len(labels)})
    if mechanism.inputs != len(labels):
        raise SchemeError(f"client.categories must be {len(labels)}, the number of categories, got {mechanism.inputs}")
    if values is None and table.get("functionals"):
        raise SchemeError(
            "functionals of categories need values, one number for each category; give them or leave both out"
        )
    own = _own_functionals(table, ("mean",))
    return Attribute(
        type="categorical",
        mechanism=mechanism,
        functionals=own if values is not None else (),
        categories=labels,
        codes=MappingProxyType({str(code): label for code, label in codes.items()}),
        values=values,
        outside=outside,
        design=table.get("design"),
        **shared,
    )


def _mechanism(table: Mapping[str, Any], budget: Budget, told: Mapping[str, int]) -> Mechanism:
    """The attribute's mechanism: read where the text is canonical, chosen and designed elsewhere; told: of the scheme."""
    kinds, name = BY_TYPE[table["type"]], _name_of_mechanism(table)
    for key, owners in options_of(table["type"]).items():
        if key in table and name not in owners:
            raise SchemeError(f'{key} goes with mechanism = "{owners[0]}", got mechanism = "{name}"; leave it out')
    if "client" not in table:
        from dpcore.protocol.declaration import design  # needless where the text is canonical

        return design(name, table, budget, told)
    if name == AUTO:
        raise SchemeError('a client table goes with the mechanism it belongs to; remove it, or mechanism = "auto"')
    for option in kinds[name].declared.options:
        if option.name in table and not option.is_kept:
            raise SchemeError(f"a client table holds what came of {option.name}; remove one of the two")
    return from_parameters(kinds[name], budget, table["client"])


def _name_of_mechanism(table: Mapping[str, Any]) -> str:
    """What the table calls its mechanism, or the default of the attribute's type."""
    kinds = BY_TYPE[table["type"]]
    name = table.get("mechanism", next(iter(kinds)))
    check_one_of((*kinds, AUTO) if table["type"] == "categorical" else tuple(kinds), mechanism=name)
    return str(name)


def _estimators(table: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the estimators that the table's mechanism goes with, the default first."""
    kinds = BY_TYPE[table["type"]]
    named: tuple[str, ...] = kinds.get(_name_of_mechanism(table), next(iter(kinds.values()))).declared.estimators
    return named


def _own_functionals(table: Mapping[str, Any], default: tuple[str, ...]) -> tuple[str, ...]:
    return read_functionals(table["functionals"], "client" in table) if "functionals" in table else default


def read_functionals(names: Any, is_canonical: bool) -> tuple[str, ...]:
    """Return a list of functionals; raises SchemeError for anything else.

    is_canonical: their names were checked when the text was made; a client does not load what knows them.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemeError(f"functionals must list functionals such as 'mean' or 'quantile(0.5)'; got {names!r}")
    if not is_canonical:
        from dpcore.functionals import parse

        try:
            list(map(parse, names))
        except SchemeError as error:
            raise SchemeError(f"functionals: {error}") from None
    return tuple(names)


def write(attribute: Attribute) -> dict[str, Any]:
    """Return the table of an attribute in the canonical form: a fixed order of keys, exact numbers, every default said."""
    a = attribute
    table: dict[str, Any] = {
        "type": a.type,
        "column": a.column,
        "missing": a.missing,
        "mechanism": a.mechanism.name,
        "epsilon": a.budget.text,
        "estimator": a.estimator,
        "functionals": a.functionals,
    }
    if a.is_numeric:
        table |= {"lower": number(a.lower), "upper": number(a.upper), "unit": a.unit, "outside": a.outside}
        table |= {"level_rule": a.level_rule} if a.estimator == "projection" else {}
        table |= {} if a.level is None else {"level": a.level}
    else:
        table |= {"categories": a.categories, "codes": dict(sorted(a.codes.items()))}
        table |= {} if a.values is None else {"values": [number(Fraction(repr(v))) for v in a.values]}
        table |= {} if a.outside == "refuse" else {"outside": a.outside}
        table |= {} if a.design is None else {"design": a.design}
    return table | {"client": a.mechanism.parameters()}
