"""Estimates in words, with units, rounded according to their intervals.

The terminal, pages, Prefect's UI and pictures format landed rows with these functions.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import pandas as pd

from dpcore.errors import SchemeError
from dpcore.functionals import NAMES, Functional, parse
from dpcore.functionals.group import WEIGHTED, Group
from dpcore.protocol.domain import dates

MISSING = "missing"  # the category of item nonresponse
FEW_VALUES = 12  # support points up to which a discrete distribution is listed
SHOWN = 30  # categories or differences in a table or picture; all of them land
JUDGED = (  # note under a table of differences
    "yes: significant at 99 % confidence for all rows together; perhaps: 0 is outside the row's own interval, as it is for 1 "
    "row in 20 by chance"
)
_SHARE = "frequency("
_CURVES: Mapping[str, float | str] = {"density": -1, "cdf": "%"}  # units of the values of curves
_PLACES = ("mean", "quantile(", "trimmed_mean")  # functionals that are locations: dates for a date attribute
_LONG, _SHORT = 1e7, 1e-4  # numbers outside this range are printed with a power of ten
_MORE_DIGITS = 4
_TITLES: ContextVar[Mapping[tuple[str, str], str]] = ContextVar(
    "titles", default=MappingProxyType({})
)  # set by `titled`
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Phrase:
    """A functional in words, its printed unit, and the factor from the landed value to that unit."""

    text: str
    unit: str = ""
    factor: float = 1.0

    @property
    def unit_of_difference(self) -> str:
        """The unit of a difference."""
        return {"%": "% points", **dict.fromkeys(dates.EXAMPLES, "days")}.get(self.unit, self.unit)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A landed estimate or difference as text; '' for parts that do not exist.

    name: the functional's name in tables.  group: 'ATTRIBUTE: CATEGORY', 'rural − urban' for two groups, '' for all clients.
    holds: whether the interval covers the true value; None if unknown.  note: why no estimate is available.
    verdict: for a difference: 'yes' if it is significant simultaneously over all rows, 'perhaps' if only its own interval
    excludes zero, 'no', or '' if no difference is available.
    """

    attribute: str
    text: str
    name: str
    group: str
    estimate: str
    low: str
    high: str
    unit: str
    truth: str = ""
    holds: bool | None = None
    note: str = ""
    verdict: str = ""

    @property
    def quantity(self) -> str:
        """The full name of the quantity, for use outside a table."""
        if not is_share(self.name):
            return self.text
        return f"share {self.text}" if self.text.startswith("below ") else f"share of {self.text}"

    @property
    def value(self) -> str:
        """The estimate with its unit."""
        return f"{self.estimate} {self.unit}".strip() if self.estimate else "refused"

    @property
    def true(self) -> str:
        """The true value with its unit."""
        return f"{self.truth} {self.unit}".strip() if self.truth else ""

    @property
    def interval(self) -> str:
        """Both limits; '' without an interval."""
        return f"{self.low} to {self.high}" if self.low and self.high else ""


def read(row: Mapping[str, Any], unit: str) -> Line:
    """Return a row of `functionals`, `frequencies` or `comparisons` as text, with its `truth` if it has one.

    row: column -> value, None or nan for null.  unit: the attribute's.
    """
    row = {key: None if pd.isna(value) else value for key, value in row.items()}
    name = row["functional"] if "functional" in row else f"{_SHARE}{row['category']})"
    wording, is_difference = phrase(name, unit, row.get("attribute") or ""), "difference" in row
    value = row["difference"] if is_difference else row["estimate"]
    low, high, truth = (row.get(column) for column in ("low", "high", "truth"))
    verdict, holds = "", None
    if low is not None and high is not None:
        verdict = verdict_of(row) if is_difference else ""
        holds = None if truth is None else low <= truth <= high
    estimate = None if value is None else wording.factor * value
    spread = _spread(wording.factor, estimate, low, high, 0.0 if is_difference else truth)

    # A quantile of a discrete distribution, and the limits of its interval, are support points: they are not rounded.
    is_point = name.startswith("quantile(") and row.get("estimator") == "log_linear" and not is_difference

    is_date = wording.unit in dates.EXAMPLES and not is_difference

    def formatted(number: float | None) -> str:
        if number is None:
            return ""
        if is_date:
            return dates.date_text(number, wording.unit)
        if is_point:
            return separated(number)
        return rounded(wording.factor * number, spread, estimate)

    return Line(
        attribute=title_of(row.get("attribute") or ""),
        text=wording.text,
        name=name,
        group=whose(row.get("given") or "", row.get("other_given")),
        estimate=("+" if is_difference and value is not None and value > 0 else "") + formatted(value),
        low=formatted(low),
        high=formatted(high),
        unit=dates.SUFFIXES[wording.unit] if is_date else wording.unit_of_difference if is_difference else wording.unit,
        truth=formatted(truth),
        holds=holds,
        note=(row.get("reason") or "") if value is None else "",
        verdict=verdict,
    )


