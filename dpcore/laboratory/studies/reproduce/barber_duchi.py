"""What definitions of privacy cost and allow, of [BarberDuchi2014] and [Duchi2018]: truncated means, tests, contraction."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.documents import barber_duchi, definitions
from dpcore.laboratory.studies.figures import (
    Effort,
    Figure,
    Panel,
    agreement,
    curves,
    least,
    most,
    only_stated,
    slope_aims,
    through_middle,
)

_N = "n, records"
_PRIVACY = {"kl": "Kullback-Leibler", "approximate": "approximate", "smooth": "smooth"}


def _truncated_mean(effort: Effort, random: Source) -> pd.DataFrame:
    parts = []
    table = barber_duchi.scalings([10**3, 10**4, 10**5, 10**6], dimensions=(1,))
    for moment, rows in table.groupby("moment"):
        panel = f"{'all' if moment == inf else f'{moment:g}'} moments, against n"
        points = curves(rows, panel, "n", "risk", by=lambda row: _PRIVACY[row["privacy"]], clients="n", epsilon=0.5)
        parts.append(
            through_middle(points, {_PRIVACY[p]: r for p, r in zip(rows["privacy"], rows["rate"], strict=True)})
        )
    table = barber_duchi.dimension_scalings(10**4, 4.0)
    points = curves(
        table,
        "4 moments, against dimension",
        "dimension",
        "risk",
        by=lambda row: _PRIVACY[row["privacy"]],
        clients=10**4,
        epsilon=0.5,
    )
    parts.append(
        through_middle(points, {name: 0.75 * (2 if privacy == "smooth" else 1) for privacy, name in _PRIVACY.items()})
    )
    return pd.concat(parts)


def _truncated_simulated(effort: Effort, random: Source) -> pd.DataFrame:
    runs, parts = effort.runs(300, 50), []
    for n in (200, 500, 1000, 2000):
        table = barber_duchi.simulated(n, 4.0, runs=runs, random=random).assign(n=n)
        parts.append(
            curves(
                table,
                "4 moments",
                "n",
                "simulated",
                by=lambda row: _PRIVACY[row["privacy"]],
                error="standard_error",
                stated="closed",
                clients=n,
                epsilon=0.5,
                repetitions=runs,
            )
        )
    return pd.concat(parts)


def _definitions(effort: Effort, random: Source) -> pd.DataFrame:
    tests, deltas = definitions.trade_offs(), definitions.deltas()
    one = definitions.one_at_random([2, 3, 4, 6, 8])
    promised = [name for name in tests["curve"].unique() if name.startswith("promised")]
    return pd.concat(
        [
            only_stated(curves(tests, "testing two neighbours", "level", "second_error", by="curve"), *promised),
            curves(deltas, "(epsilon, delta)", "epsilon", "delta", by="curve"),
            curves(
                one,
                "one of n at random",
                "n",
                {"total variation": "total_variation", "delta at epsilon = 5": "delta"},
                stated="stated",
                clients="n",
            ),
        ]
    )


def _definition_aims(points: pd.DataFrame) -> list[Verdict]:
    tests = points[points["panel"] == "testing two neighbours"].pivot(index="x", columns="curve")
    apart = tests["value", "two coins"] - tests["stated", "promised by ln 3"]
    deltas = points[points["panel"] == "(epsilon, delta)"]
    gauss = deltas.loc[deltas["curve"].str.startswith("Gaussian"), "value"]
    return [
        most("two coins' second error over the promise's, apart", apart.abs(), 1e-9),
        least("Gaussian noise's delta at every epsilon", gauss, 1e-6),
    ]


def _inherited(effort: Effort, random: Source) -> pd.DataFrame:
    tests, flips = definitions.conditional_tests(), definitions.processed()
    names = {"e^epsilon": "ratio", "total variation": "total_variation", "less informative: 1 is yes": "is_less"}
    return pd.concat(
        [
            curves(tests, "conditional testing", "eta", {"two coins": "gamma"}, stated="promised"),
            curves(flips, "coins whose answers are flipped again", "flip", names),
        ]
    )


def _inherited_aims(points: pd.DataFrame) -> list[Verdict]:
    tests = points[points["panel"] == "conditional testing"]
    order = points.loc[points["curve"] == "less informative: 1 is yes", "value"]
    return [
        most("conditional testing: coins over the promise", tests["value"] / tests["stated"], 1 + 1e-9),
        least("flipped coins are less informative, by linear programming", order, 1.0),
    ]


def _contraction(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(100_000, 1000)
    table = definitions.contractions(["0.1", "0.25", "0.5", "1", "2", "3"], runs=runs, random=random)
    names = {"two coins, the worst of random laws": "largest", "(e^epsilon - 1)^2": "bound", "as printed": "printed"}
    points = curves(
        table,
        "divergence of reports over squared total variation",
        "epsilon",
        names,
        epsilon="epsilon",
        repetitions=runs,
    )
    return only_stated(points, "(e^epsilon - 1)^2", "as printed")


def _contraction_aims(points: pd.DataFrame) -> list[Verdict]:
    wide = points.pivot(index="x", columns="curve")
    ratio = wide["value", "two coins, the worst of random laws"] / wide["stated", "(e^epsilon - 1)^2"]
    return [most("measured over the bound", ratio, 1.0)]


FIGURES: Mapping[str, Figure] = {
    "truncated_mean": Figure(
        document="BarberDuchi2014",
        shows="Table 1: the truncated mean's risk against n and dimension",
        seconds=1,
        panels={
            **{f"{k} moments, against n": Panel(_N, "risk less r^2 / n", "xy", slope=True) for k in ("2", "4", "all")},
            "4 moments, against dimension": Panel("dimension", "risk less r^2 / n", "xy", slope=True),
        },
        points=_truncated_mean,
        aims=lambda points: slope_aims(points, list(points["panel"].unique())),
    ),
    "truncated_simulated": Figure(
        document="BarberDuchi2014",
        shows="Proposition 6: the truncated mean's risk, simulated and in closed form",
        seconds=3,
        panels={"4 moments": Panel(_N, "mean squared error", "xy")},
        points=_truncated_simulated,
        aims=lambda points: agreement(points, ["4 moments"]),
    ),
    "definitions": Figure(
        document="BarberDuchi2014",
        shows="definitions of privacy: tests, delta, total variation",
        seconds=1,
        panels={
            "testing two neighbours": Panel("level", "least second error"),
            "(epsilon, delta)": Panel("epsilon", "least delta"),
            "one of n at random": Panel("n, records", "parameter", "x"),
        },
        points=_definitions,
        aims=_definition_aims,
    ),
    "inherited": Figure(
        document="BarberDuchi2014",
        shows="conditional testing, and what processing leaves",
        seconds=1,
        panels={
            "conditional testing": Panel("eta", "gamma"),
            "coins whose answers are flipped again": Panel("share flipped", "parameter"),
        },
        points=_inherited,
        aims=_inherited_aims,
    ),
    "contraction": Figure(
        document="Duchi2018",
        shows="how private reports contract laws",
        seconds=1,
        panels={"divergence of reports over squared total variation": Panel("epsilon", "ratio", "xy")},
        points=_contraction,
        aims=_contraction_aims,
    ),
}
