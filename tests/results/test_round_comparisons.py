"""A round beside the one before, and its groups, from steps to tables and what a person reads."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import populations
from dpcore.cli.round_summary import render
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.pipeline import estimate_all
from dpcore.populations import registry
from dpcore.results import plots, warehouse
from dpcore.results.tables import comparisons
from dpcore.results.tables.comparisons import CERTAINTY, between_rounds, drift_checks
from dpcore.results.tables.round_tables import tables_of
from dpcore.rounds.run import Run
from dpcore.rounds.steps import estimation, landing, preparation, sequence

SCHEME = """
name = "consumer_expenditure"
clients = 40_000
pairs = [["income", "urban_rural"]]
[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural", "at sea"]
epsilon = 2
[attributes.income]
type = "numeric"
unit = "USD"
lower = 0
upper = 250_000
degree = 1
finest_level = 3
level_rule = "fixed"
level = 3
epsilon = 2
functionals = ["mean", "cdf(50000)", "entropy"]
"""


def land_round(
    data: Path, round_: str, *, clients: int | None = None, seed: int | None = None, again: bool = False
) -> Run:
    file = data / "scheme.toml"
    file.write_text(SCHEME, encoding="utf-8")
    run = preparation.prepare(file, round_=round_, clients=clients, seed=seed, data=data, again=again)
    hands = sequence.Here()
    sequence.collect(run, hands)
    hands.one(estimation.estimate, run)
    hands.one(landing.land, run)
    return run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three landed rounds, in an order that is not theirs; the second has two runs."""
    path = tmp_path_factory.mktemp("rounds")
    for round_, clients in (("2026-11-01", None), ("2026-11-03", None), ("2026-11-02", None), ("2026-11-02", 30_000)):
        land_round(path, round_, clients=clients, again=clients is not None)
    return path


def ask(data: Path, sql: str) -> pd.DataFrame:
    return warehouse.query(data / "warehouse.duckdb", sql)


@pytest.mark.slow
def test_a_round_is_compared_with_the_newest_run_of_the_latest_earlier_round(data: Path) -> None:
    found = ask(
        data,
        "select distinct runs.round, runs.accepted, other.round as earlier, other.accepted as beside from comparisons "
        "join runs using (run_id) join runs as other on other.run_id = other_run_id "
        "where other_run_id <> run_id order by all",
    )
    assert found.values.tolist() == [
        ["2026-11-02", 30_000, "2026-11-01", 40_000],
        ["2026-11-02", 40_000, "2026-11-01", 40_000],
        ["2026-11-03", 40_000, "2026-11-02", 30_000],
    ]
    run = next(run for p in data.glob("runs/*/plan.json") if (run := Run.at(p.parent)).plan.round == "2026-11-03")
    landing.land(run)
    again = ask(
        data,
        "select distinct other_run_id, other_round from latest_comparisons where round = '2026-11-03' "
        "and other_run_id <> run_id",
    )
    newest = ask(data, "select run_id from latest_runs where round = '2026-11-02'")
    assert again.values.tolist() == [[newest["run_id"].iloc[0], "2026-11-02"]]
    said = render(Path(run.plan.warehouse), run.plan.run_id)
    moved, _, among = said.partition("change since round 2026-11-02")[2].partition("differences between groups")
    for quantity in ("share of urban", "share of rural", "share of at sea", "mean", "share at or below 50,000 USD"):
        assert re.search(rf"^(?: urban rural| income|) +{quantity}  .* to ", moved, re.M), quantity
    assert re.search(r"^ income +mean +urban − rural .* USD +.* to .* (yes|no|perhaps) *$", among, re.M)


@pytest.mark.slow
def test_the_difference_is_that_of_the_landed_estimates(data: Path) -> None:
    row = ask(
        data,
        "select difference, c.standard_error as error, c.low, c.high, f.estimate - g.estimate as wanted, "
        "sqrt(f.standard_error ** 2 + g.standard_error ** 2) as together from comparisons as c "
        "join functionals as f using (run_id, attribute, given, functional) join functionals as g "
        "on g.run_id = other_run_id and g.attribute = c.attribute and g.given = c.other_given "
        "and g.functional = c.functional where c.functional = 'mean' and c.run_id <> other_run_id and difference is not null",
    )
    assert len(row) == 9  # three landings of everyone, urban and rural; at sea nobody is
    assert row["difference"].tolist() == pytest.approx(row["wanted"].tolist())
    assert row["error"].tolist() == pytest.approx(row["together"].tolist())
    assert (row["low"] < row["difference"]).all()
    assert (row["difference"] < row["high"]).all()


@pytest.mark.slow
def test_shares_are_compared_as_they_were_before_they_were_made_possible(data: Path) -> None:
    rows = ask(
        data,
        "select difference, c.standard_error as error, c.low, c.high, f.raw - g.raw as wanted, f.raw, f.low > 0 as uncut, "
        "sqrt(f.standard_error ** 2 + g.standard_error ** 2) as together from comparisons as c "
        "join frequencies as f on f.run_id = c.run_id and 'frequency(' || f.category || ')' = c.functional "
        "join frequencies as g on g.run_id = c.other_run_id and g.category = f.category",
    )
    assert len(rows) == 9
    assert (rows["raw"] < 0).any()  # of a category that nobody is in
    assert rows["difference"].tolist() == pytest.approx(rows["wanted"].tolist())
    assert rows["error"].tolist() == pytest.approx(rows["together"].tolist())
    half = normal_quantile(0.95) * rows["error"]
    assert (rows["high"] - rows["difference"] > 0.999 * half).all()
    assert (rows["difference"] - rows["low"] > 0.999 * half).all()


@pytest.mark.slow
def test_groups_of_a_round_are_compared_with_one_another(data: Path) -> None:
    rows = ask(
        data,
        "select c.*, f.estimate - g.estimate as wanted, f.standard_error as a, g.standard_error as b "
        "from latest_comparisons as c "
        "join functionals as f on f.run_id = c.run_id and f.given = c.given and f.functional = c.functional "
        "join functionals as g on g.run_id = c.run_id and g.given = c.other_given and g.functional = c.functional "
        "where c.run_id = other_run_id and c.round = '2026-11-03' and difference is not null",
    )
    assert {(row.given, row.other_given) for row in rows.itertuples()} == {("urban_rural=urban", "urban_rural=rural")}
    assert {"mean", "cdf(50000)"} <= set(rows["functional"])
    assert rows["difference"].tolist() == pytest.approx(rows["wanted"].tolist())
    assert ((rows["correlation"] > -1) & (rows["correlation"] < -0.05)).all()
    together = np.sqrt(rows["a"] ** 2 + rows["b"] ** 2 - 2 * rows["correlation"] * rows["a"] * rows["b"])
    assert rows["standard_error"].tolist() == pytest.approx(together.tolist())


@pytest.mark.slow
def test_drift_is_checked_of_every_attribute_and_not_twice(data: Path) -> None:
    checks = ask(data, "select * from latest_checks where name like 'drift(%' and round > '2026-11-01' order by all")
    assert checks["name"].tolist() == ["drift(income)", "drift(urban_rural)"] * 2
    assert checks["passed"].all()
    assert not ask(data, "select 1 from latest_checks where name like 'drift(%' and round = '2026-11-01'").shape[0]
    rows = ask(data, "select * from latest_comparisons where round = '2026-11-03' and run_id <> other_run_id")
    shares = rows[rows["attribute"] == "urban_rural"]
    assert shares["threshold"].tolist() == pytest.approx([normal_quantile(CERTAINTY ** (1 / (2 * 3)))] * 3)
    last = checks.set_index(["round", "name"]).loc[("2026-11-03", "drift(urban_rural)")]
    assert last["observed"] == pytest.approx(shares["deviations"].max())
    assert last["threshold"] == pytest.approx(shares["threshold"].iloc[0])
    assert "of 3 differences from round 2026-11-0" in last["detail"]


@pytest.mark.slow
def test_a_round_of_other_people_has_drifted_and_says_so(
    data: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(data / "warehouse.duckdb", tmp_path)
    people = populations.by_scheme("consumer_expenditure")
    moved = replace(people, weights={"urban": 0.5, "rural": 0.5})
    monkeypatch.setattr(registry, "respondents_of", lambda *_: moved)
    run = land_round(tmp_path, "2026-11-09")
    checks = ask(tmp_path, "from latest_checks where round = '2026-11-09'").set_index("name")
    assert not checks.loc["drift(urban_rural)", "passed"]
    assert "2 of 3 differences" in checks.loc["drift(urban_rural)", "detail"]
    rows = ask(tmp_path, "from latest_comparisons where round = '2026-11-09'")
    assert set(rows.loc[rows["differs"].fillna(False) & (rows["attribute"] == "urban_rural"), "functional"]) == {
        "frequency(urban)",
        "frequency(rural)",
    }
    failed = ask(tmp_path, "select name from failed_checks where round = '2026-11-09'")
    assert "drift(urban_rural)" in failed["name"].tolist()
    page = (root / "data/guide/reference/questions.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## What has changed.*?(?=^## )", page, re.S | re.M)
    moved, divide, drifted = (ask(tmp_path, sql) for sql in re.findall(r"```sql\n(.*?)```", section, re.S))
    assert {"frequency(urban)", "frequency(rural)"} <= set(moved["functional"])
    assert set(moved["other_round"]) == {"2026-11-03"}
    assert set(divide["round"]) == {"2026-11-01", "2026-11-02", "2026-11-03", "2026-11-09"}
    assert drifted["name"].tolist().count("drift(urban_rural)") == 1
    said = render(Path(run.plan.warehouse), run.plan.run_id)
    assert "change since round 2026-11-03" in said
    assert any("share of rural" in line and line.rstrip().endswith("yes") for line in said.splitlines())
    assert any("share of at sea" in line and line.rstrip().endswith("no") for line in said.splitlines())
    assert "differences between groups" in said
    asked: dict[str, object] = {}
    monkeypatch.setattr(plots, "difference_pictures", lambda *_, **options: asked.update(options) or {})
    landing.draw(run, landing.land(run))
    assert asked == {"previous": "2026-11-03", "run_id": run.plan.run_id, "unit": "USD"}


@pytest.mark.slow
def test_rounds_simulated_with_one_seed_say_so(tmp_path: Path) -> None:
    for round_ in ("1", "2"):
        run = land_round(tmp_path, round_, seed=7, clients=5_000)
    assert "both rounds are simulated with seed 7: they have the same clients" in render(
        Path(run.plan.warehouse), run.plan.run_id
    )
    rows = ask(tmp_path, "from latest_comparisons where round = '2' and other_run_id <> run_id")
    assert len(rows)
    assert rows["reason"].str.contains("the same clients").any()
    assert rows["reason"].notna().all()
    assert ask(tmp_path, "select bool_and(passed) from checks where starts_with(name, 'drift(')").values.tolist() == [
        [True]
    ]


def test_a_refused_side_is_a_row_with_a_reason() -> None:
    now = pd.DataFrame(
        {
            "attribute": "income",
            "given": ["", "", "home=urban"],
            "functional": ["mean", "entropy", "mean"],
            "kind": "smooth",
            "estimate": [2.0, np.nan, 3.0],
            "plug_in": 2.0,
            "standard_error": [0.3, np.nan, 0.3],
            "confidence": 0.95,
            "low": [1.4, np.nan, 2.4],
            "high": [2.6, np.nan, 3.6],
            "reason": [None, "too noisy", None],
        }
    )
    found = between_rounds(now, now.iloc[[1, 0]].assign(run_id="b" * 16))
    assert found["functional"].tolist() == ["mean", "entropy"]
    assert found["difference"].isna().tolist() == [False, True]
    assert found["reason"].tolist()[1] == "this round: too noisy; the earlier round: too noisy"
    assert found["differs"].tolist() == [False, pd.NA]
    assert found[["deviations", "threshold"]].isna().all(axis=1).tolist() == [False, True]
    assert between_rounds(now, now.iloc[:0].assign(run_id="")).empty
    assert drift_checks(between_rounds(now, now.iloc[[1]].assign(run_id="b" * 16)), "1").empty


@pytest.mark.slow
def test_groups_land_with_their_truths_and_one_too_small_is_refused(data: Path) -> None:
    rows = ask(
        data, "select * from latest_functionals where round = '2026-11-03' and attribute = 'income' order by all"
    )
    assert set(rows["given"]) == {"", "urban_rural=urban", "urban_rural=rural", "urban_rural=at sea"}
    lost = rows[rows["given"] == "urban_rural=at sea"]
    assert len(lost) == 3
    assert lost["estimate"].isna().all()
    assert lost["reason"].str.contains("of the clients").all()
    means = rows[(rows["functional"] == "mean") & rows["estimate"].notna()].set_index("given")
    truths = ask(data, "select given, value from latest_truths where round = '2026-11-03' and quantity = 'mean'")
    for given, value in truths.set_index("given")["value"].items():
        assert abs(means.loc[given, "estimate"] - value) < 6 * means.loc[given, "standard_error"]
    assert set(truths["given"]) == {"", "urban_rural=urban", "urban_rural=rural"}
    assert means.loc["urban_rural=rural", "standard_error"] > 2 * means.loc["urban_rural=urban", "standard_error"]
    densities = ask(data, "select distinct given from latest_densities where round = '2026-11-03'")
    assert set(densities["given"]) == {"", "urban_rural=urban", "urban_rural=rural"}
    levels = ask(data, "select distinct given from latest_levels where round = '2026-11-03'")
    assert set(levels["given"]) == set(densities["given"])


def test_collected_rounds_are_counted_as_independent_and_say_so() -> None:
    before = pd.DataFrame({"seed": [None]})
    for source, seed, part in (("reports", None, "memoized"), ("records", None, None), ("simulated", 3, None)):
        remark = comparisons._remark(pd.DataFrame({"source": [source], "seed": [seed]}), before)
        assert (remark is None) if part is None else part in remark


def test_without_pairs_there_are_no_groups() -> None:
    text = SCHEME.replace('pairs = [["income", "urban_rural"]]', "")
    records = {"urban_rural": np.array(["urban", "rural"] * 2000), "income": np.linspace(0, 250_000, 4000)}
    scheme = dp.Scheme.from_toml(text)
    round_ = estimate_all(dp.simulate(scheme, records, random=dp.seeded(1)))
    assert round_.groups == ()
    assert not any(frame["given"].any() for frame in tables_of(round_).values() if "given" in frame)
