"""Before the first step: everything that can be checked is, and a run's folder is made, with its plan in it.

What cannot be carried out is refused with nothing written; that real people are asked is written down before they are.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpcore import populations, wire
from dpcore.errors import SchemeError
from dpcore.estimation.requirements import check_estimates
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.rounds import population_margins
from dpcore.rounds.defaults import MIN_CLIENTS, today, warehouse_of
from dpcore.rounds.round_names import check_name, round_of, seed_of
from dpcore.rounds.run import Plan, Run
from dpcore.rounds.settings import Round
from dpcore.rounds.steps import collected_files
from dpcore.rounds.steps.privatization import charge

_SAME = 1e-9  # by which two shares of a population may differ


@dataclass(frozen=True, kw_only=True)
class Named:
    """A round as it is asked for: whose it is, what it is called, and where it lands unless it is a rehearsal."""

    asked: Round
    scheme: Scheme
    round: str
    source: str
    data: Path
    landing: Path
    is_trial: bool
    is_rehearsal: bool


def named(scheme: Path, *, round_: str | None = None, day: str | None = None, **told: Any) -> Named:
    """Return the round that `prepare` would make of the same arguments; raises SchemeError."""
    asked = Round(**told)
    data, records, reports = wire.location(asked.data), asked.records, asked.reports
    if asked.warehouse is None and not wire.is_here(data):
        raise SchemeError(f"the warehouse is a file of this machine; with data at {data}, name it with --warehouse")
    parsed = Scheme.from_toml(scheme)
    check_estimates(parsed)
    if records is not None and reports is not None:
        raise SchemeError("a round is of records or of reports that clients sent, got both; leave one out")
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
    **told: Any,
) -> Run:
    """Check everything that can be checked before work starts, and return the run.

    round_: as `round_of` says where None; day: the day's round, today's where None.
    told: as `settings.Round` declares it.  data, records, reports: folders and files of this machine or URLs that fsspec knows;
    the warehouse is here.
    seed: with records a rehearsal, of which the warehouse is a file in the run's folder; no file ever holds it.
    Raises SchemeError, InvalidRecord, InvalidReport, or AlreadyLanded, with nothing written.
    """
    it = named(scheme, round_=round_, day=day, **told)
    asked, parsed, round_, source, data = it.asked, it.scheme, it.round, it.source, it.data
    records, reports = (None if path is None else wire.location(path) for path in (asked.records, asked.reports))
    like = None if asked.like is None else wire.location(asked.like)
    clients, seed, min_clients = asked.clients, asked.seed, asked.min_clients
    is_trial, is_rehearsal, landing = it.is_trial, it.is_rehearsal, it.landing
    if is_rehearsal:
        _check_rehearsal(source, flow_run_id, data, asked.warehouse)
    if source == "simulated":
        if like is not None or parsed.simulate:
            populations.respondents_of(parsed, like, asked.dialect)  # refuses what states no respondents
        if parsed.name not in populations.NAMES and clients is seed is None:
            raise SchemeError(
                f"scheme {parsed.name!r}: say whose answers: --records FILE, --reports FOLDER, or --clients N for a dry run"
            )
        clients = parsed.clients if clients is None else clients
        seed = seed_of(round_) if seed is None else seed
    elif like is not None:
        raise SchemeError(f"like is for simulated respondents, got {source}; leave one out")
    elif clients is not None:
        raise SchemeError(f"clients is for simulated people; with {source}, every one of them is one client")
    if records is not None:
        parsed.check_asked()
        next(
            populations.read_blocks(records, parsed, dialect=asked.dialect)
        )  # refuses what is not a file of the scheme's columns
    if asked.margins is not None:
        known = population_margins.read(wire.location(asked.margins), parsed).by_category()
        before = warehouse.population_before(landing, parsed.digest, round_) if source != "simulated" else {}
        if any(abs(share - known.get(of, -1.0)) > _SAME for of, share in before.items()):
            raise SchemeError(
                f"round {round_} was weighted by other totals before, and both may tell what few reports say; keep those"
            )
    if asked.after is not None:
        from dpcore.rounds import follow_up  # with all that estimates

        follow_up.check_after(parsed, asked.after, Path(landing), source, seed)
    if min_clients is None:
        min_clients = 0 if source == "simulated" else MIN_CLIENTS
    came = None if reports is None else collected_files.due(parsed, round_, reports, landing, data, again=asked.again)
    if came is not None:
        salt = came.salt
    elif source == "simulated":  # a smaller round is another run
        salt = f"{seed} {clients}" if clients != parsed.clients else str(seed)
        if like is not None or parsed.simulate:
            salt += f" {like} {json.dumps(dict(parsed.simulate), sort_keys=True)}"
    else:  # not of a rehearsal's seed: the run_id would give it away, and two rehearsals would share shards
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
    with warehouse.open_for_writing(landing) as connection:  # what is no warehouse is refused before anyone reports
        warehouse.check_free(connection, _claim(plan, parsed))
    _make(folder)
    wire.write_bytes(folder / "scheme.toml", parsed.text.encode(), private=True)
    if asked.margins is not None:
        wire.write_bytes(folder / population_margins.FILE, wire.location(asked.margins).read_bytes(), private=True)
    if came is not None:
        collected_files.take(run, came)
        charge(run, {batch.file: batch.sent_for or round_ for batch in came.batches})
    run.keep()
    return run


def _check_rehearsal(source: str, flow_run_id: str | None, data: Path, warehouse_file: Path | None) -> None:
    if source != "records" or flow_run_id is not None:
        raise SchemeError(
            "a seed is for simulated people, or for a rehearsal of `ldpflow run --records`, which no flow is; leave it out"
        )
    if warehouse_file is not None or not wire.is_here(data):
        raise SchemeError(
            "a rehearsal lands in its own folder of this machine and nowhere else; leave the warehouse out, and let data be a "
            "folder"
        )


def _make(folder: Path) -> None:
    """Make a run's folder, into which its owner alone can look; pictures and the warehouse, beside it, are for others, too."""
    runs = folder.parent
    if not wire.is_here(folder):
        return
    runs.parent.mkdir(parents=True, exist_ok=True)
    for made in (runs, folder):
        wire.private_folder(made)
    if folder.stat().st_mode & 0o077:  # an older ldpflow made it
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
