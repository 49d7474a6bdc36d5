"""Landed rounds: their times, their sums as an aggregate, and the deletion of their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dpcore.errors import WarehouseError
from dpcore.protocol.aggregates import Aggregate, statistic_rows
from dpcore.protocol.scheme import Scheme
from dpcore.results.warehouse.connection import rows_there
from dpcore.results.warehouse.published_copy import open_to_publish
from dpcore.results.warehouse.views import RESULTS

# Tables that remain when results are deleted: the scheme, the spent epsilon, and the files that no other round may count.
_REMAINING = {"schemes", "attributes", "categories", "budgets", "batches"}
_CURRENT = 'from latest_runs join schemes on schemes.run_id = latest_runs.run_id where scheme = ? and "round" = ?'
_SUMS = "select attribute, statistic, level, cell, value from aggregates where run_id = ? and given = ''"
_CHARGES = "select attribute, charges from budgets where run_id = ?"


def standing_rounds(path: str | Path) -> dict[tuple[str, str], str]:
    """Return (scheme's name, round) -> source of its current run, including rounds with deleted results.

    {} if there is no warehouse.  Raises WarehouseError if the warehouse cannot be read.
    """
    rows = rows_there(path, "select scheme, \"round\", source from runs where state = 'landed' and replaced_by is null")
    return {(scheme, round_): source for scheme, round_, source in rows}


def accepted_before(path: str | Path, digest: str, round_: str, run_id: str) -> list[int]:
    """Return the numbers of accepted reports of the other landed runs of a round."""
    sql = "select accepted from runs where state = 'landed' and scheme_digest = ? and \"round\" = ? and run_id <> ?"
    return [int(accepted or 0) for (accepted,) in rows_there(path, sql, [digest, round_, run_id])]


def population_before(path: str | Path, digest: str, round_: str) -> dict[tuple[str, str], float]:
    """Return (label, category) -> population share that the landed round was weighted by."""
    sql = (
        "select label, category, population from labels join runs on runs.run_id = labels.run_id "
        'where population is not null and scheme_digest = ? and "round" = ?'
    )
    return {(label, category): share for label, category, share in rows_there(path, sql, [digest, round_])}


def regressions_before(path: str | Path, digest: str, round_: str, run_id: str) -> set[str]:
    """Return the formulas of the regressions that other landed runs of a round have estimated."""
    sql = (
        "select distinct formula from regressions join runs on runs.run_id = regressions.run_id "
        'where reason is null and scheme_digest = ? and "round" = ? and runs.run_id <> ?'
    )
    return {formula for (formula,) in rows_there(path, sql, [digest, round_, run_id])}


def stands(path: str | Path, run_id: str) -> bool:
    """Return whether a run is the current run of its round; False if there is no warehouse."""
    return bool(rows_there(path, "select 1 from latest_runs where run_id = ?", [run_id]))


def landed_rounds(path: str | Path) -> dict[tuple[str, str, str], datetime]:
    """Return (scheme digest, source, round) -> end of its newest landed run; {} if there is no warehouse.

    Raises WarehouseError if the warehouse cannot be read.
    """
    rows = rows_there(
        path, "select scheme_digest, source, \"round\", max(finished_at) from runs where state = 'landed' group by all"
    )
    return {(digest, source, round_): at.replace(tzinfo=UTC) for digest, source, round_, at in rows}


def move_figures(path: str | Path, before: str, now: str) -> None:
    """Replace a prefix of the paths in `figures` by another."""
    with open_to_publish(path) as connection:
        update = "update figures set path = ? || substr(path, ?) where starts_with(path, ?)"
        connection.execute(update, [now, len(before) + 1, before])


def rounds_to_forget(path: str | Path, before: datetime) -> list[tuple[str, str]]:
    """Return (scheme's name, round) of rounds with results that landed before a time, oldest first."""
    landed = "select scheme, \"round\" from runs where state = 'landed' and forgotten_at is null"
    rows = rows_there(path, f"{landed} group by all having max(finished_at) < ? order by 2, 1", [_utc(before)])
    return [(scheme, round_) for scheme, round_ in rows]


def forget_round(path: str | Path, scheme: str, round_: str, now: datetime) -> None:
    """Delete the results of all runs of a scheme's round; the runs, their files and the spent epsilon remain.

    Comparisons of other rounds with it are deleted as well.  Raises WarehouseError if the round has not landed.
    """
    with open_to_publish(path) as connection:
        runs = [
            run_id
            for (run_id,) in connection.execute(
                "select run_id from runs where state = 'landed' and scheme = ? and \"round\" = ?", [scheme, round_]
            ).fetchall()
        ]
        if not runs:
            raise WarehouseError(f"round {round_} of scheme {scheme}: not landed, so there is nothing to delete")
        for table in RESULTS.keys() - _REMAINING:
            connection.execute(f"delete from {table} where list_contains(?, run_id)", [runs])
        connection.execute("delete from comparisons where list_contains(?, other_run_id)", [runs])
        connection.execute("update runs set forgotten_at = ? where list_contains(?, run_id)", [_utc(now), runs])


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def forget_figures(path: str | Path, run_ids: Sequence[str]) -> None:
    """Delete the rows of `figures` of these runs."""
    with open_to_publish(path) as connection:
        connection.execute("delete from figures where list_contains(?, run_id)", [list(run_ids)])


def landed_sums(path: str | Path, scheme: str, round_: str) -> tuple[Aggregate, str, int | None]:
    """Return the aggregate of the current run of a scheme's round, its source, and the seed of a simulation.

    scheme: its name.  Raises WarehouseError if the round has not landed, or its results were deleted.
    """
    runs = rows_there(
        path, f"select latest_runs.run_id, source, seed, canonical, accepted {_CURRENT}", [scheme, round_]
    )
    if not runs:
        raise WarehouseError(
            f"round {round_} of scheme {scheme}: not landed in {path}, or its results were deleted; list the rounds with "
            'ldpflow query "select scheme, round from latest_runs"'
        )
    run_id, source, seed, canonical, accepted = runs[0]
    empty = Aggregate.zero(Scheme.from_toml(canonical))
    sums = {(name, *place): value for name, *place, value in rows_there(path, _SUMS, [run_id])}
    statistics = {}
    for name, nothing in empty.statistics.items():
        places = (place for _, _, *place, _ in statistic_rows(empty.scheme, name, "", nothing))
        statistics[name] = np.array([sums[(name, *place)] for place in places], dtype=np.int64)
    answered = dict(rows_there(path, _CHARGES, [run_id]))
    return replace(empty, n=int(accepted), statistics=statistics, answered=answered), source, seed
