"""The content of a page for experiments: the arms of a label against its control arm, queried from the warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.results.pages.query import Ask, Query, read_query
from dpcore.results.pages.relations import Relation
from dpcore.results.text.joint_phrases import SIGNIFICANCE, rounded_p_value
from dpcore.results.text.phrases import SHOWN, read, records, title_of

_ASSUMPTION = (
    "An always-valid interval and its p-value use all rounds so far, and hold at all rounds together: you may look after every "
    "round and stop when you like. They assume rounds with independent errors, which memoized answers do not have, and the "
    "same true difference in all rounds."
)


def experiments_of(ask: Ask, run_id: str) -> list[Relation]:
    """Return a section for every experiment of a run."""
    query = read_query("experiments", run_id=run_id)
    rows = records(ask(query.sql))
    return [
        _section([row for row in rows if row["label"] == label], query)
        for label in dict.fromkeys(row["label"] for row in rows)
    ]


def _section(rows: list[dict[str, Any]], query: Query) -> Relation:
    label, available = rows[0]["label"], [row for row in rows if row["difference"] is not None]
    in_round = [row["adjusted_p_value"] < SIGNIFICANCE for row in available]
    so_far = [_pooled_p(row) < SIGNIFICANCE for row in available]
    significant = [row for row, *marks in zip(available, in_round, so_far, strict=True) if any(marks)]
    listed = (available if len(available) <= SHOWN else significant)[:SHOWN]
    about = f"Each arm minus {title_of(label, rows[0]['control'])}; p-values are adjusted for {rows[0]['outcomes']} outcomes."
    if pooled := [row for row in rows if row["rounds"]]:
        first = min(row["first_round"] for row in pooled)
        about += f" Rounds so far: {max(row['rounds'] for row in pooled):.0f}, since {first}."
    if len(listed) < len(available):
        about += f" {len(available) - len(listed)} more differences are in the table experiments."
    refusals = "; ".join(dict.fromkeys(row["reason"] for row in rows if row["difference"] is None))
    return Relation(
        name=f"experiment-{label}",
        title=title_of(label),
        about=about,
        assumption=_ASSUMPTION,
        refused="" if available else refusals,
        numbers=[],
        along=[],
        tests=[f"Not available: {refusals}."] if available and refusals else [],
        rows=[_cells(row) for row in listed],
        summary=f"{sum(in_round)} of {len(available)} differences are significant, {sum(so_far)} in all rounds so far",
        confidence="",
        second="arm",
        query=query,
    )


def _pooled_p(row: Mapping[str, Any]) -> float:
    return 1.0 if row["pooled_p_value"] is None else float(row["pooled_p_value"])


def _cells(row: dict[str, Any]) -> dict[str, str]:
    line = read(row, row["unit"])
    of_all = read(row | {name: row[f"pooled_{name}"] for name in ("difference", "low", "high")}, row["unit"])
    return {
        "arm": title_of(row["label"], row["arm"]),
        "outcome": f"{line.attribute}: {line.text}",
        "difference": line.value,
        "interval": line.interval,
        "adjusted p": rounded_p_value(row["adjusted_p_value"]),
        "always-valid interval": of_all.interval,
        "always-valid p": rounded_p_value(_pooled_p(row)) if of_all.interval else "",
    }
