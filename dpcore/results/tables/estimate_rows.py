"""Estimates as rows of tables: functionals, and coefficients, effects and tests of regressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from dpcore.estimation.functional_estimate import FunctionalEstimate

if TYPE_CHECKING:
    from dpcore.estimation.regression.regression import (
        ChiSquareTest,
        Regression,
    )  # with formulaic, which few rounds need
    from dpcore.protocol.domain import label

NUMBERS = ("estimate", "plug_in", "standard_error", "confidence", "low", "high")
_ALIKE = ("functional", "kind", "plug_in", "standard_error", "confidence", "low", "high", "reason")
_NUMBERS = ("estimate", "standard_error", "confidence", "low", "high", "statistic", "p_value")
_TEXTS = ("kind", "reference", "reason")
_COUNTS = ("reports", "degrees")


def row_of(result: FunctionalEstimate) -> dict[str, Any]:
    """Return the columns of `functionals` for an estimate, without attribute, estimator and group."""
    return {"estimate": result.value} | {name: getattr(result, name) for name in _ALIKE}


def result_of(row: Mapping[str, Any]) -> FunctionalEstimate:
    """Return the estimate of a row of `functionals`, with None for null."""
    return FunctionalEstimate(value=row["estimate"], **{name: row[name] for name in _ALIKE})


def regression_table(fitted: Mapping[str, Regression | str], declared: Mapping[str, label.Regression]) -> pd.DataFrame:
    """Return the frame of `regressions`; it is empty if the scheme declares none."""
    rows = [
        {"regression": name, "formula": declared[name].formula} | row
        for name, result in fitted.items()
        for row in _rows(result)
    ]
    types = dict.fromkeys(_NUMBERS, "float64") | dict.fromkeys(_TEXTS, "object") | dict.fromkeys(_COUNTS, "Int64")
    empty = dict.fromkeys(types) | {"category": "", "term": ""}
    return pd.DataFrame([empty | row for row in rows]).astype(types) if rows else pd.DataFrame()


def _rows(result: Regression | str) -> Iterator[dict[str, Any]]:
    if isinstance(result, str):
        yield {"quantity": "none", "reason": result}
        return
    shared = {"kind": result.kind, "reference": result.reference, "reports": result.n}
    for quantity, estimates in (("coefficient", result.coefficients), ("effect", result.effects)):
        for one in estimates:
            numbers = {key: value for key, value in vars(one).items() if key != "value"}
            yield shared | numbers | {"quantity": quantity, "estimate": one.value, "confidence": result.confidence}
    for test in result.terms:
        yield shared | _of_test(test, "test")
    if result.fit is not None:
        yield shared | _of_test(result.fit, "fit")


def _of_test(test: ChiSquareTest, quantity: str) -> dict[str, Any]:
    return {
        "quantity": quantity,
        "term": test.term,
        "statistic": test.statistic,
        "degrees": test.degrees_of_freedom,
        "p_value": test.p_value,
    }
