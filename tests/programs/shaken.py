"""`make shaken`: quick tests and flows where a test that rests on order, speed or the day fails, and the code does not.

In random order, on one core, beside two processes that do nothing as fast as they can, and late on a leap day in the zone
that is farthest ahead, quick tests alone: a server's day would be another.  `--times N` runs each way so often; `as it is` is
one of them.  What fails without a bug is a defect: its cause is found and named in `dpcore/DECISIONS.md`.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
QUICK = ["-n", "2", "--dist", "loadfile", "-m", "not slow and not flows"]
FLOWS = ["-m", "flows and not slow"]
Command = list[str]


@contextmanager
def busy() -> Iterator[None]:
    """Two processes that take whatever they are given."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def in_random_order(command: Command) -> Command:
    return [*command, "--random-order", f"--random-order-seed={random.randrange(10**6)}"]


def on_one_core(command: Command) -> Command:
    return ["taskset", "--cpu-list", "0", *command]


def on_a_leap_day(command: Command) -> Command:
    return ["env", "TZ=Pacific/Kiritimati", *command, "-p", "tests.helpers.leap_day"]


WAYS: dict[str, tuple[Callable[[Command], Command], Callable[[], AbstractContextManager[None]]]] = {
    "as it is": (lambda command: command, nullcontext),
    "in random order": (in_random_order, nullcontext),
    "on one core": (on_one_core, nullcontext),
    "beside two busy processes": (lambda command: command, busy),
    "on a leap day": (on_a_leap_day, nullcontext),
}


def tried(name: str, command: Command, **given: Any) -> bool:
    """Run tests, print one line on how it went, and return whether they passed; else name the failures and keep the output."""
    began = time.monotonic()
    said = subprocess.run(command, capture_output=True, text=True, check=False, **given)
    lines = said.stdout.strip().splitlines() or ["no output"]
    last = next((line for line in reversed(lines) if re.search(r"\d (passed|failed|error)", line)), lines[-1])
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    print("\n".join([f"{name}: {last.strip('= ')} ({time.monotonic() - began:.0f} s)", *failed]), flush=True)
    if said.returncode:
        log = ROOT / "build" / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.txt"
        log.parent.mkdir(exist_ok=True)
        log.write_text(" ".join(command) + "\n" + said.stdout + said.stderr, encoding="utf-8")
        print(f"  see {os.path.relpath(log)}", flush=True)
    return said.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ways", nargs="*", help=f"of {', '.join(WAYS)}; default: all but the first")
    parser.add_argument("--times", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.ways) - set(WAYS):
        print(f"ways are {', '.join(WAYS)}; got {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    went_well = []
    for way in options.ways or [*WAYS][1:]:
        changed, beside = WAYS[way]
        parts = {"quick": QUICK} if changed is on_a_leap_day else {"quick": QUICK, "flows": FLOWS}
        for number in range(options.times):
            for name, tests in parts.items():
                with beside():
                    command = changed([sys.executable, "-m", "pytest", *tests])
                    went_well.append(tried(f"{way} {number + 1}, {name}", command, cwd=ROOT))
    return 0 if all(went_well) else 1


if __name__ == "__main__":
    sys.exit(main())
