"""What a person reads after a round: what was found, what has changed since the last one, and how groups differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.cli.printing import as_text, new_table, relative

if TYPE_CHECKING:
    from dpcore.results.tables import Line
    from dpcore.rounds.run import Run


def render(run: Run) -> str:
    """Return what a person reads after a round: the estimates, the epsilon spent, and where things are."""
    from dpcore.results import warehouse
    from dpcore.results.tables import summary
    from dpcore.rounds.landing import row_of

    plan, parsed = run.plan, run.scheme
    found = summary(run.tables(), parsed)
    known = any(line.truth is not None for line in found)
    columns = ("attribute", "quantity", "estimate", "95 % interval", *(("truth", "holds") if known else ()), "epsilon")
    row = row_of(run)
    table = new_table(f"{parsed.name}, round {plan.round}, {row.accepted or 0:,} clients", *columns)
    previous = ""
    refusals: list[str] = []
    for line in found:
        first = line.attribute != previous
        if first and previous:
            table.add_section()
        previous = line.attribute
        estimate, interval = line.number(line.estimate), line.interval
        if line.estimate is None:
            refusals.append(f"{line.attribute} {line.quantity}: {line.reason}")
            estimate, interval = "refused", f"note {len(refusals)}"
        truth = (line.number(line.truth), {True: "yes", False: "no", None: ""}[line.holds]) if known else ()
        epsilon = parsed.attributes[line.attribute].budget.text if first else ""
        table.add_row(line.attribute if first else "", line.quantity, estimate, interval, *truth, epsilon)
    lines = [as_text(table), *(f"note {i}: {refusal}" for i, refusal in enumerate(refusals, 1))]
    if known:
        held = [line.holds for line in found if line.holds is not None]
        lines.append(f"{sum(held)} of {len(held)} intervals hold the truth")
    lines += _changes(run)
    if plan.is_rehearsal:
        lines.append(
            "REHEARSAL: real records under a known seed are not private; share nothing of it, and delete the run's folder"
        )
    few = f"select detail from checks where run_id = '{plan.run_id}' and name = 'clients' and not passed"
    lines += [f"CHECK clients: {detail}" for detail in warehouse.query(plan.warehouse, few)["detail"]]
    if plan.is_trial:
        lines.append(f"TRIAL: round {plan.round} is never the day's, nor compared with it")
    lines += [
        f"epsilon    {parsed.epsilon:.4f} a client ({parsed.budget.text})",
        f"run        {plan.run_id}" + (f", seed {plan.seed}" if plan.source == "simulated" else ""),
        f"warehouse  {relative(plan.warehouse)}",
        f"pictures   {relative(plan.figures)}",
    ]
    return "\n".join(lines)


def compared(run: Run) -> tuple[str, list[Line], list[Line]]:
    """Return the round that a landed run was compared with, what has changed since, and how its groups differ."""
    from dpcore.results import changes, warehouse

    plan, scheme = run.plan, run.scheme
    tables = {
        table: warehouse.query(plan.warehouse, f"from {table} where run_id = '{plan.run_id}'")
        for table in ("comparisons", "frequencies")
    }
    before = f"""
        select any_value(runs."round") as previous
        from comparisons join runs on runs.run_id = other_run_id
        where comparisons.run_id = '{plan.run_id}' and other_run_id <> comparisons.run_id
    """
    round_ = warehouse.query(plan.warehouse, before)["previous"].iloc[0]
    since, among = (of(tables, scheme, plan.run_id) for of in (changes.since, changes.among))
    return str(round_), since, among


def _changes(run: Run) -> list[str]:
    """What has changed since the earlier round, and how groups differ; no line where there is neither."""
    from dpcore.results.changes import CERTAINTY

    round_, since, among = compared(run)
    lines = _differences(f"change since round {round_}", "moved", since)
    lines += _differences("differences between groups", "differ", among)
    if lines:
        lines.append(
            f"yes: told from zero with {100 * CERTAINTY:g} % confidence, all rows of a table judged at once; perhaps: by the "
            "row's own interval only"
        )
    return [*lines, ""] if lines else []


def _differences(title: str, verdict: str, found: list[Line]) -> list[str]:
    from dpcore.results.changes import telling

    if not found:
        return []
    table, previous = new_table(title, "attribute", "quantity", "change", "95 % interval", verdict), ""
    shown, left_out = telling(found)
    for line in shown:
        name, previous = ("" if line.attribute == previous else line.attribute), line.attribute
        table.add_row(name, line.quantity, line.number(line.estimate) or "refused", line.interval, line.verdict)
    remarks = dict.fromkeys(line.reason for line in shown if line.estimate is not None and line.reason)
    lines = ["", *([as_text(table)] if shown else []), *remarks]
    return [*lines, f"{title}: {left_out} more in the table `comparisons`"] if left_out else lines
