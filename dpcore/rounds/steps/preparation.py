"""Before the first step: the name and the lock of a round, all checks, and a run's folder with its plan.

A round that cannot be run is rejected with nothing written.  Charges of real clients are written before they are asked.

Each round of a scheme has a lock, from its preparation to its landing.  Two simultaneous runs of one round would ask its
clients twice before one of them fails.  With the lock the second run waits; then it fails, or lands the same rows again.  Other
rounds, other schemes and dry runs do not wait.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpcore import populations, wire
from dpcore.errors import SchemeError, WarehouseError
from dpcore.estimation.registry import check_estimates
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.rounds import population_margins
from dpcore.rounds.defaults import MIN_CLIENTS, today, warehouse_of
from dpcore.rounds.run import Plan, Run
from dpcore.rounds.settings import Round
from dpcore.rounds.steps import collected_files
from dpcore.rounds.steps.privatization import charge
from dpcore.wire.locks import alone

_LENGTH = 64
_TRIAL = "0-trial"  # prefix of trials' names, which sorts before all dates
_SAME = 1e-9  # tolerance for equality of two population shares


def round_of(
    day: str, *, clients: int | None = None, seed: int | None = None, records: object = None, reports: object = None
) -> str:
    """Return the default name of a round: the date, or a trial's name if the number or seed of simulated clients is given.

    >>> round_of("2026-11-20"), round_of("2026-11-20", clients=500), round_of("2026-11-20", clients=500, seed=7)
    ('2026-11-20', '0-trial-500', '0-trial-500-seed-7')
    """
    if records is not None or reports is not None or clients is seed is None:
        return day
    return "-".join([_TRIAL, *([] if clients is None else [str(clients)]), *([] if seed is None else [f"seed-{seed}"])])


def check_name(round_: str, *, is_trial: bool) -> None:
    """Raise SchemeError for an invalid name, or one reserved for trials."""
    if round_.startswith(_TRIAL) and not is_trial:
        raise SchemeError(f"round {round_!r}: names that begin with {_TRIAL} are reserved for trials; choose another")
    if not 0 < len(round_) <= _LENGTH or not round_.isprintable() or not {"/", "\\"}.isdisjoint(round_):
        raise SchemeError(
            f"round {round_!r}: the name needs 1 to {_LENGTH} characters without / and \\, such as {today()}"
        )


def seed_of(round_: str) -> int:
    """Return the default seed of simulated clients in a round, the same on every machine."""
    return int.from_bytes(hashlib.sha256(round_.encode()).digest()[:4], "big")


@dataclass(frozen=True, kw_only=True)
class Named:
    """A requested round: its options, source, name, and warehouse (unless it is a dry run)."""

    asked: Round
    scheme: Scheme
    round: str
    source: str
    data: Path
    landing: Path
    is_trial: bool
    is_rehearsal: bool


def named(scheme: Path, *, round_: str | None = None, day: str | None = None, **options: Any) -> Named:
    """Return the round that `prepare` would prepare with the same parameters; raises SchemeError."""
    asked = Round(**options)
    data, records, reports = wire.location(asked.data), asked.records, asked.reports
    if asked.warehouse is None and not wire.is_here(data):
        raise SchemeError(f"data {data}: the warehouse must be a local file; name it with --warehouse")
    parsed = Scheme.from_toml(scheme)
    check_estimates(parsed)
    if records is not None and reports is not None:
        raise SchemeError("records and reports: a round uses only one of them; omit the other")
    source = "records" if records is not None else "reports" if reports is not None else "simulated"
    day = day or today()
    own = round_of(day, clients=asked.clients, seed=asked.seed, records=records, reports=reports)
    is_trial = own != day and round_ in (None, own)
    round_ = own if round_ is None else round_
    check_name(round_, is_trial=is_trial)
    return Named(
        asked=asked,
        scheme=parsed,
        round=round_,
        source=source,
        data=data,
        landing=asked.warehouse or warehouse_of(data),
        is_trial=is_trial,
        is_rehearsal=source != "simulated" and asked.seed is not None,
    )


def prepare(
    scheme: Path,
    *,
    round_: str | None = None,
    day: str | None = None,
    flow_run_id: str | None = None,
    **options: Any,
) -> Run:
    """Make all checks that are possible before work starts, and return the run.

    round_: default from `round_of`; day: of the round, default today.
    options: those of `settings.Round`.  data, records, reports: local folders and files, or URLs for fsspec; the warehouse is
    local.  seed: with records, a dry run with a warehouse in the run's folder; this seed is never stored.
    Raises SchemeError, InvalidRecord, InvalidReport, or AlreadyLanded, with nothing written.
    """
    request = named(scheme, round_=round_, day=day, **options)
    asked, parsed, round_, source, data = request.asked, request.scheme, request.round, request.source, request.data
    records, reports = (None if path is None else wire.location(path) for path in (asked.records, asked.reports))
    like = None if asked.like is None else wire.location(asked.like)
    clients, seed, min_clients = asked.clients, asked.seed, asked.min_clients
    is_trial, is_rehearsal, landing = request.is_trial, request.is_rehearsal, request.landing
    if is_rehearsal:
        _check_rehearsal(source, flow_run_id, data, asked.warehouse)
    if source == "simulated":
        if like is not None or parsed.simulate:
            populations.respondents_of(parsed, like, asked.dialect)  # raises if no respondents are defined
        if parsed.name not in populations.NAMES and clients is seed is None:
            raise SchemeError(
                f"scheme {parsed.name!r}: no source; add --records FILE, --reports FOLDER, or --clients N for a dry run"
            )
        clients = parsed.clients if clients is None else clients
        seed = seed_of(round_) if seed is None else seed
    elif like is not None:
        raise SchemeError(f"like: only for simulated respondents, got {source}; omit one of them")
    elif clients is not None:
        raise SchemeError(f"clients: only for simulated clients, got {source}; omit one of them")
    if records is not None:
        parsed.check_asked()
        next(populations.read_blocks(records, parsed, dialect=asked.dialect))  # raises if a column is missing
    if asked.margins is not None:
        shares = population_margins.read(wire.location(asked.margins), parsed).by_category()
        before = warehouse.population_before(landing, parsed.digest, round_) if source != "simulated" else {}
        if any(abs(share - shares.get(category, -1.0)) > _SAME for category, share in before.items()):
            raise SchemeError(
                f"round {round_}: it was weighted by other totals before, and the difference could reveal small groups; "
                "use the earlier totals"
            )
    if asked.after is not None:
        from dpcore.rounds import follow_up  # a slow import

        follow_up.check_after(parsed, asked.after, Path(landing), source, seed)
    if min_clients is None:
        min_clients = 0 if source == "simulated" else MIN_CLIENTS
    due = None if reports is None else collected_files.due(parsed, round_, reports, landing, data, again=asked.again)
    if due is not None:
        salt = due.salt
    elif source == "simulated":  # a round with another number of clients is another run
        salt = f"{seed} {clients}" if clients != parsed.clients else str(seed)
        if like is not None or parsed.simulate:
            salt += f" {like} {json.dumps(dict(parsed.simulate), sort_keys=True)}"
        if parsed.regressions:
            salt += f" {parsed.regressions}"
    else:  # not the seed of a dry run: the run_id would reveal it, and two dry runs would share files
        salt = flow_run_id or secrets.token_hex(16)
    run_id = warehouse.run_id(parsed.digest, round_, salt)
    folder = (data / "runs" / run_id).absolute()
    pictures = data / "figures" / run_id
    if is_rehearsal:
        landing, pictures = folder / warehouse.REHEARSAL, folder / "figures"
        _make(folder)
    plan = Plan(
        run_id=run_id,
        scheme_file=str(folder / "scheme.toml"),
        round=round_,
        source=source,
        input=str(file.absolute()) if (file := records or reports or like) else "",
        clients=clients or 0,
        seed=None if is_rehearsal else seed,
        warehouse=str(landing.absolute()),
        figures=str(pictures.absolute()),
        keep_reports=asked.keep_reports,
        started_at=datetime.now(UTC).isoformat(),
        flow_run_id=flow_run_id,
        is_trial=is_trial,
        is_rehearsal=is_rehearsal,
        **asdict(asked.dialect),
        **asked.rules()
        | {
            "min_clients": min_clients,
            "again": asked.again or is_trial,
            "margins": asked.margins and str(asked.margins),
        },
    )
    run = Run(folder, plan, rehearsal_seed=seed if is_rehearsal else None)
    with warehouse.open_for_writing(landing) as connection:  # rejects another file before any client reports
        warehouse.check_free(connection, _claim(plan, parsed))
    _make(folder)
    wire.write_bytes(folder / "scheme.toml", parsed.text.encode(), private=True)
    if asked.margins is not None:
        wire.write_bytes(folder / population_margins.FILE, wire.location(asked.margins).read_bytes(), private=True)
    if due is not None:
        collected_files.take(run, due)
        charge(run, {batch.file: batch.sent_for or round_ for batch in due.batches})
    run.keep()
    return run


def _check_rehearsal(source: str, flow_run_id: str | None, data: Path, warehouse_file: Path | None) -> None:
    if source != "records" or flow_run_id is not None:
        raise SchemeError(
            "seed: only for simulated clients, or for a dry run of `ldpflow run --records` outside Prefect; omit it"
        )
    if warehouse_file is not None or not wire.is_here(data):
        raise SchemeError(
            "seed: a dry run on real records lands in its own local folder; omit the warehouse, and use a local folder for data"
        )


def _make(folder: Path) -> None:
    """Create a run's folder with access for its owner only; pictures and the warehouse are outside, for other users."""
    runs = folder.parent
    if not wire.is_here(folder):
        return
    runs.parent.mkdir(parents=True, exist_ok=True)
    for path in (runs, folder):
        wire.private_folder(path)
    if folder.stat().st_mode & 0o077:  # created by an older version
        folder.chmod(0o700)


