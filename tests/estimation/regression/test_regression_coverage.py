"""Coverage of regressions over designs, outcomes, numbers of clients and epsilons: `make nightly`, an hour."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.errors import NotEstimable

ROUNDS = 500
DESIGNS = {  # formula, and the shares of the cells (region, sex)
    "y ~ sex": np.full(6, 1 / 6),
    "y ~ region + sex": np.full(6, 1 / 6),
    "y ~ region * sex": np.full(6, 1 / 6),
    "y ~ sex + region": np.array([0.43, 0.43, 0.045, 0.045, 0.025, 0.025]),  # of unequal sizes
}
CATEGORIES = {"boolean": 2, "three": 3, "eight": 8}
SCORES = (
    -0.5,
    0.5,
    0.3,
    -0.4,
)  # of a category: intercept, south, east, male; the next category has them in another order
NUMBER = (40.0, 2.0, 3.0, 5.0)


class Result(NamedTuple):
    """Of the rounds of one cell of the study."""

    coverage: float  # mean over the coefficients
    ratio: (
        float  # mean standard error over the standard deviation of the estimates, geometric mean over the coefficients
    )
    refused: int


def scheme(outcome: str, epsilon: float) -> dp.Scheme:
    if outcome == "number":
        asked = f'type = "numeric"\nlower = 0\nupper = 100\nepsilon = {epsilon}'
    else:
        names = [f"c{place}" for place in range(CATEGORIES[outcome])]
        asked = f'type = "categorical"\ncategories = {names}\nepsilon = {epsilon}'.replace("'", '"')
    labels = '[labels.region]\ncategories = ["north", "south", "east"]\n[labels.sex]\ncategories = ["f", "m"]\n'
    return dp.Scheme.from_toml(f'name = "study"\nclients = 100000\n[attributes.y]\n{asked}\n{labels}')


def truth(outcome: str, formula: str) -> np.ndarray:
    """The coefficients, (m, p), of the formula's model, which holds: region has no effect where it is not in the formula."""
    columns = [0, 3] if "region" not in formula else [0, 1, 2, 3]
    order = [0, 3, 1, 2] if formula == "y ~ sex + region" else columns
    others = range(CATEGORIES.get(outcome, 1) - 1)
    rows = [NUMBER] if outcome == "number" else [tuple(np.roll(SCORES, place)) for place in others]
    interaction = 2 * ("*" in formula)
    return np.array([[*(row[place] for place in order), *([0.0] * interaction)] for row in rows])


@cache
def matrix(formula: str) -> np.ndarray:
    region, sex = np.indices((3, 2)).reshape(2, -1)
    columns = {"one": np.ones(6), "south": region == 1, "east": region == 2, "m": sex == 1}
    names = {"y ~ sex": ("one", "m"), "y ~ sex + region": ("one", "m", "south", "east")}.get(formula, tuple(columns))
    more = [(region == 1) & (sex == 1), (region == 2) & (sex == 1)] if "*" in formula else []
    return np.column_stack([*(columns[name] for name in names), *more]).astype(float)


def laws(asked: dp.Scheme, outcome: str, formula: str) -> np.ndarray:
    """The probabilities of the input cells by cell of the labels, (6, inputs)."""
    scores = matrix(formula) @ truth(outcome, formula).T
    if outcome != "number":
        return np.asarray(scipy.special.softmax(np.column_stack([np.zeros(6), scores]), axis=1))
    edges = np.linspace(0, 100, asked.attributes["y"].mechanism.inputs + 1)
    masses = np.diff(scipy.stats.norm.cdf((edges - scores) / 12), axis=1)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def study(formula: str, outcome: str, clients: int, epsilon: float, rounds: int = ROUNDS, seed: int = 7) -> Result:
    asked, random = scheme(outcome, epsilon), dp.seeded(seed)
    of_cells, true = laws(asked, outcome, formula), truth(outcome, formula).ravel()
    found, refused = [], 0
    for _ in range(rounds):
        zero = dp.Aggregate.zero(asked)
        assert zero.labelled is not None
        sizes = random.generator().multinomial(clients, DESIGNS[formula])
        for cell, (size, law) in enumerate(zip(sizes, of_cells, strict=True)):
            counts = random.generator().multinomial(size, law)
            zero.labelled.statistics["y"][cell] += asked.attributes["y"].mechanism.simulate(counts, random)
        zero.labelled.n[:] = zero.labelled.answered["y"][:] = sizes
        try:
            fit = dp.regress(zero, formula)
        except NotEstimable:
            refused += 1
            continue
        found.append([(one.value, one.standard_error, one.low, one.high) for one in fit.coefficients])
    if len(found) < 2:
        return Result(float("nan"), float("nan"), refused)
    value, error, low, high = np.moveaxis(np.array(found), -1, 0)
    coverage = float(np.mean((low <= true) & (true <= high)))
    ratio = float(np.exp(np.mean(np.log(error.mean(axis=0) / value.std(axis=0, ddof=1)))))
    return Result(coverage, ratio, refused)


def whole(
    clients: tuple[int, ...] = (10_000, 100_000, 1_000_000), rounds: int = ROUNDS
) -> Mapping[tuple[object, ...], Result]:
    results = {}
    for cell in ((f, o, n, e) for n in clients for e in (1.0, 2.0) for o in (*CATEGORIES, "number") for f in DESIGNS):
        results[cell] = study(*cell, rounds=rounds)
        print(*cell, results[cell], flush=True)
    return results


@pytest.mark.nightly("a study")
@pytest.mark.slow
def test_intervals_of_coefficients_cover_in_nine_cells_of_ten() -> None:
    results = whole()
    within = [0.93 <= one.coverage <= 0.97 for one in results.values()]
    assert np.mean(within) >= 0.9
    ratios = np.array([one.ratio for one in results.values() if one.refused == 0])
    assert abs(np.exp(np.mean(np.log(ratios))) - 1) < 0.03


if __name__ == "__main__":
    whole()
