"""Several processes land in one warehouse while it is read, and some of them are killed: no run is lost, none is half there."""

import random
import signal
import subprocess
import sys
import time

import pytest

from dpcore.results.warehouse import query

# Lands `count` runs of 200 rows each and says so after every one.
WORKER = """
import sys
from datetime import UTC, datetime
import pandas as pd
from dpcore.results.warehouse import Landing, RunRow, land, run_id
path, worker, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(count):
    now = datetime.now(UTC)
    run = RunRow(run_id=run_id(worker, "r", number), scheme=worker, scheme_digest=worker, round=f"r{number}",
              source="simulated", randomness="seeded", accepted=200, rejected=0, started_at=now, finished_at=now, version="0")
    rows = pd.DataFrame({"attribute": "a", "given": "", "statistic": "count", "level": 0, "cell": range(200), "value": number})
    land(path, Landing(run, {"aggregates": rows}), patience=60)
    print(run.run_id, flush=True)
"""


def start(path, worker, count):
    command = [sys.executable, "-c", WORKER, str(path), worker, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def rows_by_run(path):
    frame = query(
        path,
        "select run_id, count(aggregates.cell) as cells from runs left join aggregates using (run_id) group by run_id",
        patience=60,
    )
    return dict(zip(frame["run_id"], frame["cells"], strict=True))


@pytest.mark.slow
def test_two_processes_and_a_reader_share_a_warehouse(tmp_path):
    path = tmp_path / "warehouse.duckdb"
    workers = [start(path, name, 8) for name in ("one", "two")]
    seen = 0
    while any(worker.poll() is None for worker in workers):
        if path.exists():
            counts = rows_by_run(path)
            assert set(counts.values()) <= {200}  # never a run without its rows
            assert len(counts) >= seen  # never one that vanishes
            seen = len(counts)
        time.sleep(0.05)
    landed = {line for worker in workers for line in worker.communicate()[0].split()}
    assert [worker.returncode for worker in workers] == [0, 0]
    assert rows_by_run(path) == dict.fromkeys(landed, 200)
    assert len(landed) == 16


@pytest.mark.slow
def test_a_killed_process_leaves_whole_runs_only(tmp_path):
    path = tmp_path / "warehouse.duckdb"
    moments = random.Random(5)
    acknowledged = set()
    for attempt in range(4):
        worker = start(path, f"worker{attempt}", 1000)
        acknowledged.add(worker.stdout.readline().strip())
        time.sleep(moments.uniform(0.0, 0.5))
        worker.send_signal(signal.SIGKILL)
        acknowledged |= set(worker.communicate()[0].split())
    counts = rows_by_run(path)
    assert acknowledged <= set(counts)
    assert set(counts.values()) == {200}
    assert len(acknowledged) >= 4
