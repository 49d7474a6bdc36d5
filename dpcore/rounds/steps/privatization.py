"""The first step: one report per record.  Real clients are charged before the first record is privatized."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from dpcore import populations, wire
from dpcore._random import secure
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.protocol.records.blocks import BLOCK, block_sizes, keep_memory, privatize, report_blocks
from dpcore.protocol.report import concatenate, with_ids
from dpcore.results import warehouse
from dpcore.results.tables import spending
from dpcore.rounds.run import Run, step

SHARD_BLOCKS = 2  # 131,072 clients: seconds of work, and at most a few hundred shards up to 25 million clients


def shards(run: Run) -> range:
    """Return the indices of a simulated round's shards."""
    blocks = len(block_sizes(run.plan.clients))
    return range(-(-blocks // SHARD_BLOCKS))


@step("privatize")
def privatize_shard(run: Run, shard: int) -> Path:
    """Simulate the clients of a shard, privatize their records, and return the file of their reports."""
    path = run.reports(shard)
    if not path.exists():
        keep_memory()
        scheme, clients = run.scheme, run.plan.clients
        blocks = range(shard * SHARD_BLOCKS, min(len(block_sizes(clients)), (shard + 1) * SHARD_BLOCKS))
        people = run.respondents
        batches = report_blocks(scheme, people, clients, run.random, blocks)
        wire.write_reports(path, scheme, concatenate(batch for _, batch in batches))
    return path


@step("privatize")
def privatize_records(run: Run) -> list[Path]:
    """Privatize each record of a file once and return the files of their reports.

    All records are checked before the first is privatized, so that an invalid one leaves no partial result.  The charges are
    written to the warehouse before that.
    """
    scheme, is_rehearsal = run.scheme, run.plan.is_rehearsal
    if is_rehearsal != (run.rehearsal_seed is not None):
        raise SchemeError("dry run: only the command with the seed can run it, and only a dry run has a seed")
    if run.privatized.exists():
        return [wire.location(path) for path in run.read_json(run.privatized.name)]
    keep_memory()
    records = wire.location(run.plan.input)
    n = 0
    for block in populations.read_blocks(records, scheme, size=BLOCK, dialect=run.plan.dialect):
        scheme.encode(block, n)
        n += len(block)
    if n == 0:
        raise InvalidRecord(f"{records}: no records; nothing was privatized")
    if not is_rehearsal:
        charge(run, {run.plan.run_id: run.plan.round})
    paths, random = [], run.random
    for index, block in enumerate(populations.read_blocks(records, scheme, size=BLOCK, dialect=run.plan.dialect)):
        path = run.reports(index)
        if not path.exists():
            reports = privatize(scheme, block, random, index)
            # Sorting by random ids removes the order of the records; a dry run gives no privacy, so it needs no ids.
            wire.write_reports(path, scheme, reports if is_rehearsal else with_ids(reports, secure()))
        paths.append(path)
    run.write_json(run.privatized.name, [str(path) for path in paths])
    return paths


def charge(run: Run, drawings: Mapping[str, str]) -> None:
    """Write the charges of real clients before noise is drawn; drawings: name -> round that it is for."""
    scheme = run.scheme
    asked: list[tuple[str, float, float, int | None]] = [("", scheme.epsilon, float(scheme.delta), None)]
    for name, attribute in scheme.attributes.items():
        asked.append((name, float(attribute.budget), float(attribute.delta), spending.states(attribute.mechanism)))
    stamp = {"scheme": scheme.name, "scheme_digest": scheme.digest, "source": run.plan.source}
    rows = pd.DataFrame(
        [(drawing, round_, *row) for drawing, round_ in drawings.items() for row in asked],
        columns=["drawing", "round", "attribute", "epsilon", "delta", "states"],
    )
    if len(rows):
        warehouse.charge(run.plan.warehouse, rows.assign(**stamp, states=rows["states"].astype("Int64")))
