"""A sample's scheme gives honest intervals for the sample's own numbers, over many rounds of fresh noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.functionals import parse
from dpcore.populations import read_records
from dpcore.protocol.scheme import Scheme

DATA = Path(__file__).parents[2] / "data"
ROUNDS = 150


@pytest.mark.slow
@pytest.mark.nightly("a study")
def test_intervals_of_the_health_insurance_scheme_hold_the_samples_numbers() -> None:
    scheme = Scheme.from_toml(DATA / "schemes" / "health_insurance.toml")
    people = read_records(DATA / "samples" / "health_insurance.parquet", scheme)
    x = people["chronic_index"].to_numpy()
    chronic = {"mean": x.mean(), "cdf(15)": np.mean(x <= 15), "cdf(30)": np.mean(x <= 30)}
    assert tuple(chronic) == scheme.attributes["chronic"].functionals
    visits = 57_752 / 20_190
    poor = np.mean(people["health"] == "poor")
    held = dict.fromkeys([*chronic, "visits", "poor"], 0)
    widths: list[float] = []
    for seed in range(ROUNDS):
        aggregate = pipeline.simulate(scheme, people, seeded(seed))
        estimate = pipeline.estimate(aggregate, "chronic")
        for name, truth in chronic.items():
            result = estimate.functional(parse(name))
            held[name] += bool(result.low <= truth <= result.high)
            if name == "mean":
                widths.append(result.high - result.low)
        mean = pipeline.estimate(aggregate, "visits").functional(parse("mean"))
        held["visits"] += bool(mean.low <= visits <= mean.high)
        health = pipeline.estimate(aggregate, "health")
        held["poor"] += bool(health.low[-1] <= poor <= health.high[-1])
    for name, count in held.items():
        # no interval stated at .95 may hold less often than .90: refused at p < 1e-3 by a binomial
        assert scipy.stats.binomtest(count, ROUNDS, 0.90, alternative="less").pvalue > 1e-3, (name, count)
    assert np.mean(widths) < 4  # and 20,190 people do say something about a mean of 11.2
    print(held, np.mean(widths))
