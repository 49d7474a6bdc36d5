"""`ldpflow`: a command parses, calls, prints.  It never imports Prefect.

Exit status: 0 done; 1 the input or the data were refused, in one line on standard error; 2 the command was written wrongly.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpcore.errors import DPCoreError, TooFewClients

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from dpcore.audit import SchemeAudit
    from dpcore.scheme import Scheme
    from dpcore.tables import Line
    from dpcore.theory.planner import Plan

WORKERS = 2
DEFAULT_SCHEME = Path("data/schemes/consumer_expenditure.toml")
DEFAULT_DATA = Path("data/var")
KEEP_DAYS = 30
AUDIT_TRIALS = 200_000

app = typer.Typer(
    name="ldpflow",
    help="Collect data nobody is allowed to see: local differential privacy, from client reports to DuckDB tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

benchmarks_app = typer.Typer(help="Measure ldpflow beside its peers.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(benchmarks_app, name="benchmark")

SchemeArgument = Annotated[Path, typer.Argument(help="The scheme file (TOML).")]
RoundOption = Annotated[
    str | None, typer.Option("--round", help="The round's name; sorts as text. Default: today, UTC.")
]
DataOption = Annotated[Path, typer.Option("--data", help="Where reports, aggregates, pictures and the warehouse live.")]
WarehouseOption = Annotated[
    Path | None, typer.Option("--warehouse", help="The DuckDB file. Default: DATA/warehouse.duckdb.")
]
MinClientsOption = Annotated[
    int, typer.Option("--min-clients", help="With fewer clients the round waits: nothing lands, reports are kept.")
]


@app.command()
def run(
    scheme: Annotated[Path, typer.Argument(help="The scheme file (TOML).")] = DEFAULT_SCHEME,
    clients: Annotated[
        int | None, typer.Option(help="How many simulated people. Default: the scheme's number.")
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="Real records instead, one client each: .csv or .parquet.")
    ] = None,
    reports: Annotated[
        Path | None, typer.Option(help="Folder of reports that clients sent (.parquet) instead; each counts once.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the simulation. With --records: a rehearsal, not private.")
    ] = None,
    round_: RoundOption = None,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
    keep_reports: Annotated[bool, typer.Option(help="Keep the reports after landing.")] = False,
    min_clients: MinClientsOption = 0,
) -> None:
    """Run a whole round: people, privatize, aggregate, estimate, land; print what was found.

    Example: ldpflow run --clients 100000 --seed 7
    """
    from dpcore import stages

    folder = stages.prepare(
        scheme,
        round_=round_,
        clients=clients,
        records=records,
        reports=reports,
        seed=seed,
        data=data,
        warehouse_file=warehouse,
        keep_reports=keep_reports,
        min_clients=min_clients,
    )
    _carry_out(folder)
    print(render(folder))


@app.command()
def scheme(
    files: Annotated[list[Path], typer.Argument(help="A scheme file; or two, the earlier first, to see what differs.")],
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Print the canonical text the digest is taken of.")
    ] = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Validate a scheme; print its digest, what each attribute keeps, and what a client spends in total; write the bundle.

    The client bundle is the canonical scheme with the integer tables that clients in any language look their values up in.
    Of two schemes it prints what differs, and whether rounds under both can be pooled.

    Example: ldpflow scheme data/schemes/consumer_expenditure.toml
    """
    from dpcore.pipeline import check_estimates
    from dpcore.scheme import Scheme
    from dpcore.wire import write_bundle

    if len(files) > 2 or (canonical and len(files) > 1):
        raise typer.BadParameter(f"one scheme file, or two to compare, got {len(files)}")
    schemes = [Scheme.from_toml(file) for file in files]
    for parsed in schemes:
        check_estimates(parsed)
    if len(schemes) == 2:
        _show_revision(*schemes)
        return
    for parsed in schemes:
        if canonical:
            print(parsed.canonical, end="")
            continue
        table = _table(f"{parsed.name}  {parsed.digest[:16]}", "attribute", "asks", "mechanism", "epsilon", "kept")
        for name, attribute in parsed.attributes.items():
            asks = f"{len(attribute.categories)} categories"
            if attribute.is_numeric:
                asks = f"{float(attribute.lower):,g} to {float(attribute.upper):,g} {attribute.unit}".strip()
            certificate = attribute.mechanism.certificate()
            mark = "<=" if certificate.holds else ">"
            promise = "e^epsilon" if certificate.kind == "ratio" else "epsilon"
            kept = f"{certificate.kind} {float(certificate.kept):.6f} {mark} {promise}"
            table.add_row(name, asks, attribute.mechanism.name, attribute.budget.text, kept)
        _show(table)
        total = "the sum over attributes" if parsed.reporting == "all" else "the dearest unit; a client reports one"
        print(f"digest  {parsed.digest}")
        bundle = write_bundle(data / "bundles" / parsed.digest[:16], parsed).parent
        print(f"bundle  {_relative(str(bundle))}")
        delta = f", delta = {float(parsed.delta):g}" if parsed.delta else ""
        print(
            f"each client spends epsilon = {parsed.epsilon:.4f}{delta} in total a round ({parsed.budget.text}; {total})"
        )


