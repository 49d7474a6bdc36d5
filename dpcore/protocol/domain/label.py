"""Labels: public categories of every client that a scheme declares, such as a region or an app's version; regressions on them.

A report contains each label as one integer, the position of its category.  A label is unprotected and costs no epsilon:
anybody who sees the report can read it.  Groups by labels are therefore exact, and population totals by label can weight the
answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from dpcore.errors import SchemeError
from dpcore.mechanisms import Reports
from dpcore.mechanisms.report_sums import in_ranges
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain import categories
from dpcore.protocol.syntax import attribute_types, keys
from dpcore.protocol.syntax.attribute_table import NAME
from dpcore.protocol.syntax.fields import check_known, listed, printable
from dpcore.protocol.syntax.fields import read as read_keys

REGRESSIONS = "regressions"  # the key of a scheme
_EXAMPLE = f'write [{REGRESSIONS}] and a line such as smoking = "smokes ~ region + sex"'

WEIGHTED = "weighted"  # as in `functionals.group`, which clients do not import
MOST_CELLS = 4096  # combinations of all labels' categories; each has sums of its own


@dataclass(frozen=True)
class InClear:
    """The encoding of a label, the position of its category.  It is not a mechanism and is not available to attributes."""

    categories: int
    name: ClassVar[str] = "in_clear"
    is_ascending: ClassVar[bool] = False

    @property
    def inputs(self) -> int:
        """The number of categories."""
        return self.categories

    @property
    def sizes(self) -> tuple[int, ...]:
        """One integer at one level, as for a mechanism."""
        return (1,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The number of possible integers, from 0."""
        return (self.categories,)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest integer, as for a mechanism."""
        return np.array([0]), np.array([self.categories - 1])

    def accepts(self, reports: Reports) -> np.ndarray:
        """Return which integers are positions of categories, (n,) bool."""
        return in_ranges(reports, [self.ranges(0)])


def read(tables: Any, attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
    """Return the labels of a scheme's tables [labels.NAME]; raises SchemeError, which names the table.

    attributes: the scheme's attributes; none of them may be a label too, which would send its answer unprotected.
    """
    if not isinstance(tables, Mapping):
        raise SchemeError("labels must be tables; write [labels.NAME] for each label")
    labels = {name: _read(name, attribute_types.expanded(f"labels.{name}", table)) for name, table in tables.items()}
    if not labels:
        return MappingProxyType(labels)
    questions = [question for attribute in attributes.values() for question in attribute.questions]
    asked = {*attributes, *(question.column for question in questions)}
    for label in labels.values():
        for name in {label.name, label.column} & asked:
            raise SchemeError(
                f"labels.{label.name}: {name} is also an attribute, which a label would leave unprotected; remove one"
            )
    if len({label.column for label in labels.values()}) < len(labels):
        raise SchemeError("labels must have different columns, and two have the same one; remove one of the two")
    if WEIGHTED in {*labels, *attributes}:
        raise SchemeError(f"{WEIGHTED} is reserved for weighted estimates; rename the label or attribute")
    cells = math.prod(shape(labels))
    if cells > MOST_CELLS:
        raise SchemeError(
            f"labels must have at most {MOST_CELLS:,} combinations of categories, got {cells:,}; remove or merge some"
        )
    for name, attribute in attributes.items():
        if cells > attribute.most_label_cells:
            raise SchemeError(
                f"attributes.{name}: {attribute.type}s are counted for at most {attribute.most_label_cells} combinations of "
                f"labels, and there are {cells:,}; remove or merge some"
            )
    return MappingProxyType(labels)


def _read(name: str, table: Any) -> Attribute:
    where = f"labels.{name}"
    if not isinstance(table, Mapping):
        raise SchemeError(f"{where} must be a table; write [{where}] above its keys")
    if not NAME.fullmatch(name):
        raise SchemeError(
            f"labels: name {name!r} must be lower-case letters, digits and _, the first a letter and 63 at most"
        )
    check_known(table, tuple(key.name for key in keys.LABEL), where)
    entries = read_keys(keys.LABEL, table, f"{where}.")
    try:
        categories.check_title("title", table.get("title"))
        entries |= categories.categories_of(entries)
        if table.get("control", entries["categories"][0]) not in entries["categories"]:
            raise SchemeError(
                f"control must be one of the categories {listed(entries['categories'])}; got {entries['control']!r}"
            )
    except SchemeError as error:
        raise SchemeError(f"{where}: {error}") from None
    column = name if entries["column"] is None else entries["column"]
    printable(column=column)
    return Attribute(
        name=name,
        type="label",
        column=column,
        mechanism=InClear(len(entries["categories"])),  # type: ignore[arg-type]  # not a mechanism: it has no budget
        estimator="",
        title=entries["title"],
        categories=entries["categories"],
        titles=entries["titles"],
        codes=entries["codes"],
        missing=entries["missing"],
        outside=entries["outside"],
        control=entries["control"],
    )


def write(label: Attribute) -> dict[str, Any]:
    """Return the table of a label in the canonical form."""
    return (
        {
            "column": label.column,
            "missing": label.missing,
            "categories": label.categories,
            "codes": dict(label.codes),
        }
        | ({} if label.outside == "refuse" else {"outside": label.outside})
        | ({"control": label.control} if label.control else {})
        | categories.titles_of(label)
    )


def shape(labels: Mapping[str, Attribute]) -> tuple[int, ...]:
    """Return the number of categories of each label, in the scheme's order."""
    return tuple(len(label.categories) for label in labels.values())


