"""The studies against a warehouse: measure what they lack, land it at once, and say how they stand.

An accuracy study that was stopped goes on where it was: its rows carry the time it was begun, and cells that have theirs are
skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpcore import wire
from dpcore.errors import SchemeError, check_one_of
from dpcore.laboratory.plots.accuracy import plot_fits, plot_ratios
from dpcore.laboratory.plots.coverage import plot_coverage
from dpcore.laboratory.plots.curves import plot_curves
from dpcore.laboratory.plots.poisoning import plot_power
from dpcore.laboratory.plots.rates import plot_rates
from dpcore.laboratory.studies import (
    accuracy,
    aims,
    coverage,
    coverage_aims,
    poisoning,
    rates,
    rates_aims,
    reproduce,
    speed,
)
from dpcore.laboratory.studies.figures import Effort
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.speed import memory, rounds
from dpcore.protocol.scheme import check_clients
from dpcore.results import plots, warehouse

PICTURED = ("ise", "w1", "ks", "mean", "entropy", "integrated_square")
_SENT = {  # what malicious clients send
    poisoning.RANDOM: "random reports",
    poisoning.ITEM: "honest reports of a value one does not have",
    poisoning.MAXIMAL: "the reports that gain most",
    poisoning.OWN: "the reports that gain most at the level one is given",
}
_DRAWN_AT = (100_000, 1.0)  # clients and epsilon of the densities that are drawn


@dataclass(frozen=True, eq=False)
class Report:
    """The newest study: rows of `accuracy_summary`, or a speed study's own, and the aims with what was found."""

    summary: pd.DataFrame
    verdicts: list[aims.Verdict]


def measure_accuracy(
    file: Path, grid: accuracy.Grid, workers: int = 1, *, again: bool = False, begun: datetime | None = None
) -> Iterator[tuple[int, int]]:
    """Measure and land what a study lacks of the grid, yielding (done, all) pieces, first (0, all).

    file: the warehouse.  workers: processes.  again: measure the grid's methods anew, in place of what the study has.
    begun: the study to go on with, or to begin, by its time (with a time zone); by default the newest one, unless it is of
    another version or of other repetitions: then a new one is begun.
    """
    edition = f"{version('ldpflow')}+{accuracy.STUDY}.{accuracy.EDITION}"
    begun, known = _known(file, edition, grid.repetitions, begun)
    if again:
        known = set()
    pieces = len(accuracy.pending(grid, known))
    yield from _landed(file, pieces, accuracy.measured(grid, known, workers), edition, begun)


def measure_coverage(
    file: Path, grid: coverage.Grid, workers: int = 1, *, again: bool = False, begun: datetime | None = None
) -> Iterator[tuple[int, int]]:
    """Measure and land the chunks that a study lacks of the grid, yielding (done, all) chunks, first (0, all).

    The rest is as in `measure_accuracy`, but that more repetitions go on with the same study.
    """
    yield from _chunks(coverage, file, grid, workers, again, begun)


def measure_rates(
    file: Path, grid: rates.Grid, workers: int = 1, *, again: bool = False, begun: datetime | None = None
) -> Iterator[tuple[int, int]]:
    """Measure and land the chunks that a study of rates lacks of the grid, as `measure_coverage` does."""
    yield from _chunks(rates, file, grid, workers, again, begun)


def report(file: Path) -> Report:
    """Return how the newest accuracy study stands; raises WarehouseError where there is no warehouse."""
    summary = warehouse.query(file, "from accuracy_summary order by method, metric")
    rows = warehouse.query(file, "from accuracy_rows where not is_peer")
    return Report(summary, aims.verdicts(summary, rows))


def measure_speed(
    file: Path,
    scheme: Path,
    repetitions: int = speed.LEAST_REPETITIONS,
    *,
    parts: Sequence[str] = speed.PARTS,
    peers: Path | None = None,
    full: bool = False,
) -> Iterator[tuple[int, int]]:
    """Measure and land a study of speed, yielding (done, all) parts, first (0, all); see `studies.speed.measured`."""
    with warehouse.counting() as count_by:
        frames = speed.measured(scheme, repetitions, parts=parts, peers=peers, count_by=count_by, full=full)
        yield from _landed(file, len(parts), frames, version("ldpflow"), datetime.now(UTC))


