"""The stages of a round, with files between them: what the command line and the flows both call.

    prepare -> privatize (shards) -> aggregate (shards) -> merge -> estimate -> compare -> draw -> land

A run has a folder, DATA/runs/RUN_ID.  Every stage reads files there, writes files there whole or not at all, and may be run
again: a shard of reports that stands is kept, so that a retry neither counts a client twice nor spends its budget twice.
What people are asked, that a round waits and what it found is written to the warehouse; `compare` reads an earlier round there.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpcore import pipeline, populations, wire
from dpcore._random import Source, secure, seeded
from dpcore.errors import InvalidRecord, InvalidReport, NotEstimable, SchemeError, TooFewClients
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.report import concatenate, with_ids
from dpcore.protocol.scheme import Scheme, check_clients
from dpcore.protocol.tokens import NAME_BYTES
from dpcore.results import account as spending
from dpcore.results import changes, warehouse
from dpcore.results.tables import Line, summary, tables_of
from dpcore.wire import inbox
from dpcore.wire.ids import among

DEFAULT_SCHEME = Path("data/schemes/consumer_expenditure.toml")
DEFAULT_DATA = Path("data/var")
MIN_CLIENTS = 50  # a smaller round of real people, or a group of one, says little and is nearly its people's reports
SHARD_BLOCKS = 2  # 131,072 clients: seconds of work, and at most a few hundred shards up to 25 million clients
_ROUND_LENGTH = 64
_TRIAL = "0-trial"  # of its round's name, which thus sorts before every day


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything a run's stages need to know; kept as `plan.json` beside the canonical scheme.

    seed: of simulated people; None with real ones.  is_rehearsal: real records under a known seed, which is written nowhere.
    is_trial: simulated people who try something out, under a round's name of their own.
    min_clients: a round of fewer waits: nothing lands, and the reports are kept.
    again: whether the run may take the place of another that has landed for its round.
    source: 'simulated' people, a file of real 'records', or a folder of 'reports' that clients sent; `input` is that file or
    folder.
    """

    run_id: str
    scheme_file: str
    round: str
    source: str
    input: str
    clients: int
    seed: int | None
    warehouse: str
    figures: str
    keep_reports: bool
    started_at: str
    flow_run_id: str | None
    min_clients: int = 0
    again: bool = False
    is_trial: bool = False
    is_rehearsal: bool = False

    @property
    def scheme(self) -> Scheme:
        return _scheme(wire.location(self.scheme_file).read_text(encoding="utf-8"))

    @property
    def random(self) -> Source:
        return secure() if self.seed is None else seeded(self.seed)


@lru_cache(maxsize=8)
def _scheme(text: str) -> Scheme:
    return Scheme.from_toml(text)


