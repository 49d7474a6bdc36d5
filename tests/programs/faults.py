"""`make faults`: collector, aggregation and landing are killed at random moments; every accepted report is counted once.

Senders go on all the while: what has no answer is sent again, the same bytes, until it has one.  Rounds follow each other and
are run again where they were killed.  At the end the collector stops in peace, a last round takes what is left, and the sums of
all rounds' aggregates in the warehouse must be, integer by integer, those of the reports that were sent.

Only processes that this script started are killed, and everything is on 127.0.0.1.  Exit status: 0 all is counted once; 1 not.
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
from pathlib import Path

import dpcore as dp
from dpcore import wire
from dpcore.collector.store.sealing import landing
from dpcore.protocol.report import Report, ReportBatch, batch_of
from dpcore.results.warehouse import query
from tests.helpers import collectors
from tests.helpers.collectors import SCHEME, Sender, Serving
from tests.helpers.ports import free_port

BATCH = 200
SENDERS = 2
PATIENCE = 900.0  # seconds in which a collector that is killed again and again must answer
SHARES = {"collector": 0.5, "aggregation": 0.25, "landing": 0.25}  # of the kills


class Faults:
    """One run: a collector that is killed, rounds that are killed, senders that never give up."""

    def __init__(self, folder: Path, kills: int, seed: int) -> None:
        self.folder = folder
        self.quota = {kind: max(1, round(share * kills)) for kind, share in SHARES.items()}
        self.random = random.Random(seed)
        self.killed: Counter[str] = Counter()
        self.sent: list[ReportBatch] = []
        self.problems: list[str] = []
        self.scheme = folder / "colours.toml"
        self.scheme.write_text(collectors.TEXT, encoding="utf-8")
        self.collected = folder / "collected"
        self.port = int(free_port())
        self._ends = threading.Event()
        self._lock = threading.Lock()

    def carry_out(self) -> list[str]:
        """Kill so many processes, let everything end in peace, and return what is wrong."""
        senders = [threading.Thread(target=self._send, args=(number,)) for number in range(SENDERS)]
        rounds = threading.Thread(target=self._run_rounds)
        for thread in (*senders, rounds):
            thread.start()
        while self._more("collector"):
            began = time.monotonic()
            serving = self._start()
            serving.wait()
            slowness = max(1.0, (time.monotonic() - began) / 3)  # of a machine that has other work
            time.sleep(self.random.uniform(0, 1.4) ** 2 * slowness)
            self._kill("collector", serving.process)
        serving = self._start()
        serving.wait()
        while any(self._more(kind) for kind in SHARES):
            time.sleep(0.1)
        self._ends.set()
        for thread in (*senders, rounds):
            thread.join()
        status, said = serving.stop()
        if status:
            self.problems.append(f"the collector ended with {status}: {said.splitlines()[-1:]}")
        self._round("round-9999", killable=False)
        return self.problems or self._differences()

    def _more(self, kind: str) -> bool:
        """Whether processes of this kind are still to be killed."""
        return self.killed[kind] < self.quota[kind] and not self.problems

    def _start(self) -> Serving:
        return Serving(self.collected, self.scheme, "--seal-after", "1", port=self.port)

    def _kill(self, kind: str, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.communicate()
        with self._lock:
            self.killed[kind] += 1

    def _send(self, number: int) -> None:
        """Batches and single reports in turn, each until it is answered."""
        sender, count = Sender(self.port), 0
        while not self._ends.is_set() and not self.problems:
            time.sleep(self._pause)
            seed = 1 + number + SENDERS * count
            count += 1
            if count % 3:
                batch = collectors.reports(BATCH, seed)
                content, kind, size = wire.write_stream(batch, SCHEME, f"round-{count % 5:04d}"), "stream", BATCH
            else:
                report: Report = dp.Client(SCHEME, dp.seeded((seed, 3))).report({"colour": "blue", "height": 0.5})
                batch, content, kind, size = batch_of([report]), wire.write_report(report, SCHEME), "one", 1
            if self._insist(sender, kind, content, size):
                with self._lock:
                    self.sent.append(batch)

    def _insist(self, sender: Sender, kind: str, content: bytes, size: int) -> bool:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                answer = getattr(sender, kind)(content)
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
                continue
            if kind == "one" and answer.status in (200, 201):
                return True
            if kind == "stream" and answer.status == 200:
                found = answer.said
                if found["accepted"] + found["already_have"] == size and found["accepted"] in (0, size):
                    return True
            self.problems.append(f"{kind} answered with {answer.status} {answer.content[:200]!r}")
            return False
        self.problems.append("no answer")
        return False

    def _run_rounds(self) -> None:
        number = 0
        while not self._ends.is_set() and not self.problems:
            time.sleep(self.random.uniform(0, 1))
            if any(landing(self.collected, SCHEME.digest).glob("*.parquet")):
                number += 1
                self._round(f"round-{number:04d}", killable=True)

    def _round(self, name: str, killable: bool) -> None:
        """Collect and land a round, killed at most once in each; then both again, in peace."""
        named = ["--round", name, "--data", str(self.folder)]
        collect = ["collect", str(self.scheme), str(landing(self.collected, SCHEME.digest)), *named]
        estimate = ["estimate", str(self.scheme), *named]
        for kind, words in (("aggregation", collect), ("landing", estimate)):
            if killable and self._more(kind):
                process = self._command(words)
                try:
                    process.wait(self.random.uniform(0.1, 0.9) * self._seconds[kind])
                except subprocess.TimeoutExpired:
                    self._kill(kind, process)
            began = time.monotonic()
            process = self._command(words)
            said = process.communicate()[1]
            self._seconds[kind] = time.monotonic() - began
            if process.returncode and "holds no reports for round" in said:
                return
            if process.returncode:
                self.problems.append(f"{kind} of {name} failed: {said.splitlines()[-1:]}")

    _pause = 0.05  # seconds between a sender's reports
    _seconds = {"aggregation": 4.0, "landing": 6.0}  # noqa: RUF012 - of this run, as last seen

    def _command(self, words: list[str]) -> subprocess.Popen[str]:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        called = [sys.executable, "-m", "dpcore.cli", *words]
        return subprocess.Popen(called, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)

    def _differences(self) -> list[str]:
        """What the warehouse has counted otherwise than it was sent."""
        file = self.folder / "warehouse.duckdb"
        expected = dp.aggregate(SCHEME, *self.sent)
        counted = query(file, "select sum(accepted) as n, sum(rejected) as refused from runs where state = 'landed'")
        found = [] if counted["n"][0] == expected.n else [f"{counted['n'][0]} counted of {expected.n} accepted"]
        rows = query(
            file,
            "select attribute, statistic, level, cell, sum(value) as value from aggregates join runs using (run_id) "
            "where state = 'landed' and given = '' and statistic <> 'marginal' group by all",
        )
        sums = {(row.attribute, row.statistic, row.level, row.cell): row.value for row in rows.itertuples()}
        for name, statistics in expected.statistics.items():
            labels = SCHEME.attributes[name].mechanism.labels()
            for key, value in zip(
                zip(labels.statistic, labels.level, labels.cell, strict=True), statistics, strict=True
            ):
                if sums.get((name, str(key[0]), int(key[1]), int(key[2])), 0) != value:
                    found.append(f"{name} {key}: {sums.get((name, *key), 0)} counted of {value}")
        return found[:10]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ldpflow-faults-"))
    began = time.monotonic()
    faults = Faults(folder, given.kills, given.seed)
    wrong = faults.carry_out()
    total = sum(len(batch) for batch in faults.sent)
    said = {"killed": dict(faults.killed), "accepted": total, "minutes": round((time.monotonic() - began) / 60, 1)}
    print(json.dumps(said))
    print("\n".join(wrong) or "every accepted report was counted once")
    if wrong:
        print(f"everything is kept in {folder}")
    else:
        shutil.rmtree(folder)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
