"""No reported share is a limit of its own interval, but where that is 0 or 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.estimation.registry import named
from dpcore.estimation.weighting.raking import Margins, rake
from dpcore.estimation.weighting.weighted_estimates import estimate_weighted
from dpcore.results.warehouse import query

MANY = [f"c{i}" for i in range(40)]
SCHEMES = {
    "yes or no": 'type = "categorical"\nepsilon = 1\ncategories = ["no", "yes"]\n',
    "four": 'type = "categorical"\nepsilon = 1\ncategories = ["a", "b", "c", "d"]\n',
    "forty": f'type = "categorical"\nepsilon = 1\ncategories = {MANY}\n',
    "forty at epsilon 4": f'type = "categorical"\nepsilon = 4\ncategories = {MANY}\n',
    "points": 'type = "numeric"\nepsilon = 1\nvalues = [0, 1, 2, 3, 4]\n',
    "lattice": 'type = "numeric"\nepsilon = 2\nlower = 0\nupper = 24\nstep = 1\n',
}
SIMULTANEOUS = {"low": "simultaneous_low", "high": "simultaneous_high"}


def at_limits(frame: pd.DataFrame, shown: str = "estimate") -> pd.DataFrame:
    """The rows whose share is not inside its interval, or on a limit that is not 0 or 1."""
    share = frame[shown]
    low = (frame["low"] < share) | ((frame["low"] == share) & (share == 0))
    high = (share < frame["high"]) | ((frame["high"] == share) & (share == 1))
    return frame[~(low & high)]


def people(name: str, n: int, random: np.random.Generator) -> np.ndarray:
    """Answers of which few are common: small rounds leave most shares near 0."""
    if name in ("points", "lattice"):
        return random.choice([0.0, 1.0, 2.0, 3.0, 4.0], n, p=[0.7, 0.1, 0.1, 0.1, 0.0])
    names = {"yes or no": ["no", "yes"], "four": ["a", "b", "c", "d"]}.get(name, MANY)
    law = 1 / np.arange(1, len(names) + 1) ** 2
    return np.array(names, dtype=object)[random.choice(len(names), n, p=law / law.sum())]


@pytest.mark.parametrize("name", SCHEMES)
def test_shares_of_small_rounds_are_inside(name: str) -> None:
    scheme = dp.Scheme.from_toml(f'name = "s"\n[attributes.x]\n{SCHEMES[name]}')
    for n in (50, 300, 1_000):
        for seed in range(4):
            random = np.random.default_rng([seed, n])
            reports = dp.privatize(scheme, {"x": people(name, n, random)}, dp.seeded([seed, n]))
            frame = dp.estimate(dp.aggregate(scheme, reports), "x").to_frame()
            assert frame["estimate"].sum() == pytest.approx(1)
            assert at_limits(frame).empty
            assert at_limits(
                frame.drop(columns=["low", "high"]).rename(columns={v: k for k, v in SIMULTANEOUS.items()})
            ).empty


def test_shares_of_weighted_rounds_are_inside_intervals_of_weighted_errors() -> None:
    text = 'name = "s"\n[labels.sex]\ncategories = ["f", "m"]\n[attributes.x]\n'
    scheme = dp.Scheme.from_toml(text + SCHEMES["four"])
    random = np.random.default_rng(2)
    records = {"x": people("four", 300, random), "sex": np.where(random.random(300) < 0.1, "f", "m")}
    found = dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(2)))
    weights = rake(found.labelled.n, Margins.from_rows([("sex", "f", 0.5), ("sex", "m", 0.5)], scheme.labels))
    plain = dp.estimate(found, "x")
    weighted = estimate_weighted(found, "x", weights, named(scheme.attributes["x"]))
    assert at_limits(weighted.to_frame()).empty
    assert np.all(weighted.high - weighted.low > plain.high - plain.low)


def test_shares_that_landed_are_inside(landed: Path) -> None:
    shares = query(landed, "from frequencies")
    assert len(shares)
    assert at_limits(shares).empty
    numbers = query(
        landed, "from functionals where regexp_matches(functional, '^(cdf|probability|atom)') and low is not null"
    )
    assert len(numbers)
    assert at_limits(numbers.rename(columns={"value": "estimate"})).empty
    curves = query(landed, "from densities")
    curves = curves.assign(estimate=curves["cdf"], low=curves["cdf_low"], high=curves["cdf_high"])
    assert np.all((curves["low"] <= curves["cdf"]) & (curves["cdf"] <= curves["high"]))


def test_cells_of_pairs_are_inside() -> None:
    scheme = dp.Scheme.from_toml(
        'name = "s"\npairs = [["x", "y"]]\n[attributes.x]\n'
        + SCHEMES["four"]
        + "[attributes.y]\n"
        + SCHEMES["yes or no"]
    )
    for n in (300, 1_000):
        random = np.random.default_rng(n)
        records = {"x": people("four", n, random), "y": people("yes or no", n, random)}
        joint = dp.joint(dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(n))), "x", "y")
        assert at_limits(joint.to_frame(), "share").empty
