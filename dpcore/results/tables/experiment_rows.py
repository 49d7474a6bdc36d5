"""Rows of `experiments`: differences and ratios of the arms of a label with a control arm, in one round.

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
from typing import Any

import pandas as pd

from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate, refused
from dpcore.estimation.inference.comparison import difference, holm, ratio, shares
from dpcore.functionals import parse
from dpcore.functionals.group import Group
from dpcore.pipeline import GroupEstimates, Round
from dpcore.protocol.attribute import Attribute
from dpcore.results.tables.comparisons import both, reason_of
from dpcore.results.text.phrases import is_share

_NUMBERS = ("difference", "standard_error", "low", "high", "confidence", "p_value")
_ADDED = ("adjusted_p_value", "ratio", "ratio_low", "ratio_high")


def experiment_table(round_: Round) -> pd.DataFrame:
    """Return the frame of `experiments`; it is empty if no label of the scheme has a control arm."""
    scheme = round_.aggregate.scheme
    experiments = {label.name: list(_rows(round_, label)) for label in scheme.labels.values() if label.control}
    frames = [
        _adjusted(pd.DataFrame(rows), scheme.attributes).assign(label=name)
        for name, rows in experiments.items()
        if rows
    ]
    if not frames:
        return pd.DataFrame()
    types = dict.fromkeys((*_NUMBERS, *_ADDED), "float64")
    return pd.concat(frames, ignore_index=True).astype(types)


def _rows(round_: Round, label: Attribute) -> Iterator[dict[str, Any]]:
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
                    **{column: getattr(compared, column) for column in _NUMBERS},
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
        lambda name: len(attributes[name].categories) == 2 and attributes[name].at_most is None
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
