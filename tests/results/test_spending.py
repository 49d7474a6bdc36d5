"""What a collector knows of what clients have spent: of one round by their tokens, of several by what landed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline, wire
from dpcore.client import Client
from dpcore.mechanisms import DyadicWave, RandomizedResponse
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from dpcore.protocol.report import batch_of
from dpcore.protocol.scheme import Scheme
from dpcore.results import pages, warehouse
from dpcore.results.tables import spending
from dpcore.results.tables.round_tables import scheme_tables, tables_of
from dpcore.results.tables.spending import TokenCharges, states, token_charges
from tests.helpers import undrawn, warehouses

RECORD = {"side": "left", "colour": "red", "height": 1.2, "kind": "cat"}
SECRETS = [bytes([number]) * 16 for number in range(4)]


def reports(scheme: Scheme, folder: Path, name: str, people: list[int], nobody: int = 0, sent_for: str = "") -> Path:
    """A file of the reports of people with a key, by number, and of some who sent no token."""
    clients = [Client(scheme, dp.secure(), secret=SECRETS[person]) for person in people]
    clients += [Client(scheme, dp.secure()) for _ in range(nobody)]
    record = {attribute: RECORD[attribute] for attribute in scheme.attributes}
    file = folder / f"{name}.parquet"
    wire.write_reports(file, scheme, batch_of(client.report(record) for client in clients), sent_for)
    return file


def test_tokens_say_how_often_each_of_their_clients_was_heard(tmp_path: Path, small: Scheme) -> None:
    first = reports(small, tmp_path, "a", [0, 1, 1], nobody=5)
    second = reports(small, tmp_path, "b", [1, 2])
    third = reports(small, tmp_path, "c", [], nobody=3)
    expected = TokenCharges(known_charges=5, known_clients=3, most_charges=3)
    assert token_charges(small, [first, second, third]) == dict.fromkeys(small.attributes, expected)
    nothing = TokenCharges(known_charges=0, known_clients=0, most_charges=0)
    assert token_charges(small, [third]) == dict.fromkeys(small.attributes, nothing)


def test_a_report_that_is_refused_is_no_charge(tmp_path: Path, small: Scheme) -> None:
    batch = wire.read_reports(reports(small, tmp_path, "a", [0, 1]), small)
    colour = batch.of("colour")
    said = replace(colour, reports=replace(colour.reports, values=np.array([colour.reports.values[0], 77])))
    wire.write_reports(tmp_path / "b.parquet", small, replace(batch, answers={**batch.answers, "colour": said}))
    found = token_charges(small, [tmp_path / "b.parquet"])
    assert found["side"] == TokenCharges(known_charges=1, known_clients=1, most_charges=1)


def test_a_unit_that_is_answered_is_what_is_charged(tmp_path: Path, small_text: str) -> None:
    scheme = Scheme.from_toml(f'reporting = "one"\n{small_text}')
    found = token_charges(scheme, [reports(scheme, tmp_path, "a", [0, 1, 2, 3, 3])])
    assert found["side"] == found["height"]  # a pair is one unit
    assert found["side"].known_charges + found["colour"].known_charges == 5


def test_states_are_what_answers_are_charged_for() -> None:
    one = Budget.parse("1")
    assert states(RandomizedResponse.design(one, categories=5)) == 5
    assert states(DyadicWave.design(one)) == 64  # at every level: an answer is paid for by input cell
    assert states(WaveletLaplace.design(one, degree=1, finest_level=3, cells=256)) == 256


PETS = """
name = "pets"
[attributes.kind]
type = "categorical"
categories = ["cat", "dog"]
epsilon = 0.75
[attributes.colour]
type = "categorical"
categories = ["red", "green", "blue", "grey"]
epsilon = {}
"""


@lru_cache
def charged(scheme: Scheme) -> pd.DataFrame:
    """The rows of `budgets` of 203 people."""
    people = {name: [PEOPLE[name]] * 203 for name in scheme.attributes}
    aggregate = dp.aggregate(scheme, dp.privatize(scheme, people, random=dp.seeded(1)))
    return tables_of(pipeline.Round(aggregate, {}, {}, {}))["budgets"]


def test_what_lands_of_a_budget_is_what_its_mechanism_says() -> None:
    scheme = Scheme.from_toml(PETS.format('"ln 3"'))
    for row in charged(scheme).to_dict("records"):
        mechanism = scheme.attributes[row["attribute"]].mechanism
        assert row["certificate"] == mechanism.certificate().text
        assert (row["stated"], row["epsilon"]) == (mechanism.budget.text, float(mechanism.budget))
        assert (row["delta"], row["charges"], row["states"]) == (0.0, 203, states(mechanism))


def landed(file: Path, scheme: Scheme, round_: str, known: TokenCharges | None, source: str = "reports") -> None:
    """A round of 203 reports, as a rule collected, in the warehouse, as far as what clients spend is concerned."""
    warehouses.put(file)
    budgets = charged(scheme)
    if known is not None:
        budgets = spending.with_token_charges(budgets, dict.fromkeys(scheme.attributes, known))
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    run = warehouse.RunRow(
        run_id=warehouse.run_id(scheme.digest, round_, source),
        scheme=scheme.name,
        scheme_digest=scheme.digest,
        round=round_,
        source=source,
        randomness="secure",
        started_at=moment,
        finished_at=moment,
        version="1",
        accepted=203,
        rejected=0,
    )
    whole = {"schemes": scheme_tables(scheme)["schemes"], "budgets": budgets}
    warehouse.land(file, warehouse.Landing(run, whole))


PEOPLE = {"kind": "cat", "colour": "red", "weight": 3.0}


@pytest.mark.usefixtures("plain_pages")
def test_rounds_add_up_for_fresh_noise_and_not_for_answers_that_last(tmp_path: Path) -> None:
    file, known = tmp_path / "w.duckdb", TokenCharges(known_charges=3, known_clients=2, most_charges=2)
    first, revised = (Scheme.from_toml(PETS.format(epsilon)) for epsilon in ("1", "0.5"))
    for day, scheme in enumerate((first, first, first, revised), 1):
        landed(file, scheme, f"2026-11-0{day}", known if day > 1 else None)
    rows = warehouse.query(file, "from composed_budgets order by round, attribute")
    by = {(row["round"][-1], row["attribute"]): row for row in rows.to_dict("records")}
    assert [by[day, ""]["fresh"] for day in "1234"] == [1.75, 3.5, 5.25, 6.5]
    assert [by[day, ""]["memoized_least"] for day in "1234"] == [1.75, 1.75, 1.75, 3.0]
    assert [by[day, "kind"]["memoized_most"] for day in "1234"] == [0.75, 1.5, 1.5, 2.25]  # two states a digest
    assert [by[day, ""]["memoized_most"] for day in "1234"] == [1.75, 3.5, 4.5, 5.75]
    assert [by[day, "colour"]["known_most"] for day in "234"] == [2, 2, 1]
    assert np.isnan(by["1", ""]["known_most"])
    assert (by["4", ""]["known_clients"], by["4", ""]["known_most"], by["4", ""]["rounds"]) == (2, 2.5, 4)
    budgets = warehouse.query(file, "from latest_budgets where round = '2026-11-04' order by attribute")
    found = budgets[["charges", "states", "known_charges", "most_charges"]].to_numpy().tolist()
    assert found == [[203, 4, 3, 2], [203, 2, 3, 2]]
    pages.publish(file, tmp_path / "page.html", round_="2026-11-04")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "has spent ε = 6.5" in page
    assert "has spent ε = 3 if no value changed, and at most 5.75" in page
    assert "2 clients sent a token in this round; none of them spent more than ε = 2.5" in page


def test_records_that_were_drawn_twice_are_paid_twice_and_simulated_people_have_their_own_account(
    tmp_path: Path,
) -> None:
    file, scheme = tmp_path / "w.duckdb", Scheme.from_toml(PETS.format("1"))
    landed(file, scheme, "1", None, "simulated")
    landed(file, scheme, "2", None)
    rows = [
        {"drawing": drawing, "round": "3", "attribute": name, "epsilon": epsilon, "delta": 0.0, "states": None}
        for drawing in ("a run that failed", "the next one")
        for name, epsilon in (("", 1.75), ("kind", 0.75), ("colour", 1.0))
    ]
    stamp = {"scheme": scheme.name, "scheme_digest": scheme.digest, "source": "records"}
    warehouse.charge(file, pd.DataFrame(rows).assign(**stamp).astype({"states": "Int64"}))
    told = warehouse.query(file, "from composed_budgets where attribute = '' order by round")
    columns = ["round", "drawings", "fresh", "memoized_least", "memoized_most"]
    assert told[columns].to_numpy().tolist() == [
        ["1", 1, 1.75, 1.75, 1.75],
        ["2", 1, 1.75, 1.75, 1.75],
        ["3", 3, 5.25, 5.25, 5.25],
    ]


def test_a_client_that_reports_one_unit_spends_at_most_the_dearest(tmp_path: Path) -> None:
    file, scheme = tmp_path / "w.duckdb", Scheme.from_toml('reporting = "one"\n' + PETS.format("1"))
    for day in (1, 2, 3):
        landed(file, scheme, f"2026-11-0{day}", None)
    [row] = warehouse.query(file, "from composed_budgets where rounds = 3 and attribute = ''").to_dict("records")
    assert (row["fresh"], row["memoized_least"], row["memoized_most"]) == (3, 1, 3)


@pytest.mark.usefixtures("plain_pages")
def test_deltas_add_up_beside_epsilons(tmp_path: Path) -> None:
    weight = '[attributes.weight]\ntype = "numeric"\nlower = 0\nupper = 9\nepsilon = 1\nmechanism = "wavelet_laplace"\n'
    weight += "degree = 0\nfinest_level = 2\ncells = 64\n"
    scheme = Scheme.from_toml(PETS.format("1") + weight + 'noise = "discrete_gaussian"\ndelta = 1e-6\n')
    file = tmp_path / "w.duckdb"
    for day in (1, 2, 3):
        landed(file, scheme, f"2026-11-0{day}", None)
    rows = warehouse.query(file, "from composed_budgets where rounds = 3 order by attribute").set_index("attribute")
    columns = ["delta", "fresh_delta", "memoized_least_delta", "memoized_most_delta"]
    assert rows.loc["kind", columns].to_list() == [0, 0, 0, 0]
    for name in ("weight", ""):
        assert rows.loc[name, columns].to_list() == pytest.approx([1e-6, 3e-6, 1e-6, 3e-6])
    pages.publish(file, tmp_path / "page.html", round_="2026-11-03")
    assert "δ = 1e-06 per round, 3e-06 over all rounds" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_round_of_collected_reports_counts_their_tokens(tmp_path: Path) -> None:
    scheme = Scheme.from_toml(PETS.format("1"))
    (tmp_path / "pets.toml").write_text(scheme.canonical, encoding="utf-8")
    (tmp_path / "in").mkdir()
    reports(scheme, tmp_path / "in", "r", [0, 1, 1], nobody=60)
    undrawn.run(tmp_path / "pets.toml", reports=tmp_path / "in", round_="r1", data=tmp_path)
    budgets = warehouse.query(
        tmp_path / "warehouse.duckdb", "select * exclude (certificate) from budgets order by attribute"
    )
    names = ["charges", "states", "known_charges", "known_clients", "most_charges"]
    # who was heard twice is counted once
    assert budgets.loc[budgets["attribute"] == "kind", names].to_numpy().tolist() == [[62, 2, 2, 2, 1]]


def test_what_is_known_stands_beside_what_is_charged() -> None:
    known = {name: TokenCharges(known_charges=n, known_clients=1, most_charges=n) for n, name in enumerate("ab", 1)}
    budgets = pd.DataFrame({"attribute": ["b", "a"], "charges": [4, 9], **dict.fromkeys(known["a"].__dict__)})
    found = spending.with_token_charges(budgets, known)
    assert found["attribute"].tolist() == ["b", "a"]
    assert found["known_charges"].tolist() == [2, 1]
    assert np.array_equal(found["charges"], [4, 9])
