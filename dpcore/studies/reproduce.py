"""Every table and figure of the documents: how its points are computed, and what must be seen in them.

`FIGURES` is the registry: name -> figure.  A name is what `ldpflow reproduce` takes, the method of its rows in `benchmarks` and
the picture's file.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from dpcore._random import Source, seeded
from dpcore.studies import bounds
from dpcore.studies.aims import Verdict
from dpcore.studies.documents import barber_duchi, definitions, garivier, hu, szabo, two_stages, wasserman_zhou
from dpcore.studies.documents import planner as planned
from dpcore.studies.figures import (
    COLUMNS,
    Effort,
    Figure,
    Panel,
    agreement,
    curves,
    least,
    most,
    only_stated,
    slope,
    slope_aims,
    through_middle,
)

STUDY = "reproduce"
EDITION = 1  # of figures, points and seeds; another edition's rows are drawn anew


def measure(name: str, effort: Effort) -> pd.DataFrame:
    """Return a figure's points as rows of `benchmarks`, without measured_at and version."""
    return rows_of(name, FIGURES[name].points(effort, seeded((zlib.crc32(name.encode()), EDITION))))


def rows_of(name: str, points: pd.DataFrame) -> pd.DataFrame:
    """Return points as rows of `benchmarks`.

    target: the panel.  parameters: curve=NAME; x=VALUE.  metric: 'measured', with its 95 % Monte Carlo interval, or 'stated'.
    """
    common = {
        "study": STUDY,
        "method": name,
        "target": points["panel"],
        "parameters": [f"curve={c}; x={float(x)!r}" for c, x in zip(points["curve"], points["x"], strict=True)],
        "clients": points["clients"].astype(np.int64),
        "epsilon": points["epsilon"].astype(float),
        "repetitions": points["repetitions"].astype(np.int64),
    }
    spread = 1.96 * points["error"]
    measured = pd.DataFrame(
        common
        | {
            "metric": "measured",
            "value": points["value"],
            "low": points["value"] - spread,
            "high": points["value"] + spread,
        }
    )
    stated = pd.DataFrame(common | {"metric": "stated", "value": points["stated"], "low": np.nan, "high": np.nan})
    return pd.concat([rows[rows["value"].notna()] for rows in (measured, stated)], ignore_index=True)


