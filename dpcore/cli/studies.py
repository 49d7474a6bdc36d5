"""Studies of the estimates: `reproduce` the documents' figures; `benchmark` accuracy, coverage, poisoning and rates."""

from __future__ import annotations

from typing import Annotated

import typer

from dpcore.cli.options import DataOption, WarehouseOption, file_of, listed, place
from dpcore.cli.printing import measure, new_table, progress, show, show_aims, show_lines, show_places
from dpcore.rounds.defaults import DEFAULT_DATA, WORKERS


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
    from dpcore.laboratory import benchmarks
    from dpcore.laboratory.studies.reproduce import FIGURES

    if list_:
        lines = [(name, of.document, of.shows, f"{of.seconds:g} s") for name, of in FIGURES.items()]
        show_lines("figures", ("name", "document", "what it shows", "processor"), lines)
        return
    file, wanted = file_of(warehouse, data), tuple(names or FIGURES)
    measure(benchmarks.measure_figures(file, wanted, quick=quick, again=again))
    points = {name: rows for name, rows in benchmarks.figure_points(file).items() if name in wanted}
    figures = data / "figures" / "reproduce"
    with progress("drawing", None):
        benchmarks.draw_figures(points, figures)
    columns = ("figure", "what", "may be", "found", "reached")
    show_lines("what is to be seen", columns, benchmarks.figure_lines(points))
    show_places(file, figures)


