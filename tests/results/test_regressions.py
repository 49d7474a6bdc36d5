"""Regressions of a scheme: read, refused, landed, shown."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.cli.round_summary import render
from dpcore.errors import SchemeError
from dpcore.estimation.registry import check_estimates
from dpcore.protocol.domain import dates
from dpcore.results import warehouse
from dpcore.results.pages import pieces, publish
from dpcore.results.tables.round_tables import tables_of
from dpcore.results.text.relation_phrases import read_estimate
from tests.helpers import undrawn

SCHEME = """
name = "habits"
clients = 4000
[attributes.smokes]
type = "boolean"
epsilon = 4
[attributes.job]
type = "categorical"
categories = ["none", "clerk", "nurse"]
epsilon = 4
[attributes.income]
type = "numeric"
lower = 0
upper = 100
unit = "kEUR"
epsilon = 4
[labels.region]
categories = ["north", "south"]
[regressions]
smoking = "smokes ~ region"
work = { formula = "job ~ region", reference = { job = "nurse" } }
pay = "income ~ region"
"""


def people(n: int = 4000, south: float = 0.5) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    in_south = rng.random(n) < south
    return pd.DataFrame(
        {
            "smokes": rng.random(n) < 0.3 + 0.2 * in_south,
            "job": rng.choice(["none", "clerk", "nurse"], n),
            "income": np.clip(rng.normal(40 + 10 * in_south, 10), 0, 100),
            "region": np.where(in_south, "south", "north"),
        }
    )


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("a = 1", "regressions.a must be a formula, or a table with one"),
        ("A = 'smokes ~ region'", "its name must be lower-case letters"),
        ("a = { formula = 'smokes ~ region', weights = 1 }", "unknown key 'weights'"),
        ("a = { formula = 'smokes ~ region', reference = { region = 1 } }", "must be a table of categories"),
        ("a = 'smokes ~ age'", "regressions.a: formula 'smokes ~ age': no label 'age'"),
        ("a = { formula = 'income ~ region', reference = { income = '1' } }", "a number has no reference category"),
    ],
)
def test_a_scheme_with_a_regression_that_is_none_is_refused_before_anybody_reports(entry: str, problem: str) -> None:
    text = SCHEME.partition("[regressions]")[0] + f"[regressions]\n{entry}\n"
    with pytest.raises(SchemeError, match=re.escape(problem)):
        check_estimates(dp.Scheme.from_toml(text))


def test_regressions_are_kept_with_the_scheme_and_outside_its_digest() -> None:
    scheme = dp.Scheme.from_toml(SCHEME)
    again = dp.Scheme.from_toml(scheme.text)
    assert dict(again.regressions) == dict(scheme.regressions)
    assert again.text == scheme.text
    assert scheme.digest == dp.Scheme.from_toml(SCHEME.partition("[regressions]")[0]).digest


def test_a_round_lands_prints_and_shows_its_regressions(tmp_path: Path) -> None:
    (tmp_path / "habits.toml").write_text(SCHEME)
    people().to_csv(tmp_path / "people.csv", index=False)
    undrawn.run(tmp_path / "habits.toml", records=tmp_path / "people.csv", round_="may", seed=3, data=tmp_path / "var")
    [file] = tmp_path.glob(f"var/runs/*/{warehouse.REHEARSAL}")
    rows = warehouse.query(file, "from latest_regressions")
    assert rows.groupby(["regression", "quantity"]).size().to_dict() == {
        ("pay", "coefficient"): 2,
        ("pay", "effect"): 1,
        ("pay", "test"): 1,
        ("smoking", "coefficient"): 2,
        ("smoking", "effect"): 1,
        ("smoking", "test"): 1,
        ("work", "coefficient"): 4,
        ("work", "effect"): 3,
        ("work", "test"): 1,
    }
    pay = rows[(rows["regression"] == "pay") & (rows["term"] == "region = south") & (rows["quantity"] == "coefficient")]
    assert abs(pay["estimate"].item() - 10) < 4 * pay["standard_error"].item()
    assert set(rows.loc[rows["regression"] == "work", "reference"]) == {"nurse"}
    run_id = rows["run_id"][0]
    assert "\nregressions\nsmoking:  region: p < 0.0001, chi-squared" in render(file, run_id)
    publish(file, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Logistic regression, 4,000 reports; odds of “true” against “false”. Reference: region = north." in page
    assert "odds ratio, region = south" in page
    shown = pieces(file, run_id).pairs
    assert set(shown) == {"regression-smoking", "regression-work", "regression-pay"}
    assert "`job ~ region`" in shown["regression-work"]


def test_a_group_too_small_to_be_shown_is_not_regressed_on() -> None:
    scheme = dp.Scheme.from_toml(SCHEME)
    records = people(1000, south=0.03)
    total = dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(1)))
    table = tables_of(pipeline.estimate_all(total, fewest=50))["regressions"]
    assert table["quantity"].tolist() == ["none"] * 3
    assert "fewer than 50 reports, such as region = south" in table["reason"][0]
    hidden = tables_of(pipeline.estimate_all(total, hide_labels="it has landed before"))["regressions"]
    assert hidden["reason"].tolist() == ["it has landed before"] * 3


def test_a_regression_does_not_reveal_a_group_that_is_withheld_because_of_subtraction() -> None:
    text = SCHEME.partition("[labels.region]")[0] + (
        '[labels.sex]\ncategories = ["f", "m"]\n[labels.age]\ncategories = ["old", "young"]\n'
        '[regressions]\nby_sex = "smokes ~ sex"\nby_age = "smokes ~ age"\n'
    )
    scheme = dp.Scheme.from_toml(text)
    records = people(2030).assign(  # men but for 30 are young, and women are old
        sex=["f"] * 1000 + ["m"] * 1030, age=["old"] * 1030 + ["young"] * 1000
    )
    total = dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(1)))
    round_ = pipeline.estimate_all(total, fewest=50)
    shown = {group.attribute for name, group in round_.labelled if name == "smokes"}
    assert len(shown) == 1
    withheld = {name for name, one in round_.regressions.items() if isinstance(one, str)}
    assert withheld == {f"by_{name}" for name in {"sex", "age"} - shown}
    assert "would reveal fewer than 50 reports" in str(round_.regressions[withheld.pop()])
    assert all(not isinstance(one, str) for one in pipeline.estimate_all(total).regressions.values())


def test_a_round_that_lands_again_declares_its_earlier_regressions(tmp_path: Path) -> None:
    (tmp_path / "habits.toml").write_text(SCHEME)
    people().to_csv(tmp_path / "people.csv", index=False)
    where = {
        "records": tmp_path / "people.csv",
        "round_": "may",
        "data": tmp_path / "var",
        "warehouse": tmp_path / "w.duckdb",
    }
    undrawn.run(tmp_path / "habits.toml", **where)
    (tmp_path / "habits.toml").write_text(SCHEME.replace('pay = "income ~ region"', ""))
    undrawn.run(tmp_path / "habits.toml", **where, again=True)
    rows = warehouse.query(tmp_path / "w.duckdb", "from latest_regressions")
    assert rows["quantity"].tolist() == ["none"] * 2
    assert set(rows["reason"].str.partition(";")[0]) == {"the round has landed with the regression 'income ~ region'"}


@pytest.mark.parametrize(("unit", "mean"), [(dates.DAYS, "2026-05-29"), (dates.INSTANTS, "2026-05-29 12:00 UTC")])
def test_a_mean_of_dates_is_a_date_and_a_difference_is_in_days(unit: str, mean: str) -> None:
    row = {"regression": "start", "formula": "start ~ region", "kind": "linear", "category": "", "unit": unit}
    intercept = {"quantity": "coefficient", "term": "intercept", "estimate": 20602.5, "low": 20600.0, "high": 20605.0}
    line = read_estimate(row | intercept)
    assert line.value == mean
    assert line.interval.startswith("2026-05-27")
    for quantity in ("coefficient", "effect"):
        later = {"quantity": quantity, "term": "region = south", "estimate": 3.04, "low": 1.0, "high": 5.1}
        assert read_estimate(row | later).value == "3.0 days"