def verdict_of(row: Mapping[str, Any]) -> str:
    """Return whether an available row of `comparisons` is significant: 'yes', 'perhaps' or 'no'."""
    if row.get("differs") is not None and not pd.isna(row["differs"]) and row["differs"]:
        return "yes"
    return "no" if row["low"] <= 0 <= row["high"] else "perhaps"


def _spread(
    factor: float, estimate: float | None, low: float | None, high: float | None, beside: float | None
) -> float:
    """The spread that determines the digits: the interval's, or less if rounding would hide that it excludes `beside`."""
    if low is None or high is None:
        return math.nan
    spread = factor * (high - low)
    if beside is None or low <= beside <= high:
        return spread
    for _ in range(_MORE_DIGITS):
        truth, *ends = (rounded(factor * number, spread, estimate) for number in (beside, low, high))
        if truth not in ends:
            break
        spread /= 10
    return spread


def rounded(value: float, spread: float, beside: float | None = None) -> str:
    """Return the number rounded to two significant digits of its spread.

    A spread that is not positive and finite is replaced by a hundredth of the value.
    beside: the estimate, for a limit or a true value, so that both are printed with the same power of ten.
    """
    if not math.isfinite(value):
        return "–"
    if not (math.isfinite(spread) and spread > 0):
        spread = abs(value) / 100
    if spread == 0:
        return "0"
    largest = max(abs(value if beside is None or not math.isfinite(beside) else beside), spread / 2)
    if not _SHORT <= largest < _LONG:
        power = math.floor(math.log10(largest))
        unit = 10.0**power
        return f"{rounded(value / unit, spread / unit, largest / unit)} × 10{str(power).translate(_RAISED)}"
    digits = 1 - math.floor(math.log10(spread))
    value = round(value, digits) + 0.0
    return separated(value) if digits <= 0 else f"{value:,.{digits}f}".replace("-", "−")


def separated(value: float) -> str:
    """Return the number with thousands separators and a true minus sign, to at most 10 digits."""
    return f"{value + 0.0:,.10g}".replace("-", "−")  # + 0.0 removes the sign of −0


def in_words(name: str) -> str:
    """Return a name of the scheme with spaces for underscores: urban_rural becomes urban rural."""
    return name.replace("_", " ")


@contextmanager
def titled(canonical: str | None) -> Iterator[None]:
    """Let `title_of` return the titles of a scheme, while the block runs; canonical: its text, None if it is unknown."""
    scheme = tomllib.loads(canonical or "")
    tables = {**scheme.get("attributes", {}), **scheme.get("labels", {})}
    titles = {(name, ""): table["title"] for name, table in tables.items() if "title" in table}
    titles |= {(name, key): title for name, table in tables.items() for key, title in table.get("titles", {}).items()}
    before = _TITLES.set(titles)
    try:
        yield
    finally:
        _TITLES.reset(before)


def title_of(attribute: str, category: str = "") -> str:
    """Return the title of an attribute or label, or of its category; without one, the name in words."""
    return _TITLES.get().get((attribute, category)) or in_words(category or attribute)


def whose(text: str, other: str | None = None) -> str:
    """Return a group in words: '' for all clients, 'home: rural', for a difference 'rural' or 'rural − urban'.

    Estimates weighted to the population are 'weighted by region'.
    """
    group = Group.parse(text)
    if group is None:
        return ""
    if group.attribute == WEIGHTED:
        return f"{WEIGHTED} by {', '.join(map(title_of, group.category.split(',')))}"
    if other is None:
        return f"{title_of(group.attribute)}: {title_of(group.attribute, group.category)}"
    sides = [title_of(side.attribute, side.category) for side in (group, Group.parse(other)) if side is not None]
    return " − ".join(dict.fromkeys(sides))


