"""A round as a machine: what each step needs and leaves, as `STEPS` says, and that asking changes nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpcore.errors import NotEstimable, TooFewClients
from dpcore.results import warehouse
from dpcore.rounds.exchange import outgoing_reports
from dpcore.rounds.run import STEPS, Run, State
from dpcore.rounds.steps import (
    aggregation,
    collected_files,
    estimation,
    landing,
    minimum_clients,
    preparation,
    privatization,
    sequence,
)
from tests.helpers import warehouses
from tests.helpers.schemes import QUESTION, SMALL

pytestmark = pytest.mark.usefixtures("light_warehouses")

WAYS: dict[str, Callable[[Run], Any]] = {
    "privatize": lambda run: privatization.privatize_shard(run, 0),
    "aggregate": lambda run: aggregation.aggregate_file(run, run.reports(0)),
    "merge": lambda run: aggregation.merge(run, [run.part(run.reports(0))]),
    "wait": minimum_clients.wait,
    "estimate": estimation.estimate,
    "land": landing.land,
    "draw": lambda run: landing.draw(run, []),
}


@pytest.fixture(autouse=True)
def empty(tmp_path: Path) -> Path:
    """The warehouse of these rounds."""
    return warehouses.put(tmp_path / "data/warehouse.duckdb")


@pytest.fixture
def prepared(tmp_path: Path) -> Run:
    """A round of simulated people that nobody has begun."""
    scheme = tmp_path / "scheme.toml"
    scheme.write_text(QUESTION, encoding="utf-8")
    return preparation.prepare(scheme, round_="r", seed=1, data=tmp_path / "data", keep_reports=True)


def everything(run: Run) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.data.rglob("*") if path.is_file()}


def test_each_step_leaves_what_the_table_says_and_none_begins_too_early(prepared: Run) -> None:
    assert set(WAYS) == set(STEPS)
    assert prepared.state == State.PLANNED
    landed: tuple[str, ...] = ()
    for name, carry_out in WAYS.items():
        if name == "wait":
            continue
        for other, step in STEPS.items():
            if step.needs > prepared.state:
                before = everything(prepared)
                with pytest.raises(NotEstimable, match=rf"round r: {other} needs state \w+, but it is \w+; run it, or"):
                    WAYS[other](prepared)
                assert everything(prepared) == before
        carry_out(prepared)
        step = STEPS[name]
        states = warehouse.query(prepared.plan.warehouse, "select state from runs")["state"]
        landed = step.lands or landed
        assert tuple(states) == landed
        assert prepared.state == max(step.reaches, step.needs)
        if step.leaves:
            assert list(prepared.folder.glob(step.leaves)), name


def test_a_run_of_sent_reports_begins_where_they_are_and_its_state_outlives_them(tmp_path: Path, small: Any) -> None:
    scheme = tmp_path / "small.toml"
    scheme.write_text(SMALL, encoding="utf-8")
    people = tmp_path / "people.csv"
    people.write_text("side,colour,height\n" + "left,red,1.0\nright,blue,2.0\n" * 100, encoding="utf-8")
    outgoing_reports.send(small, people, tmp_path / "sent")
    run = preparation.prepare(scheme, reports=tmp_path / "sent", round_="r", data=tmp_path / "data")
    assert run.state == State.PRIVATIZED
    sequence.collect(run, sequence.Here())
    for path in collected_files.collected(run):
        path.unlink()
    assert Run.at(run.folder).state == State.AGGREGATED
    assert Run.at(run.folder) == run


def test_asking_writes_nothing(tmp_path: Path, small: Any) -> None:
    scheme = tmp_path / "small.toml"
    scheme.write_text(SMALL, encoding="utf-8")
    people = tmp_path / "people.csv"
    people.write_text("side,colour,height\n" + "left,red,1.0\n" * 20, encoding="utf-8")
    run = preparation.prepare(scheme, records=people, round_="r", data=tmp_path / "data")
    before = everything(run)
    assert "held back with 20 clients, 50 are needed" in minimum_clients.reason(run)
    assert run.state == State.PLANNED
    assert not collected_files.batches_of(run)
    assert everything(run) == before
    minimum_clients.wait(run)
    assert list(warehouse.query(run.plan.warehouse, "select state from runs")["state"]) == ["waiting"]


def test_a_rehearsals_seed_is_shown_nowhere(tmp_path: Path) -> None:
    scheme = tmp_path / "small.toml"
    scheme.write_text(SMALL, encoding="utf-8")
    people = tmp_path / "people.csv"
    people.write_text("side,colour,height\nleft,red,1.0\n", encoding="utf-8")
    run = preparation.prepare(scheme, records=people, seed=918273645, round_="r", data=tmp_path / "data")
    assert run.rehearsal_seed == 918273645
    assert "918273645" not in repr(run)
    assert pickle.loads(pickle.dumps(run)) == Run(run.folder, run.plan)  # its seed stays here
    assert all(b"918273645" not in content for content in everything(run).values())


def test_a_round_that_is_too_few_waits_wherever_it_goes_on(tmp_path: Path) -> None:
    scheme = tmp_path / "small.toml"
    scheme.write_text(SMALL, encoding="utf-8")
    people = tmp_path / "people.csv"
    people.write_text("side,colour,height\n" + "left,red,1.0\n" * 20, encoding="utf-8")
    run, hands = preparation.prepare(scheme, records=people, round_="r", data=tmp_path / "data"), sequence.Here()
    files = privatization.privatize_records(run)  # as before somebody asked for more, and the process was killed since
    hands.one(aggregation.merge, run, hands.map([aggregation.aggregate_file], run, files))
    with pytest.raises(TooFewClients, match="held back with 20 clients, 50 are needed"):
        sequence.estimate(run, hands)
    assert list(warehouse.query(run.plan.warehouse, "select state from runs")["state"]) == ["waiting"]


def test_what_an_older_ldpflow_compared_and_judged_before_landing_is_done_anew(tmp_path: Path) -> None:
    (tmp_path / "scheme.toml").write_text(
        f'{QUESTION}[labels.side]\ncategories = ["left", "right"]\n', encoding="utf-8"
    )
    (tmp_path / "people.csv").write_text("urban_rural,side\n" + "urban,left\nrural,right\n" * 100, encoding="utf-8")
    given = {"records": tmp_path / "people.csv", "round_": "r", "data": tmp_path / "data"}
    prepared = preparation.prepare(tmp_path / "scheme.toml", **given)
    sequence.collect(prepared, sequence.Here())
    estimation.estimate(prepared)
    checks, comparisons = (prepared.tables_folder / f"{name}.parquet" for name in ("checks", "comparisons"))
    old = pd.read_parquet(checks)
    judged = [old.iloc[:1].assign(name=name) for name in ("quality(aggregates)", "drift(urban_rural)")]
    pd.concat([old, *judged]).to_parquet(checks)
    rows = pd.read_parquet(comparisons)
    pd.concat([rows, rows.iloc[:1].assign(other_run_id="b" * 16)]).to_parquet(comparisons)
    landing.land(prepared)
    found = warehouse.query(prepared.plan.warehouse, "select name, count(*) as n from checks group by all")
    assert set(found["n"]) == {1}
    assert "drift(urban_rural)" not in set(found["name"])
    others = warehouse.query(prepared.plan.warehouse, "select distinct other_run_id = run_id as own from comparisons")
    assert others["own"].tolist() == [True]
