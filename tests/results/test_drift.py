"""Differences of rounds and groups hold the truth as they say; drift is called for nothing once in a hundred rounds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpcore as dp
from dpcore.pipeline import estimate_all
from dpcore.populations import consumer_expenditure
from dpcore.results.tables.comparisons import CERTAINTY, between_groups, between_rounds, drift_checks
from dpcore.results.tables.round_tables import _frequencies, _functionals, truths

pytestmark = pytest.mark.slow
TEXT = """
name = "consumer_expenditure"
pairs = [["income", "urban_rural"]]
[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural"]
epsilon = 2
[attributes.race]
type = "categorical"
categories = ["white", "black", "native american", "asian", "pacific islander", "multi-race"]
epsilon = 1
[attributes.income]
type = "numeric"
lower = 0
upper = 250_000
degree = 1
finest_level = 4
level_rule = "fixed"
level = 4
epsilon = 2
functionals = ["mean", "cdf(50000)", "quantile(0.5)", "integrated_square(0)"]
"""
CLIENTS = (60_000, 150_000)  # of an earlier round and of this one
PAIRS = 120
PEOPLE = consumer_expenditure()
OTHERS = replace(PEOPLE, weights={"urban": 0.6, "rural": 0.4})
P_VALUE = 1e-5


@pytest.fixture(scope="module")
def scheme() -> dp.Scheme:
    return dp.Scheme.from_toml(TEXT)


@cache
def known(moved: bool) -> dict[tuple[str, str, str], float]:
    """What is true of a population: by attribute, group and number."""
    people = OTHERS if moved else PEOPLE
    rows = truths(
        estimate_all(dp.simulate(dp.Scheme.from_toml(TEXT), people, random=dp.seeded(1), clients=50_000)), people
    )
    return {(row.attribute, row.given, row.quantity): row.value for row in rows[rows["x"].isna()].itertuples()}


def compared(scheme: dp.Scheme, people: tuple[Any, Any], seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Rows between two rounds and between the groups of the second, their true differences beside them, and the checks."""
    rounds, tables = [], []
    for side, (who, clients) in enumerate(zip(people, CLIENTS, strict=True)):
        rounds.append(estimate_all(dp.simulate(scheme, who, random=dp.seeded([seed, side]), clients=clients)))
        tables.append(numbers_of(_functionals(rounds[-1]), _frequencies(rounds[-1])))  # other tables are half the time
    found = between_rounds(tables[1], tables[0].assign(run_id="b" * 16))
    groups = between_groups(rounds[1], "a" * 16)
    before, now = (known(who is OTHERS) for who in people)
    return _with_truth(found, now, before), _with_truth(groups, now, now), drift_checks(found, "before")


def numbers_of(functionals: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """What can be compared of a run's tables, as the warehouse hands it on: a category's share is the unbiased one."""
    names = "frequency(" + shares["category"].astype(str) + ")"
    shares = shares.assign(functional=names, kind="smooth", plug_in=shares["estimate"], estimate=shares["raw"])
    return pd.concat([functionals, shares], ignore_index=True)


def _with_truth(rows: pd.DataFrame, now: dict[Any, float], other: dict[Any, float]) -> pd.DataFrame:
    true = [
        now[row.attribute, row.given, row.functional] - other[row.attribute, row.other_given, row.functional]
        for row in rows.itertuples()
    ]
    return rows.assign(true=true)


@pytest.fixture(scope="module")
def still(scheme: dp.Scheme) -> list[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """Two rounds of one population, drawn anew each time, many times."""
    return [compared(scheme, (PEOPLE, PEOPLE), 1000 + run) for run in range(PAIRS)]


def coverage(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[rows["difference"].notna()]
    held = (rows["low"] <= rows["true"]) & (rows["true"] <= rows["high"])
    keys = [rows[name] for name in ("attribute", "given", "functional")]
    return held.groupby(keys).agg(["sum", "count"])


def covers(held: int, count: int, most: float) -> bool:
    """Whether a coverage of .95 to `most` could have given so many."""
    few = stats.binom.cdf(held, count, 0.95) < P_VALUE
    many = stats.binom.sf(held - 1, count, most) < P_VALUE
    return bool(not few and not many)


def test_intervals_of_differences_hold_the_truth(still: Any) -> None:
    """Bias-aware ones more often than they say; none less."""
    for part in (0, 1):
        found = coverage(pd.concat([pieces[part] for pieces in still]))
        assert len(found) == (20 if part == 0 else 4)
        for key, (held, count) in found.iterrows():
            assert covers(held, count, 0.995), (key, held, count)
    shorter = pd.concat([pieces[0] for pieces in still])
    middle = shorter["difference"]
    shorter = shorter.assign(
        low=middle + (shorter["low"] - middle) / 1.3, high=middle + (shorter["high"] - middle) / 1.3
    )
    pooled = coverage(shorter).sum()
    assert not covers(pooled["sum"], pooled["count"], 0.995)


def test_drift_is_called_for_nothing_once_in_a_hundred_rounds(still: Any) -> None:
    calls = sum(not checks["passed"].all() for _, _, checks in still)
    assert stats.binom.sf(calls - 1, PAIRS, 1 - CERTAINTY) > P_VALUE
    # The largest of twenty: errors off by 30 % show in each interval above, here they would take a thousand rounds
    shorter = sum((1.5 * checks["observed"] > checks["threshold"]).any() for _, _, checks in still)
    assert stats.binom.sf(shorter - 1, PAIRS, 1 - CERTAINTY) < P_VALUE


def test_drift_is_found_where_it_is_and_only_there(scheme: dp.Scheme) -> None:
    found = [compared(scheme, (PEOPLE, OTHERS), 5000 + run) for run in range(25)]
    rows = pd.concat([pieces[0] for pieces in found])
    assert all(not checks.set_index("name").loc["drift(urban_rural)", "passed"] for _, _, checks in found)
    within = rows[rows["given"] != ""]  # people moved; urban incomes are what they were
    assert not within["differs"].fillna(False).any()
    moved = rows[rows["functional"] == "frequency(rural)"]
    assert np.mean(moved["difference"]) == pytest.approx(0.18, abs=0.01)
    held = (rows["low"] <= rows["true"]) & (rows["true"] <= rows["high"])
    counted = rows["difference"].notna()
    assert covers(int(held[counted].sum()), int(counted.sum()), 0.995)
