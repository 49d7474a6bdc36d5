"""Studies of the estimates: `reproduce` the documents' figures; `benchmark` accuracy, coverage, poisoning and rates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dpcore.cli.options import DataOption, WarehouseOption, file_of, listed, place
from dpcore.cli.printing import measure, progress, show_aims, show_lines, show_places
from dpcore.rounds.defaults import DEFAULT_DATA, WORKERS

Targets = Annotated[str, typer.Option("--targets", help="Densities, separated by commas. Default: all.")]
Workers = Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes.")]
Again = Annotated[bool, typer.Option("--again", help="Measure anew what the study has of these methods.")]
ReportAlone = Annotated[bool, typer.Option("--report", help="Measure nothing; print and draw the newest study.")]


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Figures. Default: all.")] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Measure nothing; list the figures and what they cost.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the repetitions.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure anew what the warehouse has.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Run the tables and figures of the source documents, and draw each beside what theory says.

    Every figure lands in `benchmarks` when it is made, so that a run that was stopped goes on where it was.

    Example: ldpflow reproduce beta_histograms warner_survey --quick
    """
    from dpcore.laboratory.benchmarks import figures
    from dpcore.laboratory.studies.reproduce import FIGURES

    if list_:
        lines = [(name, of.document, of.shows, f"{of.seconds:g} s") for name, of in FIGURES.items()]
        show_lines("figures", ("name", "document", "what it shows", "processor"), lines)
        return
    file, wanted = file_of(warehouse, data), tuple(names or FIGURES)
    measure(figures.measure(file, wanted, quick=quick, again=again))
    points = {name: rows for name, rows in figures.points(file).items() if name in wanted}
    pictures = data / "figures" / "reproduce"
    with progress("drawing", None):
        figures.draw(points, pictures)
    show_lines("what is to be seen", figures.COLUMNS, figures.seen(points))
    show_places(file, pictures)


def accuracy(
    targets: Targets = "",
    clients: Annotated[str, typer.Option(help="Numbers of clients, separated by commas.")] = "10000,100000,1000000",
    epsilon: Annotated[str, typer.Option(help="Epsilons, separated by commas.")] = "0.5,1,2,4",
    methods: Annotated[str, typer.Option(help="Methods, separated by commas; `peers` for all. Default: all.")] = "",
    repetitions: Annotated[int, typer.Option(help="Repetitions a cell, an even number.")] = 50,
    workers: Workers = WORKERS,
    again: Again = False,
    report: ReportAlone = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure errors of densities, distribution functions and numbers over many cells, and compare with the best peer.

    Every cell lands in `benchmarks` as it is made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark accuracy --targets beta_2_5,claw --clients 100000 --epsilon 1 --repetitions 10
    """
    from dpcore.laboratory.benchmarks import accuracy as study
    from dpcore.laboratory.studies.accuracy import Grid
    from dpcore.laboratory.studies.targets import NAMES

    file = file_of(warehouse, data)
    if not report:
        grid = Grid(
            targets=listed(targets, str, "targets") or NAMES,
            clients=listed(clients, int, "clients"),
            epsilons=listed(epsilon, float, "epsilon"),
            methods=listed(methods, str, "methods"),
            repetitions=repetitions,
        )
        measure(study.measure(file, grid, workers, again=again))
    title = "errors over the peers', geometric means; below 1 ours are smaller"
    _show(study, file, data / "figures" / "accuracy", title, study.COLUMNS)


def coverage(
    targets: Targets = "",
    at: Annotated[
        str, typer.Option("--at", help="CLIENTS@EPSILON, separated by commas.")
    ] = "100000@1,1000000@1,200000@2,100000@4",
    methods: Annotated[str, typer.Option(help="Methods, separated by commas.")] = "dyadic_wave,wavelet_laplace",
    repetitions: Annotated[int, typer.Option(help="Repetitions a cell; more can be added later.")] = 1000,
    workers: Workers = WORKERS,
    again: Annotated[bool, typer.Option("--again", help="Measure anew what the study has of these cells.")] = False,
    report: ReportAlone = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure how often nominal 95 % intervals of every functional hold the truth, how long they are, and what is refused.

    Fifty repetitions at a time land in `benchmarks` as they are made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark coverage --targets bimodal,age --at 100000@1,100000@4 --repetitions 50
    """
    from dpcore.laboratory.benchmarks import coverage as study
    from dpcore.laboratory.studies.coverage import TARGETS, Grid

    file = file_of(warehouse, data)
    if not report:
        grid = Grid(
            targets=listed(targets, str, "targets") or TARGETS,
            places=listed(at, place, "at"),
            methods=listed(methods, str, "methods"),
            repetitions=repetitions,
        )
        measure(study.measure(file, grid, workers, again=again))
    title = "coverage of nominal 95 % intervals, over targets, clients and epsilons"
    counted = ("method", "functional", "cells", "refused", "least", "median", "most")
    columns = (*counted, "least where", "length / 3.92 sd", "error / sd")
    _show(study, file, data / "figures" / "coverage", title, columns)


def poisoning(
    methods: Annotated[str, typer.Option(help="Mechanisms, separated by commas. Default: all.")] = "",
    repetitions: Annotated[int, typer.Option(help="Rounds of each attack; fewer are fitted.")] = 400,
    workers: Workers = WORKERS,
    report: ReportAlone = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure what malicious clients gain beside what theory says, the stated bounds, and what the checks see of them.

    Example: ldpflow benchmark poisoning --methods randomized_response,unary_encoding --repetitions 100
    """
    from dpcore.laboratory.benchmarks import poisoning as study
    from dpcore.laboratory.studies.poisoning import METHODS

    file = file_of(warehouse, data)
    if not report:
        measure(study.measure(file, listed(methods, str, "methods") or METHODS, repetitions, workers))
    title = "rise of the mean, or of the frequency of five targets together; rounds in which a check sees it"
    columns = ("mechanism", "attack", "1 % malicious", "5 %", "10 %")
    _show(study, file, data / "figures" / "poisoning", title, columns)


def rates(
    methods: Annotated[str, typer.Option(help="Methods, separated by commas. Default: all.")] = "",
    repetitions: Annotated[int, typer.Option(help="Repetitions a cell; more can be added later.")] = 50,
    workers: Workers = WORKERS,
    again: Again = False,
    report: ReportAlone = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure how errors fall as n epsilon^2 grows, from 1e6 to 1e10, and draw them against the theory.

    Every chunk lands in `benchmarks` as it is made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark rates --methods projection_degree_0,projection_degree_1
    """
    from dpcore.laboratory.benchmarks import rates as study
    from dpcore.laboratory.studies.rates import METHODS, Grid

    file = file_of(warehouse, data)
    if not report:
        grid = Grid(methods=listed(methods, str, "methods") or METHODS, repetitions=repetitions)
        measure(study.measure(file, grid, workers, again=again))
    title = "minus the slope of log error in log n epsilon^2"
    columns = ("method", "density", "functional", "from", "to", "slope", "by theory", "error / predicted")
    _show(study, file, data / "figures" / "rates", title, columns)


def _show(study: Any, file: Path, figures: Path, title: str, columns: Sequence[str]) -> None:
    """Draw the newest study, and print what was found; study: a module of `laboratory.benchmarks`."""
    from dpcore.laboratory.benchmarks.report import lines

    found = study.report(file)
    with progress("drawing", None):
        study.draw(file, figures)
    if len(found.rows):
        show_lines(title, columns, study.summary(found))
    show_aims(lines(found.verdicts))
    show_places(file, figures)