def accuracy(
    targets: Annotated[str, typer.Option(help="Densities, separated by commas. Default: all.")] = "",
    clients: Annotated[str, typer.Option(help="Numbers of clients, separated by commas.")] = "10000,100000,1000000",
    epsilon: Annotated[str, typer.Option(help="Epsilons, separated by commas.")] = "0.5,1,2,4",
    methods: Annotated[str, typer.Option(help="Methods, separated by commas; `peers` for all. Default: all.")] = "",
    repetitions: Annotated[int, typer.Option(help="Repetitions a cell, an even number.")] = 50,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = WORKERS,
    again: Annotated[bool, typer.Option("--again", help="Measure anew what the study has of these methods.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Measure nothing; print and draw the newest study.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure errors of densities, distribution functions and numbers over many cells, and compare with the best peer.

    Every cell lands in `benchmarks` as it is made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark accuracy --targets beta_2_5,claw --clients 100000 --epsilon 1 --repetitions 10
    """
    from dpcore.laboratory import benchmarks
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
        measure(benchmarks.measure_accuracy(file, grid, workers, again=again))
    found = benchmarks.report(file)
    figures = data / "figures" / "accuracy"
    with progress("drawing", None):
        benchmarks.draw(file, figures)
    columns = ("method", "metric", "cells", "to best peer", "to SW-EMS 1024", "cells won", "worst target", "its ratio")
    table = new_table("errors over the peers', geometric means; below 1 ours are smaller", *columns)
    for row in found.summary.to_dict("records"):
        ratios = (f"{row[name]:.2f}" for name in ("to_hindsight", "to_published"))
        worst = (str(row["worst_target"]), f"{row['worst_ratio']:.2f}")
        table.add_row(row["method"], row["metric"], str(row["cells"]), *ratios, f"{row['won']:.0%}", *worst)
    if len(found.summary):
        show(table)
    show_aims(benchmarks.lines(found))
    show_places(file, figures)


def coverage(
    targets: Annotated[str, typer.Option(help="Densities, separated by commas. Default: all.")] = "",
    at: Annotated[
        str, typer.Option("--at", help="CLIENTS@EPSILON, separated by commas.")
    ] = "100000@1,1000000@1,200000@2,100000@4",
    methods: Annotated[str, typer.Option(help="Methods, separated by commas.")] = "dyadic_wave,wavelet_laplace",
    repetitions: Annotated[int, typer.Option(help="Repetitions a cell; more can be added later.")] = 1000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = WORKERS,
    again: Annotated[bool, typer.Option("--again", help="Measure anew what the study has of these cells.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Measure nothing; print and draw the newest study.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure how often nominal 95 % intervals of every functional hold the truth, how long they are, and what is refused.

    Fifty repetitions at a time land in `benchmarks` as they are made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark coverage --targets bimodal,age --at 100000@1,100000@4 --repetitions 50
    """
    from dpcore.laboratory import benchmarks
    from dpcore.laboratory.studies.coverage import TARGETS, Grid

    file = file_of(warehouse, data)
    if not report:
        grid = Grid(
            targets=listed(targets, str, "targets") or TARGETS,
            places=listed(at, place, "at"),
            methods=listed(methods, str, "methods"),
            repetitions=repetitions,
        )
        measure(benchmarks.measure_coverage(file, grid, workers, again=again))
    cells = benchmarks.coverage_cells(file)
    figures = data / "figures" / "coverage"
    with progress("drawing", None):
        benchmarks.draw_coverage(file, figures)
    counted = ("method", "functional", "cells", "refused", "least", "median", "most")
    title = "coverage of nominal 95 % intervals, over targets, clients and epsilons"
    if len(cells):
        columns = (*counted, "least where", "length / 3.92 sd", "error / sd")
        show_lines(title, columns, benchmarks.coverage_summary(cells))
    show_aims(benchmarks.coverage_lines(cells))
    show_places(file, figures)


def poisoning(
    methods: Annotated[str, typer.Option(help="Mechanisms, separated by commas. Default: all.")] = "",
    repetitions: Annotated[int, typer.Option(help="Rounds of each attack; fewer are fitted.")] = 400,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = WORKERS,
    report: Annotated[bool, typer.Option("--report", help="Measure nothing; print and draw the newest study.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure what malicious clients gain beside what theory says, the stated bounds, and what the checks see of them.

    Example: ldpflow benchmark poisoning --methods randomized_response,unary_encoding --repetitions 100
    """
    from dpcore.laboratory import benchmarks
    from dpcore.laboratory.studies.poisoning import METHODS

    file = file_of(warehouse, data)
    if not report:
        names = listed(methods, str, "methods") or METHODS
        measure(benchmarks.measure_poisoning(file, names, repetitions, workers))
    found = benchmarks.poisoning_report(file)
    figures = data / "figures" / "poisoning"
    with progress("drawing", None):
        benchmarks.draw_poisoning(found, figures)
    title = "rise of the mean, or of the frequency of five targets together; rounds in which a check sees it"
    if len(found.summary):
        columns = ("mechanism", "attack", "1 % malicious", "5 %", "10 %")
        show_lines(title, columns, benchmarks.poisoning_summary(found))
    show_aims(benchmarks.lines(found))
    show_places(file, figures)


def rates(
    methods: Annotated[str, typer.Option(help="Methods, separated by commas. Default: all.")] = "",
    repetitions: Annotated[int, typer.Option(help="Repetitions a cell; more can be added later.")] = 50,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = WORKERS,
    again: Annotated[bool, typer.Option("--again", help="Measure anew what the study has of these methods.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Measure nothing; print and draw the newest study.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure how errors fall as n epsilon^2 grows, from 1e6 to 1e10, and draw them against the theory.

    Every chunk lands in `benchmarks` as it is made; a study that was stopped goes on where it was.

    Example: ldpflow benchmark rates --methods projection_degree_0,projection_degree_1
    """
    from dpcore.laboratory import benchmarks
    from dpcore.laboratory.studies.rates import METHODS, Grid

    file = file_of(warehouse, data)
    if not report:
        grid = Grid(methods=listed(methods, str, "methods") or METHODS, repetitions=repetitions)
        measure(benchmarks.measure_rates(file, grid, workers, again=again))
    cells = benchmarks.rates_cells(file)
    figures = data / "figures" / "rates"
    with progress("drawing", None):
        benchmarks.draw_rates(file, figures)
    if len(cells):
        columns = ("method", "density", "functional", "from", "to", "slope", "by theory", "error / predicted")
        show_lines("minus the slope of log error in log n epsilon^2", columns, benchmarks.rates_summary(cells))
    show_aims(benchmarks.rates_lines(cells))
    show_places(file, figures)
