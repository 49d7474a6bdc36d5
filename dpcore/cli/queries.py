"""Commands on landed rounds: `query` and `show` print, `export` writes a table, `publish` writes a round's page."""

from __future__ import annotations

import csv
import json
import sys
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from dpcore.cli.options import DataOption, LanguageOption, WarehouseOption, file_of
from dpcore.cli.printing import progress, show_rows
from dpcore.cli.round_summary import print_pictures
from dpcore.errors import WarehouseError
from dpcore.rounds.defaults import DEFAULT_DATA


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT statement.")],
    format_: Annotated[str, typer.Option("--format", help="table, csv or json.")] = "table",
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Query the warehouse.

    Example: ldpflow query "select attribute, category, estimate from latest_frequencies order by all"
    """
    from dpcore.results.warehouse import rows as ask

    if format_ not in ("table", "csv", "json"):
        raise typer.BadParameter(f"format must be table, csv or json, got {format_!r}")
    columns, rows = ask(file_of(warehouse, data), sql)
    if format_ == "csv":
        lines = ([None if value != value else value for value in row] for row in rows)  # a NaN is an empty field
        csv.writer(sys.stdout, lineterminator="\n").writerows([columns, *lines])
    elif format_ == "json":
        if len(set(columns)) < len(columns):
            raise WarehouseError(
                f"query: json needs different column names, got {', '.join(columns)}; name them with as"
            )
        print(json.dumps([_finite(dict(zip(columns, row, strict=True))) for row in rows], default=_text, indent=1))
    else:
        show_rows(columns, rows)


def _finite(value: Any) -> Any:
    """The value with null for NaN and the infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float | Decimal) and not isfinite(value) else value


def _text(value: Any) -> str | float:
    """A value that JSON has no type for: times as in ISO 8601, decimals as numbers."""
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return float(value) if isinstance(value, Decimal) else str(value)


def show(
    round_: Annotated[
        str | None, typer.Argument(metavar="[ROUND]", help="The round. Default: the newest.", show_default=False)
    ] = None,
    scheme: Annotated[str | None, typer.Option(help="The scheme's name, where several schemes have the round.")] = None,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Print a landed round again, as `run` did: the estimates, their changes, and the spent epsilon.

    Missing pictures of an interrupted round are drawn.

    Example: ldpflow show 2026-11-20
    """
    from dpcore.cli.round_summary import render
    from dpcore.results import warehouse as tables
    from dpcore.results.pages import find

    file = file_of(warehouse, data)
    with tables.reader(file) as ask:
        run_id = find(ask, round_, scheme)
    print(render(file, run_id), flush=True)
    if not tables.rows(file, f"select 1 from figures where run_id = '{run_id}' limit 1")[1]:
        _draw_missing(data, run_id)


def _draw_missing(data: Path, run_id: str) -> None:
    """Draw the pictures of a round that was interrupted after its landing."""
    from dpcore.rounds.steps.landing import draw, drawable

    if (run := drawable(data, run_id)) is not None:
        with progress("drawing", None):
            draw(run, [run_id])
        print_pictures(run)


def export(
    table: Annotated[str, typer.Argument(help="A table or view, such as latest_estimates.")],
    target: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The file to write, .parquet or .csv, or postgresql://USER@HOST/DATABASE."),
    ],
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Write a table or view to a file, or into PostgreSQL, where it replaces an earlier export of the table.

    Example: ldpflow export latest_estimates estimates.csv
    """
    file = file_of(warehouse, data)
    if "://" in target or target.startswith(("postgresql:", "postgres:")):
        from dpcore.results.warehouse.postgresql import export_to_postgresql

        rows, database = export_to_postgresql(file, table, target)
        print(f"wrote {rows:,} rows of {table} into PostgreSQL's {database}")
    else:
        from dpcore.results.warehouse import export as write

        write(file, table, target)
        print(f"wrote {target}")


def publish(
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The page to write: .html.")],
    round_: Annotated[str | None, typer.Option("--round", help="The round. Default: the newest.")] = None,
    scheme: Annotated[str | None, typer.Option(help="The scheme's name, where several schemes have the round.")] = None,
    language: LanguageOption = "en",
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Write one HTML page of a landed round: pictures, tables, privacy and checks, with the SQL behind each.

    The page contains only data from the warehouse, works without a network, and can be printed.

    Example: ldpflow publish --round 2026-11-20 round.html
    """
    from dpcore.results.pages import publish as write

    with progress("drawing", None):
        name, landed = write(file_of(warehouse, data), target, round_=round_, scheme=scheme, language=language)
    print(f"wrote {target}: {name}, round {landed}")
