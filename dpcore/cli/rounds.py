"""Commands of rounds: `run`, `collect`, `estimate` and `backfill` run them, `cleanup` and `forget` delete their files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcore.cli.options import DataOption, RoundOption, SchemeArgument, WarehouseOption, file_of, with_options
from dpcore.cli.printing import progress, relative
from dpcore.cli.round_summary import print_pictures, render
from dpcore.errors import DPCoreError, TooFewClients
from dpcore.rounds import settings
from dpcore.rounds.defaults import DEFAULT_DATA, DEFAULT_SCHEME, today

if TYPE_CHECKING:
    from dpcore.rounds.maintenance.cleanup import Removal
    from dpcore.rounds.run import Run


@with_options
def run(
    scheme: SchemeArgument = DEFAULT_SCHEME,
    *,
    round_: RoundOption = None,
    chosen: settings.Round,
) -> None:
    """Run a whole round: respondents, privatize, aggregate, estimate, land; print the estimates.

    Simulated respondents with --clients or --seed are a trial: a separate round, never the round of the day.
    Real records with a seed are a dry run, which lands only in a separate file in the run's folder.

    Example: ldpflow run --clients 100000 --seed 7
    """
    print_pictures(_carry_out("run", scheme, round_, chosen, show=_print_round))


@with_options
def collect(
    scheme: SchemeArgument,
    folder: Annotated[Path, typer.Argument(help="Folder of report files (.parquet).")],
    *,
    round_: RoundOption = None,
    chosen: settings.Collect,
) -> None:
    """Aggregate the reports of clients; `ldpflow estimate` then computes the estimates.

    Files that another round has counted are skipped. Reports for an earlier round are counted as late. A landed round counts
    its files again and, with --again, also those that arrived since.

    Example: ldpflow collect data/schemes/health_insurance.toml reports/ --round 2026-11-20
    """
    from dpcore.rounds.steps import sequence
    from dpcore.rounds.steps.preparation import prepare, turn

    options = {"reports": folder, "round_": round_, "day": today(), **vars(chosen)}
    with turn(scheme, "ldpflow collect", **options):
        result = prepare(scheme, **options)
        sequence.collect(result, sequence.Here(progress))
    print(f"collected round {result.plan.round}; next: ldpflow estimate {scheme} --round {result.plan.round}")


def estimate(
    scheme: SchemeArgument,
    round_: Annotated[str, typer.Option("--round", help="The round's name.")],
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Estimate a collected round from its aggregate, land it, and print the estimates.

    Example: ldpflow estimate data/schemes/health_insurance.toml --round 2026-11-20
    """
    from dpcore.protocol.scheme import Scheme
    from dpcore.rounds.run import newest
    from dpcore.rounds.steps import sequence
    from dpcore.rounds.steps.preparation import turn_of

    collected = newest(Scheme.from_toml(scheme), round_, data)
    with turn_of(collected, "ldpflow estimate"), _landing_failures(collected):
        sequence.estimate(collected, sequence.Here(progress), show=_print_round)
    print_pictures(collected)


@with_options
def backfill(
    first: Annotated[datetime, typer.Argument(formats=["%Y-%m-%d"], help="The first day, such as 2026-11-01.")],
    last: Annotated[datetime, typer.Argument(formats=["%Y-%m-%d"], help="The last day.")],
    scheme: SchemeArgument = DEFAULT_SCHEME,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the rounds that would be run.")] = False,
    chosen: settings.Backfill,
) -> None:
    """Run the rounds of past days that have not landed, oldest first; a failed or held-back round does not stop the others.

    Example: ldpflow backfill 2026-11-01 2026-11-20 --clients 100000
    """
    from dpcore.protocol.scheme import Scheme
    from dpcore.rounds.maintenance.backfill import rounds_of

    source = "simulated" if chosen.reports is None else "reports"
    file = file_of(chosen.warehouse, chosen.data)
    rounds = rounds_of(Scheme.from_toml(scheme), file, first.date(), last.date(), source=source, again=chosen.again)
    failed = []
    for round_ in [] if dry_run else rounds:
        try:
            _carry_out("backfill", scheme, round_, chosen, show=_print_landed)
        except DPCoreError as error:
            failed.append(round_)
            print(f"ldpflow: round {round_}: {error}", file=sys.stderr)
    if dry_run:
        days = (last - first).days + 1
        print("\n".join([*rounds, f"{len(rounds)} of {days} rounds would be run"]))
        return
    print(f"{len(rounds) - len(failed)} of {len(rounds)} rounds have landed")
    if failed:
        raise typer.Exit(1)


@with_options
def cleanup(chosen: settings.Cleanup) -> None:
    """Delete reports, aggregates and pictures of rounds that landed long ago; other rounds are not changed.

    The tables of the warehouse remain. The flow `cleanup` does the same, and also deletes Prefect's history.

    Example: ldpflow cleanup --keep-days 14 --dry-run
    """
    from dpcore.rounds.maintenance.cleanup import clean

    _print_removals(clean(**vars(chosen)), chosen.dry_run)


def forget(
    round_: Annotated[str, typer.Argument(metavar="ROUND", help="The round, which has landed.")],
    scheme: Annotated[str | None, typer.Option(help="The scheme's name, where several schemes have the round.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be deleted.")] = False,
    warehouse: WarehouseOption = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Delete the estimates, files and pictures of a landed round; its privacy spending remains, and it cannot run again.

    Example: ldpflow forget 2026-11-20
    """
    from dpcore.rounds.maintenance.cleanup import forget as delete

    _print_removals(delete(data, round_, scheme=scheme, file=warehouse, dry_run=dry_run), dry_run)


def _print_removals(removals: list[Removal], dry_run: bool) -> None:
    from dpcore.rounds.maintenance.cleanup import in_words

    for removal in removals:
        print(f"{removal.kind:9} {removal.round:12} {removal.size:>14,} bytes  {relative(str(removal.path))}")
    print(in_words(removals, dry_run))


def _print_round(run: Run) -> None:
    """Print a landed round before its pictures are drawn."""
    print(render(Path(run.plan.warehouse), run.plan.run_id), flush=True)


def _print_landed(run: Run) -> None:
    print(f"round {run.plan.round} has landed", flush=True)


def _carry_out(
    command: str, scheme: Path, round_: str | None, chosen: settings.Declared, *, show: Callable[[Run], None]
) -> Run:
    """Run a whole round; `show` is called after the landing."""
    from dpcore.rounds.steps.preparation import prepare, turn
    from dpcore.rounds.steps.sequence import Here, carry_out

    options = {
        "round_": round_,
        "day": today(),
        **vars(chosen),
    }  # the day is fixed now, although the round may wait past midnight
    with turn(scheme, f"ldpflow {command}", **options):
        run = prepare(scheme, **options)
        with _landing_failures(run):
            carry_out(run, Here(progress), show=show)
    return run


@contextmanager
def _landing_failures(run: Run) -> Iterator[None]:
    """Record a failed run in the warehouse, and raise its error again."""
    from dpcore.rounds.steps.landing import land_failure

    try:
        yield
    except TooFewClients:
        raise  # the round is held back, which has been recorded
    except Exception:
        try:
            land_failure(run)
        except DPCoreError as second:
            print(f"ldpflow: the failure could not be recorded: {second}", file=sys.stderr)
        raise
