"""The round on Dask: two worker processes give the bits that threads give, and what is refused is still one line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dpcore import wire
from dpcore.errors import DPCoreError, InvalidReport
from dpcore.protocol.aggregates import Aggregate
from dpcore.rounds.run import Run
from dpcore.rounds.steps import aggregation, preparation, privatization
from ldpflow_flows.round import run_round
from ldpflow_flows.settings import RoundSettings
from ldpflow_flows.tasks import task_runner
from ldpflow_flows.tasks.steps import aggregate_batch, merge, privatize_batch
from tests.helpers.ports import free_port

pytestmark = pytest.mark.flows


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(task_runner.SETTING, raising=False)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[None]:
    """A local cluster of two processes; gone with the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(task_runner.SETTING, "local:2")
        yield
        task_runner.disconnect()


def run_of(scheme_file: Path, data: Path, clients: int = 200_000) -> Run:
    return preparation.prepare(scheme_file, seed=7, round_="2026-11-20", clients=clients, data=data)


@pytest.mark.usefixtures("two_workers")
def test_two_worker_processes_give_the_bits_of_threads(scheme_file: Path, by_command: Path, tmp_path: Path) -> None:
    run = run_of(scheme_file, tmp_path)
    reports = privatize_batch.fn(run, list(privatization.shards(run)))
    whole = merge.fn(run, aggregate_batch.fn(run, reports))
    assert whole.read_bytes() == (by_command / "aggregate.parquet").read_bytes()
    pids = task_runner.map_items(lambda run, item: os.getpid(), run, list(range(40)))
    assert len(set(pids)) == 2
    assert os.getpid() not in pids


@pytest.mark.usefixtures("harness", "two_workers")
def test_a_flow_needs_no_change_but_the_setting(scheme_file: Path, by_command: Path, tmp_path: Path) -> None:
    folder = run_round(RoundSettings(scheme=scheme_file, data=tmp_path, seed=7, round="2026-11-20"))
    assert (folder / "aggregate.parquet").read_bytes() == (by_command / "aggregate.parquet").read_bytes()


@pytest.mark.usefixtures("two_workers")
def test_what_a_worker_refuses_is_refused_here_in_the_same_words(scheme_file: Path, tmp_path: Path) -> None:
    run = run_of(scheme_file, tmp_path, clients=1000)
    privatization.privatize_shard(run, 0)
    with pytest.raises(InvalidReport, match=r"no reports at .*absent\.parquet"):
        task_runner.map_items(aggregation.aggregate_file, run, [tmp_path / "absent.parquet"])


@pytest.mark.slow
def test_a_scheduler_at_an_address_gives_the_same_bits_though_one_of_its_workers_dies(
    scheme_file: Path, by_command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        address = f"tcp://127.0.0.1:{free_port()}"
        started(stack, "scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], "--no-dashboard")
        workers = [started(stack, "worker", address, "--nthreads", "1", "--no-dashboard") for _ in range(2)]
        monkeypatch.setenv(task_runner.SETTING, address)
        stack.callback(task_runner.disconnect)
        pids = task_runner.map_items(lambda run, item: (time.sleep(0.1), os.getpid())[1], tmp_path, list(range(40)))
        assert os.getpid() not in pids
        run = run_of(scheme_file, tmp_path)
        reports = privatize_batch.fn(run, list(privatization.shards(run)))
        workers[0].kill()
        whole = merge.fn(run, aggregate_batch.fn(run, reports))
        assert whole.read_bytes() == (by_command / "aggregate.parquet").read_bytes()


@pytest.mark.parametrize("is_mute", [True, False])
def test_a_scheduler_that_does_not_answer_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_mute: bool
) -> None:
    """Nothing listens, or something that takes connections and never says a word."""
    listener = socket.create_server(("127.0.0.1", 0)) if is_mute else None
    port = listener.getsockname()[1] if listener else free_port()
    monkeypatch.setattr(task_runner, "PATIENCE", 1)
    monkeypatch.setenv(task_runner.SETTING, f"tcp://127.0.0.1:{port}")
    began = time.monotonic()
    for _ in range(task_runner.BATCHES):  # a round's tasks, one after another: the first alone waits
        with pytest.raises(
            DPCoreError, match=r"no Dask scheduler answers at tcp://.*; start it, or correct LDPFLOW_DASK"
        ):
            task_runner.map_items(aggregation.aggregate_file, tmp_path, [tmp_path])
    assert time.monotonic() - began < 10


def started(stack: ExitStack, what: str, *words: str) -> subprocess.Popen[bytes]:
    """A process of Dask's, which ends with the stack."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait, 30)
    stack.callback(process.kill)
    return process


@pytest.mark.usefixtures("here")
def test_a_tree_of_merges_gives_the_same_bits(
    scheme_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privatization, "SHARD_BLOCKS", 1)
    run = run_of(scheme_file, tmp_path)
    reports = [privatization.privatize_shard(run, shard) for shard in privatization.shards(run)]
    parts = [aggregation.aggregate_file(run, report) for report in reports]
    whole = aggregation.merge(run, parts).read_bytes()
    monkeypatch.setattr("ldpflow_flows.tasks.steps.BATCHES", 2)  # four leaves, two branches
    assert len(parts) == 4
    assert merge.fn(run, [*parts, parts[0]]).read_bytes() == whole  # each once
    assert len(list((run.folder / "merged").iterdir())) == 2
    assert isinstance(wire.read_aggregate(run.aggregate, run.scheme), Aggregate)


def test_a_round_has_few_tasks_however_many_its_shards() -> None:
    assert task_runner.batches(range(2)) == [[0], [1]]
    assert task_runner.batches([]) == []
    for n in (31, 32, 33, 77, 7_630):
        made = task_runner.batches(range(n))
        assert task_runner.flat(made) == list(range(n))
        assert len(made) <= task_runner.BATCHES


@pytest.mark.parametrize("wrong", ["2", "local", "local:0", "scheduler:8786", "tcp://scheduler"])
def test_a_setting_that_is_none_is_told_in_one_line(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(task_runner.SETTING, wrong)
    with pytest.raises(
        DPCoreError, match=r"LDPFLOW_DASK must be local:N, such as local:4, or a scheduler's tcp://HOST:PORT"
    ):
        task_runner.map_items(privatization.privatize_shard, Path(), [1])
