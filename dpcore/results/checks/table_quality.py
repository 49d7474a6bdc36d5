"""Data-quality rules of a round's tables; `checks` has one row for each table.

Rows that violate a rule are counted, never shown.  Constraints of the warehouse are not repeated here: a violated constraint
stops the landing, a violated rule fails a check of a landed run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import pandas as pd

from dpcore.estimation.registry import names_where
from dpcore.functionals.group import Group
from dpcore.results.checks.check import Check, frame_of
from dpcore.results.text.phrases import functional_named

Tables = Mapping[str, pd.DataFrame]


class Rule(NamedTuple):
    """A rule in words, and a function that marks the rows that satisfy it, (rows,); comparisons with null do."""

    text: str
    holds: Callable[[pd.DataFrame], pd.Series]


_ROUNDING = 1e-9  # tolerance for rounding of sums of doubles
_GRID = 0.05  # error of the trapezoidal rule on a landed density's 201 points, for a smooth density


def verdicts(tables: Tables) -> pd.DataFrame:
    """Return one row of `checks`, quality(TABLE), for each table with rules.

    tables: those of one run, by name.  observed: number of rows that violate a rule; threshold: 0.
    """
    rows = []
    for table, rules in _RULES.items():
        if table in tables:
            frame = tables[table].reset_index(drop=True)
            broken = _broken(rules, _BESIDE[table](frame, tables) if table in _BESIDE else frame)
            violations = len(set().union(*broken.values()))
            details = [f"{rule}: violated by {len(indices)} of {len(frame)} rows" for rule, indices in broken.items()]
            detail = "; ".join(details) or f"{len(frame)} row{'s' * (len(frame) != 1)}: every rule satisfied"
            rows.append(Check(f"quality({table})", not broken, float(violations), 0.0, detail))
    return frame_of(rows)


def _broken(rules: list[Rule], frame: pd.DataFrame) -> dict[str, set[object]]:
    """Rule -> rows that violate it; all rows if it cannot be evaluated, for example because a column is missing."""
    broken: dict[str, set[object]] = {}
    for rule in rules:
        try:
            if rows := set(frame.index[~rule.holds(frame)]):
                broken[rule.text] = rows
        except (KeyError, TypeError, ValueError, AttributeError):
            broken[rule.text] = set(frame.index)
    return broken


def _beside_bounds(frame: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Join each row with its attribute's bounds (null for categories) and the total of its point masses."""
    bounds = tables["attributes"][["attribute", "lower", "upper"]]
    functionals = tables.get("functionals", pd.DataFrame(columns=["attribute", "given", "functional", "plug_in"]))
    functionals = functionals[functionals["functional"].str.startswith("atom(")]
    atoms = functionals.groupby(["attribute", "given"])["plug_in"].sum().rename("atoms").reset_index()
    beside = frame.merge(bounds, how="left", on="attribute")
    beside = beside.merge(atoms, how="left", on=["attribute", "given"])
    return beside.fillna({"atoms": 0.0})