def today() -> str:
    """Return today's round: the UTC date."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def round_of(
    day: str, *, clients: int | None = None, seed: int | None = None, records: object = None, reports: object = None
) -> str:
    """Return the name of a round that is given none: the day's or, where simulated people's number or seed is given, a trial's.

    >>> round_of("2026-11-20"), round_of("2026-11-20", clients=500), round_of("2026-11-20", clients=500, seed=7)
    ('2026-11-20', '0-trial-500', '0-trial-500-seed-7')
    """
    if records is not None or reports is not None or clients is seed is None:
        return day
    return "-".join([_TRIAL, *([] if clients is None else [str(clients)]), *([] if seed is None else [f"seed-{seed}"])])


def seed_of(round_: str) -> int:
    """Return the seed that simulated people have in a round unless another is given: the same wherever it is run."""
    return int.from_bytes(hashlib.sha256(round_.encode()).digest()[:4], "big")


def prepare(
    scheme: Path,
    *,
    round_: str | None = None,
    day: str | None = None,
    clients: int | None = None,
    records: Path | None = None,
    reports: Path | None = None,
    seed: int | None = None,
    data: Path = DEFAULT_DATA,
    warehouse_file: Path | None = None,
    keep_reports: bool = False,
    min_clients: int | None = None,
    again: bool = False,
    flow_run_id: str | None = None,
) -> Path:
    """Check everything that can be checked before work starts, and return the run's folder.

    round_: as `round_of` says where None; day: the day's round, today's where None.
    data, records, reports: folders and files of this machine or URLs that fsspec knows; the warehouse and pictures are here.
    seed: with records a rehearsal, of which the warehouse is a file in the run's folder; `privatize_records` wants it again.
    min_clients: 50 of real people where None; simulated ones never wait then.
    again: whether the run may take the place of one that has landed for the round; of reports, it takes those that came since.
    Raises SchemeError, InvalidRecord, InvalidReport, or AlreadyLanded, with nothing written.
    """
    data = wire.location(data)
    records, reports = (None if path is None else wire.location(path) for path in (records, reports))
    if warehouse_file is None and not wire.is_here(data):
        raise SchemeError(f"the warehouse is a file of this machine; with data at {data}, name it with --warehouse")
    parsed = Scheme.from_toml(scheme)
    pipeline.check_estimates(parsed)
    if records is not None and reports is not None:
        raise SchemeError("a round is of records or of reports that clients sent, got both; leave one out")
    source = "records" if records is not None else "reports" if reports is not None else "simulated"
    named, day = round_, day or today()
    own = round_of(day, clients=clients, seed=seed, records=records, reports=reports)
    round_ = named or own
    is_trial, is_rehearsal = own != day and named in (None, own), source != "simulated" and seed is not None
    if round_.startswith(_TRIAL) and not is_trial:
        raise SchemeError(
            f"a round that begins with {_TRIAL} is a trial's of simulated people, got {round_!r}; name another"
        )
    if not 0 < len(round_) <= _ROUND_LENGTH or not round_.isprintable():
        raise SchemeError(f"round must be a text of 1 to {_ROUND_LENGTH} characters, such as {today()}, got {round_!r}")
    if is_rehearsal and (reports is not None or flow_run_id is not None):
        raise SchemeError(
            "a seed is for simulated people, or for a rehearsal of `ldpflow run --records`, which no flow is; leave it out"
        )
    if is_rehearsal and (warehouse_file is not None or not wire.is_here(data)):
        raise SchemeError(
            "a rehearsal lands in its own folder of this machine and nowhere else; leave the warehouse out, and let data be a "
            "folder"
        )
    if source == "simulated":
        populations.by_scheme(parsed.name)  # refuses a scheme nobody can be simulated for
        clients = parsed.clients if clients is None else clients
        seed = seed_of(round_) if seed is None else seed
        check_clients(clients)
    elif clients is not None:
        raise SchemeError(f"clients is for simulated people; with {source}, every one of them is one client")
    if records is not None:
        next(populations.read_blocks(records, parsed))  # refuses what is not a file of the scheme's columns
    if seed is not None and not 0 <= seed < 2**63:
        raise SchemeError(f"seed must be a whole number between 0 and 2^63 - 1, got {seed}")
    if min_clients is None:
        min_clients = 0 if source == "simulated" else MIN_CLIENTS
    elif min_clients < 0:
        raise SchemeError(f"min_clients must be 0 or more, got {min_clients}")
    landing = warehouse_file or data / "warehouse.duckdb"
    batches: list[inbox.Batch] = []
    counted: dict[str, str] = {}
    if reports is not None:
        batches, salt, counted = _due(parsed, round_, reports, landing, data, again=again)
    elif source == "simulated":  # a smaller round is another run
        salt = f"{seed} {clients}" if clients != parsed.clients else str(seed)
    else:  # not of a rehearsal's seed: the run_id would give it away, and two rehearsals would share shards
        salt = flow_run_id or secrets.token_hex(16)
    run_id = warehouse.run_id(parsed.digest, round_, salt)
    folder = (data / "runs" / run_id).absolute()
    pictures = (data if wire.is_here(data) else landing.parent) / "figures" / run_id
    if is_rehearsal:
        landing, pictures = folder / warehouse.REHEARSAL, folder / "figures"
        _make(data, folder)
    plan = Plan(
        run_id=run_id,
        scheme_file=str(folder / "scheme.toml"),
        round=round_,
        source=source,
        input=str((records or reports or Path()).absolute()) if source != "simulated" else "",
        clients=clients or 0,
        seed=None if is_rehearsal else seed,
        warehouse=str(landing.absolute()),
        figures=str(pictures.absolute()),
        keep_reports=keep_reports,
        started_at=datetime.now(UTC).isoformat(),
        flow_run_id=flow_run_id,
        min_clients=min_clients,
        again=again or is_trial,
        is_trial=is_trial,
        is_rehearsal=is_rehearsal,
    )
    with warehouse.open_for_writing(landing) as connection:  # what is no warehouse is refused before anyone reports
        warehouse.check_free(connection, _claim(plan, parsed))
    _make(data, folder)
    _write(folder / "scheme.toml", parsed.canonical)
    if reports is not None:
        _write(folder / "batches.json", json.dumps([asdict(batch) for batch in batches], indent=1))
        _leave_out(folder, data, parsed, round_, counted)
        _charge(plan, parsed, {batch.file: batch.sent_for or round_ for batch in batches})
    _keep(folder, plan)
    return folder


def _keep(folder: Path, plan: Plan) -> None:
    _write(folder / "plan.json", json.dumps(asdict(plan), indent=1))


def _make(data: Path, folder: Path) -> None:
    """Make a run's folder, into which its owner alone can look; pictures and the warehouse, beside it, are for others, too."""
    if not wire.is_here(data):
        return
    data.mkdir(parents=True, exist_ok=True)
    for made in (folder.parent, folder):
        wire.private_folder(made)
    if folder.stat().st_mode & 0o077:  # an older ldpflow made it
        folder.chmod(0o700)


