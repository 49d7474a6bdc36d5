"""The third step: estimates from the sums, as tables to land."""

from __future__ import annotations

from dataclasses import asdict, replace
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

    Raises TooFewClients if the round is held back, NotEstimable if no report was accepted.
    """
    plan, scheme = run.plan, run.scheme
    if reason := minimum_clients.reason(run):
        raise TooFewClients(reason)
    aggregate = wire.read_aggregate(run.aggregate, scheme)
    if aggregate.is_empty:
        raise NotEstimable(f"round {plan.round}: no report was accepted, so nothing can be estimated")
    people = run.respondents if plan.source == "simulated" else None
    estimates = pipeline.estimate_all(
        aggregate, plan.min_clients, population_margins.of_run(run), hide_labels=_label_restriction(run, aggregate)
    )
    if reason := _regression_restriction(run):
        estimates = replace(estimates, regressions=dict.fromkeys(scheme.regressions, reason))
    # In order of arrival: one part for each file, or for each shard of simulated clients.
    parts = [wire.read_aggregate(part, scheme) for part in sorted((run.folder / "aggregates").glob("*.parquet"))]
    cells = publication.alike(estimates)
    batches = publication.gathered(parts, cells)
    tables = tables_of(estimates, people, plan.is_rehearsal, batches)
    tables["comparisons"] = comparisons.between_groups(estimates, plan.run_id)
    if charges := _token_charges(run):
        tables["budgets"] = spending.with_token_charges(tables["budgets"], charges)
    tables |= publication.with_central_epsilon(tables, publication.revealed(run, aggregate, batches, cells, charges))
    if plan.after is not None:
        from dpcore.rounds import follow_up  # needed for few rounds

        tables = follow_up.with_both_rounds(tables, run, aggregate, people)
    for name, frame in tables.items():
        wire.write_whole(run.tables_folder / f"{name}.parquet", frame.to_parquet, private=True)
    counts = {
        "accepted": aggregate.n,
        "rejected": sum(aggregate.rejected.values()),
        "started_at": plan.started_at,  # of this attempt: another may prepare the same run before it lands
        "finished_at": datetime.now(UTC).isoformat(),
        "flow_run_id": plan.flow_run_id,
    }
    run.write_json("tables/counts.json", counts)
    return run.tables_folder


def _label_restriction(run: Run, aggregate: Aggregate) -> str:
    """Reason why results by label may not land, or '': their difference from an earlier run would reveal few reports."""
    plan = run.plan
    if aggregate.labelled is None or not plan.min_clients:
        return ""
    before = warehouse.accepted_before(plan.warehouse, run.scheme.digest, plan.round, plan.run_id)
    if all(accepted == aggregate.n for accepted in before):
        return ""
    return "the round has landed with other reports, and the difference would reveal groups below min_clients"


def _regression_restriction(run: Run) -> str:
    """Reason why regressions may not land, or '': together with those of an earlier run they could reveal few reports.

    A run checks its own regressions together, so it must declare the earlier ones as well.
    """
    plan, scheme = run.plan, run.scheme
    if not (plan.min_clients and scheme.regressions):
        return ""
    formulas = {regression.formula for regression in scheme.regressions.values()}
    others = warehouse.regressions_before(plan.warehouse, scheme.digest, plan.round, plan.run_id) - formulas
    if not others:
        return ""
    return f"the round has landed with the regression {min(others)!r}; declare it as well, so that both are checked together"


def _token_charges(run: Run) -> dict[str, spending.TokenCharges]:
    """Charges by token; stored, because the files may have been deleted since an earlier attempt."""
    files = collected(run)
    if files and all(file.exists() for file in files):
        without = {file: positions(reasons) for file, reasons in left_out_of(run).items()}
        counted = spending.token_charges(run.scheme, files, without)
        run.write_json("spending.json", {name: asdict(charges) for name, charges in counted.items()})
    return {name: spending.TokenCharges(**charges) for name, charges in run.read_json("spending.json", {}).items()}
