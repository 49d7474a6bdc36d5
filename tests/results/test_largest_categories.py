"""Lists of the largest of many categories: their intervals hold for what was selected, and say so wherever they are shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.cli.round_summary import render
from dpcore.estimation.frequency.proportion_intervals import differs_from_equal
from dpcore.results.pages import publish
from dpcore.results.pages.fragments import pieces
from dpcore.results.plots.attribute import attribute_figures
from dpcore.results.tables import round_tables
from dpcore.results.tables.largest_categories import Listed, by_category, largest_shares, listed
from dpcore.results.warehouse import land, query
from tests.helpers import warehouses
from tests.results.test_warehouse_macros import a_run, landing

NAMES = [f"c{i}" for i in range(40)]
LAWS = {  # categories -> their shares
    "2,000 equal": np.full(2_000, 1 / 2_000),
    "10,000 of Zipf": 1 / np.arange(1, 10_001),
    "40 of Zipf": 1 / np.arange(1, 41),
}
CLIENTS, SEEDS = 20_000, 20


def shares(**changes: object) -> pd.DataFrame:
    """Forty equal categories whose estimates fall from the first, with the intervals of one and simultaneous ones."""
    estimate = np.linspace(0.045, 0.005, 40)
    values = {
        "run_id": "r",
        "attribute": "word",
        "estimator": "frequency",
        "given": "",
        "category": NAMES,
        "estimate": estimate,
        "standard_error": 0.005,
        "confidence": 0.95,
        "low": estimate - 0.001,
        "high": estimate + 0.001,
        "simultaneous_low": estimate - 0.021,
        "simultaneous_high": estimate + 0.021,
    }
    return pd.DataFrame(values | changes)


def estimated(law: np.ndarray, seed: int) -> pipeline.Round:
    names = np.array([f"c{i}" for i in range(len(law))], dtype=object)
    text = ", ".join(f'"{name}"' for name in names)
    scheme = dp.Scheme.from_toml(
        f'name = "people"\nclients = {CLIENTS}\n[attributes.word]\ntype = "categorical"\nepsilon = 1\ncategories = [{text}]\n'
    )
    people = names[np.random.default_rng(seed).choice(len(law), CLIENTS, p=law / law.sum())]
    return pipeline.estimate_all(pipeline.simulate(scheme, pd.DataFrame({"word": people}), dp.seeded([51, seed])))


def test_a_category_differs_where_its_interval_excludes_an_equal_share() -> None:
    low, high = np.array([0.26, 0.25, 0.1, 0.0]), np.array([0.4, 0.3, 0.25, 0.24])
    assert differs_from_equal(low, high).tolist() == [True, False, False, True]


def test_a_single_category_differs_from_nothing() -> None:
    assert not differs_from_equal(np.array([0.2]), np.array([0.4])).any()


def test_a_list_of_the_largest_has_simultaneous_intervals_and_counts_all_categories() -> None:
    rows = shares()
    found = listed(rows)
    assert list(found.rows["category"]) == NAMES[:30]
    np.testing.assert_allclose(found.rows["low"], rows["simultaneous_low"][:30])
    np.testing.assert_allclose(found.rows["high"], rows["simultaneous_high"][:30])
    assert (found.categories, found.interval) == (40, "simultaneous 95 % interval")
    assert found.note == "none differs significantly from an equal share"
    assert found.sentence == (
        "The 30 largest of 40 categories, with simultaneous 95 % intervals for 40 categories. None of the 40 categories "
        "differs significantly from an equal share (2.5 %): the order may be due to chance."
    )


def test_what_differs_is_counted_among_all_categories_also_those_that_are_not_listed() -> None:
    rows = shares()
    rows.loc[[0, 39], "simultaneous_low"], rows.loc[39, "simultaneous_high"] = [0.026, 0.0], 0.024
    found = listed(rows)
    assert (found.significant, found.note) == (2, "")
    assert found.sentence.endswith("2 of the 40 categories differ significantly from an equal share (2.5 %).")
    rows.loc[0, "simultaneous_low"] = 0.0
    assert listed(rows).sentence.endswith("1 of the 40 categories differs significantly from an equal share (2.5 %).")


def test_a_list_with_room_for_all_keeps_the_intervals_of_single_categories() -> None:
    rows = shares().iloc[:30]
    found = listed(rows)
    pd.testing.assert_frame_equal(found.rows, rows)
    assert (found.interval, found.note, found.sentence) == ("95 % interval", "", "")


@pytest.mark.parametrize("older", [shares(simultaneous_low=np.nan), shares().iloc[:, :-2]])
def test_a_round_without_simultaneous_intervals_says_that_its_list_is_not_adjusted(older: pd.DataFrame) -> None:
    found = listed(older)
    np.testing.assert_allclose(found.rows["low"], older["low"][:30])
    assert (found.interval, found.note) == ("95 % interval", "intervals do not account for the selection")
    assert found.sentence.startswith(
        "The 30 largest of 40 categories, with intervals of single categories. These do not account"
    )
    assert "version 35" in found.sentence


def test_groups_list_the_largest_of_the_first_and_are_tested_each_for_itself() -> None:
    other = shares(
        given="region=b", estimate=np.linspace(0.005, 0.045, 40), simultaneous_low=0.0, simultaneous_high=0.1
    )
    other.loc[3, "simultaneous_low"] = 0.03
    found = largest_shares(pd.concat([shares(given="region=a"), other], ignore_index=True))
    assert list(found.rows["category"]) == NAMES[:30] * 2
    assert list(by_category(found.rows)["category"]) == [name for name in NAMES[:30] for _ in range(2)]
    assert list(by_category(found.rows)["given"]) == ["region=a", "region=b"] * 30
    assert (found.categories, found.significant) == (40, 1)
    assert "for 40 categories of each group. 1 of the 80 shares differs significantly" in found.sentence


def test_of_a_law_of_many_values_the_share_of_silence_is_listed() -> None:
    names = [*map(str, range(20)), "missing"]
    rows = pd.DataFrame({"category": names, "estimate": 1 / 21, "estimator": "log_linear", "confidence": 0.95})
    assert list(listed(rows).rows["category"]) == ["missing"]
    assert list(listed(rows.iloc[:3]).rows["category"]) == names[:3]
    assert len(listed(rows.iloc[:20]).rows) == 0
    assert len(listed(rows.iloc[:0]).rows) == 0
    groups = pd.concat([rows.iloc[:5].assign(given=given) for given in ("a", "b", "c")])  # 15 rows, but few values
    assert len(listed(groups).rows) == 15


@pytest.fixture(scope="module")
def round_() -> pipeline.Round:
    return estimated(np.full(40, 1 / 40), 3)


@pytest.fixture(scope="module")
def path(round_: pipeline.Round, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round of equal categories none of which differs, and the same as it landed before there were such intervals."""
    file = warehouses.put(tmp_path_factory.mktemp("largest") / "w.duckdb")
    whole = round_tables.tables_of(round_)
    land(file, landing(a_run("r1", "x"), whole))
    older = whole | {"frequencies": whole["frequencies"].drop(columns=["simultaneous_low", "simultaneous_high"])}
    land(file, landing(a_run("r2", "x"), older))
    return file


