"""The round on Dask: two worker processes give the bits that threads give, and what is refused is still one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpcore import stages, wire
from dpcore.aggregates import Aggregate
from dpcore.errors import DPCoreError, InvalidReport
from flows import runner
from flows.collect import aggregate_batch, merge
from flows.round import run_round
from flows.settings import RoundSettings
from flows.simulate import privatize_batch


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(runner.SETTING, raising=False)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[None]:
    """A local cluster of two processes; gone with the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(runner.SETTING, "local:2")
        yield
        runner.disconnect()


def folder_of(scheme_file: Path, data: Path, clients: int = 200_000) -> Path:
    return stages.prepare(scheme_file, seed=7, round_="2026-11-20", clients=clients, data=data)


@pytest.mark.flows
@pytest.mark.usefixtures("two_workers")
def test_two_worker_processes_give_the_bits_of_threads(scheme_file: Path, by_command: Path, tmp_path: Path) -> None:
    folder = folder_of(scheme_file, tmp_path)
    reports = privatize_batch.fn(folder, list(stages.shards(folder)))
    whole = merge.fn(folder, aggregate_batch.fn(folder, reports))
    assert whole.read_bytes() == (by_command / "aggregate.parquet").read_bytes()
    pids = runner.each(lambda folder, item: os.getpid(), folder, list(range(40)))
    assert len(set(pids)) == 2
    assert os.getpid() not in pids


@pytest.mark.flows
@pytest.mark.usefixtures("harness", "two_workers")
def test_a_flow_needs_no_change_but_the_setting(scheme_file: Path, by_command: Path, tmp_path: Path) -> None:
    folder = run_round(RoundSettings(scheme=scheme_file, data=tmp_path, seed=7, round="2026-11-20"))
    assert (folder / "aggregate.parquet").read_bytes() == (by_command / "aggregate.parquet").read_bytes()


@pytest.mark.flows
@pytest.mark.usefixtures("two_workers")
def test_what_a_worker_refuses_is_refused_here_in_the_same_words(scheme_file: Path, tmp_path: Path) -> None:
    folder = folder_of(scheme_file, tmp_path, clients=1000)
    with pytest.raises(InvalidReport, match=r"no reports at .*absent\.parquet"):
        runner.each(stages.aggregate_shard, folder, [tmp_path / "absent.parquet"])


@pytest.mark.usefixtures("here")
def test_a_tree_of_merges_gives_the_same_bits(
    scheme_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "SHARD_BLOCKS", 1)
    folder = folder_of(scheme_file, tmp_path)
    reports = [stages.privatize_shard(folder, shard) for shard in stages.shards(folder)]
    parts = [stages.aggregate_shard(folder, report) for report in reports]
    whole = stages.merge(folder, parts).read_bytes()
    monkeypatch.setattr("flows.collect.BATCHES", 2)  # four leaves, two branches
    assert len(parts) == 4
    assert merge.fn(folder, [*parts, parts[0]]).read_bytes() == whole  # each once
    assert len(list((folder / "merged").iterdir())) == 2
    assert isinstance(wire.read_aggregate(folder / "aggregate.parquet", stages.plan_of(folder).scheme), Aggregate)


def test_a_round_has_few_tasks_however_many_its_shards() -> None:
    assert runner.batches(range(2)) == [[0], [1]]
    assert runner.batches([]) == []
    for n in (31, 32, 33, 77, 7_630):
        made = runner.batches(range(n))
        assert runner.flat(made) == list(range(n))
        assert len(made) <= runner.BATCHES


@pytest.mark.parametrize("wrong", ["2", "local", "local:0", "scheduler:8786", "tcp://scheduler"])
def test_a_setting_that_is_none_is_told_in_one_line(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(runner.SETTING, wrong)
    with pytest.raises(
        DPCoreError, match=r"LDPFLOW_DASK is local:N, such as local:4, or a scheduler's tcp://HOST:PORT"
    ):
        runner.each(stages.privatize_shard, Path(), [1])