def points_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the points that `rows_of` made rows of `benchmarks` of."""
    named = rows["parameters"].str.extract(r"^curve=(?P<curve>.*); x=(?P<x>[^;]*)$")
    flat = rows.assign(curve=named["curve"], x=named["x"].astype(float), panel=rows["target"])
    flat["error"] = (flat["high"] - flat["low"]) / (2 * 1.96)
    key = ["panel", "curve", "x", "clients", "epsilon", "repetitions"]
    kinds = {kind: flat[flat["metric"] == kind].set_index(key) for kind in ("measured", "stated")}
    both = kinds["measured"][["value", "error"]].join(
        kinds["stated"][["value"]].rename(columns={"value": "stated"}), how="outer"
    )
    return both.reset_index()[list(COLUMNS)]


# Wasserman and Zhou


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
    table = table.assign(name=table["mechanism"].str.replace("_", " "))
    points = curves(
        table,
        panel,
        "n",
        "error",
        by="name",
        error="standard_error",
        clients="n",
        epsilon=1.0,
        repetitions=runs,
    )
    return through_middle(points, dict(zip(table["name"], table["rate"], strict=True)))


_SQUARED, _KS = "squared L2 error", "Kolmogorov-Smirnov distance"


def _histogram_rates(effort: Effort, random: Source) -> pd.DataFrame:
    runs, parts = effort.runs(20, 10), []
    for dimension, top in ((1, 10), (2, 9)):
        sizes = [10**power for power in range(6, top + 1)]
        table = wasserman_zhou.histogram_rates(dimension=dimension, sizes=sizes, runs=runs, random=random)
        for distance, rows in table.groupby("distance", sort=False):
            parts.append(_rates(rows, _HISTOGRAMS[dimension, str(distance)], runs))
    return pd.concat(parts)


_HISTOGRAMS = {(1, "l2"): "L2", (1, "ks"): "Kolmogorov-Smirnov", (2, "l2"): "L2, two dimensions"}


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
    found = wasserman_zhou.accuracy_bounds(
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
                found.assign(value=found["bound"].clip(1e-12, 1.0)),
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


# Garivier


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


# Hu


def _three_queries(effort: Effort, random: Source) -> pd.DataFrame:
    parts = []
    for n in (1000, 10_000) if effort.quick else (1000, 4000, 16_000, 64_000):
        table = hu.three_queries(n, "1", random)
        for way, answer, noise in (
            ("curator", table["answer"], table["noise_scale"] * np.sqrt(2)),
            ("locally", table["local_answer"], table["local_standard_error"]),
        ):
            here = table.assign(n=n, ratio=answer / table["truth"], spread=noise / table["truth"], stated=1.0)
            parts.append(
                curves(
                    here,
                    f"asked {way}" if way == "locally" else "asked of a curator",
                    "n",
                    "ratio",
                    by="query",
                    error="spread",
                    stated="stated",
                    clients=n,
                    epsilon=1.0,
                )
            )
    return pd.concat(parts)


def _noise(effort: Effort, random: Source) -> pd.DataFrame:
    n = 1000
    sensitivity, budget = hu.noise_against_sensitivity(n, "1"), hu.noise_against_budget(n)
    said = dict(zip(sensitivity["query"], sensitivity["sensitivity"], strict=True))
    budget["stated"] = budget["query"].map(said) / budget["epsilon"]
    line = sensitivity.assign(law="sensitivity / epsilon")
    grows = "grows with sensitivity, epsilon = 1"
    common: dict[str, Any] = {"clients": n}
    return pd.concat(
        [
            curves(sensitivity, grows, "sensitivity", "noise_scale", by="query", epsilon=1.0, **common),
            only_stated(
                curves(line, grows, "sensitivity", {"sensitivity / epsilon": "sensitivity"}, epsilon=1.0, **common),
                "sensitivity / epsilon",
            ),
            curves(
                budget,
                "falls with the budget",
                "epsilon",
                "noise_scale",
                by="query",
                stated="stated",
                epsilon="epsilon",
                **common,
            ),
        ]
    )


# Barber and Duchi


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


_PRIVACY = {"kl": "Kullback-Leibler", "approximate": "approximate", "smooth": "smooth"}


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


# Szabo


_ORDERS = {0: "the density, p = 1", 1: "first derivative, p = 2", 2: "second derivative, p = 3"}


def _derivative_rates(effort: Effort, random: Source) -> pd.DataFrame:
    runs, parts = effort.runs(200, 40), []
    table = szabo.derivative_rates(runs=runs, random=random)
    table["name"] = table["order"].map(_ORDERS)
    for where, rows in table.groupby("where", sort=False):
        points = curves(
            rows,
            "at a point" if where == "point" else "in L2",
            "n",
            "error",
            by="name",
            error="standard_error",
            clients="n",
            epsilon=1.0,
            repetitions=runs,
        )
        parts.append(through_middle(points, dict(zip(rows["name"], rows["rate"], strict=True))))
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
    points = curves(
        table,
        "a density with two derivatives",
        "n",
        "error",
        by="method",
        error="standard_error",
        clients="n",
        epsilon=1.0,
        repetitions=runs,
    )
    return through_middle(points, dict(zip(table["method"], table["rate"], strict=True)))


def _smooth_functionals(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(100)
    table = szabo.smooth_rates(runs=runs, places=2 if effort.quick else 4)
    points = curves(
        table,
        "dyadic wave",
        "n",
        "error",
        by="functional",
        error="standard_error",
        clients="n",
        epsilon=1.0,
        repetitions=runs,
    )
    return through_middle(points, dict(zip(table["functional"], table["rate"], strict=True)))


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


# Theory beside what is measured


def _two_stages(effort: Effort, random: Source) -> pd.DataFrame:
    runs = effort.runs(60, 6)
    sizes = [10**6, 10**7] if effort.quick else [10**5, 10**6, 10**7, 10**8]
    table = two_stages.errors(smoothness=0.3, sizes=sizes, runs=runs, random=random)
    points = curves(
        table,
        "density of smoothness 0.3",
        "n",
        "error",
        by="method",
        error="standard_error",
        clients="n",
        epsilon=1.0,
        repetitions=runs,
    )
    return through_middle(points, dict(zip(table["method"], table["rate"], strict=True)))


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


_N = "n, records"
_CLIENTS = "clients"
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
    "three_queries": Figure(
        document="HuOverview",
        shows="the three queries, of a curator and locally",
        seconds=2,
        panels={
            "asked of a curator": Panel("households", "answer over truth", "x"),
            "asked locally": Panel("households", "answer over truth", "x"),
        },
        points=_three_queries,
        aims=lambda points: agreement(points, ["asked of a curator", "asked locally"]),
    ),
    "noise": Figure(
        document="HuOverview",
        shows="the two implications: noise against sensitivity and against budget",
        seconds=1,
        panels={
            "grows with sensitivity, epsilon = 1": Panel(
                "sensitivity, units or USD", "scale of the noise, units or USD", "xy"
            ),
            "falls with the budget": Panel("epsilon", "scale of the noise, units or USD", "xy"),
        },
        points=_noise,
        aims=lambda points: [most("scale times epsilon over sensitivity", points["value"] / points["stated"], 1.001)],
    ),
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