def in_words(sizes: Mapping[str, int]) -> str:
    """Return labels with their numbers of categories, in words.

    >>> in_words({"region": 3, "sex": 2})
    'region (3 categories), sex (2 categories)'
    """
    return ", ".join(f"{name} ({size} categories)" for name, size in sizes.items())


@dataclass(frozen=True)
class Regression:
    """A regression that a scheme declares; clients do not get it, and the digest does not cover it.

    formula: "ATTRIBUTE ~ LABELS".  reference: outcome or label -> the category that the others are compared with.
    """

    formula: str
    reference: Mapping[str, str] = field(default_factory=dict)


def read_regressions(tables: Any) -> Mapping[str, Regression]:
    """Return regressions by name; raises SchemeError for anything but texts and tables of `formula` and `reference`.

    `estimation.registry` checks the formulas, which clients do not read.
    """
    if not isinstance(tables, Mapping):
        raise SchemeError(f"{REGRESSIONS} must be a table, got {tables!r}; {_EXAMPLE}")
    return MappingProxyType({name: _read_regression(name, entry) for name, entry in tables.items()})


def _read_regression(name: str, entry: Any) -> Regression:
    where = f"{REGRESSIONS}.{name}"
    if not NAME.fullmatch(name):
        raise SchemeError(f"{where}: its name must be lower-case letters, digits and _, the first a letter")
    table = {"formula": entry} if isinstance(entry, str) else entry
    if not isinstance(table, Mapping) or not isinstance(table.get("formula"), str):
        raise SchemeError(f"{where} must be a formula, or a table with one, got {entry!r}; {_EXAMPLE}")
    check_known(table, ("formula", "reference"), where)
    reference = table.get("reference", {})
    if not isinstance(reference, Mapping) or not all(isinstance(category, str) for category in reference.values()):
        raise SchemeError(f'{where}.reference must be a table of categories, such as {{ region = "south" }}')
    printable(formula=table["formula"])
    return Regression(table["formula"], MappingProxyType(dict(reference)))


def regression_tables(regressions: Mapping[str, Regression]) -> dict[str, Any]:
    """Return the tables of regressions, as `read_regressions` reads them."""
    return {
        name: {"formula": one.formula, "reference": dict(one.reference)} if one.reference else one.formula
        for name, one in regressions.items()
    }
