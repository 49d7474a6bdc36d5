"""Which rounds of past days are missing: what a backfill runs."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from dpcore import warehouse
from dpcore.errors import SchemeError
from dpcore.scheme import Scheme

MOST = 3660  # days at once, ten years


def rounds_of(
    scheme: Scheme, warehouse_file: Path, first: date, last: date, *, source: str = "simulated", again: bool = False
) -> list[str]:
    """Return the rounds, named by their days from first to last, that have not landed; with `again` all of them.

    source: of the runs that count as landed, as in `runs`.  Raises SchemeError where there are no days, or too many.
    """
    days = (last - first).days + 1
    if not 0 < days <= MOST:
        raise SchemeError(f"a backfill is of 1 to {MOST} days, the first one first; got {first} to {last}")
    rounds = [(first + timedelta(days=day)).isoformat() for day in range(days)]
    landed = {} if again else warehouse.landed_rounds(warehouse_file)
    return [round_ for round_ in rounds if (scheme.digest, source, round_) not in landed]
