"""`ldpflow`: a command parses options, calls and prints; exit status 0 success, 1 an error in one line, 2 a wrong command line.

Here: commands, their options, and printing.  Not here: arithmetic, and Prefect (`flows`).  A command imports modules when it is
called, so help is fast.  May import all of dpcore; only `benchmark` and `reproduce`, which wheels do not have, import the
laboratory.

Modules:
    __main__: entry point of `python -m dpcore.cli`
    conformance: commands for clients in other languages: vectors, conformance
    dry_run: `ldpflow dry-run`: repeated simulated rounds of a scheme
    options: options that several commands share
    printing: tables, odds and progress bars
    projects: commands of a project: init, up, deploy, status, watch, backup, restore
    queries: commands on landed rounds: query, show, export, publish
    reports: commands on reports: privatize, receive, serve, key
    round_summary: summary printed after a round
    rounds: commands of rounds: run, collect, estimate, backfill, cleanup, forget
    scheme_summary: what `ldpflow scheme` prints of a scheme
    schemes: commands on schemes: scheme, plan, audit
    studies/: commands of studies, in a checkout only: reproduce, benchmark
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from dpcore.cli.conformance import conformance, vectors
from dpcore.cli.dry_run import dry_run
from dpcore.cli.projects import backup, deploy, init, restore, status, up, watch
from dpcore.cli.queries import export, publish, query, show
from dpcore.cli.reports import check, key, privatize, receive, serve
from dpcore.cli.rounds import backfill, cleanup, collect, estimate, forget, run
from dpcore.cli.schemes import audit, plan, scheme
from dpcore.errors import DPCoreError
from dpcore.rounds.defaults import PROJECT, keep_to_one_thread

app = typer.Typer(
    name="ldpflow",
    help="Collect statistics without seeing anybody's answers: local differential privacy, from reports to DuckDB tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from dpcore import __version__

        typer.echo(f"ldpflow {__version__}")
        raise typer.Exit


@app.callback()
def _of_all_commands(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version of ldpflow and exit."
        ),
    ] = False,
) -> None:
    """Handle the options of `ldpflow` itself."""


_COMMANDS: tuple[Callable[..., None], ...] = (  # in the order of help
    init,
    run,
    up,
    status,
    watch,
    deploy,
    backup,
    restore,
    scheme,
    plan,
    dry_run,
    check,
    privatize,
    receive,
    collect,
    serve,
    key,
    estimate,
    backfill,
    cleanup,
    forget,
    show,
    query,
    export,
    publish,
    audit,
    vectors,
)
for _command in _COMMANDS:
    app.command()(_command)
app.command(context_settings={"allow_interspersed_args": False})(conformance)  # options after COMMAND are the program's

if find_spec("dpcore.laboratory"):  # in a checkout only
    from dpcore.cli.studies import Studies, reproduce

    benchmarks_app = typer.Typer(
        cls=Studies, help="Measure ldpflow and compare it with its peers.", no_args_is_help=True, rich_markup_mode=None
    )
    app.command()(reproduce)
    app.add_typer(benchmarks_app, name="benchmark")

_INTERRUPTED = 130  # typer's exit status after Ctrl-C
_INTERRUPTED_MESSAGE = "ldpflow: interrupted; landed rounds remain, and no round is partly landed"


def _defaults(arguments: list[str]) -> dict[str, dict[str, Any]]:
    """Return the default options of the project in this folder, by command."""
    if not os.path.exists(PROJECT) or arguments[:1] == ["init"] or "--help" in arguments:
        return {}
    from dpcore.rounds.project import Project

    project = Project.read()
    return {} if project is None else project.defaults(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit; every error that a user can cause prints one line on standard error."""
    keep_to_one_thread()
    try:
        app(arguments, default_map=_defaults(sys.argv[1:] if arguments is None else arguments))
    except DPCoreError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        advice = "; free disk space and run it again: finished steps are kept" if error.errno == errno.ENOSPC else ""
        print(f"ldpflow: {error.filename or 'a file'}: {error.strerror or error}{advice}", file=sys.stderr)
        sys.exit(1)
    except SystemExit as stop:
        if stop.code == _INTERRUPTED:
            print(_INTERRUPTED_MESSAGE, file=sys.stderr)
        raise
    except RuntimeError as error:  # DuckDB raises it for Ctrl-C in a query
        if "interrupted" not in str(error):
            raise
        print(_INTERRUPTED_MESSAGE, file=sys.stderr)
        sys.exit(_INTERRUPTED)
    finally:
        _flush()


def _flush() -> None:
    """Write what is left to standard output; a reader that has closed the pipe, such as `head`, is no error."""
    out = sys.__stdout__  # typer may have put another in place of sys.stdout
    if out is None:
        return
    try:
        out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # Python flushes again when it ends
