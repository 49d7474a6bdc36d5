"""What ldpflow costs on this machine: `benchmark` speed, profile and collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpcore.cli.options import DataOption, WarehouseOption, file_of, listed
from dpcore.cli.printing import measure, new_table, progress, show, show_aims, show_lines, show_places
from dpcore.rounds.defaults import DEFAULT_DATA, DEFAULT_SCHEME


def speed(
    repetitions: Annotated[int, typer.Option(help="Repetitions of each measurement, at least 7.")] = 7,
    parts: Annotated[str, typer.Option(help="Parts, separated by commas: clients, reports, rounds, ...")] = "",
    full: Annotated[
        bool, typer.Option("--full", help="Up to 1e8 clients, and 1e9 for memory: half an hour more.")
    ] = False,
    peers: Annotated[Path, typer.Option(help="The peers' environment; `make peers` makes it.")] = Path(".venv-peers"),
    report: Annotated[bool, typer.Option("--report", help="Measure nothing; print the newest study.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure clients and reports a second beside the machine's own draws and counts and beside peers, rounds and memory.

    Everything runs on one core, and ratios are of processor time; seconds of an estimate are the clock's.  Some ten minutes.

    Example: ldpflow benchmark speed --parts clients,reports
    """
    from dpcore.laboratory import benchmarks
    from dpcore.laboratory.studies.speed import PARTS

    file = file_of(warehouse, data)
    if not report:
        wanted = listed(parts, str, "parts") or PARTS
        steps = benchmarks.measure_speed(file, DEFAULT_SCHEME, repetitions, parts=wanted, peers=peers, full=full)
        measure(steps, goes_on=False)
    found = benchmarks.speed_report(file)
    title = "medians, with the interval of the median"
    table = new_table(title, "metric", "method", "path", "of", "clients", "estimate", "95 % interval")
    for row in found.summary.to_dict("records"):
        numbers = (f"{row['value']:,.4g}", f"{row['low']:,.4g} to {row['high']:,.4g}")
        table.add_row(row["metric"], row["method"], row["parameters"], row["target"], f"{row['clients']:,}", *numbers)
    show(table)
    show_aims(benchmarks.lines(found))
    if not peers.exists():
        print(f"peers      not installed in {peers}: make peers")
    show_places(file)


def profile(
    scheme: Annotated[Path, typer.Argument(help="The scheme file, of people who can be simulated.")] = DEFAULT_SCHEME,
    clients: Annotated[str, typer.Option(help="Numbers of clients, separated by commas.")] = "1000000",
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Tell where the processor time and the memory of `ldpflow run` go, stage by stage, and land it.

    Example: ldpflow benchmark profile --clients 1000000,10000000
    """
    from dpcore.laboratory import benchmarks

    file = file_of(warehouse, data)
    measure(benchmarks.measure_profile(file, scheme, listed(clients, int, "clients")), goes_on=False)
    columns = ("what", "clients", "seconds", "share", "peak MiB")
    show_lines("one core", columns, benchmarks.profile_lines(file))
    show_places(file)


def collector(
    scheme: Annotated[Path, typer.Argument(help="The scheme file, of people who can be simulated.")] = DEFAULT_SCHEME,
    reports: Annotated[int, typer.Option(help="Reports in all.")] = 1_000_000,
    batch: Annotated[int, typer.Option(help="Reports in a request.")] = 1000,
    connections: Annotated[int, typer.Option(help="Connections that send at once.")] = 8,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Send reports over HTTP to a collector and, in turns, to the same service with an empty handler; land rate and wait.

    All of them must be in the collector's files at the end, each once.  Seconds are the clock's: measure on a quiet machine.

    Example: ldpflow benchmark collector --reports 50000
    """
    from dpcore.laboratory import load
    from dpcore.laboratory.benchmarks import Report, lines

    file = file_of(warehouse, data)
    steps = load.measure(scheme, load.Load(reports=reports, batch=batch, connections=connections), file)
    _, total = next(steps)
    with progress("sending", total) as advance:
        for _ in steps:
            advance(1)
    found = load.found(file)
    table = new_table("over HTTP, in turns; intervals are of the median turn", "metric", "estimate", "95 % interval")
    for row in found.rows.to_dict("records"):
        between = "" if row["low"] != row["low"] else f"{row['low']:,.4g} to {row['high']:,.4g}"
        table.add_row(row["metric"], f"{row['value']:,.4g}", between)
    show(table)
    show_aims(lines(Report(found.rows, found.verdicts())))
    show_places(file)
