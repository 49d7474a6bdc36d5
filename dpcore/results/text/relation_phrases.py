"""Estimates and tests of several attributes in words: pairs of attributes, and regressions on labels."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpcore.estimation.regression.design_matrix import INTERCEPT, LINEAR
from dpcore.protocol.domain import dates
from dpcore.results.text.phrases import Line, in_words, rounded, separated, title_of

_RANGE = re.compile(r"(-?[0-9.]+(?:e[-+]?\d+)?)(?: to (-?[0-9.]+(?:e[-+]?\d+)?))?")
SIGNIFICANCE = 0.05  # level of the tests
LEAST = 1e-4  # smallest p-value that is printed


@dataclass(frozen=True)
class Side:
    """One of two attributes: its name, unit and, if numeric, its bounds and whether values are clipped to them."""

    name: str
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    is_clipped: bool = False

    @property
    def words(self) -> str:
        """Its title."""
        return title_of(self.name)

    @property
    def is_number(self) -> bool:
        return self.lower is not None

    @property
    def value_range(self) -> str:
        """The range of its values in words; '' for categories."""
        if self.lower is None or self.upper is None:
            return ""
        bounds = f"{separated(self.lower)} to {separated(self.upper)} {self.unit}".strip()
        return f"{self.words} {'clipped to' if self.is_clipped else 'within'} {bounds}"

    def part(self, part: str) -> str:
        """A part of its values in words: a category, or a range with thousands separators."""
        bounds = self.range(part)
        return (
            title_of(self.name, part)
            if bounds is None
            else " to ".join(separated(end) for end in dict.fromkeys(bounds))
        )

    def range(self, part: str) -> tuple[float, float] | None:
        """The bounds of a range of numbers or of a single number; None for a category."""
        match = _RANGE.fullmatch(part) if self.is_number else None
        return None if match is None else (float(match[1]), float(match[2] or match[1]))


def sides_of(attributes: Sequence[Mapping[str, Any]], canonical: str | None) -> dict[str, Side]:
    """Return attribute -> side; canonical: the scheme's text, which states whether values are clipped."""
    scheme = tomllib.loads(canonical or "").get("attributes", {})
    sides = {}
    for row in attributes:
        own = scheme.get(row["attribute"], {})
        is_clipped = own.get("outside", "clip") == "clip"
        sides[row["attribute"]] = Side(row["attribute"], row["unit"] or "", row["lower"], row["upper"], is_clipped)
        for place, column in enumerate(own.get("of", ())):  # parts of a joint attribute are in the scheme's text only
            lower, upper = (float(own[key][place]) if key in own else None for key in ("lower", "upper"))
            sides[column] = Side(column, own["units"][place] if "units" in own else "", lower, upper, is_clipped)
    return sides


def read_number(row: Mapping[str, Any], first: Side, second: Side) -> Line:
    """Return a row of `associations` that is a functional as text; its group is the part of the second attribute."""
    name = str(row["functional"]).partition("(")[0]
    text, unit, factor = {
        "correlation": ("correlation", "", 1.0),
        "rank_correlation": ("rank correlation", "", 1.0),
        "slope": (f"slope: change of {first.words} per unit of {second.words}", first.unit, 1.0),
        "intercept": (f"intercept: {first.words} on the line at {second.words} = 0", first.unit, 1.0),
        "conditional_mean": (f"mean {first.words}", first.unit, 1.0),
        "conditional_quantile": (f"median {first.words}", first.unit, 1.0),
        "conditional_probability": (f"share of {first.part(row['first_part'])}", "%", 100.0),
    }.get(name, (in_words(str(row["functional"])), "", 1.0))
    value, low, high = (None if pd.isna(row[key]) else factor * row[key] for key in ("estimate", "low", "high"))
    spread = float("nan") if low is None or high is None else high - low

    def formatted(number: float | None) -> str:
        return "" if number is None else rounded(number, spread, value)

    return Line(
        attribute=f"{first.words} and {second.words}",
        text=text,
        name=str(row["functional"]),
        group=second.part(row["second_part"]) if row["second_part"] else "",
        estimate=formatted(value),
        low=formatted(low),
        high=formatted(high),
        unit=unit,
        note=(row["reason"] or "") if value is None else "",
    )


def read_test(row: Mapping[str, Any], first: Side, second: Side) -> str:
    """Return a test as a sentence."""
    p = float(row["p_value"])
    claim = {
        "independence": (
            f"the association of {first.words} and {second.words} is significant",
            f"no significant association of {first.words} and {second.words}",
        ),
        "trend": (
            f"the linear trend of {first.words} in {second.words} is significant",
            f"no significant linear trend of {first.words} in {second.words}",
        ),
        "equal_means": (
            f"the mean of {first.words} differs significantly between parts of {second.words}",
            f"no significant difference in the mean of {first.words} between parts of {second.words}",
        ),
    }[str(row["functional"])][p >= SIGNIFICANCE]
    return f"{claim[:1].upper()}{claim[1:]} ({in_words(str(row['functional']))}: {p_value_text(row)})."


def p_value_text(row: Mapping[str, Any]) -> str:
    """Return the p-value of a row with a test, and its statistic, in words."""
    p, degrees = float(row["p_value"]), int(row["degrees"])
    text = f"p {'' if p < LEAST else '= '}{rounded_p_value(p)}"
    return f"{text}, chi-squared {row['statistic']:.1f} on {degrees} degree{'s' if degrees > 1 else ''} of freedom"


def rounded_p_value(p: float) -> str:
    """Return a p-value with two digits, or '< 0.0001'."""
    return f"< {LEAST:.4f}" if p < LEAST else f"{p:.2g}"


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
