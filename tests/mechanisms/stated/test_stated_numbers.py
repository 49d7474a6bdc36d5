"""Our waves written down as stated channels give the same numbers; a scheme of numbers may name a form, too."""

from __future__ import annotations

import json
from itertools import product
from math import lcm
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore._random import seeded
from dpcore.errors import SchemeError
from dpcore.mechanisms import DyadicWave
from dpcore.privacy.budget import Budget
from dpcore.protocol.aggregates import Aggregate

N = 20_000
ESTIMATORS = {
    "log_spline": dp.LogSpline(),
    "em": dp.ExpectationMaximization(smoothing=False),
    "ems": dp.ExpectationMaximization(smoothing=True),
}


def scheme(mechanism: str, *lines: str) -> dp.Scheme:
    said = [
        'name = "s"',
        "[attributes.a]",
        'type = "numeric"\nlower = 0\nupper = 1',
        f'mechanism = "{mechanism}"',
        *lines,
    ]
    return dp.Scheme.from_toml("\n".join([*said, ""]))


def stacked(mechanism: Any) -> list[list[int]]:
    """The levels beside one another, each by its part of the law: a report says its level, too."""
    tables = [table.astype(object) for table in mechanism.channel()]
    common = lcm(*(int(table[0].sum()) for table in tables))
    rows = np.hstack(
        [
            table * (weight * (common // int(table[0].sum())))
            for table, weight in zip(tables, mechanism.level_weights, strict=True)
        ]
    )
    return [[int(weight) for weight in row] for row in rows // np.gcd.reduce(rows.ravel())]


def ours(name: str) -> dp.Scheme:
    """Of a dyadic wave the weights are 3 and 1, so that the total of all levels fits a channel's."""
    if name == "square_wave":
        return scheme(name, "epsilon = 1\ncells = 32")
    told = dict(DyadicWave.design(Budget.parse("ln 3"), cells=16, levels=3).parameters())
    told |= {"weights_in": [3, 3, 3], "weights_out": [1, 1, 1]}
    client = "\n".join(f"{key} = {json.dumps(value)}" for key, value in told.items())
    return scheme(name, 'epsilon = "ln 3"', "[attributes.a.client]", client)


# Levels of our own know how many reports each has, a stack how many it expects: errors differ by that, estimates all but not.
SAME = {"square_wave": (1e-9, 1e-9), "dyadic_wave": (0.02, 0.005)}


QUICK = [("log_spline", "square_wave"), ("em", "dyadic_wave")]
OTHERS = [pair for pair in product(ESTIMATORS, SAME) if pair not in QUICK]


@pytest.mark.parametrize("pairs", [QUICK, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["some", "others"])
def test_our_waves_written_down_give_the_same_numbers(pairs: list[tuple[str, str]], subtests: pytest.Subtests) -> None:
    for estimator, name in pairs:
        with subtests.test(estimator=estimator, name=name):
            asked = ours(name)
            mechanism: Any = asked.attributes["a"].mechanism
            theirs = scheme("stated", f"channel = {stacked(mechanism)}")
            assert theirs.budget == Budget(ratio=mechanism.certificate().kept)
            cells = asked.attributes["a"].encode(np.random.default_rng(1).beta(2, 5, N))
            statistics = mechanism.statistics(mechanism.privatize(cells, seeded(1)))
            found = [
                dp.estimate(Aggregate(each, N, {"a": statistics}, {}, {"a": N}), "a", estimator=ESTIMATORS[estimator])
                for each in (asked, theirs)
            ]
            of_errors, of_lengths = SAME[name]
            mean = [dp.functionals.Mean()] if name == "square_wave" or estimator == "log_spline" else []
            for functional in (*mean, dp.functionals.Quantile(0.5), dp.functionals.Cdf(0.3)):
                first, second = (estimate.functional(functional) for estimate in found)
                assert abs(first.value - second.value) <= of_errors * first.standard_error
                assert first.standard_error == pytest.approx(second.standard_error, rel=of_lengths)
            assert found[0](0.3) == pytest.approx(found[1](0.3), rel=1e-9 if name == "square_wave" else 0.01)


def test_a_form_of_a_number_says_how_many_cells_there_are() -> None:
    asked = scheme("stated", 'form = "attribution_reporting"', "rates = { rate = 0.25 }", "cells = 16")
    assert asked.attributes["a"].mechanism.inputs == 16
    assert asked.budget == Budget.parse("ln 49")  # 3/4 + 1/64 over 1/64
    aggregate = dp.simulate(asked, {"a": np.random.default_rng(1).beta(2, 5, N)}, dp.seeded(1))
    mean = dp.estimate(aggregate, "a").functional(dp.functionals.Mean())
    assert mean.low < 2 / 7 < mean.high


def test_what_no_number_can_have_is_refused(subtests: pytest.Subtests) -> None:
    for said, why in [
        ('form = "opendp_randomized_response"\nrates = { prob = 0.5 }', "cells goes with form"),
        ('form = "rappor"\nrates = { f = 0.5 }\ncells = 8', "rappor is for categories"),
        ("channel = [[2, 1], [1, 1], [1, 2]]", "a power of two of rows"),
        ('channel = [[2, 1], [1, 2]]\nestimator = "projection"', "estimator must be one of"),
        ('channel = [[2, 1], [1, 2]]\nmissing = "category"', "needs mechanism = "),
    ]:
        with subtests.test(said=said, why=why), pytest.raises(SchemeError, match=why):
            scheme("stated", said)


def test_a_number_that_says_its_values_has_a_row_for_each() -> None:
    asked = scheme("stated", "step = 0.5", 'form = "opendp_randomized_response"', "rates = { prob = 0.75 }")
    assert asked.attributes["a"].mechanism.inputs == 3
    aggregate = dp.simulate(asked, {"a": np.random.default_rng(1).choice([0.0, 0.5, 1.0], N)}, dp.seeded(1))
    assert np.allclose(dp.estimate(aggregate, "a").values, 1 / 3, atol=0.03)
