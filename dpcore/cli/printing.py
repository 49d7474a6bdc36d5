"""How commands print: tables as wide as the place they go to, and progress where a person looks on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dpcore.protocol.attribute import Attribute


def new_table(title: str, *columns: str) -> Table:
    """Return a table without rows; columns of numbers stand to the right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", show_edge=False)
    for column in columns:
        right = column in ("estimate", "change", "true value", "epsilon") or column.endswith("interval")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    return table


def show(table: Table) -> None:
    """Print a table."""
    _console().print(table)


def show_lines(title: str, columns: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a table of lines that are texts already."""
    table = new_table(title, *columns)
    for line in lines:
        table.add_row(*line)
    show(table)


def show_aims(lines: Iterable[Sequence[str]]) -> None:
    """Print the aims of a study, and which are reached."""
    show_lines("aims", ("aim", "may be", "found", "reached"), lines)


def show_places(file: Path, pictures: Path | None = None) -> None:
    """Print where a study's rows and pictures are."""
    print(f"warehouse  {relative(str(file))}")
    if pictures is not None:
        print(f"pictures   {relative(str(pictures))}")


def as_text(table: Table) -> str:
    """Return a table as `show` prints it, without what is blank at its end."""
    console = _console()
    with console.capture() as capture:
        console.print(table)
    return capture.get().rstrip()


def show_rows(columns: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
    """Print a row a line or, where the columns do not fit, a value a line."""
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
    """Show on a terminal what goes on, with a bar where the total is known; yields what to call when some of it is done."""
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
    """Carry a study through; where it is stopped, say whether it can go on from there."""
    done, (_, total) = 0, next(steps)
    try:
        with progress("measuring", total or None) as advance:
            for _ in steps:
                done += 1
                advance(1)
    except KeyboardInterrupt:
        again = "goes on from there" if goes_on else "begins anew"
        print(f"ldpflow: stopped after {done} of {total} pieces; the same command {again}", file=sys.stderr)
        sys.exit(130)


def relative(path: str) -> str:
    """Return a path as seen from the working directory, where it is inside."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _console() -> Console:
    """As wide as Rich finds a terminal; wide where output goes to a file, so that tables do not wrap."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value + 0.0:.6g}"
    return "" if value is None else str(value)


def domain_text(attribute: Attribute) -> str:
    """Return what may be answered, in short."""
    from dpcore.protocol.domain.dates import SUFFIXES, date_text
    from dpcore.protocol.domain.support_points import name_of
    from dpcore.protocol.syntax.fields import listed

    if attribute.sides:
        return " together with ".join(f"{side.column}: {domain_text(side)}" for side in attribute.sides)
    is_silent = attribute.missing == "category"
    if attribute.bins is not None:
        edges = listed(tuple(map(name_of, attribute.bins)))
        asks = f"{len(attribute.bins) + 1} ranges, parted at {edges} {attribute.unit}".strip()
    elif attribute.is_numeric:
        ends = [
            date_text(x, attribute.unit) if attribute.is_date else f"{x:,g}"
            for x in map(float, (attribute.lower, attribute.upper))
        ]
        asks = f"{' to '.join(ends)} {SUFFIXES.get(attribute.unit, attribute.unit)}".strip()
        asks += "" if attribute.points is None else f", {len(attribute.points)} values"
    else:
        asks = f"{len(attribute.categories) - is_silent} categories"
    return asks + (", or no answer" if is_silent else "")
