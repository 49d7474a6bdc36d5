"""The figure, the two tables and the bounds of [WassermanZhou2010]: perturbed and smoothed histograms, series, small balls."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.studies.documents import wasserman_zhou
from dpcore.laboratory.studies.figures import (
    Effort,
    Figure,
    Panel,
    agreement,
    curves,
    least,
    most,
    rate_curves,
    slope_aims,
)

_N = "n, records"
_SQUARED, _KS = "squared L2 error", "Kolmogorov-Smirnov distance"
_HISTOGRAMS = {(1, "l2"): "L2", (1, "ks"): "Kolmogorov-Smirnov", (2, "l2"): "L2, two dimensions"}


def _beta_histograms(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(300, 30)
    table = wasserman_zhou.perturbed_histogram_errors(runs, random)
    table["said"] = table["epsilon"].map(lambda e: "no noise" if e == "none" else f"epsilon = {e}")
    return pd.concat(
        [
            curves(
                table[table["n"] == n],
                f"{n:,} records",
                "bins",
                "error",
                by="said",
                error="standard_error",
                stated="stated",
                clients=n,
                repetitions=runs,
            )
            for n in (100, 1000)
        ]
    )


def _rates(table: pd.DataFrame, panel: str, runs: int) -> pd.DataFrame:
    """Points of a table with mechanism, n, error, standard_error and rate."""
    return rate_curves(table.assign(name=table["mechanism"].str.replace("_", " ")), panel, "name", runs)


def _histogram_rates(effort: Effort, random: Source) -> pd.DataFrame:
    runs, parts = effort.runs(20, 10), []
    for dimension, top in ((1, 10), (2, 9)):
        sizes = [10**power for power in range(6, top + 1)]
        table = wasserman_zhou.histogram_rates(dimension=dimension, sizes=sizes, runs=runs, random=random)
        for distance, rows in table.groupby("distance", sort=False):
            parts.append(_rates(rows, _HISTOGRAMS[dimension, str(distance)], runs))
    return pd.concat(parts)


def _exponential_rates(effort: Effort, random: Source) -> pd.DataFrame:
    runs, sizes = effort.runs(6), [300, 1000] if effort.quick else [300, 1000, 3000, 10_000]
    return _rates(
        wasserman_zhou.exponential_rates(sizes=sizes, runs=runs, sweeps=20, random=random), "Beta(2, 2)", runs
    )


def _series_rates(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(20, 10)
    sizes = [m**5 for m in (8, 16, 32, 64)]
    perturbed = wasserman_zhou.series_rates(order=2.0, sizes=sizes, runs=runs, random=random)
    terms, few = ([5, 6], 2) if effort.quick else ([5, 6, 8], 2)
    exponential = wasserman_zhou.exponential_series_rates(terms=terms, runs=few, sweeps=8, random=random)
    return pd.concat([_rates(perturbed, "Sobolev order 2", runs), _rates(exponential, "Sobolev order 1.25", few)])


def _printed_scales(effort: Effort, random: Source) -> pd.DataFrame:
    table = wasserman_zhou.printed_series_losses()
    return curves(table, "by enumeration", "terms", {"printed scale": "printed", "our scale": "ours"}, epsilon=1.0)


def _small_balls(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(4000, 400)
    balls = wasserman_zhou.small_balls(sizes=[5, 10, 20], radii=[0.1, 0.2, 0.3, 0.4], runs=runs, random=random)
    bounds = wasserman_zhou.accuracy_bounds(
        sizes=[10**4, 10**5, 10**6], radii=[0.05, 0.1, 0.2], runs=runs // 2, random=random
    )
    exact = np.sqrt(balls["exact"] * (1 - balls["exact"]) / runs)
    return pd.concat(
        [
            curves(
                balls.assign(standard_error=exact),
                "small balls",
                "radius",
                "value",
                by=lambda row: f"{row['size']:g} points",
                error="standard_error",
                stated="exact",
                repetitions=runs,
            ),
            curves(
                bounds.assign(value=bounds["bound"].clip(1e-12, 1.0)),
                "Theorem 11",
                "n",
                "value",
                by=lambda row: f"distance above {row['radius']:g}",
                clients="n",
                epsilon=1.0,
                repetitions=runs // 2,
            ),
        ]
    )


FIGURES: Mapping[str, Figure] = {
    "beta_histograms": Figure(
        document="WassermanZhou2010",
        shows="perturbed histograms of Beta(10, 10): error against bins",
        seconds=4,
        panels={f"{n} records": Panel("bins", _SQUARED, "xy") for n in ("100", "1,000")},
        points=_beta_histograms,
        aims=lambda points: agreement(points, ["100 records", "1,000 records"], rounding=0.005),
    ),
    "histogram_rates": Figure(
        document="WassermanZhou2010",
        shows="Table 1: smoothed and perturbed histograms",
        seconds=4,
        panels={
            "L2": Panel(_N, _SQUARED, "xy", slope=True),
            "Kolmogorov-Smirnov": Panel(_N, _KS, "xy", slope=True),
            "L2, two dimensions": Panel(_N, _SQUARED, "xy", slope=True),
        },
        points=_histogram_rates,
        aims=lambda points: slope_aims(points, list(_HISTOGRAMS.values())),
    ),
    "exponential_rates": Figure(
        document="WassermanZhou2010",
        shows="Table 1: exponential mechanism for the Kolmogorov-Smirnov distance",
        seconds=4,
        panels={"Beta(2, 2)": Panel(_N, _KS, "xy", slope=True)},
        points=_exponential_rates,
        aims=lambda points: slope_aims(points, ["Beta(2, 2)"], at_most=["exponential mechanism"]),
    ),
    "series_rates": Figure(
        document="WassermanZhou2010",
        shows="Table 2: perturbed series and exponential mechanism for series",
        seconds=10,
        panels={
            "Sobolev order 2": Panel(_N, _SQUARED, "xy", slope=True),
            "Sobolev order 1.25": Panel(_N, _SQUARED, "xy", slope=True),
        },
        points=_series_rates,
        aims=lambda points: slope_aims(points, ["Sobolev order 2", "Sobolev order 1.25"]),
    ),
    "printed_scales": Figure(
        document="WassermanZhou2010",
        shows="Theorem 15: privacy loss of the printed scale and of ours",
        seconds=1,
        panels={"by enumeration": Panel("terms of the series", "privacy loss over epsilon", "x")},
        points=_printed_scales,
        aims=lambda points: [
            least("printed scale: loss over epsilon", points.loc[points["curve"] == "printed scale", "value"], 1.2),
            most("our scale: loss over epsilon", points.loc[points["curve"] == "our scale", "value"], 1.0),
        ],
    ),
    "small_balls": Figure(
        document="WassermanZhou2010",
        shows="Theorem 11: small-ball probabilities, and the bound they give",
        seconds=2,
        panels={
            "small balls": Panel("radius", "probability"),
            "Theorem 11": Panel(_N, "bound on the probability", "xy"),
        },
        points=_small_balls,
        aims=lambda points: agreement(points, ["small balls"]),
    ),
}
