"""Rounds by label: what lands of each, what never does, and the population by weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.errors import SchemeError
from dpcore.functionals.group import Group
from dpcore.protocol.report import with_ids
from dpcore.results import warehouse
from dpcore.results.pages import publish
from dpcore.rounds import sequence
from dpcore.rounds.preparing import prepare
from dpcore.rounds.settings import Round
from dpcore.wire import write_reports

SCHEME = """name = "homes"
functionals = ["mean"]
[attributes.income]
type = "numeric"
lower = 0
upper = 100
epsilon = 4
[attributes.pet]
type = "categorical"
categories = ["cat", "dog", "none"]
epsilon = 4
[labels.region]
categories = ["north", "south", "west", "east"]
[labels.sex]
categories = ["f", "m"]
"""
NUMBERS = {
    "aggregates": "value",
    "frequencies": "estimate",
    "densities": "density",
    "functionals": "estimate",
    "sensitivities": "sensitivity",
    "comparisons": "difference",
    "levels": "statistic",
}
MARGINS = "label,category,total\nsex,f,70\nsex,m,30\n"


def people(west: int, n: int = 3_000) -> pd.DataFrame:
    random = np.random.default_rng(5)
    region = np.array(["north"] * (n // 2) + ["south"] * (n - n // 2 - west) + ["west"] * west)
    sex = random.choice(["f", "m"], n)
    income = np.where(sex == "f", 60, 30) + random.random(n) * 20
    return pd.DataFrame(
        {"income": income, "pet": random.choice(["cat", "dog", "none"], n), "region": region, "sex": sex}
    )


def landed(folder: Path, records: pd.DataFrame, margins: str = "") -> Path:
    (folder / "homes.toml").write_text(SCHEME)
    records.to_csv(folder / "homes.csv", index=False)
    (folder / "margins.csv").write_text(margins)
    told = Round(
        records=folder / "homes.csv", data=folder / "data", margins=folder / "margins.csv" if margins else None
    )
    run = prepare(
        folder / "homes.toml", round_="r", **{key: getattr(told, key) for key in ("records", "data", "margins")}
    )
    sequence.carry_out(run, sequence.Here())
    return Path(run.plan.warehouse)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return landed(
        tmp_path_factory.mktemp("small"),
        people(west=20),
        MARGINS + "region,north,50\nregion,south,49\nregion,west,1\nregion,east,0\n",
    )


def test_what_too_few_reports_say_stands_in_no_table(small: Path) -> None:
    for table, column in NUMBERS.items():
        for hidden in ("region=west", "region=south"):  # south, too: everyone less north and south are west
            rows = warehouse.query(small, f"select {column} as number from {table} where given = '{hidden}'")
            assert rows["number"].isna().all(), (table, hidden)
    seen = warehouse.query(small, "select distinct given from aggregates where given <> ''")["given"]
    assert set(seen) == {"region=north", "sex=f", "sex=m"}
    labels = warehouse.query(small, "from labels where label = 'region' order by position")
    assert labels["reports"].tolist()[0] == 1500
    assert labels["reports"][1:].isna().all()


def test_a_hidden_label_says_why(small: Path) -> None:
    why = warehouse.query(small, "select distinct reason from functionals where given = 'region=west'")["reason"]
    assert why.tolist() == ["fewer than 50 reports are of this group, or would be told by it (min_clients)"]


def test_weights_that_would_tell_few_reports_are_refused(small: Path) -> None:
    rows = warehouse.query(small, "from functionals where given = 'weighted=region,sex'")
    assert len(rows)
    assert rows["estimate"].isna().all()
    assert rows["reason"].str.contains("would tell what fewer than 50 reports say").all()
    assert warehouse.query(small, "from weights").empty  # what weights cost would tell the count of a hidden category


def test_the_population_is_estimated_by_its_known_totals(tmp_path: Path) -> None:
    file = landed(tmp_path, people(west=200), MARGINS)
    rows = warehouse.query(file, "from functionals where functional = 'mean' order by given").set_index("given")
    for given, true in (("", 55), ("weighted=sex", 61), ("sex=f", 70)):  # reports are drawn anew each time
        assert abs(rows.loc[given, "estimate"] - true) < 6 * rows.loc[given, "standard_error"] + 1
    (weights,) = warehouse.query(file, "from weights where attribute = 'income'").to_dict("records")
    assert weights["reports"] == 3_000
    assert weights["design_effect"] == pytest.approx(weights["reports"] / weights["effective_n"], rel=0.01)
    assert 1.1 < weights["design_effect"] < 1.3
    known = warehouse.query(file, "select category, population from labels where label = 'sex' order by position")
    assert known["population"].tolist() == pytest.approx([0.7, 0.3])
    publish(file, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "weighted by sex" in page
    assert "like those who did not" in page


def test_a_round_that_lands_again_with_other_reports_shows_no_label(tmp_path: Path) -> None:
    scheme = dp.Scheme.from_toml(SCHEME)
    (tmp_path / "homes.toml").write_text(SCHEME)
    told = {"reports": tmp_path / "sent", "data": tmp_path / "data", "round_": "r"}

    def more(n: int) -> Path:
        batch = with_ids(dp.privatize(scheme, people(200).sample(n, random_state=n), dp.secure()), dp.secure())
        write_reports(tmp_path / "sent" / f"{n}.parquet", scheme, batch)
        run = prepare(tmp_path / "homes.toml", again=n != 3_000, **told)
        sequence.carry_out(run, sequence.Here())
        return Path(run.plan.warehouse)

    (tmp_path / "sent").mkdir()
    shown = "select count(*) as n from latest_aggregates where given <> ''"
    assert warehouse.query(more(3_000), shown)["n"][0] > 0
    assert warehouse.query(more(7), shown)["n"][0] == 0
    why = warehouse.query(more(8), "select distinct reason from latest_functionals where given = 'sex=f'")["reason"]
    assert "landed before, of other reports" in why[0]
    assert warehouse.query(more(2_000), shown)["n"][0] == 0  # with what was hidden before, more would tell it too


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ("region,total\n", "must begin with the line label,category,total"),
        ("label,category,total\nsex,f,many\nsex,m,3\n", "line 2: expected a label, a category and a number"),
        ("label,category,total\nsex,f,3\n", "lack m"),
        ("label,category,total\nage,old,3\n", "got 'age'; it has region, sex"),
        ("label,category,total\nsex,f,3\nsex,x,3\nsex,m,1\n", "no category 'x'"),
        (MARGINS + "region,north,5\nregion,south,4\nregion,west,1\nregion,east,0\n", "adds up to"),
    ],
)
def test_margins_that_are_none_are_refused_before_anybody_is_asked(tmp_path: Path, margins: str, message: str) -> None:
    with pytest.raises(SchemeError, match=message):
        landed(tmp_path, people(west=200), margins)
    assert not (tmp_path / "data" / "warehouse.duckdb").exists()


def test_a_round_whose_reports_do_not_fit_the_margins_lands_without_weights(tmp_path: Path) -> None:
    margins = "label,category,total\nregion,north,50\nregion,south,30\nregion,west,10\nregion,east,10\n"
    file = landed(tmp_path, people(west=200), margins)
    rows = warehouse.query(file, "from functionals where functional = 'mean'").set_index("given")
    assert rows.loc["", "estimate"] > 0
    assert rows.loc["region=west", "estimate"] > 0
    assert "no report is of region=east" in rows.loc["weighted=region", "reason"]
    assert warehouse.query(file, "from weights").empty


def test_a_round_keeps_the_totals_that_it_was_weighted_by(tmp_path: Path) -> None:
    landed(tmp_path, people(west=200), MARGINS)
    with pytest.raises(SchemeError, match="was weighted by other totals before"):
        landed(tmp_path, people(west=200), "label,category,total\nsex,f,60\nsex,m,40\n")


def test_what_pairs_show_is_counted_with_labels() -> None:
    text = SCHEME.replace("functionals", 'pairs = [["income", "home"]]\nfunctionals', 1)
    home = '[attributes.home]\ntype = "categorical"\ncategories = ["rural", "urban"]\nepsilon = 14\n'
    scheme = dp.Scheme.from_toml(text.replace("[labels.region]", f"{home}[labels.region]"))
    said = ["rural"] * 65 + ["urban"] * 435
    region = ["north"] * 60 + ["south"] * 440  # rural less north is five people
    records = {
        "income": np.arange(500) / 5,
        "pet": ["cat"] * 500,
        "home": said,
        "region": region,
        "sex": ["f", "m"] * 250,
    }
    found = pipeline.estimate_all(dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(1))), 50)
    assert ("pet", Group("region", "north")) in found.labelled
    assert ("income", Group("region", "north")) not in found.labelled
