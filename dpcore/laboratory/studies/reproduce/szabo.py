"""The theorems of [Szabo2024]: derivatives, smooth functionals, the elbow, Lepski's rule, Gaussian noise."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.documents import definitions, szabo
from dpcore.laboratory.studies.figures import Effort, Figure, Panel, curves, least, rate_curves, slope, slope_aims

_CLIENTS = "clients"
_ORDERS = {0: "the density, p = 1", 1: "first derivative, p = 2", 2: "second derivative, p = 3"}


def _derivative_rates(effort: Effort, random: Source) -> pd.DataFrame:
    runs, parts = effort.runs(200, 40), []
    table = szabo.derivative_rates(runs=runs, random=random)
    table["name"] = table["order"].map(_ORDERS)
    for where, rows in table.groupby("where", sort=False):
        parts.append(rate_curves(rows, "at a point" if where == "point" else "in L2", "name", runs))
    return pd.concat(parts)


def _elbow(effort: Effort, random: Source) -> pd.DataFrame:
    runs, parts = effort.runs(30), []
    for n in (10**5, 10**6):
        table = szabo.elbow(n=n, epsilons=[2.0**k for k in range(-1, 7)], runs=runs, random=random)
        parts.append(
            curves(
                table,
                "a density with two derivatives",
                "epsilon",
                {f"{n:,} clients": "error"},
                error="standard_error",
                stated="stated",
                clients=n,
                epsilon="epsilon",
                repetitions=runs,
            )
        )
    return pd.concat(parts)


def _elbow_aims(points: pd.DataFrame) -> list[Verdict]:
    private = slope_aims(points[points["x"] <= 4], ["a density with two derivatives"])
    direct = [
        least(f"{curve}: slope from epsilon = 16 on, -0.67 before", pd.Series([slope(rows[rows["x"] >= 16])]), -0.25)
        for curve, rows in points.groupby("curve", sort=False)
    ]
    return [*private, *direct]


def _lepski(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(20)
    table = szabo.lepski(places=3 if effort.quick else 5, runs=runs, random=random)
    return rate_curves(table, "a density with two derivatives", "method", runs)


def _smooth_functionals(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(100)
    table = szabo.smooth_rates(runs=runs, places=2 if effort.quick else 4)
    return rate_curves(table, "dyadic wave", "functional", runs)


def _gaussian_noise(effort: Effort, random: Source) -> pd.DataFrame:
    table = definitions.noise_energies(["0.25", "0.5", "1", "2", "4", "8"])
    return curves(
        table,
        "a density of level 5, a million clients",
        "epsilon",
        "deviation",
        by="noise",
        clients=10**6,
        epsilon="epsilon",
    )


FIGURES: Mapping[str, Figure] = {
    "derivative_rates": Figure(
        document="Szabo2024",
        shows="Theorems 1 and 2: a density and its derivatives at a point and in L2",
        seconds=20,
        panels={
            "at a point": Panel(_CLIENTS, "root mean square error", "xy", slope=True),
            "in L2": Panel(_CLIENTS, "root mean square error", "xy", slope=True),
        },
        points=_derivative_rates,
        aims=lambda points: slope_aims(points, ["at a point", "in L2"]),
    ),
    "smooth_functionals": Figure(
        document="Szabo2024",
        shows="Theorem 3: smooth functionals, as in the study of rates",
        seconds=130,
        panels={"dyadic wave": Panel(_CLIENTS, "root mean square error", "xy", slope=True)},
        points=_smooth_functionals,
        aims=lambda points: slope_aims(points, ["dyadic wave"]),
    ),
    "elbow": Figure(
        document="Szabo2024",
        shows="the elbow from the private to the direct rate",
        seconds=10,
        panels={"a density with two derivatives": Panel("epsilon", "root mean square error, L2", "xy")},
        points=_elbow,
        aims=_elbow_aims,
    ),
    "lepski": Figure(
        document="Szabo2024",
        shows="the level that Lepski's rule chooses, beside the best",
        seconds=5,
        panels={"a density with two derivatives": Panel(_CLIENTS, "root mean square error, L2", "xy", slope=True)},
        points=_lepski,
        aims=lambda points: slope_aims(points, ["a density with two derivatives"]),
    ),
    "gaussian_noise": Figure(
        document="Szabo2024",
        shows="the relaxed version: wavelet reports with discrete Gaussian noise",
        seconds=2,
        panels={"a density of level 5, a million clients": Panel("epsilon", "root mean square error, L2", "xy")},
        points=_gaussian_noise,
    ),
}
