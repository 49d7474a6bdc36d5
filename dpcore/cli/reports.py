"""Reports until a round counts them: `check`, `privatize` and `receive` read files, `serve` collects, `key` permits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dpcore.cli.options import FormatOption, RecordsArgument, SchemeArgument, listed, records_of, taken_apart
from dpcore.cli.printing import progress, show_lines
from dpcore.rounds.defaults import MIN_CLIENTS
from dpcore.rounds.settings import Written


@taken_apart
def check(
    chosen: Written,
    scheme: SchemeArgument,
    source: RecordsArgument,
    min_clients: Annotated[
        int, typer.Option(min=1, help="A refused value is shown if at least so many records have it.")
    ] = MIN_CLIENTS,
    ending: FormatOption = "",
) -> None:
    """Count what a file of records holds for each attribute; nothing is privatized or written.

    A refused value stops a round before anybody's answer is privatized; exit 1 if there is one. A number beyond its bounds is
    clipped, and a value that is not listed becomes "other", where the scheme says so.

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
        sys.stdout.flush()  # so that what is refused is read first where both go to one pipe
        print(f"{source} would be refused; correct the file or the scheme", file=sys.stderr)
        raise typer.Exit(1)


@taken_apart
def privatize(
    chosen: Written,
    scheme: SchemeArgument,
    source: RecordsArgument,
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
    ending: FormatOption = "",
) -> None:
    """Privatize a file of records with the operating system's randomness, as their own clients would.

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
        print(f"{sent.left_out:,} people were left out: their budget does not cover another report")
    if sent.spent is not None and total is not None:
        beside = f", delta = {float(sent.delta):g} of {float(most):g}" if most or sent.delta else ""
        print(f"spent so far: epsilon = {sent.spent.text} of {total.text}{beside}")


@taken_apart
def receive(
    chosen: Written,
    scheme: SchemeArgument,
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help="Answers, in a file such as records are in: a column for each attribute."),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The reports: a .parquet file.")],
    round_: Annotated[
        str, typer.Option("--round", help="The round they are for: a later round counts them as late. Default: any.")
    ] = "",
    count: Annotated[
        str, typer.Option(help="The column that says how many reports a row stands for. Default: a row is a report.")
    ] = "",
    ending: FormatOption = "",
) -> None:
    """Make a file of reports of what others' devices said under stated channels; `ldpflow collect` counts it as our own.

    Example: ldpflow receive survey.toml answers.csv reports/2026-11-20.parquet --round 2026-11-20
    """
    from dpcore.protocol.scheme import Scheme
    from dpcore.rounds.exchange.incoming_reports import receive as take

    taken = take(
        Scheme.from_toml(scheme),
        records_of(source, ending),
        target,
        sent_for=round_,
        count=count,
        dialect=chosen.dialect,
    )
    print(f"{taken:,} report{'s' * (taken != 1)} in {target}; next: ldpflow collect {scheme} {target.parent}")


def serve(
    schemes: Annotated[list[Path], typer.Argument(metavar="SCHEME...", help="The scheme files to collect under.")],
    into: Annotated[Path, typer.Option("--into", help="Where reports are kept; collectors may share it.")],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8080,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host that clients may ask for, such as survey.example.org; may be repeated."),
    ] = None,
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
    connections: Annotated[
        int, typer.Option(min=1, max=1000, help="Connections at once of an address that is no proxy's.")
    ] = 100,
    most_bytes: Annotated[int, typer.Option(min=1, max=1 << 30, help="Bytes that a batch may have.")] = 4 << 20,
    seal_after: Annotated[
        float, typer.Option(min=0, help="Seconds that reports wait for company before they are sealed into a file.")
    ] = 60,
    wording: Annotated[Path | None, typer.Option(help="JSON: how the consent page puts title and questions.")] = None,
    share: Annotated[
        str,
        typer.Option(metavar="K/N", help="Be collector K of N that share the folder, each with a store of its own."),
    ] = "",
    refuse_late: Annotated[
        bool,
        typer.Option(
            "--refuse-late", help="Refuse reports for rounds that have landed, and forget the ids of those rounds."
        ),
    ] = False,
) -> None:
    """Collect reports over HTTP: durable before the answer, each once, sealed into files that `ldpflow collect` reads.

    Example: ldpflow serve data/schemes/health_insurance.toml --into data/var/collected
    """
    from dpcore.collector.serve import Settings
    from dpcore.collector.serve import serve as collect_on

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
    collect_on(schemes, into, settings)


def key(
    name: Annotated[str, typer.Argument(help="What to call it: a-z, 0-9, _ and -.")],
    keys: Annotated[Path, typer.Option(help="The file of keys; made where there is none.")],
    may: Annotated[str, typer.Option(help="Rights, separated by commas: read, submit, watch.")] = "submit",
    rate: Annotated[float | None, typer.Option(min=0.001, help="Requests a second. Default: the collector's.")] = None,
) -> None:
    """Make a key for a collector: print it, once, and put its hash into the file of keys.

    Example: ldpflow key clinic --keys keys.toml --may read,submit
    """
    from dpcore.collector.http.access_keys import add_key

    print(add_key(keys, name, listed(may, str, "--may"), rate))
