"""Printing: tables that fit the width of the output, odds of reports, and progress bars on terminals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dpcore.protocol.odds import Telling
    from dpcore.rounds.planning.odds import OddsPlan


def new_table(title: str, *columns: str) -> Table:
    """Return a table without rows; columns of numbers are aligned to the right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", show_edge=False)
    for column in columns:
        right = column in ("estimate", "change", "difference", "true value", "epsilon") or column.endswith("interval")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    return table


def show(table: Table) -> None:
    """Print a table."""
    _console().print(table)


def show_lines(title: str, columns: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a table whose cells are texts."""
    table = new_table(title, *columns)
    for line in lines:
        table.add_row(*line)
    show(table)


def show_aims(lines: Iterable[Sequence[str]]) -> None:
    """Print the aims of a study, and whether they are reached."""
    show_lines("aims", ("aim", "may be", "found", "reached"), lines)


def show_places(file: Path, pictures: Path | None = None) -> None:
    """Print the locations of a study's rows and pictures."""
    print(f"warehouse  {relative(str(file))}")
    if pictures is not None:
        print(f"pictures   {relative(str(pictures))}")


def as_text(table: Table) -> str:
    """Return a table as `show` prints it, without trailing blank space."""
    console = _console()
    with console.capture() as capture:
        console.print(table)
    return capture.get().rstrip()


def show_rows(columns: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
    """Print one row per line or, if the columns do not fit, one value per line."""
    rows = [list(map(_cell, row)) for row in values]
    table = new_table("", *columns)
    for row in rows:
        table.add_row(*row)
    console = _console()
    if console.measure(table, options=console.options.update(width=1 << 20)).maximum <= console.width or not rows:
        show(table)
        return
    longest = max(map(len, columns))
    for number, row in enumerate(rows, 1):
        print(f"row {number}")
        for column, value in zip(columns, row, strict=True):
            print(f"  {column:<{longest}}  {value}")


@contextmanager
def progress(description: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show progress on a terminal, with a bar if the total is known; yields a function that advances it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    counted: list[Any] = [BarColumn(), MofNCompleteColumn()] if total else []
    left: list[Any] = [TextColumn("left"), TimeRemainingColumn()] if total else []
    columns = [SpinnerColumn(), TextColumn("{task.description}"), *counted, TimeElapsedColumn(), *left]
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(description, total=total)
        yield lambda count: shown.advance(task, count)


def measure(steps: Iterator[tuple[int, int]], *, goes_on: bool = True) -> None:
    """Run a study to its end; if it is stopped, print whether the same command resumes it."""
    done, (_, total) = 0, next(steps)
    try:
        with progress("measuring", total or None) as advance:
            for _ in steps:
                done += 1
                advance(1)
    except KeyboardInterrupt:
        again = "resumes from there" if goes_on else "starts again"
        print(f"ldpflow: stopped after {done} of {total} pieces; the same command {again}", file=sys.stderr)
        sys.exit(130)


def relative(path: str) -> str:
    """Return a path relative to the working directory, if it is inside."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _console() -> Console:
    """Return a console with the terminal's width; output to files is 160 characters wide, so that tables do not wrap."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value + 0.0:.6g}"
    return "" if value is None else str(value)


def show_odds(telling: Telling, level: str) -> None:
    """Print the odds at a level of detail; by default the sentence about all questions together."""
    if level == "numbers":
        _show_numbers(telling)
    elif level:
        for name, line in telling.questions.items():
            print(f"{telling.titles[name]}: {getattr(line, level)}")
    if level != "numbers":
        print(telling.all.paragraph if level == "paragraph" else telling.all.sentence)
    if telling.after is not None:
        print(f"{telling.after.sentence} {telling.texts['sentence']['again']}")


def _show_numbers(telling: Telling) -> None:
    """Print E, V and both shares of every question, of all questions and of all rounds, with the formulas."""
    heads = telling.texts["numbers"]
    columns = [heads[name] for name in ("question", "average", "worst", "ratio", "variation")]
    table = new_table(telling.texts["title"], *columns)
    for name, line in telling.lines:
        table.add_row(name, line.average, line.worst, line.ratio, line.variation)
    show(table)
    for formula in ("formula_worst", "formula_average", "formula_all"):
        print(heads[formula])


def show_odds_plan(plan: OddsPlan) -> None:
    """Print the epsilons that satisfy the odds, next to those of the scheme and their odds."""
    from dpcore.privacy.odds import together
    from dpcore.protocol.odds import times

    after = "a round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    table = new_table("", "attribute", "epsilon now", f"correct of 100, {after}", "each alone", "all together")
    for name, budget in plan.together.items():
        now = together([plan.now.questions[name]], plan.rounds)
        table.add_row(name, plan.epsilons[name].text, times(now.worst), plan.alone.text, budget.text)
    table.add_row("all", plan.epsilon.text, times(plan.now.after.worst), "", plan.total.text)
    show(table)
    print(f"each alone: epsilon = {plan.alone.text} gives odds of at most {float(plan.worst):g}; guessing has 0.5")
    print(f"all together: the last column gives at most {times(plan.then.worst)} correct of 100 after {after}")
