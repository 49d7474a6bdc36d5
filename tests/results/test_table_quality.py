"""What tables must be like: a good round keeps every rule, and each planted fault is found, named and not shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.populations import consumer_expenditure
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.results.checks import table_quality
from dpcore.results.tables import comparisons
from dpcore.results.tables.round_tables import tables_of
from dpcore.rounds.steps import estimation, landing, preparation, sequence
from tests.helpers.schemes import HOUSEHOLDS

Tables = dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def made() -> Tables:
    scheme = Scheme.from_toml(HOUSEHOLDS.replace("finest_level = 3", "finest_level = 2\ncells = 64"))
    aggregate = dp.simulate(scheme, consumer_expenditure(), random=dp.seeded(7), clients=20_000)
    found = pipeline.estimate_all(aggregate)
    return tables_of(found, consumer_expenditure()) | {"comparisons": comparisons.between_groups(found, "0" * 16)}


@pytest.fixture
def tables(made: Tables) -> Tables:
    return {name: frame.copy() for name, frame in made.items()}


def test_a_good_round_keeps_every_rule(tables: Tables) -> None:
    rows = table_quality.verdicts(tables)
    assert rows["passed"].all(), rows["detail"].tolist()
    assert len(rows) == 7
    assert set(rows["threshold"]) == {0.0}


def _set(
    table: str, column: str, value: Any, where: Callable[[pd.DataFrame], Any] = lambda frame: frame.index[:1]
) -> Any:
    def plant(tables: Tables) -> None:
        tables[table].loc[where(tables[table]), column] = value

    plant.__name__ = f"{table}.{column}"
    return plant


def _mean(frame: pd.DataFrame) -> Any:
    return (frame["functional"] == "mean") & (frame["given"] == "")


FAULTS = [
    (_set("aggregates", "value", -3, lambda rows: rows["statistic"] == "count"), "counts are not negative"),
    (_set("aggregates", "value", 41_233, lambda rows: rows.index[-1:]), "counts of groups sum to those of all clients"),
    (_set("frequencies", "estimate", 1.25), "estimate is between 0 and 1"),
    (_set("frequencies", "low", 0.99), "low <= estimate <= high"),
    (_set("frequencies", "category", "elsewhere"), "the category is in the scheme"),
    (_set("frequencies", "estimate", 0.5), "proportions of a group sum to 1"),
    (_set("densities", "density", -1e-9), "density is not negative"),
    (_set("densities", "x", 250_001.0, lambda rows: rows.index[200:201]), "lower <= x <= upper"),
    (_set("densities", "high", 0.0, lambda rows: rows.index[60:61]), "low <= density <= high"),
    (_set("densities", "cdf", 0.0, lambda rows: rows.index[60:61]), "the cdf does not decrease"),
    (_set("densities", "cdf", 0.9, lambda rows: rows.index[190:201]), "the cdf reaches 1"),
    (_set("densities", "density", 1e-5, lambda rows: rows.index[:100]), "density and point masses integrate to 1"),
    (_set("functionals", "high", 0.0, _mean), "low <= estimate <= high"),
    (_set("functionals", "high", 1e6, _mean), "estimates and intervals are within the range of the functional"),
    (_set("functionals", "low", None, _mean), "every row has an estimate with an interval, or a reason"),
    (_set("functionals", "standard_error", -1.0, _mean), "standard_error is not negative"),
    (_set("budgets", "epsilon", 2.5), "a client spends at most the epsilon of the scheme"),
    (_set("budgets", "charges", 10, lambda rows: rows["attribute"] == "income"), "every counted report was charged"),
    (_set("comparisons", "low", 1e9), "low <= difference <= high"),
    (_set("comparisons", "correlation", -1.5), "correlation is between -1 and 1"),
    (
        _set("truths", "value", 3.5, lambda rows: rows["quantity"] == "frequency(urban)"),
        "proportions are between 0 and 1",
    ),
]


@pytest.mark.parametrize(("plant", "rule"), FAULTS, ids=[f"{plant.__name__}: {rule}" for plant, rule in FAULTS])
def test_a_planted_fault_is_found_where_it_is(tables: Tables, plant: Any, rule: str) -> None:
    plant(tables)
    table = plant.__name__.split(".")[0]
    needed = {"budgets": ["aggregates"], "densities": ["functionals"]}.get(table, [])
    rows = table_quality.verdicts(
        {name: tables[name] for name in (table, *needed, "schemes", "attributes", "categories")}
    )
    [failed] = rows[~rows["passed"]].to_dict("records")
    assert failed["name"] == f"quality({table})"
    assert rule in failed["detail"]
    assert failed["observed"] > 0
    assert "41233" not in failed["detail"]  # rows are counted, not shown


def test_a_missing_column_breaks_its_rules_and_no_more(tables: Tables) -> None:
    tables["comparisons"] = tables["comparisons"].drop(columns="correlation")
    rows = table_quality.verdicts(tables).set_index("name")
    assert list(rows.index[~rows["passed"]]) == ["quality(comparisons)"]
    assert rows.loc["quality(comparisons)", "observed"] == len(tables["comparisons"])


def test_a_missing_column_of_no_rows_breaks_its_rules(tables: Tables) -> None:
    tables["comparisons"] = tables["comparisons"].drop(columns="correlation")[:0]
    rows = table_quality.verdicts(tables).set_index("name")
    assert list(rows.index[~rows["passed"]]) == ["quality(comparisons)"]


@pytest.mark.slow
def test_what_lands_says_so_and_a_damaged_table_lands_as_one(tmp_path: Path) -> None:
    scheme = tmp_path / "scheme.toml"
    scheme.write_text(HOUSEHOLDS, encoding="utf-8")
    run = preparation.prepare(scheme, round_="2026-11-20", clients=2_000, data=tmp_path)
    sequence.collect(run, sequence.Here())
    file = estimation.estimate(run) / "functionals.parquet"
    pd.read_parquet(file).assign(low=0.0, estimate=9e9, high=9.1e9).to_parquet(file)
    landing.land(run)
    rows = warehouse.query(tmp_path / "warehouse.duckdb", "select name, passed, detail from checks order by name")
    rows = rows[rows["name"].str.startswith("quality(")]
    assert list(rows.loc[~rows["passed"], "name"]) == ["quality(functionals)"]
    assert len(rows) == 7
    assert "within the range of the functional: violated by" in " ".join(rows["detail"])


@pytest.mark.parametrize(("factor", "passes"), [(1.0, True), (0.8, False), (1.3, False)])
def test_a_density_that_jumps_integrates_to_one_but_not_one_of_another_scale(factor: float, passes: bool) -> None:
    x = np.linspace(0, 1, 201)
    spike = np.where(np.abs(x - 0.5) <= 0.0051, 100.0, 0.0)  # two or three points of 201, whatever is between
    for density, is_smooth in ((spike, False), (6 * x * (1 - x), True)):
        rows = pd.DataFrame(
            {"attribute": "a", "estimator": "e", "given": "", "x": x, "density": factor * density, "atoms": 0.0}
        )
        assert table_quality._integrates(rows).all() == (passes or not is_smooth)


def test_the_mass_of_atoms_is_that_of_the_density_shown() -> None:
    """The corrected share of an atom may be another, as zero where it is not told from none."""
    x = np.linspace(0, 1, 51)
    density = pd.DataFrame({"attribute": "a", "estimator": "e", "given": "", "x": x, "density": 0.9})
    atoms = pd.DataFrame(
        {
            "attribute": "a",
            "given": "",
            "functional": ["atom(1)", "mean"],
            "estimate": [0.0, 7.0],
            "plug_in": [0.1, 7.0],
        }
    )
    bounds = pd.DataFrame({"attribute": ["a"], "lower": [0.0], "upper": [1.0]})
    for told, is_kept in ((atoms, True), (atoms.assign(plug_in=[0.0, 7.0]), False)):
        beside = table_quality._beside_bounds(density, {"attributes": bounds, "functionals": told})
        assert table_quality._integrates(beside).all() == is_kept
