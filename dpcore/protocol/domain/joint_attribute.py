"""Two columns that are asked together: one report tells of both, and their joint law is estimated from it.

Two lists of categories make one of all their pairs, a pair's place i k_2 + j, so that any mechanism of categories answers.  Of
two numbers the ranges are cut into as many cells each, and a pair of cells is an input cell likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms.categorical.frequency_oracle import MOST_CATEGORIES
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain import support_points
from dpcore.protocol.syntax.fields import printable

AND = " & "  # between the two categories of a pair, as tables write it


@dataclass(frozen=True)
class Axis:
    """What stands for the mechanism of one of two columns, which has none of its own: how many input cells it has."""

    inputs: int


def read(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns, as `sides`, and the pairs of their categories; raises SchemeError unless there are two of each."""
    columns, lists = _two("of", entries["of"]), _two("categories", entries["categories"])
    sides = tuple(
        _side(column, "categorical", len(names), categories=_names(column, names))
        for column, names in zip(columns, lists, strict=True)
    )
    many = len(lists[0]) * len(lists[1])
    if many > MOST_CATEGORIES:
        raise SchemeError(
            f"categories asked together must make at most {MOST_CATEGORIES:,} pairs, got {many:,}; join some, or ask apart"
        )
    return {"sides": sides, "categories": tuple(f"{one}{AND}{other}" for one in lists[0] for other in lists[1])}


def numbers(entries: Mapping[str, Any], cells: int) -> tuple[Attribute, ...]:
    """Return the two columns of numbers that a table says, cells of either; raises SchemeError unless there are two of each."""
    columns, lowers, uppers, units = (_two(key, list(entries[key])) for key in ("of", "lower", "upper", "units"))
    for lower, upper in zip(lowers, uppers, strict=True):
        support_points.check_bounds(lower, upper)
    return tuple(
        _side(column, "numeric", cells, lower=lower, upper=upper, unit=unit, outside=entries["outside"])
        for column, lower, upper, unit in zip(columns, lowers, uppers, units, strict=True)
    )


def _two(key: str, listed: list[Any]) -> list[Any]:
    if len(listed) != 2 or (key == "of" and listed[0] == listed[1]):
        raise SchemeError(
            f"{key} must list two columns' {'names, which differ' if key == 'of' else key}, got {listed!r}"
        )
    return listed


def _names(column: str, names: list[str]) -> tuple[str, ...]:
    for name in names:
        printable(categories=name)
        if AND in name:
            raise SchemeError(
                f"categories may not have {AND!r} in them, which parts those of two columns, got {name!r}"
            )
    if len(set(names)) != len(names) or "" in names:
        raise SchemeError(f"categories of {column} must differ and be names, got {names!r}")
    return tuple(names)


def _side(column: str, kind: str, inputs: int, **own: Any) -> Attribute:
    printable(of=column, units=own.get("unit", ""))
    return Attribute(
        name=column,
        type=kind,
        column=column,
        mechanism=Axis(inputs),  # type: ignore[arg-type]  # never asked for a report
        estimator="",
        **own,
    )