@app.command()
def plan(
    scheme: SchemeArgument,
    aim: Annotated[str, typer.Option(help='ATTRIBUTE: QUANTITY; a functional, "frequency(CATEGORY)" or "density".')],
    clients: Annotated[
        int | None, typer.Option(help="How many clients. Default: the scheme's, without --error.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The attribute's epsilon. Default: the scheme's, likewise.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="The standard error wanted; of a density, the relative error.")
    ] = None,
) -> None:
    """Find the one that is missing of clients, epsilon and error, and say which mechanism to choose.

    Example: ldpflow plan data/schemes/consumer_expenditure.toml --aim "income: mean" --epsilon 1 --error 300
    """
    from dpcore.theory.planner import Aim, Planner

    with _progress("planning", None):
        found = Planner.read(scheme).plan(Aim.parse(aim), clients=clients, epsilon=epsilon, error=error)
    _show_plan(found)


@app.command()
def privatize(
    scheme: SchemeArgument,
    source: Annotated[Path, typer.Argument(metavar="IN", help="Records: .csv, .parquet or .jsonl.")],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The reports: a .parquet or .jsonl file, or a folder of Parquet files."),
    ],
    round_: Annotated[
        str, typer.Option("--round", help="The round they are for: a later round counts them as late. Default: any.")
    ] = "",
    key: Annotated[
        Path | None,
        typer.Option(help="File of a client's key, made where there is none: who has not changed answers the same."),
    ] = None,
    person: Annotated[
        str,
        typer.Option(help="With --key: the column that tells people apart. Default: all records are of one person."),
    ] = "",
    tokens: Annotated[
        bool, typer.Option("--tokens", help="With --key: let the collector know a client again, in this scheme alone.")
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="File of what the person has spent; with --person a folder of such files.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="With --ledger: the most a person may ever spend, such as 8 or 'ln 3'.")
    ] = None,
    delta: Annotated[
        str, typer.Option(help="With --ledger: the most of delta, which Gaussian noise spends beside, such as 1e-6.")
    ] = "0",
) -> None:
    """Privatize a file of records with the operating system's randomness, as their own clients would.

    Example: ldpflow privatize data/schemes/health_insurance.toml data/samples/health_insurance.parquet reports/
    """
    from dpcore import _checks
    from dpcore.outbox import Keeping, send
    from dpcore.privacy.budget import Budget
    from dpcore.scheme import Scheme

    total, most = None if budget is None else Budget.parse(budget), _checks.fraction(delta=delta)
    keeping = Keeping(key=key, person=person, sends_token=tokens, ledger=ledger, total=total, delta=most)
    with _progress("privatizing records", None):
        sent = send(Scheme.from_toml(scheme), source, target, sent_for=round_, keeping=keeping)
    print(f"{sent.reports:,} report{'s' * (sent.reports != 1)} in {target}; nothing else left the records")
    if sent.left_out:
        print(f"{sent.left_out:,} people were left out: their budget does not cover another report")
    if sent.spent is not None and total is not None:
        beside = f", delta = {float(sent.delta):g} of {float(most):g}" if most or sent.delta else ""
        print(f"spent so far: epsilon = {sent.spent.text} of {total.text}{beside}")


@app.command()
def collect(
    scheme: SchemeArgument,
    folder: Annotated[Path, typer.Argument(help="Folder of report files (.parquet).")],
    round_: RoundOption = None,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
    min_clients: MinClientsOption = 0,
) -> None:
    """Aggregate the reports that clients sent; `ldpflow estimate` then says what they show.

    Files that another round has counted are left out; those sent for an earlier round are late, and counted as late.

    Example: ldpflow collect data/schemes/health_insurance.toml reports/ --round 2026-11-20
    """
    from dpcore import stages

    made = stages.prepare(
        scheme, reports=folder, round_=round_, data=data, warehouse_file=warehouse, min_clients=min_clients
    )
    stages.merge(made, [stages.aggregate_shard(made, path) for path in stages.collected(made)])
    _check_clients(made)
    plan = stages.plan_of(made)
    print(f"collected round {plan.round}; next: ldpflow estimate {scheme} --round {plan.round}")


@app.command()
def serve(
    schemes: Annotated[list[Path], typer.Argument(metavar="SCHEME...", help="The scheme files to collect under.")],
    into: Annotated[Path, typer.Option("--into", help="Where reports are kept; collectors may share it.")],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8080,
    keys: Annotated[
        Path | None,
        typer.Option(help="Who may do what; `ldpflow key` writes it. Default: anyone, on this machine only."),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="For TLS here: the certificate chain, PEM.")] = None,
    certificate_key: Annotated[Path | None, typer.Option(help="The certificate's key, PEM.")] = None,
    proxy: Annotated[
        str, typer.Option(help="Addresses of proxies, separated by commas, whose X-Forwarded-For is believed.")
    ] = "",
    origin: Annotated[
        list[str] | None, typer.Option(help="Another site whose pages may send; may be repeated.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.001, help="Requests a second of a key, or of an address without one.")
    ] = 100,
    most_bytes: Annotated[int, typer.Option(min=1, max=1 << 30, help="Bytes that a batch may have.")] = 4 << 20,
    seal_after: Annotated[
        float, typer.Option(min=0, help="Seconds that reports wait for company before they are sealed into a file.")
    ] = 60,
    wording: Annotated[Path | None, typer.Option(help="JSON: how the consent page puts title and questions.")] = None,
) -> None:
    """Collect reports over HTTP: durable before the answer, each once, sealed into files that `ldpflow collect` reads.

    Example: ldpflow serve data/schemes/health_insurance.toml --into data/var/collected
    """
    from dpcore.collector.serve import Settings
    from dpcore.collector.serve import serve as collect_on

    settings = Settings(
        host=host,
        port=port,
        keys=keys,
        certificate=certificate,
        certificate_key=certificate_key,
        proxy=proxy,
        origins=tuple(origin or ()),
        rate=rate,
        most=most_bytes,
        seal_after=seal_after,
        wording=wording,
    )
    collect_on(schemes, into, settings)


