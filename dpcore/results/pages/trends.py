"""The trend of a statistic over rounds: estimates with intervals, as paths of a small chart and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from dpcore.results.text.phrases import phrase, records, rounded, whose

WIDTH, HEIGHT = 96, 24  # viewBox of the chart
_MARGIN = 3.0
Number = tuple[str, str]  # the functional and the group in words


@dataclass(frozen=True)
class Trend:
    """A statistic over rounds: its points, band and curve as SVG paths, the dot of this round, and a description.

    If it is smoothed, band and curve are those of the smoothed values, and the estimates are points; else there are no points.
    """

    rounds: int
    points: str
    band: str
    curve: str
    dot: tuple[float, float] | None
    says: str


def trends(rows: pd.DataFrame, unit: str) -> tuple[int, dict[Number, Trend]]:
    """Return the number of rounds and the trend of every statistic with an estimate in at least two rounds.

    rows: round, given, functional, estimate, low, high, smoothed and its limits, sorted by round; null if there
    is none.
    """
    rounds = list(dict.fromkeys(rows["round"]))
    trend_of: dict[Number, Trend] = {}
    for key, estimates in rows.groupby(["functional", "given"], sort=False):
        functional, group = map(str, key)
        by_round = {row["round"]: row for row in records(estimates) if row["estimate"] is not None}
        if len(by_round) > 1:
            trend_of[functional, whose(group)] = _trend([by_round.get(name) for name in rounds], functional, unit)
    return len(rounds), trend_of


def _trend(rows: list[dict[str, Any] | None], functional: str, unit: str) -> Trend:
    there = [row for row in rows if row is not None]
    is_smoothed = all(row.get("smoothed") is not None for row in there)
    low, middle, high = ("smoothed_low", "smoothed", "smoothed_high") if is_smoothed else ("low", "estimate", "high")
    ends = [row[name] for row in there for name in (low, "estimate", high) if row[name] is not None]
    least, extent = min(ends), max(ends) - min(ends)

    def x(place: int) -> float:
        return round(_MARGIN + (WIDTH - 2 * _MARGIN) * place / (len(rows) - 1), 1)

    def y(value: float) -> float:
        share = (value - least) / extent if extent > 0 else 0.5
        return round(HEIGHT - _MARGIN - (HEIGHT - 2 * _MARGIN) * share, 1)

    points, band, curve = [], [], []
    for is_there, run in groupby(enumerate(rows), lambda pair: pair[1] is not None):
        if is_there:
            part = [(x(place), row) for place, row in run if row is not None]
            curve.append(_path([(at, y(row[middle])) for at, row in part]))
            points += [_path([(at, y(row["estimate"]))]) for at, row in part if is_smoothed]
            bounded = [(at, row) for at, row in part if row[low] is not None and row[high] is not None]
            if bounded:
                outline = [(at, y(row[high])) for at, row in bounded]
                outline += [(at, y(row[low])) for at, row in reversed(bounded)]
                band.append(_path(outline) + "z")
    dot = None if rows[-1] is None else (x(len(rows) - 1), y(rows[-1]["estimate"]))
    description = "; ".join(_words(there, functional, unit))
    return Trend(len(there), "".join(points), "".join(band), "".join(curve), dot, description)


def _path(points: list[tuple[float, float]]) -> str:
    """Straight lines through the points; a single point gives a line of length zero, drawn as a dot."""
    return "M" + "L".join(f"{at:g} {height:g}" for at, height in (points if len(points) > 1 else points * 2))


def _words(rows: list[dict[str, Any]], functional: str, unit: str) -> Iterator[str]:
    wording = phrase(functional, unit)
    last = rows[-1]
    has_interval = last["low"] is not None and last["high"] is not None
    spread = wording.factor * (last["high"] - last["low"]) if has_interval else float("nan")

    def text(row: dict[str, Any], column: str = "estimate") -> str:
        return f"{rounded(wording.factor * row[column], spread)} {wording.unit}".strip() + f" in {row['round']}"

    yield f"{len(rows)} rounds: first {text(rows[0])}"
    by_size = sorted(rows, key=lambda row: float(row["estimate"]))
    yield f"minimum {text(by_size[0])}"
    yield f"maximum {text(by_size[-1])}"
    yield f"last {text(last)}"
    if last.get("smoothed") is not None:
        yield f"smoothed {text(last, 'smoothed')}"
