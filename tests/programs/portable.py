"""`make portable`: the tests that compare floats, and rounds of the shipped schemes, as other processors compute them.

OpenBLAS has a kernel for each kind of processor and runs the one that OPENBLAS_CORETYPE names; numpy leaves out the
instructions that NPY_DISABLE_CPU_FEATURES names.  Under each, the quick tests that compare floats are run, and a round of
each shipped scheme is estimated from the same reports.  Printed is how far any estimate moved from this processor's own, in
standard errors (`tests/helpers/comparison.py`).  `--ci` takes the two kernels that differ most from the processor's own.
`--whole` runs all of `make test` under each kernel instead, one after another: four minutes each on a quiet machine.

What this processor cannot run is said and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
from numpy._core._multiarray_umath import (
    __cpu_dispatch__,
    __cpu_features__,
)  # what numpy's own test of the setting reads

from dpcore.results import warehouse
from tests.frozen import behaviour
from tests.helpers import comparison, undrawn
from tests.programs.shaken import FLOWS, QUICK, tried

ROOT = Path(__file__).parents[2]
# Each kernel and the instructions without which it stops: of Zen those of Haswell.
KERNELS = {"Nehalem": "SSE42", "Sandybridge": "AVX", "Haswell": "AVX2", "Zen": "AVX2", "SkylakeX": "AVX512_SKX"}
PLAIN = "numpy without extensions"
PARTS = {"quick": QUICK, "flows": [*QUICK[:4], *FLOWS]}
_COMPARES = re.compile(r"\b(approx|allclose|isclose|assert_allclose)\b|behaviour\.differences")
_SCHEMES: dict[str, dict[str, object]] = {
    "consumer_expenditure": {"clients": 30_000},
    "health_insurance": {"records": ROOT / "data/samples/health_insurance.parquet"},
    "schooling_and_wages": {"records": ROOT / "data/samples/cps_1988.parquet"},
    "current_population": {
        "records": ROOT / "data/samples/cps_1988.parquet",
        "margins": ROOT / "data/margins/current_population.csv",
    },
}


def surroundings(is_ci: bool) -> dict[str, dict[str, str]]:
    """Return what to set for each processor that is played, by name."""
    runs = [name for name, needed in KERNELS.items() if __cpu_features__.get(needed)]
    if (
        is_ci
    ):  # the oldest has neither AVX nor fused products; the widest but the processor's own adds up in other blocks
        runs = [runs[0], "Haswell" if "SkylakeX" in runs else "Sandybridge"] if len(runs) > 2 else runs
    played = {name: {"OPENBLAS_CORETYPE": name} for name in runs}
    disabled = " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
    if disabled and not is_ci:
        played[PLAIN] = {"NPY_DISABLE_CPU_FEATURES": disabled}
    return played


def tests() -> list[str]:
    """Return the files of tests that compare floats."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in files if _COMPARES.search(file.read_text(encoding="utf-8"))]


def estimates(path: Path) -> None:
    """Estimate a round of each shipped scheme from the same reports, and write every table that landed."""
    landed = {}
    for name, given in _SCHEMES.items():
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder)
            scheme = ROOT / f"data/schemes/{name}.toml"
            undrawn.run(scheme, round_="2026-11-20", seed=7, data=data, **given)
            (file,) = [*data.glob(f"runs/*/{warehouse.REHEARSAL}")] or [data / "warehouse.duckdb"]
            with duckdb.connect(str(file), read_only=True) as ask:
                (run_id,) = ask.execute("select distinct run_id from runs").fetchone() or ("",)
                landed[name] = behaviour.tables(ask, {run_id: "(run)", folder: "FOLDER"})
    path.write_text(json.dumps(landed), encoding="utf-8")


def moved(before: behaviour.Document, after: behaviour.Document) -> tuple[float, str]:
    """Return the most that a number moved, in standard errors or in tolerances of what has none, and which it is."""
    most, where = 0.0, "nothing"
    for section, table in before.items():
        if len(table["rows"]) != len(after[section]["rows"]):
            return float("inf"), f"{section} has other rows"
        columns = table["columns"]
        for number, column, _, _, tolerances in comparison.movements(
            section, columns, table["rows"], after[section]["rows"]
        ):
            if tolerances * comparison.SHARE > most:
                most, where = tolerances * comparison.SHARE, f"{section}, row {number}, {column}"
    return most, where


def _played(name: str, changed: Mapping[str, str], folder: Path, with_tests: bool) -> bool:
    """Run rounds and tests as another processor, print how it went, and return whether all is well."""
    environment = os.environ | changed
    written = folder / f"{name}.json"
    command = [sys.executable, "-m", "tests.programs.portable", "--estimates", str(written)]
    rounds = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if rounds.returncode:
        print(f"{name}: the rounds ended with {rounds.returncode}: {rounds.stderr.strip()[-500:]}", flush=True)
        return False
    if not with_tests:
        return True
    command = [sys.executable, "-m", "pytest", "-m", "not slow and not flows", "-p", "no:cacheprovider", *tests()]
    return tried(name, command, cwd=ROOT, env=environment)


def _tested(name: str, part: str, environment: Mapping[str, str]) -> bool:
    """Run a part of `make test`, print how it went, and return whether it passed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *PARTS[part]]
    return tried(f"{name}, {part}", command, cwd=ROOT, env=environment)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ci", action="store_true", help="the two kernels that differ most from this processor's own")
    parser.add_argument("--estimates", type=Path, help=argparse.SUPPRESS)  # what a child process is asked for
    parser.add_argument("--whole", action="store_true", help="all of `make test` under each kernel")
    options = parser.parse_args(arguments)
    if options.estimates:
        estimates(options.estimates)
        return 0
    played = surroundings(options.ci)
    for name in () if options.ci else KERNELS.keys() - played.keys():
        print(f"{name}: skipped, this processor has no {KERNELS[name]}")
    if options.whole:
        passed = [_tested(name, part, os.environ | played[name]) for name in played for part in PARTS]
        return 0 if all(passed) else 1
    is_well = True
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        jobs = {"own": pool.submit(_played, "own", {}, Path(folder), False)}
        jobs |= {name: pool.submit(_played, name, changed, Path(folder), True) for name, changed in played.items()}
        for job in jobs.values():
            is_well &= job.result()
        landed = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).glob("*.json")}
    print("\nlargest movement from this processor's own estimates, in standard errors")
    for name in played if "own" in landed else ():
        for scheme in _SCHEMES if name in landed else ():
            most, where = moved(landed["own"][scheme], landed[name][scheme])
            is_well &= most <= comparison.SHARE
            print(f"{name:26}{scheme:24}{most:10.1e}  {where}")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
