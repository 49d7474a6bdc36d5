"""Regressions that a scheme declares: the aggregator's analyses, which clients do not get and the digest does not cover."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from dpcore.errors import SchemeError
from dpcore.protocol.syntax.fields import check_known, printable

REGRESSIONS = "regressions"  # the key of a scheme
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_EXAMPLE = f'write [{REGRESSIONS}] and a line such as smoking = "smokes ~ region + sex"'


@dataclass(frozen=True)
class Regression:
    """formula: "ATTRIBUTE ~ LABELS".  reference: outcome or label -> the category that the others are compared with."""

    formula: str
    reference: Mapping[str, str] = field(default_factory=dict)


def read(tables: Any) -> Mapping[str, Regression]:
    """Return regressions by name; raises SchemeError for anything but texts and tables of `formula` and `reference`.

    `estimation.registry` checks the formulas, which clients do not read.
    """
    if not isinstance(tables, Mapping):
        raise SchemeError(f"{REGRESSIONS} must be a table, got {tables!r}; {_EXAMPLE}")
    return MappingProxyType({name: _read(name, entry) for name, entry in tables.items()})


def _read(name: str, entry: Any) -> Regression:
    where = f"{REGRESSIONS}.{name}"
    if not _NAME.fullmatch(name):
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


def write(regressions: Mapping[str, Regression]) -> dict[str, Any]:
    """Return the tables of regressions, as `read` reads them."""
    return {
        name: {"formula": one.formula, "reference": dict(one.reference)} if one.reference else one.formula
        for name, one in regressions.items()
    }
