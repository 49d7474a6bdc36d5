"""A round with a set of options, from simulated respondents to the warehouse: tables, checks, truths and SQL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.errors import SchemeError, WarehouseError
from dpcore.estimation.weighting.raking import Margins
from dpcore.populations.registry import respondents_of
from dpcore.results.checks.table_quality import verdicts
from dpcore.results.tables import round_tables
from dpcore.results.tables.largest_categories import listed
from dpcore.results.warehouse import land, query
from dpcore.rounds.planning.aims import Aim
from dpcore.rounds.planning.planner import Planner
from tests.helpers import warehouses
from tests.results.test_warehouse_macros import a_run, landing

SCHEME = """
name = "transport"
clients = 20_000
[attributes.uses]
type = "set"
categories = ["car", "bus", "train", "foot"]
at_most = 2
functionals = ["mean", "cdf(0)"]
missing = "none"
epsilon = 4
[labels.region]
categories = ["north", "south"]
control = "north"
[simulate.uses]
shares = { car = 0.5, bus = 0.3 }
[simulate.uses.by.south]
shares = { car = 0.2, foot = 0.4 }
"""


@pytest.fixture(scope="module")
def scheme() -> dp.Scheme:
    return dp.Scheme.from_toml(SCHEME)


@pytest.fixture(scope="module")
def tables(scheme: dp.Scheme) -> dict[str, pd.DataFrame]:
    people = respondents_of(scheme)
    batches = [
        dp.privatize(scheme, people.records_block(block, 10_000, dp.seeded(1)), dp.seeded(block)) for block in (0, 1)
    ]
    parts = [dp.aggregate(scheme, batch) for batch in batches]
    return round_tables.tables_of(pipeline.estimate_all(parts[0].merge(parts[1])), people, parts=parts)


def test_every_check_passes_and_batches_are_compared(tables: dict[str, pd.DataFrame]) -> None:
    checks = tables["checks"].set_index("name")
    assert checks["passed"].all(), checks[~checks["passed"]]
    assert {"possible(uses)", "homogeneity(uses)"} <= set(checks.index)
    assert verdicts(tables)["passed"].all()


def test_shares_are_near_their_true_values(tables: dict[str, pd.DataFrame]) -> None:
    """By an independent computation: two options, each by itself, are allowed together; in the south two others."""
    truths = tables["truths"].set_index(["given", "quantity"])["value"]
    assert truths["region=south", "frequency(car)"] == pytest.approx(0.2)
    assert truths["region=south", "frequency(bus)"] == 0
    assert truths["region=south", "mean"] == pytest.approx(0.6)
    assert truths["region=south", "cdf(0)"] == pytest.approx(0.48)
    shares = tables["frequencies"].assign(quantity="frequency(" + tables["frequencies"]["category"] + ")")
    numbers = tables["functionals"].rename(columns={"functional": "quantity"})
    for frame in (shares, numbers):
        true = truths.loc[list(zip(frame["given"], frame["quantity"], strict=True))].to_numpy()
        errors = (frame["estimate"].to_numpy(float) - true) / frame["standard_error"].to_numpy(float)
        assert np.abs(errors).max() < 4
    assert tables["attributes"][["type", "unit", "at_most"]].to_numpy().tolist() == [["set", "options", 2]]
    assert set(tables["experiments"]["functional"]) == {
        *(f"frequency({name})" for name in ("car", "bus", "train", "foot")),
        "mean",
        "cdf(0)",
    }


def test_two_options_together_land_with_their_true_value(tmp_path: Path) -> None:
    """In the north, two thirds of all, 0.5 * 0.3 have both, independent options; in the south nobody takes a bus."""
    pair = SCHEME.replace('"cdf(0)"]', '"both(bus,car)"]')
    scheme = dp.Scheme.from_toml(pair)
    people = respondents_of(scheme)
    round_ = pipeline.estimate_all(pipeline.simulate(scheme, people, dp.seeded(1)))
    tables = round_tables.tables_of(round_, people)
    file = warehouses.put(tmp_path / "w.duckdb")
    land(file, landing(a_run("r", "x"), {name: tables[name] for name in ("attributes", "functionals", "truths")}))
    rows = query(
        file,
        """select given, value, estimate, standard_error, low <= value and value <= high as covered, reason
        from latest_functionals join truths using (run_id, attribute, given)
        where functional = 'both(bus, car)' and quantity = functional order by given""",
    )
    assert rows["given"].tolist() == ["", "region=north", "region=south"]
    assert rows["value"].to_numpy() == pytest.approx([0.1, 0.15, 0])
    assert rows["covered"].all()
    assert rows["reason"].isna().all()
    assert (np.abs(rows["estimate"] - rows["value"]) < 3 * rows["standard_error"]).all()
    assert "both(bus, car)" in set(tables["experiments"]["functional"])
    found = Planner.read(pair, people).plan(Aim("uses", "both(bus, car)"))
    assert found.error == pytest.approx(rows["standard_error"][0], rel=0.05)
    assert 0 < found.limit < found.error
    car = Planner.read(pair, people).plan(Aim("uses", "frequency(car)"))  # of reports with two items
    assert car.error == pytest.approx(
        tables["frequencies"].set_index(["given", "category"]).loc[("", "car"), "standard_error"], rel=0.02
    )
    assert Planner.read(SCHEME, people).plan(Aim("uses", "both(bus, car)")).error == pytest.approx(found.error)
    with pytest.raises(SchemeError, match="'ship' is no option"):
        Planner.read(pair, people).plan(Aim("uses", "both(bus, ship)"))


def test_reports_of_another_distribution_in_a_batch_are_seen(scheme: dp.Scheme) -> None:
    people = {"uses": [["car"]] * 4000, "region": ["north"] * 4000}
    others = {"uses": [["foot", "bus"]] * 4000, "region": ["north"] * 4000}
    parts = [dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(1))) for records in (people, others)]
    checks = round_tables.tables_of(pipeline.estimate_all(parts[0].merge(parts[1])), parts=parts)["checks"]
    assert not checks.set_index("name").loc["homogeneity(uses)", "passed"]


def test_unions_of_options_are_refused_in_sql(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    file = warehouses.put(tmp_path / "w.duckdb")
    land(
        file,
        landing(
            a_run("r", "x"), {name: tables[name] for name in ("attributes", "budgets", "categories", "frequencies")}
        ),
    )
    assert query(file, "select at_most from latest_attributes").to_numpy().tolist() == [[2]]
    with pytest.raises(WarehouseError, match="exclude each other"):
        query(file, "from share_of('uses', ['car', 'bus'])")


def test_many_options_are_not_compared_with_an_equal_share() -> None:
    rows = pd.DataFrame(
        {
            "category": [f"o{number}" for number in range(40)],
            "estimator": "shares",
            "given": "",
            "confidence": 0.95,
            "estimate": np.linspace(0.9, 0.1, 40),
        }
    ).assign(low=0.05, high=0.95, simultaneous_low=0.04, simultaneous_high=0.96)
    selected = listed(rows)
    assert selected.equal is None
    assert selected.note == ""
    assert "equal" not in selected.sentence
    assert selected.sentence.startswith("The 30 largest of 40 categories")


def test_shares_of_options_are_weighted_by_label(scheme: dp.Scheme) -> None:
    people = {"uses": [["car"], ["bus"]] * 1000, "region": ["north", "south"] * 1000}
    aggregate = dp.aggregate(scheme, dp.privatize(scheme, people, dp.seeded(1)))
    margins = Margins.from_rows([("region", "north", 3), ("region", "south", 1)], scheme.labels)
    found = [
        group
        for group in pipeline.estimate_all(aggregate, margins=margins).groups
        if group.group.attribute == "weighted"
    ]
    (weighted,) = found
    assert weighted.estimate is not None
    assert weighted.estimate["car"] > weighted.estimate["bus"] + 0.2  # 3 of 4 in the north, where all take the car
    assert [one.reason for one in weighted.functionals] == [None, None]


def test_a_plan_has_the_error_of_a_round(scheme: dp.Scheme, tables: dict[str, pd.DataFrame]) -> None:
    """Also where every client is asked; the bound is that of any mechanism on sets."""
    planner = Planner.read(SCHEME, respondents_of(scheme))
    everybody = tables["frequencies"][tables["frequencies"]["given"] == ""].set_index("category")["standard_error"]
    for quantity, error in [
        ("frequency(car)", everybody["car"]),
        ("mean", tables["functionals"].set_index(["given", "functional"]).loc[("", "mean"), "standard_error"]),
    ]:
        found = planner.plan(Aim("uses", quantity))
        assert found.error == pytest.approx(error, rel=0.02)
        assert 0 < found.limit < found.error
        assert found.unit == ("options" if quantity == "mean" else "")
