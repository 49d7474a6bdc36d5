"""The table of regressions: coefficients, average marginal effects and tests of each, or why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from dpcore.estimation.regression.regression import (
        ChiSquareTest,
        Regression,
    )  # with formulaic, which few rounds need
    from dpcore.protocol.domain import regression

_NUMBERS = ("estimate", "standard_error", "confidence", "low", "high", "statistic", "p_value")
_TEXTS = ("kind", "reference", "reason")
_COUNTS = ("reports", "degrees")


def regression_table(
    fitted: Mapping[str, Regression | str], declared: Mapping[str, regression.Regression]
) -> pd.DataFrame:
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
