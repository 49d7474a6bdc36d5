"""Reports from elsewhere become files that rounds count as our own, whatever their order; what is none is refused in a line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.audit import audit_scheme, to_markdown
from dpcore.errors import DPCoreError, InvalidReport, SchemeError
from dpcore.results import warehouse
from dpcore.results.pages import publish
from dpcore.rounds.exchange.incoming_reports import receive
from tests.helpers import undrawn

pytestmark = pytest.mark.usefixtures("light_warehouses")

SCHEME = """
name = "survey"
[attributes.smoked]
type = "categorical"
categories = ["yes", "no"]
mechanism = "stated"
channel = [[3, 1, 1], [1, 3, 1]]
names = ["says yes", "says no", "shrugs"]
[attributes.browser]
type = "categorical"
categories = ["a", "b", "c"]
mechanism = "stated"
form = "rappor"
rates = { f = 0.25, p = 0.25, q = 0.75 }
[attributes.income]
type = "numeric"
lower = 0
upper = 8
mechanism = "stated"
form = "attribution_reporting"
rates = { rate = 0.25 }
cells = 4
[labels.region]
categories = ["north", "south"]
"""
REPEATED = {
    "smoked": ["says yes", "shrugs", "says no", "says yes"],
    "browser": ["100", "011", "000", "100"],
    "income": [3, 0, 1, 3],
    "region": ["south", "north", "north", "south"],
}


@pytest.fixture
def scheme() -> dp.Scheme:
    return dp.Scheme.from_toml(SCHEME)


def written(folder: Path, said: dict[str, list], name: str = "said.csv") -> Path:
    path, table = folder / name, pd.DataFrame(said)
    table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["said.csv", "said.parquet"])
def test_what_was_said_is_what_is_counted(scheme: dp.Scheme, tmp_path: Path, name: str) -> None:
    target = tmp_path / "reports" / "a.parquet"
    assert receive(scheme, written(tmp_path, REPEATED, name), target, sent_for="r1") == 4
    batch = wire.read_reports(target, scheme)
    aggregate = dp.aggregate(scheme, batch)
    assert aggregate.n == 4
    assert not aggregate.rejected
    assert aggregate.statistics["smoked"].tolist() == [2, 1]  # a shrug supports neither
    assert aggregate.statistics["browser"].tolist() == [2, 1, 1]
    assert aggregate.statistics["income"].tolist() == [1, 1, 0, 2]
    assert wire.read_stamp(target, scheme) == ("r1", 4)
    # Who said one thing said the other: a row stays together.
    yes = [tuple(batch.of(name).reports.values[i] for name in scheme.reported) for i in range(4)]
    assert yes == [(0, 1, 3, 1), (0, 1, 3, 1), (1, 0, 1, 0), (2, 6, 0, 0)]


def test_the_order_of_rows_is_forgotten_and_counts_stand_for_reports(scheme: dp.Scheme, tmp_path: Path) -> None:
    turned = {name: values[::-1] for name, values in REPEATED.items()}
    counted = {name: values[:3] for name, values in REPEATED.items()} | {"times": [2, 1, 1]}
    files = [tmp_path / f"{i}.parquet" for i in range(3)]
    receive(scheme, written(tmp_path, REPEATED, "one.csv"), files[0])
    receive(scheme, written(tmp_path, turned, "two.csv"), files[1])
    assert receive(scheme, written(tmp_path, counted, "three.csv"), files[2], count="times") == 4
    assert len({file.read_bytes() for file in files}) == 1


@pytest.mark.parametrize("with_a_curve", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_round_counts_them_and_lands(with_a_curve: bool, tmp_path: Path) -> None:
    income = SCHEME[SCHEME.index("[attributes.income]") : SCHEME.index("[labels")]
    text = SCHEME if with_a_curve else SCHEME.replace(income, "")
    scheme = dp.Scheme.from_toml(text)
    random, n = np.random.default_rng(1), 3000
    people = {
        "smoked": random.choice(["yes", "no"], n, p=[0.3, 0.7]),
        "browser": random.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
        "income": random.uniform(0, 8, n),
    }
    said = {"region": random.choice(["north", "south"], n)}
    for name, values in people.items():
        if name not in scheme.attributes:
            continue
        attribute = scheme.attributes[name]
        drawn = attribute.mechanism.privatize(attribute.encode(values), dp.seeded(2)).values.tolist()
        words = {"smoked": lambda z: ["says yes", "says no", "shrugs"][z], "browser": lambda z: f"{z:03b}"[::-1]}
        said[name] = [words.get(name, str)(z) for z in drawn]
    file = tmp_path / "survey.toml"
    file.write_text(text, encoding="utf-8")
    receive(scheme, written(tmp_path, said), tmp_path / "reports" / "a.parquet", sent_for="2026-11-20")
    given = {"reports": tmp_path / "reports", "data": tmp_path / "var", "min_clients": 50}
    run = undrawn.run(file, round_="2026-11-20", **given)
    rows = warehouse.query(Path(run.plan.warehouse), "select * from latest_frequencies where attribute = 'smoked'")
    yes = rows[rows["category"] == "yes"].iloc[0]
    assert yes["low"] < 0.3 < yes["high"]
    spent = warehouse.query(Path(run.plan.warehouse), "select * from budgets where attribute = 'browser'").iloc[0]
    assert spent["epsilon"] == pytest.approx(float(scheme.attributes["browser"].budget))


@pytest.mark.usefixtures("plain_pages")
def test_an_infinite_epsilon_lands_as_it_is(tmp_path: Path) -> None:
    text = (
        'name = "forced"\n[attributes.used]\ntype = "categorical"\ncategories = ["yes", "no"]\n'
        'form = "forced_response"\nrates = { yes = "1/6", no = 0 }\n'
    )
    file = tmp_path / "forced.toml"
    file.write_text(text, encoding="utf-8")
    said = written(tmp_path, {"used": ["yes", "no"], "n": [130, 270]})
    receive(dp.Scheme.from_toml(text), said, tmp_path / "reports" / "a.parquet", count="n")
    run = undrawn.run(file, reports=tmp_path / "reports", round_="r", data=tmp_path / "var", min_clients=50)
    found = warehouse.query(Path(run.plan.warehouse), "select * from budgets").iloc[0]
    assert (found["stated"], found["epsilon"]) == ("infinite", math.inf)
    composed = warehouse.query(Path(run.plan.warehouse), "select * from composed_budgets")
    assert composed["epsilon"].iloc[-1] == math.inf
    publish(run.plan.warehouse, tmp_path / "round.html")
    page = (tmp_path / "round.html").read_text(encoding="utf-8")
    assert "so the odds have no bound" in page
    assert "ε = ∞" in page
    assert "Other systems privatized the answers" in page
    assert "privatizes its own record" not in page
    audited = audit_scheme(dp.Scheme.from_toml(text))
    assert audited.holds
    assert "Nothing is promised for used: epsilon is infinite" in to_markdown([audited], "2026-11-24", "0")


def test_what_is_no_report_is_refused_without_being_shown(scheme: dp.Scheme, tmp_path: Path) -> None:
    for change, why in (
        ({"smoked": ["says yes", "maybe", "says no", "shrugs"]}, "column 'smoked', row 2: not an output"),
        ({"smoked": ["says yes", "", "says no", "shrugs"]}, "column 'smoked', row 2: empty"),
        ({"browser": ["100", "01", "000", "100"]}, "column 'browser', row 2: not an output"),
        ({"browser": ["100", "012", "000", "100"]}, "a text of 3 digits"),
        ({"income": [3, 4, 0, 0]}, "column 'income', row 2: not an output"),
        ({"region": ["west", "north", "north", "north"]}, "one of the scheme's categories"),
    ):
        with pytest.raises(DPCoreError, match=why) as refused:
            receive(scheme, written(tmp_path, REPEATED | change), tmp_path / "a.parquet")
        assert "maybe" not in str(refused.value), why
        assert not (tmp_path / "a.parquet").exists(), why


def test_what_cannot_be_received_is_refused(scheme: dp.Scheme, tmp_path: Path) -> None:
    file = written(tmp_path, REPEATED | {"n": [1, -1, 1, 1]})
    with pytest.raises(InvalidReport, match="column 'n', row 2: must be a whole number from 0 to 50,000,000"):
        receive(scheme, file, tmp_path / "a.parquet", count="n")
    with pytest.raises(InvalidReport, match=r"reports are written to a \.parquet file"):
        receive(scheme, file, tmp_path / "a.jsonl")
    with pytest.raises(InvalidReport, match="0 reports; a file needs"):
        receive(scheme, written(tmp_path, {name: [] for name in REPEATED}, "none.csv"), tmp_path / "a.parquet")
    ours = 'name = "s"\n[attributes.a]\ntype = "categorical"\ncategories = ["x", "y"]\nepsilon = 1\n'
    with pytest.raises(SchemeError, match="receive is for stated channels"):
        receive(dp.Scheme.from_toml(ours), file, tmp_path / "a.parquet")


def test_who_answers_one_unit_leaves_the_others_empty(tmp_path: Path) -> None:
    text = SCHEME.replace('name = "survey"', 'name = "survey"\nreporting = "one"').partition("[labels")[0]
    scheme = dp.Scheme.from_toml(text)
    said = {"smoked": ["shrugs", "", ""], "browser": ["", "001", ""], "income": ["", "", "2"]}
    receive(scheme, written(tmp_path, said), tmp_path / "a.parquet")
    aggregate = dp.aggregate(scheme, wire.read_reports(tmp_path / "a.parquet", scheme))
    assert (aggregate.n, dict(aggregate.rejected)) == (3, {})
    assert aggregate.statistics["browser"].tolist() == [0, 0, 1]


def test_outputs_are_spelled_as_files_spell_them(tmp_path: Path) -> None:
    scheme = dp.Scheme.from_toml(SCHEME)
    exactly, spelled = (tmp_path / name for name in ("a.parquet", "b.parquet"))
    receive(scheme, written(tmp_path, REPEATED | {"n": [1, 2, 3, 1]}), exactly, count="n")
    said = {"income": ["3.0", " 0", "1.00", "3"], "smoked": [" says yes", "shrugs\xa0", "says no", "says yes"]}
    receive(scheme, written(tmp_path, REPEATED | said | {"n": ["1.0", "2", " 3", "1"]}), spelled, count="n")
    sums = [dp.aggregate(scheme, wire.read_reports(path, scheme)).statistics for path in (exactly, spelled)]
    assert all(sums[0][name].tolist() == sums[1][name].tolist() for name in sums[0])


def test_codes_are_outputs_that_are_categories(tmp_path: Path) -> None:
    text = SCHEME.partition("[attributes.browser]")[0].replace('names = ["says yes", "says no", "shrugs"]\n', "")
    text = text.replace("[[3, 1, 1], [1, 3, 1]]", '[[3, 1], [1, 3]]\ncodes = { 1 = "yes", 0 = "no" }')
    scheme = dp.Scheme.from_toml(text)
    receive(scheme, written(tmp_path, {"smoked": [1, 0, 0]}), tmp_path / "a.parquet")
    assert dp.aggregate(scheme, wire.read_reports(tmp_path / "a.parquet", scheme)).statistics["smoked"].tolist() == [
        1,
        2,
    ]


def test_a_client_who_answers_two_units_is_refused(tmp_path: Path) -> None:
    text = SCHEME.replace('name = "survey"', 'name = "survey"\nreporting = "one"').partition("[labels")[0]
    said = {"smoked": ["shrugs", "shrugs", ""], "browser": ["", "001", ""], "income": ["", "", "2"]}
    with pytest.raises(InvalidReport, match=r"row 2: more than one attribute answered, as in 1 rows; with reporting"):
        receive(dp.Scheme.from_toml(text), written(tmp_path, said), tmp_path / "a.parquet")
