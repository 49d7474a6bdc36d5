"""A round with open answers, from simulated respondents to the warehouse: tables, checks, truths, plan and SQL."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.audit.attacks.averaging import averaging
from dpcore.errors import NotEstimable, SchemeError, WarehouseError
from dpcore.estimation.inference.comparison import compare_frequencies
from dpcore.estimation.weighting.raking import Margins
from dpcore.populations.registry import respondents_of
from dpcore.results.checks.table_quality import verdicts
from dpcore.results.tables import round_tables
from dpcore.results.tables.largest_categories import listed
from dpcore.results.warehouse import land, query
from dpcore.rounds import follow_up
from dpcore.rounds.planning.aims import Aim
from dpcore.rounds.planning.detection import detectable
from dpcore.rounds.planning.dry_runs import dry_runs, summary
from dpcore.rounds.planning.planner import Planner
from tests.helpers import warehouses
from tests.results.test_warehouse_macros import a_run, landing

SCHEME = """
name = "drinks"
clients = 60_000
[attributes.drink]
type = "text"
max_bytes = 6
alphabet = "acefiklmnortw"
missing = "category"
epsilon = 4
[labels.region]
categories = ["north", "south"]
[simulate.drink]
shares = { coffee = 5, tea = 3, Milk = 1, milk = 1 }
missing = 0.2
[simulate.drink.by.south]
shares = { water = 1 }
"""


@pytest.fixture(scope="module")
def scheme() -> dp.Scheme:
    return dp.Scheme.from_toml(SCHEME)


@pytest.fixture(scope="module")
def aggregate(scheme: dp.Scheme) -> dp.Aggregate:
    return pipeline.simulate(scheme, respondents_of(scheme), dp.seeded(1))


@pytest.fixture(scope="module")
def tables(scheme: dp.Scheme, aggregate: dp.Aggregate) -> dict[str, pd.DataFrame]:
    return round_tables.tables_of(pipeline.estimate_all(aggregate), respondents_of(scheme))


def test_texts_land_as_categories_with_their_true_shares(tables: dict[str, pd.DataFrame]) -> None:
    """Two thirds of all are in the north; one in five gives no answer there."""
    truths = tables["truths"].set_index(["given", "quantity"])["value"]
    shares = tables["frequencies"].assign(quantity="frequency(" + tables["frequencies"]["category"] + ")")
    found = {given: set(rows["category"]) for given, rows in shares.groupby("given")}
    assert found == {
        "": {"coffee", "tea", "milk", "water", "missing"},
        "region=north": {"coffee", "tea", "milk", "missing"},
        "region=south": {"water", "missing"},
    }
    assert truths["region=north", "frequency(milk)"] == pytest.approx(0.8 * 0.2)
    assert truths["", "frequency(water)"] == pytest.approx(0.8 / 3, abs=1e-6)
    true = truths.loc[list(zip(shares["given"], shares["quantity"], strict=True))].to_numpy()
    assert ((shares["low"] <= true) & (true <= shares["high"])).all()
    assert (shares["low"] == shares["simultaneous_low"]).all()
    assert tables["categories"].sort_values("position")["category"].tolist()[0] == "water"


def test_every_check_passes_and_the_visible_share_is_stated(tables: dict[str, pd.DataFrame]) -> None:
    checks = tables["checks"].set_index("name")
    assert checks["passed"].all(), checks[~checks["passed"]]
    assert verdicts(tables)["passed"].all()
    assert {"visible(drink)", "visible(drink | region=north)", "levels(drink)"} <= set(checks.index)
    seen = checks.loc["visible(drink)", "observed"]
    assert Planner.read(SCHEME).plan(Aim("drink", "visible_share")).error == pytest.approx(seen)
    shown = listed(tables["frequencies"][tables["frequencies"]["given"] == ""])
    assert shown.interval == "simultaneous 95 % interval"


def test_a_plan_finds_the_clients_that_see_a_share() -> None:
    planner = Planner.read(SCHEME)
    found = planner.plan(Aim("drink", "visible_share"), error=0.005, epsilon="2")
    assert planner.plan(Aim("drink", "visible_share"), clients=found.clients, epsilon="2").error <= 0.005
    with pytest.raises(SchemeError, match='drink: is a text; plan for "visible_share"'):
        planner.plan(Aim("drink", "frequency(tea)"))


def test_a_simulation_has_the_statistics_of_clients(scheme: dp.Scheme, aggregate: dp.Aggregate) -> None:
    """Every bucket of every row: the two differ by noise of the size that the model states."""
    people = respondents_of(scheme).records(60_000, dp.seeded(2))
    reports = pipeline.aggregate(scheme, dp.privatize(scheme, people, dp.seeded(3)))
    drawn = pipeline.simulate(scheme, people, dp.seeded(4))
    model = scheme.attributes["drink"].mechanism.model()
    sums = [model.split(one.statistics["drink"]) for one in (aggregate, drawn, reports)]
    for rows, tables in sums:
        assert rows.sum() == 60_000
        (many, few), (own, other) = (rows[:, None], sums[-1][0][:, None]), (tables, sums[-1][1])
        mean = (own + other) / (many + few)
        score = (own / many - other / few) / np.sqrt(np.maximum(mean * (1 - mean), 1e-9) * (1 / many + 1 / few))
        assert np.abs(score).max() < 6.5


def test_nothing_is_found_where_texts_are_rare_and_the_reason_is_stated(scheme: dp.Scheme) -> None:
    texts = ["".join(letters) for letters in product("acefikl", repeat=4)]
    records = {"drink": texts, "region": ["north"] * len(texts)}
    few = dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(1)))
    with pytest.raises(NotEstimable, match=r"no text of drink is frequent enough to be found; with 2,401 reports"):
        pipeline.estimate(few, "drink")
    assert "drink" in pipeline.estimate_all(few).unavailable


def test_groups_are_compared_by_the_texts_of_both_and_weights_are_refused(
    scheme: dp.Scheme, aggregate: dp.Aggregate
) -> None:
    other = pipeline.simulate(scheme, respondents_of(scheme), dp.seeded(7))
    pair = [pipeline.estimate(one, "drink") for one in (aggregate, other)]
    compared = compare_frequencies(*pair)
    assert set(compared) == {"coffee", "tea", "milk", "water", "missing"}
    margins = Margins.from_rows([("region", "north", 3), ("region", "south", 1)], scheme.labels)
    (refused,) = (
        group
        for group in pipeline.estimate_all(aggregate, margins=margins).groups
        if group.group.attribute == "weighted"
    )
    assert "shares of texts cannot be weighted" in refused.reason


def test_estimates_of_texts_answer_for_single_texts_only(aggregate: dp.Aggregate) -> None:
    found = pipeline.estimate(aggregate, "drink")
    tea, place = found.share_of(["tea"]), found.categories.index("tea")
    assert (tea.value, tea.low, tea.high) == (found["tea"], found.low[place], found.high[place])
    with pytest.raises(SchemeError, match="a list of one text"):
        found.share_of(["tea", "milk"])
    with pytest.raises(SchemeError, match="only frequent ones are known"):
        found.draw(3, dp.seeded(1))
    assert not found.differs().any()


def test_unions_of_texts_are_refused_in_sql(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    file = warehouses.put(tmp_path / "w.duckdb")
    parts = {name: tables[name] for name in ("attributes", "budgets", "categories", "frequencies")}
    land(file, landing(a_run("r", "x"), parts))
    assert query(file, "select type from latest_attributes").to_numpy().tolist() == [["text"]]
    with pytest.raises(WarehouseError, match="categories that exclude each other"):
        query(file, "from share_of('drink', ['tea', 'milk'])")


def test_a_second_round_asks_which_of_the_texts_a_client_has(
    aggregate: dp.Aggregate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "first.toml"
    file.write_text(SCHEME)
    monkeypatch.setattr(follow_up.warehouse, "landed_sums", lambda *_: (aggregate, "simulated", 1))
    second = dp.Scheme.from_toml(follow_up.scheme_from(file, "2026-11-20", tmp_path))
    asked = second.attributes["drink"]
    assert set(asked.categories) == {"coffee", "tea", "milk", "water", "other", "missing"}
    cells = asked.encode(["tea", "juice", None]).tolist()
    assert [asked.categories[cell] for cell in cells] == ["tea", "other", "missing"]
    assert asked.budget == aggregate.scheme.attributes["drink"].budget


def test_dry_runs_have_true_shares_of_every_text_and_differences_are_not_planned(scheme: dp.Scheme) -> None:
    people = respondents_of(scheme)
    result = summary(list(dry_runs(scheme, people, 20_000, 3, dp.seeded(1))))
    rows = result.set_index(["given", "quantity"])
    assert rows.loc[("", "frequency(coffee)"), "truth"] == pytest.approx(0.8 / 3)
    assert rows["covered"].sum() >= rows["intervals"].sum() - 1
    experiment = SCHEME.replace('"south"]', '"south"]\ncontrol = "north"')
    with pytest.raises(SchemeError, match="asks for texts only"):
        detectable(dp.Scheme.from_toml(experiment), people, clients=1000)
    both = dp.Scheme.from_toml(experiment + '[attributes.home]\ntype = "boolean"\nepsilon = 1\n')
    assert {row.attribute for row in detectable(both, respondents_of(both), clients=1000)} == {"home"}


def test_an_attacker_learns_nothing_from_repeated_answers(scheme: dp.Scheme) -> None:
    assert averaging(scheme, dp.seeded(1), people=60, rounds=4).holds
