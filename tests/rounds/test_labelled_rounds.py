"""Rounds by label: what lands of each, what never does, and the population by weights."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

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
from dpcore.results.tables import comparisons
from dpcore.results.tables import round_tables as landing_tables
from dpcore.rounds import population_margins as known_totals
from dpcore.rounds.steps import estimation
from dpcore.rounds.steps.preparation import prepare
from dpcore.wire import write_reports
from tests.helpers import undrawn
from tests.helpers.kept_open import kept_open

pytestmark = pytest.mark.usefixtures("light_warehouses")

SCHEME = """name = "homes"
[attributes.income]
type = "categorical"
categories = ["low", "high"]
values = [40, 70]
functionals = ["mean"]
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
HOURS = """[attributes.hours]
type = "numeric"
lower = 0
upper = 100
epsilon = 4
estimator = "projection"
degree = 1
finest_level = 2
"""  # a curve, which rounds here do without: the check of its values takes longer than all the rest
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
OF_ALL = MARGINS + "region,north,50\nregion,south,49\nregion,west,1\nregion,east,0\n"


def people(west: int, n: int = 3_000) -> pd.DataFrame:
    random = np.random.default_rng(5)
    region = np.array(["north"] * (n // 2) + ["south"] * (n - n // 2 - west) + ["west"] * west)
    sex = random.choice(["f", "m"], n)
    income = np.where(sex == "f", "high", "low")
    return pd.DataFrame(
        {"income": income, "pet": random.choice(["cat", "dog", "none"], n), "region": region, "sex": sex}
    )


def landed(folder: Path, records: pd.DataFrame, margins: str = "") -> Path:
    (folder / "homes.toml").write_text(SCHEME)
    records.to_csv(folder / "homes.csv", index=False)
    (folder / "margins.csv").write_text(margins)
    given = {"records": folder / "homes.csv", "data": folder / "data", "round_": "r"}
    if margins:
        given["margins"] = folder / "margins.csv"
    return Path(undrawn.run(folder / "homes.toml", **given).plan.warehouse)


def tables(folder: Path, text: str, records: pd.DataFrame, margins: str) -> dict[str, pd.DataFrame]:
    """What would land of a round, without one; but for `checks`, which take longer than everything else."""
    scheme, file = dp.Scheme.from_toml(text), folder / "margins.csv"
    file.write_text(margins)
    aggregate = dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(1)))
    found = pipeline.estimate_all(aggregate, 50, known_totals.read(file, scheme))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landing_tables, "checks", lambda *_: pd.DataFrame())
        return landing_tables.tables_of(found) | {"comparisons": comparisons.between_groups(found, "r")}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round in which twenty people are of the west, who must not be told by others."""
    with kept_open():
        return landed(tmp_path_factory.mktemp("small"), people(west=20), OF_ALL)


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round that is weighted by sex."""
    with kept_open():
        return landed(tmp_path_factory.mktemp("weighted"), people(west=200), MARGINS)


def test_what_too_few_reports_say_stands_in_no_table(small: Path, tmp_path: Path) -> None:
    with warehouse.reader(small) as ask:
        found = {table: ask(f"from {table}") for table in NUMBERS}
        labels = ask("from labels where label = 'region' order by position")
    text = SCHEME.replace("[labels.region]", f"{HOURS}functionals = []\n[labels.region]")
    curves = tables(tmp_path, text, people(west=20).assign(hours=30), OF_ALL)
    for of, numbers in (("a round", found), ("curves", curves)):
        for table, column in NUMBERS.items():
            rows = numbers[table]
            assert len(rows) or of == "a round", table
            for hidden in ("region=west", "region=south"):  # south, too: everyone less north and south are west
                assert rows.loc[rows["given"] == hidden, column].isna().all(), (of, table, hidden)
        seen = {given for given in numbers["aggregates"]["given"] if given}
        assert seen == {"region=north", "sex=f", "sex=m"}, of
    assert labels["reports"].tolist()[0] == 1500
    assert labels["reports"][1:].isna().all()


def test_a_hidden_label_says_why(small: Path) -> None:
    why = warehouse.query(small, "select distinct reason from functionals where given = 'region=west'")["reason"]
    assert why.tolist() == ["fewer than 50 reports are in this group, or it would reveal such a group (min_clients)"]


def test_weights_that_would_tell_few_reports_are_refused(small: Path) -> None:
    rows = warehouse.query(small, "from functionals where given = 'weighted=region,sex'")
    assert len(rows)
    assert rows["estimate"].isna().all()
    assert rows["reason"].str.contains("would reveal a group of fewer than 50 reports").all()
    assert warehouse.query(small, "from weights").empty  # what weights cost would tell the count of a hidden category


@pytest.mark.usefixtures("plain_pages")
def test_the_population_is_estimated_by_its_known_totals(weighted: Path, tmp_path: Path) -> None:
    file = weighted
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
    assert "Weighted to the population totals of sex" in page
    assert "have the same distribution" in page


