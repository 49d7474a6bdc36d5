"""The summary printed after a round: estimates, changes since the last round, and differences between groups.

Like the round's page, it is read from the warehouse.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.cli.printing import as_text, new_table, relative
from dpcore.rounds.defaults import has_charts

if TYPE_CHECKING:
    from dpcore.results.pages.content import Section
    from dpcore.results.pages.relations import Relation
    from dpcore.results.text.phrases import Line
    from dpcore.rounds.run import Run


def render(file: Path, run_id: str) -> str:
    """Return the summary of a landed run: the estimates, the spent epsilon, and the locations of its files.

    file: the warehouse.  Raises WarehouseError if it cannot be read.
    """
    from dpcore.results import warehouse
    from dpcore.results.pages.content import numbers_of
    from dpcore.results.pages.vocabulary import titles_of
    from dpcore.results.text.phrases import JUDGED

    with warehouse.reader(file) as ask, titles_of(ask, run_id):
        content = numbers_of(ask, run_id)
        drawn = ask(f"select path from figures where run_id = '{run_id}'")["path"]
    row, total, sections = content["run"], content["total"], content["sections"]
    lines = _estimates(f"{row['scheme']}, round {row['round']}, {row['accepted']:,} clients", sections)
    lines += _together("", [*content["pairs"], *content["experiments"]])
    lines += _together("regressions", content["regressions"])
    for experiment in content["experiments"]:
        lines += _experiment(experiment)
    differences, interval = [], _interval(sections)
    for change in content["changes"]:
        title = f"change since round {change.since}"
        differences += _differences(title, interval, "moved", change.lines, change.left_out, change.remarks)
    among = [line for section in sections for line in section.differences]
    left_out = sum(section.differences_left_out for section in sections)
    differences += _differences("differences between groups", interval, "differ", among, left_out)
    lines += [*differences, JUDGED, ""] if differences else []
    lines += dict.fromkeys(section.weighted for section in sections if section.weighted)
    if file.name == warehouse.REHEARSAL:
        lines.append(
            "DRY RUN: real records under a known seed are not private; do not share the results, and delete the run's folder"
        )
    failed = [check for check in content["checks"] if not check["passed"]]
    shown = [check for check in failed if check["name"] == "clients" or check["name"].startswith("estimable")]
    lines += [f"CHECK {check['name']}: {check['detail']}" for check in shown]
    if row["trial"]:
        lines.append(f"TRIAL: round {row['round']} is separate from the rounds of the day and not compared with them")
    return "\n".join(
        [
            *lines,
            f"epsilon    {total['epsilon']} per client"
            + (f" ({total['stated']})" if total["stated"] != total["epsilon"] else ""),
            f"run        {row['run_id']}" + (f", seed {row['seed']}" if content["simulated"] else ""),
            f"warehouse  {relative(str(file))}",
            *(f"pictures   {relative(folder)}" for folder in sorted({str(Path(path).parent) for path in drawn})),
        ]
    )


def print_pictures(run: Run) -> None:
    """Print the folder of a run's pictures."""
    none = "none: run `pip install 'ldpflow[charts]'` to draw rounds"
    print(f"pictures   {relative(run.plan.figures) if has_charts() else none}")


def _estimates(title: str, sections: list[Section]) -> list[str]:
    """Return the table of all attributes, the reasons of withheld estimates, and the coverage of the true values."""
    interval = _interval(sections)
    rows, refusals, covers = [], [], []
    for section in sections:
        heads = (section.title, section.stated)
        for line in section.lines:
            if not line.estimate:
                refusals.append(f"{', '.join(filter(None, (section.title, line.quantity, line.group)))}: {line.note}")
            interval_cell = line.interval if line.estimate else f"note {len(refusals)}"
            truth = (line.true, "" if line.holds is None else "yes" if line.holds else "no")
            rows.append([heads[0], line.quantity, line.group, line.value, interval_cell, *truth, heads[1]])
            covers += [] if line.holds is None else [line.holds]
            heads = ("", "")
    columns = ["attribute", "quantity", "group", "estimate", interval, "true value", "covered", "epsilon"]
    notes = [f"note {i}: {refusal}" for i, refusal in enumerate(refusals, 1)]
    coverage = [f"{sum(covers)} of {len(covers)} intervals cover the true value"] if covers else []
    remarks = [f"{section.title}: {section.remark}" for section in sections if section.remark]
    remarks += [
        f"{section.title}: {sentence}"
        for section in sections
        for sentence in (section.selection, section.groups_selection, *(part.sentence for part in section.alternatives))
        if sentence
    ]
    return [_table(title, columns, rows, has_sections=True), *notes, *remarks, *coverage]


def _interval(sections: list[Section]) -> str:
    """Return the heading of intervals, with their confidence if it is the same everywhere; that of differences is the same."""
    confidences = {section.confidence for section in sections if section.confidence}
    return f"{confidences.pop()} interval" if len(confidences) == 1 else "interval"


def _together(title: str, relations: list[Relation]) -> list[str]:
    """Return one line per pair, experiment or regression: the first statistic with its interval, or the tests."""
    width = 1 + max((len(relation.title) for relation in relations), default=0)
    lines = [f"{relation.title + ':':<{width}}  {relation.headline}" for relation in relations]
    return ["", *filter(None, [title]), *lines] if lines else []


def _experiment(experiment: Relation) -> list[str]:
    """Return the table of an experiment with a remark; empty if it has no differences."""
    if not experiment.rows:
        return []
    rows = [list(cells.values()) for cells in experiment.rows]
    table = _table(f"experiment {experiment.title}", list(experiment.rows[0]), rows)
    return ["", table, " ".join([experiment.about, *experiment.tests]), experiment.assumption]


def _differences(
    title: str, interval: str, verdict: str, differences: list[Line], left_out: int, remarks: Iterable[str] = ()
) -> list[str]:
    """Return the table of differences with the remarks about it; empty if there are no differences."""
    rows, previous = [], ""
    for line in differences:
        name, previous = ("" if line.attribute == previous else line.attribute), line.attribute
        rows.append([name, line.quantity, line.group, line.value, line.interval, line.verdict])
    columns = ["attribute", "quantity", "group", "change" if verdict == "moved" else "difference", interval, verdict]
    lines = ["", _table(title, columns, rows), *remarks] if rows else []
    return [*lines, f"{title}: {left_out} more, not significant, are in the table `comparisons`"] if left_out else lines


def _table(title: str, columns: list[str], rows: list[list[str]], *, has_sections: bool = False) -> str:
    """Return a table without its empty columns; with sections, each named attribute begins one."""
    filled = [any(row[place] for row in rows) for place in range(len(columns))]
    table = new_table(title, *compress(columns, filled))
    for row in rows:
        if has_sections and row[0]:
            table.add_section()
        table.add_row(*compress(row, filled))
    return as_text(table)
