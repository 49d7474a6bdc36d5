"""Two attributes together: pairs, whose reports are counted jointly, and joint attributes, two columns in one report.

The table of a pair [a, b], (S_b, S_a), is a sum over the clients that answered both: the outer product of their contributions
to the statistics of b and of a.  It is computed from reports that were privatized independently, so it costs no additional
epsilon.

A joint attribute has the joint distribution of its columns estimated.  Two lists of categories become one list of their pairs,
with (i, j) at i k_2 + j, for any mechanism for categories.  The ranges of two numbers are divided into equally many cells each,
and a pair of cells is an input cell in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.categorical.frequency_oracle import MOST_CATEGORIES
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain import categories, support_points
from dpcore.protocol.syntax import keys
from dpcore.protocol.syntax.fields import number, printable

Pair = tuple[str, str]
MOST_ENTRIES = 1 << 22  # of one pair's table, 32 MB
MOST_LABELLED = 1 << 24  # of one pair's tables by label
AND = " & "  # between the two categories of a pair in tables


def read(pairs: Sequence[Sequence[str]], attributes: Mapping[str, Attribute], cells: int) -> tuple[Pair, ...]:
    """Return a scheme's pairs; cells: number of combinations of its labels.  Raises SchemeError for an invalid pair."""
    parsed: list[Pair] = []
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1] or any(name not in attributes for name in pair):
            raise SchemeError(
                f'pairs must list two different attributes each, such as [["income", "urban_rural"]]; got {pair!r}'
            )
        parsed.append((pair[0], pair[1]))
        _check(parsed[-1], attributes, cells)
    if len({frozenset(pair) for pair in parsed}) != len(parsed):
        raise SchemeError(f"pairs must differ, and order does not count; remove repeated ones from {pairs!r}")
    return tuple(parsed)


def _check(pair: Pair, attributes: Mapping[str, Attribute], cells: int) -> None:
    one, other = (attributes[name].mechanism for name in pair)
    for name in pair:
        if attributes[name].alone:
            raise SchemeError(
                f"pair {pair[0]}, {pair[1]}: {name} is {attributes[name].alone}, which cannot be part of a pair"
            )
    entries = statistics_of(one) * statistics_of(other)
    if entries > MOST_ENTRIES or entries * cells > MOST_LABELLED:
        beside = f" for each of {cells:,} combinations of labels" if entries <= MOST_ENTRIES else ""
        most = MOST_LABELLED if beside else MOST_ENTRIES
        raise SchemeError(
            f"pair {pair[0]}, {pair[1]}: needs a table of {statistics_of(other):,} x {statistics_of(one):,} counts{beside}, "
            f"more than {most:,}; declare fewer categories, cells or levels, or remove the pair"
        )
    if one.counts_outputs or other.counts_outputs:
        return
    for name, mechanism in zip(pair, (one, other), strict=True):
        if np.any(mechanism.labels().statistic != "count"):
            raise SchemeError(
                f"pair {pair[0]}, {pair[1]}: cannot be counted, because {name} has the mechanism {mechanism.name}; choose "
                "dyadic_wave or square_wave (numbers) or randomized_response (categories) for one of the two"
            )


def is_grouped(pair: Pair, attributes: Mapping[str, Attribute]) -> bool:
    """Return whether a density without nonresponse can be estimated within the categories of the second attribute."""
    first, second = (attributes[name] for name in pair)
    return first.has_density and first.missing != "category" and second.mechanism.declared.names_one


def statistics_of(mechanism: Mechanism) -> int:
    """Return S, the number of statistics of a mechanism's reports."""
    return len(mechanism.labels().level)


def zero(pair: Pair, attributes: Mapping[str, Attribute]) -> np.ndarray:
    """Return the table of no reports, (S_b, S_a)."""
    first, second = (statistics_of(attributes[name].mechanism) for name in pair)
    return np.zeros((second, first), dtype=np.int64)


@dataclass(frozen=True)
class Axis:
    """The number of input cells of one side, which has no mechanism of its own."""

    inputs: int


def _read_categories(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The columns, as `sides`, and the pairs of their categories; raises SchemeError unless both keys list two."""
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


def _check_numbers(entries: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """The two columns of numbers of a table, with equally many cells each; raises SchemeError unless each key lists two."""
    cells = isqrt(entries["mechanism"].inputs)
    columns, lowers, uppers, units = (_two(key, list(entries[key])) for key in ("of", "lower", "upper", "units"))
    for lower, upper in zip(lowers, uppers, strict=True):
        support_points.check_bounds(lower, upper)
    sides = (
        _side(column, "numeric", cells, lower=lower, upper=upper, unit=unit, outside=entries["outside"])
        for column, lower, upper, unit in zip(columns, lowers, uppers, units, strict=True)
    )
    return {"sides": tuple(sides)}


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


def _table_of_categories(a: Attribute) -> dict[str, Any]:
    return {"of": a.of, "categories": a.parts} | categories.design_table(a)


def _table_of_numbers(a: Attribute) -> dict[str, Any]:
    table: dict[str, Any] = {"of": a.of, "lower": [*map(number, a.lowers)], "upper": [*map(number, a.uppers)]}
    return table | {"units": [side.unit for side in a.sides], "outside": a.outside} | categories.design_table(a)


CATEGORIES = keys.Kind(
    keys=keys.OWN[keys.CROSSED],
    reason=categories.REASON,
    automatic=categories.AUTOMATIC,
    is_joint=True,
    attribute=Attribute,
    read=_read_categories,
    sizes=categories.sizes,
    own_table=_table_of_categories,
)
NUMBERS = keys.Kind(
    keys=keys.OWN[keys.PLANE],
    reason="the only mechanism for two numbers",
    is_joint=True,
    attribute=Attribute,
    read=lambda entries, table: {},
    sizes=lambda entries: {},
    check=_check_numbers,
    own_table=_table_of_numbers,
)
