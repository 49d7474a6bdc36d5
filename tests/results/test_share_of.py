"""Unions of categories asked of the warehouse are those of Python's estimates, to the last digits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.errors import WarehouseError
from dpcore.results.tables import round_tables
from dpcore.results.warehouse import land, query
from tests.helpers import warehouses
from tests.helpers.kept_open import kept_open
from tests.results.test_warehouse_macros import a_run, landing

ORACLES = ("randomized_response", "unary_encoding", "subset_selection", "hadamard_response", "local_hashing")
CATEGORIES = [f"c{i}" for i in range(7)]
SCHEME = 'name = "people"\nclients = 20000\n' + "".join(
    f'[attributes.{oracle}]\ntype = "categorical"\ncategories = {CATEGORIES}\nmechanism = "{oracle}"\nepsilon = {epsilon}\n'
    for oracle, epsilon in zip(ORACLES, (1, 0.5, 3, 1, 2), strict=True)
)
UNIONS = (["c1"], ["c0", "c6"], ["c5", "c6"], CATEGORIES[::2], CATEGORIES[1:], CATEGORIES)
CONFIDENCES = (0.95, 0.001, 0.5, 0.85, 0.851, 0.99, 1 - 1e-10)
COLUMNS = ["share", "standard_error", "low", "high", "plug_in", "confidence"]


@pytest.fixture(scope="module")
def estimates() -> pipeline.Round:
    people = {oracle: np.random.default_rng(i).choice(CATEGORIES[:6], 20_000) for i, oracle in enumerate(ORACLES)}
    scheme = dp.Scheme.from_toml(SCHEME)
    return pipeline.estimate_all(pipeline.simulate(scheme, pd.DataFrame(people), dp.seeded(4)))


@pytest.fixture(scope="module")
def path(estimates: pipeline.Round, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round for each confidence, in the order of CONFIDENCES."""
    file = warehouses.put(tmp_path_factory.mktemp("unions") / "w.duckdb")
    whole = round_tables.tables_of(estimates)
    kept = {name: whole[name] for name in ("attributes", "budgets", "categories")}
    with kept_open():
        for i, confidence in enumerate(CONFIDENCES):
            said = {name: replace(one, confidence=confidence) for name, one in estimates.estimates.items()}  # type: ignore[type-var]
            shares = round_tables.tables_of(replace(estimates, estimates=said))["frequencies"]
            land(file, landing(a_run(f"r{i}", "x"), kept | {"frequencies": shares}))
    return file


@pytest.mark.parametrize(
    ("oracle", "union"),
    [  # each oracle, and each union, once; every pair at night
        pytest.param(oracle, union, marks=() if i == j % 5 else pytest.mark.nightly("every case"))
        for i, oracle in enumerate(ORACLES)
        for j, union in enumerate(UNIONS)
    ],
)
def test_a_union_is_pythons(path: Path, estimates: pipeline.Round, oracle: str, union: list[str]) -> None:
    frame = query(path, f"from share_of('{oracle}', {union}) order by round")
    assert frame["reason"].isna().all()
    for found, confidence in zip(frame[COLUMNS].to_numpy(dtype=float), CONFIDENCES, strict=True):
        one = estimates.estimates[oracle].share_of(union, confidence)  # type: ignore[union-attr]
        expected = [one.value, one.standard_error, one.low, one.high, one.plug_in, confidence]
        assert found == pytest.approx(expected, abs=1e-9)  # type: ignore[arg-type]


def test_what_is_given_twice_counts_once_in_any_order(path: Path) -> None:
    one, other = (
        query(path, f"from share_of('local_hashing', {union})") for union in (["c1", "c0"], ["c0", "c1", "c0"])
    )
    pd.testing.assert_frame_equal(one, other)


def test_a_category_that_there_is_not_has_a_reason(path: Path) -> None:
    frame = query(path, "from share_of('randomized_response', ['c0', 'c9', 'c8'])")
    assert len(frame) == len(CONFIDENCES)
    assert frame[["share", "standard_error", "low", "high", "plug_in"]].isna().all().all()
    assert set(frame["reason"]) == {"no such category in this round: c8, c9"}
    assert query(path, "from share_of('nothing', ['c0'])").empty


@pytest.mark.parametrize("categories", ["[]", "null", "[]::varchar[]"])
def test_no_category_is_one_line(path: Path, categories: str) -> None:
    with pytest.raises(WarehouseError, match="needs a list of categories") as caught:
        query(path, f"from share_of('local_hashing', {categories})")
    assert "\n" not in str(caught.value)


def test_a_round_that_says_nothing_of_its_covariance_has_no_interval(fresh: Path, estimates: pipeline.Round) -> None:
    """It landed in a warehouse before version 28: its share is known, and how sure it is is not."""
    whole = round_tables.tables_of(estimates)
    old = whole["attributes"].drop(columns=["own_variance_none", "own_variance_all"])
    kept = {name: whole[name] for name in ("budgets", "categories", "frequencies")}
    land(fresh, landing(a_run("r1", "x"), kept | {"attributes": old}))
    (found,) = query(fresh, "from share_of('subset_selection', ['c0', 'c1'])").to_dict("records")
    assert found["share"] == pytest.approx(estimates.estimates["subset_selection"].share_of(["c0", "c1"]).value)  # type: ignore[union-attr]
    assert pd.isna([found["standard_error"], found["low"], found["high"]]).all()
    assert found["reason"].startswith("no interval: landed before version 28")