@app.command()
def key(
    name: Annotated[str, typer.Argument(help="What to call it: a-z, 0-9, _ and -.")],
    keys: Annotated[Path, typer.Option(help="The file of keys; made where there is none.")],
    may: Annotated[str, typer.Option(help="Rights, separated by commas: read, submit, watch.")] = "submit",
    rate: Annotated[float | None, typer.Option(min=0.001, help="Requests a second. Default: the collector's.")] = None,
) -> None:
    """Make a key for a collector: print it, once, and put its hash into the file of keys.

    Example: ldpflow key clinic --keys keys.toml --may read,submit
    """
    from dpcore.collector.access import add_key

    print(add_key(keys, name, _listed(may, str, "--may"), rate))


@app.command()
def estimate(
    scheme: SchemeArgument,
    round_: Annotated[str, typer.Option("--round", help="The round's name.")],
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Estimate a collected round again from its aggregate, land it, and print what was found.

    Example: ldpflow estimate data/schemes/health_insurance.toml --round 2026-11-20
    """
    from dpcore import stages
    from dpcore.scheme import Scheme

    folder = stages.newest(Scheme.from_toml(scheme), round_, data)
    with _landing_failures(folder):
        _finish(folder)
    print(render(folder))


@app.command()
def backfill(
    first: Annotated[datetime, typer.Argument(formats=["%Y-%m-%d"], help="The first day, such as 2026-11-01.")],
    last: Annotated[datetime, typer.Argument(formats=["%Y-%m-%d"], help="The last day.")],
    scheme: SchemeArgument = DEFAULT_SCHEME,
    clients: Annotated[int | None, typer.Option(help="How many simulated people a round.")] = None,
    reports: Annotated[
        Path | None, typer.Option(help="Folder of reports that clients sent (.parquet) instead.")
    ] = None,
    min_clients: MinClientsOption = 0,
    again: Annotated[bool, typer.Option("--again", help="Run rounds that have landed, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which rounds would be run.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Run the rounds of past days that have not landed, oldest first; one that fails or waits does not stop the others.

    Example: ldpflow backfill 2026-11-01 2026-11-20 --clients 100000
    """
    from dpcore import stages
    from dpcore.backfill import rounds_of
    from dpcore.scheme import Scheme

    source = "simulated" if reports is None else "reports"
    file = warehouse or data / "warehouse.duckdb"
    rounds = rounds_of(Scheme.from_toml(scheme), file, first.date(), last.date(), source=source, again=again)
    failed = []
    for round_ in [] if dry_run else rounds:
        try:
            folder = stages.prepare(
                scheme,
                round_=round_,
                clients=clients,
                reports=reports,
                min_clients=min_clients,
                data=data,
                warehouse_file=warehouse,
            )
            _carry_out(folder)
        except DPCoreError as error:
            failed.append(round_)
            print(f"ldpflow: round {round_}: {error}", file=sys.stderr)
        else:
            print(f"round {round_} has landed")
    if dry_run:
        print("\n".join(rounds))
    print(f"{len(rounds) - len(failed)} of {len(rounds)} rounds {'would be run' if dry_run else 'have landed'}")
    if failed:
        raise typer.Exit(1)


@app.command()
def cleanup(
    keep_days: Annotated[
        int, typer.Option(min=0, help="Days after landing that a round's files are kept.")
    ] = KEEP_DAYS,
    reports: Annotated[
        Path | None, typer.Option(help="Folder of reports that clients sent; those that a round has counted go, too.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Delete reports, aggregates and pictures of rounds that landed long ago; of a round that has not landed, nothing.

    The tables of the warehouse stay. The flow `cleanup` does this, and deletes Prefect's history, too.

    Example: ldpflow cleanup --keep-days 14 --dry-run
    """
    from dpcore.cleanup import clean, in_words

    removals = clean(data, keep_days=keep_days, reports=reports, warehouse_file=warehouse, dry_run=dry_run)
    for removal in removals:
        print(f"{removal.kind:9} {removal.round:12} {removal.size:>14,} bytes  {_relative(str(removal.path))}")
    print(in_words(removals, dry_run))


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT statement.")],
    format_: Annotated[str, typer.Option("--format", help="table, csv or json.")] = "table",
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Ask the warehouse.

    Example: ldpflow query "select attribute, category, estimate from latest_frequencies order by all"
    """
    from dpcore.warehouse import query as ask

    if format_ not in ("table", "csv", "json"):
        raise typer.BadParameter(f"format must be table, csv or json, got {format_!r}")
    frame = ask(warehouse or data / "warehouse.duckdb", sql)
    if format_ == "csv":
        print(frame.to_csv(index=False), end="")
    elif format_ == "json":
        print(json.dumps(json.loads(frame.to_json(orient="records", date_format="iso")), indent=1))
    else:
        _show_rows(frame)


@app.command()
def export(
    table: Annotated[str, typer.Argument(help="A table or view, such as latest_estimates.")],
    file: Annotated[Path, typer.Argument(help="The file to write: .parquet or .csv.")],
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Write a table or view to a file.

    Example: ldpflow export latest_estimates estimates.csv
    """
    from dpcore.warehouse import export as write

    write(warehouse or data / "warehouse.duckdb", table, file)
    print(f"wrote {file}")


@app.command()
def publish(
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The page to write: .html.")],
    round_: Annotated[str | None, typer.Option("--round", help="The round. Default: the newest.")] = None,
    scheme: Annotated[str | None, typer.Option(help="The scheme's name, where several schemes have the round.")] = None,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Write one HTML page of a landed round: pictures, tables, privacy and checks, with the SQL behind each.

    The page is read from the warehouse alone, needs no network, and prints.

    Example: ldpflow publish --round 2026-11-20 round.html
    """
    from dpcore.pages import publish as write

    with _progress("drawing", None):
        name, landed = write(warehouse or data / "warehouse.duckdb", target, round_=round_, scheme=scheme)
    print(f"wrote {target}: {name}, round {landed}")


@app.command()
def audit(
    schemes: Annotated[list[Path], typer.Argument(metavar="SCHEME...", help="One scheme file, or several.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the certificate: .md to read and sign, .json for programs.")
    ] = None,
    warehouse: Annotated[Path | None, typer.Option(help="Land the checks in this DuckDB file.")] = None,
    trials: Annotated[
        int, typer.Option(min=1000, max=10**9, help="Reports of either of two values that are looked at, an attribute.")
    ] = AUDIT_TRIALS,
) -> None:
    """Find the exact privacy loss of every attribute, and what reports alone show; exit with 1 where a promise is broken.

    The integers of the canonical scheme are enumerated anew; what the mechanisms certify of themselves is not asked. Then the
    clients' code is run: its reports bound epsilon from below, and people are asked again and again.

    Example: ldpflow audit data/schemes/consumer_expenditure.toml --out certificate.md
    """
    from dpcore import certify

    if out is not None:
        certify.check_target(out)
    day, audits = certify.today(), []
    for file in schemes:
        with _progress(f"enumerating {file.name}", None):
            exact = certify.audit_file(file)
        with _progress(f"running the clients of {file.name}", None):
            audits.append(certify.measure(exact, trials))
        _show_audit(audits[-1])
    if out is not None:
        print(f"wrote {', '.join(map(str, certify.write(out, audits, day)))}")
    if warehouse is not None:
        landed = sum(certify.land(warehouse, found, day) for found in audits)
        print(f"landed {landed} checks in {_relative(str(warehouse))}")
    certify.require(audits, 0 if warehouse is None else certify.landed_seeds(warehouse))


@app.command()
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
    from dpcore import benchmarks
    from dpcore.studies.reproduce import FIGURES

    if list_:
        table = _table("figures", "name", "document", "what it shows", "processor")
        for name, figure in FIGURES.items():
            table.add_row(name, figure.document, figure.shows, f"{figure.seconds:g} s")
        _show(table)
        return
    file, wanted = warehouse or data / "warehouse.duckdb", tuple(names or FIGURES)
    _measure(benchmarks.measure_figures(file, wanted, quick=quick, again=again))
    points = {name: rows for name, rows in benchmarks.figure_points(file).items() if name in wanted}
    with _progress("drawing", None):
        benchmarks.draw_figures(points, data / "figures" / "reproduce")
    table = _table("what is to be seen", "figure", "what", "may be", "found", "reached")
    for line in benchmarks.figure_lines(points):
        table.add_row(*line)
    _show(table)
    print(f"warehouse  {_relative(str(file))}")
    print(f"pictures   {_relative(str(data / 'figures' / 'reproduce'))}")


@benchmarks_app.command()
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
    from dpcore import benchmarks
    from dpcore.studies.accuracy import Grid
    from dpcore.studies.targets import NAMES

    file = warehouse or data / "warehouse.duckdb"
    if not report:
        grid = Grid(
            targets=_listed(targets, str, "targets") or NAMES,
            clients=_listed(clients, int, "clients"),
            epsilons=_listed(epsilon, float, "epsilon"),
            methods=_listed(methods, str, "methods"),
            repetitions=repetitions,
        )
        _measure(benchmarks.measure_accuracy(file, grid, workers, again=again))
    found = benchmarks.report(file)
    with _progress("drawing", None):
        benchmarks.draw(file, data / "figures" / "accuracy")
    columns = ("method", "metric", "cells", "to best peer", "to SW-EMS 1024", "cells won", "worst target", "its ratio")
    table = _table("errors over the peers', geometric means; below 1 ours are smaller", *columns)
    for row in found.summary.to_dict("records"):
        ratios = (f"{row[name]:.2f}" for name in ("to_hindsight", "to_published"))
        worst = (str(row["worst_target"]), f"{row['worst_ratio']:.2f}")
        table.add_row(row["method"], row["metric"], str(row["cells"]), *ratios, f"{row['won']:.0%}", *worst)
    if len(found.summary):
        _show(table)
    _show_aims(benchmarks.lines(found))
    print(f"warehouse  {_relative(str(file))}")
    print(f"pictures   {_relative(str(data / 'figures' / 'accuracy'))}")


@benchmarks_app.command()
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
    from dpcore import benchmarks
    from dpcore.studies.coverage import TARGETS, Grid

    file = warehouse or data / "warehouse.duckdb"
    if not report:
        grid = Grid(
            targets=_listed(targets, str, "targets") or TARGETS,
            places=_listed(at, _place, "at"),
            methods=_listed(methods, str, "methods"),
            repetitions=repetitions,
        )
        _measure(benchmarks.measure_coverage(file, grid, workers, again=again))
    cells = benchmarks.coverage_cells(file)
    figures = data / "figures" / "coverage"
    with _progress("drawing", None):
        benchmarks.draw_coverage(file, figures)
    counted = ("method", "functional", "cells", "refused", "least", "median", "most")
    title = "coverage of nominal 95 % intervals, over targets, clients and epsilons"
    table = _table(title, *counted, "least where", "length / 3.92 sd", "error / sd")
    for line in benchmarks.coverage_summary(cells):
        table.add_row(*line)
    if len(cells):
        _show(table)
    _show_aims(benchmarks.coverage_lines(cells))
    print(f"warehouse  {_relative(str(file))}")
    print(f"pictures   {_relative(str(figures))}")


@benchmarks_app.command()
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
    from dpcore import benchmarks
    from dpcore.studies.poisoning import METHODS

    file = warehouse or data / "warehouse.duckdb"
    if not report:
        names = _listed(methods, str, "methods") or METHODS
        _measure(benchmarks.measure_poisoning(file, names, repetitions, workers))
    found = benchmarks.poisoning_report(file)
    figures = data / "figures" / "poisoning"
    with _progress("drawing", None):
        benchmarks.draw_poisoning(found, figures)
    columns = ("mechanism", "attack", "1 % malicious", "5 %", "10 %")
    table = _table(
        "rise of the mean, or of the frequency of five targets together; rounds in which a check sees it", *columns
    )
    for line in benchmarks.poisoning_summary(found):
        table.add_row(*line)
    if len(found.summary):
        _show(table)
    _show_aims(benchmarks.lines(found))
    print(f"warehouse  {_relative(str(file))}")
    print(f"pictures   {_relative(str(figures))}")


@benchmarks_app.command()
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
    from dpcore import benchmarks
    from dpcore.studies.rates import METHODS, Grid

    file = warehouse or data / "warehouse.duckdb"
    if not report:
        grid = Grid(methods=_listed(methods, str, "methods") or METHODS, repetitions=repetitions)
        _measure(benchmarks.measure_rates(file, grid, workers, again=again))
    cells = benchmarks.rates_cells(file)
    figures = data / "figures" / "rates"
    with _progress("drawing", None):
        benchmarks.draw_rates(file, figures)
    headed = ("method", "density", "functional", "from", "to", "slope", "by theory", "error / predicted")
    table = _table("minus the slope of log error in log n epsilon^2", *headed)
    for line in benchmarks.rates_summary(cells):
        table.add_row(*line)
    if len(cells):
        _show(table)
    _show_aims(benchmarks.rates_lines(cells))
    print(f"warehouse  {_relative(str(file))}")
    print(f"pictures   {_relative(str(figures))}")


@benchmarks_app.command()
def speed(
    repetitions: Annotated[int, typer.Option(help="Repetitions of each measurement, at least 7.")] = 7,
    parts: Annotated[str, typer.Option(help="Parts, separated by commas: clients, reports, rounds, ...")] = "",
    full: Annotated[bool, typer.Option("--full", help="Up to 1e8 clients, and 1e9 for memory: hours.")] = False,
    peers: Annotated[Path, typer.Option(help="The peers' environment; `make peers` makes it.")] = Path(".venv-peers"),
    report: Annotated[bool, typer.Option("--report", help="Measure nothing; print the newest study.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Measure clients and reports a second beside the machine's own draws and counts and beside peers, rounds and memory.

    Everything runs on one core, and ratios are of processor time; seconds of an estimate are the clock's.  Some ten minutes.

    Example: ldpflow benchmark speed --parts clients,reports
    """
    from dpcore import benchmarks
    from dpcore.studies.speed import PARTS

    file = warehouse or data / "warehouse.duckdb"
    if not report:
        wanted = _listed(parts, str, "parts") or PARTS
        steps = benchmarks.measure_speed(file, DEFAULT_SCHEME, repetitions, parts=wanted, peers=peers, full=full)
        _measure(steps)
    found = benchmarks.speed_report(file)
    title = "medians, with the interval of the median"
    table = _table(title, "metric", "method", "path", "of", "clients", "estimate", "95 % interval")
    for row in found.summary.to_dict("records"):
        numbers = (f"{row['value']:,.4g}", f"{row['low']:,.4g} to {row['high']:,.4g}")
        table.add_row(row["metric"], row["method"], row["parameters"], row["target"], f"{row['clients']:,}", *numbers)
    _show(table)
    _show_aims(benchmarks.lines(found))
    if not peers.exists():
        print(f"peers      not installed in {peers}: make peers")
    print(f"warehouse  {_relative(str(file))}")


@benchmarks_app.command()
def profile(
    scheme: Annotated[Path, typer.Argument(help="The scheme file, of people who can be simulated.")] = DEFAULT_SCHEME,
    clients: Annotated[str, typer.Option(help="Numbers of clients, separated by commas.")] = "1000000",
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Tell where the processor time and the memory of `ldpflow run` go, stage by stage, and land it.

    Example: ldpflow benchmark profile --clients 1000000,10000000
    """
    from dpcore import benchmarks

    file = warehouse or data / "warehouse.duckdb"
    _measure(benchmarks.measure_profile(file, scheme, _listed(clients, int, "clients")))
    table = _table("one core", "what", "clients", "seconds", "share", "peak MiB")
    for line in benchmarks.profile_lines(file):
        table.add_row(*line)
    _show(table)
    print(f"warehouse  {_relative(str(file))}")


@benchmarks_app.command()
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
    from dpcore.benchmarks import Report, lines
    from dpcore.collector import load

    file = warehouse or data / "warehouse.duckdb"
    steps = load.measure(scheme, load.Load(reports=reports, batch=batch, connections=connections), file)
    _, total = next(steps)
    with _progress("sending", total) as advance:
        for _ in steps:
            advance(1)
    found = load.found(file)
    table = _table("over HTTP, in turns; intervals are of the median turn", "metric", "estimate", "95 % interval")
    for row in found.rows.to_dict("records"):
        between = "" if row["low"] != row["low"] else f"{row['low']:,.4g} to {row['high']:,.4g}"
        table.add_row(row["metric"], f"{row['value']:,.4g}", between)
    _show(table)
    _show_aims(lines(Report(found.rows, found.verdicts())))
    print(f"warehouse  {_relative(str(file))}")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit; every error a user can cause is one line on standard error."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # numpy is not loaded yet; threads slow our small matrices
        os.environ.setdefault(name, "1")
    try:
        app(arguments)
    except DPCoreError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        what_to_do = "; make room and run it again: what is finished is kept" if error.errno == errno.ENOSPC else ""
        print(f"ldpflow: {error.filename or 'a file'}: {error.strerror or error}{what_to_do}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("ldpflow: interrupted; nothing was landed", file=sys.stderr)
        sys.exit(130)


def _measure(steps: Iterator[tuple[int, int]]) -> None:
    """Carry a study through; stopped, it says that it goes on from there."""
    done, (_, total) = 0, next(steps)
    try:
        with _progress("measuring", total or None) as advance:
            for _ in steps:
                done += 1
                advance(1)
    except KeyboardInterrupt:
        print(f"ldpflow: stopped after {done} of {total} pieces; the same command goes on from there", file=sys.stderr)
        sys.exit(130)


def _place(text: str) -> tuple[int, float]:
    """CLIENTS@EPSILON."""
    clients, _, epsilon = text.partition("@")
    return int(clients), float(epsilon)


def _listed(text: str, kind: Callable[[str], Any], option: str) -> tuple[Any, ...]:
    """The parts of a text separated by commas."""
    try:
        return tuple(kind(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        kinds = "CLIENTS@EPSILON" if kind is _place else "numbers"
        raise typer.BadParameter(f"{option} must be {kinds} separated by commas, got {text!r}") from None


def _carry_out(folder: Path) -> None:
    """A whole round that has been prepared, to its landing."""
    from dpcore import stages

    collect = {"simulated": _collect_simulated, "records": _collect_records, "reports": _collect_reports}
    with _landing_failures(folder):
        source = stages.plan_of(folder).source
        if source != "reports":
            _check_clients(folder)
        _finish(folder, collect[source](folder))


def _check_clients(folder: Path) -> None:
    """A round with too few clients ends here, and waits."""
    from dpcore import stages

    if said := stages.waits(folder):
        raise TooFewClients(said)


def _collect_simulated(folder: Path) -> list[Path]:
    from concurrent.futures import ThreadPoolExecutor

    from dpcore import stages

    def one(shard: int) -> Path:
        return stages.aggregate_shard(folder, stages.privatize_shard(folder, shard))

    numbers = stages.shards(folder)
    what = f"privatizing {stages.plan_of(folder).clients:,} clients"
    parts = []
    with _progress(what, len(numbers)) as advance, ThreadPoolExecutor(WORKERS) as pool:
        for path in pool.map(one, numbers):
            parts.append(path)
            advance(1)
    return parts


def _collect_records(folder: Path) -> list[Path]:
    from dpcore import stages

    with _progress("privatizing records", None) as advance:
        files = stages.privatize_records(folder, advance)
    return [stages.aggregate_shard(folder, path) for path in files]


def _collect_reports(folder: Path) -> list[Path]:
    from dpcore import stages

    return [stages.aggregate_shard(folder, path) for path in stages.collected(folder)]


def _finish(folder: Path, parts: list[Path] | None = None) -> None:
    """Merge, estimate, compare, draw, and land."""
    from dpcore import stages

    with _progress("estimating", None):
        if parts is not None:
            stages.merge(folder, parts)
            _check_clients(folder)
        stages.estimate(folder)
        stages.compare(folder)
        stages.draw(folder)
        stages.land(folder)


@contextmanager
def _landing_failures(folder: Path) -> Iterator[None]:
    """A run that fails is known in the warehouse to have failed; the error goes on."""
    from dpcore import stages

    try:
        yield
    except TooFewClients:
        raise  # the round waits, which has landed
    except Exception:
        try:
            stages.land_failure(folder)
        except DPCoreError as second:
            print(f"ldpflow: the failure could not be recorded: {second}", file=sys.stderr)
        raise


def render(folder: Path) -> str:
    """Return what a person reads after a round: the estimates, the epsilon spent, and where things are."""
    from rich.console import Console

    from dpcore import stages

    plan = stages.plan_of(folder)
    parsed = plan.scheme
    found = stages.summary_of(folder)
    known = any(line.truth is not None for line in found)
    columns = ("attribute", "quantity", "estimate", "95 % interval", *(("truth", "holds") if known else ()), "epsilon")
    row = stages.run_row(folder)
    table = _table(f"{parsed.name}, round {plan.round}, {row.accepted or 0:,} clients", *columns)
    previous = ""
    refusals: list[str] = []
    for line in found:
        first = line.attribute != previous
        if first and previous:
            table.add_section()
        previous = line.attribute
        estimate, interval = line.number(line.estimate), line.interval
        if line.estimate is None:
            refusals.append(f"{line.attribute} {line.quantity}: {line.reason}")
            estimate, interval = "refused", f"note {len(refusals)}"
        truth = (line.number(line.truth), {True: "yes", False: "no", None: ""}[line.holds]) if known else ()
        epsilon = parsed.attributes[line.attribute].budget.text if first else ""
        table.add_row(line.attribute if first else "", line.quantity, estimate, interval, *truth, epsilon)
    console = Console(width=_width(), highlight=False)
    with console.capture() as capture:
        console.print(table)
    lines = [capture.get().rstrip(), *(f"note {i}: {refusal}" for i, refusal in enumerate(refusals, 1))]
    if known:
        held = [line.holds for line in found if line.holds is not None]
        lines.append(f"{sum(held)} of {len(held)} intervals hold the truth")
    lines += _changes(folder)
    if plan.is_rehearsal:
        lines.append("REHEARSAL: real records under a known seed are not private; do not share these reports")
    lines += [
        f"epsilon    {parsed.epsilon:.4f} a client ({parsed.budget.text})",
        f"run        {plan.run_id}" + (f", seed {plan.seed}" if plan.source == "simulated" else ""),
        f"warehouse  {_relative(plan.warehouse)}",
        f"pictures   {_relative(plan.figures)}",
    ]
    return "\n".join(lines)


def _changes(folder: Path) -> list[str]:
    """What has changed since the earlier round, and how groups differ; no line where there is neither."""
    from dpcore import stages
    from dpcore.changes import CERTAINTY

    round_, since, among = stages.changes_of(folder)
    lines = _differences(f"change since round {round_}", "moved", since) if round_ else []
    lines += _differences("differences between groups", "differ", among)
    if lines:
        lines.append(
            f"yes: told from zero with {100 * CERTAINTY:g} % confidence, all rows of a table judged at once; perhaps: by the "
            "row's own interval only"
        )
    return [*lines, ""] if lines else []


def _differences(title: str, verdict: str, found: list[Line]) -> list[str]:
    from rich.console import Console

    from dpcore.changes import telling

    if not found:
        return []
    table, previous = _table(title, "attribute", "quantity", "change", "95 % interval", verdict), ""
    shown, left_out = telling(found)
    for line in shown:
        name, previous = ("" if line.attribute == previous else line.attribute), line.attribute
        table.add_row(name, line.quantity, line.number(line.estimate) or "refused", line.interval, line.verdict)
    console = Console(width=_width(), highlight=False)
    with console.capture() as capture:
        console.print(table)
    remarks = dict.fromkeys(line.reason for line in shown if line.estimate is not None and line.reason)
    lines = ["", *([capture.get().rstrip()] if shown else []), *remarks]
    return [*lines, f"{title}: {left_out} more in the table `comparisons`"] if left_out else lines


def _show_revision(before: Scheme, after: Scheme) -> None:
    """What differs between two schemes, and what may be said of rounds under both."""
    from dpcore.revision import revise

    found = revise(before, after)
    columns = [f"{scheme.name} {scheme.digest[:16]}" for scheme in (before, after)]
    table = _table("", "attribute", "what", *columns)
    for change in found.changes:
        table.add_row(change.where or "(scheme)", change.what, change.before, change.after)
    if found.changes:
        _show(table)
    for line in found.verdict:
        print(line)


def _show_plan(plan: Plan) -> None:
    """The answer, the mechanisms beside it, and the epsilons that others have published."""
    from dpcore.theory.published import PUBLISHED

    def number(error: float | None) -> str:
        return "refused" if error is None else f"{error:,.4g} {plan.unit}".strip()

    rows = {"clients": f"{plan.clients:,}", "epsilon": plan.epsilon.text, "error": number(plan.error)}
    table = _table(f"{plan.aim.attribute}: {plan.aim.quantity}", "", "", "")
    for name, value in rows.items():
        table.add_row(
            name, value, {plan.missing: "found"}.get(name, "within what was asked" if name == "error" else "given")
        )
    _show(table)
    choices = _table("mechanisms at these clients and this epsilon", "mechanism", "error", "of the least", "")
    for each in plan.choices:
        ratio = "" if each.error is None or plan.best.error is None else f"{each.error / plan.best.error:.2f}"
        choices.add_row(each.mechanism, number(each.error), ratio, "the scheme's" if each is plan.forecast else "")
    _show(choices)
    if plan.best is plan.forecast:
        print(f"choose {plan.best.mechanism}, as the scheme does")
    elif plan.needed is None:
        print(f"choose {plan.best.mechanism}")
    else:
        needed = f"{plan.needed:,} clients" if isinstance(plan.needed, int) else f"epsilon = {plan.needed.text}"
        print(f"choose {plan.best.mechanism}: {needed} would do")
    if plan.floor is not None:
        print(f"no mechanism's error is below {number(plan.floor)} for all laws")
    beside = _table("published epsilons", "who", "epsilon", "delta", "noise added")
    for other in PUBLISHED:
        span = f"{other.low:g}" if other.low == other.high else f"{other.low:g} to {other.high:g}"
        beside.add_row(other.who, span, f"up to {other.delta:g}" if other.delta else "0", other.trust)
    beside.add_row("this attribute", f"{float(plan.epsilon):g}", f"{float(plan.delta):g}", "local")
    beside.add_row(
        "all attributes of a client, a round", f"{float(plan.total):g}", f"{float(plan.total_delta):g}", "local"
    )
    _show(beside)
    print(f"people planned with: {plan.people}")


def _show_audit(audit: SchemeAudit) -> None:
    """A scheme's certificate in short: what is promised, what is kept, and how every case was seen."""
    from dpcore.audit import at_most, averaged

    columns = ("attribute", "mechanism", "promised", "kept at most", "kept, exact", "reports show at least", "holds")
    table = _table(f"{audit.name}  {audit.digest[:16]}", *columns)
    for a in audit.attributes:
        found = a.found
        kept = (at_most(found.kept), found.kept.text)
        shown = "" if a.measured is None else f"{a.measured.epsilon:.4f}"
        table.add_row(a.name, a.mechanism, a.promised.text, *kept, shown, "yes" if a.holds else "NO")
    _show(table)
    for a in audit.attributes:
        print(f"{a.name}: {a.found.how}; attained: {a.found.worst}")
    if audit.averaging is not None:
        print(f"asked again: {averaged(audit.averaging)}")
    held = sum(a.holds for a in audit.attributes)
    print(f"digest  {audit.digest}")
    print(f"total   epsilon at most {at_most(audit.kept)} a client, promised {audit.promised.text}")
    print(f"{held} of {len(audit.attributes)} attributes keep what they promise\n")


def _show_aims(lines: list[tuple[str, str, str, str]]) -> None:
    aims = _table("aims", "aim", "may be", "found", "reached")
    for line in lines:
        aims.add_row(*line)
    _show(aims)


def _table(title: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", show_edge=False)
    for column in columns:
        right = column in ("estimate", "change", "95 % interval", "truth", "epsilon")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    return table


def _show(table: Table) -> None:
    from rich.console import Console

    Console(width=_width(), highlight=False).print(table)


def _show_rows(frame: pd.DataFrame) -> None:
    """A row a line or, where the columns do not fit, a value a line."""
    from rich.console import Console

    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    table = _table("", *map(str, frame.columns))
    for row in rows:
        table.add_row(*row)
    console = Console(width=_width(), highlight=False)
    if console.measure(table, options=console.options.update(width=1 << 20)).maximum <= console.width or not rows:
        _show(table)
        return
    longest = max(map(len, map(str, frame.columns)))
    for number, row in enumerate(rows, 1):
        print(f"row {number}")
        for column, value in zip(frame.columns, row, strict=True):
            print(f"  {column!s:<{longest}}  {value}")


def _width() -> int | None:
    """Rich's own choice on a terminal; wide where output goes to a file, so that tables do not wrap."""
    return None if sys.stdout.isatty() else 160


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    counted = [BarColumn(), MofNCompleteColumn()] if total else []
    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}"), *counted, TimeElapsedColumn()]
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    return "" if value is None else str(value)


def _relative(path: str) -> str:
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


if __name__ == "__main__":
    main()
