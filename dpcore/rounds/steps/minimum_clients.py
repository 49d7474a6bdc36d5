"""The minimum number of clients of a round; with fewer it is held back, and only its state lands."""

from __future__ import annotations

from dpcore import populations, wire
from dpcore.protocol.records.blocks import BLOCK
from dpcore.results import warehouse
from dpcore.rounds.run import Run, step
from dpcore.rounds.steps.collected_files import batches_of
from dpcore.rounds.steps.landing import row_of, share


def reason(run: Run) -> str:
    """Return why a run is held back, '' if it has enough clients.

    It is checked before the first record is privatized, and again with the aggregate, without rejected reports.
    """
    plan = run.plan
    if not plan.min_clients:
        return ""
    n, asked = _clients(run)
    if n >= plan.min_clients or warehouse.stands(plan.warehouse, plan.run_id):
        return ""  # or it has landed with fewer, with an earlier --min-clients
    count = f"{n:,} clients" if not asked else f"{n:,} clients for {asked}"
    return (
        f"round {plan.round}: held back with {count}{_refusals(run)}, {plan.min_clients:,} are needed; nothing has landed and "
        "the reports are kept: run it again with more, let a later round count them, or set a smaller --min-clients"
    )


@step("wait")
def wait(run: Run) -> None:
    """Land the state of a run that is held back."""
    warehouse.land_waiting(run.plan.warehouse, row_of(run, clients=_clients(run)[0]))
    share(run)


def _refusals(run: Run) -> str:
    """The numbers of rejected reports by reason, as the end of a clause; '' before aggregation, and for none."""
    if not run.aggregate.exists():
        return ""
    rejected = wire.read_aggregate(run.aggregate, run.scheme).rejected
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(rejected.items()))
    return f" ({sum(rejected.values()):,} reports were rejected, {reasons})" if rejected else ""


def _clients(run: Run) -> tuple[int, str]:
    """Number of clients; with one attribute per client, the smallest number for an attribute, and its name."""
    if run.aggregate.exists():
        scheme = run.scheme
        aggregate = wire.read_aggregate(run.aggregate, scheme)
        counts = {name: aggregate.reports(name) for name in scheme.attributes}
        fewest = min(((n, name) for name, n in counts.items() if 0 < n < aggregate.n), default=(aggregate.n, ""))
        return fewest if scheme.reporting == "one" else (aggregate.n, "")
    if run.plan.source == "records":
        n = 0
        records = wire.location(run.plan.input)
        for block in populations.read_blocks(records, run.scheme, size=BLOCK, dialect=run.plan.dialect):
            run.scheme.encode(block, n)  # an invalid record is reported before a small number of clients
            n += len(block)
            if n >= run.plan.min_clients:
                break
        return n, ""
    return run.plan.clients or sum(batch.reports for batch in batches_of(run)), ""
