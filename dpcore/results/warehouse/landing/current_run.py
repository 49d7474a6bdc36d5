"""Which run of a round stands: the one that the `latest_` views, pages, comparisons and pooled numbers are of.

Rule 1.  Of the landed runs of a scheme, by its name, and a round, one stands; the others name the run that replaced them.
Rule 2.  Simulated people give way to real ones, and are refused where real ones stand.
Rule 3.  Another run of people of the same kind is refused unless it is asked for with `again`; it then replaces what stood.
Rule 4.  The run that stands may land any number of times, but only `again` where its numbers were forgotten.  One that was
replaced may where Prefect retries it, and stays replaced; otherwise it is another run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import duckdb

from dpcore.errors import AlreadyLanded

SIMULATED = "simulated"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A run that is to stand for its round.

    again: whether it may replace people of its own kind.  flow_run_id: by which a retry is known.
    """

    run_id: str
    scheme: str
    round: str
    source: str
    again: bool = False
    flow_run_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Landed:
    """A run that has landed: what it is a round of, and the run that replaced it, None where it stands.

    is_forgotten: whether its numbers were deleted on purpose.
    """

    run_id: str
    scheme_digest: str
    source: str
    replaced_by: str | None
    flow_run_id: str | None
    is_forgotten: bool


def check_free(connection: duckdb.DuckDBPyConnection, claim: Claim) -> None:
    """Raise AlreadyLanded, one line, where the round of a run is another run's."""
    _replaced(claim, _landed(connection, claim))


def replace(connection: duckdb.DuckDBPyConnection, claim: Claim) -> tuple[str | None, list[Landed]]:
    """Mark the runs that a landing run replaces and return by whom it is replaced itself, None if it stands, and them.

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
    """What a run replaces; None where it has been replaced itself and this is no more than a retry."""
    own = next((run for run in landed if run.run_id == claim.run_id), None)
    if own is not None and own.replaced_by is not None and own.flow_run_id == claim.flow_run_id is not None:
        return None
    if own is not None and not claim.again and own.is_forgotten:
        raise AlreadyLanded(
            f"round {claim.round} of scheme {claim.scheme} has landed and was forgotten; name another round, or run this one "
            "`again` (--again), which makes its numbers anew"
        )
    others = [run for run in landed if run.replaced_by is None and run.run_id != claim.run_id]
    for run in others:
        if claim.source == SIMULATED and run.source != SIMULATED:
            raise AlreadyLanded(
                f"round {claim.round} of scheme {claim.scheme} is real people's (run {run.run_id}), beside whom nobody is "
                "simulated; name another round"
            )
        if (claim.source == SIMULATED) == (run.source == SIMULATED) and not claim.again:
            raise AlreadyLanded(
                f"round {claim.round} of scheme {claim.scheme} has landed (run {run.run_id}, {_WHO[run.source]}); name "
                "another round, or run this one `again` (--again), which keeps what has landed and shows this in its place"
            )
    return others


_WHO = {SIMULATED: "simulated people", "records": "real records", "reports": "reports that clients sent"}
