"""How a round scales: `make scaling`, on a machine that does nothing else.

Shards per second with one Dask worker process and with two, whose aggregates must be those of threads bit for bit, and what the
tasks of a round of ten million clients cost beside its work, and what its start costs.  CPU seconds are told beside wall
seconds: they are what can be compared where the machine is not quiet.  Then the same of reports that a collector has
sealed, whose files are aggregated alone.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from prefect.testing.utilities import prefect_test_harness

from dpcore import pipeline, populations, wire
from dpcore._random import seeded
from dpcore.collector.store.sealing import MOST_REPORTS
from dpcore.protocol.report import with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.rounds import defaults
from dpcore.rounds.run import Run
from dpcore.rounds.steps import aggregation, collected_files, preparation, privatization
from ldpflow_flows.tasks import permitted_folders, task_runner
from ldpflow_flows.tasks.stage import whole
from ldpflow_flows.tasks.steps import Tasks

LEAST_SCALING, MOST_OVERHEAD = 1.7, 0.05  # what is asked of two workers, and of Prefect's tasks
MOST_MORE = 0.1  # CPU seconds of a sealed report with two workers beyond those with one
TEN_MILLION = 10_000_000


def main() -> int:
    """Measure, print, and return 1 where an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.scaling", description=__doc__)
    parser.add_argument("--shards", type=int, default=24, help="shards of 131,072 clients to measure on (default 24)")
    shards = parser.parse_args().shards
    with tempfile.TemporaryDirectory() as made:
        data = Path(made)
        permitted_folders.name(data)
        here = _aggregate(data / "here", "", shards)
        one, two = _aggregate(data / "one", "local:1", shards), _aggregate(data / "two", "local:2", shards)
        same = here["bits"] == one["bits"] == two["bits"]
        scaling = one["wall"] / two["wall"]
        for name, found in (("threads off", here), ("1 worker", one), ("2 workers", two)):
            rate = shards * privatization.SHARD_BLOCKS * 65_536 / found["wall"]
            print(
                f"{name:12} {found['wall']:7.1f} s   {rate:12,.0f} clients/s   {found['cpu'] / shards:6.2f} CPU s a shard"
            )
        print(f"bit-equal    {same}")
        print(f"scaling      {scaling:.2f} of two workers to one, at least {LEAST_SCALING} is asked")
        sealed = [_sealed(data / f"sealed{where[-1:]}", where, shards) for where in ("local:1", "local:2")]
        more = sealed[1]["cpu"] / sealed[0]["cpu"] - 1
        print(f"sealed files {sealed[0]['cpu']:.3f} CPU s a million reports with 1 worker, {more:+.1%} with 2,")
        print(f"             at most {MOST_MORE:.0%} more or less is asked")
        print(f"             {sealed[0]['wall'] / sealed[1]['wall']:.2f} times as fast with 2")
        same = same and sealed[0]["bits"] == sealed[1]["bits"] and abs(more) <= MOST_MORE
        work = here["cpu"] / shards * TEN_MILLION / (privatization.SHARD_BLOCKS * 65_536)
        overhead = _overhead(data / "tasks")
        share = overhead / (overhead + work)
        print(f"tasks        {overhead:.1f} CPU s beside {work:.1f} CPU s of work at ten million clients: {share:.1%}")
        print(f"             at most {MOST_OVERHEAD:.0%} is asked")
    alone, through = _importing("dpcore.rounds.steps.sequence"), _importing("ldpflow_flows.round")
    print(f"start        {through:.1f} CPU s of imports through Prefect, {alone:.1f} without")
    return 0 if same and scaling >= LEAST_SCALING and share <= MOST_OVERHEAD else 1


