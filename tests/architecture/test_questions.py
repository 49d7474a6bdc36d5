"""The questions of questions.md, questions_of_rounds.md and questions_of_pairs.md are answered, and rightly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.results import warehouse
from dpcore.results.warehouse import reader
from tests.helpers import undrawn

REFERENCE = Path(__file__).parents[2] / "data/guide/reference"


def questions(*names: str) -> list[tuple[str, str, str]]:
    text = "\n".join((REFERENCE / name).read_text(encoding="utf-8") for name in names)
    return re.findall(r"^## (\d+)\. (.*?)$.*?```sql\n(.*?)```", text, re.M | re.S)


QUESTIONS = questions("questions.md", "questions_of_rounds.md")
OF_PAIRS = questions("questions_of_pairs.md")


Ask = Callable[[str], pd.DataFrame]


@pytest.fixture(scope="module")
def ask(landed: Path) -> Iterator[Ask]:
    with reader(landed) as ask:
        yield ask


def near(frame: pd.DataFrame, name: str, truth: float) -> None:
    assert len(frame) >= 1
    assert ((frame[name] - truth).abs() < 1.5 * (frame["high"] - frame["low"])).all()


def test_there_are_thirty_six_questions() -> None:
    assert [int(number) for number, _, _ in QUESTIONS + OF_PAIRS] == list(range(1, 37))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "question", "sql"), QUESTIONS, ids=[f"{n} {q[:40]}" for n, q, _ in QUESTIONS])
def test_every_question_has_an_answer(ask: Ask, number: str, question: str, sql: str) -> None:
    frame = ask(sql)
    assert len(frame) >= 1 or question.startswith("Which estimates were withheld"), question
    values = [name for name in frame.columns if name not in ("disagreement", "one_of_them")]
    assert frame[values].notna().all().all(), frame[values].isna().sum()


@pytest.mark.slow
def test_answers_are_right(ask: Ask) -> None:
    """The truth of the simulated households, six standard errors wide, and the sample's own numbers."""

    def answer(number: int) -> pd.DataFrame:
        return ask(QUESTIONS[number - 1][2])

    assert answer(19)["accepted"].tolist() == [30_000, 30_000, 30_000, 20_188]
    near(answer(1), "estimate", 66_449)
    assert answer(2)["category"].tolist() == ["0", "1", "2", "3", "4", "5+"]
    share = answer(3)
    near(share, "share", 0.183)
    assert share["confidence"].tolist() == [0.95] * 3
    difference = answer(6)
    assert set(difference["given"] + difference["other_given"]) == {"urban_rural=urbanurban_rural=rural"}
    near(difference, "difference", 70_952 - 50_481)
    pooled = answer(8)
    near(pooled[(pooled["attribute"] == "income") & (pooled["number"] == "mean")], "estimate", 66_449)
    assert set(pooled["rounds"]) <= {1, 2, 3}
    assert (answer(9)["times_narrower"] >= 1).all()
    spent = answer(27)
    spent = spent[spent["attribute"] == ""]
    assert spent["fresh"].tolist() == pytest.approx([4 + np.log(3), 8 + 2 * np.log(3), 12 + 3 * np.log(3), 5])
    assert spent["memoized_least"].tolist() == pytest.approx([4 + np.log(3)] * 3 + [5])
    assert (spent["memoized_most"] <= spent["fresh"]).all()
    assert answer(25)["is_whole"].all()
    assert answer(23)[["reason", "count"]].to_numpy().tolist() == [["visits: out of range", 2]]
    assert answer(24)["failed"].tolist() == [0, 0, 0, 0]
    held = answer(29)
    assert np.average(held["held"], weights=held["intervals"]) > 0.75
    assert len(answer(20)) == 4


