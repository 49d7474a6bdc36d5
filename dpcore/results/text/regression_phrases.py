"""Coefficients, effects and tests of a regression in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dpcore.estimation.regression.design_matrix import INTERCEPT, LINEAR
from dpcore.protocol.domain import dates
from dpcore.results.text.joint_phrases import p_value_text
from dpcore.results.text.phrases import Line, in_words, rounded, title_of


def read_estimate(row: Mapping[str, Any]) -> Line:
    """Return a row of `regressions` that is a coefficient or an effect as text; its group is the category of the outcome.

    Log odds ratios become odds ratios, and differences of proportions percentage points.
    """
    is_ratio = row["kind"] != LINEAR and row["quantity"] == "coefficient"
    is_share = row["kind"] != LINEAR and row["quantity"] == "effect"
    value, low, high = (float(row[key]) for key in ("estimate", "low", "high"))
    if is_ratio:
        value, low, high = (math.exp(number) for number in (value, low, high))
    factor = 100.0 if is_share else 1.0
    value, low, high = (factor * number for number in (value, low, high))

    unit = "% points" if is_share else "" if is_ratio else str(row["unit"] or "")
    is_date = unit in dates.EXAMPLES and row["term"] == INTERCEPT
    if unit in dates.EXAMPLES:
        unit = dates.SUFFIXES[unit] if is_date else "days"

    def formatted(number: float) -> str:
        return dates.date_text(number, row["unit"]) if is_date else rounded(number, high - low, value)

    return Line(
        attribute=in_words(row["regression"]),
        text=_text(row, is_ratio),
        name=str(row["term"]),
        group=title_of(outcome_of(row), row["category"]) if row["category"] else "",
        estimate=formatted(value),
        low=formatted(low),
        high=formatted(high),
        unit=unit,
        truth="",
        holds=None,
        note="",
        verdict="",
    )


def outcome_of(row: Mapping[str, Any]) -> str:
    """Return the attribute that a row's regression explains."""
    return str(row["formula"]).partition("~")[0].strip()


def _text(row: Mapping[str, Any], is_ratio: bool) -> str:
    term = term_in_words(row["term"])
    if row["quantity"] == "effect":
        return f"mean change, {term}"
    if row["term"] == INTERCEPT:
        return "odds of the reference groups" if is_ratio else "mean of the reference groups"
    return f"odds ratio, {term}" if is_ratio else f"difference, {term}"


def term_in_words(term: str) -> str:
    """Return a term of a regression, or the references of its labels, with the titles of labels and categories."""
    factors = [factor.partition(" = ") for factor in term.split(" : ")]
    return " : ".join(title_of(label) + equals + (equals and title_of(label, name)) for label, equals, name in factors)


def read_tests(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the tests of a regression as sentences: of each term, then of the fit."""
    sentences = [
        f"{' by '.join(map(title_of, row['term'].split(':')))}: {p_value_text(row)}."
        for row in rows
        if row["quantity"] == "test"
    ]
    fits = [
        f"Goodness of fit: {p_value_text(row)}."
        for row in rows
        if row["quantity"] == "fit" and pd.notna(row["p_value"])
    ]
    return sentences + fits
