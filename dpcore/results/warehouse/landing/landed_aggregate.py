"""The sums of a landed round as an aggregate: statistics of all clients, without pairs, labels and rejected reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dpcore.errors import WarehouseError
from dpcore.protocol.aggregates import Aggregate, statistic_rows
from dpcore.protocol.scheme import Scheme
from dpcore.results.warehouse.connection import rows_there

_CURRENT = 'from latest_runs join schemes on schemes.run_id = latest_runs.run_id where scheme = ? and "round" = ?'
_SUMS = "select attribute, statistic, level, cell, value from aggregates where run_id = ? and given = ''"
_CHARGES = "select attribute, charges from budgets where run_id = ?"


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
