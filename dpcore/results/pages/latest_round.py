"""Summary of the newest landed round, for monitoring."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dpcore.results import warehouse
from dpcore.results.pages.content import find, gather


@dataclass(frozen=True, kw_only=True)
class Newest:
    """Summary of a round.

    flow_run_id: of the flow that landed it, None for a command.  failed: names of the failed checks.
    epsilon: spent by a client who answered in every round.
    """

    run_id: str
    flow_run_id: str | None
    scheme: str
    round: str
    landed_at: datetime
    accepted: int
    rejected: int
    checks: int
    failed: list[str]
    epsilon: float | None
    rounds: int


def newest(path: str | Path, scheme: str | None = None) -> Newest:
    """Return the newest landed round of a scheme, or of any scheme; raises WarehouseError if there is none."""
    with warehouse.reader(path) as ask:
        content = gather(ask, find(ask, None, scheme))
    run, spent = content["run"], content["spent"]
    return Newest(
        run_id=run["run_id"],
        flow_run_id=run["flow_run_id"],
        scheme=run["scheme"],
        round=run["round"],
        landed_at=run["finished_at"],
        accepted=run["accepted"],
        rejected=run["rejected"],
        checks=len(content["checks"]),
        failed=[check["name"] for check in content["checks"] if not check["passed"]],
        epsilon=spent["epsilon"],
        rounds=spent["rounds"],
    )
