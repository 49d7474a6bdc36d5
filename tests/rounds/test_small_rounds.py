"""Few people, people who play, and rehearsals: what of them may be seen, and where."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import cli, pipeline
from dpcore.errors import AlreadyLanded, NotEstimable, SchemeError, TooFewClients, WarehouseError
from dpcore.estimation import groups
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.results.pages.content import find
from dpcore.results.tables import round_tables
from dpcore.rounds import defaults
from dpcore.rounds.run import Run, newest
from dpcore.rounds.steps import landing, preparation, privatization, sequence
from tests.helpers import undrawn
from tests.helpers.schemes import QUESTION as SCHEME

pytestmark = pytest.mark.usefixtures("light_warehouses", "fresh")  # where the rounds of a test land

SEED = 987_654_321_012_345


@pytest.fixture
def scheme(tmp_path: Path) -> Path:
    path = tmp_path / "scheme.toml"
    path.write_text(SCHEME, encoding="utf-8")
    return path


def people(folder: Path, n: int) -> Path:
    path = folder / f"people-{n}.parquet"
    pd.DataFrame({"urban_rural": np.where(np.arange(n) % 3 == 0, "rural", "urban")}).to_parquet(path)
    return path


def ask(data: Path, sql: str) -> list[list[object]]:
    return warehouse.query(data / "warehouse.duckdb", sql).values.tolist()


def test_a_single_persons_round_waits_and_nobody_is_privatized(scheme: Path, tmp_path: Path) -> None:
    with pytest.raises(TooFewClients, match="held back with 1 clients, 50 are needed"):
        undrawn.run(scheme, records=people(tmp_path, 1), round_="r", data=tmp_path)
    assert ask(tmp_path, "select state, clients from runs") == [["waiting", 1]]
    assert ask(tmp_path, "from aggregates") == ask(tmp_path, "from drawings") == []
    assert not list(tmp_path.glob("runs/*/reports"))
    undrawn.run(scheme, records=people(tmp_path, defaults.MIN_CLIENTS), round_="r", data=tmp_path)
    assert ask(tmp_path, "select state, accepted from runs") == [["landed", 50]]


def test_so_does_one_in_which_one_question_was_answered_by_few(tmp_path: Path) -> None:
    colour = '[attributes.colour]\ntype = "categorical"\ncategories = ["red", "blue"]\nepsilon = 1\n'
    scheme = tmp_path / "scheme.toml"
    scheme.write_text(SCHEME.replace("clients", 'reporting = "one"\nclients') + colour, encoding="utf-8")
    file = tmp_path / "people.parquet"
    pd.DataFrame({"urban_rural": ["urban"] * 80, "colour": ["red"] * 80}).to_parquet(file)
    with pytest.raises(TooFewClients, match=r"held back with \d+ clients for (urban_rural|colour), 50 are needed"):
        undrawn.run(scheme, records=file, round_="r", data=tmp_path)
    assert ask(tmp_path, "from aggregates") == []


CURVE = """name = "small"
pairs = [["height", "side"]]
[attributes.side]
type = "categorical"
categories = ["left", "right"]
epsilon = "ln 3"
[attributes.height]
type = "numeric"
lower = 0.5
upper = 2.5
estimator = "projection"
degree = 1
finest_level = 2
functionals = ["cdf(1.5)"]
epsilon = 1
"""


@pytest.mark.parametrize("right", [0, 1, 60])
def test_groups_of_few_are_withheld_with_the_others_that_would_tell_them(
    right: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two groups and their sum any two tell the third; without a promise here, so that as many say it as there are."""
    n, scheme = 400, Scheme.from_toml(CURVE)
    people = {"side": ["right"] * right + ["left"] * (n - right), "height": np.linspace(0.5, 2.5, n)}
    aggregate = dp.aggregate(scheme, dp.privatize(scheme, people, random=dp.seeded(1)))
    counts = np.array([n - right, right])
    table = aggregate.pairs["height", "side"]
    told = {name: counts if name == "side" else values for name, values in aggregate.statistics.items()}
    aggregate = type(aggregate)(scheme, n, told, {("height", "side"): table}, aggregate.answered)
    round_ = pipeline.estimate_all(aggregate, 50)
    monkeypatch.setattr(round_tables, "checks", lambda *_: pd.DataFrame())  # which take longer than everything else
    given = round_tables.tables_of(round_)["aggregates"]["given"]
    assert set(given) == ({""} if right == 1 else {"", "side=left", "side=right"})
    [group] = [group for group in round_.groups if group.given == "side=right"]
    if right < 50:
        assert group.estimate is None
        reasons = {found.reason for found in group.functionals}
        assert reasons == {
            f"{right} reports name this group or one beside it, which needs 50 (min_clients); collect more"
        }
    if right == 1:  # everyone's numbers and all groups' but one tell that one's
        assert all(group.estimate is None for group in round_.groups)
    assert groups.is_withheld(aggregate, "side", 50) == (right == 1)
    assert not groups.is_withheld(aggregate, "side", 0)
    assert round_.withheld == (frozenset({("height", "side")}) if right == 1 else frozenset())


