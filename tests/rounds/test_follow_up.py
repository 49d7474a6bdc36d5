"""A second round that follows a landed one: its scheme, its numbers of both, what it costs, and what is refused in a line."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import cli
from dpcore._random import seeded
from dpcore.errors import BudgetExceeded, DPCoreError
from dpcore.estimation.inference.two_rounds import deviations
from dpcore.pipeline import simulate
from dpcore.populations import by_scheme
from dpcore.privacy.budget import Budget
from dpcore.privacy.ledger import InMemory, Ledger
from dpcore.results import warehouse
from dpcore.results.pages import publish
from dpcore.rounds import follow_up
from dpcore.rounds.follow_up import scheme_from
from dpcore.rounds.steps.preparation import prepare
from tests.helpers import undrawn
from tests.helpers.kept_open import kept_open

pytestmark = pytest.mark.usefixtures("light_warehouses")

FIRST = """name = "consumer_expenditure"
clients = 20000
[attributes.expenditure]
type = "numeric"
lower = 0
upper = 50_000
unit = "USD"
column = "Expenditure"
epsilon = "ln 3"
functionals = ["cdf(20000)", "quantile(0.25)", "quantile(0.5)"]
[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural"]
epsilon = 1
"""
DAYS = ("2026-11-19", "2026-11-20")


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a round has landed, and one that follows it."""
    folder = tmp_path_factory.mktemp("following")
    (folder / "first.toml").write_text(FIRST)
    with kept_open():
        undrawn.run(folder / "first.toml", round_=DAYS[0], data=folder)
        cli.scheme([folder / "first.toml"], from_=DAYS[0], out=folder / "second.toml", data=folder)
        undrawn.run(folder / "second.toml", round_=DAYS[1], after=DAYS[0], data=folder)
    return folder


def ask(folder: Path, sql: str) -> list[list[object]]:
    return warehouse.query(folder / "warehouse.duckdb", sql).values.tolist()


def test_the_second_scheme_asks_where_the_first_was_not_sure(rounds: Path) -> None:
    first, second = (dp.Scheme.from_toml(rounds / name) for name in ("first.toml", "second.toml"))
    question, numbers = (
        second.attributes["expenditure"],
        ask(
            rounds,
            f"""
        select estimate, standard_error from latest_estimates
        where round = '{DAYS[0]}' and number like 'quantile%' order by number""",
        ),
    )
    assert "(simulated clients)" in (rounds / "second.toml").read_text()
    assert list(second.attributes) == ["expenditure"]
    assert second.name == first.name
    assert second.digest != first.digest
    assert (question.column, question.unit, question.budget) == (
        "Expenditure",
        "USD",
        first.attributes["expenditure"].budget,
    )
    for edge, (value, error) in zip(question.bins, numbers, strict=True):
        assert abs(float(edge) - value) <= error / 4 + 1e-9


def test_numbers_of_both_rounds_land_beside_the_truth(rounds: Path) -> None:
    rows = ask(
        rounds,
        """
        select round, estimator, number, standard_error, holds_truth from latest_estimates
        where attribute = 'expenditure' and number in ('cdf(20000)', 'quantile(0.5)') order by all""",
    )
    by_round = {(row[0], row[2]): row for row in rows}
    assert all(row[4] for row in rows)
    assert {row[1] for row in rows} == {"log_spline", "two_rounds"}
    assert len(rows) == 4
    assert by_round[DAYS[1], "quantile(0.5)"][3] < 0.6 * by_round[DAYS[0], "quantile(0.5)"][3]
    (edges,) = ask(rounds, "select threshold from checks join latest_runs using (run_id) where name like 'two_rounds%'")
    assert edges[0] == pytest.approx(2.807, abs=1e-3)  # of two edges, passed by chance once in a hundred rounds
    checks = dict(
        ask(rounds, f"select name, passed from checks join latest_runs using (run_id) where round = '{DAYS[1]}'")
    )
    assert checks["two_rounds(expenditure)"]
    assert all(checks.values())


def test_the_warehouse_has_the_sums_that_the_numbers_were_made_of(rounds: Path) -> None:
    found, source, seed = warehouse.landed_sums(rounds / "warehouse.duckdb", "consumer_expenditure", DAYS[0])
    drawn = simulate(found.scheme, by_scheme("consumer_expenditure"), seeded(seed))
    assert source == "simulated"
    assert found.n == 20_000 == found.reports("expenditure")
    for name, statistics in found.statistics.items():
        assert statistics.sum() == drawn.statistics[name].sum()
        assert len(statistics) == len(drawn.statistics[name])
    alone = dp.estimate(found, "expenditure").functional(dp.functionals.Quantile(0.5))
    landed = ask(
        rounds, f"select estimate, low from latest_estimates where round = '{DAYS[0]}' and number = 'quantile(0.5)'"
    )
    assert [alone.value, alone.low] == pytest.approx(landed[0])


@pytest.mark.slow
def test_rounds_that_share_the_first_are_neither_compared_nor_pooled(rounds: Path, tmp_path: Path) -> None:
    """Their shares are their own and are; the numbers of both have the first round's reports in common."""
    file = Path(shutil.copy(rounds / "warehouse.duckdb", tmp_path))
    undrawn.run(rounds / "second.toml", round_="2026-11-21", after=DAYS[0], data=tmp_path)
    compared = warehouse.query(file, "select distinct functional from latest_comparisons")["functional"]
    assert len(compared)
    assert all(compared.str.startswith("frequency("))
    assert warehouse.query(file, "from pooled_estimates where estimator = 'two_rounds'").empty
    assert len(warehouse.query(file, "from pooled_estimates where rounds = 2"))


@pytest.mark.usefixtures("plain_pages")
def test_the_page_says_whose_numbers_are_of_both(rounds: Path, tmp_path: Path) -> None:
    for day, said in zip(DAYS, (False, True), strict=True):
        publish(rounds / "warehouse.duckdb", tmp_path / f"{day}.html", round_=day, scheme="consumer_expenditure")
        assert ("from this round and its first stage" in (tmp_path / f"{day}.html").read_text()) == said


def test_the_account_counts_both_rounds(rounds: Path) -> None:
    spent = dict(ask(rounds, "select round, fresh from composed_budgets where attribute = 'expenditure'"))
    assert spent == pytest.approx({day: (i + 1) * np.log(3) for i, day in enumerate(DAYS)})


def test_a_ledger_counts_both_rounds_and_refuses_what_is_too_much(rounds: Path) -> None:
    first, second = (dp.Scheme.from_toml(rounds / name) for name in ("first.toml", "second.toml"))
    ledger, answer = Ledger(Budget.parse("2.5"), InMemory()), {"expenditure": 9_000, "urban_rural": "urban"}
    dp.Client(first, dp.seeded(1), ledger=ledger).report(answer)
    assert float(ledger.spent()) == pytest.approx(1 + np.log(3))
    with pytest.raises(BudgetExceeded):
        dp.Client(second, dp.seeded(2), ledger=ledger).report({"expenditure": 9_000})
    wider = Ledger(Budget.parse("4"), InMemory())
    for scheme, said in ((first, answer), (second, {"expenditure": 9_000})):
        dp.Client(scheme, dp.seeded(3), ledger=wider).report(said)
    assert float(wider.spent()) == pytest.approx(1 + 2 * np.log(3))


def test_a_scheme_that_cannot_be_made_is_refused(rounds: Path) -> None:
    for round_, aims, message in (
        ("2026-01-01", (), "round 2026-01-01 of scheme consumer_expenditure: not landed"),
        (DAYS[0], ("urban_rural: quantile(0.5)",), "urban_rural has no quantile"),
        (DAYS[0], ("income: quantile(0.5)",), "has no attribute 'income'"),
        (DAYS[0], ("expenditure: mean",), "can improve quantile"),
        (DAYS[0], ("expenditure: cdf(60000)",), "not inside the bounds"),
        (DAYS[0], ("the median",), "must be .ATTRIBUTE: QUANTITY"),
        (DAYS[1], (), "use the scheme file of the round"),
    ):
        with pytest.raises(DPCoreError, match=message) as told:
            scheme_from(rounds / "first.toml", round_, rounds / "warehouse.duckdb", aims)
        assert "\n" not in str(told.value), message


def test_both_rounds_are_held_against_the_first_alone(rounds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People who all spend next to nothing are another population, by as many errors as the first round says."""
    file, scheme = rounds / "warehouse.duckdb", dp.Scheme.from_toml(rounds / "second.toml")
    first, _, _ = warehouse.landed_sums(file, scheme.name, DAYS[0])
    people = {"Expenditure": np.full(20_000, 100.0)}
    second = dp.aggregate(scheme, dp.privatize(scheme, people, seeded((1,))))
    run = SimpleNamespace(plan=SimpleNamespace(after=DAYS[0], warehouse=file), scheme=scheme)
    alone = dp.estimate(first, "expenditure")
    # Both together take seconds to estimate where they contradict each other, and nothing is held against them.
    both = SimpleNamespace(estimator="two_rounds", functional=alone.functional)
    monkeypatch.setattr(follow_up.two_rounds, "combine", lambda *_: both)
    (check,) = follow_up.with_both_rounds({}, run, second, None)["checks"].itertuples()
    apart = deviations(alone, second, "expenditure")
    assert not check.passed
    assert check.observed == pytest.approx(max(apart))


def test_a_first_round_in_which_nobody_was_asked_is_not_followed(rounds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = dp.Aggregate.zero(dp.Scheme.from_toml(FIRST))
    monkeypatch.setattr(follow_up.warehouse, "landed_sums", lambda *_: (nobody, "simulated", 1))
    with pytest.raises(DPCoreError, match="no reports of expenditure"):
        follow_up.check_after(dp.Scheme.from_toml(rounds / "second.toml"), DAYS[0], rounds, "simulated", 2)


def test_whom_the_first_round_refused_the_second_is_told_not_to_ask(
    rounds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "refusing.toml"
    file.write_text(FIRST.replace('unit = "USD"', 'unit = "USD"\noutside = "refuse"'))
    refusing = simulate(dp.Scheme.from_toml(file), by_scheme("consumer_expenditure"), seeded((7,)))
    monkeypatch.setattr(follow_up.warehouse, "landed_sums", lambda *_: (refusing, "simulated", 7))
    told = "rejected values of expenditure outside 0 to 50000: do not ask these clients here either."
    assert told in scheme_from(file, DAYS[0], rounds)
    assert "rejected" not in (rounds / "second.toml").read_text()


def test_several_aims_are_ranges_of_one_question(rounds: Path) -> None:
    aims = ("expenditure: cdf(20000)", "expenditure: quantile(0.5)", "expenditure: quantile(0.25)")
    made = dp.Scheme.from_toml(scheme_from(rounds / "first.toml", DAYS[0], rounds / "warehouse.duckdb", aims))
    assert len(made.attributes["expenditure"].bins) == 3
    assert made.attributes["expenditure"].bins[-1] == 20_000


@pytest.mark.slow
def test_a_column_that_is_asked_in_a_second_way_is_followed_in_the_first(tmp_path: Path) -> None:
    other = "[attributes.income]\n" + FIRST.split("[attributes.expenditure]\n")[1].split("[attributes")[0]
    first = FIRST + other + 'mechanism = "wavelet_laplace"\n'
    pair = 'clients = 2000\npairs = [["expenditure", "urban_rural"]]'
    (tmp_path / "first.toml").write_text(first.replace("clients = 20000", pair))
    undrawn.run(tmp_path / "first.toml", round_=DAYS[0], data=tmp_path)
    cli.scheme([tmp_path / "first.toml"], from_=DAYS[0], out=tmp_path / "second.toml", data=tmp_path)
    prepare(tmp_path / "second.toml", round_=DAYS[1], after=DAYS[0], data=tmp_path)
    found, _, _ = warehouse.landed_sums(tmp_path / "warehouse.duckdb", "consumer_expenditure", DAYS[0])
    assert found.statistics["expenditure"].sum() == 2000  # everyone's, and no group's


def test_a_round_that_follows_nothing_is_refused_before_anybody_is_asked(rounds: Path, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    pd.DataFrame({"Expenditure": np.arange(100)}).to_csv(people, index=False)
    (rounds / "others.toml").write_text(
        'name = "consumer_expenditure"\n[attributes.kids_count]\ntype = "categorical"\nbins = [2]\nepsilon = 1\n'
    )
    [[seed]] = ask(rounds, f"select seed from latest_runs where round = '{DAYS[0]}'")
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("first.toml", {"after": DAYS[0]}, "it has the same scheme"),
        ("second.toml", {"after": "2026-01-01"}, "not landed in"),
        ("second.toml", {"after": DAYS[0], "seed": seed}, "the same clients"),
        ("second.toml", {"after": DAYS[0], "records": people}, "are never combined"),
        (
            "second.toml",
            {"after": DAYS[0], "records": people, "seed": 3},
            "a dry run on real records has no earlier round",
        ),
        ("others.toml", {"after": DAYS[0]}, "no ranges of a numeric attribute"),
    )
    for file, told, message in cases:
        with pytest.raises(DPCoreError, match=message) as refused:
            prepare(rounds / file, round_="2026-12-01", data=rounds, **told)
        assert "\n" not in str(refused.value), message


def test_options_that_go_together_are_asked_for(rounds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--aim", "x: mean"], ["--out", "x.toml"], ["--from", DAYS[0], "also.toml"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(["scheme", str(rounds / "first.toml"), *arguments])
        assert ended.value.code, arguments
        assert "--from" in capsys.readouterr().err, arguments
