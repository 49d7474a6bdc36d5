"""Defaults of rounds; quick to import, because every command imports them first."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

DEFAULT_SCHEMES = Path("data/schemes")
DEFAULT_SCHEME = DEFAULT_SCHEMES / "consumer_expenditure.toml"
DEFAULT_DATA = Path("data/var")
PROJECT = "ldpflow.toml"  # configuration file of a project, see `project`
MIN_CLIENTS = 50  # smallest round or group with real data; estimates from fewer nearly reveal single reports
KEEP_DAYS = 30  # days that files of a landed round are kept
WORKERS = 2  # threads; numpy releases the interpreter lock while drawing


def warehouse_of(data: Path) -> Path:
    """Return the default warehouse of a data folder."""
    return data / "warehouse.duckdb"


def keep_to_one_thread() -> None:
    """Limit numpy's linear algebra to one thread, unless the environment sets the number; call it before numpy is loaded.

    The matrices are small: several threads wait for each other in busy loops and use four times the processor time.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def has_charts() -> bool:
    """Return whether the extra `charts` is installed, without loading it."""
    return find_spec("matplotlib") is not None


def today() -> str:
    """Return today's round: the UTC date."""
    return datetime.now(UTC).strftime("%Y-%m-%d")