def test_simultaneous_intervals_land_with_the_shares(path: Path, round_: pipeline.Round) -> None:
    estimate = round_.estimates["word"]
    frame = query(path, "from latest_frequencies where round = 'r1'").set_index("category").loc[NAMES]
    low, high = estimate.simultaneous()  # type: ignore[union-attr]
    np.testing.assert_allclose(frame["simultaneous_low"], np.minimum(low, estimate.values), atol=1e-12)  # type: ignore[union-attr]
    np.testing.assert_allclose(frame["simultaneous_high"], np.maximum(high, estimate.values), atol=1e-12)  # type: ignore[union-attr]
    assert (frame["simultaneous_high"] - frame["simultaneous_low"] > frame["high"] - frame["low"]).all()
    assert not estimate.differs().any()  # type: ignore[union-attr]


def test_the_largest_asked_in_sql_are_those_of_the_list(path: Path, round_: pipeline.Round) -> None:
    found = query(path, "from largest_of('word', 30)")
    first, older = (found[found["round"] == name] for name in ("r1", "r2"))
    rows = listed(round_tables.tables_of(round_)["frequencies"]).rows.set_index("category").loc[first["category"]]
    assert sorted(first["estimate"], reverse=True) == list(first["estimate"])
    for column in ("estimate", "low", "high", "confidence"):
        np.testing.assert_allclose(first[column], rows[column], atol=1e-12)
    assert set(found["categories"]) == {40}
    assert not first["differs"].any()
    assert not first["any_differs"].any()
    assert older[["low", "high", "differs", "any_differs"]].isna().all(axis=None)


