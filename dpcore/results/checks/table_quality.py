"""What the tables of a round must be like, declared; in `checks` every round says of each table whether it is.

A row that breaks a rule is counted and never shown.  What the warehouse's own constraints refuse need not be repeated here: a
constraint ends the landing, a rule is told beside what has landed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import pandas as pd

from dpcore.functionals.group import Group
from dpcore.results.checks.check import Check, frame_of
from dpcore.results.text.phrases import known

Tables = Mapping[str, pd.DataFrame]


class Rule(NamedTuple):
    """What rows must be like, in words, and which of them are, (rows,); a comparison with a null holds."""

    text: str
    holds: Callable[[pd.DataFrame], pd.Series]


_ROUNDING = 1e-9  # of sums of doubles
_GRID = 0.05  # by which trapezoids through a landed density's 201 points may miss the integral of a smooth one


def verdicts(tables: Tables) -> pd.DataFrame:
    """Return rows of `checks`, one for each table of a run that has rules: quality(TABLE).

    tables: those of one run, by name.  observed: how many rows break a rule; threshold: 0.
    """
    rows = []
    for table, rules in _RULES.items():
        if table in tables:
            frame = tables[table].reset_index(drop=True)
            broken = _broken(rules, _BESIDE.get(table, _alone)(frame, tables))
            wrong = len(set().union(*broken.values()))
            told = [f"{rule}: broken by {len(indices)} of {len(frame)} rows" for rule, indices in broken.items()]
            detail = "; ".join(told) or f"{len(frame)} rows keep every rule"
            rows.append(Check(f"quality({table})", not broken, float(wrong), 0.0, detail))
    return frame_of(rows)


def _broken(rules: list[Rule], frame: pd.DataFrame) -> dict[str, set[object]]:
    """Rule -> the rows that break it; where it cannot be asked, as of a column that is missing, all, be they none."""
    broken: dict[str, set[object]] = {}
    for rule in rules:
        try:
            if rows := set(frame.index[~rule.holds(frame)]):
                broken[rule.text] = rows
        except (KeyError, TypeError, ValueError, AttributeError):
            broken[rule.text] = set(frame.index)
    return broken


def _alone(frame: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    return frame


def _beside_bounds(frame: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Each row beside its attribute's bounds, null for categories, and the share that the density shown leaves to atoms."""
    bounds = tables["attributes"][["attribute", "lower", "upper"]]
    functionals = tables.get("functionals", pd.DataFrame(columns=["attribute", "given", "functional", "plug_in"]))
    functionals = functionals[functionals["functional"].str.startswith("atom(")]
    atoms = functionals.groupby(["attribute", "given"])["plug_in"].sum().rename("atoms").reset_index()
    beside = frame.merge(bounds, how="left", on="attribute")
    beside = beside.merge(atoms, how="left", on=["attribute", "given"])
    return beside.fillna({"atoms": 0.0})


