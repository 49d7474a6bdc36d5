"""The examples of [Garivier2022]: Warner's survey, votes, the price of a mean, noisy max, quantiles, differencing."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.documents import garivier
from dpcore.laboratory.studies.figures import Effort, Figure, Panel, agreement, curves, least, most, only_stated


def _warner_survey(effort: Effort, random: Source) -> pd.DataFrame:
    n, runs = 5000, effort.runs(1000, 100)
    table = garivier.warner_survey(np.linspace(0.05, 0.95, 10).tolist(), n=n, runs=runs, random=random)
    points = curves(
        table,
        "two coins",
        "share",
        {"2 m - 1/2": "corrected", "2 m - 1, as printed": "printed"},
        error="standard_error",
        stated="share",
        clients=n,
        epsilon=float(table["loss"].iloc[0]),
        repetitions=runs,
    )
    return points.assign(stated=points["stated"].where(points["curve"] == "2 m - 1/2"))


def _majority(effort: Effort, random: Source) -> pd.DataFrame:
    law, price = garivier.majority_probabilities(9, 0.5), garivier.majority_price(0.1)
    right = curves(
        law,
        "9 votes, epsilon = 0.5",
        "s",
        {"exponential": "exponential", "inverse sensitivity": "inverse_sensitivity", "largest possible": "bound"},
        clients=9,
        epsilon=0.5,
    )
    wrong = curves(
        price,
        "as votes come in, epsilon = 0.1",
        "multiple",
        {"without privacy": "plain", "inverse sensitivity": "private"},
        clients="n",
        epsilon=0.1,
    )
    return pd.concat([only_stated(right, "largest possible"), wrong])


def _majority_aims(points: pd.DataFrame) -> list[Verdict]:
    law = points[points["panel"] == "9 votes, epsilon = 0.5"].pivot(index="x", columns="curve")
    private = law["value", "inverse sensitivity"]
    later = points[(points["panel"] == "as votes come in, epsilon = 0.1") & (points["x"] >= 1)]
    price = later.pivot(index="x", columns="curve", values="value")
    return [
        most("inverse sensitivity over the largest possible", private / law["stated", "largest possible"], 1 + 1e-9),
        least("inverse sensitivity less exponential", private - law["value", "exponential"], 0.0),
        most(
            "price from 9 / epsilon^2 votes on, probability",
            price["inverse sensitivity"] - price["without privacy"],
            0.03,
        ),
    ]


def _mean_price(effort: Effort, random: Source) -> pd.DataFrame:
    table = garivier.mean_price("0.5", [10, 30, 100, 300, 1000, 3000, 10_000, 30_000])
    names = {
        "sample itself": "plain",
        "Laplace": "laplace",
        "inverse sensitivity": "inverse_sensitivity",
        "lower bound": "lower_bound",
    }
    points = only_stated(curves(table, "mean of n bits", "n", names, clients="n", epsilon=0.5), "lower bound")
    total = curves(table, "the price", "n", {"sample and Laplace": "total_over_plain"}, clients="n", epsilon=0.5)
    return pd.concat([points, total.assign(stated=1.0)])


def _mean_aims(points: pd.DataFrame) -> list[Verdict]:
    wide = points[points["panel"] == "mean of n bits"].pivot(index="x", columns="curve")
    price = points[points["panel"] == "the price"].sort_values("x")
    return [
        least("Laplace over the lower bound", wide["value", "Laplace"] / wide["stated", "lower bound"], 1.0),
        most("what privacy costs at 30,000 records, ratio of variances", price["value"].tail(1), 1.01),
    ]


def _noisy_max(effort: Effort, random: Source) -> pd.DataFrame:
    runs, parts = effort.runs(1000, 100), []
    for epsilon in ("0.25", "0.5", "1"):
        table = garivier.noisy_max(epsilon, [1, 2, 4, 8, 16], runs=runs, random=random)
        parts.append(
            curves(
                table,
                "one of three values",
                "lead",
                {f"epsilon = {epsilon}": "seen"},
                error="standard_error",
                stated="exact",
                epsilon=float(epsilon),
                repetitions=runs,
            )
        )
    return pd.concat(parts)


def _optimality(effort: Effort, random: Source) -> pd.DataFrame:
    table = garivier.optimalities(5, "1")
    parts = []
    for target, rows in table.groupby("target", sort=False):
        share = "1/2" if rows["share"].iloc[0] == 0.5 else "1/4"
        names = {"ours": "kept", "best unbiased mechanism at a share of epsilon": "best", "bound": "bound"}
        points = curves(rows, f"{target}, {share} of epsilon", "s", names, clients=5, epsilon=1.0)
        parts.append(only_stated(points, "bound"))
    return pd.concat(parts)


def _optimality_aims(points: pd.DataFrame) -> list[Verdict]:
    wide = points.pivot(index=["panel", "x"], columns="curve")
    best = wide["value", "best unbiased mechanism at a share of epsilon"]
    return [least("ours less the best at a share of epsilon", wide["value", "ours"] - best, -1e-6)]


def _utility(effort: Effort, random: Source) -> pd.DataFrame:
    parts = []
    for epsilon in ("1", "2"):
        table = garivier.utility_bounds(21, epsilon)
        parts.append(
            curves(
                table,
                "mean of 21 bits",
                "shortfall",
                {f"epsilon = {epsilon}": "seen"},
                stated="bound",
                clients=21,
                epsilon=float(epsilon),
            )
        )
    return pd.concat(parts).assign(stated=lambda rows: rows["stated"].clip(upper=1.0))


def _quantiles(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(40, 6)
    table = garivier.quantiles_at_atoms(n=120, epsilon="1", atom=[0.0, 0.15, 0.3, 0.45, 0.6], runs=runs, random=random)
    names = {
        "joint_exp": "JointExp",
        "smoothed_joint_exp": "JointExp, smoothed",
        "rank": "inverse sensitivity of the rank",
        "smoothed_distance": "the same, smoothed",
    }
    table["name"] = table["method"].map(names)
    common: dict[str, Any] = {"error": "standard_error", "clients": 120, "epsilon": 1.0, "repetitions": runs}
    joint = table["method"].str.contains("joint")
    return pd.concat(
        [
            curves(table[joint], "three quantiles", "atom", "error", by="name", **common),
            curves(table[~joint], "the median", "atom", "error", by="name", **common),
        ]
    )


def _quantile_aims(points: pd.DataFrame) -> list[Verdict]:
    last = points[points["x"] == points["x"].max()].set_index("curve")["value"]
    return [
        Verdict(
            "an atom of 60 %: JointExp's error over the smoothed",
            last["JointExp"] / last["JointExp, smoothed"],
            2.0,
            True,
        )
    ]


def _differencing(effort: Effort, random: Source) -> pd.DataFrame:
    n, runs = 30, effort.runs(600, 100)
    epsilons = ["0.1", "0.3", "1", "2", "4"]
    table = garivier.differencing(epsilons, n=n, runs=runs, random=random)
    exact = float(table.loc[table["epsilon"] == inf, "rate"].iloc[0])
    table = table[table["epsilon"] < inf].assign(exact=exact)
    table["spread"] = np.sqrt(table["rate"] * (1 - table["rate"]) / runs)
    private = curves(
        table,
        "guessing one bit of a database",
        "epsilon",
        {"private answers": "rate"},
        error="spread",
        stated="bound",
        clients=n,
        epsilon="epsilon",
        repetitions=runs,
    )
    plain = curves(
        table, "guessing one bit of a database", "epsilon", {"exact answers": "exact"}, clients=n, repetitions=runs
    )
    return pd.concat([private, plain])


def _differencing_aims(points: pd.DataFrame) -> list[Verdict]:
    private = points[points["curve"] == "private answers"]
    return [
        least("exact answers: how often right", points.loc[points["curve"] == "exact answers", "value"], 1.0),
        most(
            "private answers: standard errors above the bound",
            (private["value"] - private["stated"]) / private["error"],
            4.0,
        ),
    ]


FIGURES: Mapping[str, Figure] = {
    "warner_survey": Figure(
        document="Garivier2022",
        shows="Warner's survey with two coins, corrected and as printed",
        seconds=1,
        panels={"two coins": Panel("share of yes", "mean estimate")},
        points=_warner_survey,
        aims=lambda points: agreement(points, ["two coins"]),
    ),
    "majority": Figure(
        document="Garivier2022",
        shows="majority by two mechanisms, and what privacy costs it",
        seconds=1,
        panels={
            "9 votes, epsilon = 0.5": Panel("votes for 1", "probability of answering 1"),
            "as votes come in, epsilon = 0.1": Panel("votes over 9 / epsilon^2", "probability of a wrong answer", "x"),
        },
        points=_majority,
        aims=_majority_aims,
    ),
    "mean_price": Figure(
        document="Garivier2022",
        shows="the price of privacy of the mean",
        seconds=1,
        panels={
            "mean of n bits": Panel("n, bits", "variance", "xy"),
            "the price": Panel("n, bits", "variance over the sample's own", "xy"),
        },
        points=_mean_price,
        aims=_mean_aims,
    ),
    "noisy_max": Figure(
        document="Garivier2022",
        shows="report noisy max: how often the most common value is named",
        seconds=2,
        panels={"one of three values": Panel("records ahead of the others", "probability", "x")},
        points=_noisy_max,
        aims=lambda points: agreement(points, ["one of three values"]),
    ),
    "optimality": Figure(
        document="Garivier2022",
        shows="1/4- and 1/2-optimality of the inverse sensitivity mechanism",
        seconds=2,
        panels={
            f"{name} of epsilon": Panel("sum of 5 bits", "probability of the truth")
            for name in ("majority, 1/4", "majority, two outputs, 1/2", "mean of bits, 1/4")
        },
        points=_optimality,
        aims=_optimality_aims,
    ),
    "utility": Figure(
        document="Garivier2022",
        shows="the exponential mechanism's utility bound",
        seconds=1,
        panels={"mean of 21 bits": Panel("shortfall", "probability of at least that", "y")},
        points=_utility,
        aims=lambda points: [most("seen over the bound", points["value"] / points["stated"], 1.0)],
    ),
    "quantiles": Figure(
        document="Garivier2022",
        shows="quantiles where records have an atom, and smoothing",
        seconds=30,
        panels={
            "three quantiles": Panel("share of the atom", "mean largest error"),
            "the median": Panel("share of the atom", "mean error"),
        },
        points=_quantiles,
        aims=_quantile_aims,
    ),
    "differencing": Figure(
        document="Garivier2022",
        shows="the differencing attack",
        seconds=1,
        panels={"guessing one bit of a database": Panel("epsilon", "how often right", "x")},
        points=_differencing,
        aims=_differencing_aims,
    ),
}
