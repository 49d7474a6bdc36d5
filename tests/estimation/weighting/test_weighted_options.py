"""Weighted shares of options and numbers chosen: those of the population, from a sample that is not."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import NotEstimable
from dpcore.estimation.registry import named
from dpcore.estimation.weighting.raking import Margins, Weights, rake
from dpcore.estimation.weighting.stratified_variance import Strata
from dpcore.estimation.weighting.weighted_estimates import estimate_weighted
from dpcore.functionals import parse
from dpcore.protocol.scheme import Scheme

OPTIONS = ("car", "bus", "foot")
POPULATION = np.array([0.5, 0.3, 0.2])  # the shares of the regions
SENT = np.array([0.15, 0.25, 0.6])
CHOSEN = np.array([[0.9, 0.1, 0.3], [0.5, 0.4, 0.3], [0.1, 0.8, 0.6]])  # chances of each option by region


@cache
def scheme() -> Scheme:
    return Scheme.from_toml(
        f'name = "s"\n[labels.region]\ncategories = ["n", "m", "s"]\n[attributes.x]\ntype = "set"\nsize = 2\n'
        f"categories = {list(OPTIONS)}\nat_most = 3\nepsilon = 3\n"
    )


def drawn(clients: int, seed: int) -> Any:
    generator = np.random.default_rng([59, seed])
    regions = generator.choice(3, size=clients, p=SENT)
    chosen = generator.random((clients, 3)) < CHOSEN[regions]
    sets = [[option for option, has in zip(OPTIONS, row, strict=True) if has] for row in chosen]
    records = {"region": np.array(["n", "m", "s"])[regions], "x": sets}
    return dp.aggregate(scheme(), dp.privatize(scheme(), records, dp.seeded(seed)))


def weighted(aggregate: Any, weights: Weights | None = None) -> Any:
    rows = [("region", name, share) for name, share in zip("nms", POPULATION, strict=True)]
    weights = weights or rake(aggregate.labelled.n, Margins.from_rows(rows, scheme().labels))
    return estimate_weighted(aggregate, "x", weights, named(scheme().attributes["x"]))


def test_equal_weights_change_nothing() -> None:
    aggregate = drawn(5000, 1)
    plain = dp.estimate(aggregate, "x")
    found = weighted(aggregate, Weights((), np.ones(3), aggregate.labelled.n))
    for one, other in [(found, plain), (found.number, plain.number)]:
        for name in ("raw", "values", "standard_errors", "covariance", "low", "high"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)
    mean, of_plain = (estimate.functional(parse("mean")) for estimate in (found, plain))
    assert (mean.value, mean.low, mean.high) == pytest.approx((of_plain.value, of_plain.low, of_plain.high))
    assert mean.design_effect == pytest.approx(1)


def test_variances_are_those_of_residuals_report_by_report() -> None:
    """With one margin of all labels, the residuals are those from the means of the cells.

    The covariance of a report is that of the cell's reports and of one more, which may be any subset.
    """
    aggregate = drawn(600, 2)
    rows = [("region", name, share) for name, share in zip("nms", POPULATION, strict=True)]
    weights = rake(aggregate.labelled.n, Margins.from_rows(rows, scheme().labels))
    strata = Strata.from_aggregate(aggregate, "x", weights)
    model = scheme().attributes["x"].mechanism.model()
    one, other = np.triu_indices(model.items)
    g = np.random.default_rng(1).normal(size=(3, len(one))) * (one == other)
    n, w = aggregate.labelled.n, weights.values
    expected = []
    for row in g[:, one == other]:
        total = 0.0
        for cell, counts in enumerate(aggregate.labelled.statistics["x"]):
            subsets = [pair for pair, count in zip(zip(one, other, strict=True), counts, strict=True)
                       if pair[0] != pair[1] for _ in range(count)]  # fmt: skip
            added = np.array([row[a] + row[b] for a, b in subsets]) / float(w @ n)
            leverage = w[cell] * (1 / (w[cell] * n[cell]) - 1 / float(w @ n))
            any_subset = np.array([row[a] + row[b] for a in range(model.items) for b in range(a)]) / float(w @ n)
            mean = (added.sum() + any_subset.mean()) / (len(added) + 1)
            variance = (np.sum(added**2) + np.mean(any_subset**2)) / (len(added) + 1) - mean**2
            total += w[cell] ** 2 * len(added) * variance / (1 - leverage)
        expected.append(total)
    np.testing.assert_allclose(strata.variance(g), expected, rtol=1e-10)


def test_intervals_cover_the_population_and_joint_shares_are_refused() -> None:
    truth, rounds = POPULATION @ CHOSEN, 40
    covered = []
    for seed in range(rounds):
        aggregate = drawn(4000, seed)
        found = weighted(aggregate)
        low, high = found.interval()
        mean = found.functional(parse("mean"))
        covered.append([*((low <= truth) & (truth <= high)), mean.low <= truth.sum() <= mean.high])
        assert dp.estimate(aggregate, "x").raw[0] < truth[0] - 0.2
    assert 0.88 <= np.mean(covered) <= 0.99  # .95, 160 intervals in groups of four, three standard errors
    with pytest.raises(NotEstimable, match="joint shares of options have no weighted estimates"):
        found.both("car", "bus")
    assert found.functional(parse("both(car, bus)")).is_refused
    assert found.sensitivity(parse("both(car, bus)")) is None
    assert found.sensitivity(parse("mean")).value > 0


def test_a_cell_of_one_report_has_no_interval_of_length_zero() -> None:
    records = {"region": ["n"] + ["m"] * 300 + ["s"] * 300, "x": [["car"]] * 601}
    found = weighted(dp.aggregate(scheme(), dp.privatize(scheme(), records, dp.seeded(3))))
    for estimate in (found, found.number):
        assert np.all(estimate.standard_errors > 0)
        assert np.all(estimate.high > estimate.low)
