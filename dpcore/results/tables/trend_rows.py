"""Rows of `smoothed`: each number of a scheme as a level that drifts over its rounds, and the checks of shifts.

A trend needs three rounds.  Proportions of one attribute are projected onto the simplex together, which brings them closer to
any true value.  A number has shifted if its newest rounds differ from what the earlier ones predict by more standard errors
than those of any number of a round exceed by chance in more than one of 365 rounds [Sidak1967].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import numpy as np
import pandas as pd

from dpcore.estimation import constants
from dpcore.estimation.consistency import project_simplex
from dpcore.estimation.functional_estimate import moved, normal_quantile
from dpcore.estimation.inference.comparison import simultaneous_deviations
from dpcore.estimation.registry import names_where
from dpcore.estimation.trend.trend import smooth
from dpcore.results.checks.check import Check, frame_of, of_group
from dpcore.results.text.phrases import is_share, records

LEAST = 3  # rounds of a trend
NAMED = 3  # shifts that the detail of a check lists
_SERIES = ["attribute", "given", "functional"]
_EPOCH = date(1970, 1, 1).toordinal()
_PROPORTIONS = ("frequency(", "cdf(", "probability(", "atom(")


def trends_of(estimates: pd.DataFrame, first: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows of `smoothed`, and the `checks` of shifts of the rounds from `first` on, both with run_id.

    estimates: of the newest rounds of a scheme, from `warehouse.landing.previous_round`.
    first: the landed round.  Rows of earlier rounds have no filtered value, forecast and shift: those stay as they are.
    """
    usable = _usable(estimates)
    tables = {
        name: usable.pivot(index=_SERIES, columns="round", values=name)
        for name in ("estimate", "plug_in", "standard_error", "confidence", "low", "high")
    }
    runs = usable.drop_duplicates("run_id").set_index("round")["run_id"]
    rounds = list(tables["estimate"].columns)
    smoothed, newest, checks = [], [], [frame_of([])]
    for place, name in enumerate(rounds):
        if name >= first and (parts := list(_until(tables, rounds[: place + 1]))):
            of_rounds, of_last = (pd.concat(frames, ignore_index=True) for frames in zip(*parts, strict=True))
            judged, verdicts = _judged(of_last)
            smoothed.append(of_rounds)
            newest.append(judged)
            checks.append(verdicts.assign(run_id=runs[name]))
    if not smoothed:
        return pd.DataFrame(), frame_of([])
    rows = pd.concat(smoothed).drop_duplicates([*_SERIES, "round"], keep="last")
    rows = rows.merge(pd.concat(newest), how="left", on=[*_SERIES, "round"])
    rows = rows.assign(run_id=rows.pop("round").map(runs)).rename(columns={"functional": "number"})
    return rows, pd.concat(checks, ignore_index=True)


def _usable(estimates: pd.DataFrame) -> pd.DataFrame:
    """The estimates with a standard error, of attributes with at most `TREND_NUMBERS` in a group; all proportions or none.

    Texts have no trend: those that are seldom found would be smoothed over the rounds that overestimate them.
    """
    has_error = estimates["standard_error"] > 0
    groups = [estimates[name] for name in ("run_id", "attribute", "given")]
    is_small = has_error.groupby(groups).transform("sum") <= constants.TREND_NUMBERS
    is_whole = has_error.groupby([*groups, estimates["functional"].map(is_share)]).transform("all")
    is_trended = is_small & ~estimates["estimator"].isin(names_where(is_selected=True))
    return estimates[has_error & is_trended & (is_whole | ~estimates["functional"].map(is_share))]


