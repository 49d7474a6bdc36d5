"""Differences as rows: of rounds and of groups in `comparisons`, of the arms of experiments in `experiments`.

A row's interval is pointwise.  Of a hundred rows a few exclude zero by chance, so `differs` is a simultaneous test over all
rows of two runs.  With A attributes and m rows of an attribute, a row differs if it is more than z(c^(1/(A m))) standard errors
from zero.  If nothing has changed, no row differs with probability at least c for any correlation of the errors [Sidak1967].
The correction is by attribute, so an attribute with ten thousand categories does not reduce the power for others.

Rows of `experiments`: differences and ratios of the arms of a label with a control arm, in one round.

The outcomes of an experiment are the scheme's functionals and the proportion of each category.  Its p-values are adjusted for
all outcomes of all its arms in the round, together [Holm1979]; two proportions of one attribute that sum to one are one
outcome.

The view `pooled_experiments` has the difference of all rounds so far.  With weights w = 1 / SE^2, V = sum w and S = sum w d,
its always-valid interval is S / V -+ sqrt((V + r) log((V + r) / (r a^2))) / V, by a mixture of normal effects of variance
1 / r [Robbins1970].  It covers a constant difference in all rounds together with probability at least 1 - a.  It is shortest
after seven rounds like the first if r = 7 w_1 / x, x - log(1 + x) = 2 log(1 / a) [Howard2021]; x = 8.212 at a = 5 %.  Errors of
a round are normal because it has many clients [WaudbySmith2024].  Errors of rounds must be independent, which memoized answers
are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import pandas as pd

from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate, refused
from dpcore.estimation.inference.comparison import (
    Comparison,
    compare_frequencies,
    difference,
    holm,
    ratio,
    related,
    shares,
    simultaneous_deviations,
)
from dpcore.functionals import parse
from dpcore.functionals.group import Group
from dpcore.pipeline import GroupEstimates, Round
from dpcore.protocol.attribute import Attribute
from dpcore.results.checks import table_quality
from dpcore.results.checks.check import Check, frame_of, of_group
from dpcore.results.tables.estimate_rows import result_of
from dpcore.results.text.phrases import is_share, records

CERTAINTY = (
    0.99  # simultaneous confidence for all rows of two runs: a daily round has one false alarm in a hundred days
)
NAMED = 3  # differences that the detail of a check lists
_KEY = ["attribute", "given", "functional"]
_NUMBERS = ["difference", "standard_error", "correlation", "confidence", "low", "high", "deviations"]
_COLUMNS = ["other_run_id", "attribute", "given", "other_given", "functional", *_NUMBERS, "reason"]
_PREFIX = "drift("
_DIFFERENCE = ("difference", "standard_error", "low", "high", "confidence", "p_value")
_ADDED = ("adjusted_p_value", "ratio", "ratio_low", "ratio_high")


def between_rounds(now: pd.DataFrame, before: pd.DataFrame, remark: str | None = None) -> pd.DataFrame:
    """Return the rows of `comparisons` between a round and an earlier one, for every functional that both have.

    now, before: one row per attribute, group and functional, or frequency(CATEGORY) with the unbiased proportion as estimate;
    before with its run_id.  remark: a remark on all differences.
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
    """Return a landed run's rows of `comparisons` with the previous round, and the `checks` that depend on them.

    now, before: from `warehouse.landing.landing`; before is empty without an earlier round.  groups: the run's rows of
    `comparisons` between its own groups.
    """
    changes = between_rounds(now, before, _remark(now, before))
    drift = drift_checks(changes, str(before["round"].iloc[0]) if len(before) else "")
    rows = pd.concat([groups, changes], ignore_index=True) if len(groups) else changes
    return changes, pd.concat([drift, table_quality.verdicts({"comparisons": rows})], ignore_index=True)