def test_who_plays_has_a_round_of_their_own_that_is_never_the_days(scheme: Path, tmp_path: Path) -> None:
    undrawn.run(scheme, clients=3, data=tmp_path)  # nobody is there to protect
    undrawn.run(scheme, seed=7, data=tmp_path)
    scheme.write_text(SCHEME.replace("epsilon = 2", "epsilon = 3"), encoding="utf-8")
    undrawn.run(scheme, clients=3, data=tmp_path)  # a scheme that is being written is tried again and again
    undrawn.run(scheme, round_="2026-11-20", data=tmp_path)
    assert ask(tmp_path, "select round, accepted, trial from latest_runs order by round") == [
        ["0-trial-3", 3, True],
        ["0-trial-seed-7", 900, True],
        ["2026-11-20", 900, False],
    ]
    assert ask(tmp_path, "from latest_comparisons") == []
    assert ask(tmp_path, "select round, fresh from composed_budgets where attribute = ''") == [["2026-11-20", 3.0]]
    assert ask(tmp_path, "select distinct rounds, first_round from pooled_estimates") == [[1, "2026-11-20"]]
    [[run]] = ask(tmp_path, "select run_id from latest_runs where round = '2026-11-20'")
    with warehouse.reader(tmp_path / "warehouse.duckdb") as reads:
        assert find(reads, None, None) == run  # of which a page is written
    with pytest.raises(AlreadyLanded, match=r"already landed .* replace the current run with --again"):
        undrawn.run(scheme, clients=3, round_="2026-11-20", data=tmp_path)


def test_a_round_of_far_fewer_reports_than_before_is_told(scheme: Path, tmp_path: Path) -> None:
    simulated = landing.row_of(preparation.prepare(scheme, round_="r", data=tmp_path))
    for day, clients in enumerate((800, 900, 400), 1):
        own = {
            "run_id": f"{day:016x}",
            "round": f"2026-11-0{day}",
            "clients": clients,
            "accepted": clients,
            "rejected": 0,
        }
        row = replace(simulated, **own)
        warehouse.land(tmp_path / "warehouse.duckdb", warehouse.Landing(row, {}))
    found = ask(tmp_path, "select round, passed, detail from latest_checks where name = 'clients' order by round")
    assert found == [
        ["2026-11-02", True, "900 reports; 800 in the previous round"],
        ["2026-11-03", False, "400 reports; median 850 in the previous 2 rounds"],
    ]


