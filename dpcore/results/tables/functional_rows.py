"""Conversion between functional estimates and rows of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.estimation.functional_estimate import FunctionalEstimate

NUMBERS = ("estimate", "plug_in", "standard_error", "confidence", "low", "high")
_ALIKE = ("functional", "kind", "plug_in", "standard_error", "confidence", "low", "high", "reason")


def row_of(result: FunctionalEstimate) -> dict[str, Any]:
    """Return the columns of `functionals` for an estimate, without attribute, estimator and group."""
    return {"estimate": result.value} | {name: getattr(result, name) for name in _ALIKE}


def result_of(row: Mapping[str, Any]) -> FunctionalEstimate:
    """Return the estimate of a row of `functionals`, with None for null."""
    return FunctionalEstimate(value=row["estimate"], **{name: row[name] for name in _ALIKE})