def _aggregate(data: Path, where: str, shards: int) -> dict[str, Any]:
    """Wall and CPU seconds of privatizing and aggregating so many shards, and the aggregate's bytes."""
    os.environ[task_runner.SETTING] = where
    small, whole_ = (
        preparation.prepare(
            defaults.DEFAULT_SCHEME, round_=name, clients=n * privatization.SHARD_BLOCKS * 65_536, seed=7, data=data
        )
        for name, n in (("warm", 4), ("scaling", shards))
    )
    task_runner.map_items(
        privatization.privatize_shard, small, privatization.shards(small)
    )  # imports, and the scheme's tables
    before, begun = _cpu_by_process(whole_), time.perf_counter()
    parts = task_runner.map_items(
        aggregation.aggregate_file,
        whole_,
        task_runner.map_items(privatization.privatize_shard, whole_, privatization.shards(whole_)),
    )
    wall, after = time.perf_counter() - begun, _cpu_by_process(whole_)
    bits = aggregation.merge(whole_, parts).read_bytes()
    task_runner.disconnect()
    return {"wall": wall, "cpu": sum(after.values()) - sum(before.values()), "bits": bits}


def _sealed(data: Path, where: str, files: int) -> dict[str, Any]:
    """Wall and CPU seconds a million sealed reports of aggregating so many files, each six times, and the aggregate's bytes."""
    os.environ[task_runner.SETTING] = where
    scheme = Scheme.from_toml(defaults.DEFAULT_SCHEME)
    people = populations.by_scheme(scheme.name).records(MOST_REPORTS, seeded(1))
    batch = pipeline.privatize(scheme, people, seeded(2))
    for number in range(files):
        named = with_ids(batch, seeded((3, number)))
        wire.write_reports(data / "in" / f"{number:04d}.parquet", scheme, named)
    run = preparation.prepare(defaults.DEFAULT_SCHEME, round_="sealed", reports=data / "in", data=data, min_clients=0)
    paths = collected_files.collected(run)
    task_runner.map_items(aggregation.aggregate_file, run, paths)  # imports, and the scheme's tables
    before, begun = _cpu_by_process(run), time.perf_counter()
    for _ in range(6):
        parts = task_runner.map_items(aggregation.aggregate_file, run, paths)
    wall, after = time.perf_counter() - begun, _cpu_by_process(run)
    bits = aggregation.merge(run, parts).read_bytes()
    task_runner.disconnect()
    millions = 6e-6 * files * MOST_REPORTS
    return {"wall": wall, "cpu": (sum(after.values()) - sum(before.values())) / millions, "bits": bits}


def _cpu_by_process(run: Run) -> dict[int, float]:
    """The CPU seconds of each worker, asked often enough that everyone answers."""
    return dict(task_runner.map_items(lambda run, item: (os.getpid(), time.process_time()), run, range(40)))


def _overhead(data: Path) -> float:
    """CPU seconds, here and in the server, of the shards' tasks of a round of ten million clients, in which nobody works."""
    os.environ[task_runner.SETTING] = ""

    def privatize_shard(run: Run, shard: int) -> Path:
        return run.reports(shard)

    def aggregate_file(run: Run, reports: Path) -> Path:
        return reports

    privatization.privatize_shard, aggregation.aggregate_file = privatize_shard, aggregate_file

    @whole("tasks", hours=1, run_name="tasks")
    def tasks(run: Run) -> list[Path]:
        return Tasks().map([privatize_shard, aggregate_file], run, privatization.shards(run))

    few = preparation.prepare(defaults.DEFAULT_SCHEME, round_="few", clients=1000, seed=7, data=data)
    many = preparation.prepare(defaults.DEFAULT_SCHEME, round_="many", clients=TEN_MILLION, seed=7, data=data)
    with prefect_test_harness(server_startup_timeout=240):
        tasks(few)  # imports, and the server's first queries
        begun = _cpu_of_all()
        tasks(many)
        time.sleep(10)  # the server records task runs a little later
        return _cpu_of_all() - begun


def _importing(module: str) -> float:
    """CPU seconds of a new process that only imports a module; the second of two, as the first may compile."""
    for _ in range(2):
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def _cpu_of_all() -> float:
    me = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (me, *me.children(recursive=True)))


if __name__ == "__main__":
    sys.exit(main())
