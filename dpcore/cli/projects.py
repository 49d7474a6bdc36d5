"""Commands of a project: `init` creates it, `up` runs it here, `deploy` deploys it to a server, `status` reports problems."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from dpcore.cli.options import FormatOption, records_of, with_options
from dpcore.rounds.settings import Written


@with_options
def init(
    chosen: Written,
    folder: Annotated[Path, typer.Argument(help="The folder to create it in.")],
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="A file of records; the scheme asks for its columns. Default: an example."),
    ] = None,
    ending: FormatOption = "",
) -> None:
    """Create a project for its own repository: a scheme, `ldpflow.toml`, and instructions.

    With --from the scheme is a draft: the names and types of the file's columns, and "?" for bounds and categories.
    Bounds and categories are never taken from the data, because they would reveal some of it.

    Example: ldpflow init survey
    """
    from dpcore.rounds.project import SCHEME, start

    draft = None
    if from_ is None and (ending or any(vars(chosen).values())):
        raise typer.BadParameter("options about a file of records need --from FILE")
    if from_ is not None:
        from dpcore.populations.inspection import proposed_scheme

        draft = proposed_scheme(records_of(from_, ending), "survey", chosen.dialect)
    for path in start(folder, draft):
        print(path)
    if draft is not None:
        print(f'next: replace each "?" in {folder / SCHEME}; `ldpflow scheme` lists what is missing')
    print(f"next: cd {shlex.quote(str(folder))}, then follow its README.md")


def up(
    key: Annotated[bool, typer.Option("--key", help="Only print the key for the UI.")] = False,
) -> None:
    """Start a Prefect server, a worker, the collector if the project has one, and the schedules, until Ctrl-C.

    Example: ldpflow up
    """
    _become("services.key" if key else "services.up")


def deploy() -> None:
    """Deploy the project's flows to the server in PREFECT_API_URL; settings changed on the server remain.

    Example: PREFECT_API_URL=http://prefect.example.org:4200/api ldpflow deploy
    """
    _become("services.deployments")


def status() -> None:
    """Print the state of services, rounds, checks, alerts and disk in ten lines; exit with 1 if there is a problem.

    Example: ldpflow status
    """
    _become("monitoring.status")


def watch() -> None:
    """Send problems to a webhook, until Ctrl-C; `ldpflow up` includes this, so use it only with your own Prefect server.

    Example: LDPFLOW_NOTIFY_URL=https://chat.example.org/hooks/KEY ldpflow watch
    """
    _become("monitoring.watch")


def backup(file: Annotated[Path, typer.Argument(help="The file to write, outside of the project's folder.")]) -> None:
    """Write the contents of this folder to one file, while rounds run: warehouse, reports, ledgers, Prefect's database.

    Anyone who can read the file has the folder's secrets.  It omits logs, dry runs, links, and files outside of the folder.

    Example: ldpflow backup /backups/survey-2026-11-20.tar
    """
    from dpcore.cli.printing import progress
    from dpcore.rounds.maintenance.backup import back_up

    with progress("copying", None):
        archive = back_up(file, Path.cwd())
    print(f"wrote {file}: {archive.files:,} files, {archive.size / 1e6:,.1f} MB")
    for place in archive.elsewhere:
        print(f"not included: {place}; back it up separately")


def restore(
    file: Annotated[Path, typer.Argument(help="The file that `ldpflow backup` wrote.")],
    folder: Annotated[Path, typer.Argument(help="The folder to restore to: missing or empty.")],
) -> None:
    """Restore a project's folder from a backup.

    Example: ldpflow restore /backups/survey-2026-11-20.tar survey
    """
    from dpcore.cli.printing import progress
    from dpcore.rounds.maintenance.backup import restore as make

    with progress("restoring", None):
        project = make(file, folder)
    since = f"{project.made_at:%Y-%m-%d %H:%M:%S} UTC"
    print(
        f"restored {project.files:,} files as of {since}; reports, rounds and ledger charges since then are not included"
    )


def _become(module: str) -> None:
    """Replace this process by a module of the flows, because dpcore does not import Prefect."""
    sys.stdout.flush()
    if find_spec("prefect") is None:
        raise ModuleNotFoundError("No module named 'prefect'", name="prefect")
    os.execv(sys.executable, [sys.executable, "-m", f"ldpflow_flows.{module}"])
