"""Theory beside what is measured: two stages [Butucea2023], lower bounds [BarberDuchi2014], the planner."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.studies import bounds
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.documents import planner as planned
from dpcore.laboratory.studies.documents import two_stages
from dpcore.laboratory.studies.figures import Effort, Figure, Panel, curves, least, most, rate_curves, slope_aims

_CLIENTS = "clients"


def _two_stages(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(60, 6)
    sizes = [10**6, 10**7] if effort.quick else [10**5, 10**6, 10**7, 10**8]
    table = two_stages.errors(smoothness=0.3, sizes=sizes, runs=runs, random=random)
    return rate_curves(table, "density of smoothness 0.3", "method", runs)


def _two_stage_aims(points: pd.DataFrame) -> list[Verdict]:
    last = points[points["x"] == points["x"].max()].set_index("curve")["value"]
    ratio = last["two stages"] / last["one stage"]
    fewer = Verdict("most clients: error in two stages over error in one", float(ratio), 1.0)
    return [*slope_aims(points, ["density of smoothness 0.3"]), fewer]


def _lower_bounds(effort: Effort, random: Source) -> pd.DataFrame:
    table = bounds.table(4 if effort.quick else 20)
    table["place"] = [f"n = {n:,}, epsilon = {e:g}" for n, e in zip(table["clients"], table["epsilon"], strict=True)]
    parts = []
    for problem, rows in table.groupby("problem", sort=False):
        spread = rows["error"] / rows["bound"]
        parts.append(
            curves(
                rows.assign(size=rows["clients"] * rows["epsilon"] ** 2, spread=spread, stated=1.0),
                str(problem),
                "size",
                "ratio",
                by=lambda row: row["method"].replace("_", " "),
                error="spread",
                stated="stated",
                clients="clients",
                epsilon="epsilon",
                repetitions="repetitions",
            )
        )
    return pd.concat(parts)


def _planner(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(400, 20)
    table = planned.predictions(runs=runs, random=random)
    return curves(
        table.assign(stated=1.0),
        "predicted over simulated standard error",
        "place",
        "ratio",
        by="mechanism",
        error="standard_error",
        stated="stated",
        clients="clients",
        epsilon="epsilon",
        repetitions="repetitions",
    )


FIGURES: Mapping[str, Figure] = {
    "two_stages": Figure(
        document="Butucea2023",
        shows="the integral of f squared in one stage and in two",
        seconds=80,
        panels={"density of smoothness 0.3": Panel(_CLIENTS, "root mean square error", "xy", slope=True)},
        points=_two_stages,
        aims=_two_stage_aims,
    ),
    "lower_bounds": Figure(
        document="BarberDuchi2014",
        shows="risks of our estimators over the lower bounds",
        seconds=300,
        panels={
            name: Panel("n epsilon^2", "risk over lower bound", "xy")
            for name in (
                "mean, local",
                "density, local",
                "point, local",
                "mean, central",
                "mean of a database, central",
                "density, central",
            )
        },
        points=_lower_bounds,
        aims=lambda points: [least("risk over the lower bound, everywhere", points["value"], 1.0)],
    ),
    "planner": Figure(
        document="Szabo2024",
        shows="the planner's standard errors beside simulated ones",
        seconds=120,
        panels={"predicted over simulated standard error": Panel("mechanism", "ratio")},
        points=_planner,
        aims=lambda points: [most("predicted over simulated, from 1", (points["value"] - 1).abs(), 0.1)],
    ),
}
