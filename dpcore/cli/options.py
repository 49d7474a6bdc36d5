"""Arguments and options that several commands have, with their defaults, and how text is read from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dpcore.rounds.defaults import warehouse_of

SchemeArgument = Annotated[Path, typer.Argument(help="The scheme file (TOML).")]
RoundOption = Annotated[
    str | None,
    typer.Option("--round", help="The round's name; sorts as text. Default: today, UTC; of a trial its own."),
]
DataOption = Annotated[Path, typer.Option("--data", help="Where reports, aggregates, pictures and the warehouse live.")]
WarehouseOption = Annotated[
    Path | None, typer.Option("--warehouse", help="The DuckDB file. Default: DATA/warehouse.duckdb.")
]
MinClientsOption = Annotated[
    int | None,
    typer.Option(
        "--min-clients",
        help="With fewer clients the round waits: nothing lands, reports are kept. Default: 50; none of simulated people.",
    ),
]
AgainOption = Annotated[
    bool, typer.Option("--again", help="Run a round that has landed once more, in place of what stands.")
]


def file_of(warehouse: Path | None, data: Path) -> Path:
    """The DuckDB file that the options name."""
    return warehouse or warehouse_of(data)


def listed(text: str, kind: Callable[[str], Any], option: str) -> tuple[Any, ...]:
    """The parts of a text separated by commas."""
    try:
        return tuple(kind(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        kinds = "CLIENTS@EPSILON" if kind is place else "numbers"
        raise typer.BadParameter(f"{option} must be {kinds} separated by commas, got {text!r}") from None


def place(text: str) -> tuple[int, float]:
    """CLIENTS@EPSILON."""
    clients, _, epsilon = text.partition("@")
    return int(clients), float(epsilon)
