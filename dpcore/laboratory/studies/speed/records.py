"""What people wait for who have a file of records: names read, beside integer codes; a file privatized; a round's fixed cost.

Five columns, three of texts and two of numbers, lie in one Parquet file. `ldpflow privatize` and `ldpflow run` are processes of
their own, imports and all; the kernels beside them draw the same reports from cells in memory, as secretly and, as such a
process does until it has been at it for long, without compiled loops. Names are read without them, too; what is read from
Parquet beside draws is privatized by them where that can be.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from dpcore import pipeline, populations
from dpcore._random import secure, seeded
from dpcore.errors import SchemeError
from dpcore.laboratory.studies.speed.clients import CATEGORIES, COMPILED, NAMES, WAVES, paths
from dpcore.laboratory.studies.speed.reports import ATTRIBUTE, scheme_of
from dpcore.laboratory.studies.speed.table import rate, row
from dpcore.mechanisms import _kernels
from dpcore.protocol.records.blocks import BLOCK, keep_memory
from dpcore.protocol.scheme import Scheme

CODES = "codes"
RATE, TO_CODES, DRAWS = "records_per_second", "to_codes", "to_pcg64"
SECONDS, KERNELS, PEAK = "processor_seconds", "to_kernels", "peak_bytes"
PARQUET, PRIVATIZE, ROUND = "parquet", "ldpflow privatize", "ldpflow run"
RECORDS, CLIENTS = 1_000_000, 100_000
SIZES, FULL = (1_000_000,), (1_000_000, 10_000_000)
_STARTED = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
_, status, used = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
_PLACES = {"pet": 4, "county": 16, "job": 64}  # texts, so many of each
_NUMBERS = ("income", "hours")
_CATEGORICAL = '[attributes.{name}]\ntype = "categorical"\nepsilon = 1\nmechanism = "randomized_response"\n'
_NUMERIC = '[attributes.{name}]\ntype = "numeric"\nepsilon = 1\nlower = 0\nupper = 1\n'


def measured(scheme: Path, repetitions: int, sizes: tuple[int, ...]) -> Iterator[pd.DataFrame]:
    """Yield the rows; scheme: the file of one whose people can be simulated; sizes: records in a file that is privatized."""
    yield _named(repetitions)
    yield _read(repetitions)
    with TemporaryDirectory() as folder:
        yield pd.DataFrame([line for n in sizes for line in _privatized(Path(folder), n)])
        yield _rounds(Path(folder), scheme, repetitions)


def _names(n: int, count: int) -> np.ndarray:
    return np.array([f"the name of {i}" for i in range(count)])[np.random.default_rng(2).integers(0, count, n)]


def _named(repetitions: int) -> pd.DataFrame:
    """Reports of one attribute of 64 categories, from the forms that its names may come in."""
    scheme = scheme_of("randomized_response")
    codes = np.random.default_rng(2).integers(0, CATEGORIES, RECORDS)
    texts = codes.astype(str)
    forms = {
        CODES: codes,
        "pandas text": pd.Series(texts, dtype="string"),
        "pandas categories": pd.Series(texts, dtype="category"),
        "numpy text": texts,
        "numpy objects": texts.astype(object),
        "list": texts.tolist(),
    }

    def speed(values: Any) -> float:
        with _kernels.compiled(False):
            return rate(lambda: pipeline.privatize(scheme, {ATTRIBUTE: values}, seeded(3)), RECORDS)

    turns = [{form: speed(values) for form, values in forms.items()} for _ in range(repetitions)]
    rates = {form: np.array([turn[form] for turn in turns]) for form in forms}
    make = partial(row, "randomized_response", clients=RECORDS)
    rows = [make(RATE, rates[form], parameters=form) for form in forms]
    return pd.DataFrame(
        [*rows, *(make(TO_CODES, rates[form] / rates[CODES], parameters=form) for form in forms if form != CODES)]
    )


def _read(repetitions: int) -> pd.DataFrame:
    """Reports of one attribute from texts or numbers in a Parquet file, beside as many draws."""
    draws = partial(np.random.Generator(np.random.PCG64(1)).integers, 0, 2**64, size=BLOCK, dtype=np.uint64)
    held = np.random.default_rng(2).integers(0, CATEGORIES, RECORDS)
    rows = []
    with TemporaryDirectory() as folder, _kernels.compiled(paths()[0] == COMPILED):
        for name in NAMES:
            scheme, file = scheme_of(name), Path(folder) / f"{name}.parquet"
            pd.DataFrame({ATTRIBUTE: held / CATEGORIES if name in WAVES else held.astype(str)}).to_parquet(file)

            def once(scheme: Scheme = scheme, file: Path = file) -> None:
                for index, block in enumerate(populations.read_blocks(file, scheme)):
                    pipeline.privatize(scheme, block, seeded(3), index)

            once()  # what is made once is made now
            ratios = [rate(once, RECORDS) / rate(draws, BLOCK) for _ in range(repetitions)]
            rows.append(row(name, DRAWS, ratios, parameters=PARQUET, clients=RECORDS))
    return pd.DataFrame(rows)


def five_questions() -> Scheme:
    """Return a scheme of three texts and two numbers."""
    texts = [
        _CATEGORICAL.format(name=name) + f"categories = {[f'the name of {i}' for i in range(count)]}\n"
        for name, count in _PLACES.items()
    ]
    numbers = [_NUMERIC.format(name=name) for name in _NUMBERS]
    return Scheme.from_toml('name = "five_questions"\nclients = 1_000_000\n' + "".join(texts + numbers))


def _privatized(folder: Path, n: int) -> Iterator[dict[str, Any]]:
    """One file of n records, privatized by the command: once, as it is many blocks."""
    scheme = five_questions()
    numbers = np.random.default_rng(3)
    table = pd.DataFrame({name: pd.Series(_names(n, count), dtype="category") for name, count in _PLACES.items()})
    table = table.assign(**{name: numbers.beta(2, 5, n) for name in _NUMBERS})
    records, written = folder / f"{n}.parquet", folder / "five_questions.toml"
    table.to_parquet(records)
    written.write_text(scheme.canonical, encoding="utf-8")
    cells = scheme.encode(table[:BLOCK])

    def draw() -> None:
        for name, attribute in scheme.attributes.items():
            attribute.mechanism.privatize(cells[name], secure())

    keep_memory()  # as the command does
    with _kernels.compiled(False):
        draw()  # tables that are made once are made now
        kernels = rate(draw, BLOCK)
    spent, peak = _command("privatize", str(written), str(records), str(folder / f"reports_{n}"))
    for metric, value in ((SECONDS, spent), (KERNELS, spent * kernels / n), (PEAK, peak)):
        yield row(PRIVATIZE, metric, [value], target=scheme.name, clients=n, epsilon=scheme.epsilon)


def _rounds(folder: Path, scheme: Path, repetitions: int) -> pd.DataFrame:
    spent = []
    for seed in range(repetitions):
        within = folder / str(seed)
        within.mkdir()
        words = ("--clients", str(CLIENTS), "--seed", str(seed), str(scheme.resolve()))
        spent.append(_command("run", *words, within=within)[0])
    return pd.DataFrame([row(ROUND, SECONDS, spent, target=scheme.stem, clients=CLIENTS)])


def _command(*words: str, within: Path | None = None) -> tuple[float, float]:
    """Return the processor's seconds and the most bytes of a command in a process of its own; SchemeError where it fails.

    A small process starts it: Linux includes the peak of the parent process.
    """
    line = [sys.executable, "-c", _STARTED, sys.executable, "-m", "dpcore.cli", *words]
    done = subprocess.run(line, cwd=within, capture_output=True, text=True, errors="replace", check=False)
    status, spent, most = map(float, (done.stdout.splitlines() or ["1 0 0"])[-1].split())
    if status:
        raise SchemeError(f"ldpflow {words[0]} failed: {done.stderr.strip() or '?'}")
    return spent, most * 1024
