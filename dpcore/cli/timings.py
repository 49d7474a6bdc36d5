"""What ldpflow costs on this machine: `benchmark` speed, profile and collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpcore.cli.options import DataOption, WarehouseOption, file_of, listed
from dpcore.cli.printing import measure, progress, show_aims, show_lines, show_places
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
    from dpcore.laboratory.benchmarks import speed as study
    from dpcore.laboratory.benchmarks.report import lines
    from dpcore.laboratory.studies.speed import PARTS

    file = file_of(warehouse, data)
    if not report:
        wanted = listed(parts, str, "parts") or PARTS
        steps = study.measure(file, DEFAULT_SCHEME, repetitions, parts=wanted, peers=peers, full=full)
        measure(steps, goes_on=False)
    found = study.report(file)
    columns = ("metric", "method", "path", "of", "clients", "estimate", "95 % interval")
    show_lines("medians, with the interval of the median", columns, study.summary(found))
    show_aims(lines(found.verdicts))
    if not peers.exists():
        print(f"peers      not installed in {peers}: make peers")
    show_places(file)


def profile(
    scheme: Annotated[Path, typer.Argument(help="The scheme file, of people who can be simulated.")] = DEFAULT_SCHEME,
    clients: Annotated[str, typer.Option(help="Numbers of clients, separated by commas.")] = "1000000",
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Tell where the processor time and the memory of `ldpflow run` go, step by step, and land it.

    Example: ldpflow benchmark profile --clients 1000000,10000000
    """
    from dpcore.laboratory.benchmarks import speed as study

    file = file_of(warehouse, data)
    measure(study.measure_profile(file, scheme, listed(clients, int, "clients")), goes_on=False)
    columns = ("what", "clients", "seconds", "share", "peak MiB")
    show_lines("one core", columns, study.profile_summary(file))
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
    from dpcore.laboratory.benchmarks.report import lines

    file = file_of(warehouse, data)
    steps = load.measure(scheme, load.Load(reports=reports, batch=batch, connections=connections), file)
    _, total = next(steps)
    with progress("sending", total) as advance:
        for _ in steps:
            advance(1)
    found = load.report(file)
    title = "over HTTP, in turns; intervals are of the median turn"
    show_lines(title, ("metric", "estimate", "95 % interval"), load.summary(found))
    show_aims(lines(found.verdicts))
    show_places(file)
