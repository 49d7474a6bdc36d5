"""The third step: the sums become every number of the round, as the tables that are to land."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from dpcore import pipeline, wire
from dpcore.errors import NotEstimable, TooFewClients
from dpcore.protocol.aggregates import Aggregate
from dpcore.results import warehouse
from dpcore.results.tables import comparisons, spending
from dpcore.results.tables.round_tables import tables_of
from dpcore.rounds import population_margins, publication
from dpcore.rounds.run import Run, step
from dpcore.rounds.steps import minimum_clients
from dpcore.rounds.steps.collected_files import collected, left_out_of, positions


@step("estimate")
def estimate(run: Run) -> Path:
    """Estimate everything from the merged aggregate and return the folder of the tables to land.

    Raises TooFewClients where the round waits, NotEstimable where nothing was accepted.
    """
    plan, scheme = run.plan, run.scheme
    if said := minimum_clients.reason(run):
        raise TooFewClients(said)
    aggregate = wire.read_aggregate(run.aggregate, scheme)
    if aggregate.is_empty:
        raise NotEstimable(f"no report of round {plan.round} was accepted; nothing can be estimated")
    people = run.respondents if plan.source == "simulated" else None
    found = pipeline.estimate_all(
        aggregate, plan.min_clients, population_margins.of(run), hide_labels=_told_before(run, aggregate)
    )
    parts = sorted(
        (run.folder / "aggregates").glob("*.parquet")
    )  # as they came: a file, or a shard of simulated people
    batches = [wire.read_aggregate(part, scheme) for part in parts]
    tables = tables_of(found, people, plan.is_rehearsal, batches)
    tables["comparisons"] = comparisons.between_groups(found, plan.run_id)
    if known := _known(run):
        tables["budgets"] = spending.with_token_charges(tables["budgets"], known)
    tables |= publication.beside(tables, publication.revealed(run, aggregate, batches, known))
    if plan.after is not None:
        from dpcore.rounds import follow_up  # few rounds follow another

        tables = follow_up.beside(tables, run, aggregate, people)
    for name, frame in tables.items():
        wire.write_whole(run.tables_folder / f"{name}.parquet", frame.to_parquet, private=True)
    counts = {
        "accepted": aggregate.n,
        "rejected": sum(aggregate.rejected.values()),
        "started_at": plan.started_at,  # of this go: another may prepare the same run before it lands
        "finished_at": datetime.now(UTC).isoformat(),
        "flow_run_id": plan.flow_run_id,
    }
    run.say("tables/counts.json", counts)
    return run.tables_folder


def _told_before(run: Run, aggregate: Aggregate) -> str:
    """Why nothing by label may land: the round has landed of other reports, and the two together would tell few; else ''."""
    plan = run.plan
    if aggregate.labelled is None or not plan.min_clients:
        return ""
    before = warehouse.accepted_before(plan.warehouse, run.scheme.digest, plan.round, plan.run_id)
    if all(accepted == aggregate.n for accepted in before):
        return ""
    return "this round landed before, of other reports, and what few of them say would be told by both (min_clients)"


def _known(run: Run) -> dict[str, spending.TokenCharges]:
    """What is known of what clients have spent; the owner may have deleted their files since an earlier go."""
    came = collected(run)
    if came and all(file.exists() for file in came):
        without = {file: positions(of) for file, of in left_out_of(run).items()}
        counted = spending.token_charges(run.scheme, came, without)
        run.say("spending.json", {name: asdict(each) for name, each in counted.items()})
    return {name: spending.TokenCharges(**each) for name, each in run.said("spending.json", {}).items()}
