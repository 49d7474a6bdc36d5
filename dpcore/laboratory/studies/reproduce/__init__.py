"""Every table and figure of the documents: how its points are computed, and what must be seen in them.

One module a document.  `FIGURES` is the registry of all: name -> figure.  A name is what `ldpflow reproduce` takes, the method
of its rows in `benchmarks` and the picture's file.

Modules:
    barber_duchi: what definitions of privacy cost and allow, of [BarberDuchi2014] and [Duchi2018]
    garivier: the examples of [Garivier2022]: Warner's survey, votes, the price of a mean, noisy max
    hu: the three queries of [HuOverview], and its two implications
    szabo: the theorems of [Szabo2024]: derivatives, smooth functionals, the elbow, Lepski's rule
    theory: theory beside what is measured: two stages [Butucea2023], lower bounds [BarberDuchi2014]
    wasserman_zhou: the figure, the two tables and the bounds of [WassermanZhou2010]
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np
import pandas as pd

from dpcore._random import seeded
from dpcore.laboratory.studies.figures import COLUMNS, Effort, Figure
from dpcore.laboratory.studies.reproduce import barber_duchi, garivier, hu, szabo, theory, wasserman_zhou

EDITION = 1  # of figures, points and seeds; another edition's rows are drawn anew

FIGURES: Mapping[str, Figure] = {
    name: figure
    for document in (wasserman_zhou, garivier, hu, barber_duchi, szabo, theory)
    for name, figure in document.FIGURES.items()
}


def measure(name: str, effort: Effort) -> pd.DataFrame:
    """Return a figure's points as rows of `benchmarks`, without study, measured_at and version."""
    return rows_of(name, FIGURES[name].points(effort, seeded((zlib.crc32(name.encode()), EDITION))))


def rows_of(name: str, points: pd.DataFrame) -> pd.DataFrame:
    """Return points as rows of `benchmarks`.

    target: the panel.  parameters: curve=NAME; x=VALUE.  metric: 'measured', with its 95 % Monte Carlo interval, or 'stated'.
    """
    common = {
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