def test_sql_marks_the_categories_that_differ(tmp_path: Path) -> None:
    file = warehouses.put(tmp_path / "w.duckdb")
    rows = shares().drop(columns="run_id").assign(raw=0.0)
    rows.loc[5, "simultaneous_low"] = 0.026
    rows.loc[39, ["simultaneous_low", "simultaneous_high"]] = [0.0, 0.024]
    land(
        file,
        landing(
            a_run("r1", "x"), {"frequencies": pd.concat([rows, shares(given="sex=f", raw=0.0).drop(columns="run_id")])}
        ),
    )
    found = query(file, "from largest_of('word', 40)").set_index(["given", "category"])
    assert found.index[found["differs"]].tolist() == [("", "c5"), ("", "c39")]
    assert found["any_differs"].groupby("given").unique().map(list).to_dict() == {"": [True], "sex=f": [False]}


def test_terminal_page_and_pieces_say_how_many_there_are_and_that_none_differs(path: Path, tmp_path: Path) -> None:
    runs = query(path, "select round, run_id from latest_runs").set_index("round")["run_id"]
    for name, words in (
        ("r1", ["simultaneous 95 % intervals for 40 categories", "None of the 40 categories differs significantly"]),
        ("r2", ["intervals of single categories", "do not account for the selection"]),
    ):
        publish(path, tmp_path / "page.html", round_=name)
        told = pieces(path, runs[name]).attributes["word"]
        for text in (render(path, runs[name]), (tmp_path / "page.html").read_text(encoding="utf-8"), told):
            assert all(word in " ".join(text.split()) for word in words)
            assert "30 largest of 40" in text


def test_the_picture_of_the_largest_draws_an_equal_share_and_simultaneous_intervals() -> None:
    figure = attribute_figures("word", {"frequencies": shares()})["word"]
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert axes.get_title(loc="left") == "Proportions of word: the 30 largest of 40"
    assert "frequency  ·  simultaneous 95 % interval\nnone differs significantly from an equal share" in texts
    entries = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    assert entries["equal share"].get_xdata()[0] == pytest.approx(2.5)
    (first, *_) = entries["simultaneous 95 % interval"].get_segments()
    np.testing.assert_allclose(first[:, 0], [2.4, 6.6])


def test_the_picture_of_groups_says_that_it_shows_the_largest() -> None:
    rows = pd.concat([shares(given="sex=f"), shares(given="sex=m")], ignore_index=True)
    (axes,) = attribute_figures("word", {"frequencies": rows})["word_by_sex"].axes
    assert axes.get_title(loc="left") == "Proportions of word by sex: the 30 largest of 40"
    assert any("simultaneous 95 % interval\nnone differs" in text.get_text() for text in axes.texts)


def covered(found: Listed, truth: dict[str, float]) -> float:
    """The part of a list's intervals that cover."""
    true = found.rows["category"].map(truth)
    return float(((found.rows["low"] <= true) & (true <= found.rows["high"])).mean())


def test_one_list_of_equal_categories_covers_where_intervals_of_single_ones_do_not() -> None:
    law = np.full(2_000, 1 / 2_000)
    rows = round_tables.tables_of(estimated(law, 1))["frequencies"]
    truth = dict(zip(rows["category"], law, strict=True))
    found = listed(rows)
    assert covered(found, truth) == 1.0
    single = Listed(rows=rows.loc[found.rows.index], categories=2_000, confidence="95 %")
    assert covered(single, truth) < 0.1


@pytest.mark.nightly("a study")
@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_every_list_of_the_largest_covers_at_20_000_clients_and_epsilon_1(name: str) -> None:
    """Run alone: python -m pytest -m nightly -s tests/results/test_largest_categories.py, a minute."""
    law = LAWS[name] / LAWS[name].sum()
    truth = {f"c{i}": share for i, share in enumerate(law)}
    lists = [listed(round_tables.tables_of(estimated(law, seed))["frequencies"]) for seed in range(SEEDS)]
    parts, significant = [covered(found, truth) for found in lists], [found.significant for found in lists]
    print(f"{name}: least {min(parts):.3f}, mean {np.mean(parts):.4f}, significant {significant}")
    assert min(parts) >= 0.93
    if name == "2,000 equal":
        assert np.mean([count > 0 for count in significant]) <= 0.2  # .05 expected, of 20
