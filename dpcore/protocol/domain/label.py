"""Labels: what a collector may see in clear of every client, as a scheme chooses, such as a region or an app's version.

A label travels beside the answers as one integer, the place of its category.  It is no answer: nothing of it is hidden, it
costs no epsilon, and whoever sees a report knows it.  Groups by labels are therefore exact, and known totals of the
population by label can weight the answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from dpcore.errors import SchemeError
from dpcore.mechanisms import Reports
from dpcore.mechanisms.report_sums import in_ranges
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.syntax import attribute_table, attribute_types, keys
from dpcore.protocol.syntax.fields import printable

WEIGHTED = "weighted"  # as in `functionals.group`, which a client does not load
MOST_CELLS = 4096  # combinations of all labels' categories: sums are kept of each


@dataclass(frozen=True)
class InClear:
    """How a label travels: its category's place, as it is.  No mechanism, and no attribute can have it: it hides nothing."""

    categories: int
    name: ClassVar[str] = "in_clear"
    is_ascending: ClassVar[bool] = False

    @property
    def inputs(self) -> int:
        """How many categories there are."""
        return self.categories

    @property
    def sizes(self) -> tuple[int, ...]:
        """One integer at one level, as of a mechanism."""
        return (1,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """How many integers there are, from 0 on."""
        return (self.categories,)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest integer, as a mechanism does."""
        return np.array([0]), np.array([self.categories - 1])

    def accepts(self, reports: Reports) -> np.ndarray:
        """Return which integers are a category's place, (n,) bool."""
        return in_ranges(reports, [self.ranges(0)])


def read(tables: Any, attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
    """Return the labels that a scheme's tables [labels.NAME] describe; raises SchemeError, which names the table.

    attributes: those of the scheme, of which none may be a label too: its answer would be sent in clear.
    """
    if not isinstance(tables, Mapping):
        raise SchemeError("labels must be tables, [labels.NAME] each")
    labels = {name: _read(name, attribute_types.expanded(f"labels.{name}", table)) for name, table in tables.items()}
    if not labels:
        return MappingProxyType(labels)
    questions = [question for attribute in attributes.values() for question in attribute.questions]
    asked = {*attributes, *(question.column for question in questions)}
    for label in labels.values():
        for name in {label.name, label.column} & asked:
            raise SchemeError(
                f"labels.{label.name}: {name} is an attribute, which a label would send in clear; remove one of the two"
            )
    if len({label.column for label in labels.values()}) < len(labels):
        raise SchemeError("labels must be of different columns, as two of one say the same; leave one out")
    if WEIGHTED in {*labels, *attributes}:
        raise SchemeError(f"{WEIGHTED} is the name of weighted estimates; call the label or attribute something else")
    cells = math.prod(shape(labels))
    if cells > MOST_CELLS:
        raise SchemeError(
            f"labels must have at most {MOST_CELLS:,} combinations of categories, got {cells:,}; leave one out or join some"
        )
    return MappingProxyType(labels)


def _read(name: str, table: Any) -> Attribute:
    where = f"labels.{name}"
    if not isinstance(table, Mapping) or not attribute_table.NAME.fullmatch(name):
        raise SchemeError(f"{where} must be a table whose name is lower-case letters, digits and _")
    keys.check_known(table, tuple(key.name for key in keys.LABEL), where)
    entries = keys.read(keys.LABEL, table, f"{where}.")
    try:
        entries |= attribute_table.categories_of(entries)
    except SchemeError as error:
        raise SchemeError(f"{where}: {error}") from None
    column = name if entries["column"] is None else entries["column"]
    printable(column=column)
    return Attribute(
        name=name,
        type="label",
        column=column,
        mechanism=InClear(len(entries["categories"])),  # type: ignore[arg-type]  # no mechanism, and never asked for a budget
        estimator="",
        categories=entries["categories"],
        codes=entries["codes"],
        missing=entries["missing"],
        outside=entries["outside"],
    )


def write(label: Attribute) -> dict[str, Any]:
    """Return the table of a label in the canonical form."""
    return {
        "column": label.column,
        "missing": label.missing,
        "categories": label.categories,
        "codes": dict(label.codes),
    } | ({} if label.outside == "refuse" else {"outside": label.outside})


def shape(labels: Mapping[str, Attribute]) -> tuple[int, ...]:
    """Return how many categories each label has, in the scheme's order."""
    return tuple(len(label.categories) for label in labels.values())


def in_words(sizes: Mapping[str, int]) -> str:
    """Return labels with how many categories each has, as people read them.

    >>> in_words({"region": 3, "sex": 2})
    'region (3 categories), sex (2 categories)'
    """
    return ", ".join(f"{name} ({size} categories)" for name, size in sizes.items())
