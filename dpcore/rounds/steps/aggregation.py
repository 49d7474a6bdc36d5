"""The second step: sums of each file of reports, and their merged total."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

from dpcore import pipeline, wire
from dpcore.errors import InvalidReport
from dpcore.protocol.aggregates import Aggregate
from dpcore.rounds.run import Run, step
from dpcore.rounds.steps.collected_files import left_out_of, positions


@step("aggregate")
def aggregate_file(run: Run, reports: Path) -> Path:
    """Aggregate one file of reports, with the counts of rejected reports, and return the file of the aggregate.

    If landing has deleted the reports, the existing aggregate is used.
    """
    scheme, path = run.scheme, run.part(reports)
    try:
        without = left_out_of(run).get(reports, {})
        aggregate = pipeline.aggregate_parts(scheme, wire.read_parts(reports, scheme, without=positions(without)))
        excluded = Counter({reason: len(at) for reason, at in without.items()})
        rejected = Counter(wire.read_refused(reports, scheme)) + excluded
        examples = {reason: at[0] for reason, at in without.items()}
        wire.write_aggregate(
            path, aggregate.merge(replace(Aggregate.zero(scheme), rejected=dict(rejected), examples=examples))
        )
    except InvalidReport:
        if reports.exists() or not path.exists():
            raise
    return path


@step("merge")
def merge(run: Run, parts: list[Path]) -> Path:
    """Merge the distinct aggregates of all parts and return the file of the total."""
    return _merge(run, parts, run.aggregate)


@step("merge")
def merge_some(run: Run, parts: list[Path]) -> Path:
    """Merge the distinct aggregates of some parts and return the file of their sum, for another merge."""
    named = hashlib.sha256("\n".join(sorted(part.name for part in parts)).encode()).hexdigest()[:16]
    return _merge(run, parts, run.folder / "merged" / f"{named}.parquet")


def _merge(run: Run, parts: list[Path], path: Path) -> Path:
    scheme = run.scheme
    total = Aggregate.zero(scheme)
    for part in sorted(set(parts)):
        total = total.merge(wire.read_aggregate(part, scheme))
    wire.write_aggregate(path, total)
    return path
