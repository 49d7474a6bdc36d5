"""`ldpflow dry-run`: the errors of a scheme's estimates, from simulated rounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpcore.cli.options import SchemeArgument, with_options
from dpcore.cli.printing import new_table, progress, relative, show
from dpcore.rounds.settings import Written

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.protocol.scheme import Scheme

_SHOWN = 30  # most quantities in a chart


@with_options
def dry_run(
    scheme: SchemeArgument,
    clients: Annotated[
        int | None, typer.Option(min=1, help="Respondents of a round. Default: the scheme's number.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Number of simulated rounds.")] = 20,
    like: Annotated[
        Path | None, typer.Option(help="Draw respondents from this file of records, whose values are the truth.")
    ] = None,
    aim: Annotated[str, typer.Option(help='With --error: the quantity, such as "income: mean".')] = "",
    error: Annotated[
        float | None, typer.Option(help="Find the number of clients that gives --aim this standard error.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    chart: Annotated[Path | None, typer.Option(help="Draw the rounds into this file, .png or .svg.")] = None,
    *,
    chosen: Written,
) -> None:
    """Simulate rounds of a scheme; print the error of each estimate and how often its interval covers the true value.

    Respondents are simulated: from skewed distributions by default, from [simulate.NAME] if the scheme has it, or drawn from a
    file with --like. Only the chart is written.

    Example: ldpflow dry-run data/schemes/consumer_expenditure.toml --clients 20000 --rounds 20
    """
    import pandas as pd

    from dpcore import wire
    from dpcore._random import seeded
    from dpcore.populations import respondents_of
    from dpcore.protocol.scheme import Scheme
    from dpcore.rounds.planning.dry_runs import dry_runs, lines, summary, verdict

    if bool(aim) != (error is not None):
        raise typer.BadParameter("--aim and --error must be used together")
    if chart is not None and chart.suffix not in (".png", ".svg"):
        raise typer.BadParameter(f"--chart must be a .png or .svg file, got {chart}")
    parsed = Scheme.from_toml(scheme)
    people = respondents_of(parsed, None if like is None else wire.location(like), chosen.dialect)
    number = clients or parsed.clients
    estimates_by_round = []
    with progress("simulating rounds", rounds) as advance:
        for estimates in dry_runs(parsed, people, number, rounds, seeded(seed)):
            estimates_by_round.append(estimates)
            advance(1)
    result = summary(estimates_by_round)
    show(_table(lines(parsed, result), f"{parsed.name}: {rounds} dry runs of {number:,} clients"))
    print(verdict(result))
    withheld = result[result["withheld"] > 0]
    for row in withheld.itertuples():
        print(f"{row.attribute}, {row.quantity}: withheld in {row.withheld} of {row.rounds} rounds")
    if error is not None:
        _show_clients(scheme, parsed, people, aim, error)
    if chart is not None:
        drawn = _drawn(parsed, pd.concat(estimates_by_round, ignore_index=True), result, chart.suffix, number)
        wire.write_bytes(wire.location(chart), drawn)
        print(f"chart      {relative(str(chart))}")


def _table(rows: list[dict[str, str]], title: str) -> Any:
    """Return a table with a section for each attribute, named once."""
    table = new_table(title, *rows[0]) if rows else new_table(title)
    before = None
    for row in rows:
        if before not in (None, row["attribute"]):
            table.add_section()
        name, before = ("" if row["attribute"] == before else row["attribute"]), row["attribute"]
        table.add_row(name, *list(row.values())[1:])
    return table


def _show_clients(file: Path, scheme: Scheme, people: Any, text: str, error: float) -> None:
    """Print the number of clients that an error needs, as `ldpflow plan` computes it for these respondents."""
    from dpcore.errors import SchemeError
    from dpcore.rounds.planning.aims import Aim
    from dpcore.rounds.planning.planner import Planner

    aim = Aim.parse(text)
    if aim.attribute not in scheme.attributes:
        raise SchemeError(f"--aim: no attribute {aim.attribute!r}; the scheme has {', '.join(scheme.attributes)}")
    budget = scheme.attributes[aim.attribute].budget
    answer = Planner.read(file, people).plan(aim, epsilon=budget, error=error)
    print(f"{aim.attribute}, {aim.quantity}: a standard error of {error:g} needs {answer.clients:,} clients")


def _drawn(scheme: Scheme, rounds: pd.DataFrame, result: pd.DataFrame, ending: str, clients: int) -> bytes:
    """Return the chart of estimates for all clients, limited to the first quantities that fit."""
    from dpcore.results.plots import height_for, new_axes, png, svg
    from dpcore.results.plots.truth import plot_dry_runs
    from dpcore.rounds.planning.dry_runs import KEY, lines

    shown = result[(result["given"] == "") & result["truth"].notna()].head(_SHOWN)
    names = [f"{line['attribute']}: {line['quantity']}" for line in lines(scheme, shown)]
    rows = shown[KEY].assign(name=names).merge(rounds, on=KEY)
    figure, axes = new_axes(height=height_for(len(shown)))
    subtitle = f"{clients:,} clients a round; estimates of all clients"
    plot_dry_runs(rows, axes, title=f"Dry runs of {scheme.name}", subtitle=subtitle)
    return png(figure) if ending == ".png" else svg(figure).encode()
