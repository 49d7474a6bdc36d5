"""A team's own project: `init` begins it, `up` runs it here, `deploy` gives it to a server, `status` says if all is well."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from dpcore.cli.options import FormatOption, records_of, taken_apart
from dpcore.rounds.settings import Written


@taken_apart
def init(
    chosen: Written,
    folder: Annotated[Path, typer.Argument(help="The folder to make it in.")],
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="A file of records whose columns the scheme asks. Default: an example."),
    ] = None,
    ending: FormatOption = "",
) -> None:
    """Make a project to keep in a repository of one's own: a scheme, `ldpflow.toml`, and a page of what to do.

    With --from the scheme is a draft: the names and types of the file's columns, and "?" where bounds and categories belong.
    They are never taken from the data, of which they would reveal something.

    Example: ldpflow init survey
    """
    from dpcore.rounds.project import SCHEME, start

    draft = None
    if from_ is None and (ending or any(vars(chosen).values())):
        raise typer.BadParameter("options of a file of records need that file: --from FILE")
    if from_ is not None:
        from dpcore.populations.proposal import proposed_scheme

        draft = proposed_scheme(records_of(from_, ending), "survey", chosen.dialect)
    for path in start(folder, draft):
        print(path)
    if draft is not None:
        print(f'next: replace each "?" in {folder / SCHEME}; `ldpflow scheme` names what is missing')
    print(f"next: cd {shlex.quote(str(folder))}, and as its README.md says")


def up(
    key: Annotated[bool, typer.Option("--key", help="Only print the key that the UI asks for.")] = False,
) -> None:
    """Start a Prefect server, a worker, the collector if the project has one, and what is scheduled, until Ctrl-C.

    Example: ldpflow up
    """
    _become("services.key" if key else "services.up")


def deploy() -> None:
    """Give what the project runs to the server that PREFECT_API_URL names; what was set there stays.

    Example: PREFECT_API_URL=http://prefect.example.org:4200/api ldpflow deploy
    """
    _become("services.deployments")


def status() -> None:
    """Say in ten lines whether all is well: services, rounds, checks, alerts, disk; exit status 1 where something is not.

    Example: ldpflow status
    """
    _become("monitoring.status")


def watch() -> None:
    """Tell a webhook what is not well, until Ctrl-C; `ldpflow up` does so by itself, beside a server of your own this does.

    Example: LDPFLOW_NOTIFY_URL=https://chat.example.org/hooks/KEY ldpflow watch
    """
    _become("monitoring.watch")


def backup(file: Annotated[Path, typer.Argument(help="The file to write, outside of the project's folder.")]) -> None:
    """Write all that this folder holds to one file, while rounds run: warehouse, reports, ledgers, Prefect's database.

    Whoever can read the file has the folder's secrets.  Logs, rehearsals, links, and what lies elsewhere are not in it.

    Example: ldpflow backup /backups/survey-2026-11-20.tar
    """
    from dpcore.cli.printing import progress
    from dpcore.rounds.maintenance.backup import back_up

    with progress("copying", None):
        archive = back_up(file, Path.cwd())
    print(f"wrote {file}: {archive.files:,} files, {archive.size / 1e6:,.1f} MB")
    for place in archive.elsewhere:
        print(f"not in it: {place}; keep a copy of it by other means")


def restore(
    file: Annotated[Path, typer.Argument(help="What `ldpflow backup` wrote.")],
    folder: Annotated[Path, typer.Argument(help="The folder to make of it: none is there, or an empty one.")],
) -> None:
    """Make a project's folder of a backup again.

    Example: ldpflow restore /backups/survey-2026-11-20.tar survey
    """
    from dpcore.cli.printing import progress
    from dpcore.rounds.maintenance.backup import restore as make

    with progress("restoring", None):
        project = make(file, folder)
    since = f"{project.made_at:%Y-%m-%d %H:%M:%S} UTC"
    print(
        f"restored {project.files:,} files as of {since}; what was sent, counted or charged to a ledger since is not in them"
    )


def _become(module: str) -> None:
    """Go on as another program, which imports Prefect: this one never does."""
    sys.stdout.flush()
    if find_spec("prefect") is None:
        raise ModuleNotFoundError("No module named 'prefect'", name="prefect")
    os.execv(sys.executable, [sys.executable, "-m", f"ldpflow_flows.{module}"])