def _claim(plan: Plan, scheme: Scheme) -> warehouse.Claim:
    return warehouse.Claim(
        run_id=plan.run_id,
        scheme=scheme.name,
        round=plan.round,
        source=plan.source,
        again=plan.again,
        flow_run_id=plan.flow_run_id,
    )


def turn(
    scheme: Path, by: str, *, round_: str | None = None, day: str | None = None, **options: Any
) -> AbstractContextManager[None]:
    """Return the lock of a round that is to be prepared, with the parameters of `prepare`.

    by: a description of the holder, for those who wait.  Raises SchemeError as `prepare` does, and WarehouseError if the lock
    file cannot be created next to the warehouse.
    """
    request = named(scheme, round_=round_, day=day, **options)
    return nullcontext() if request.is_rehearsal else _turn(request.landing, request.scheme.name, request.round, by)


def turn_of(run: Run, by: str) -> AbstractContextManager[None]:
    """Return the lock of a prepared run."""
    return _turn(Path(run.plan.warehouse), run.scheme.name, run.plan.round, by)


@contextmanager
def _turn(landing: Path, scheme: str, round_: str, by: str) -> Iterator[None]:
    """Hold a lock of scheme and round next to the warehouse; the file is named by a hash, as names of rounds can be long."""
    title, name = (
        f"round {round_} of scheme {scheme}",
        hashlib.sha256(json.dumps([scheme, round_]).encode()).hexdigest(),
    )
    with ExitStack() as stack:
        try:
            file = landing.resolve()
            stack.enter_context(alone(file.with_name(f".{file.name}.{name[:16]}.lock"), title, by))
        except OSError as error:
            raise WarehouseError(f"{title}: cannot be locked next to {landing}: {error.strerror}") from error
        yield
