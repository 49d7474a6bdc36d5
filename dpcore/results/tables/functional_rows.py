"""A number with its interval as a row of a table, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.estimation.functional_estimate import FunctionalEstimate

NUMBERS = ("estimate", "plug_in", "standard_error", "confidence", "low", "high")
_ALIKE = ("functional", "kind", "plug_in", "standard_error", "confidence", "low", "high", "reason")


def row_of(result: FunctionalEstimate) -> dict[str, Any]:
    """Return what tables hold of a number: the columns of `functionals` that do not say whose it is."""
    return {"estimate": result.value} | {name: getattr(result, name) for name in _ALIKE}


def result_of(row: Mapping[str, Any]) -> FunctionalEstimate:
    """Return the number that a row of `functionals` holds, null values as None."""
    return FunctionalEstimate(value=row["estimate"], **{name: row[name] for name in _ALIKE})