def _due(
    scheme: Scheme, round_: str, reports: Path, landing: Path, data: Path, *, again: bool
) -> tuple[list[inbox.Batch], str, dict[str, str]]:
    """The files that a round takes, the salt of its run, which is their content, and what landed rounds have counted."""
    found = inbox.batches_of(reports, scheme)
    counted = warehouse.counted_files(landing, scheme.digest)
    batches = inbox.due(found, round_, counted, again=again)
    files = {file for file, by in counted.items() if by == round_}
    gone = files - {batch.file for batch in batches}
    if gone:  # the round has landed; where the owner has deleted its files since, their aggregates stand
        salt = inbox.content_of(files)
        run = data / "runs" / warehouse.run_id(scheme.digest, round_, salt)
        if again or not (run / "batches.json").exists():
            raise InvalidReport(
                f"round {round_} has landed, and {len(gone)} of the {len(files)} files it counted are gone from {reports}; "
                "put them back, or leave the round as it is"
            )
        return batches_of(run), salt, counted
    if not batches:
        raise inbox.nothing_due(reports, round_, found, counted)
    return batches, inbox.content_of(batch.file for batch in batches), counted


def _claim(plan: Plan, scheme: Scheme) -> warehouse.Claim:
    return warehouse.Claim(
        run_id=plan.run_id,
        scheme=scheme.name,
        round=plan.round,
        source=plan.source,
        again=plan.again,
        flow_run_id=plan.flow_run_id,
    )


def _charge(plan: Plan, scheme: Scheme, drawings: Mapping[str, str]) -> None:
    """Write down that real people are asked, before anything is drawn; drawings: name -> the round it is drawn for."""
    asked: list[tuple[str, float, float, int | None]] = [("", scheme.epsilon, float(scheme.delta), None)]
    for name, attribute in scheme.attributes.items():
        asked.append((name, float(attribute.budget), float(attribute.delta), spending.states(attribute.mechanism)))
    of = {"scheme": scheme.name, "scheme_digest": scheme.digest, "source": plan.source}
    rows = pd.DataFrame(
        [(drawing, round_, *each) for drawing, round_ in drawings.items() for each in asked],
        columns=["drawing", "round", "attribute", "epsilon", "delta", "states"],
    )
    if len(rows):
        warehouse.charge(plan.warehouse, rows.assign(**of, states=rows["states"].astype("Int64")))


def _leave_out(folder: Path, data: Path, scheme: Scheme, round_: str, counted: Mapping[str, str]) -> None:
    """Write down which reports a run leaves out, and the ids that it counts, for the rounds that come after it has landed.

    counted: file -> the landed round that counted it.  Where the owner has deleted the files since, what was written stands.
    """
    batches = batches_of(folder)
    if not all(file.exists() for file in collected(folder)):
        return
    before = sorted(counted.keys() - {batch.file for batch in batches})
    found, kept = inbox.left_out(batches, round_, _counted_ids(data, scheme, before))
    _write(folder / "left_out.json", json.dumps({"before": before, "left_out": found}))
    for file, ids in kept.items():
        if len(ids):
            wire.private_folder(data / "counted")
            wire.write_bytes(_ids_file(data, scheme, file), ids.tobytes(), private=True)


