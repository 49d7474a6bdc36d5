"""Writes what past ldpflows left: `python tests/vectors/past/freeze.py PAST...` in a whole clone; never to make a test pass.

Each PAST.tar.xz is the folder of a commit's own commands: `question.toml`, `people.csv`, `reports` and `late` (files that
clients sent; the second no round has counted), `data/warehouse.duckdb` with round 2026-11-20 of `reports`, and `said.json`,
what that code said of it.  Where the commit had them: `collected`, a collector's store, killed with 40 reports sealed and 20
in its log, which `sent.jsonl` has line by line; `one`, a person's ledger; `ledgers`; and `key`, by which they were charged.
The past code runs in this environment; the first two also want tomli_w.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
PAST = {
    "migration_14": "1608fc3",  # the first files that still are: a warehouse without schemes, atoms, batches
    "migration_19": "7744b6a",  # with schemes; before rounds waited and files were counted once
    "migration_25": "9858ae2",  # with what clients spent; before one run of a round stood
    "store_1": "c691c93",  # migration 27; stores of format 1, ledgers of unchained lines, named by the key of the answers
    "store_2": "ec48f05",  # migration 27; stores and ledgers as they are
}
TEXT = """name = "commute"
clients = 200

[attributes.mode]
type = "categorical"
categories = ["car", "train", "foot"]
epsilon = 1

[attributes.distance]
type = "numeric"
lower = 0
upper = 100
epsilon = 1
mechanism = "square_wave"
functionals = ["mean"]
"""
ASKED = {
    "runs": "select round, scheme_digest, accepted, rejected from latest_runs",
    "frequencies": "select category, estimate, low, high from latest_frequencies order by all",
    "functionals": "select functional, estimate, low, high from latest_functionals where functional = 'mean' order by all",
    "aggregates": "select attribute, statistic, level, cell, value from latest_aggregates order by all",
}


class Past:
    """A commit's code, run in a folder."""

    def __init__(self, code: Path, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"PYTHONPATH": f"{code}:{os.environ.get('PYTHONPATH', '')}", "NO_COLOR": "1"}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "dpcore.cli", *words]

    def run(self, *words: str) -> str:
        done = subprocess.run(
            self.command(*words), cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stderr}")
        return done.stdout


def freeze(name: str) -> None:
    root = HERE.parents[2]
    with tempfile.TemporaryDirectory() as made:
        code, folder = Path(made) / "code", Path(made) / name
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", code, PAST[name]], cwd=root, check=True)
        try:
            folder.mkdir()
            write(Past(code, folder), has_collector=(code / "dpcore/collector").is_dir())
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", code], cwd=root, check=True)
        with tarfile.open(HERE / f"{name}.tar.xz", "w:xz", preset=9) as tar:
            for part in sorted(folder.iterdir()):
                tar.add(part, part.name)


def write(past: Past, has_collector: bool) -> None:
    folder, chance = past.folder, random.Random(1)
    (folder / "question.toml").write_text(TEXT, encoding="utf-8")
    rows = [f"P{number},{chance.choice(['car', 'train', 'foot'])},{chance.randrange(101)}" for number in range(60)]
    (folder / "people.csv").write_text("\n".join(["badge,mode,distance", *rows, ""]), encoding="utf-8")
    for reports in ("reports", "late"):
        past.run("privatize", "question.toml", "people.csv", reports)
    waits = ["--min-clients", "0"] if has_collector else []
    past.run("collect", "question.toml", "reports", "--round", "2026-11-20", "--data", "data", *waits)
    past.run("estimate", "question.toml", "--round", "2026-11-20", "--data", "data")
    said = {
        table: json.loads(past.run("query", sql, "--format", "json", "--warehouse", "data/warehouse.duckdb"))
        for table, sql in ASKED.items()
    }
    (folder / "said.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    for entry in (folder / "data").iterdir():  # runs, pictures, copies
        if entry.name != "warehouse.duckdb":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    if has_collector:
        past.run("privatize", "question.toml", "people.csv", "sent.jsonl", "--round", "2026-11-21")
        lines = (folder / "sent.jsonl").read_bytes().splitlines()
        take(past, lines[:40], "1")
        take(past, lines[40:], "3600")
        charged = "--key key --budget 8 --round 2026-11-21"
        (folder / "five.csv").write_text("\n".join(["badge,mode,distance", *rows[:5], ""]), encoding="utf-8")
        past.run(*f"privatize question.toml five.csv charged {charged} --person badge --ledger ledgers".split())
        (folder / "one.csv").write_text("mode,distance\ncar,7\n", encoding="utf-8")
        past.run(*f"privatize question.toml one.csv one.jsonl {charged} --ledger one".split())
        shutil.rmtree(folder / "charged")
        (folder / "one.jsonl").unlink()


def take(past: Past, lines: list[bytes], seconds: str) -> None:
    """Let a collector take reports, and kill it; one that seals within a second has."""
    words = past.command("serve", "question.toml", "--into", "collected", "--port", "0", "--seal-after", seconds)
    with subprocess.Popen(
        words, cwd=past.folder, env=past.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as collector:
        assert collector.stdout is not None
        while not (found := re.search(r"http://[^/\s]+", collector.stdout.readline())):
            pass
        for line in lines:
            url = f"{found[0]}/schemes/commute/reports"
            with urllib.request.urlopen(
                urllib.request.Request(url, line, {"Content-Type": "application/json"})
            ) as answer:
                assert answer.status == 201
        time.sleep(5 if seconds == "1" else 0)
        collector.send_signal(signal.SIGKILL)


if __name__ == "__main__":
    for past in sys.argv[1:] or PAST:
        freeze(past)