def speed_report(file: Path) -> Report:
    """Return how the newest study of speed stands: its rows, and the aims; raises WarehouseError where there is none."""
    rows = warehouse.query(
        file,
        f"from benchmarks where study = '{speed.STUDY}' and measured_at = "
        f"(select max(measured_at) from benchmarks where study = '{speed.STUDY}') "
        "order by metric, target, method, parameters, clients",
    )
    return Report(rows, speed.verdicts(rows))


def measure_profile(file: Path, scheme: Path, clients: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Run rounds of so many simulated people and land where their time and memory went, yielding (done, all) rounds.

    Raises SchemeError where no number of clients is given, or one that no round can have.
    """
    if not clients:
        raise SchemeError("a profile needs a number of clients, such as 1000000; got none")
    for n in clients:
        check_clients(n)
    frames = (memory.profile(scheme, n) for n in clients)
    yield from _landed(file, len(clients), frames, version("ldpflow"), datetime.now(UTC))


def profile_lines(file: Path) -> list[tuple[str, ...]]:
    """Return the newest profile as a person reads it: what, clients, processor seconds, share of them, peak MiB."""
    rows = warehouse.query(
        file,
        "pivot (select method, clients, metric, value, repetitions from benchmarks where study = 'profile' and measured_at = "
        "(select max(measured_at) from benchmarks where study = 'profile')) "
        f"on metric in ('{rounds.SECONDS}', '{memory.PEAK}') using any_value(value) order by clients, {rounds.SECONDS} desc",
    )
    totals = rows[rows["method"] == memory.RUN].set_index("clients")[rounds.SECONDS]
    return [
        (
            line["method"],
            f"{line['clients']:,}",
            _told(line[rounds.SECONDS], "{:.2f}"),
            _told(line[rounds.SECONDS] / totals[line["clients"]], "{:.1%}"),
            _told(line[memory.PEAK] / 2**20, "{:.0f}"),
        )
        for line in rows.to_dict("records")
    ]


def _told(value: float, text: str) -> str:
    return "" if pd.isna(value) else text.format(value)


def measure_poisoning(
    file: Path, methods: Sequence[str], repetitions: int, workers: int = 1
) -> Iterator[tuple[int, int]]:
    """Measure and land a study of malicious clients, yielding (done, all) methods, first (0, all); see `studies.poisoning`."""
    frames = poisoning.measured(methods, repetitions, workers)
    yield from _landed(file, len(methods), frames, f"{version('ldpflow')}+{poisoning.STUDY}", datetime.now(UTC))


def poisoning_report(file: Path) -> Report:
    """Return how the newest study of malicious clients stands: its rows, and the aims."""
    rows = warehouse.query(
        file,
        f"from benchmarks where study = '{poisoning.STUDY}' "
        f"and measured_at = (select max(measured_at) from benchmarks where study = '{poisoning.STUDY}') "
        "order by method, parameters, target, metric",
    )
    return Report(rows, poisoning.verdicts(rows))


def poisoning_summary(report: Report) -> list[tuple[str, ...]]:
    """Return a line a method and attack, as a person reads it.

    method, attack, and at 1, 5 and 10 % the rise of the mean, or of the targets' frequency together, what theory says of that,
    and the share of rounds in which some check sees the attack.
    """
    rows = poisoning.told(report.summary)
    rows = rows[rows["beta"].isin(poisoning.BIASED) & rows["target"].isin(("frequency", "mean"))]
    found: list[tuple[str, ...]] = []
    for (method, attack), of in rows.groupby(["method", "attack"], sort=False):
        cells = [
            "; ".join(
                _at(of, metric, beta, text)
                for metric, text in (("bias", "{:+.3g}"), ("theory", "theory {:+.3g}"), ("seen:any", "seen {:.0%}"))
                if _at(of, metric, beta, text)
            )
            for beta in poisoning.BIASED
        ]
        found.append((str(method), str(attack), *cells))
    return found


def _at(rows: pd.DataFrame, metric: str, beta: float, text: str) -> str:
    values = rows[(rows["metric"] == metric) & (rows["beta"] == beta)]["value"]
    return text.format(values.iloc[0]) if len(values) else ""


def draw_poisoning(report: Report, folder: Path) -> dict[str, Path]:
    """Draw how often checks see each attack, a picture an attack and a panel a mechanism; return name -> file."""
    rows = poisoning.told(report.summary)
    rows = rows[rows["metric"].str.startswith("seen:") & (rows["beta"] > 0)]
    rows = rows.assign(check=rows["metric"].str.removeprefix("seen:"))
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    for attack, of in rows[~rows["check"].str.startswith("any")].groupby("attack", sort=False):
        methods = [name for name in poisoning.METHODS if name in set(of["method"])]
        figure, panels = plots.new_panels(
            len(methods),
            title=f"What the checks see of {_SENT.get(str(attack), attack)}",
            subtitle=f"{poisoning.CLIENTS:,} honest clients in 8 batches, malicious ones in the last; dashed: in all. "
            "False alarms: 0.1 %. Bars: 95 %",
            height=3.6,
        )
        for axes, method in zip(panels, methods, strict=True):
            plot_power(of[of["method"] == method], axes, title=plots.in_words(method))
        name = f"poisoning_{str(attack).replace(' ', '_').replace('-', '_')}"
        pictures[name] = _save(folder / f"{name}.png", plots.png(figure))
    return pictures


def lines(report: Report) -> list[tuple[str, str, str, str]]:
    """Return the aims as a person reads them: aim, what it may be, what was found, whether it is reached."""
    return [
        (
            verdict.aim,
            f"{'>=' if verdict.at_least else '<='} {verdict.limit:.2f}",
            "" if verdict.found is None else f"{verdict.found:.2f}",
            {True: "yes", False: "no", None: "not measured"}[verdict.reached],
        )
        for verdict in report.verdicts
    ]


def markdown(report: Report) -> str:
    """Return the summary as a table of Markdown: geometric means of error ratios, below 1 where ours is smaller."""
    head = "| method | metric | cells | to best peer | to SW-EMS 1024 | cells won | worst target | its ratio |"
    rows = [
        f"| {row['method']} | {row['metric']} | {row['cells']} | {row['to_hindsight']:.2f} | {row['to_published']:.2f} "
        f"| {row['won']:.0%} | {row['worst_target']} | {row['worst_ratio']:.2f} |"
        for row in report.summary.to_dict("records")
    ]
    return "\n".join([head, "|---|---|---|---|---|---|---|---|", *rows])


def draw(file: Path, folder: Path, method: str = aims.METHOD) -> dict[str, Path]:
    """Draw a method's ratios, a picture a metric, and its density on each target; return name -> file."""
    cells = warehouse.query(file, "from accuracy_cells order by target, clients, epsilon")
    cells = cells[cells["method"] == method]
    folder.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, Path] = {}
    for metric in PICTURED:
        rows = cells[cells["metric"] == metric]
        if len(rows):
            figure, axes = plots.new_axes(9.0, plots.height_for(rows["target"].nunique()))
            plot_ratios(rows, axes)
            pictures[f"ratios_{metric}"] = _save(folder / f"ratios_{metric}.png", plots.png(figure))
    clients, epsilon = _DRAWN_AT
    here = cells[(cells["metric"] == "ise") & (cells["clients"] == clients) & (cells["epsilon"] == epsilon)]
    for target, hindsight in zip(here["target"].astype(str), here["hindsight"].astype(str), strict=True):
        fits = accuracy.representative(Cell(target, clients, epsilon), method, hindsight)
        figure, axes = plots.new_axes()
        plot_fits(fits, axes, title=f"{target}, {clients:,} clients, epsilon {epsilon:g}")
        pictures[f"fit_{target}"] = _save(folder / f"fit_{target}.png", plots.png(figure))
    return pictures


