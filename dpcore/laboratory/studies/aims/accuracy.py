"""What the accuracy study is to show, and whether it does."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from dpcore.laboratory.studies.aims.verdict import Verdict

METHOD = "dyadic_wave"  # whose aims these are, but for those of its designs for a purpose
PLAIN, SPLINE = "wavelet_laplace_cubic", "wavelet_laplace_cubic_log_spline"  # one mechanism, two estimators
_SPLINE_CLIENTS, _SPLINE_EPSILON = 100_000, 1.0
_SPLINE_RATIO, _SPLINE_TARGETS = 1 / 3, 5
_WORST = 1.3

# metric, against which peer (a column of accuracy_summary), the most the geometric mean of the ratios may be
_RATIOS = (
    ("ise", "to_hindsight", 0.50),
    ("ise", "to_published", 0.10),
    ("w1", "to_hindsight", 0.90),
    ("ks", "to_hindsight", 0.88),
    ("mean", "to_published", 1.0),
    ("entropy", "to_hindsight", 1.0),
    ("integrated_square", "to_hindsight", 1.0),
)
# a design for a purpose: its metrics to the best peer's, and the most that the mean's variance may be to METHOD's
_PURPOSES = (
    ("dyadic_wave_both", {"ise": 0.29, "w1": 0.71, "ks": 0.62}, 1.25),
    ("dyadic_wave_curve", {"ise": 0.25, "w1": 0.74}, 2.0),
)
_AGAINST = {"to_hindsight": "best peer in hindsight", "to_published": "SW-EMS, 1024 bins"}


def verdicts(summary: pd.DataFrame, rows: pd.DataFrame, method: str = METHOD) -> list[Verdict]:
    """Return the aims of a method, and of the designs for a purpose, with what was found.

    summary: rows of `accuracy_summary`.  rows: rows of `accuracy_rows`, for the aim about estimators of one mechanism.
    """
    ours = summary[summary["method"] == method].set_index("metric")
    aims = [
        Verdict(f"{metric}: geometric mean, to {_AGAINST[against]}", _value(ours, metric, against), limit)
        for metric, against, limit in _RATIOS
    ]
    for metric in ("ise", "w1", "ks"):
        target = f" ({ours['worst_target'][metric]})" if metric in ours.index else ""
        aim = f"{metric}: worst target{target}, to {_AGAINST['to_hindsight']}"
        aims.append(Verdict(aim, _value(ours, metric, "worst_ratio"), _WORST))
    return [*aims, *_purposes(summary), _spline(rows)]


def _purposes(summary: pd.DataFrame) -> Iterator[Verdict]:
    usual = _value(summary[summary["method"] == METHOD].set_index("metric"), "mean", "to_published")
    for method, limits, variance in _PURPOSES:
        ours = summary[summary["method"] == method].set_index("metric")
        for metric, limit in limits.items():
            aim = f"{method}: {metric}: geometric mean, to {_AGAINST['to_hindsight']}"
            yield Verdict(aim, _value(ours, metric, "to_hindsight"), limit)
        mean = _value(ours, "mean", "to_published")
        variance_ratio = None if mean is None or usual is None else (mean / usual) ** 2
        yield Verdict(f"{method}: mean: variance, to {METHOD}", variance_ratio, variance)


def _value(summary: pd.DataFrame, metric: str, column: str) -> float | None:
    value = summary[column].get(metric)
    return None if value is None or pd.isna(value) else float(value)


def _spline(rows: pd.DataFrame) -> Verdict:
    aim = f"{PLAIN}: targets on which the log-spline's ise is at most a third of Projection(Lepski)'s"
    here = rows[
        (rows["clients"] == _SPLINE_CLIENTS)
        & (rows["epsilon"] == _SPLINE_EPSILON)
        & (rows["metric"] == "ise")
        & (rows["half"] == "")
    ]
    plain, spline = (here[here["method"] == name].set_index("target")["error"] for name in (PLAIN, SPLINE))
    ratio = (spline / plain).dropna()
    return Verdict(aim, float((ratio <= _SPLINE_RATIO).sum()) if len(ratio) else None, _SPLINE_TARGETS, at_least=True)
