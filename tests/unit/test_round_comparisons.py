"""A round beside the one before, and its groups, from stages to tables and what a person reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import stages, warehouse
from dpcore.pipeline import estimate_all
from dpcore.tables import comparisons, summary, tables_of

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
epsilon = 2
functionals = ["mean", "cdf(50000)", "entropy"]
"""


def land_round(data: Path, round_: str, *, clients: int | None = None, seed: int | None = None) -> Path:
    file = data / "scheme.toml"
    file.write_text(SCHEME, encoding="utf-8")
    folder = stages.prepare(file, round_=round_, clients=clients, seed=seed, data=data)
    paths = [stages.privatize_shard(folder, shard) for shard in stages.shards(folder)]
    stages.merge(folder, [stages.aggregate_shard(folder, path) for path in paths])
    stages.estimate(folder)
    stages.compare(folder)
    stages.land(folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three landed rounds, in an order that is not theirs; the second has two runs."""
    path = tmp_path_factory.mktemp("rounds")
    for round_, clients in (("2026-11-01", None), ("2026-11-03", None), ("2026-11-02", None), ("2026-11-02", 30_000)):
        land_round(path, round_, clients=clients)
    return path


def ask(data: Path, sql: str) -> pd.DataFrame:
    return warehouse.query(data / "warehouse.duckdb", sql)


def test_a_round_is_compared_with_the_newest_run_of_the_latest_earlier_round(data: Path) -> None:
    found = ask(
        data,
        "select distinct runs.round, runs.accepted, other.round as earlier, other.accepted as beside from comparisons "
        "join runs using (run_id) join runs as other on other.run_id = other_run_id order by all",
    )
    assert found.values.tolist() == [
        ["2026-11-02", 30_000, "2026-11-01", 40_000],
        ["2026-11-02", 40_000, "2026-11-01", 40_000],
        ["2026-11-03", 40_000, "2026-11-01", 40_000],
    ]
    folder = next(p.parent for p in data.glob("runs/*/plan.json") if stages.plan_of(p.parent).round == "2026-11-03")
    assert stages.compare(folder) == "2026-11-02"  # landed since, by the newest of its runs
    stages.land(folder)
    again = ask(data, "select distinct other_run_id from latest_comparisons where round = '2026-11-03'")
    newest = ask(data, "select run_id from latest_runs where round = '2026-11-02'")
    assert again["other_run_id"].tolist() == newest["run_id"].tolist()
    round_, lines = stages.changes_of(folder)
    assert round_ == "2026-11-02"
    assert [(line.attribute, line.quantity, line.unit) for line in lines] == [
        ("income", "mean", "USD"),
        ("income", "cdf(50000)", ""),
        ("income", "entropy", ""),
    ]


def test_the_difference_is_that_of_the_landed_estimates(data: Path) -> None:
    row = ask(
        data,
        "select difference, c.standard_error as error, c.low, c.high, f.estimate - g.estimate as wanted, "
        "sqrt(f.standard_error ** 2 + g.standard_error ** 2) as together from comparisons as c "
        "join functionals as f using (run_id, attribute, functional) join functionals as g on g.run_id = other_run_id "
        "and g.attribute = c.attribute and g.functional = c.functional "
        "where c.functional = 'mean' and f.given = '' and g.given = '' limit 1",
    ).iloc[0]
    assert row["difference"] == pytest.approx(row["wanted"])
    assert row["error"] == pytest.approx(row["together"])
    assert row["low"] < row["difference"] < row["high"]


def test_rounds_simulated_with_one_seed_say_so(tmp_path: Path) -> None:
    for round_ in ("1", "2"):
        folder = land_round(tmp_path, round_, seed=7, clients=5_000)
    _, lines = stages.changes_of(folder)
    assert all(line.reason for line in lines)
    assert any("the same people" in line.reason for line in lines)


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
    found = comparisons(now, now.iloc[[1, 0]].assign(run_id="b" * 16))
    assert found["functional"].tolist() == ["mean", "entropy"]
    assert found["difference"].isna().tolist() == [False, True]
    assert found["reason"].tolist()[1] == "this round: too noisy; the earlier round: too noisy"
    assert comparisons(now, now.iloc[:0].assign(run_id="")).empty


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


def test_without_pairs_there_are_no_groups() -> None:
    text = SCHEME.replace('pairs = [["income", "urban_rural"]]', "")
    records = {"urban_rural": np.array(["urban", "rural"] * 2000), "income": np.linspace(0, 250_000, 4000)}
    scheme = dp.Scheme.from_toml(text)
    round_ = estimate_all(dp.simulate(scheme, records, random=dp.seeded(1)))
    assert round_.groups == ()
    lines = summary(tables_of(round_), scheme)
    assert not any("|" in line.quantity for line in lines)
