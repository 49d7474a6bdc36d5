"""A run: a folder DATA/runs/RUN_ID with its plan, and its state.  `STEPS` is the state machine.

Each step reads and writes files there atomically, so a retry continues after the last complete file.  The state follows from
the files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import IntEnum
from functools import cached_property, lru_cache, wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import pandas as pd

from dpcore import wire
from dpcore._random import Source, secure, seeded
from dpcore.errors import NotEstimable, SchemeError
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.defaults import DEFAULT_DATA
from dpcore.rounds.settings import Rules, Written


class State(IntEnum):
    """The state of a run; later states are larger."""

    PLANNED = 1  # the plan is written, no client has been asked
    PRIVATIZED = 2  # reports exist, collected or made from records or simulated clients
    AGGREGATED = 3  # the sums of all reports exist; the reports are not needed any more
    ESTIMATED = 4  # all tables to land exist


@dataclass(frozen=True, kw_only=True)
class Step:
    """A transition.  needs: the first state in which it may start; in a later state its work is done already, or repeated.

    leaves: pattern of the files that it writes in the run's folder, '' for none.  reaches: the state at its end.  lands: the
    states that it may write to `runs` in the warehouse.
    """

    needs: State
    leaves: str
    reaches: State
    lands: tuple[str, ...] = ()


# A step that raises ends in the state `failed`, which lands.
STEPS: Mapping[str, Step] = MappingProxyType(
    {
        "privatize": Step(needs=State.PLANNED, leaves="reports/*.parquet", reaches=State.PRIVATIZED),
        "aggregate": Step(needs=State.PRIVATIZED, leaves="aggregates/*.parquet", reaches=State.PRIVATIZED),
        "merge": Step(needs=State.PRIVATIZED, leaves="aggregate.parquet", reaches=State.AGGREGATED),
        "wait": Step(needs=State.PLANNED, leaves="", reaches=State.PLANNED, lands=("waiting",)),
        "estimate": Step(needs=State.AGGREGATED, leaves="tables/counts.json", reaches=State.ESTIMATED),
        "land": Step(needs=State.ESTIMATED, leaves="", reaches=State.ESTIMATED, lands=("landed",)),
        "draw": Step(needs=State.ESTIMATED, leaves="", reaches=State.ESTIMATED),
    }
)


@dataclass(frozen=True, kw_only=True)
class Plan(Rules, Written):
    """All inputs of a run's steps; stored as `plan.json` next to the canonical scheme.

    seed: of simulated clients; None for real data.  is_rehearsal: a dry run on real records with a seed, which is not stored.
    is_trial: a simulated trial with a round name of its own.
    source: 'simulated', 'records' (a file) or 'reports' (a folder of collected reports); `input` is that file or folder.
    """

    run_id: str
    scheme_file: str
    round: str
    source: str
    input: str
    clients: int
    seed: int | None
    warehouse: str
    figures: str
    keep_reports: bool
    started_at: str
    flow_run_id: str | None
    min_clients: int = 0  # a default of None is resolved here
    is_trial: bool = False
    is_rehearsal: bool = False


@dataclass(frozen=True)
class Run:
    """A run's folder, on this machine or a URL, and its plan.

    rehearsal_seed: seed of a dry run on real records; it exists in the process of the command only.
    """

    folder: Path
    plan: Plan
    rehearsal_seed: int | None = field(default=None, repr=False)

    @classmethod
    def at(cls, folder: Path) -> Run:
        """Return the run of a folder; raises SchemeError if it is not a run's folder."""
        if not (folder / "plan.json").exists():
            raise SchemeError(f"{folder}: not a run's folder; prepare creates one")
        try:
            plan = Plan(**json.loads((folder / "plan.json").read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise SchemeError(
                f"{folder}/plan.json: this version of ldpflow cannot read it; prepare the round again"
            ) from error
        if plan.source == "records" and plan.seed is not None:  # a dry run of an older version, which must not land
            plan = replace(plan, seed=None, is_rehearsal=True)
        return cls(folder, plan)

    @property
    def state(self) -> State:
        """The state that follows from its files."""
        if (self.folder / STEPS["estimate"].leaves).exists():
            return State.ESTIMATED
        if self.aggregate.exists():
            return State.AGGREGATED
        asked = self.plan.source == "reports" or self.privatized.exists() or (self.folder / "reports").exists()
        return State.PRIVATIZED if asked else State.PLANNED

    def __reduce__(self) -> tuple[type[Run], tuple[Path, Plan]]:
        return Run, (self.folder, self.plan)  # the seed of a dry run must not leave this process

    @cached_property
    def scheme(self) -> Scheme:
        return _scheme(wire.location(self.plan.scheme_file).read_text(encoding="utf-8"))

    @cached_property
    def respondents(self) -> Any:
        """The simulated respondents of a dry run."""
        from dpcore.populations.registry import respondents_of  # with scipy, which most steps do not need

        return respondents_of(
            self.scheme, wire.location(self.plan.input) if self.plan.input else None, self.plan.dialect
        )

    @property
    def random(self) -> Source:
        """The source of noise: seeded for simulations and dry runs, otherwise the operating system's."""
        seed = self.rehearsal_seed if self.plan.is_rehearsal else self.plan.seed
        return secure() if seed is None else seeded(seed)

    @property
    def data(self) -> Path:
        """The data folder, which contains all runs."""
        return self.folder.parent.parent

    @property
    def privatized(self) -> Path:
        """The list of report files made from records; it remains after they are deleted, so no record is privatized twice."""
        return self.folder / "privatized.json"

    @property
    def aggregate(self) -> Path:
        """The file with the sums of all reports."""
        return self.folder / "aggregate.parquet"

    @property
    def tables_folder(self) -> Path:
        return self.folder / "tables"

    def reports(self, part: int) -> Path:
        """The file with the reports of a part of its clients."""
        return self.folder / "reports" / f"{part:05d}.parquet"

    def part(self, reports: Path) -> Path:
        """The aggregate of one file of reports."""
        return self.folder / "aggregates" / reports.name

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables to land; raises NotEstimable if a file is damaged."""
        tables = {}
        for path in sorted(self.tables_folder.glob("*.parquet")):
            try:
                with wire.opened(path) as file:
                    tables[path.stem] = pd.read_parquet(file)
            except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
                raise NotEstimable(
                    f"{path}: truncated or damaged; write it again with ldpflow estimate {self.plan.scheme_file} --round "
                    f"{self.plan.round}"
                ) from error
        return tables

    def read_json(self, name: str, default: Any = None) -> Any:
        """Return the content of a JSON file of an earlier step, or the default if it does not exist."""
        path = self.folder / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default

    def write_json(self, name: str, content: Any, indent: int | None = None) -> None:
        """Write a JSON file for later steps."""
        wire.write_bytes(self.folder / name, json.dumps(content, indent=indent).encode(), private=True)

    def keep(self) -> None:
        """Write the plan."""
        self.write_json("plan.json", asdict(self.plan), indent=1)


@lru_cache(maxsize=8)
def _scheme(text: str) -> Scheme:
    return Scheme.from_toml(text)


P = ParamSpec("P")
T = TypeVar("T")


def step(name: str) -> Callable[[Callable[Concatenate[Run, P], T]], Callable[Concatenate[Run, P], T]]:
    """Return a decorator for the function of a step, which raises NotEstimable if the run's state is too early."""
    needs = STEPS[name].needs

    def decorate(function: Callable[Concatenate[Run, P], T]) -> Callable[Concatenate[Run, P], T]:
        @wraps(function)
        def checked(run: Run, *args: P.args, **kwargs: P.kwargs) -> T:
            if needs > State.PLANNED and (state := run.state) < needs:
                raise NotEstimable(
                    f"round {run.plan.round}: {name} needs state {needs.name.lower()}, but it is {state.name.lower()}; "
                    "run it, or collect its reports, first"
                )
            return function(run, *args, **kwargs)

        return cast(Callable[Concatenate[Run, P], T], checked)

    return decorate


def newest(scheme: Scheme, round_: str, data: Path = DEFAULT_DATA) -> Run:
    """Return the newest run of a scheme's round with an aggregate; runs on real data take precedence.

    Dry runs are left out.  Raises NotEstimable if there is no such run.
    """
    runs = []
    for path in (wire.location(data) / "runs").glob("*/aggregate.parquet"):
        run = Run.at(path.parent)
        if run.plan.round == round_ and run.scheme.digest == scheme.digest and not run.plan.is_rehearsal:
            runs.append((run.plan.source != "simulated", run.plan.started_at, run))
    if not runs:
        raise NotEstimable(f"round {round_} of scheme {scheme.name}: no aggregate; run or collect it first")
    return max(runs, key=lambda item: item[:2])[-1]
