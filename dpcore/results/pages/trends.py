"""The trend of a number over rounds: its estimates with their intervals, as the paths of a small picture and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from dpcore.results.text.phrases import phrase, records, rounded, whose

WIDTH, HEIGHT = 96, 24  # of the picture, in its own units
_MARGIN = 3.0
Number = tuple[str, str]  # the functional, and whose it is in words


@dataclass(frozen=True)
class Trend:
    """A number in the rounds that estimated it: its band and curve as SVG paths, this round's dot, and all of it in words."""

    rounds: int
    band: str
    curve: str
    dot: tuple[float, float] | None
    says: str


def trends(rows: pd.DataFrame, unit: str) -> tuple[int, dict[Number, Trend]]:
    """Return how many rounds there are, and the trend of every number that two of them estimated.

    rows: round, given, functional, estimate, low and high, rounds ascending; null where a round refused the number.
    """
    rounds = list(dict.fromkeys(rows["round"]))
    found: dict[Number, Trend] = {}
    for key, told in rows.groupby(["functional", "given"], sort=False):
        functional, given = map(str, key)
        by_round = {row["round"]: row for row in records(told) if row["estimate"] is not None}
        if len(by_round) > 1:
            found[functional, whose(given)] = _trend([by_round.get(name) for name in rounds], functional, unit)
    return len(rounds), found


def _trend(rows: list[dict[str, Any] | None], functional: str, unit: str) -> Trend:
    there = [row for row in rows if row is not None]
    ends = [row[name] for row in there for name in ("low", "estimate", "high") if row[name] is not None]
    least, extent = min(ends), max(ends) - min(ends)

    def x(place: int) -> float:
        return round(_MARGIN + (WIDTH - 2 * _MARGIN) * place / (len(rows) - 1), 1)

    def y(value: float) -> float:
        share = (value - least) / extent if extent > 0 else 0.5
        return round(HEIGHT - _MARGIN - (HEIGHT - 2 * _MARGIN) * share, 1)

    band, curve = [], []
    for is_there, run in groupby(enumerate(rows), lambda pair: pair[1] is not None):
        if is_there:
            points = [(x(place), row) for place, row in run if row is not None]
            curve.append(_path([(at, y(row["estimate"])) for at, row in points]))
            sure = [(at, row) for at, row in points if row["low"] is not None and row["high"] is not None]
            if sure:
                around = [(at, y(row["high"])) for at, row in sure] + [
                    (at, y(row["low"])) for at, row in reversed(sure)
                ]
                band.append(_path(around) + "z")
    dot = None if rows[-1] is None else (x(len(rows) - 1), y(rows[-1]["estimate"]))
    return Trend(len(there), "".join(band), "".join(curve), dot, "; ".join(_words(there, functional, unit)))


def _path(points: list[tuple[float, float]]) -> str:
    """Straight lines through points; of one, a line of no length, which is drawn as a dot."""
    return "M" + "L".join(f"{at:g} {height:g}" for at, height in (points if len(points) > 1 else points * 2))


def _words(rows: list[dict[str, Any]], functional: str, unit: str) -> Iterator[str]:
    wording = phrase(functional, unit)
    last = rows[-1]
    sure = last["low"] is not None and last["high"] is not None
    spread = wording.factor * (last["high"] - last["low"]) if sure else float("nan")

    def told(row: dict[str, Any]) -> str:
        return f"{rounded(wording.factor * row['estimate'], spread)} {wording.unit}".strip() + f" in {row['round']}"

    yield f"{len(rows)} rounds: first {told(rows[0])}"
    by_size = sorted(rows, key=lambda row: float(row["estimate"]))
    yield f"least {told(by_size[0])}"
    yield f"most {told(by_size[-1])}"
    yield f"last {told(last)}"
