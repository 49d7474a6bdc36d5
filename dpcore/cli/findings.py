"""What a person reads after a round: what was found, what has changed since the last one, and how groups differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.cli.printing import as_text, new_table, relative

if TYPE_CHECKING:
    from dpcore.results.tables import Line


def render(folder: Path) -> str:
    """Return what a person reads after a round: the estimates, the epsilon spent, and where things are."""
    from dpcore.rounds import stages

    plan = stages.plan_of(folder)
    parsed = plan.scheme
    found = stages.summary_of(folder)
    known = any(line.truth is not None for line in found)
    columns = ("attribute", "quantity", "estimate", "95 % interval", *(("truth", "holds") if known else ()), "epsilon")
    row = stages.run_row(folder)
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
    lines += _changes(folder)
    if plan.is_rehearsal:
        lines.append(
            "REHEARSAL: real records under a known seed are not private; share nothing of it, and delete the run's folder"
        )
    lines += [f"CHECK clients: {detail}" for detail in stages.fewer_than_usual(folder)]
    if plan.is_trial:
        lines.append(f"TRIAL: round {plan.round} is never the day's, nor compared with it")
    lines += [
        f"epsilon    {parsed.epsilon:.4f} a client ({parsed.budget.text})",
        f"run        {plan.run_id}" + (f", seed {plan.seed}" if plan.source == "simulated" else ""),
        f"warehouse  {relative(plan.warehouse)}",
        f"pictures   {relative(plan.figures)}",
    ]
    return "\n".join(lines)


def _changes(folder: Path) -> list[str]:
    """What has changed since the earlier round, and how groups differ; no line where there is neither."""
    from dpcore.results.changes import CERTAINTY
    from dpcore.rounds import stages

    round_, since, among = stages.changes_of(folder)
    lines = _differences(f"change since round {round_}", "moved", since) if round_ else []
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
