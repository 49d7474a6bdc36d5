"""Reports aggregated per second: in memory beside numpy's bincount, from Parquet beside DuckDB's own group-by of the same file.

In memory are counted both the statistics alone and all that an aggregate does: who answered, what is refused and why.  The
bincount is of as many integers as the reports hold: where a report is one, its place in the statistics, with its level's, made
beforehand; where it is several, these themselves, but of a unary report's words the lowest six bits.  From Parquet a file of
reports becomes an aggregate as a round's step makes it one, validation included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from dpcore import pipeline, wire
from dpcore._random import seeded
from dpcore.laboratory.studies.speed.clients import CATEGORIES, COMPILED, COUNTED, WAVES, paths
from dpcore.laboratory.studies.speed.table import BASELINE, EPSILON, rate, row
from dpcore.mechanisms import UnaryEncoding, _kernels
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.records.blocks import BLOCK
from dpcore.protocol.report import ReportBatch
from dpcore.protocol.scheme import Scheme
from dpcore.wire.parquet_reports import PART, report_schema

BLOCKS = 32  # of 65,536 reports in the file: two million
IN_MEMORY = PART // BLOCK  # blocks, of as many reports as a round reads at a time
ATTRIBUTE = "x"
RATE, BINCOUNT, DUCKDB = "reports_per_second", "to_bincount", "to_duckdb"
BASE, OTHER = "bincount", "duckdb"
STATISTICS, AGGREGATE, FILE = "statistics", "aggregate", "parquet"

# Counts the groups of a file's rows by some columns, of a list by its first integer.
CountBy = Callable[[Path, Sequence[str]], int]


def scheme_of(name: str) -> Scheme:
    """Return a scheme of one attribute with this mechanism, at epsilon 1, as `clients.mechanisms` has it."""
    lines = f'name = "speed"\nclients = 1_000_000\n[attributes.{ATTRIBUTE}]\nepsilon = 1\nmechanism = "{name}"\n'
    if name in WAVES:
        return Scheme.from_toml(f'{lines}type = "numeric"\nlower = 0\nupper = 1\n')
    categories = ", ".join(f'"{i}"' for i in range(CATEGORIES))
    return Scheme.from_toml(f'{lines}type = "categorical"\ncategories = [{categories}]\n')


def measured(repetitions: int, count_by: CountBy | None) -> Iterator[pd.DataFrame]:
    """Yield rows, mechanism by mechanism, compiled where that can be; count_by: None where DuckDB is not to be measured."""
    for name in COUNTED:
        scheme = scheme_of(name)
        with TemporaryDirectory() as folder, _kernels.compiled(paths()[0] == COMPILED):
            in_memory = _in_memory(name, scheme, repetitions)
            from_file = _from_file(name, scheme, Path(folder) / "reports.parquet", repetitions, count_by)
        yield pd.concat([in_memory, from_file], ignore_index=True)


def _batch(scheme: Scheme, blocks: int) -> ReportBatch:
    attribute = scheme.attributes[ATTRIBUTE]
    inputs = attribute.mechanism.inputs
    values = np.random.default_rng(2).integers(0, inputs, BLOCK * blocks)
    column = (values + 0.5) / inputs if attribute.is_numeric else values.astype(str)
    return pipeline.privatize(scheme, {ATTRIBUTE: column}, seeded(3))


def _in_memory(name: str, scheme: Scheme, repetitions: int) -> pd.DataFrame:
    batch = _batch(scheme, IN_MEMORY)
    mechanism, reports = scheme.attributes[ATTRIBUTE].mechanism, batch.of(ATTRIBUTE).reports
    sizes = np.bincount(mechanism.labels().level)  # statistics of each level
    keys = reports.values + (np.cumsum(sizes) - sizes)[reports.level] if len(sizes) > 1 else reports.values
    if name == UnaryEncoding.name:
        keys = keys % CATEGORIES
    operations = {
        BASE: lambda: np.bincount(keys, minlength=sizes.sum()),
        STATISTICS: lambda: mechanism.statistics(reports),
        AGGREGATE: lambda: pipeline.aggregate(scheme, batch),
    }
    return _compared(name, operations, BASE, BINCOUNT, len(reports), repetitions)


def _from_file(name: str, scheme: Scheme, file: Path, repetitions: int, count_by: CountBy | None) -> pd.DataFrame:
    wire.write_reports(file, scheme, _batch(scheme, BLOCKS))
    held = report_schema(scheme).names
    columns = [column for column in (f"{ATTRIBUTE}_level", f"{ATTRIBUTE}_values", ATTRIBUTE) if column in held]
    operations: dict[str, Callable[[], object]] = {FILE: lambda: _aggregated(scheme, file)}
    if count_by is not None:
        operations = {OTHER: lambda: count_by(file, columns)} | operations
    return _compared(name, operations, OTHER, DUCKDB, BLOCK * BLOCKS, repetitions)


def _aggregated(scheme: Scheme, file: Path) -> Aggregate:
    return pipeline.aggregate_parts(scheme, wire.read_parts(file, scheme))


def _compared(
    name: str,
    operations: dict[str, Callable[[], object]],
    base: str,
    metric: str,
    n: int,
    repetitions: int,
) -> pd.DataFrame:
    """Rates of some operations on n reports, and the ratio of each to one of them."""
    for operation in operations.values():
        operation()  # what is made once is made now
    measured = [{key: rate(operation, n) for key, operation in operations.items()} for _ in range(repetitions)]
    rates = {key: np.array([turn[key] for turn in measured]) for key in operations}
    rows = [
        row(name, RATE, speeds, parameters=key, clients=n, epsilon=BASELINE if key == base else EPSILON)
        for key, speeds in rates.items()
    ]
    if base in rates:
        ratios = {key: speeds / rates[base] for key, speeds in rates.items() if key != base}
        rows += [row(name, metric, ratio, parameters=key, clients=n) for key, ratio in ratios.items()]
    return pd.DataFrame(rows)
