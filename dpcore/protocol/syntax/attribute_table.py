"""One attribute's table in a scheme: reading with checks across keys, and writing.

Missing keys have the defaults of their declarations; `mechanism_design` computes a mechanism's integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.registry import IN_SCHEMES
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain.categories import check_title, titles_of
from dpcore.protocol.syntax import kinds
from dpcore.protocol.syntax.fields import printable

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
    entries = kinds.read_attribute(table, f"{where}.")
    try:
        kind_name = kinds.kind_of(table)
        kind = kinds.KINDS[kind_name]
        entries |= kind.read(entries, table)
        sizes = kind.sizes(entries) | {"clients": clients}
        entries["name"], entries["column"] = name, name if entries.get("column") is None else entries["column"]
        printable(column=entries["column"], unit=entries.get("unit", ""))
        check_title("title", table.get("title"))
        entries["mechanism"] = _mechanism(kind_name, entries, table, sizes)
        entries |= kind.check(entries, sizes)
        asked = entries.pop("functionals", None)
        accepted = {key.name for key in fields(kind.attribute)}
        attribute: Attribute = kind.attribute(**{key: value for key, value in entries.items() if key in accepted})
        if asked is None:
            return replace(attribute, functionals=kind.functionals(entries, functionals))
        return replace(attribute, functionals=read_functionals(asked, "client" in table, attribute.refusal))
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


def read_functionals(
    names: list[str], is_canonical: bool, refusal: Callable[[Any], str | None] | None = None
) -> tuple[str, ...]:
    """Return the names of functionals; raises SchemeError for an unknown one, or one about options that are not listed.

    is_canonical: whether the names were checked before, so that clients do not import `dpcore.functionals`.
    refusal: of the attribute that they are for.
    """
    if not is_canonical:
        from dpcore.functionals import parse

        try:
            for functional in map(parse, names):
                reason = None
                if functional.options:
                    reason = functional.refuses_options(()) if refusal is None else refusal(functional)
                if reason is not None:
                    raise SchemeError(f"{functional}: {reason}")
        except SchemeError as error:
            raise SchemeError(f"functionals: {error}") from None
    return tuple(names)


def write(attribute: Attribute) -> dict[str, Any]:
    """Return the table of an attribute in the canonical form: a fixed order of keys, exact numbers, all defaults."""
    a, kind = attribute, kinds.KINDS[attribute.kind]
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
