"""Sets of options, such as the answers to "select all that apply": at most `at_most` of the listed categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms.categorical.set_selection import MOST_CHOSEN, check_options
from dpcore.protocol.attribute import BOX, Attribute
from dpcore.protocol.domain.pairs import Axis
from dpcore.protocol.syntax.attribute_types import CATEGORIES, CODES
from dpcore.protocol.syntax.fields import printable

UNIT = "options"  # of the number chosen


def read(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many options may be chosen, and the columns of yes and no; raises SchemeError where they do not fit.

    entries: with the options as `categories`.
    """
    options, columns, separator = entries["categories"], entries["columns"], entries["separator"]
    at_most = entries["at_most"]
    if at_most is None:
        if len(options) > MOST_CHOSEN:
            raise SchemeError(
                f"at_most is missing; say how many of the {len(options)} options may be chosen, {MOST_CHOSEN} at most"
            )
        at_most = len(options)
    check_options(len(options), at_most)
    if columns is not None and (len(columns) != len(options) or len(set(columns)) != len(columns)):
        raise SchemeError(f"columns must list {len(options)} different columns, one for each option, got {columns!r}")
    if not separator or separator != separator.strip(" ") or any(separator in option for option in options):
        raise SchemeError(
            f"separator must be a text that no option contains, without blanks around it, got {separator!r}"
        )
    printable(separator=separator)
    boxes = () if columns is None else tuple(_box(column, entries["missing"]) for column in columns)
    return {"at_most": at_most, "boxes": boxes, "unit": UNIT}


def _box(column: str, missing: str) -> Attribute:
    """The column of one option, yes or no; no value is no if `missing` is "none"."""
    printable(columns=column)
    return Attribute(
        name=column,
        type=BOX,
        column=column,
        mechanism=Axis(len(CATEGORIES)),  # type: ignore[arg-type]  # makes no report
        estimator="",
        categories=CATEGORIES,
        codes=CODES,
        missing=missing,
    )


def check_boxes(described: Mapping[str, Attribute]) -> None:
    """Raise SchemeError if a column of yes and no is also read as something else.  described: attributes and labels."""
    for name, attribute in described.items():
        others = {name, attribute.column}
        for other in (other for key, other in described.items() if key != name):
            others |= {other.name, *(question.column for question in other.questions)}
        for box in attribute.boxes:
            if box.column in others:
                raise SchemeError(
                    f"attributes.{name}: column {box.column!r} of columns is also that of an attribute or label; rename one"
                )