def _beside_categories(frame: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Join each row with the position of its category in the scheme, null if the scheme has none."""
    positions = tables["categories"][["attribute", "category", "position"]]
    return frame.merge(positions, how="left", on=["attribute", "category"])


def _beside_counts(frame: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Join each budget with a client's epsilon, the scheme's total, and the number of reports counted."""
    counted = tables["aggregates"]
    counted = counted[(counted["statistic"] == "reports") & (counted["given"] == "")]
    most = counted.groupby("attribute")["value"].max().rename("most").reset_index()
    scheme = tables["schemes"].iloc[0]
    spent = frame["epsilon"].sum() if scheme["reporting"] == "all" else frame["epsilon"]
    return frame.merge(most, how="left", on="attribute").assign(spent=spent, promised=float(scheme["epsilon"]))


def _beside_labels(frame: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    labels = set(tables["labels"]["label"]) if "labels" in tables else set()
    groups = frame["given"].map(Group.parse)
    return frame.assign(of_label=[group is not None and group.attribute in labels for group in groups])


_BESIDE: Mapping[str, Callable[[pd.DataFrame, Tables], pd.DataFrame]] = {
    "aggregates": _beside_labels,
    "frequencies": _beside_categories,
    "densities": _beside_bounds,
    "functionals": _beside_bounds,
    "budgets": _beside_counts,
}


def _between(lower: float, upper: float, *columns: str) -> list[Rule]:
    def within(column: str) -> Callable[[pd.DataFrame], pd.Series]:
        return lambda rows: ~((pd.to_numeric(rows[column]) < lower) | (pd.to_numeric(rows[column]) > upper))

    return [Rule(f"{column} is between {lower:g} and {upper:g}", within(column)) for column in columns]


def _not_negative(*columns: str) -> list[Rule]:
    def above(column: str) -> Callable[[pd.DataFrame], pd.Series]:
        return lambda rows: ~(pd.to_numeric(rows[column]) < 0)

    return [Rule(f"{column} is not negative", above(column)) for column in columns]


def _not_null(column: str) -> Rule:
    return Rule(f"{column} is not null", lambda rows: rows[column].notna())


def _ordered(*columns: str) -> Rule:
    """No column exceeds the next one."""

    def holds(frame: pd.DataFrame) -> pd.Series:
        above = [frame[left] > frame[right] for left, right in pairwise(columns)]
        return ~pd.concat(above, axis=1).any(axis=1)

    return Rule(" <= ".join(columns), holds)


def _shares_add_up(frame: pd.DataFrame) -> pd.Series:
    groups = frame.groupby(["attribute", "estimator", "given"])["estimate"]
    is_alone = groups.transform("size") == 1  # item nonresponse of a density
    is_separate = frame["estimator"].isin(names_where(sums_to_one=False))
    return ((groups.transform("sum") - 1).abs() <= _ROUNDING) | is_alone | is_separate


def _inside(frame: pd.DataFrame) -> pd.Series:
    """Functionals in the attribute's unit, proportions and their intervals are in the range that its bounds imply."""
    bounds = zip(frame["functional"], frame["lower"], frame["upper"], strict=True)
    ranges = pd.DataFrame([_range(*row) for row in bounds], columns=["lower", "upper"], index=frame.index, dtype=float)
    lower, upper = ranges["lower"], ranges["upper"]
    outside = [(frame[column] < lower) | (frame[column] > upper) for column in ("estimate", "low", "high")]
    return ~pd.concat(outside, axis=1).any(axis=1)


def _range(text: str, lower: float, upper: float) -> tuple[float, float]:
    """Smallest and largest value of a functional on these bounds; nan if it has no such limits."""
    functional = functional_named(text)
    if functional is None or functional.unit not in (1, "%") or (math.isnan(lower) and functional.unit == 1):
        return math.nan, math.nan
    return (0.0, 1.0) if math.isnan(lower) else functional.range_on(lower, upper)


def _all_or_nothing(frame: pd.DataFrame) -> pd.Series:
    """An available estimate has an interval; an unavailable one has a reason and no number."""
    numbers = frame[["estimate", "standard_error", "low", "high"]].notna()
    return numbers.all(axis=1) | (~numbers.any(axis=1) & frame["reason"].notna())


def _cells_add_up(frame: pd.DataFrame) -> pd.Series:
    return (frame.groupby(["first", "second"])["share"].transform("sum") - 1).abs() <= _ROUNDING


def _is_correlation(frame: pd.DataFrame) -> pd.Series:
    """The plug-in value and the interval are in [-1, 1]; an unconstrained estimate can be outside."""
    ends = frame[["plug_in", "low", "high"]].abs()
    return ~(frame["functional"].str.endswith("correlation") & (ends > 1 + _ROUNDING).any(axis=1))


def _of_regression(frame: pd.DataFrame) -> pd.Series:
    numbers = frame[["estimate", "standard_error", "low", "high", "confidence", "p_value"]].notna()
    test = frame[["statistic", "degrees", "p_value"]].notna().all(axis=1)
    return numbers.all(axis=1) ^ test ^ (frame["reason"].notna() & ~numbers.any(axis=1))


def _number_or_test(frame: pd.DataFrame) -> pd.Series:
    numbers = frame[["estimate", "standard_error", "low", "high", "confidence"]].notna()
    tests = frame[["statistic", "degrees", "p_value"]].notna()
    is_number = numbers.all(axis=1) & ~tests.any(axis=1)
    is_test = tests.all(axis=1) & ~numbers.any(axis=1)
    nothing = ~numbers[["estimate", "low", "high"]].any(axis=1) & ~tests.any(axis=1) & frame["reason"].notna()
    return is_number | is_test | nothing


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(["attribute", "estimator", "given", "x"])


def _never_falls(frame: pd.DataFrame) -> pd.Series:
    steps = _in_order(frame).groupby(["attribute", "estimator", "given"])["cdf"].diff()
    return ~(steps.reindex(frame.index) < -_ROUNDING)


def _ends_at_one(frame: pd.DataFrame) -> pd.Series:
    last = frame.groupby(["attribute", "estimator", "given"])["cdf"].transform("max")
    return ~((last - 1).abs() > _ROUNDING)


def _integrates(frame: pd.DataFrame) -> pd.Series:
    """Density and point masses integrate to 1 by the trapezoidal rule; its error at a jump is a step times the jump."""
    ordered = _in_order(frame)
    keys = [ordered[key] for key in ("attribute", "estimator", "given")]
    before = ordered.groupby(keys)[["x", "density"]].shift()
    area = (ordered["density"] + before["density"]) / 2 * (ordered["x"] - before["x"])
    jumps = (ordered["density"] - before["density"]).abs() * (ordered["x"] - before["x"])
    total, missed = (column.groupby(keys).transform("sum").reindex(frame.index) for column in (area, jumps))
    return (total + frame["atoms"] - 1).abs() <= _GRID + missed


def _groups_add_up(frame: pd.DataFrame) -> pd.Series:
    """Statistics of a pair's groups sum exactly to those of all clients; small groups of a label may be missing."""
    place = ["attribute", "statistic", "level", "cell"]
    other = frame["given"].map(lambda text: group.attribute if (group := Group.parse(text)) else "")
    sums = frame.groupby([*(frame[key] for key in place), other])["value"].transform("sum")
    everyone = frame[frame["given"] == ""].groupby(place, as_index=False)["value"].sum()
    whole = frame.merge(everyone, how="left", on=place, suffixes=("", "_of_everyone"))["value_of_everyone"]
    whole = whole.set_axis(frame.index)
    is_part = frame["of_label"] & ((frame["statistic"] == "sum") | (sums <= whole))
    return (sums == whole) | (frame["given"] == "") | is_part


_RULES: Mapping[str, list[Rule]] = {
    "aggregates": [
        Rule("counts are not negative", lambda rows: (rows["statistic"] == "sum") | (rows["value"] >= 0)),
        Rule("counts of groups sum to those of all clients", _groups_add_up),
    ],
    "frequencies": [
        *_between(0, 1, "estimate", "low", "high"),
        *_not_negative("standard_error"),
        _ordered("low", "estimate", "high"),
        Rule("proportions of a group sum to 1", _shares_add_up),
        Rule("the category is in the scheme", lambda rows: rows["position"].notna()),
    ],
    "densities": [
        *_not_negative("density", "low", "high"),
        *_between(0, 1, "cdf", "cdf_low", "cdf_high"),
        _ordered("lower", "x", "upper"),
        _ordered("low", "density", "high"),
        _ordered("cdf_low", "cdf", "cdf_high"),
        Rule("the cdf does not decrease", _never_falls),
        Rule("the cdf reaches 1", _ends_at_one),
        Rule("density and point masses integrate to 1", _integrates),
    ],
    "functionals": [
        *_not_negative("standard_error"),
        _ordered("low", "estimate", "high"),
        Rule("estimates and intervals are within the range of the functional", _inside),
        Rule("every row has an estimate with an interval, or a reason", _all_or_nothing),
    ],
    "joint": [
        *_between(0, 1, "share", "low", "high"),
        *_not_negative("standard_error"),
        _not_null("standard_error"),
        _ordered("low", "share", "high"),
        Rule("the cells of a pair sum to 1", _cells_add_up),
    ],
    "associations": [
        *_not_negative("standard_error"),
        *_between(0, 1, "p_value"),
        _ordered("low", "high"),
        Rule("a correlation is between -1 and 1", _is_correlation),
        Rule("every row has an estimate with an interval, a p-value, or a reason", _number_or_test),
    ],
    "regressions": [
        *_not_negative("standard_error", "statistic"),
        *_between(0, 1, "p_value"),
        _ordered("low", "estimate", "high"),
        Rule("every row has an estimate with an interval, a statistic, or a reason", _of_regression),
    ],
    "budgets": [
        *_not_negative("charges"),
        _not_null("charges"),
        Rule(
            "a client spends at most the epsilon of the scheme",
            lambda rows: rows["spent"] <= rows["promised"] * (1 + _ROUNDING),
        ),
        Rule("every counted report was charged", lambda rows: ~(rows["most"] > rows["charges"])),
    ],
    "comparisons": [
        *_not_negative("standard_error"),
        *_between(-1, 1, "correlation"),
        _ordered("low", "difference", "high"),
    ],
    "truths": [
        Rule(
            "proportions are between 0 and 1",
            lambda rows: ~rows["quantity"].str.startswith("frequency(") | rows["value"].between(0, 1),
        ),
    ],
}
