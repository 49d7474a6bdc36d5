"""Each report is counted once, whichever files and rounds see it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import pipeline, wire
from dpcore._random import seeded
from dpcore.errors import InvalidReport
from dpcore.protocol.report import ReportBatch, concatenate, with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.rounds.run import Run
from dpcore.rounds.steps import aggregation, collected_files, landing, preparation
from tests.helpers import warehouses
from tests.helpers.schemes import QUESTION

pytestmark = pytest.mark.usefixtures("light_warehouses")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "scheme.toml").write_text(QUESTION, encoding="utf-8")
    warehouses.put(tmp_path / "warehouse.duckdb")
    return tmp_path


def reports(n: int, seed: int) -> ReportBatch:
    people = {"urban_rural": np.where(np.arange(n) % 3 == 0, "rural", "urban")}
    return with_ids(pipeline.privatize(Scheme.from_toml(QUESTION), people, seeded(seed)), seeded((seed, 1)))


def send(here: Path, folder: str, name: str, *batches: ReportBatch) -> None:
    wire.write_reports(here / folder / f"{name}.parquet", Scheme.from_toml(QUESTION), concatenate(batches))


def prepared(here: Path, folder: str, round_: str) -> Run:
    return preparation.prepare(here / "scheme.toml", reports=here / folder, round_=round_, data=here, min_clients=0)


def test_what_is_there_twice_is_left_out_once_and_said(here: Path) -> None:
    one, other = reports(30, 1), reports(20, 2)
    send(here, "in", "a", one)
    send(here, "in", "b", other, reports(5, 1))  # with ids of the first
    run = prepared(here, "in", "r")
    parts = [aggregation.aggregate_file(run, path) for path in collected_files.collected(run)]
    whole = wire.read_aggregate(aggregation.merge(run, [*parts, parts[0]]), run.scheme)
    assert (whole.n, dict(whole.rejected)) == (50, {"already_counted": 5})
    ids = [np.fromfile(file, dtype=np.uint8).reshape(-1, 16) for file in (here / "counted").rglob("*.ids")]
    assert len({row.tobytes() for row in np.concatenate(ids)}) == sum(map(len, ids)) == 50


def test_a_round_is_overtaken_by_one_that_has_counted_its_reports(here: Path) -> None:
    send(here, "in", "a", reports(60, 1))
    send(here, "elsewhere", "b", reports(40, 3), reports(7, 1))
    late = prepared(here, "elsewhere", "s")
    collected_files.check_not_overtaken(late)
    late.write_json("tables/counts.json", {})  # as if it had been estimated
    landed = prepared(here, "in", "r")
    row = replace(landing.row_of(landed), accepted=60, rejected=0, finished_at=datetime.now(UTC))
    batches = pd.DataFrame(collected_files.batches_of(landed))[["file", "sent_for", "reports"]]
    warehouse.land(landed.plan.warehouse, warehouse.Landing(row, {"batches": batches}))
    with pytest.raises(InvalidReport, match="another round has landed in the meantime and counted 7 of its reports"):
        landing.land(late)
    again = prepared(here, "elsewhere", "t")
    [part] = [aggregation.aggregate_file(again, path) for path in collected_files.collected(again)]
    assert dict(wire.read_aggregate(part, again.scheme).rejected) == {"already_counted": 7}
    collected_files.check_not_overtaken(again)
