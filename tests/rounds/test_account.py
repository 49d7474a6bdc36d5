"""What people are charged and when, by rounds of records and of reports: before anything is drawn, and once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import cli, wire
from dpcore._random import seeded
from dpcore.errors import AlreadyLanded, InvalidRecord, TooFewClients, WarehouseError
from dpcore.pipeline import privatize
from dpcore.protocol.report import with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.results import pages, warehouse
from dpcore.rounds.run import Run
from dpcore.rounds.steps import landing, preparation, privatization
from tests.helpers import undrawn
from tests.helpers.schemes import QUESTION as SCHEME

pytestmark = pytest.mark.usefixtures("light_warehouses", "fresh")  # where the rounds of a test land

DAYS = ("2026-11-17", "2026-11-18", "2026-11-19", "2026-11-20")


@pytest.fixture
def scheme(tmp_path: Path) -> Path:
    path = tmp_path / "scheme.toml"
    path.write_text(SCHEME, encoding="utf-8")
    return path


def answers(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 3 == 0, "rural", "urban")


def records(folder: Path, n: int = 100) -> Path:
    path = folder / f"people-{n}.parquet"
    pd.DataFrame({"urban_rural": answers(n)}).to_parquet(path)
    return path


def send(folder: Path, name: str, n: int = 60, sent_for: str = "") -> None:
    scheme, own = Scheme.from_toml(SCHEME), sum(map(ord, name))
    batch = with_ids(privatize(scheme, {"urban_rural": answers(n)}, seeded(own)), seeded((own, 1)))
    wire.write_reports(folder / "in" / f"{name}.parquet", scheme, batch, sent_for)


def ask(data: Path, sql: str) -> list[list[object]]:
    return warehouse.query(data / "warehouse.duckdb", sql).values.tolist()


def spent(data: Path) -> dict[object, object]:
    return dict(ask(data, "select round, fresh from composed_budgets where attribute = ''"))


def test_records_are_charged_before_the_first_of_them_is_privatized(
    scheme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        assert ask(tmp_path, "select distinct round, epsilon from drawings") == [["r", 2.0]]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(privatization, "privatize", killed)
        with pytest.raises(KeyboardInterrupt):
            undrawn.run(scheme, records=records(tmp_path), round_="r", data=tmp_path)
    run = preparation.prepare(scheme, records=records(tmp_path), round_="r", data=tmp_path)
    assert len(privatization.privatize_records(run)) == 1
    rows = ask(
        tmp_path, "select drawings, fresh, memoized_least, memoized_most from composed_budgets where attribute = ''"
    )
    assert rows == [[2, 4.0, 4.0, 4.0]]  # nobody has a key where records are privatized


def test_delta_is_charged_of_every_attribute_and_of_the_whole(scheme: Path, tmp_path: Path) -> None:
    for name, delta in (("x", 1), ("y", 3)):
        with scheme.open("a", encoding="utf-8") as text:
            text.write(f'[attributes.{name}]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\ndegree = 1\n')
            text.write(f'finest_level = 2\ncells = 64\nnoise = "discrete_gaussian"\ndelta = {delta}e-6\n')
            text.write('mechanism = "wavelet_laplace"\n')
    pd.DataFrame({"urban_rural": answers(9), "x": 0.5, "y": 0.5}).to_parquet(tmp_path / "people.parquet")
    run = preparation.prepare(scheme, records=tmp_path / "people.parquet", round_="r", data=tmp_path)
    privatization.charge(run, {run.plan.run_id: "r"})
    charged = dict(ask(tmp_path, "select attribute, delta from drawings"))
    assert charged == pytest.approx({"": 4e-6, "urban_rural": 0, "x": 1e-6, "y": 3e-6})


def test_a_bad_record_is_found_before_anybody_is_charged(scheme: Path, tmp_path: Path) -> None:
    pd.DataFrame({"urban_rural": [*answers(99), "suburban"]}).to_parquet(tmp_path / "people.parquet")
    run = preparation.prepare(scheme, records=tmp_path / "people.parquet", round_="r", data=tmp_path)
    with pytest.raises(InvalidRecord, match="urban_rural"):
        privatization.privatize_records(run)
    assert not (run.folder / "reports").exists()
    assert ask(tmp_path, "from drawings") == []


def test_reports_are_charged_when_a_round_first_sees_them_to_the_round_they_were_drawn_for(
    scheme: Path, tmp_path: Path
) -> None:
    send(tmp_path, "few", 20, DAYS[0])
    with pytest.raises(TooFewClients):
        undrawn.run(scheme, reports=tmp_path / "in", round_=DAYS[0], data=tmp_path)
    assert spent(tmp_path) == {DAYS[0]: 2.0}
    send(tmp_path, "more", 60, DAYS[1])
    preparation.prepare(scheme, reports=tmp_path / "in", round_=DAYS[1], data=tmp_path)
    assert spent(tmp_path) == {DAYS[0]: 2.0, DAYS[1]: 4.0}
    charged = ask(tmp_path, "select round, count(*) from drawings where attribute = '' group by all order by all")
    assert charged == [[DAYS[0], 1], [DAYS[1], 1]]


@pytest.mark.usefixtures("plain_pages")
def test_a_round_of_nothing_but_late_reports_has_the_account_of_all_before_it(scheme: Path, tmp_path: Path) -> None:
    for day in DAYS[:2]:
        send(tmp_path, day, sent_for=day)
        preparation.prepare(scheme, reports=tmp_path / "in", round_=day, data=tmp_path)
    send(tmp_path, "late", sent_for=DAYS[1])
    undrawn.run(scheme, reports=tmp_path / "in", round_=DAYS[2], data=tmp_path)
    assert spent(tmp_path) == dict(zip(DAYS[:3], [2.0, 4.0, 4.0], strict=True))
    pages.publish(tmp_path / "warehouse.duckdb", tmp_path / "page.html", round_=DAYS[2])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "In 2 rounds of this scheme since 2026-11-17, clients were asked 2 times. A client who answered" in page
    assert "answered every time has spent ε = 4" in page


def test_a_charge_that_stands_is_not_written_anew(fresh: Path) -> None:
    row = {
        "scheme": "s",
        "scheme_digest": "d",
        "source": "reports",
        "drawing": "f",
        "attribute": "",
        "delta": 0.0,
        "states": 2,
    }
    for round_ in DAYS[:2]:
        warehouse.charge(fresh, pd.DataFrame([row | {"round": round_, "epsilon": 1.0}]))
    assert warehouse.query(fresh, "select round from drawings").values.tolist() == [[DAYS[0]]]


def test_what_waits_is_not_estimated_either(scheme: Path, tmp_path: Path) -> None:
    send(tmp_path, "one", 1)
    for carry_out in (
        lambda: cli.collect(scheme, tmp_path / "in", round_="r", data=tmp_path),
        lambda: cli.estimate(scheme, "r", data=tmp_path),
    ):
        with pytest.raises(TooFewClients, match="held back with 1 clients, 50 are needed"):
            carry_out()
    assert ask(tmp_path, "select state from runs") == [["waiting"]]
    assert ask(tmp_path, "from aggregates") == []


def test_a_round_for_which_nothing_came_says_so(scheme: Path, tmp_path: Path) -> None:
    send(tmp_path, "later", sent_for=DAYS[1])
    with pytest.raises(
        TooFewClients, match="holds no reports for round 2026-11-17: of its 1 files other rounds have counted 0"
    ):
        undrawn.run(scheme, reports=tmp_path / "in", round_=DAYS[0], data=tmp_path)


def test_again_is_said_once(answered: Path, moved: Callable[[Path], Path]) -> None:
    """Who estimates a run that was replaced does not take the round back; nor does who simulates once more, unseen."""
    data = moved(answered)
    scheme = data / "scheme.toml"
    scheme.write_text(SCHEME.replace("epsilon = 2", "epsilon = 1"), encoding="utf-8")
    undrawn.run(scheme, records=records(data, 80), round_="r", again=True, data=data)
    scheme.write_text(SCHEME, encoding="utf-8")
    with pytest.raises(AlreadyLanded):
        cli.estimate(scheme, "r", data=data)
    assert ask(data, "select accepted from latest_runs") == [[80]]
    assert spent(data) == {"r": 3.0}


def test_a_simulation_that_was_replaced_stands_again_where_somebody_says_so(scheme: Path, tmp_path: Path) -> None:
    def simulated(clients: int, again: bool) -> None:
        run = preparation.prepare(scheme, round_="s", clients=clients, again=again, data=tmp_path)
        row = replace(landing.row_of(run), accepted=clients, rejected=0)
        warehouse.land(tmp_path / "warehouse.duckdb", warehouse.Landing(row, {}, again))

    simulated(900, False)
    simulated(500, True)
    with pytest.raises(AlreadyLanded):
        simulated(900, False)
    assert ask(tmp_path, "select accepted from latest_runs") == [[500]]
    simulated(900, True)
    assert ask(tmp_path, "select accepted from latest_runs") == [[900]]


def test_real_people_land_with_what_they_spent_or_not_at_all(answered: Path, tmp_path: Path) -> None:
    [folder] = (answered / "runs").iterdir()
    row = landing.row_of(Run.at(folder))
    with pytest.raises(WarehouseError, match="land the run with both tables"):
        warehouse.land(tmp_path / "another.duckdb", warehouse.Landing(row, {}))
