"""A round as a machine: what each step needs and leaves, as `STEPS` says, and that asking changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from schemes import HOUSEHOLDS, SMALL

from dpcore.errors import NotEstimable
from dpcore.results import warehouse
from dpcore.rounds import aggregating, counted, estimating, landing, outbox, preparing, privatizing, sequence, waiting
from dpcore.rounds.run import STEPS, Run, State

WAYS: dict[str, Callable[[Run], Any]] = {
    "privatize": lambda run: privatizing.privatize_shard(run, 0),
    "aggregate": lambda run: aggregating.aggregate_file(run, run.reports(0)),
    "merge": lambda run: aggregating.merge(run, [run.part(run.reports(0))]),
    "wait": waiting.wait,
    "estimate": estimating.estimate,
    "draw": landing.draw,
    "land": landing.land,
}


@pytest.fixture
def prepared(tmp_path: Path) -> Run:
    """A round of simulated people that nobody has begun."""
    scheme = tmp_path / "scheme.toml"
    scheme.write_text(HOUSEHOLDS, encoding="utf-8")
    return preparing.prepare(scheme, round_="r", clients=500, seed=1, data=tmp_path / "data", keep_reports=True)


def everything(run: Run) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.data.rglob("*") if path.is_file()}


def test_each_step_leaves_what_the_table_says_and_none_begins_too_early(prepared: Run) -> None:
    assert set(WAYS) == set(STEPS)
    assert prepared.state == State.PLANNED
    for name, carry_out in WAYS.items():
        if name == "wait":
            continue
        for other, step in STEPS.items():
            if step.needs > prepared.state:
                before = everything(prepared)
                with pytest.raises(
                    NotEstimable, match=rf"round r is only \w+: to {other} needs one that is \w+; run it, or"
                ):
                    WAYS[other](prepared)
                assert everything(prepared) == before
        carry_out(prepared)
        step = STEPS[name]
        assert prepared.state == max(step.reaches, step.needs)
        if step.leaves:
            assert list(prepared.folder.glob(step.leaves)), name
    assert list(warehouse.query(prepared.plan.warehouse, "select state from runs")["state"]) == ["landed"]


def test_a_run_of_sent_reports_begins_where_they_are_and_its_state_outlives_them(tmp_path: Path, small: Any) -> None:
    scheme = tmp_path / "small.toml"
    scheme.write_text(SMALL, encoding="utf-8")
    people = tmp_path / "people.csv"
    people.write_text("side,colour,height\n" + "left,red,1.0\nright,blue,2.0\n" * 100, encoding="utf-8")
    outbox.send(small, people, tmp_path / "sent")
    run = preparing.prepare(scheme, reports=tmp_path / "sent", round_="r", data=tmp_path / "data")
    assert run.state == State.PRIVATIZED
    sequence.collect(run, sequence.Here())
    for path in counted.collected(run):
        path.unlink()
    assert Run.at(run.folder).state == State.AGGREGATED
    assert Run.at(run.folder) == run


def test_asking_writes_nothing(tmp_path: Path, small: Any) -> None:
    scheme = tmp_path / "small.toml"
    scheme.write_text(SMALL, encoding="utf-8")
    people = tmp_path / "people.csv"
    people.write_text("side,colour,height\n" + "left,red,1.0\n" * 20, encoding="utf-8")
    run = preparing.prepare(scheme, records=people, round_="r", data=tmp_path / "data")
    before = everything(run)
    assert "20 clients came, 50 are needed" in waiting.reason(run)
    assert run.state == State.PLANNED
    assert not counted.batches_of(run)
    assert everything(run) == before
    waiting.wait(run)
    assert list(warehouse.query(run.plan.warehouse, "select state from runs")["state"]) == ["waiting"]


def test_a_rehearsals_seed_is_shown_nowhere(tmp_path: Path) -> None:
    scheme = tmp_path / "small.toml"
    scheme.write_text(SMALL, encoding="utf-8")
    people = tmp_path / "people.csv"
    people.write_text("side,colour,height\nleft,red,1.0\n", encoding="utf-8")
    run = preparing.prepare(scheme, records=people, seed=918273645, round_="r", data=tmp_path / "data")
    assert run.rehearsal_seed == 918273645
    assert "918273645" not in repr(run)
    assert all(b"918273645" not in content for content in everything(run).values())