def test_a_rehearsal_lands_in_its_own_folder_and_its_seed_nowhere(
    scheme: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "warehouse.duckdb").unlink()
    monkeypatch.setattr(landing, "draw", lambda _run, _compared: [])
    cli.run(scheme, records=people(tmp_path, 100), seed=SEED, round_="r", data=tmp_path)
    said = capsys.readouterr().out
    assert "DRY RUN: real records under a known seed are not private" in said
    assert str(SEED) not in said
    assert not (tmp_path / "warehouse.duckdb").exists()
    [folder] = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "plan.json").read_text())["seed"] is None
    assert not [path for path in folder.rglob("*.duckdb") if path.stat().st_mode & 0o077]
    own = warehouse.query(folder / "rehearsal.duckdb", "select round, randomness, seed from latest_runs")
    assert own.astype(object).where(own.notna(), None).values.tolist() == [["r", "seeded", None]]
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        content = file.read_bytes()
        for form in (str(SEED).encode(), SEED.to_bytes(8, "little"), SEED.to_bytes(8, "big")):
            assert form not in content, file
    # The round itself is free.
    real = preparation.prepare(scheme, records=people(tmp_path, 100), round_="r", data=tmp_path)
    sequence.collect(real, sequence.Here())
    assert (landing.row_of(real).randomness, real.plan.is_rehearsal) == ("secure", False)
    assert ask(tmp_path, "select distinct drawing from drawings") == [[real.plan.run_id]] != [[folder.name]]
    later = preparation.prepare(scheme, records=people(tmp_path, 100), seed=SEED, round_="r", data=tmp_path)
    sequence.collect(later, sequence.Here())  # newer than the round itself
    assert newest(Scheme.from_toml(scheme), "r", tmp_path) == real
    assert len(list((tmp_path / "runs").iterdir())) == 3  # no two rehearsals of one seed have a name
    with pytest.raises(SchemeError, match="only a dry run has a seed"):  # neither a flow nor a retry
        privatization.privatize_records(Run.at(folder))


@pytest.mark.parametrize(
    "elsewhere", [{"warehouse": Path("w.duckdb")}, {"data": Path("memory://r"), "warehouse": Path("w")}]
)
def test_a_rehearsal_lands_nowhere_else(scheme: Path, tmp_path: Path, elsewhere: dict[str, Path]) -> None:
    with pytest.raises(SchemeError, match="a dry run on real records lands in its own local folder"):
        undrawn.run(scheme, records=people(tmp_path, 100), seed=1, **({"data": tmp_path} | elsewhere))
    assert not list(tmp_path.glob("runs/*"))


def test_a_rehearsal_of_an_older_version_lands_no_more(
    answered: Path, moved: Callable[[Path], Path], tmp_path: Path
) -> None:
    """Its plan has the seed; neither that nor a row of its own gets it into a warehouse."""
    data = moved(answered)
    [folder] = (data / "runs").iterdir()
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps(plan | {"seed": 7, "is_rehearsal": False}))
    assert Run.at(folder).plan.is_rehearsal
    with pytest.raises(NotEstimable):
        newest(Run.at(folder).scheme, "r", data)
    with pytest.raises(WarehouseError, match=r"a dry run on real records lands in its own rehearsal.duckdb"):
        landing.land(Run.at(folder))
    row = landing.row_of(Run.at(folder))
    for name in ("another-rehearsal.duckdb", "rehearsal.duckdb.copy"):
        with pytest.raises(WarehouseError, match="lands in its own"):
            warehouse.land(tmp_path / name, warehouse.Landing(row, {}))


def test_a_round_is_refused_the_name_of_a_trial(scheme: Path, tmp_path: Path) -> None:
    for given in ({"records": people(tmp_path, 100)}, {"clients": 3}, {}):
        with pytest.raises(SchemeError, match="names that begin with 0-trial are reserved for trials"):
            undrawn.run(scheme, round_="0-trial-500", data=tmp_path, **given)
    own = preparation.prepare(scheme, clients=500, round_="0-trial-500", data=tmp_path)
    assert (own.plan.round, own.plan.is_trial, landing.row_of(own).trial) == ("0-trial-500", True, True)


def test_a_round_is_refused_a_name_that_is_none(scheme: Path, tmp_path: Path) -> None:
    for name in ("", "../../x", "..\\x", "a/b"):
        with pytest.raises(SchemeError, match="the name needs 1 to 64 characters without /"):
            undrawn.run(scheme, round_=name, data=tmp_path)


def test_no_rehearsal_is_of_reports_or_a_flows(scheme: Path, tmp_path: Path) -> None:
    for given in ({"reports": tmp_path}, {"records": people(tmp_path, 100), "flow_run_id": "7"}):
        with pytest.raises(SchemeError, match="only for simulated clients, or for a dry run"):
            preparation.prepare(scheme, seed=1, data=tmp_path, **given)
