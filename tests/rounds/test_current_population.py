"""Real records drawn with unequal chances: what weights by known totals make of them, beside the truth of the full file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.estimation.registry import named
from dpcore.estimation.weighting.raking import Weights, rake
from dpcore.estimation.weighting.weighted_estimates import estimate_weighted
from dpcore.functionals import parse
from dpcore.rounds import population_margins

DATA = Path(__file__).parents[2] / "data"
MARGINS = DATA / "margins" / "current_population.csv"
CHANCES = {"south": 1.0, "midwest": 0.8, "northeast": 0.5, "west": 0.5, "yes": 0.15, "no": 1.0}  # by region and smsa
NAMES = ("wage", "education", "job")


@cache
def scheme_of() -> dp.Scheme:
    return dp.Scheme.from_toml(DATA / "schemes" / "current_population.toml")


@cache
def people() -> pd.DataFrame:
    return pd.read_parquet(DATA / "samples" / "cps_1988.parquet")


def truths() -> dict[str, float]:
    """Of the full file: mean wage within the scheme's bounds, mean years of education, the share of part-time jobs."""
    everyone, wage = people(), scheme_of().attributes["wage"]
    within = everyone["wage"].clip(float(wage.lower), float(wage.upper))
    return {
        "wage": float(within.mean()),
        "education": float(everyone["education"].mean()),
        "job": float((everyone["parttime"] == "yes").mean()),
    }


def drawn(seed: int) -> pd.DataFrame:
    """A sample in which few are of metropolitan areas, the more of them southern."""
    everyone = people()
    chances = everyone["region"].map(CHANCES).to_numpy(float) * everyone["smsa"].map(CHANCES).to_numpy(float)
    return everyone[np.random.default_rng([28, seed]).random(len(everyone)) < chances].reset_index(drop=True)


def number(estimate: Any, name: str) -> tuple[float, float, float, float]:
    """An estimate's number, its standard error and the ends of its interval: the mean, or the share of part-time jobs."""
    if name == "job":
        return estimate.values[1], float((estimate.high[1] - estimate.low[1]) / 3.92), estimate.low[1], estimate.high[1]
    found = estimate.functional(parse("mean"))
    return found.value, found.standard_error, found.low, found.high


def weighted(aggregate: dp.Aggregate, name: str) -> tuple[Any, Weights]:
    weights = rake(aggregate.labelled.n, population_margins.read(MARGINS, scheme_of()))
    return estimate_weighted(aggregate, name, weights, named(scheme_of().attributes[name])), weights


def test_the_margins_are_those_of_the_full_file() -> None:
    known = population_margins.read(MARGINS, scheme_of())
    cells = scheme_of().encode(people())
    for label in scheme_of().labels.values():
        shares = np.bincount(cells[label.name], minlength=len(label.categories)) / len(people())
        np.testing.assert_allclose(known.shares[label.name,], shares, rtol=1e-12)
    assert known.labels == ("region", "area")


@pytest.mark.slow
def test_weighted_intervals_of_ten_samples_hold_the_truth_of_the_full_file() -> None:
    truth = truths()
    held, off = dict.fromkeys(NAMES, 0), {name: [] for name in NAMES}
    for seed in range(10):
        aggregate = dp.aggregate(scheme_of(), dp.privatize(scheme_of(), drawn(seed), dp.seeded([28, seed])))
        for name in NAMES:
            value, error, _, _ = number(dp.estimate(aggregate, name), name)
            off[name].append((value - truth[name]) / error)
            estimate, weights = weighted(aggregate, name)
            _, _, low, high = number(estimate, name)
            held[name] += bool(low <= truth[name] <= high)
        assert weights.design_effect > 2
    print(held, {name: round(float(np.mean(errors)), 1) for name, errors in off.items()})
    assert np.mean(off["wage"]) < -4
    assert np.mean(off["education"]) < -3
    assert all(many >= 8 for many in held.values()), held  # fewer of ten come once in ninety, of each


@pytest.mark.slow
@pytest.mark.nightly("a study")
def test_weighted_intervals_of_many_samples_hold_it_as_often_as_they_say() -> None:
    truth, many = truths(), {"wage": 150, "education": 400, "job": 2_000}
    for name in NAMES:
        held = 0
        for seed in range(many[name]):
            aggregate = dp.simulate(scheme_of(), drawn(1_000 + seed), dp.seeded([29, seed]))
            _, _, low, high = number(weighted(aggregate, name)[0], name)
            held += bool(low <= truth[name] <= high)
        print(name, held / many[name])
        assert 0.93 <= held / many[name] <= 0.97, (name, held, many[name])
