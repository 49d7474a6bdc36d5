"""Every kind of attribute by its name, and the reading of an attribute's table by its kind.

A kind is a type, or a type refined by other keys; each is declared in its own file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_KIND, IN_SCHEMES, options_of
from dpcore.privacy.budget import Budget
from dpcore.protocol.domain import categories, option_sets, pairs, support_points, texts
from dpcore.protocol.syntax.fields import check_known, read
from dpcore.protocol.syntax.keys import AUTO, BINNED, CROSSED, LATTICE, OF_ONE, PLANE, PROMISED, SHARED, TYPE, Kind

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
    kind = str(read((TYPE,), table)["type"])
    if kind not in ("numeric", "categorical"):
        return kind
    if "of" in table:
        return PLANE if kind == "numeric" else CROSSED
    if kind == "numeric":
        return LATTICE if "step" in table or "values" in table else kind
    return BINNED if "bins" in table else kind


def of_attribute(kind: str, mechanism: str) -> tuple[Option, ...]:
    """Return the keys of an attribute's table, including the mechanism's options; kind: see `kind_of`."""
    offered, named, described = IN_SCHEMES[kind], _mechanism(kind), KINDS[kind]
    declared = offered.get(mechanism, next(iter(offered.values()))).declared
    estimators = described.estimators or declared.estimators
    estimator = Option("estimator", str, choices=estimators, default=estimators[0], words="the estimator")
    shared = [
        key if declared.is_asked or key.type is not Budget else PROMISED
        for key in SHARED
        if not described.is_joint or key.name not in OF_ONE
    ]
    return (TYPE, *shared, named, estimator, *described.keys, *(declared.options if mechanism in offered else ()))


def _mechanism(kind: str) -> Option:
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
    read((TYPE,), table, where)
    kind = kind_of(table)
    mechanism = read((replace(_mechanism(kind), default=_default(kind, table)),), table, where)["mechanism"]
    accepted, options = of_attribute(kind, mechanism), options_of(kind)
    check_known(table, (*(key.name for key in accepted if key.name not in options), *options), where.removesuffix("."))
    for key, owners in options.items():
        if key in table and mechanism not in owners:
            raise SchemeError(
                f'{where}{key} needs mechanism = "{owners[0]}", got mechanism = "{mechanism}"; remove or change one'
            )
    return read(accepted, table, where) | {"mechanism": mechanism}


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
