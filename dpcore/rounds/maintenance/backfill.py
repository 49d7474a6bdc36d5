"""Missing rounds of past days, for a backfill."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from dpcore.errors import SchemeError
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse

MOST = 3660  # days at once, ten years


def rounds_of(
    scheme: Scheme, warehouse_file: Path, first: date, last: date, *, source: str = "simulated", again: bool = False
) -> list[str]:
    """Return the rounds, named by their days from first to last, that have not landed; with `again`, landed ones as well.

    source: of the new runs, as in `runs`.  A round with real data is never simulated; a simulated round counts as missing for
    real data.  Raises SchemeError for no days, or too many.
    """
    days = (last - first).days + 1
    if not 0 < days <= MOST:
        raise SchemeError(f"backfill {first} to {last}: needs 1 to {MOST} days, the first day first")
    rounds = [(first + timedelta(days=day)).isoformat() for day in range(days)]
    standing = warehouse.standing_rounds(warehouse_file)
    simulates = source == "simulated"

    def is_missing(round_: str) -> bool:
        stands = standing.get((scheme.name, round_))
        is_of_kind = stands is not None and (stands == "simulated") == simulates
        return again if is_of_kind else stands is None or not simulates

    return [round_ for round_ in rounds if is_missing(round_)]
