"""Every kind of attribute by its name, and one attribute's table in a scheme, read and written.

A kind is a type, or a type refined by other keys; each is declared in its own file.

Missing keys have the defaults of their declarations; `mechanism_design` computes a mechanism's integers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_KIND, IN_SCHEMES, options_of
from dpcore.privacy.budget import Budget
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain import categories, option_sets, pairs, support_points, texts
from dpcore.protocol.domain.categories import check_title, titles_of
from dpcore.protocol.syntax import fields
from dpcore.protocol.syntax.fields import check_known, printable
from dpcore.protocol.syntax.keys import AUTO, BINNED, CROSSED, LATTICE, OF_ONE, PLANE, PROMISED, SHARED, TYPE, Kind

NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


def read(name: str, table: Any, clients: int, functionals: tuple[str, ...]) -> Attribute:
    """Return the attribute that a table describes; raises SchemeError, which names the table, if it is invalid.

    clients: planned number.  functionals: the default for numeric attributes.
    """
    where = f"attributes.{name}"
    if not isinstance(table, Mapping):
        raise SchemeError(f"{where} must be a table; write [{where}] above its keys")
    if not NAME.fullmatch(name):
        raise SchemeError(
            f"attributes: name {name!r} must be lower-case letters, digits and _, the first a letter and 63 at most"
        )
    entries = read_attribute(table, f"{where}.")
    try:
        kind_name = kind_of(table)
        kind = KINDS[kind_name]
        entries |= kind.read(entries, table)
        sizes = kind.sizes(entries) | {"clients": clients}
        entries["name"], entries["column"] = name, name if entries.get("column") is None else entries["column"]
        printable(column=entries["column"], unit=entries.get("unit", ""))
        check_title("title", table.get("title"))
        entries["mechanism"] = _mechanism(kind_name, entries, table, sizes)
        entries |= kind.check(entries, sizes)
        asked = entries.pop("functionals", None)
        accepted = {key.name for key in fields_of(kind.attribute)}
        attribute: Attribute = kind.attribute(**{key: value for key, value in entries.items() if key in accepted})
        if asked is None:
            return replace(attribute, functionals=kind.functionals(entries, functionals))
        return replace(attribute, functionals=read_functionals(asked, "client" in table, attribute))
    except SchemeError as error:
        raise type(error)(f"{where}: {error}") from None


def _mechanism(
    attribute_kind: str, entries: Mapping[str, Any], table: Mapping[str, Any], sizes: Mapping[str, int]
) -> Mechanism:
    """The mechanism of an attribute, read from a canonical text, otherwise chosen and designed; sizes: as for `design`."""
    kind = IN_SCHEMES[attribute_kind].get(entries["mechanism"])
    options = [option for option in kind.declared.options if option.name in table] if kind is not None else []
    if "client" not in table:
        from dpcore.protocol.syntax.mechanism_design import design  # not needed for canonical texts

        return design(kind, entries["epsilon"], sizes, {option.name: entries[option.name] for option in options})
    if kind is None:
        raise SchemeError("client needs the mechanism that it belongs to; add mechanism = or remove client")
    for option in options:
        if not option.is_kept:
            raise SchemeError(f"client already contains the result of {option.name}; remove one of the two")
    mechanism = kind.from_parameters(entries["epsilon"], table["client"])
    if "categorical" in kind.declared.attributes and mechanism.inputs != sizes["categories"]:
        raise SchemeError(
            f"client.categories must be {sizes['categories']}, the number of categories, got {mechanism.inputs}"
        )
    return mechanism


def read_functionals(names: list[str], is_canonical: bool, attribute: Attribute | None = None) -> tuple[str, ...]:
    """Return the names of functionals; raises SchemeError for an unknown one, or one about options that are not listed.

    is_canonical: whether the names were checked before, so that clients do not import `dpcore.functionals`.
    attribute: that they are for.
    """
    if not is_canonical:
        from dpcore.functionals import parse

        try:
            for functional in map(parse, names):
                if not functional.options:
                    continue
                reason = functional.refuses_options(()) if attribute is None else attribute.refusal(functional)
                if attribute is not None and reason is None:
                    reason = attribute.refusal_of_mechanism(functional)
                if reason is not None:
                    raise SchemeError(f"{functional}: {reason}")
        except SchemeError as error:
            raise SchemeError(f"functionals: {error}") from None
    return tuple(names)


def write(attribute: Attribute) -> dict[str, Any]:
    """Return the table of an attribute in the canonical form: a fixed order of keys, exact numbers, all defaults."""
    a, kind = attribute, KINDS[attribute.kind]
    table: dict[str, Any] = {
        "type": a.type,
        "column": a.column,
        "missing": a.missing,
        "mechanism": a.mechanism.name,
        "epsilon": a.budget.text,
        "estimator": a.estimator,
        "functionals": a.functionals,
    }
    if kind.is_joint:
        del table["column"], table["functionals"]
    return table | kind.own_table(a) | titles_of(a) | {"client": a.mechanism.parameters()}


KINDS: dict[str, Kind] = {
    "numeric": support_points.DENSITY,
    LATTICE: support_points.POINTS,
    PLANE: pairs.NUMBERS,
    "categorical": categories.KIND,
    BINNED: support_points.BINS,
    CROSSED: pairs.CATEGORIES,
    "set": option_sets.KIND,
    "text": texts.KIND,
}


def kind_of(table: Mapping[str, Any]) -> str:
    """Return the kind of an attribute's values, a key of `KINDS`: its type, refined by the table's other keys."""
    kind = str(fields.read((TYPE,), table)["type"])
    if kind not in ("numeric", "categorical"):
        return kind
    if "of" in table:
        return PLANE if kind == "numeric" else CROSSED
    if kind == "numeric":
        return LATTICE if "step" in table or "values" in table else kind
    return BINNED if "bins" in table else kind


def of_attribute(kind: str, mechanism: str) -> tuple[Option, ...]:
    """Return the keys of an attribute's table, including the mechanism's options; kind: see `kind_of`."""
    offered, named, described = IN_SCHEMES[kind], _mechanism_key(kind), KINDS[kind]
    declared = offered.get(mechanism, next(iter(offered.values()))).declared
    estimators = described.estimators or declared.estimators
    estimator = Option("estimator", str, choices=estimators, default=estimators[0], words="the estimator")
    shared = [
        key if declared.is_asked or key.type is not Budget else PROMISED
        for key in SHARED
        if not described.is_joint or key.name not in OF_ONE
    ]
    return (TYPE, *shared, named, estimator, *described.keys, *(declared.options if mechanism in offered else ()))


def _mechanism_key(kind: str) -> Option:
    names = (*IN_SCHEMES[kind], AUTO) if KINDS[kind].automatic else tuple(IN_SCHEMES[kind])
    return Option(
        "mechanism",
        str,
        choices=names,
        default=AUTO if KINDS[kind].automatic else names[0],
        words="the mechanism that privatizes answers on the device",
    )


def read_attribute(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the values of an attribute's table by key; raises SchemeError, which names the key, for an invalid one."""
    fields.read((TYPE,), table, where)
    kind = kind_of(table)
    mechanism = fields.read((replace(_mechanism_key(kind), default=_default(kind, table)),), table, where)["mechanism"]
    accepted, options = of_attribute(kind, mechanism), options_of(kind)
    check_known(table, (*(key.name for key in accepted if key.name not in options), *options), where.removesuffix("."))
    for key, owners in options.items():
        if key in table and mechanism not in owners:
            raise SchemeError(
                f'{where}{key} needs mechanism = "{owners[0]}", got mechanism = "{mechanism}"; remove or change one'
            )
    return fields.read(accepted, table, where) | {"mechanism": mechanism}