def _until(tables: dict[str, pd.DataFrame], rounds: Sequence[str]) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Trends of the series with an estimate in the last round and in `LEAST`: rows of each round, and of the last one.

    Series that have estimates in the same rounds are smoothed together.
    """
    there = tables["estimate"][list(rounds)].notna().to_numpy()
    days, are_dates = _days_of(rounds)
    for pattern in np.unique(there[there[:, -1] & (there.sum(axis=1) >= LEAST)], axis=0):
        rows = np.flatnonzero((there == pattern).all(axis=1))
        own = {name: table.iloc[rows, np.flatnonzero(pattern)] for name, table in tables.items()}
        smoothing = smooth(
            days[pattern], own["estimate"].to_numpy(), own["standard_error"].to_numpy(), has_weeks=are_dates
        )
        series, columns = own["estimate"].index, list(own["estimate"].columns)
        mean = np.column_stack([smoothing.smoothed, smoothing.ahead])
        half = np.column_stack([smoothing.errors, smoothing.ahead_errors])
        half *= np.array([normal_quantile(level) for level in own["confidence"].iloc[:, -1]])[:, None]
        mean, low, high = _within_range(own, mean, half)
        yield (
            pd.DataFrame(
                {
                    **{name: np.repeat(series.get_level_values(name), len(columns)) for name in _SERIES},
                    "round": np.tile(columns, len(rows)),
                    "smoothed": mean[:, :-1].ravel(),
                    "smoothed_error": smoothing.errors.ravel(),
                    "smoothed_low": low[:, :-1].ravel(),
                    "smoothed_high": high[:, :-1].ravel(),
                }
            ),
            series.to_frame(index=False).assign(
                round=columns[-1],
                filtered=mean[:, -2],
                filtered_low=low[:, -2],
                filtered_high=high[:, -2],
                forecast=mean[:, -1],
                forecast_low=low[:, -1],
                forecast_high=high[:, -1],
                shift=[shift.change for shift in smoothing.shifts],
                shift_error=[shift.standard_error for shift in smoothing.shifts],
                shift_p_value=[shift.p_value for shift in smoothing.shifts],
            ),
        )


def _days_of(rounds: Sequence[str]) -> tuple[np.ndarray, bool]:
    """Return the days since 1970 of rounds that are named by dates, in order, else their places; and whether they are days."""
    try:
        days = np.array([date.fromisoformat(name).toordinal() - _EPOCH for name in rounds])
    except ValueError:
        return np.arange(len(rounds)), False
    return (days, True) if np.all(np.diff(days) > 0) else (np.arange(len(rounds)), False)


def _within_range(
    own: Mapping[str, pd.DataFrame], mean: np.ndarray, half: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates and limits, (N, T + 1), in the range of each number; the last column is the forecast.

    Proportions are from 0 to 1, and frequencies of an attribute sum to one, unless they are of options.  Other limits of rounds
    do not pass the extreme limits of the rounds' own intervals, which respect the number's range.
    """
    low, high = mean - half, mean + half
    series, least, most = own["estimate"].index, own["low"].min(axis=1), own["high"].max(axis=1)
    names = series.get_level_values("functional")
    bounded = names.str.startswith(_PROPORTIONS)
    limits = (least.to_numpy()[~bounded, None], most.to_numpy()[~bounded, None])
    inside = mean[~bounded, :-1]
    low[~bounded, :-1] = np.minimum(np.clip(low[~bounded, :-1], *limits), inside)
    high[~bounded, :-1] = np.maximum(np.clip(high[~bounded, :-1], *limits), inside)
    low[bounded], high[bounded] = np.clip(low[bounded], 0, 1), np.clip(high[bounded], 0, 1)
    attributes = pd.Series(range(len(series)), index=series)[[is_share(name) for name in names]]
    for _, rows in attributes.groupby(["attribute", "given"]):
        if np.allclose(own["plug_in"].iloc[rows].sum(), 1):
            mean[rows] = np.apply_along_axis(project_simplex, 0, mean[rows])
    mean[bounded] = np.clip(mean[bounded], 0, 1)
    low[bounded], high[bounded] = moved(mean[bounded], low[bounded], high[bounded], 0, 1)
    return mean, low, high


def _judged(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of a round with their verdicts, and its checks: whether a number of an attribute has shifted.

    observed: the largest shift in standard errors; threshold: the critical value for both tests of all numbers together.
    """
    counted = rows["attribute"].value_counts()
    limits = {
        name: simultaneous_deviations(1 - 1 / constants.ALARM_ROUNDS, 2 * len(counted) * int(count))
        for name, count in counted.items()
    }
    deviations = (rows["shift"] / rows["shift_error"]).abs()
    rows = rows.assign(shifted=deviations > rows["attribute"].map(limits))
    checks = []
    for name, limit in limits.items():
        own = rows[rows["attribute"] == name].assign(deviations=deviations).sort_values("deviations", ascending=False)
        shifted = records(own[own["shifted"]])
        examples = [f"{of_group(row['functional'], row['given'])} {row['shift']:+.4g}" for row in shifted[:NAMED]]
        examples += ["..."] * (len(shifted) > NAMED)
        detail = f"{len(shifted)} of {len(own)} numbers differ significantly from what earlier rounds predict"
        detail += ": " * bool(examples) + ", ".join(examples)
        checks.append(Check(f"shift({name})", not shifted, float(own["deviations"].iloc[0]), limit, detail))
    return rows, frame_of(checks)
