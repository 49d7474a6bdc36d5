"""How far two numbers may differ that two processors computed: the one rule of the tests that compare with a file.

A processor adds and multiplies in an order of its own, so that the last digits of every float differ.  Iterations stop at
1e-4 standard errors (`penalised_likelihood`), so that an estimate may move by a thousandth of its standard error and no more.
`make portable` prints how far estimates do move between processors: about 1e-5 standard errors.

Integers, texts and digests are compared exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from scipy import special

SHARE = 1e-3  # of a standard error, or of half the width of a band
ROUNDING = 1e-9  # of a number that no iteration has touched: a sum of a million terms loses seven of sixteen digits
CANCELLED = 1e-12  # of the largest number of a column, below which digits are what a subtraction left over
SOLVED = 1e-9  # the same of a density or an influence, which a linear solve leaves instead of zero

Row = Sequence[Any]
Tolerance = Callable[[dict[str, Any]], float]


def _of_error(row: dict[str, Any]) -> float:
    error = row.get("standard_error")
    return SHARE * error if isinstance(error, float) and error > 0 else math.nan


def _of_band(low: str, high: str) -> Tolerance:
    return lambda row: SHARE * (row[high] - row[low]) / 2 if low in row else math.nan


def _of_itself(column: str, share: float = 2 * SHARE) -> Tolerance:
    return lambda row: share * abs(row[column])


_ESTIMATES = ("estimate", "plug_in", "share", "raw", "difference", "standard_error", "low", "high")
_TOLERANCES: dict[str, dict[str, Tolerance]] = {
    # what has a standard error beside it; an estimate that moves by a thousandth moves its bounds as far
    "": dict.fromkeys(_ESTIMATES, _of_error),
    "densities": {
        **dict.fromkeys(("density", "low", "high"), _of_band("low", "high")),
        **dict.fromkeys(("cdf", "cdf_low", "cdf_high"), _of_band("cdf_low", "cdf_high")),
    },
    # a chi-squared statistic is a sum of squares: it moves by twice what its roots move by
    "associations": {"statistic": _of_itself("statistic")},
    "checks": {"observed": _of_itself("observed"), "threshold": _of_itself("threshold")},
    "failed_checks": {"observed": _of_itself("observed"), "threshold": _of_itself("threshold")},
    "levels": {"statistic": _of_itself("statistic"), "threshold": _of_itself("threshold")},
    # a ratio of two numbers that each move by a thousandth of the lower one; a correlation lies within 1 of 0
    "comparisons": {
        "deviations": lambda row: SHARE * (1 + abs(row["deviations"])),
        "threshold": _of_itself("threshold"),
        "correlation": lambda row: SHARE,
    },
    "pooled_estimates": {"disagreement": _of_itself("disagreement")},
    # the most that one report moves an estimate by is n times a part of its standard error
    "sensitivities": {"sensitivity": _of_itself("sensitivity")},
    # sums over a curve, whose points move by a thousandth of a band each; bands are at least a hundredth of their curve
    "sums of densities": {"sum": _of_itself("sum", 1e-5), "sum of squares": _of_itself("sum of squares", 2e-5)},
    # sums of coordinates of a picture, among them differences in standard errors, which move as "deviations" do
    "drawn": {column: _of_itself(column, SHARE) for column in ("x", "y", "x by place", "y by place")},
}


def compared(section: str, columns: Sequence[str], before: Sequence[Row], after: Sequence[Row]) -> Iterator[str]:
    """Yield what differs between two tables of as many rows, a sentence each."""
    for number, column, old, new, moved in movements(section, columns, before, after):
        if not moved <= 1:
            yield f"row {number}, column {column!r}: was {old!r}, is {new!r}; the row was {shortened(before[number])}"


def movements(
    section: str, columns: Sequence[str], before: Sequence[Row], after: Sequence[Row]
) -> Iterator[tuple[int, str, Any, Any, float]]:
    """Yield row, column, both values and how many tolerances they differ by, infinitely many where they must be equal."""
    name = section.removeprefix("table ").removeprefix("view ")
    rules = {**_TOLERANCES[""], **_TOLERANCES.get(name, {})}
    largest = [_largest(row[place] for row in before) for place in range(len(columns))]
    for number, (old_row, new_row) in enumerate(zip(before, after, strict=True)):
        row = dict(zip(columns, old_row, strict=True))
        for column, size, old, new in zip(columns, largest, old_row, new_row, strict=True):
            if type(old) is type(new) and old == new:
                continue
            if not (isinstance(old, float) and isinstance(new, float)):
                yield number, column, old, new, math.inf
                continue
            if column == "p_value":  # on the scale of the standardized statistic that it is the tail of
                old_score, new_score = (special.ndtri_exp(math.log(max(p, 1e-300))) for p in (old, new))
                yield number, column, old, new, abs(old_score - new_score) / (SHARE * (1 + abs(old_score)))
                continue
            floor = (SOLVED if name in ("densities", "sensitivities") else CANCELLED) * size
            least = max(ROUNDING * max(abs(old), abs(new)), floor)
            allowed = rules[column](row) if column in rules else math.nan
            yield number, column, old, new, abs(old - new) / (least if math.isnan(allowed) else max(least, allowed))


def shortened(row: Row) -> str:
    """Return a row's texts and integers, by which it can be found."""
    text = str([value for value in row if not isinstance(value, float)])
    return text if len(text) < 200 else f"{text[:200]}..."


def _largest(values: Iterable[Any]) -> float:
    return max((abs(value) for value in values if isinstance(value, float) and math.isfinite(value)), default=0.0)
