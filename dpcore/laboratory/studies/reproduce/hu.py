"""The three queries of [HuOverview], and its two implications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.studies.documents import hu
from dpcore.laboratory.studies.figures import Effort, Figure, Panel, agreement, curves, most, only_stated


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
    sensitivities = dict(zip(sensitivity["query"], sensitivity["sensitivity"], strict=True))
    budget["stated"] = budget["query"].map(sensitivities) / budget["epsilon"]
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


FIGURES: Mapping[str, Figure] = {
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
}
