"""Whether a round has people enough; one that has not waits, and nothing of it lands but that it waits."""

from __future__ import annotations

from dpcore import populations, wire
from dpcore.protocol.records.blocks import BLOCK
from dpcore.results import warehouse
from dpcore.rounds.run import Run, step
from dpcore.rounds.steps.collected_files import batches_of
from dpcore.rounds.steps.landing import row_of, share


def reason(run: Run) -> str:
    """Return why a run waits, '' where it has clients enough.

    Asked before anybody is privatized and once the aggregate is there: reports that were refused are no clients.
    """
    plan = run.plan
    if not plan.min_clients:
        return ""
    n, asked = _clients(run)
    if n >= plan.min_clients or warehouse.stands(plan.warehouse, plan.run_id):
        return ""  # or it has landed with fewer, as somebody asked
    came = f"{n:,} clients came" if not asked else f"{n:,} clients were asked for {asked}"
    came += _refusals(run)
    return (
        f"round {plan.round} waits: {came}, {plan.min_clients:,} are needed; nothing has landed and the reports are kept: run "
        "it again when more have come, let the next round take them, or ask for fewer (--min-clients)"
    )


@step("wait")
def wait(run: Run) -> None:
    """Land that a run waits."""
    warehouse.land_waiting(run.plan.warehouse, row_of(run, clients=_clients(run)[0]))
    share(run)


def _refusals(run: Run) -> str:
    """How many reports were refused, by reason, as the end of a clause; '' before they have been aggregated, and for none."""
    if not run.aggregate.exists():
        return ""
    rejected = wire.read_aggregate(run.aggregate, run.scheme).rejected
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(rejected.items()))
    return f" ({sum(rejected.values()):,} reports were refused, {reasons})" if rejected else ""


def _clients(run: Run) -> tuple[int, str]:
    """How many clients a run has, as far as is known; where each reported one thing, the fewest of one, and which."""
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
            run.scheme.encode(block, n)  # a bad record is told before it is told that they are few
            n += len(block)
            if n >= run.plan.min_clients:
                break
        return n, ""
    return run.plan.clients or sum(batch.reports for batch in batches_of(run)), ""