def _counted_ids(data: Path, scheme: Scheme, files: Iterable[str]) -> Iterator[np.ndarray]:
    """The ids, (n, 16) uint8 each, that were counted of some files."""
    for path in (_ids_file(data, scheme, file) for file in files):
        if path.exists():
            yield np.frombuffer(path.read_bytes(), dtype=np.uint8).reshape(-1, NAME_BYTES)


def _ids_file(data: Path, scheme: Scheme, file: str) -> Path:
    return data / "counted" / scheme.digest[:16] / f"{file}.ids"


def _check_not_overtaken(folder: Path, plan: Plan) -> None:
    """Raise InvalidReport where a round that has landed since a run was prepared has counted one of its reports."""
    named, own, data = folder / "left_out.json", {batch.file for batch in batches_of(folder)}, folder.parent.parent
    if not named.exists():
        return
    before = json.loads(named.read_text(encoding="utf-8"))["before"]
    since = warehouse.counted_files(plan.warehouse, plan.scheme.digest).keys() - own - set(before)
    if not since:
        return
    ids = np.concatenate([np.zeros((0, NAME_BYTES), np.uint8), *_counted_ids(data, plan.scheme, sorted(own))])
    shared = int(among(ids, _counted_ids(data, plan.scheme, sorted(since))).sum())
    if shared:
        raise InvalidReport(
            f"round {plan.round} was overtaken: a round that landed since has counted {shared:,} of its reports; run it again"
        )


def left_out_of(folder: Path) -> dict[Path, dict[str, list[int]]]:
    """Return which reports a run leaves out: file -> reason -> positions; files of which it leaves out none are missing."""
    named = folder / "left_out.json"
    found = json.loads(named.read_text(encoding="utf-8"))["left_out"] if named.exists() else {}
    return {wire.location(batch.path): found[batch.file] for batch in batches_of(folder) if batch.file in found}


def batches_of(folder: Path) -> list[inbox.Batch]:
    """Return the collected files of reports that a run counts, [] of any other run."""
    named = folder / "batches.json"
    return [inbox.Batch(**batch) for batch in json.loads(named.read_text(encoding="utf-8"))] if named.exists() else []


def collected(folder: Path) -> list[Path]:
    """Return the files of reports that clients sent and that a run counts."""
    return [wire.location(batch.path) for batch in batches_of(folder)]


def newest(scheme: Scheme, round_: str, data: Path = DEFAULT_DATA) -> Path:
    """Return the folder of the newest run of a scheme's round that has an aggregate, of real people where there are any.

    A rehearsal is none.  Raises NotEstimable without one.
    """
    found = []
    for path in (wire.location(data) / "runs").glob("*/aggregate.parquet"):
        plan = plan_of(path.parent)
        if plan.round == round_ and plan.scheme.digest == scheme.digest and not plan.is_rehearsal:
            found.append((plan.source != "simulated", plan.started_at, path.parent))
    if not found:
        raise NotEstimable(f"round {round_} of scheme {scheme.name} has no aggregate; run or collect it first")
    return max(found)[-1]


def plan_of(folder: Path) -> Plan:
    """Return the plan of a run's folder."""
    if not (folder / "plan.json").exists():
        raise SchemeError(f"{folder} is not a run's folder; prepare makes one")
    plan = Plan(**json.loads((folder / "plan.json").read_text(encoding="utf-8")))
    if plan.source == "records" and plan.seed is not None:  # an older ldpflow's rehearsal, which is to land no more
        return replace(plan, seed=None, is_rehearsal=True)
    return plan


