"""What rounds do unless they are told otherwise; light, as every command reads it before it does anything."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

DEFAULT_SCHEMES = Path("data/schemes")
DEFAULT_SCHEME = DEFAULT_SCHEMES / "consumer_expenditure.toml"
DEFAULT_DATA = Path("data/var")
PROJECT = "ldpflow.toml"  # what a team's project says, see `project`
MIN_CLIENTS = 50  # a smaller round of real people, or a group of one, says little and is nearly its people's reports
KEEP_DAYS = 30  # that a landed round's files are kept
WORKERS = 2  # threads; numpy lets go of the interpreter while it draws


def warehouse_of(data: Path) -> Path:
    """Return the warehouse of a folder of rounds, where none is named."""
    return data / "warehouse.duckdb"


def keep_to_one_thread() -> None:
    """Let numpy's linear algebra use one thread, where nobody has said how many; before numpy is loaded.

    Our matrices are small: its threads wait for each other in loops, and take four times the processor's time.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def today() -> str:
    """Return today's round: the UTC date."""
    return datetime.now(UTC).strftime("%Y-%m-%d")
