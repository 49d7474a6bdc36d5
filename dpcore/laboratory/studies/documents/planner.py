"""Predictions of the planner compared with simulated rounds, for every mechanism there is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dpcore import pipeline
from dpcore._random import Source
from dpcore.functionals import parse
from dpcore.mechanisms.registry import CATEGORICAL, NUMERIC
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.planning.aims import Aim
from dpcore.rounds.planning.assumed_population import Assumed
from dpcore.rounds.planning.planner import Planner

_CLIENTS = {"categorical": 5000, "numeric": 300_000}
_CHEAP = 4  # times the repetitions, where a repetition costs next to nothing
EPSILON = "1"


def predictions(*, runs: int, random: Source) -> pd.DataFrame:
    """Return standard errors of a frequency and of a mean: place, mechanism, predicted, simulated, ratio, standard_error, ...

    ratio: predicted over simulated, with its standard error; clients and epsilon are of the round.
    """
    rows = []
    for place, (mechanism, quantity, text, clients) in enumerate(_schemes(), 1):
        plan, scheme = Planner.read(text, Assumed()), Scheme.from_toml(text)
        predicted = plan.forecast(Aim("x", quantity), clients, Budget.parse(EPSILON)).error
        count = runs * (_CHEAP if quantity != "mean" else 1)
        values = []
        for _ in range(count):
            estimate = pipeline.estimate(pipeline.simulate(scheme, plan.population, random, clients), "x")
            if quantity == "mean":
                values.append(estimate.functional(parse("mean")).value)
            else:
                values.append(float(estimate.raw[0]))
        simulated = float(np.std(np.array(values, dtype=float), ddof=1))
        ratio = float(predicted or np.nan) / simulated
        rows.append(
            (place, mechanism, predicted, simulated, ratio, ratio / np.sqrt(2 * count), clients, float(EPSILON), count)
        )
    names = "place mechanism predicted simulated ratio standard_error clients epsilon repetitions"
    return pd.DataFrame(rows, columns=names.split())


def _schemes() -> Iterator[tuple[str, str, str, int]]:
    """Mechanism, what is aimed at, scheme and clients."""
    categories = 'type = "categorical"\ncategories = ["a", "b", "c", "d", "e"]'
    numbers = 'type = "numeric"\nlower = 0\nupper = 1'
    for kind, names, lines, quantity in (
        ("categorical", CATEGORICAL, categories, "frequency(a)"),
        ("numeric", NUMERIC, numbers, "mean"),
    ):
        for name in names:
            clients = _CLIENTS[kind]
            head = f'name = "plan"\nclients = {clients}\n[attributes.x]\nepsilon = {EPSILON}\nmechanism = "{name}"\n'
            yield name.replace("_", " "), quantity, head + lines + "\n", clients