@pytest.mark.slow
def test_answers_of_unions_quantiles_and_trends_are_right(ask: Ask) -> None:
    def answer(number: int) -> pd.DataFrame:
        return ask(QUESTIONS[number - 1][2])

    moved = answer(12)
    assert moved["change"].tolist() == pytest.approx([0, *np.diff(moved["estimate"])], abs=1e-9)
    assert len(answer(13)) == 6
    truth = ask("from truths where attribute = 'income' and quantity = 'density' and given = '' order by x")
    truth = truth[truth["run_id"] == truth["run_id"].iloc[0]]
    step = truth["x"].iloc[1] - truth["x"].iloc[0]
    tenth = float(truth["x"].iloc[int(np.searchsorted(truth["value"].cumsum() * step, 0.9))])
    near(answer(14), "quantile", tenth)
    largest = answer(15)
    assert largest["category"].tolist()[::3] == ["0"] * 3
    assert largest["is_apart"].tolist()[::3] == [True] * 3
    children = answer(16)
    near(
        children,
        "share",
        ask(
            "select sum(value) / 3 as v from truths where quantity in ('frequency(3)', 'frequency(4)', 'frequency(5+)')"
        )["v"][0],
    )
    missing = answer(21)
    assert len(missing) == 4 + 6
    assert set(missing["became"]) == {"never begun"}
    spent = answer(28)
    assert spent["rounds"].tolist() == [3, 1]
    assert spent["fresh"].tolist() == pytest.approx([12 + 3 * np.log(3), 5])
    since = answer(17)
    assert set(since["since"] + since["until"]) == {"2026-11-182026-11-20"}
    assert len(since) == 10
    assert (since["deviations"].abs() < 5).all()
    assert (answer(18)["moved"] > 0).all()
    assert answer(22)[["files", "reports"]].to_numpy().tolist() == [[1, 20_190]]


@pytest.mark.slow
def test_questions_of_pairs_are_answered_rightly(schooling: Path) -> None:
    """Of the sample's men, whose records say what is true."""
    men = pd.read_parquet(REFERENCE.parents[1] / "samples/cps_1988.parquet")
    wage = men["wage"].clip(0, 1500)
    with reader(schooling) as ask:
        answers = {int(number): ask(sql) for number, _, sql in OF_PAIRS}
    strength = answers[31].set_index("functional")
    assert strength.loc["correlation", "low"] < wage.corr(men["education"]) < strength.loc["correlation", "high"]
    along = answers[32]
    for row in along.itertuples():
        low, _, high = row.second_part.partition(" to ")
        truth = wage[men["education"].between(float(low), float(high or low))].mean()
        assert abs(row.estimate - truth) < 1.5 * (row.high - row.low)
    assert along["second_part"].tolist()[-2:] == ["15 to 16", "17 to 18"]
    sure = answers[33].set_index(["first", "second"])
    assert sure.loc["wage"]["sure"].tolist() == [True, True]
    assert len(sure) == 3
    spread = answers[34].groupby("second_part")["percent"].sum()
    assert spread.to_dict() == pytest.approx({"full-time": 100, "part-time": 100})
    assert answers[34]["first_part"].tolist()[:2] == ["0 to 187.5", "187.5 to 375"]
    assert answers[36].empty  # the scheme has no labels
    more = answers[35]
    assert (more["share"] >= 0).all()
    assert ((more["first_part"] == "0 to 187.5") & (more["second_part"] == "part-time")).any()


@pytest.mark.slow
def test_odds_by_labels_are_those_of_the_records(tmp_path: Path) -> None:
    records = REFERENCE.parents[1] / "samples/cps_1988.parquet"
    scheme = REFERENCE.parents[1] / "schemes/current_population.toml"
    undrawn.run(scheme, records=records, round_="1988", seed=7, data=tmp_path)
    [landed] = tmp_path.glob(f"runs/*/{warehouse.REHEARSAL}")
    with reader(landed) as ask:
        odds = ask(OF_PAIRS[-1][2]).set_index("term")
    men = pd.read_parquet(records)
    counts = men.groupby(["region", "smsa"])["parttime"].agg(lambda column: (column == "yes").mean())
    [ratio] = odds.loc[["region = south"], "odds_ratio"]
    shares = counts.xs("yes", level="smsa")
    plain = shares["south"] / (1 - shares["south"]) / (shares["northeast"] / (1 - shares["northeast"]))
    assert abs(np.log(ratio / plain)) < 0.75 * np.log(
        odds.loc["region = south", "high"] / odds.loc["region = south", "low"]
    )
    assert odds["p_value"].is_monotonic_increasing
