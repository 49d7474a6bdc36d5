"""What may happen to a round, in every order, by whatever carries rounds out; compared with the model after each step.

    real       a file of records
    simulated  the scheme's people
    again      a file of records, `again`
    retry      what was done last, once more
    late       another file of reports that clients sent, `again`
    failed     a file of records, `again`, that fails after it was privatized

LDPFLOW_ORDERS is the length of the orders that are tried: 2 unless `make hostile` says 6, of which there are 720.
"""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
import pytest

from dpcore import wire
from dpcore._random import seeded
from dpcore.errors import AlreadyLanded, DPCoreError
from dpcore.pipeline import privatize
from dpcore.protocol.report import with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.rounds.steps import aggregation
from tests.helpers import warehouses
from tests.helpers.schemes import QUESTION as SCHEME
from tests.helpers.standing import Model, Run

ROUND = "2026-11-20"
EPSILON = 2.0
EVENTS = ("real", "simulated", "again", "retry", "late", "failed")
BY_DAY = {  # what each is followed by where not all orders are tried: each comes first twice, and second twice
    "real": ("simulated", "again"), "simulated": ("real", "late"), "again": ("retry", "failed"),
    "retry": ("simulated", "late"), "late": ("again", "failed"), "failed": ("retry", "real"),
}  # fmt: skip
LENGTH = int(os.environ.get("LDPFLOW_ORDERS", "2"))


class Skipped(AlreadyLanded):
    """A backfill has left a round alone that has landed."""


class Go(Protocol):
    """Carry the round out; raises DPCoreError.  identity: the same for a retry of the same."""

    def __call__(
        self, data: Path, *, again: bool, records: Path | None, reports: Path | None, identity: str
    ) -> None: ...


class World:
    """A folder in which a round is carried out, and what the model knows of it."""

    def __init__(self, data: Path, go: Go, *, keeps_identity: bool) -> None:
        """keeps_identity: whether a retry of records is the same run, as Prefect's is, or another one."""
        warehouses.put(data / "warehouse.duckdb")
        (data / "scheme.toml").write_text(SCHEME, encoding="utf-8")
        self.data, self._go, self._keeps = data, go, keeps_identity
        self.scheme = Scheme.from_toml(data / "scheme.toml")
        self.model = Model({self.scheme.digest: EPSILON})
        self.runs: dict[str, Run] = {}
        self.accepted: dict[str, int] = {}
        self.n = 0
        self.last: Callable[[], None] = lambda: None

    @contextmanager
    def kept(self, folder: Path) -> Iterator[None]:
        """Let things happen, and bring the world back to what it is now, at the same place; folder: where that is kept."""
        shutil.copytree(self.data, folder)
        known, n, last = copy.deepcopy((self.model, self.runs, self.accepted)), self.n, self.last
        yield
        shutil.rmtree(self.data)
        folder.rename(self.data)
        (self.model, self.runs, self.accepted), self.n, self.last = known, n, last

    def happen(self, event: str) -> None:
        """Let one thing happen, and compare what is seen with the model."""
        if event != "retry":
            self.n += 1
            number = self.n
            self.last = {
                "real": lambda: self._records(number, again=False),
                "again": lambda: self._records(number, again=True),
                "failed": lambda: self._records(number, again=True, fails=True),
                "simulated": lambda: self._carry_out("simulated", "simulated", 900, again=False),
                "late": lambda: self._late(number),
            }[event]
        self.last()
        self._compare()

    def _records(self, number: int, *, again: bool, fails: bool = False) -> None:
        file, people = self.data / f"records-{number}.parquet", 100 + number
        pd.DataFrame({"urban_rural": np.where(np.arange(people) % 3 == 0, "rural", "urban")}).to_parquet(file)
        if not self._keeps:
            self.n += 1
        identity = f"records {number}" if self._keeps else f"records {number} {self.n}"
        self._carry_out(identity, "records", people, again=again, records=file, fails=fails)

    def _late(self, number: int) -> None:
        people = {"urban_rural": ["urban", "rural"] * (200 + number)}
        batch = with_ids(privatize(self.scheme, people, seeded(number)), seeded((number, 1)))
        inbox = self.data / "inbox"
        if not (inbox / f"{number}.parquet").exists():
            wire.write_reports(inbox / f"{number}.parquet", self.scheme, batch, ROUND)
        files = sorted(file.stem for file in inbox.glob("*.parquet"))
        self._carry_out(
            f"reports {files}", "reports", sum(2 * (200 + int(file)) for file in files), again=True, reports=inbox
        )

    def _carry_out(
        self,
        identity: str,
        source: str,
        people: int,
        *,
        again: bool,
        records: Path | None = None,
        reports: Path | None = None,
        fails: bool = False,
    ) -> None:
        flow = identity if self._keeps else None
        run = self.runs.setdefault(
            identity, Run(round=ROUND, source=source, digest=self.scheme.digest, again=again, flow=flow)
        )
        self.accepted[identity] = people
        may, digest = self.model.may_land(run), self.scheme.digest
        if may and source != "simulated":
            self.model.draw(digest, identity, source, ROUND)
        with pytest.MonkeyPatch.context() as patch:
            if fails:
                patch.setattr(aggregation, "merge", wraps(aggregation.merge)(_fail))  # flows ask for its name
            options = {"again": again, "records": records, "reports": reports, "identity": identity}
            try:
                self._go(self.data, **options)
            except Skipped:
                assert self.model.standing(ROUND) is not None
                assert not again or not may
            except AlreadyLanded:
                assert not may
            except DPCoreError:
                assert fails
                assert may
            else:
                assert may
                assert not fails
                self.model.land(run)

    def _compare(self) -> None:
        file = self.data / "warehouse.duckdb"
        if not self.runs:
            return  # a retry of nothing
        stands = self.model.standing(ROUND)
        latest = warehouse.query(file, "select source, accepted from latest_runs").values.tolist()
        name = next((name for name, run in self.runs.items() if run is stands), None)
        assert latest == ([] if stands is None else [[stands.source, self.accepted[name]]])
        composed = warehouse.query(file, "select round, fresh from composed_budgets where attribute = ''")
        spent = self.model.spent(True) or self.model.spent(False)
        assert dict(composed.values.tolist()) == spent


def _fail(*_: object) -> Path:
    raise DPCoreError("the round fails after people were asked")


def check_orders(
    base: Path,
    go: Go,
    *,
    keeps_identity: bool,
    events: tuple[str, ...] = EVENTS,
    follow: Mapping[str, tuple[str, ...]] | None = None,
) -> int:
    """Try every order of different events, of the length that is asked for, and return how many there were.

    follow: of orders of two, which events may follow which; every one if it is None.
    Orders that begin alike share their beginning: after each order the world is what it was before its last event.
    """
    world, tried = World(base / "world", go, keeps_identity=keeps_identity), 0

    def go_on(done: tuple[str, ...]) -> None:
        nonlocal tried
        if len(done) == min(LENGTH, len(events)):
            tried += 1
            return
        for event in events if follow is None or not done else follow[done[-1]]:
            if event not in done:
                with world.kept(base / f"before {len(done)}"):
                    try:
                        world.happen(event)
                    except AssertionError as error:
                        raise AssertionError(f"{' then '.join((*done, event))}: {error}") from error
                    go_on((*done, event))

    go_on(())
    return tried