def _beside_categories(frame: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Each row beside the position of its category in the scheme, null where the scheme has no such category."""
    positions = tables["categories"][["attribute", "category", "position"]]
    return frame.merge(positions, how="left", on=["attribute", "category"])


def _beside_counts(frame: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Each budget beside what a client spends and the scheme promises, and the most reports counted at any level."""
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


def _known(column: str) -> Rule:
    return Rule(f"{column} is known", lambda rows: rows[column].notna())


def _ordered(*columns: str) -> Rule:
    """Each column is not above the next."""

    def holds(frame: pd.DataFrame) -> pd.Series:
        above = [frame[left] > frame[right] for left, right in pairwise(columns)]
        return ~pd.concat(above, axis=1).any(axis=1)

    return Rule(" <= ".join(columns), holds)


def _shares_add_up(frame: pd.DataFrame) -> pd.Series:
    groups = frame.groupby(["attribute", "estimator", "given"])["estimate"]
    return ((groups.transform("sum") - 1).abs() <= _ROUNDING) | (
        groups.transform("size") == 1
    )  # silence beside a density


def _inside(frame: pd.DataFrame) -> pd.Series:
    """Numbers in the attribute's unit, and shares of people, lie in their range on its bounds, and so do their intervals."""
    asked = zip(frame["functional"], frame["lower"], frame["upper"], strict=True)
    ranges = pd.DataFrame([_range(*row) for row in asked], columns=["lower", "upper"], index=frame.index, dtype=float)
    lower, upper = ranges["lower"], ranges["upper"]
    outside = [(frame[column] < lower) | (frame[column] > upper) for column in ("estimate", "low", "high")]
    return ~pd.concat(outside, axis=1).any(axis=1)


def _range(text: str, lower: float, upper: float) -> tuple[float, float]:
    """The least and the largest value on these bounds, nan for categories; no limit where a range is not of the whole law."""
    functional = known(text)
    if functional is None or functional.unit not in (1, "%") or (math.isnan(lower) and functional.unit == 1):
        return math.nan, math.nan
    return (0.0, 1.0) if math.isnan(lower) else functional.range_on(lower, upper)


def _all_or_nothing(frame: pd.DataFrame) -> pd.Series:
    """An estimate comes with its interval, a refusal with its reason and with no number."""
    numbers = frame[["estimate", "standard_error", "low", "high"]].notna()
    return numbers.all(axis=1) | (~numbers.any(axis=1) & frame["reason"].notna())


def _cells_add_up(frame: pd.DataFrame) -> pd.Series:
    return (frame.groupby(["first", "second"])["share"].transform("sum") - 1).abs() <= _ROUNDING


def _is_correlation(frame: pd.DataFrame) -> pd.Series:
    """Shown and by interval; an estimate may lie beyond."""
    ends = frame[["plug_in", "low", "high"]].abs()
    return ~(frame["functional"].str.endswith("correlation") & (ends > 1 + _ROUNDING).any(axis=1))


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
    """By trapezoids through its points, to one less the atoms; a curve that jumps is missed by a step times its variation."""
    ordered = _in_order(frame)
    keys = [ordered[key] for key in ("attribute", "estimator", "given")]
    before = ordered.groupby(keys)[["x", "density"]].shift()
    area = (ordered["density"] + before["density"]) / 2 * (ordered["x"] - before["x"])
    jumps = (ordered["density"] - before["density"]).abs() * (ordered["x"] - before["x"])
    total, missed = (column.groupby(keys).transform("sum").reindex(frame.index) for column in (area, jumps))
    return (total + frame["atoms"] - 1).abs() <= _GRID + missed


def _groups_add_up(frame: pd.DataFrame) -> pd.Series:
    """The statistics of a pair's groups add up to everyone's, integer for integer; of a label some may be hidden."""
    place = ["attribute", "statistic", "level", "cell"]
    other = frame["given"].map(lambda given: group.attribute if (group := Group.parse(given)) else "")
    sums = frame.groupby([*(frame[key] for key in place), other])["value"].transform("sum")
    everyone = frame[frame["given"] == ""].groupby(place, as_index=False)["value"].sum()
    whole = frame.merge(everyone, how="left", on=place, suffixes=("", "_of_everyone"))["value_of_everyone"]
    whole = whole.set_axis(frame.index)
    is_part = frame["of_label"] & ((frame["statistic"] == "sum") | (sums <= whole))
    return (sums == whole) | (frame["given"] == "") | is_part


_RULES: Mapping[str, list[Rule]] = {
    "aggregates": [
        Rule("counts are not negative", lambda rows: (rows["statistic"] == "sum") | (rows["value"] >= 0)),
        Rule("groups add up to everyone", _groups_add_up),
    ],
    "frequencies": [
        *_between(0, 1, "estimate", "low", "high"),
        *_not_negative("standard_error"),
        _ordered("low", "estimate", "high"),
        Rule("shares of a group add up to 1", _shares_add_up),
        Rule("the category is one of the scheme's", lambda rows: rows["position"].notna()),
    ],
    "densities": [
        *_not_negative("density", "low", "high"),
        *_between(0, 1, "cdf", "cdf_low", "cdf_high"),
        _ordered("lower", "x", "upper"),
        _ordered("low", "density", "high"),
        _ordered("cdf_low", "cdf", "cdf_high"),
        Rule("the cdf never falls", _never_falls),
        Rule("the cdf ends at 1", _ends_at_one),
        Rule("density and atoms integrate to 1", _integrates),
    ],
    "functionals": [
        *_not_negative("standard_error"),
        _ordered("low", "estimate", "high"),
        Rule("numbers in the attribute's unit, and shares, lie within their range", _inside),
        Rule("an estimate has an interval, a refusal a reason", _all_or_nothing),
    ],
    "joint": [
        *_between(0, 1, "share", "low", "high"),
        *_not_negative("standard_error"),
        _known("standard_error"),
        _ordered("low", "share", "high"),
        Rule("the cells of a pair add up to 1", _cells_add_up),
    ],
    "associations": [
        *_not_negative("standard_error"),
        *_between(0, 1, "p_value"),
        _ordered("low", "high"),
        Rule("a correlation is between -1 and 1", _is_correlation),
        Rule("a number has an interval, a test a p-value, a refusal a reason", _number_or_test),
    ],
    "budgets": [
        *_not_negative("charges"),
        _known("charges"),
        Rule(
            "a client spends no more epsilon than the scheme promises",
            lambda rows: rows["spent"] <= rows["promised"] * (1 + _ROUNDING),
        ),
        Rule("no more reports are counted than were charged", lambda rows: ~(rows["most"] > rows["charges"])),
    ],
    "comparisons": [
        *_not_negative("standard_error"),
        *_between(-1, 1, "correlation"),
        _ordered("low", "difference", "high"),
    ],
    "truths": [
        Rule(
            "shares are between 0 and 1",
            lambda rows: ~rows["quantity"].str.startswith("frequency(") | rows["value"].between(0, 1),
        ),
    ],
}
