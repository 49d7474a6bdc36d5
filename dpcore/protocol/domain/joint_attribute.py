"""Joint attributes: two columns in one report, whose joint distribution is estimated.

Two lists of categories become one list of their pairs, with (i, j) at i k_2 + j, for any mechanism for categories.  The ranges
of two numbers are divided into equally many cells each, and a pair of cells is an input cell in the same way.
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

AND = " & "  # between the two categories of a pair in tables


@dataclass(frozen=True)
class Axis:
    """The number of input cells of one side, which has no mechanism of its own."""

    inputs: int


def read(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns, as `sides`, and the pairs of their categories; raises SchemeError unless both keys list two."""
    columns, lists = _two("of", entries["of"]), _two("categories", entries["categories"])
    sides = tuple(
        _side(column, "categorical", len(names), categories=_names(column, names))
        for column, names in zip(columns, lists, strict=True)
    )
    many = len(lists[0]) * len(lists[1])
    if many > MOST_CATEGORIES:
        raise SchemeError(
            f"categories of a joint attribute must make at most {MOST_CATEGORIES:,} pairs, got {many:,}; merge "
            "categories or declare two attributes"
        )
    return {"sides": sides, "categories": tuple(f"{one}{AND}{other}" for one in lists[0] for other in lists[1])}


def numbers(entries: Mapping[str, Any], cells: int) -> tuple[Attribute, ...]:
    """Return the two columns of numbers of a table, each with `cells` cells; raises SchemeError unless each key lists two."""
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
            f"{key} must list {'two different columns' if key == 'of' else 'one entry for each column'}, got {listed!r}"
        )
    return listed


def _names(column: str, names: list[str]) -> tuple[str, ...]:
    for name in names:
        printable(categories=name)
        if AND in name:
            raise SchemeError(
                f"categories may not contain {AND!r}, which separates the categories of the two columns, got {name!r}"
            )
    if len(set(names)) != len(names) or "" in names:
        raise SchemeError(f"categories of {column} must differ and not be empty, got {names!r}")
    return tuple(names)


def _side(column: str, kind: str, inputs: int, **own: Any) -> Attribute:
    printable(of=column, units=own.get("unit", ""))
    return Attribute(
        name=column,
        type=kind,
        column=column,
        mechanism=Axis(inputs),  # type: ignore[arg-type]  # makes no report
        estimator="",
        **own,
    )
