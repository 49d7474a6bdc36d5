"""What has changed since an earlier round, and how groups differ: rows of `comparisons` and their verdict.

A row's interval is pointwise: it alone holds with its confidence.  Of a hundred rows a few exclude zero by chance, so whether
anything `differs` is judged of all rows of two runs at once.  With A attributes and m rows of one of them, its rows differ
where they lie more than z(c^(1/(A m))) standard errors from zero: where nothing has changed, no row does with probability c at
least, however the errors are correlated [Sidak1967], and an attribute of ten thousand categories does not dull the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd

from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.inference.comparison import (
    Comparison,
    compare_frequencies,
    difference,
    related,
    simultaneous_deviations,
)
from dpcore.functionals import parse
from dpcore.pipeline import GroupEstimates, Round
from dpcore.results.checks import table_quality
from dpcore.results.checks.check import Check, frame_of, of_group
from dpcore.results.tables.functional_rows import result_of
from dpcore.results.text.phrases import records

CERTAINTY = (
    0.99  # of all verdicts of two runs at once: where nothing changes, a daily round calls once in a hundred days
)
NAMED = 3  # differences that a check's detail names
_KEY = ["attribute", "given", "functional"]
_NUMBERS = ["difference", "standard_error", "correlation", "confidence", "low", "high", "deviations"]
_COLUMNS = ["other_run_id", "attribute", "given", "other_given", "functional", *_NUMBERS, "reason"]
_PREFIX = "drift("


def between_rounds(now: pd.DataFrame, before: pd.DataFrame, remark: str | None = None) -> pd.DataFrame:
    """Return the rows of `comparisons` of a round and an earlier one: every number that both have, of everyone and of groups.

    now, before: one row per attribute, group and functional, or frequency(CATEGORY), whose estimate is then the unbiased share;
    before with its run_id.  remark: what there is to be said of all differences.
    """
    earlier = {tuple(row[name] for name in _KEY): row for row in records(before)}
    rows = []
    for row in records(now):
        other = earlier.get(tuple(row[name] for name in _KEY))
        if other is None or other["confidence"] != row["confidence"]:
            continue
        comparison = difference(result_of(row), result_of(other), remark=remark)
        rows.append(
            _row(comparison, other["run_id"], row["attribute"], row["given"], row["given"], "the earlier round")
        )
    return _judged(rows)


def judge(now: pd.DataFrame, before: pd.DataFrame, groups: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a landed run's rows of `comparisons` with the round before it, and the `checks` that depend on them.

    now, before: as `warehouse.landing.landing` hands them over, before empty where there is no earlier round.  groups: the
    run's rows of `comparisons` with itself.
    """
    changes = between_rounds(now, before, _remark(now, before))
    drift = drift_checks(changes, str(before["round"].iloc[0]) if len(before) else "")
    rows = pd.concat([groups, changes], ignore_index=True) if len(groups) else changes
    return changes, pd.concat([drift, table_quality.verdicts({"comparisons": rows})], ignore_index=True)


def _remark(now: pd.DataFrame, before: pd.DataFrame) -> str | None:
    """What there is to be said of every difference from the earlier round; both with source and seed."""
    if not len(now) or not len(before):
        return None
    source, seed = now["source"].iloc[0], now["seed"].iloc[0]
    if source == "simulated" and seed == before["seed"].iloc[0]:
        return f"both rounds are simulated with seed {seed}: the same people, whose errors are not independent"
    if source == "reports":
        return (
            "the rounds are counted as independent; memoised reports, which repeat, are correlated by an unknown amount"
        )
    return None


def between_groups(round_: Round, run_id: str) -> pd.DataFrame:
    """Return the rows of `comparisons` of a round with itself: every two groups of one attribute that both have an estimate.

    They are made of the same reports, so their errors are correlated; how that was counted stands in each row.
    """
    return _judged([row for left, right in _pairs(round_) for row in _of_pair(left, right, run_id)])


def _pairs(round_: Round) -> Iterator[tuple[GroupEstimates, GroupEstimates]]:
    for left, right in combinations([group for group in round_.groups if group.estimate is not None], 2):
        if (left.attribute, left.group.attribute) == (right.attribute, right.group.attribute):
            yield left, right


def _of_pair(left: GroupEstimates, right: GroupEstimates, run_id: str) -> Iterator[tuple[Any, ...]]:
    if isinstance(left.estimate, FrequencyEstimate) and isinstance(right.estimate, FrequencyEstimate):
        for comparison in compare_frequencies(left.estimate, right.estimate).values():
            yield _row(comparison, run_id, left.attribute, left.given, right.given, right.given, left.given)
    others = {result.functional: result for result in right.functionals}
    for result in left.functionals:
        if result.functional in others:
            rho, remark = related(left.estimate, right.estimate, parse(result.functional))
            comparison = difference(result, others[result.functional], correlation=rho, remark=remark)
            yield _row(comparison, run_id, left.attribute, left.given, right.given, right.given, left.given)


def _row(
    comparison: Comparison, run_id: str, attribute: str, given: str, other: str, right: str, left: str = "this round"
) -> tuple[Any, ...]:
    reason = comparison.reason
    if comparison.is_refused and reason is not None:
        reason = reason.replace("left: ", f"{left}: ").replace("right: ", f"{right}: ")
    numbers = [getattr(comparison, name) for name in _NUMBERS]
    return (run_id, attribute, given, other, comparison.functional, *numbers, reason)


def _judged(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=_COLUMNS).astype(dict.fromkeys(_NUMBERS, "float64"))
    threshold = frame["attribute"].map(_limits(frame)).astype("float64").mask(frame["difference"].isna())
    differs = (frame["deviations"] > threshold).astype("boolean").mask(frame["difference"].isna())
    return frame.assign(threshold=threshold, differs=differs)


def _limits(frame: pd.DataFrame) -> dict[str, float]:
    """Attribute -> the deviations beyond which its rows differ; without the attributes all of whose rows were refused."""
    counted = frame.loc[frame["difference"].notna(), "attribute"].value_counts()
    return {
        str(name): simultaneous_deviations(CERTAINTY, len(counted) * int(number)) for name, number in counted.items()
    }


def drift_checks(frame: pd.DataFrame, round_: str) -> pd.DataFrame:
    """Return the rows of `checks` that say of each attribute whether it has moved since the round of that name.

    frame: as `between_rounds` makes it.  observed: the deviations of the difference furthest from zero; threshold: what no
    difference of the round exceeds by chance, with CERTAINTY.
    """
    rows = []
    for attribute, limit in _limits(frame).items():
        own = frame[(frame["attribute"] == attribute) & frame["difference"].notna()]
        own = own.sort_values("deviations", ascending=False, kind="stable")
        moved = records(own[own["differs"]])
        examples = [f"{of_group(row['functional'], row['given'])} {row['difference']:+.4g}" for row in moved[:NAMED]]
        examples += ["..."] * (len(moved) > NAMED)
        detail = f"{len(moved)} of {len(own)} differences from round {round_} are more than chance explains"
        detail += ": " * bool(examples) + ", ".join(examples)
        rows.append(Check(f"{_PREFIX}{attribute})", not moved, float(own["deviations"].iloc[0]), limit, detail))
    return frame_of(rows)
