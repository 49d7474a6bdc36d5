"""Which run of a round stands, and what people have spent, against a slow obvious model, over hostile sequences of runs."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import mkdtemp

import duckdb
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from dpcore.errors import AlreadyLanded
from dpcore.results import warehouse
from dpcore.results.pages.content import find, gather
from dpcore.results.tables import comparisons
from dpcore.results.warehouse import connection
from tests.helpers.standing import Model, Run

DIGESTS = {"a" * 64: 1.0, "b" * 64: 0.5}  # of two schemes of one name, with what a client spends under each
ROUNDS = ("2026-11-01", "2026-11-02", "2026-11-03")
START = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass(eq=False, kw_only=True)
class OneRun(Run):
    """A run with all that it lands; files: of collected reports -> the round that each says it is for."""

    number: int
    clients: int
    files: dict[str, str] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return warehouse.run_id(self.digest, self.round, self.number)

    @property
    def row(self) -> warehouse.RunRow:
        moment = START + timedelta(minutes=self.number)
        return warehouse.RunRow(
            run_id=self.run_id,
            scheme="people",
            scheme_digest=self.digest,
            round=self.round,
            source=self.source,
            randomness="secure" if self.is_real else "seeded",
            seed=None if self.is_real else self.number,
            trial=self.trial,
            started_at=moment,
            finished_at=moment,
            version="1",
            clients=self.clients,
            accepted=self.clients,
            rejected=0,
            flow_run_id=self.flow,
        )

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        numbers = {
            "estimate": 1.0 * self.number,
            "standard_error": 0.1,
            "low": self.number - 1,
            "high": self.number + 1,
        }
        who = {"attribute": "income", "given": ""}
        mean = who | {"estimator": "e", "functional": "mean", "kind": "atomic", "confidence": 0.95, "reason": None}
        promise = {"stated": "1", "epsilon": DIGESTS[self.digest], "delta": 0.0}
        spent = {"attribute": "income", "mechanism": "m", "certificate": "c", "charges": self.clients, "states": 2}
        unknown = {"known_charges": None, "known_clients": None, "most_charges": None}
        scheme = {"description": "", "planned_clients": 1, "reporting": "all", "canonical": ""}
        found = {
            "functionals": pd.DataFrame([mean | numbers | {"plug_in": 0.0}]),
            "budgets": pd.DataFrame([spent | promise | unknown]),
            "schemes": pd.DataFrame([scheme | promise]),
        }
        if self.files:
            rows = [{"file": file, "sent_for": sent_for, "reports": 1} for file, sent_for in self.files.items()]
            found["batches"] = pd.DataFrame(rows)
        return found


class Hostile(RuleBasedStateMachine):
    """Runs of three rounds, of whatever people, that land, fail, are retried, replaced and overtaken."""

    made: Path  # a warehouse in which nothing has landed

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp())
        self.file = Path(shutil.copy(self.made, self.folder / "w.duckdb"))
        self.opened = duckdb.connect(str(self.file))  # a cursor of it takes a tenth of what opening the file does
        connection._connect = lambda path, **_: self.opened.cursor()
        self.runs: list[OneRun] = []
        self.model = Model(DIGESTS)

    def teardown(self) -> None:
        self.compare()
        self.opened.close()
        shutil.rmtree(self.folder)

    # ---- What happens

    @rule(
        round_=st.sampled_from(ROUNDS),
        digest=st.sampled_from(sorted(DIGESTS)),
        source=st.sampled_from(["simulated", "records", "reports"]),
        again=st.booleans(),
        flow=st.booleans(),
        clients=st.integers(1, 1000),
        late=st.sampled_from(["", *ROUNDS]),
        fails=st.booleans(),
    )
    def begin(
        self, round_: str, digest: str, source: str, again: bool, flow: bool, clients: int, late: str, fails: bool
    ) -> None:
        number = len(self.runs)
        told = {"round": round_, "source": source, "digest": digest, "again": again}
        run = OneRun(**told, number=number, clients=clients, flow=f"flow {number}" if flow else None)
        if source == "reports":  # what the round has counted, and a file that has come since
            before = [one for one in self.runs if one.has_landed and one.files and one.round == round_]
            run.files = {file: sent for one in before if one.digest == digest for file, sent in one.files.items()}
            run.files[f"{number:064x}"] = late if late <= round_ else ""
        self.runs.append(run)
        if source == "records" and (fails or self.model.may_land(run)):  # the stage charges before it draws
            rows = [
                {"scheme": "people", "scheme_digest": digest, "source": source, "drawing": run.run_id, "round": round_}
                | {"attribute": name, "epsilon": DIGESTS[digest], "delta": 0.0, "states": states}
                for name, states in (("income", 2), ("", None))
            ]
            warehouse.charge(self.file, pd.DataFrame(rows))
            self.model.draw(digest, run.run_id, source, round_)
        if fails:
            warehouse.land_failure(self.file, run.row)
        else:
            self.land(run)

    @rule(clients=st.integers(1, 3))
    def play(self, clients: int) -> None:
        told = {"round": f"0-trial-{clients}", "source": "simulated", "digest": min(DIGESTS), "trial": True}
        run = OneRun(**told, number=len(self.runs), clients=clients)
        self.runs.append(run)
        self.land(run)

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        self.land(data.draw(st.sampled_from(self.runs)))

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        warehouse.land_failure(self.file, data.draw(st.sampled_from(self.runs)).row)

    def land(self, run: OneRun) -> None:
        landing = warehouse.Landing(run.row, run.tables, run.again)
        if not self.model.may_land(run):
            before = self.table("runs")
            with pytest.raises(AlreadyLanded):
                warehouse.land(self.file, landing, judge=comparisons.judge)
            pd.testing.assert_frame_equal(self.table("runs"), before)
            return
        warehouse.land(self.file, landing, judge=comparisons.judge)
        self.model.land(run)
        if run.source == "records":
            self.model.draw(run.digest, run.run_id, run.source, run.round)
        for file, sent_for in run.files.items():
            self.model.draw(run.digest, file, run.source, sent_for or run.round)

    # ---- What is seen of it

    def table(self, name: str) -> pd.DataFrame:
        return warehouse.query(self.file, f"from {name} order by all")

    def compare(self) -> None:
        rounds = sorted({run.round for run in self.model.claims})
        stands = {round_: self.model.standing(round_) for round_ in rounds}
        latest = self.table("latest_runs")
        assert dict(zip(latest["round"], latest["run_id"], strict=True)) == {r: run.run_id for r, run in stands.items()}
        assert set(self.table("latest_functionals")["run_id"]) == {run.run_id for run in stands.values()}
        days = {round_: run for round_, run in stands.items() if not run.trial}
        before = {
            run.run_id: max(
                (
                    r
                    for r, other in days.items()
                    if r < round_ and (other.digest, other.source) == (run.digest, run.source)
                ),
                default=None,
            )
            for round_, run in days.items()
        }
        moved = self.table("latest_comparisons")
        assert {row.run_id: row.other_round for row in moved.itertuples()} == {r: b for r, b in before.items() if b}
        for row in moved.itertuples():
            own = next(run for run in days.values() if run.run_id == row.run_id)
            assert row.difference == own.number - days[row.other_round].number
        checks = self.table("latest_checks")
        seen = {row.run_id: row.passed for row in checks[checks["name"] == "clients"].itertuples()}
        for round_, run in days.items():
            earlier = [o.clients for r, o in sorted(days.items()) if r < round_ and o.is_real == run.is_real][-7:]
            assert seen.get(run.run_id) == (run.clients >= median(earlier) / 2 if earlier else None)
        composed = self.table("composed_budgets")
        of_all = composed[composed["attribute"] == ""]
        for real in (True, False):
            own = of_all[(of_all["source"] != "simulated") == real]
            assert dict(zip(own["round"], own["fresh"], strict=True)) == self.model.spent(real)
        assert not composed.duplicated(["scheme", "round", "attribute"]).any()
        with warehouse.reader(self.file) as ask:
            for round_, run in stands.items():
                assert find(ask, round_, "people") == run.run_id
                page = gather(ask, run.run_id)
                assert (page["previous"] or {}).get("round") == before.get(run.run_id)
                spent = self.model.spent(run.is_real)
                assert page["spent"]["epsilon"] == spent.get(round_, DIGESTS[run.digest])
            if days:
                assert find(ask, None, "people") == days[max(days)].run_id


@pytest.fixture
def hostile(created: Path, monkeypatch: pytest.MonkeyPatch) -> type[Hostile]:
    Hostile.made = created
    monkeypatch.setattr(connection, "_connect", connection._connect)  # put back at the end
    return Hostile


@pytest.mark.usefixtures("light_warehouses")
def test_a_hostile_sequence_of_runs_ends_as_a_slow_model_says(hostile: type[Hostile]) -> None:
    """Every rule in one sequence: runs that stand, are refused, replaced, retried, that fail, and reports that come late."""
    machine, (one, other) = hostile(), sorted(DIGESTS)
    first, second, third = ROUNDS

    def begin(round_: str, source: str, clients: int, *words: str, digest: str = one, late: str = "") -> OneRun:
        told = {word: word in words for word in ("again", "flow", "fails")}
        machine.begin(round_=round_, digest=digest, source=source, clients=clients, late=late, **told)
        return machine.runs[-1]

    begin(second, "simulated", 900)
    simulated = begin(first, "simulated", 400)
    begin(first, "simulated", 500)  # refused
    asked = begin(first, "records", 700, "flow")  # of real people, whom simulated ones never replace
    begin(first, "simulated", 500, "again")
    begin(second, "records", 300, "fails")  # who were asked
    begin(second, "reports", 300, late=first)
    begin(third, "reports", 60, digest=other)
    replacing = begin(first, "records", 650, "again")
    machine.play(clients=2)
    for run in (asked, simulated, replacing):  # of whom Prefect retries the first
        machine.land(run)
    begin(second, "reports", 800, "again", late=first)
    warehouse.land_failure(machine.file, machine.runs[-1].row)
    machine.teardown()


@pytest.mark.slow
def test_hostile_sequences_of_runs_end_as_a_slow_model_says(hostile: type[Hostile]) -> None:
    """LDPFLOW_SEQUENCES=1000, as `make hostile` sets, takes a quarter of an hour."""
    told = {"stateful_step_count": 8, "deadline": None, "suppress_health_check": list(HealthCheck)}
    few = settings(max_examples=int(os.environ.get("LDPFLOW_SEQUENCES", "8")), **told)
    run_state_machine_as_test(hostile, settings=few)