def test_a_round_that_lands_again_with_other_reports_shows_no_label(tmp_path: Path) -> None:
    scheme = dp.Scheme.from_toml(SCHEME)
    (tmp_path / "homes.toml").write_text(SCHEME)

    def sent(n: int) -> dp.Aggregate:
        batch = with_ids(dp.privatize(scheme, people(200).sample(n, random_state=n), dp.secure()), dp.secure())
        write_reports(tmp_path / "sent" / f"{n}.parquet", scheme, batch)
        return dp.aggregate(scheme, batch)

    def more(n: int) -> Path:
        sent(n)
        given = {"reports": tmp_path / "sent", "data": tmp_path / "data", "round_": "r", "again": n != 3_000}
        return Path(undrawn.run(tmp_path / "homes.toml", **given).plan.warehouse)

    shown = "select count(*) as n from latest_aggregates where given <> ''"
    assert warehouse.query(more(3_000), shown)["n"][0] > 0
    file = more(7)
    assert warehouse.query(file, shown)["n"][0] == 0
    why = warehouse.query(file, "select distinct reason from latest_functionals where given = 'sex=f'")["reason"]
    assert "landed with other reports" in why[0]
    for n in (
        3_000,
        2_000,
    ):  # the first's, which do not stand any more; and others that with them would tell what was hidden
        plan = SimpleNamespace(warehouse=file, round="r", run_id="another", min_clients=50)
        run = SimpleNamespace(plan=plan, scheme=scheme)
        assert "landed with other reports" in estimation._label_restriction(run, sent(n))  # type: ignore[arg-type]


def test_margins_that_are_none_are_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    for margins, message in (
        ("region,total\n", "has no column 'label' among its 2 columns"),
        ("label,category,total\nsex,f,many\nsex,m,3\n", "line 2: needs a label, a category and a number"),
        ("label,category,total\nsex,f,3\n", "lack m"),
        ("label,category,total\nage,old,3\n", "got 'age'; it has region, sex"),
        ("label,category,total\nsex,f,3\nsex,x,3\nsex,m,1\n", "no category 'x'"),
        (MARGINS + "region,north,5\nregion,south,4\nregion,west,1\nregion,east,0\n", "adds up to"),
    ):
        (tmp_path / "homes.toml").write_text(SCHEME)
        people(west=100, n=300).to_csv(tmp_path / "homes.csv", index=False)
        (tmp_path / "margins.csv").write_text(margins)
        given = {"records": tmp_path / "homes.csv", "data": tmp_path / "data", "margins": tmp_path / "margins.csv"}
        with pytest.raises(SchemeError, match=message):
            prepare(tmp_path / "homes.toml", round_="r", **given)
        assert not (tmp_path / "data" / "warehouse.duckdb").exists()


def test_reports_that_do_not_fit_the_margins_are_not_weighted(tmp_path: Path) -> None:
    margins = "label,category,total\nregion,north,50\nregion,south,30\nregion,west,10\nregion,east,10\n"
    found = tables(tmp_path, SCHEME, people(west=200), margins)
    rows = found["functionals"].set_index("given")
    assert rows.loc["", "estimate"] > 0
    assert rows.loc["region=west", "estimate"] > 0
    assert "no report is of region=east" in rows.loc["weighted=region", "reason"]
    assert "weights" not in found


def test_a_round_keeps_the_totals_that_it_was_weighted_by(weighted: Path) -> None:
    folder = weighted.parents[1]
    (folder / "others.csv").write_text("label,category,total\nsex,f,60\nsex,m,40\n")
    given = {"records": folder / "homes.csv", "data": folder / "data", "margins": folder / "others.csv"}
    with pytest.raises(SchemeError, match="was weighted by other totals before"):
        prepare(folder / "homes.toml", round_="r", **given)


def test_what_pairs_show_is_counted_with_labels() -> None:
    home = '[attributes.home]\ntype = "categorical"\ncategories = ["rural", "urban"]\nepsilon = 14\n'
    text = SCHEME.replace("[labels.region]", f"{HOURS}functionals = []\n{home}[labels.region]")
    scheme = dp.Scheme.from_toml(f'pairs = [["hours", "home"]]\n{text}')
    said = ["rural"] * 65 + ["urban"] * 435
    region = ["north"] * 60 + ["south"] * 440  # rural less north is five people
    records = {
        "income": ["low"] * 500,
        "hours": np.arange(500) / 5,
        "pet": ["cat"] * 500,
        "home": said,
        "region": region,
        "sex": ["f", "m"] * 250,
    }
    found = pipeline.estimate_all(dp.aggregate(scheme, dp.privatize(scheme, records, dp.seeded(1))), 50)
    assert ("pet", Group("region", "north")) in found.labelled
    assert ("hours", Group("region", "north")) not in found.labelled
