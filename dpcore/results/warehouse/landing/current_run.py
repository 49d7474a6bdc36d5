"""The current run of a round: the one in the `latest_` views, pages, comparisons and pooled estimates.

Rule 1.  One of the landed runs of a scheme (by name) and round is current; the others name the run that replaced them.
Rule 2.  A run on real data replaces a simulated run; a simulated run never replaces a run on real data.
Rule 3.  A run replaces another run of the same kind only with `again`.
Rule 4.  The current run may land any number of times; if its results were deleted, only with `again`.  A replaced run may land
when Prefect retries it, and remains replaced; otherwise it counts as another run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import duckdb

from dpcore.errors import AlreadyLanded

SIMULATED = "simulated"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A run that is to become the current run of its round.

    again: whether it may replace a run of its own kind.  flow_run_id: identifies a retry.
    """

    run_id: str
    scheme: str
    round: str
    source: str
    again: bool = False
    flow_run_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Landed:
    """A landed run; replaced_by: None for the current run.  is_forgotten: whether its results were deleted on purpose."""

    run_id: str
    scheme_digest: str
    source: str
    replaced_by: str | None
    flow_run_id: str | None
    is_forgotten: bool


def check_free(connection: duckdb.DuckDBPyConnection, claim: Claim) -> None:
    """Raise AlreadyLanded, in one line, if the round has a current run that this one may not replace."""
    _replaced(claim, _landed(connection, claim))


def replace(connection: duckdb.DuckDBPyConnection, claim: Claim) -> tuple[str | None, list[Landed]]:
    """Mark the runs that a landing run replaces; return the run that has replaced it (None if it is current), and these runs.

    Raises AlreadyLanded as `check_free` does.
    """
    landed = _landed(connection, claim)
    replaced = _replaced(claim, landed)
    if replaced is None:
        return next(run.replaced_by for run in landed if run.run_id == claim.run_id), []
    connection.execute(
        "update runs set replaced_by = ? where list_contains(?, run_id)",
        [claim.run_id, [run.run_id for run in replaced]],
    )
    return None, replaced


def _landed(connection: duckdb.DuckDBPyConnection, claim: Claim) -> list[Landed]:
    rows = connection.execute(
        "select run_id, scheme_digest, source, replaced_by, flow_run_id, forgotten_at is not null from runs "
        "where state = 'landed' and scheme = ? and \"round\" = ?",
        [claim.scheme, claim.round],
    ).fetchall()
    return [Landed(**dict(zip((field.name for field in fields(Landed)), row, strict=True))) for row in rows]


def _replaced(claim: Claim, landed: Sequence[Landed]) -> list[Landed] | None:
    """The runs that a run replaces; None for a retry of a run that has been replaced."""
    own = next((run for run in landed if run.run_id == claim.run_id), None)
    if own is not None and own.replaced_by is not None and own.flow_run_id == claim.flow_run_id is not None:
        return None
    if own is not None and not claim.again and own.is_forgotten:
        raise AlreadyLanded(
            f"round {claim.round} of scheme {claim.scheme}: its results were deleted; name another round, or compute them "
            "again with --again (`again`)"
        )
    others = [run for run in landed if run.replaced_by is None and run.run_id != claim.run_id]
    for run in others:
        if claim.source == SIMULATED and run.source != SIMULATED:
            raise AlreadyLanded(
                f"round {claim.round} of scheme {claim.scheme}: it has real data (run {run.run_id}), which a simulation cannot "
                "replace; name another round"
            )
        if (claim.source == SIMULATED) == (run.source == SIMULATED) and not claim.again:
            raise AlreadyLanded(
                f"round {claim.round} of scheme {claim.scheme}: already landed (run {run.run_id}, {_ORIGINS[run.source]}); "
                "name another round, or replace the current run with --again (`again`), which keeps the old run's rows"
            )
    return others


_ORIGINS = {SIMULATED: "simulated clients", "records": "real records", "reports": "collected reports"}
