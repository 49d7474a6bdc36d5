"""`make doors`: collectors that share a folder are killed under load; every report is counted once.

Senders give batches to any of the doors, wherever the reports belong, with some reports that another door has had before.  A
batch without an answer is sent again, the same bytes, to another door, until it has one.  Collectors are killed (SIGKILL) at
random and started again at their ports.  At the end all are ended in peace, and what their files hold must be, integer by
integer and id by id, what was sent, each report once.  Then a round collects them, as `ldpflow collect` does.

Said as one line of JSON.  Seconds are the clock's, of a machine that also makes and sends the reports: `seconds_99` is of
requests that were answered, from the first byte to the answer; `waited_99` of batches, kills included.  Only processes that
this program has started are killed, and everything is on 127.0.0.1.  Exit status: 0 all is counted once; 1 not.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

import dpcore as dp
from dpcore import pipeline, wire
from dpcore.collector.store.sealing import landing
from dpcore.protocol.aggregates import Aggregate
from dpcore.wire.inbox import read_names
from tests.helpers import collectors
from tests.helpers.collectors import SCHEME, Sender, Serving
from tests.helpers.ports import free_port

BATCH = 1000  # new reports in a request
SENDERS = 4
BLOCK = 100  # batches of different answers; those after them have the same, under new ids
PATIENCE = 300.0  # seconds in which a batch must be answered


class Reports:
    """Batches by their number, which anybody makes again: answers of a block, and ids of a generator of that number."""

    def __init__(self, seed: int, again: int) -> None:
        """again: how many reports of an earlier batch stand in each."""
        self._seed, self.again = seed, again
        self._blocks = [collectors.reports(BATCH, block) for block in range(BLOCK)]
        self._rows = [wire.read_stream(wire.write_stream(each, SCHEME), SCHEME) for each in self._blocks]

    def ids(self, number: int) -> np.ndarray:
        return np.random.default_rng((self._seed, number)).integers(0, 256, (BATCH, 16), dtype=np.uint8)

    def stream(self, number: int, earlier: int | None) -> bytes:
        parts = [self._named(number, BATCH)]
        if earlier is not None:
            parts.append(self._named(earlier, self.again))
        return wire.joined(parts).to_stream()

    def _named(self, number: int, count: int) -> wire.Rows:
        rows = self._rows[number % BLOCK]
        names = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), BATCH, [None, pa.py_buffer(self.ids(number).tobytes())]
        )
        columns = rows.columns.set_column(rows.columns.schema.get_field_index("_report_id"), "_report_id", names)
        columns = columns.replace_schema_metadata(rows.columns.schema.metadata)
        return wire.Rows(SCHEME, "load", columns).part(0, count)

    def aggregate(self, batches: int) -> Aggregate:
        """Of the first so many batches."""
        total = Aggregate.zero(SCHEME)
        for block, reports in enumerate(self._blocks):
            own, times = dp.aggregate(SCHEME, reports), len(range(block, batches, BLOCK))
            while times:  # a sum of doubles: a batch stands in it as often as it was sent
                total = total.merge(own) if times & 1 else total
                own, times = own.merge(own), times >> 1
        return total


@dataclass
class Seen:
    """What senders saw."""

    seconds: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    said: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Doors:
    """One run."""

    def __init__(self, folder: Path, *, reports: int, doors: int, kills: int, again: float, seed: int) -> None:
        self.folder, self.doors, self.kills = folder, doors, kills
        self.batches = max(1, reports // BATCH)
        self.random = random.Random(seed)
        self.made = Reports(seed, round(again * BATCH))
        self.seen = Seen()
        self.ports = [int(free_port()) for _ in range(doors)]
        self.peak, self.cpu = [0] * doors, 0.0
        self.scheme = folder / "colours.toml"
        self.scheme.write_text(collectors.TEXT, encoding="utf-8")
        self.running: list[Serving] = []
        self._next = iter(range(self.batches))
        self._done, self.firsts = 0, 0  # firsts: batches with nothing of an earlier one
        self._lock = threading.Lock()

    def carry_out(self) -> dict[str, Any]:
        """Send, kill, end in peace, count, and return what was found."""
        self.running = [self._start(door) for door in range(self.doors)]
        for serving in self.running:
            serving.wait()
        began = time.monotonic()
        senders = [threading.Thread(target=self._send, args=(random.Random(n),)) for n in range(SENDERS)]
        for thread in senders:
            thread.start()
        killed = set[int]()
        for kill in range(self.kills):
            while self._done < self.batches * (kill + self.random.random()) / self.kills and not self.seen.problems:
                time.sleep(0.02)
            door = self.random.randrange(self.doors)
            self._look(door)
            self.running[door].kill()
            self.running[door] = self._start(door)
            killed.add(door)
        for thread in senders:
            thread.join()
        seconds = time.monotonic() - began
        for door in killed:
            self.running[door].wait()
        for door in range(self.doors):
            self._look(door)
        ends = [threading.Thread(target=self._end, args=(serving,)) for serving in self.running]
        for thread in ends:
            thread.start()
        for thread in ends:
            thread.join()
        return self._found(seconds)

    def _start(self, door: int) -> Serving:
        share = f"{door + 1}/{self.doors}"
        more = (
            ["--seal-after", "5", "--connections", "1000", "--share", share]
            if self.doors > 1
            else ["--seal-after", "5"]
        )
        return Serving(self.folder / "collected", self.scheme, *more, port=self.ports[door])

    def _look(self, door: int) -> None:
        """Note what a process has used; its most memory is what the system says."""
        pid = self.running[door].process.pid
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        most = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        self.peak[door] = max(self.peak[door], most)
        self.cpu += sum(psutil.Process(pid).cpu_times()[:2])

    def _end(self, serving: Serving) -> None:
        status, said = serving.stop()
        if status:
            self.seen.problems.append(f"a collector ended with {status}: {said.splitlines()[-1:]}")

    def _numbers(self) -> Iterator[int]:
        while not self.seen.problems:
            with self._lock:
                number = next(self._next, None)
            if number is None:
                return
            yield number

    def _send(self, chance: random.Random) -> None:
        senders = [Sender(port) for port in self.ports]
        mine: list[int] = []
        for number in self._numbers():
            earlier = chance.choice(mine) if mine else None
            content = self.made.stream(number, earlier)
            size = BATCH + (0 if earlier is None else self.made.again)
            seconds, waited, said = self._insist(senders, content, size, chance)
            mine = [*mine[-99:], number]
            with self._lock:
                self.firsts += earlier is None
                self._done += 1
                self.seen.seconds.append(seconds)
                self.seen.waited.append(waited)
                self.seen.said.update(said)
        for sender in senders:
            sender.close()

    def _insist(
        self, senders: list[Sender], content: bytes, size: int, chance: random.Random
    ) -> tuple[float, float, dict[str, int]]:
        first = time.monotonic()
        while time.monotonic() < first + PATIENCE:
            began = time.monotonic()
            try:
                answer = chance.choice(senders).stream(content)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
                continue
            if answer.status == 503:
                time.sleep(0.1)
                continue
            said = answer.said
            if answer.status == 200 and said["accepted"] + said["already_have"] == size:
                ended = time.monotonic()
                return ended - began, ended - first, {name: said[name] for name in ("accepted", "already_have")}
            self.seen.problems.append(f"answered with {answer.status} {answer.content[:200]!r}")
            return 0.0, 0.0, {}
        self.seen.problems.append("no answer")
        return 0.0, 0.0, {}

    def _found(self, seconds: float) -> dict[str, Any]:
        place = landing(self.folder / "collected", SCHEME.digest)
        files = sorted(place.glob("*.parquet"))
        counted = pipeline.aggregate_parts(SCHEME, (part for path in files for part in wire.read_parts(path, SCHEME)))
        expected = self.made.aggregate(self.batches)
        if counted.n != expected.n or not counted.equals(expected):
            self.seen.problems.append(f"the files hold {counted.n:,} reports of {expected.n:,}, or others")
        there = sum(_sum_of(read_names(path)[0]) for path in files)
        if (there - sum(_sum_of(self.made.ids(number)) for number in range(self.batches))) % 2**64:
            self.seen.problems.append("the files hold other ids than were sent")
        if left := list((self.folder / "collected").rglob("*.arrows")):
            self.seen.problems.append(f"{len(left)} files lie before doors")
        quantiles = {
            f"{name}_{p}": round(float(np.quantile(values, p / 100)), 4)
            for name, values in (("seconds", self.seen.seconds), ("waited", self.seen.waited))
            for p in (50, 99)
        }
        return {
            "sent": expected.n,
            "again": self.made.again * (self.batches - self.firsts),
            "firsts": self.firsts,
            "doors": self.doors,
            "kills": self.kills,
            "counted": counted.n,
            "said": dict(self.seen.said),
            "files": len(files),
            "reports_per_second": round(expected.n / seconds),
            "cpu_seconds_per_million": round(1e6 * self.cpu / expected.n, 2),
            **quantiles,
            "peak_mib": [round(kib / 1024) for kib in self.peak],
            "problems": self.seen.problems,
        }


def _sum_of(ids: np.ndarray) -> int:
    """Of random words, modulo 2^64: as many ids of the same sum are the same, but by a chance of 2^-64."""
    words = np.ascontiguousarray(ids).view("<u8")
    return int((words[:, 0] ^ (words[:, 1] << np.uint64(1))).sum(dtype=np.uint64))


def _round(folder: Path) -> dict[str, Any]:
    """Collect all of it, as a round does; its seconds and memory."""
    words = [str(folder / "colours.toml"), str(landing(folder / "collected", SCHEME.digest)), "--round", "load"]
    called = [sys.executable, "-m", "dpcore.cli", "collect", *words, "--data", str(folder / "data")]
    done = subprocess.Popen(called, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    _, status, used = os.wait4(done.pid, 0)
    return {
        "collect_status": status,
        "collect_cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "collect_peak_mib": used.ru_maxrss // 1024,
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--reports", type=int, default=1_000_000)
    options.add_argument("--doors", type=int, default=4)
    options.add_argument("--kills", type=int, default=8)
    options.add_argument("--again", type=float, default=0.01, help="share of reports that come twice")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ldpflow-doors-"))
    run = Doors(folder, reports=given.reports, doors=given.doors, kills=given.kills, again=given.again, seed=given.seed)
    found = run.carry_out()
    print(json.dumps(found | _round(folder)))
    if found["problems"]:
        print(f"everything is kept in {folder}")
    else:
        shutil.rmtree(folder)
    return bool(found["problems"])


if __name__ == "__main__":
    sys.exit(main())
