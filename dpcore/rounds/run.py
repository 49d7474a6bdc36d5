"""A run: a folder, DATA/runs/RUN_ID, the plan in it, and how far it is.  `STEPS` is the whole machine.

Each step reads files there and leaves files there, whole or not at all, so that a retry begins where whole files stand.
How far a run is, its folder says; asking writes nothing.
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
    """How far a run is; a later state stands above an earlier one."""

    PLANNED = 1  # its plan stands, and nobody has been asked
    PRIVATIZED = 2  # reports stand, the clients' own or those that were made of records and simulated people
    AGGREGATED = 3  # the exact sums of all reports stand, which need them no more
    ESTIMATED = 4  # every table stands as it is to land


@dataclass(frozen=True, kw_only=True)
class Step:
    """A transition.  needs: the first state in which it may begin; in a later one it finds its work done, or does it anew.

    leaves: what stands afterwards, as a pattern of files in the run's folder, '' where that is outside.  reaches: the state it
    ends in.  lands: the states of `runs`, in the warehouse, that it may write; whatever landed, the folder says where to go on.
    """

    needs: State
    leaves: str
    reaches: State
    lands: tuple[str, ...] = ()


# step -> when it may begin, what it leaves, how it may end.  Any step that raises may end in `failed`, which lands.
STEPS: Mapping[str, Step] = MappingProxyType(
    {
        "privatize": Step(needs=State.PLANNED, leaves="reports/*.parquet", reaches=State.PRIVATIZED),
        "aggregate": Step(needs=State.PRIVATIZED, leaves="aggregates/*.parquet", reaches=State.PRIVATIZED),
        "merge": Step(needs=State.PRIVATIZED, leaves="aggregate.parquet", reaches=State.AGGREGATED),
        "wait": Step(needs=State.PLANNED, leaves="", reaches=State.PLANNED, lands=("waiting",)),
        "estimate": Step(needs=State.AGGREGATED, leaves="tables/counts.json", reaches=State.ESTIMATED),
        "draw": Step(needs=State.ESTIMATED, leaves="", reaches=State.ESTIMATED),
        "land": Step(needs=State.ESTIMATED, leaves="", reaches=State.ESTIMATED, lands=("landed",)),
    }
)


@dataclass(frozen=True, kw_only=True)
class Plan(Rules, Written):
    """Everything a run's steps need to know, with the rules they obey; kept as `plan.json` beside the canonical scheme.

    seed: of simulated people; None with real ones.  is_rehearsal: real records under a known seed, which is written nowhere.
    is_trial: simulated people who try something out, under a round's name of their own.
    source: 'simulated' people, a file of real 'records', or a folder of 'reports' that clients sent; `input` is that file or
    folder.
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
    min_clients: int = 0  # what is said by None has been decided
    is_trial: bool = False
    is_rehearsal: bool = False