def _remark(now: pd.DataFrame, before: pd.DataFrame) -> str | None:
    """A remark on all differences from the earlier round; both frames have source and seed."""
    if not len(now) or not len(before):
        return None
    source, seed = now["source"].iloc[0], now["seed"].iloc[0]
    if source == "simulated" and seed == before["seed"].iloc[0]:
        return f"both rounds are simulated with seed {seed}: they have the same clients and dependent errors"
    if source == "reports":
        return "assumes independent rounds; memoized reports repeat and cause an unknown positive correlation"
    return None


def between_groups(round_: Round, run_id: str) -> pd.DataFrame:
    """Return the rows of `comparisons` within a round: all pairs of groups of one attribute with estimates.

    The groups share reports, so their errors are correlated; each row has the correlation that its interval uses.
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
    for result, other in both(left.functionals, right.functionals):
        rho, remark = related(left.estimate, right.estimate, parse(result.functional))
        comparison = difference(result, other, correlation=rho, remark=remark)
        yield _row(comparison, run_id, left.attribute, left.given, right.given, right.given, left.given)


def both(
    left: Iterable[FunctionalEstimate], right: Iterable[FunctionalEstimate]
) -> Iterator[tuple[FunctionalEstimate, FunctionalEstimate]]:
    """Yield the results of each functional that both sides have."""
    others = {result.functional: result for result in right}
    for result in left:
        if result.functional in others:
            yield result, others[result.functional]


def _row(
    comparison: Comparison, run_id: str, attribute: str, group: str, other: str, right: str, left: str = "this round"
) -> tuple[Any, ...]:
    numbers = [getattr(comparison, name) for name in _NUMBERS]
    return (run_id, attribute, group, other, comparison.functional, *numbers, reason_of(comparison, left, right))


def reason_of(comparison: Comparison, left: str, right: str) -> str | None:
    """Return the reason of a comparison, with the names of its sides."""
    reason = comparison.reason
    if comparison.is_refused and reason is not None:
        reason = reason.replace("left: ", f"{left}: ").replace("right: ", f"{right}: ")
    return reason


def _judged(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=_COLUMNS).astype(dict.fromkeys(_NUMBERS, "float64"))
    threshold = frame["attribute"].map(_limits(frame)).astype("float64").mask(frame["difference"].isna())
    differs = (frame["deviations"] > threshold).astype("boolean").mask(frame["difference"].isna())
    return frame.assign(threshold=threshold, differs=differs)


def _limits(frame: pd.DataFrame) -> dict[str, float]:
    """Attribute -> critical value of the deviations of its rows; attributes without any difference are left out."""
    counted = frame.loc[frame["difference"].notna(), "attribute"].value_counts()
    return {
        str(name): simultaneous_deviations(CERTAINTY, len(counted) * int(number)) for name, number in counted.items()
    }


def drift_checks(frame: pd.DataFrame, round_: str) -> pd.DataFrame:
    """Return the checks of drift: one row of `checks` per attribute, whether it has changed since the round of that name.

    frame: from `between_rounds`.  observed: the largest deviations of a difference from zero; threshold: the critical value
    with simultaneous confidence `CERTAINTY`.
    """
    rows = []
    for attribute, limit in _limits(frame).items():
        own = frame[(frame["attribute"] == attribute) & frame["difference"].notna()]
        own = own.sort_values("deviations", ascending=False, kind="stable")
        moved = records(own[own["differs"]])
        examples = [f"{of_group(row['functional'], row['given'])} {row['difference']:+.4g}" for row in moved[:NAMED]]
        examples += ["..."] * (len(moved) > NAMED)
        detail = f"{len(moved)} of {len(own)} differences from round {round_} are statistically significant"
        detail += ": " * bool(examples) + ", ".join(examples)
        rows.append(Check(f"{_PREFIX}{attribute})", not moved, float(own["deviations"].iloc[0]), limit, detail))
    return frame_of(rows)


def experiment_table(round_: Round) -> pd.DataFrame:
    """Return the frame of `experiments`; it is empty if no label of the scheme has a control arm."""
    scheme = round_.aggregate.scheme
    experiments = {label.name: list(_of_experiment(round_, label)) for label in scheme.labels.values() if label.control}
    frames = [
        _adjusted(pd.DataFrame(rows), scheme.attributes).assign(label=name)
        for name, rows in experiments.items()
        if rows
    ]
    if not frames:
        return pd.DataFrame()
    types = dict.fromkeys((*_DIFFERENCE, *_ADDED), "float64")
    return pd.concat(frames, ignore_index=True).astype(types)


def _of_experiment(round_: Round, label: Attribute) -> Iterator[dict[str, Any]]:
    """The rows of each arm but the control; groups by one label have different clients, so that errors are independent."""
    groups = {(one.group, one.attribute): one for one in round_.groups}
    for arm in label.categories:
        for name, attribute in round_.aggregate.scheme.attributes.items():
            sides = [groups.get((Group(label.name, category), name)) for category in (arm, label.control)]
            results = [_of_arm(side, attribute) for side in sides if side is not None]
            if arm == label.control or not results:
                continue
            for one, other in both(*results):
                compared = difference(one, other)
                rate = None if attribute.is_date else ratio(one, other)
                reason = reason_of(compared, arm, label.control)
                if rate is None and reason is None:
                    zero = f"no ratio: {label.control} is not significantly above zero"
                    reason = "no ratio: dates have no zero" if attribute.is_date else zero
                yield {
                    "arm": arm,
                    "control": label.control,
                    "attribute": name,
                    "functional": compared.functional,
                    **{column: getattr(compared, column) for column in _DIFFERENCE},
                    **dict(zip(_ADDED[1:], rate or (None,) * 3, strict=True)),
                    "reason": reason,
                }


def _of_arm(arm: GroupEstimates, attribute: Attribute) -> Iterator[FunctionalEstimate]:
    if arm.estimate is None:
        return unavailable(attribute, arm.reason)
    return outcomes(arm.estimate, arm.functionals, attribute)


def outcomes(
    estimate: Any, functionals: Iterable[FunctionalEstimate], attribute: Attribute
) -> Iterator[FunctionalEstimate]:
    """Yield the proportions of categories, and the functionals that the scheme names."""
    if isinstance(estimate, FrequencyEstimate) and not attribute.is_numeric:
        yield from shares(estimate)
    named = {str(parse(name)) for name in attribute.functionals}
    yield from (result for result in functionals if result.functional in named)


def unavailable(attribute: Attribute, reason: str) -> Iterator[FunctionalEstimate]:
    """Yield the outcomes that an attribute would have, with the reason why there are no estimates."""
    if not attribute.is_numeric:
        yield from (refused(f"frequency({category})", reason, kind="smooth") for category in attribute.categories)
    yield from (refused(parse(name), reason) for name in attribute.functionals)


def _adjusted(rows: pd.DataFrame, attributes: Any) -> pd.DataFrame:
    """The rows of an experiment with p-values adjusted for its outcomes, and their number."""
    is_mirrored = rows["functional"].map(is_share) & rows["attribute"].map(
        lambda name: len(attributes[name].categories) == 2 and attributes[name].is_exclusive
    )
    keys = ["arm", "attribute", "outcome"]
    rows = rows.assign(outcome=rows["functional"].mask(is_mirrored, "frequency"))
    tested = rows.dropna(subset="p_value").drop_duplicates(keys)
    tested = tested.assign(adjusted_p_value=holm(tested["p_value"].to_numpy("float64")))[[*keys, "adjusted_p_value"]]
    rows = rows.merge(tested, how="left", on=keys).drop(columns="outcome").assign(outcomes=len(tested))
    adjusted = rows["adjusted_p_value"]
    return rows.assign(
        adjusted_p_value=adjusted.where(adjusted.isna(), rows[["p_value", "adjusted_p_value"]].max(axis=1))
    )