def phrase(functional: str, unit: str, attribute: str = "") -> Phrase:
    """Return a functional named as in tables ('cdf(50000)') in words, for an attribute with this unit and these categories."""
    if is_share(functional):
        category = functional[len(_SHARE) : -1]
        if unit in dates.EXAMPLES and category != MISSING:
            category = f"{dates.date_text(float(Fraction(category)), unit)} {dates.SUFFIXES[unit]}".rstrip()
        return Phrase(title_of(attribute, category), "%", 100)
    parsed = functional_named(functional)
    text, measure = in_words(functional), _CURVES.get(functional, 0) if parsed is None else parsed.unit
    if parsed is not None and parsed.phrase:
        values = {field.name: getattr(parsed, field.name) for field in fields(parsed)}  # type: ignore[arg-type]
        is_place = unit in dates.EXAMPLES and "{unit}" in parsed.phrase  # an argument that is a date
        shown = partial(dates.date_text, unit=unit) if is_place else separated
        arguments = {name: title_of(attribute, v) if isinstance(v, str) else shown(v) for name, v in values.items()}
        text = parsed.phrase.format(**arguments, unit=dates.SUFFIXES.get(unit, unit)).strip()
    if isinstance(measure, str):
        return Phrase(text, measure, 100 if measure == "%" else 1)
    if unit in dates.EXAMPLES and not (measure == 1 and functional.startswith(_PLACES)):
        unit = "days"
    return Phrase(text, _to_the_power(unit, measure))


@lru_cache(maxsize=1024)
def functional_named(text: str) -> Functional | None:
    """Return the functional with this name in tables; None for a proportion, a curve or a functional defined elsewhere."""
    try:
        return parse(text)
    except SchemeError:
        return None


def _to_the_power(unit: str, power: float) -> str:
    if not unit or not power:
        return ""
    size, unit = abs(power), f"({unit})" if " " in unit and abs(power) != 1 else unit
    raised = "" if size == 1 else str(int(size)).translate(_RAISED) if size == int(size) else f"^{size:g}"
    return f"{'per ' if power < 0 else ''}{unit}{raised}"


def is_share(functional: str) -> bool:
    """Whether the functional is the proportion of a category: frequency(CATEGORY)."""
    return functional.startswith(_SHARE)


def rank(functional: str) -> tuple[int, str, list[float]]:
    """Return the sort key of a functional in a table: common functionals first, then by name and argument."""
    if is_share(functional):
        return (-1, "", [])  # proportions keep their order
    name, _, inside = functional.partition("(")
    arguments = [
        float(number) for number in re.findall(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", inside)
    ]
    return (NAMES.index(name) if name in NAMES else len(NAMES), name, arguments)


def by_other(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (attribute, rows of the groups that it defines), in order of appearance; rows for all clients are left out."""
    groups = rows["given"].map(Group.parse) if len(rows) else pd.Series(dtype=object)
    others = groups.dropna().map(lambda group: group.attribute)
    for other in others[others != WEIGHTED].unique():
        yield other, rows[others.reindex(rows.index) == other]


def is_law(rows: pd.DataFrame) -> pd.Series:
    """Which rows of `frequencies` are for the values of a numeric attribute."""
    return rows["estimator"] == "log_linear" if "estimator" in rows else pd.Series(False, index=rows.index)


def is_silence(rows: pd.DataFrame) -> pd.Series:
    """Which rows of `frequencies` are for item nonresponse."""
    return rows["category"] == MISSING


def largest(rows: pd.DataFrame, column: str = "estimate") -> pd.DataFrame:
    """Return the `SHOWN` largest rows by a column, in their own order."""
    return rows.loc[rows[column].nlargest(SHOWN).index.sort_values()] if len(rows) > SHOWN else rows


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as dictionaries, with None for null."""
    return [
        {str(key): None if pd.isna(value) else value for key, value in row.items()} for row in frame.to_dict("records")
    ]