@dataclass(frozen=True)
class Run:
    """A run's folder, of this machine or a URL, and its plan.

    rehearsal_seed: what noise a rehearsal draws; in this process alone, whose command was given it.
    """

    folder: Path
    plan: Plan
    rehearsal_seed: int | None = field(default=None, repr=False)

    @classmethod
    def at(cls, folder: Path) -> Run:
        """Return the run of a folder; raises SchemeError where it is none's."""
        if not (folder / "plan.json").exists():
            raise SchemeError(f"{folder} is not a run's folder; prepare makes one")
        try:
            plan = Plan(**json.loads((folder / "plan.json").read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise SchemeError(
                f"{folder}/plan.json is no plan that this ldpflow reads; prepare the round anew"
            ) from error
        if plan.source == "records" and plan.seed is not None:  # an older ldpflow's rehearsal, which is to land no more
            plan = replace(plan, seed=None, is_rehearsal=True)
        return cls(folder, plan)

    @property
    def state(self) -> State:
        """How far it is."""
        if (self.folder / STEPS["estimate"].leaves).exists():
            return State.ESTIMATED
        if self.aggregate.exists():
            return State.AGGREGATED
        asked = self.plan.source == "reports" or self.privatized.exists() or (self.folder / "reports").exists()
        return State.PRIVATIZED if asked else State.PLANNED

    def __reduce__(self) -> tuple[type[Run], tuple[Path, Plan]]:
        return Run, (self.folder, self.plan)  # a rehearsal's seed leaves this process in no way

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
        """What its people draw with: seeded where they are simulated or rehearse, else the operating system's."""
        seed = self.rehearsal_seed if self.plan.is_rehearsal else self.plan.seed
        return secure() if seed is None else seeded(seed)

    @property
    def data(self) -> Path:
        """The folder that all runs and what they have counted stand in."""
        return self.folder.parent.parent

    @property
    def privatized(self) -> Path:
        """Names the files of reports that records were made; it outlives them, so that a retry privatizes nobody again."""
        return self.folder / "privatized.json"

    @property
    def aggregate(self) -> Path:
        """The exact sums of all its reports."""
        return self.folder / "aggregate.parquet"

    @property
    def tables_folder(self) -> Path:
        return self.folder / "tables"

    def reports(self, part: int) -> Path:
        """The file of reports that a part of its people made."""
        return self.folder / "reports" / f"{part:05d}.parquet"

    def part(self, reports: Path) -> Path:
        """The aggregate of one file of reports."""
        return self.folder / "aggregates" / reports.name

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables that are to land; raises NotEstimable where a file of them is damaged."""
        found = {}
        for path in sorted(self.tables_folder.glob("*.parquet")):
            try:
                with wire.opened(path) as file:
                    found[path.stem] = pd.read_parquet(file)
            except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
                raise NotEstimable(
                    f"{path} is cut short or damaged; make it anew: ldpflow estimate {self.plan.scheme_file} --round "
                    f"{self.plan.round}"
                ) from error
        return found

    def said(self, name: str, default: Any = None) -> Any:
        """Return what a step wrote down as JSON, the default where it did not."""
        path = self.folder / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default

    def say(self, name: str, content: Any, indent: int | None = None) -> None:
        """Write something down for the steps to come."""
        wire.write_bytes(self.folder / name, json.dumps(content, indent=indent).encode(), private=True)

    def keep(self) -> None:
        """Write the plan down."""
        self.say("plan.json", asdict(self.plan), indent=1)


@lru_cache(maxsize=8)
def _scheme(text: str) -> Scheme:
    return Scheme.from_toml(text)


P = ParamSpec("P")
T = TypeVar("T")


def step(name: str) -> Callable[[Callable[Concatenate[Run, P], T]], Callable[Concatenate[Run, P], T]]:
    """Return the decorator of a function that carries a step out: it is refused where the run is not far enough."""
    needs = STEPS[name].needs

    def decorate(function: Callable[Concatenate[Run, P], T]) -> Callable[Concatenate[Run, P], T]:
        @wraps(function)
        def checked(run: Run, *args: P.args, **kwargs: P.kwargs) -> T:
            if needs > State.PLANNED and (state := run.state) < needs:
                raise NotEstimable(
                    f"round {run.plan.round} is only {state.name.lower()}: to {name} needs one that is {needs.name.lower()}; "
                    "run it, or collect its reports, first"
                )
            return function(run, *args, **kwargs)

        return cast(Callable[Concatenate[Run, P], T], checked)

    return decorate


def newest(scheme: Scheme, round_: str, data: Path = DEFAULT_DATA) -> Run:
    """Return the newest run of a scheme's round that has an aggregate, of real people where there are any.

    A rehearsal is none.  Raises NotEstimable without one.
    """
    found = []
    for path in (wire.location(data) / "runs").glob("*/aggregate.parquet"):
        run = Run.at(path.parent)
        if run.plan.round == round_ and run.scheme.digest == scheme.digest and not run.plan.is_rehearsal:
            found.append((run.plan.source != "simulated", run.plan.started_at, run))
    if not found:
        raise NotEstimable(f"round {round_} of scheme {scheme.name} has no aggregate; run or collect it first")
    return max(found, key=lambda each: each[:2])[-1]