def shards(folder: Path) -> range:
    """Return the numbers of a simulated round's shards."""
    blocks = len(pipeline.block_sizes(plan_of(folder).clients))
    return range(-(-blocks // SHARD_BLOCKS))


def privatize_shard(folder: Path, shard: int) -> Path:
    """Simulate a shard's people, let each privatize its record, and return the file of their reports."""
    path = _reports_file(folder, shard)
    if not path.exists():
        plan = plan_of(folder)
        scheme = plan.scheme
        sizes = pipeline.block_sizes(plan.clients)
        blocks = range(shard * SHARD_BLOCKS, min(len(sizes), (shard + 1) * SHARD_BLOCKS))
        people = populations.by_scheme(scheme.name)
        batches = pipeline.report_blocks(scheme, people, plan.clients, plan.random, blocks)
        wire.write_reports(path, scheme, concatenate(batch for _, batch in batches))
    return path


def privatize_records(
    folder: Path, progress: Callable[[int], None] | None = None, *, seed: int | None = None
) -> list[Path]:
    """Privatize a file of real records, each once, and return the files of their reports.

    Every record is checked before the first is privatized, so that a bad one leaves nothing half-made; and what their people
    spend is in the warehouse before that.  seed: of a rehearsal, which is written nowhere.
    """
    plan = plan_of(folder)
    scheme = plan.scheme
    if plan.is_rehearsal != (seed is not None):
        raise SchemeError("a rehearsal is carried out by the command that was given its seed, and nothing else has one")
    random = secure() if seed is None else seeded(seed)
    done = folder / "privatized.json"  # outlives the reports: a run retried after landing privatizes nobody again
    if done.exists():
        return [wire.location(path) for path in json.loads(done.read_text(encoding="utf-8"))]
    records = wire.location(plan.input)
    n = 0
    for block in populations.read_blocks(records, scheme, size=pipeline.BLOCK):
        scheme.encode(block, n)
        n += len(block)
    if n == 0:
        raise InvalidRecord(f"{records} holds no records; nothing was privatized")
    if not plan.is_rehearsal:
        _charge(plan, scheme, {plan.run_id: plan.round})
    paths = []
    for index, block in enumerate(populations.read_blocks(records, scheme, size=pipeline.BLOCK)):
        path = _reports_file(folder, index)
        if not path.exists():
            reports = pipeline.privatize(scheme, block, random, index)
            # Ids sort a file, so that none has the order of the records; a rehearsal's noise can be undone all the same.
            wire.write_reports(path, scheme, reports if plan.is_rehearsal else with_ids(reports, secure()))
        paths.append(path)
        if progress is not None:
            progress(len(block))
    _write(done, json.dumps([str(path) for path in paths]))
    return paths


def aggregate_shard(folder: Path, reports: Path) -> Path:
    """Aggregate one file of reports, with what its collector refused, and return the file of the aggregate.

    Where landing deleted the reports, it stands.
    """
    scheme = plan_of(folder).scheme
    path = folder / "aggregates" / reports.name
    try:
        without = left_out_of(folder).get(reports, {})
        found = pipeline.aggregate_parts(scheme, wire.read_parts(reports, scheme, without=_positions(without)))
        rejected = Counter(wire.read_refused(reports, scheme)) + Counter({why: len(of) for why, of in without.items()})
        examples = {why: of[0] for why, of in without.items()}
        wire.write_aggregate(
            path, found.merge(replace(Aggregate.zero(scheme), rejected=dict(rejected), examples=examples))
        )
    except InvalidReport:
        if reports.exists() or not path.exists():
            raise
    return path


def merge(folder: Path, parts: list[Path]) -> Path:
    """Merge the shards' aggregates, each once, and return the file of the whole."""
    return _merge(folder, parts, folder / "aggregate.parquet")


def merge_some(folder: Path, parts: list[Path]) -> Path:
    """Merge some of the shards' aggregates, each once, and return the file of their sum, which may be merged further."""
    named = hashlib.sha256("\n".join(sorted(part.name for part in parts)).encode()).hexdigest()[:16]
    return _merge(folder, parts, folder / "merged" / f"{named}.parquet")


def _merge(folder: Path, parts: list[Path], path: Path) -> Path:
    scheme = plan_of(folder).scheme
    total = Aggregate.zero(scheme)
    for part in sorted(set(parts)):
        total = total.merge(wire.read_aggregate(part, scheme))
    wire.write_aggregate(path, total)
    return path


def waits(folder: Path) -> str:
    """Return why a run waits, '' where it has clients enough, and land that it waits.

    Asked before anybody is privatized and once the aggregate is there: reports that were refused are no clients.
    """
    plan = plan_of(folder)
    if not plan.min_clients:
        return ""
    n, asked = _clients(folder, plan)
    if n >= plan.min_clients or warehouse.stands(plan.warehouse, plan.run_id):
        return ""  # or it has landed with fewer, as somebody asked
    warehouse.land_waiting(plan.warehouse, replace(run_row(folder), accepted=None, rejected=None, late=None, clients=n))
    came = f"{n:,} clients came" if not asked else f"{n:,} clients were asked for {asked}"
    return (
        f"round {plan.round} waits: {came}, {plan.min_clients:,} are needed; nothing has landed and the reports are kept: run "
        "it again when more have come, let the next round take them, or ask for fewer (--min-clients)"
    )


def _clients(folder: Path, plan: Plan) -> tuple[int, str]:
    """How many clients a run has, as far as is known; of those that reported one thing each, the fewest, and what that is."""
    file = folder / "aggregate.parquet"
    if file.exists():
        aggregate = wire.read_aggregate(file, plan.scheme)
        counts = {name: aggregate.reports(name) for name in plan.scheme.attributes}
        fewest = min(((n, name) for name, n in counts.items() if 0 < n < aggregate.n), default=(aggregate.n, ""))
        return fewest if plan.scheme.reporting == "one" else (aggregate.n, "")
    if plan.source == "records":
        n = 0
        for block in populations.read_blocks(wire.location(plan.input), plan.scheme, size=pipeline.BLOCK):
            plan.scheme.encode(block, n)  # a bad record is told before it is told that they are few
            n += len(block)
            if n >= plan.min_clients:
                break
        return n, ""
    return plan.clients or sum(batch.reports for batch in batches_of(folder)), ""


def estimate(folder: Path) -> Path:
    """Estimate everything from the merged aggregate and return the folder of the tables to land.

    Raises TooFewClients where the round waits, NotEstimable where nothing was accepted.
    """
    plan = plan_of(folder)
    scheme = plan.scheme
    if said := waits(folder):
        raise TooFewClients(said)
    aggregate = wire.read_aggregate(folder / "aggregate.parquet", scheme)
    if aggregate.is_empty:
        raise NotEstimable(f"no report of round {plan.round} was accepted; nothing can be estimated")
    people = populations.by_scheme(scheme.name) if plan.source == "simulated" else None
    found = pipeline.estimate_all(aggregate, plan.min_clients)
    parts = sorted((folder / "aggregates").glob("*.parquet"))  # as they came: a file, or a shard of simulated people
    batches = [wire.read_aggregate(part, scheme) for part in parts]
    tables = tables_of(found, people, plan.is_rehearsal, batches)
    tables["comparisons"] = changes.between_groups(found, plan.run_id)
    came, known = [wire.location(batch.path) for batch in batches_of(folder)], folder / "spending.json"
    if came and all(file.exists() for file in came):
        without = {file: _positions(of) for file, of in left_out_of(folder).items()}
        counted = spending.known_spending(scheme, came, without)
        _write(known, json.dumps({name: asdict(each) for name, each in counted.items()}))
    if known.exists():  # the owner may have deleted the files since an earlier go
        kept = json.loads(known.read_text(encoding="utf-8"))
        of = {name: spending.Known(**each) for name, each in kept.items()}
        tables["budgets"] = spending.beside(tables["budgets"], of)
    counts = {
        "accepted": aggregate.n,
        "rejected": sum(aggregate.rejected.values()),
        "started_at": plan.started_at,  # of this go: another may prepare the same run before it lands
        "finished_at": datetime.now(UTC).isoformat(),
        "flow_run_id": plan.flow_run_id,
    }
    into = folder / "tables"
    for name, frame in tables.items():
        wire.write_whole(into / f"{name}.parquet", frame.to_parquet, private=True)
    _write(into / "counts.json", json.dumps(counts))
    return into


def compare(folder: Path) -> str | None:
    """Compare the estimated round with the latest earlier one that has landed, and return that round's name, or None.

    Of the same scheme and source.  The rows join those that `estimate` made: in `comparisons`, of the round's own groups, and
    in `checks`, where whether anything has moved is told, and whether every table is what it must be.
    """
    from dpcore.results import quality  # pandera takes most of a second to import

    plan = plan_of(folder)
    into, tables = folder / "tables", read_tables(folder)
    rows, checks = tables["comparisons"], changes.without_drift(tables["checks"])
    rows = rows[rows["other_run_id"] == plan.run_id]
    before = pd.DataFrame()
    if not plan.is_trial:
        before = warehouse.previous_numbers(
            plan.warehouse, scheme_digest=plan.scheme.digest, source=plan.source, round_=plan.round, run_id=plan.run_id
        )
    now = changes.numbers_of(tables).assign(source=plan.source, seed=plan.seed)
    round_ = None
    if len(before):
        round_ = str(before["round"].iloc[0])
        found = changes.between_rounds(now, before, _remark(now, before))
        rows = pd.concat([rows, found], ignore_index=True)
        checks = pd.concat([checks, changes.drift_checks(found, round_)], ignore_index=True)
    judged = quality.verdicts(tables | {"comparisons": rows})
    checks = pd.concat([quality.without_verdicts(checks), judged], ignore_index=True)
    wire.write_whole(into / "comparisons.parquet", rows.to_parquet, private=True)
    wire.write_whole(into / "checks.parquet", checks.to_parquet, private=True)
    _write(into / "previous.json", json.dumps({"round": round_}))
    return round_


def _remark(now: pd.DataFrame, before: pd.DataFrame) -> str | None:
    """What there is to be said of every difference from the earlier round; both with source and seed."""
    if not len(now) or not len(before):
        return None
    source, seed = now["source"].iloc[0], now["seed"].iloc[0]
    if source == "simulated" and seed == before["seed"].iloc[0]:
        return f"both rounds are simulated with seed {seed}: the same people, whose errors are not independent"
    if source == "reports":
        return (
            "the rounds are counted as independent; memoised reports, which repeat, are correlated by an unknown amount"
        )
    return None


def changes_of(folder: Path) -> tuple[str, list[Line], list[Line]]:
    """Return the round that `compare` found, '' if none, the lines a person reads of what has changed since, and of groups."""
    plan, tables = plan_of(folder), read_tables(folder)
    return (
        _previous(folder),
        changes.since(tables, plan.scheme, plan.run_id),
        changes.among(tables, plan.scheme, plan.run_id),
    )


def _previous(folder: Path) -> str:
    named = folder / "tables" / "previous.json"
    return str(json.loads(named.read_text(encoding="utf-8"))["round"] or "") if named.exists() else ""


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables that `estimate` and `compare` made; raises NotEstimable where a file of them is damaged."""
    found = {}
    for path in sorted((folder / "tables").glob("*.parquet")):
        try:
            with wire.opened(path) as file:
                found[path.stem] = pd.read_parquet(file)
        except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
            plan = plan_of(folder)
            raise NotEstimable(
                f"{path} is cut short or damaged; make it anew: ldpflow estimate {plan.scheme_file} --round {plan.round}"
            ) from error
    return found


def draw(folder: Path) -> dict[str, Path]:
    """Draw pictures of each attribute, against the truth where it is known, and return name -> file."""
    from dpcore.results import plots  # matplotlib, which only this stage needs: Dask's workers draw nothing

    plan = plan_of(folder)
    tables, previous = read_tables(folder), _previous(folder)
    figures = Path(plan.figures)
    figures.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for name, attribute in plan.scheme.attributes.items():
        made = plots.attribute_pictures(name, tables, attribute.unit, previous=previous, run_id=plan.run_id)
        for picture, content in made.items():
            drawn[picture] = figures / f"{picture}.png"
            wire.write_bytes(drawn[picture], content)
    return drawn


def land(folder: Path) -> Plan:
    """Land a run's tables in the warehouse, in one transaction; landing again replaces its rows with the same.

    What changed in the round after it is then drawn anew.  The reports are deleted afterwards unless the plan keeps them.
    """
    plan = plan_of(folder)
    _check_not_overtaken(folder, plan)
    tables = read_tables(folder)
    pictures = sorted(Path(plan.figures).glob("*.png"))
    if pictures:
        tables["figures"] = pd.DataFrame(
            {"name": [path.stem for path in pictures], "path": [str(path) for path in pictures]}
        )
    batches = batches_of(folder)
    if batches:
        tables["batches"] = pd.DataFrame(batches)[["file", "sent_for", "reports"]]
    landing = warehouse.Landing(run_row(folder), tables, plan.again)
    compared = warehouse.land(plan.warehouse, landing, judge=_judge)
    for identifier, previous in compared.items():
        if identifier != plan.run_id or previous != _previous(folder):
            _draw_changes(Path(plan.warehouse), identifier, previous, plan.scheme)
    if plan.again and not plan.is_trial:  # said once: who estimates it later does not take the round back from another
        _keep(folder, replace(plan, again=False))
    if plan.is_rehearsal:  # tables that nobody else is to see
        for file in folder.glob(f"{Path(warehouse.REHEARSAL).stem}*"):
            file.chmod(0o600)
    if not plan.keep_reports:  # the run's own; a folder that was collected is its owner's
        wire.remove_folder(folder / "reports")
    return plan


def _draw_changes(file: Path, run_id: str, previous: str, scheme: Scheme) -> None:
    """Draw anew what changed in a landed round, since the round before it is another one now."""
    from dpcore.results import plots

    drawn = warehouse.query(file, f"select path from figures where run_id = '{run_id}' limit 1")
    if drawn.empty:
        return  # its pictures were not drawn, or are deleted
    tables = {
        table: warehouse.query(file, f"from {table} where run_id = '{run_id}'") for table in ("comparisons", "truths")
    }
    made: dict[str, bytes] = {}
    for name, attribute in scheme.attributes.items():
        rows, truths = (frame[frame["attribute"] == name] for frame in tables.values())
        made |= plots.difference_pictures(name, rows, truths, attribute.unit, previous=previous, run_id=run_id)
    paths = {name: Path(drawn["path"].iloc[0]).with_name(f"{name}.png") for name in made}
    for name, content in made.items():
        wire.write_bytes(paths[name], content)
    if made:
        frame = pd.DataFrame({"name": list(paths), "path": [str(path) for path in paths.values()]})
        warehouse.add_figures(file, run_id, frame)


def _judge(now: pd.DataFrame, before: pd.DataFrame, groups: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of `comparisons` of a landed run with the one before it, and the `checks` that depend on them."""
    from dpcore.results import quality

    found = changes.between_rounds(now, before, _remark(now, before))
    drift = changes.drift_checks(found, str(before["round"].iloc[0]) if len(before) else "")
    rows = pd.concat([groups, found], ignore_index=True) if len(groups) else found
    return found, pd.concat([drift, quality.verdicts({"comparisons": rows})], ignore_index=True)


def land_failure(folder: Path) -> None:
    """Land that a run failed: one row of `runs`, and nothing else."""
    plan = plan_of(folder)
    row = replace(run_row(folder), started_at=datetime.fromisoformat(plan.started_at), finished_at=datetime.now(UTC))
    warehouse.land_failure(plan.warehouse, row)


def run_row(folder: Path) -> warehouse.Run:
    """Return the run's row of `runs`; a rehearsal's seed is not landed."""
    plan = plan_of(folder)
    scheme = plan.scheme
    counted = folder / "tables" / "counts.json"
    counts: dict[str, Any] = json.loads(counted.read_text(encoding="utf-8")) if counted.exists() else {}
    total = counts.get("accepted", 0) + counts.get("rejected", 0)
    return warehouse.Run(
        run_id=plan.run_id,
        scheme=scheme.name,
        scheme_digest=scheme.digest,
        round=plan.round,
        source=plan.source,
        randomness="seeded" if plan.is_rehearsal or plan.seed is not None else "secure",
        seed=plan.seed,
        trial=plan.is_trial,
        clients=plan.clients or total or None,
        accepted=counts.get("accepted"),
        rejected=counts.get("rejected"),
        late=sum(batch.reports for batch in batches_of(folder) if batch.is_late(plan.round)) if counts else None,
        started_at=datetime.fromisoformat(counts.get("started_at", plan.started_at)),
        finished_at=datetime.fromisoformat(counts["finished_at"]) if counts else datetime.now(UTC),
        version=version("ldpflow"),
        flow_run_id=counts.get("flow_run_id", plan.flow_run_id),
    )


def fewer_than_usual(folder: Path) -> list[str]:
    """Return what the landing says of a round that has far fewer reports than those before it; [] of any other."""
    plan = plan_of(folder)
    asked = f"select detail from checks where run_id = '{plan.run_id}' and name = 'clients' and not passed"
    return [str(detail) for detail in warehouse.query(plan.warehouse, asked)["detail"]]


def summary_of(folder: Path) -> list[Line]:
    """Return the lines a person reads after a run."""
    return summary(read_tables(folder), plan_of(folder).scheme)


def _positions(left_out: Mapping[str, list[int]]) -> np.ndarray:
    """The positions of what is left out, for whatever reason."""
    return np.array([position for of in left_out.values() for position in of], dtype=np.int64)


def _reports_file(folder: Path, shard: int) -> Path:
    return folder / "reports" / f"{shard:05d}.parquet"


def _write(path: Path, text: str) -> None:
    wire.write_bytes(path, text.encode(), private=True)
