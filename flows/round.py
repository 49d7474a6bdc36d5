"""The whole round as one flow of tasks: `python -m ldpflow_flows.round`, or the deployment `round/daily`.

Without PREFECT_API_URL a server is started for the length of the run; with it, the run shows in that server's UI.
Exit status: 0 done; 1 input or data refused, with one line on standard error; 2 wrong usage of the command.
"""

from __future__ import annotations

import argparse
import logging
import sys
from functools import partial
from pathlib import Path
from typing import Any

from prefect import tags
from prefect.logging.handlers import PrefectConsoleHandler
from prefect.settings import PREFECT_API_URL
from pydantic import ValidationError

from dpcore.cli.round_summary import render
from dpcore.errors import DPCoreError, TooFewClients
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.run import Run
from dpcore.rounds.settings import Round, Which, integer, options
from dpcore.rounds.steps import sequence
from dpcore.rounds.steps.minimum_clients import reason

from .collect import waiting
from .names import TAG
from .publish import ended, show
from .services import environment, key
from .settings import RoundSettings
from .tasks import permitted_folders
from .tasks.parameters import refusal
from .tasks.stage import run_name, whole
from .tasks.steps import Tasks, prepare, turn


@whole("round", hours=12, run_name=run_name)
def run_round(settings: RoundSettings = RoundSettings()) -> Path:  # noqa: B008 - frozen
    """Prepare, privatize in shards, aggregate them, merge, estimate, land, show, draw; return the run's folder."""
    with turn(settings):
        run = None
        try:
            run, tasks = prepare(settings), Tasks()
            pieces = sequence.carry_out(run, tasks, show=partial(tasks.call, show))
        except TooFewClients as error:
            return waiting(run, error)
    return ended(run, pieces)


def main(arguments: list[str] | None = None) -> int:
    """Run a round, print the table that `ldpflow run` prints, and return the exit status."""
    options = {name: value for name, value in vars(_parser().parse_args(arguments)).items() if value is not None}
    _quieten()
    try:
        settings = RoundSettings(**options)
        permitted_folders.name(*(value for _, value in settings if isinstance(value, Path)))
        if not PREFECT_API_URL.value():
            environment.settle(PREFECT_SERVER_EPHEMERAL_ENABLED="true")
            key.ensure()  # the temporary server asks for a key, too
        Scheme.from_toml(settings.scheme)  # report mistakes now, not after the engine has started
        print("starting Prefect (about 15 s without a server) ...", file=sys.stderr)
        with tags(TAG):
            folder = run_round(**dict(settings))
        if folder is None:
            raise TooFewClients("the round is held back: no reports since the previous round; nothing has landed")
        run = Run.at(folder)
        if few := reason(run):
            raise TooFewClients(few)
        print(render(Path(run.plan.warehouse), run.plan.run_id))
    except ValidationError as error:
        print(f"ldpflow: {refusal(error)}", file=sys.stderr)
        return 1
    except DPCoreError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    except RuntimeError as error:
        if "Failed to reach API" not in str(error):
            raise
        print(f"ldpflow: {error}; start that server (`make up`) or unset PREFECT_API_URL", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "ldpflow: interrupted; a landed round stays, and a run with the same seed continues from the finished shards",
            file=sys.stderr,
        )
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    """The options of `ldpflow run`, as they are declared."""
    parser = argparse.ArgumentParser(
        prog="python -m ldpflow_flows.round",
        description="Run a whole round through Prefect: the same tables as `ldpflow run`.",
        epilog="Example: python -m ldpflow_flows.round --clients 100000 --seed 7",
    )
    for option in (*options(Which), *options(Round)):
        settings: dict[str, Any] = {"help": option.words, "default": None}
        read = integer if option.plain is int else option.plain
        settings |= {"action": argparse.BooleanOptionalAction} if option.plain is bool else {"type": read}
        if option.name == "scheme":
            parser.add_argument(option.name, nargs="?", **settings)
        else:
            parser.add_argument(f"--{option.name.replace('_', '-')}", **settings)
    return parser


def _quieten() -> None:
    """Show only progress on the console; Prefect's UI has the whole log, and an error is one line."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.addFilter(lambda record: getattr(record, "is_progress", False))
            handler.setFormatter(logging.Formatter("%(message)s"))


if __name__ == "__main__":
    sys.exit(main())
