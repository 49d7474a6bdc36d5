"""How numbers and tests of two attributes together read, wherever they are shown."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpcore.results.text.phrases import Line, in_words, rounded, separated

_RANGE = re.compile(r"(-?[0-9.]+(?:e[-+]?\d+)?)(?: to (-?[0-9.]+(?:e[-+]?\d+)?))?")
_SURE = 0.05  # of a p-value, from which on a test sees nothing
_LEAST = 1e-4  # of a p-value that is printed


@dataclass(frozen=True)
class Side:
    """One of the two: its name, its unit, and, of a number, its bounds and whether what lies outside counts as the bound."""

    name: str
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    is_clipped: bool = False

    @property
    def words(self) -> str:
        """Its name as people write it."""
        return in_words(self.name)

    @property
    def is_number(self) -> bool:
        return self.lower is not None

    @property
    def kept(self) -> str:
        """What is kept of its values: '' of categories."""
        if self.lower is None or self.upper is None:
            return ""
        ends = f"{separated(self.lower)} to {separated(self.upper)} {self.unit}".strip()
        return f"{self.words} is {'clipped to' if self.is_clipped else 'within'} {ends}"

    def part(self, part: str) -> str:
        """A part of it in words: a category, or a range with thousands separators."""
        ends = self.range(part)
        return in_words(part) if ends is None else " to ".join(separated(end) for end in dict.fromkeys(ends))

    def range(self, part: str) -> tuple[float, float] | None:
        """The ends of a part that is a range of numbers, or one number; None of a category."""
        match = _RANGE.fullmatch(part) if self.is_number else None
        return None if match is None else (float(match[1]), float(match[2] or match[1]))


def sides_of(attributes: Sequence[Mapping[str, Any]], canonical: str | None) -> dict[str, Side]:
    """Return attribute -> how it reads; canonical: the scheme's text, which says what becomes of values outside."""
    scheme = tomllib.loads(canonical or "").get("attributes", {})
    sides = {}
    for row in attributes:
        own = scheme.get(row["attribute"], {})
        is_clipped = own.get("outside", "clip") == "clip"
        sides[row["attribute"]] = Side(row["attribute"], row["unit"] or "", row["lower"], row["upper"], is_clipped)
        for place, column in enumerate(own.get("of", ())):  # asked together: the text alone has what either is
            ends = [float(own[key][place]) if key in own else None for key in ("lower", "upper")]
            sides[column] = Side(column, own["units"][place] if "units" in own else "", ends[0], ends[1], is_clipped)
    return sides


def read_number(row: Mapping[str, Any], first: Side, second: Side) -> Line:
    """Return how a row of `associations` that is a number reads; its group is the part of the second."""
    name = str(row["functional"]).partition("(")[0]
    text, unit, factor = {
        "correlation": ("correlation", "", 1.0),
        "rank_correlation": ("rank correlation", "", 1.0),
        "slope": (f"slope: {first.words} for one more of {second.words}", first.unit, 1.0),
        "intercept": (f"intercept: the line's {first.words} where {second.words} is 0", first.unit, 1.0),
        "conditional_mean": (f"mean {first.words}", first.unit, 1.0),
        "conditional_quantile": (f"median {first.words}", first.unit, 1.0),
        "conditional_probability": (f"share of {first.part(row['first_part'])}", "%", 100.0),
    }.get(name, (in_words(str(row["functional"])), "", 1.0))
    value, low, high = (None if pd.isna(row[key]) else factor * row[key] for key in ("estimate", "low", "high"))
    spread = float("nan") if low is None or high is None else high - low

    def told(number: float | None) -> str:
        return "" if number is None else rounded(number, spread, value)

    return Line(
        attribute=f"{first.words} and {second.words}".capitalize(),
        text=text,
        name=str(row["functional"]),
        group=second.part(row["second_part"]) if row["second_part"] else "",
        estimate=told(value),
        low=told(low),
        high=told(high),
        unit=unit,
        truth="",
        holds=None,
        note=(row["reason"] or "") if value is None else "",
        verdict="",
    )


def read_test(row: Mapping[str, Any], first: Side, second: Side) -> str:
    """Return a test in a sentence."""
    p = float(row["p_value"])
    seen = {
        "independence": (
            f"{first.words} and {second.words} go together",
            f"no sign that {first.words} and {second.words} go together",
        ),
        "trend": (
            f"{first.words} has a trend along {second.words}",
            f"no sign of a linear trend of {first.words} along {second.words}",
        ),
        "equal_means": (
            f"the mean of {first.words} is not the same all along {second.words}",
            f"no sign that the mean of {first.words} changes along {second.words}",
        ),
    }[str(row["functional"])][p >= _SURE]
    degrees = int(row["degrees"])
    told = f"p {'< 0.0001' if p < _LEAST else f'= {p:.2g}'}"
    told += f", chi-squared {row['statistic']:.1f} on {degrees} degree{'s' if degrees > 1 else ''} of freedom"
    return f"{seen[:1].upper()}{seen[1:]} ({in_words(str(row['functional']))}: {told})."