def reason(table: Mapping[str, Any]) -> str:
    """Return why an attribute has its mechanism, if its table does not name one; otherwise ''."""
    kind, mechanism = kind_of(table), table.get("mechanism")
    if mechanism is not None:
        return KINDS[kind].automatic if mechanism == AUTO else ""
    if _default(kind, table) == AUTO:
        return KINDS[kind].automatic
    if _default(kind, table) != next(iter(BY_KIND[kind])):
        return f"the first mechanism with {', '.join(_restricting(kind, table))}"
    return KINDS[kind].reason


def _default(kind: str, table: Mapping[str, Any]) -> str:
    """The default mechanism: the first that has the table's options and estimator, otherwise the first."""
    own_keys = _restricting(kind, table)
    if KINDS[kind].automatic and not {*own_keys} - {"estimator"}:
        return AUTO
    fitting = (
        name
        for name, mechanism in IN_SCHEMES[kind].items()
        if {key for key in own_keys if key != "estimator"} <= {option.name for option in mechanism.declared.options}
        and (
            "estimator" not in own_keys or KINDS[kind].estimators or table["estimator"] in mechanism.declared.estimators
        )
    )
    return next(fitting, next(iter(BY_KIND[kind])))


def _restricting(kind: str, table: Mapping[str, Any]) -> list[str]:
    """The keys of a table that restrict its mechanism."""
    return [key for key in ("estimator", *options_of(kind)) if key in table]
