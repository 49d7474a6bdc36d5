"""Commands on reports: `check`, `privatize` and `receive` read files, `serve` collects reports, `key` grants access."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dpcore.cli.options import FormatOption, RecordsArgument, SchemeArgument, listed, records_of, with_options
from dpcore.cli.printing import progress, show_lines
from dpcore.rounds.defaults import MIN_CLIENTS
from dpcore.rounds.settings import Written


@with_options
def check(
    chosen: Written,
    scheme: SchemeArgument,
    source: RecordsArgument,
    min_clients: Annotated[
        int, typer.Option(min=1, help="Show a refused value if at least so many records have it.")
    ] = MIN_CLIENTS,
    ending: FormatOption = "",
) -> None:
    """Count the valid and invalid values of a file of records for each attribute; nothing is privatized or written.

    A refused value would stop a round before any answer is privatized; exit with 1 if there is one. If the scheme allows it, a
    number beyond its bounds is clipped, and an unlisted value becomes "other".

    Example: ldpflow check data/schemes/health_insurance.toml data/samples/health_insurance.parquet
    """
    from dpcore.populations.inspection import inspect
    from dpcore.protocol.scheme import Scheme

    source = records_of(source, ending)
    counts = inspect(source, Scheme.from_toml(scheme), chosen.dialect)
    kinds = ("accepted", "clipped", "other", "missing", "refused")
    rows = [[count.attribute, count.column, *(f"{getattr(count, kind):,}" for kind in kinds)] for count in counts]
    show_lines(str(source), ("attribute", "column", *kinds), rows)
    refused = [count for count in counts if count.refused]
    for count in refused:
        print(f"column {count.column!r}, refused: {', '.join(count.reasons(min_clients))}")
    if refused:
        sys.stdout.flush()  # so that refusals come first if both streams go to one pipe
        print(f"{source} would be refused; correct the file or the scheme", file=sys.stderr)
        raise typer.Exit(1)


@with_options
def privatize(
    chosen: Written,
    scheme: SchemeArgument,
    source: RecordsArgument,
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The reports: a .parquet or .jsonl file, or a folder of Parquet files."),
    ],
    round_: Annotated[
        str, typer.Option("--round", help="The round of the reports; a later round counts them as late. Default: any.")
    ] = "",
    key: Annotated[
        Path | None,
        typer.Option(help="A client's key file, created if missing: the same value then always gives the same answer."),
    ] = None,
    person: Annotated[
        str,
        typer.Option(help="With --key: the column that identifies respondents. Default: all records are of one."),
    ] = "",
    tokens: Annotated[
        bool, typer.Option("--tokens", help="With --key: let the collector recognize clients, within this scheme only.")
    ] = False,
    ledger: Annotated[
        Path | None, typer.Option(help="File with the respondent's spending; with --person a folder of such files.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="With --ledger: the limit of a respondent's total epsilon, such as 8 or 'ln 3'.")
    ] = None,
    delta: Annotated[
        str, typer.Option(help="With --ledger: the limit of the total delta of Gaussian noise, such as 1e-6.")
    ] = "0",
    ending: FormatOption = "",
) -> None:
    """Privatize a file of records with the operating system's randomness, as the respondents' clients would.

    Example: ldpflow privatize data/schemes/health_insurance.toml data/samples/health_insurance.parquet reports/
    """
    from dpcore.errors import exact
    from dpcore.privacy.budget import Budget
    from dpcore.protocol.scheme import Scheme
    from dpcore.rounds.exchange.outgoing_reports import Keeping, send

    total, most = None if budget is None else Budget.parse(budget), exact(delta=delta)
    source = records_of(source, ending)
    keeping = Keeping(key=key, person=person, sends_token=tokens, ledger=ledger, total=total, delta=most)
    with progress("privatizing records", None):
        sent = send(Scheme.from_toml(scheme), source, target, sent_for=round_, keeping=keeping, dialect=chosen.dialect)
    print(f"{sent.reports:,} report{'s' * (sent.reports != 1)} in {target}; nothing else left the records")
    if sent.left_out:
        print(f"{sent.left_out:,} respondents were skipped: their budget does not cover another report")
    if sent.spent is not None and total is not None:
        delta_spent = f", delta = {float(sent.delta):g} of {float(most):g}" if most or sent.delta else ""
        print(f"spent so far: epsilon = {sent.spent.text} of {total.text}{delta_spent}")


@with_options
def receive(
    chosen: Written,
    scheme: SchemeArgument,
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help="Answers, in any format of records: a column for each attribute."),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The reports: a .parquet file.")],
    round_: Annotated[
        str, typer.Option("--round", help="The round of the reports; a later round counts them as late. Default: any.")
    ] = "",
    count: Annotated[
        str, typer.Option(help="The column with the number of reports that a row represents. Default: one.")
    ] = "",
    ending: FormatOption = "",
) -> None:
    """Convert answers under stated channels, drawn by other devices, into a file of reports for `ldpflow collect`.

    Example: ldpflow receive survey.toml answers.csv reports/2026-11-20.parquet --round 2026-11-20
    """
    from dpcore.protocol.scheme import Scheme
    from dpcore.rounds.exchange.incoming_reports import receive as convert

    count_received = convert(
        Scheme.from_toml(scheme),
        records_of(source, ending),
        target,
        sent_for=round_,
        count=count,
        dialect=chosen.dialect,
    )
    reports = f"{count_received:,} report{'s' * (count_received != 1)}"
    print(f"{reports} in {target}; next: ldpflow collect {scheme} {target.parent}")


def serve(
    schemes: Annotated[list[Path], typer.Argument(metavar="SCHEME...", help="The scheme files to serve.")],
    into: Annotated[Path, typer.Option("--into", help="The folder for reports; several collectors may share it.")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any free port.")] = 8080,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name of the collector, such as survey.example.org; may be repeated."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(help="File of access rights, written by `ldpflow key`. Default: anyone, on this machine only."),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="For TLS here: the certificate chain, PEM.")] = None,
    certificate_key: Annotated[Path | None, typer.Option(help="The certificate's key, PEM.")] = None,
    proxy: Annotated[
        str, typer.Option(help="Addresses of proxies, separated by commas, whose X-Forwarded-For is trusted.")
    ] = "",
    origin: Annotated[
        list[str] | None, typer.Option(help="Another site whose pages may send; may be repeated.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.001, help="Requests per second of a key, or of an address without a key.")
    ] = 100,
    connections: Annotated[
        int, typer.Option(min=1, max=1000, help="Simultaneous connections of an address; proxies are exempt.")
    ] = 100,
    most_bytes: Annotated[int, typer.Option(min=1, max=1 << 30, help="Maximum length of a batch in bytes.")] = 4 << 20,
    seal_after: Annotated[
        float, typer.Option(min=0, help="Seconds that reports wait for others before they are sealed into a file.")
    ] = 60,
    wording: Annotated[
        Path | None, typer.Option(help="JSON file with the title and questions of the consent page.")
    ] = None,
    share: Annotated[
        str,
        typer.Option(metavar="K/N", help="Run as collector K of N that share the folder, each with its own store."),
    ] = "",
    refuse_late: Annotated[
        bool,
        typer.Option(
            "--refuse-late", help="Refuse reports for landed rounds, and delete the report ids of those rounds."
        ),
    ] = False,
) -> None:
    """Collect reports over HTTP, store each once before answering, and seal them into files for `ldpflow collect`.

    Example: ldpflow serve data/schemes/health_insurance.toml --into data/var/collected
    """
    from dpcore.collector.serve import Settings
    from dpcore.collector.serve import serve as run_collector

    settings = Settings(
        host=host,
        port=port,
        names=tuple(name or ()),
        keys=keys,
        certificate=certificate,
        certificate_key=certificate_key,
        proxy=proxy,
        origins=tuple(origin or ()),
        rate=rate,
        connections=connections,
        most=most_bytes,
        seal_after=seal_after,
        wording=wording,
        share=share,
        refuse_late=refuse_late,
    )
    run_collector(schemes, into, settings)


def key(
    name: Annotated[str, typer.Argument(help="The key's name: a-z, 0-9, _ and -.")],
    keys: Annotated[Path, typer.Option(help="The file of keys; created if missing.")],
    may: Annotated[str, typer.Option(help="Rights, separated by commas: read, submit, watch.")] = "submit",
    rate: Annotated[
        float | None, typer.Option(min=0.001, help="Requests per second. Default: the collector's.")
    ] = None,
) -> None:
    """Make a key for a collector: print the key once, and add its hash to the file of keys.

    Example: ldpflow key clinic --keys keys.toml --may read,submit
    """
    from dpcore.collector.http.access_keys import add_key

    print(add_key(keys, name, listed(may, str, "--may"), rate))