def coverage_cells(file: Path) -> pd.DataFrame:
    """Return how the newest coverage study stands, cell by cell: see `coverage_aims.judged`."""
    rows = "from coverage_cells order by method, target, clients, epsilon, functional"
    return coverage_aims.judged(warehouse.query(file, rows))


def coverage_lines(cells: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    """Return the coverage study's aims as `lines` returns the accuracy study's; cells: as `coverage_cells` gives them."""
    return lines(Report(cells, coverage_aims.verdicts(cells)))


def coverage_summary(cells: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return a line a method and functional, as a person reads it: what happened over all targets, clients and epsilons.

    method, functional, cells, refused ones, least, median and largest coverage of the others, where it is least, median
    length over 3.92 standard deviations, and median standard error over standard deviation.
    """
    found: list[tuple[str, ...]] = []
    for (method, functional), rows in cells.groupby(["method", "functional"], sort=False):
        seen = rows[~rows["refused"]].sort_values("coverage")
        head = (str(method), str(functional), str(len(rows)), str(int(rows["refused"].sum())))
        if seen.empty:
            found.append((*head, "", "", "", "", "", ""))
            continue
        worst = seen.to_dict("records")[0]
        shares = (f"{share:.0%}" for share in seen["coverage"].quantile([0.0, 0.5, 1.0]))
        where = f"{worst['target']}, {worst['clients']:,}, {worst['epsilon']:g}"
        ratio = (seen["standard_error"] / seen["deviation"].where(seen["deviation"] > 0)).median()
        found.append((*head, *shares, where, f"{seen['long'].median():.2f}", f"{ratio:.2f}"))
    return found


def draw_coverage(file: Path, folder: Path) -> dict[str, Path]:
    """Draw coverage with its binomial interval, a picture a target; return name -> file."""
    cells = coverage_cells(file)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    for target, rows in cells.groupby("target", sort=False):
        figure, axes = plots.new_axes(9.0, plots.height_for(rows["functional"].nunique()))
        plot_coverage(rows, axes)
        name = f"coverage_{target}"
        pictures[name] = _save(folder / f"{name}.png", plots.png(figure))
    return pictures


def rates_cells(file: Path) -> pd.DataFrame:
    """Return how the newest study of rates stands, cell by cell: rows of the view `rates_cells`."""
    return warehouse.query(file, "from rates_cells order by method, target, functional, effective, epsilon")


def rates_lines(cells: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    """Return the aims of the study of rates as `lines` returns the accuracy study's; cells: as `rates_cells` gives them."""
    return lines(Report(cells, rates_aims.verdicts(rates_aims.judged(cells))))


def rates_summary(cells: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return a line a method, density and functional, as a person reads it.

    method, density, functional, n epsilon^2 from and to, slope with its standard error, the slope by theory, and, where theory
    says the error itself, measured over it where they are furthest apart.
    """
    found: list[tuple[str, ...]] = []
    for line in rates_aims.judged(cells).to_dict("records"):
        low, high = f"{line['theory_low']:.3f}", f"{line['theory_high']:.3f}"
        found.append(
            (
                line["method"],
                line["target"],
                _named(line["functional"]),
                f"{line['least']:.3g}",
                f"{line['most']:.3g}",
                f"{line['slope']:.3f} +- {line['uncertainty']:.3f}" if pd.notna(line["slope"]) else "",
                low if low == high else f"{low} to {high}",
                f"{line['ratio']:.3f}" if pd.notna(line["ratio"]) else "",
            )
        )
    return found


def draw_rates(file: Path, folder: Path) -> dict[str, Path]:
    """Draw errors against n epsilon^2, a picture a method, density and, for atomic functionals, order; return name -> file."""
    cells = rates_cells(file)
    cells = cells[cells["error"] > 0]
    cells = cells.assign(expected=np.hypot(cells["bias"], cells["noise"]))
    by_theory = {
        (line["method"], line["target"], line["functional"]): float(line["theory_high"])
        for line in rates_aims.judged(cells).to_dict("records")
    }
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    for (method, target), rows in cells.groupby(["method", "target"], sort=False):
        orders = rows["functional"].str.extract(r"^derivative\((\d),", expand=False)
        for order, each in [("", rows)] if orders.isna().all() else rows.groupby(orders):
            figure, axes = plots.new_axes(9.0, 5.4)
            plot_rates(
                each.assign(functional=[_named(name) for name in each["functional"]]),
                axes,
                rate=by_theory[method, target, each["functional"].iloc[0]],
                title=f"{method}, {target}: errors and theory".replace("_", " "),
                subtitle="root mean square errors with their 95 % intervals, of simulated rounds",
            )
            name = "_".join(filter(None, ("rates", str(method), str(target), order and f"order_{order}")))
            pictures[name] = _save(folder / f"{name}.png", plots.png(figure))
    return pictures


def _named(functional: str) -> str:
    return functional.replace(repr(rates.SELF_SIMILAR), "1/3")


def measure_figures(
    file: Path,
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    again: bool = False,
) -> Iterator[tuple[int, int]]:
    """Measure and land the documents' figures of these names that are not there yet, yielding (done, all), first (0, all).

    names: of `reproduce.FIGURES`; all by default.  quick: with a tenth of the repetitions.  again: measure it all the same.
    A figure is there when its newest rows are of this version and of no fewer repetitions.
    Raises SchemeError for a name there is none of.
    """
    for name in names:
        check_one_of(tuple(reproduce.FIGURES), figure=name)
    effort, there = Effort(quick), {} if again else _figures_there(file)
    wanted = [name for name in names or reproduce.FIGURES if there.get(name) not in _enough(effort)]
    yield from _landed(file, len(wanted), (reproduce.measure(name, effort) for name in wanted), _figure_edition(effort))


def figure_points(file: Path) -> dict[str, pd.DataFrame]:
    """Return the newest points of every figure that the warehouse has, by name."""
    rows = warehouse.query(
        file,
        f"from benchmarks where study = '{reproduce.STUDY}' "
        "qualify measured_at = max(measured_at) over (partition by method) order by method",
    )
    found = {str(name): reproduce.points_of(points) for name, points in rows.groupby("method")}
    return {name: found[name] for name in reproduce.FIGURES if name in found}


def figure_lines(points: Mapping[str, pd.DataFrame]) -> list[tuple[str, str, str, str, str]]:
    """Return what must be seen in figures, as `lines` does, each after the name of its figure."""
    return [
        (name, *line)
        for name, rows in points.items()
        for line in lines(Report(rows, reproduce.FIGURES[name].aims(rows)))
    ]


def draw_figures(points: Mapping[str, pd.DataFrame], folder: Path) -> dict[str, Path]:
    """Draw a picture of each figure, its panels beside what theory says, and return name -> file."""
    folder.mkdir(parents=True, exist_ok=True)
    return {name: _save(folder / f"{name}.png", plots.png(_figure(name, rows))) for name, rows in points.items()}


def _figure(name: str, points: pd.DataFrame) -> Any:
    shown = reproduce.FIGURES[name]
    source = re.sub(r"(?<=[a-z])(?=[A-Z\d])", ", ", shown.document)
    figure, panels = plots.new_panels(
        len(shown.panels),
        title=shown.shows[0].upper() + shown.shows[1:],
        subtitle=f"{source}; dashed: what is stated; bars: 95 % intervals",
    )
    curves = list(dict.fromkeys(points["curve"]))
    for axes, (title, panel) in zip(panels, shown.panels.items(), strict=True):
        plot_curves(
            points[points["panel"] == title],
            axes,
            x=panel.x,
            y=panel.y,
            names=curves,
            logarithmic=panel.logarithmic,
            slope=panel.slope,
            title=title,
        )
    return figure


def _figure_edition(effort: Effort) -> str:
    return f"{version('ldpflow')}+{reproduce.STUDY}.{reproduce.EDITION}{'.quick' if effort.quick else ''}"


def _enough(effort: Effort) -> set[str]:
    """The editions that do for an effort: a quick one may be a full one."""
    return {_figure_edition(effort), _figure_edition(Effort())}


def _figures_there(file: Path) -> dict[str, str]:
    """Name -> edition of its newest rows."""
    if not file.exists():
        return {}
    rows = warehouse.query(
        file,
        f"select method, max_by(version, measured_at) as version from benchmarks where study = '{reproduce.STUDY}' "
        "group by method",
    )
    return dict(zip(rows["method"], rows["version"], strict=True))


def _landed(
    file: Path, pieces: int, frames: Iterable[pd.DataFrame], edition: str, begun: datetime | None = None
) -> Iterator[tuple[int, int]]:
    """Land frames as they are made, and publish them however it ends, yielding (done, all), first (0, all).

    begun: `measured_at` of all of them; by default each has its own.
    """
    done = 0
    yield done, pieces
    try:
        for done, frame in enumerate(frames, 1):
            warehouse.add_benchmarks(file, frame.assign(measured_at=begun or datetime.now(UTC), version=edition))
            yield done, pieces
    finally:
        if done:
            warehouse.publish_copy(file)


def _chunks(
    study: Any, file: Path, grid: Any, workers: int, again: bool, begun: datetime | None
) -> Iterator[tuple[int, int]]:
    """Measure and land what a study that is made in chunks lacks; study: its module, grid: its `Grid`."""
    edition = f"{version('ldpflow')}+{study.STUDY}.{study.EDITION}"
    begun, known = _known_chunks(file, study.STUDY, edition, begun)
    if again:
        known = {}
    pieces = len(study.pending(grid, known))
    yield from _landed(file, pieces, study.measured(grid, known, workers), edition, begun)


def _known_chunks(file: Path, study: str, edition: str, begun: datetime | None) -> tuple[datetime, coverage.Known]:
    """When the study to go on with was begun, and its chunks; now and nothing where there is none."""
    fresh: tuple[datetime, coverage.Known] = begun or datetime.now(UTC), {}
    if not file.exists():
        return fresh
    rows = warehouse.query(
        file,
        "select method, target, clients, epsilon, parameters, repetitions, version, measured_at "
        f"from benchmarks where study = '{study}' and metric = 'failed'",
    )
    if rows.empty:
        return fresh
    begun = begun or rows["measured_at"].max().to_pydatetime().replace(tzinfo=UTC)
    rows = rows[rows["measured_at"] == begun.astimezone(UTC).replace(tzinfo=None)]
    if set(rows["version"]) != {edition}:
        return fresh
    return begun, {
        (row["method"], row["target"], row["clients"], row["epsilon"], coverage.chunk_of(row["parameters"])): row[
            "repetitions"
        ]
        for row in rows.to_dict("records")
    }


def _known(file: Path, edition: str, repetitions: int, begun: datetime | None) -> tuple[datetime, set[accuracy.Known]]:
    """When the study to go on with was begun, and what it has; now and nothing where there is none."""
    fresh: tuple[datetime, set[accuracy.Known]] = begun or datetime.now(UTC), set()
    if not file.exists():
        return fresh
    rows = warehouse.query(
        file,
        "select distinct method, parameters, target, clients, epsilon, repetitions, version, measured_at "
        "from benchmarks where study = 'accuracy' and not contains(metric, '.')",
    )
    if rows.empty:
        return fresh
    begun = begun or rows["measured_at"].max().to_pydatetime().replace(tzinfo=UTC)
    rows = rows[rows["measured_at"] == begun.astimezone(UTC).replace(tzinfo=None)]
    if set(rows["version"]) != {edition} or set(rows["repetitions"]) != {repetitions}:
        return fresh
    columns = ["method", "parameters", "target", "clients", "epsilon", "repetitions"]
    return begun, set(rows[columns].itertuples(index=False, name=None))


def _save(path: Path, content: bytes) -> Path:
    wire.write_bytes(path, content)
    return path
