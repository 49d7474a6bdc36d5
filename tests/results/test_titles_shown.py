"""Titles in a real round: on its page, in its pictures, in Prefect's UI and in the terminal; never in tables or file names."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from dpcore.cli.round_summary import render
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.results.pages import Pieces, pieces, publish
from dpcore.results.plots.attribute import attribute_figures
from dpcore.results.text.phrases import in_words, title_of, titled, whose
from dpcore.rounds.run import Run
from tests.helpers import undrawn
from tests.results.test_pages import Page

TITLES = {
    "nps": "Would you recommend us?",
    "wage": "Weekly wage",
    "area": "Part of town",
}
SCHEME = """
name = "customers"
clients = 3000
pairs = [["nps", "visits"]]
[attributes.nps]
{nps}
type = "categorical"
categories = ["low", "middle", "high_end"]
{scores}
epsilon = 4
[attributes.visits]
type = "categorical"
categories = ["few", "many"]
epsilon = 4
[attributes.wage]
{wage}
type = "numeric"
lower = 0
upper = 100
unit = "EUR"
epsilon = 4
[labels.area]
{area}
categories = ["n", "s"]
{areas}
[regressions]
score = "nps ~ area"
"""
WITH = {name: f'title = "{title}"' for name, title in TITLES.items()}
WITH |= {"scores": 'titles = { low = "0 to 6", high_end = "9 or 10" }', "areas": 'titles = { n = "North = old town" }'}


def _run(folder: Path, text: str) -> Run:
    rng, n = np.random.default_rng(7), 3000
    area = rng.choice(["n", "s"], n)
    table = {
        "nps": rng.choice(["low", "middle", "high_end"], n),
        "visits": rng.choice(["few", "many"], n),
        "wage": np.clip(rng.normal(40 + 10 * (area == "s"), 10), 0, 100),
        "area": area,
    }
    pd.DataFrame(table).to_csv(folder / "people.csv", index=False)
    (folder / "scheme.toml").write_text(text)
    records, data = folder / "people.csv", folder / "var"
    return undrawn.run(folder / "scheme.toml", records=records, round_="may", seed=3, data=data)


def _texts(run: Run) -> tuple[str, Pieces, str]:
    """The page, the pieces of Prefect's UI and the summary of a round."""
    file = Path(run.plan.warehouse)
    publish(file, run.folder / "page.html")
    page = (run.folder / "page.html").read_text(encoding="utf-8")
    return page, pieces(file, run.plan.run_id), render(file, run.plan.run_id)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> tuple[Run, str, Pieces, str]:
    run = _run(tmp_path_factory.mktemp("titled"), SCHEME.format(**WITH))
    return run, *_texts(run)


def test_every_part_of_a_round_shows_titles(shown: tuple[Run, str, Pieces, str]) -> None:
    _, page, ui, summary = shown
    read = unescape(re.sub(r"<[^>]*>", " ", page))
    assert [heading.strip() for heading in re.findall(r"<h2>(.*?)</h2>", page)][:3] == [
        TITLES["nps"],
        "visits",
        TITLES["wage"],
    ]
    for text in (
        "Weekly wage (EUR)",  # head of a picture's table
        "North = old town",
        "Would you recommend us? and visits",
        "odds ratio, Part of town = s",
        "odds of each category against “0 to 6”",
    ):
        assert text in read, text
    attributes = ui.attributes
    assert list(attributes) == ["nps", "visits", "wage"]
    assert 'aria-label="Estimated proportions of Would you recommend us? by Part of town"' in page
    assert attributes["nps"].startswith("# Would you recommend us?\n")
    assert "9 or 10" in attributes["nps"]
    assert {row["attribute"].replace("<br>", " ") for row in ui.estimates} == {TITLES["nps"], "visits", TITLES["wage"]}
    for texts in (page, summary, *attributes.values(), ui.front, *ui.pairs.values()):
        assert not re.search(r"\b(Nps|Visits|Wage|Area)\b", re.sub(r"<svg.*?</svg>", "", texts, flags=re.DOTALL))
    for text in ("Would you recommend us?", "share of 9 or 10", "Part of town: North = old town"):
        assert text in " ".join(re.sub(r"[│┃]", " ", summary).split()), text


def test_words_in_the_page_are_names_only_in_sql_and_formulas(shown: tuple[Run, str, Pieces, str]) -> None:
    words = Page(re.sub(r"<code>.*?</code>", "", shown[1], flags=re.DOTALL)).text
    assert not re.search(r"\b(nps|high_end|high end|area)\b", words)


def test_tables_and_file_names_keep_the_names(shown: tuple[Run, str, Pieces, str]) -> None:
    run = shown[0]
    rows = warehouse.query(run.plan.warehouse, "from latest_estimates")
    assert set(rows["attribute"]) == {"nps", "visits", "wage"}
    assert "frequency(high_end)" in set(rows["number"])
    assert "area=n" in set(rows["given"])
    with titled(run.scheme.canonical):
        figures = attribute_figures("nps", run.tables(), run_id=run.plan.run_id)
        figures |= attribute_figures("wage", run.tables(), "EUR", run_id=run.plan.run_id)
    assert {"nps", "nps_by_area", "nps_between_area", "wage"} <= {*figures}
    drawn = {name: [text.get_text() for text in figure.findobj(Text)] for name, figure in figures.items()}
    assert {"Proportions of Would you recommend us?", "0 to 6", "middle", "9 or 10"} <= {*drawn["nps"]}
    by_area = {"Proportions of Would you recommend us? by Part of town", "North = old town", "s"}
    assert by_area <= {*drawn["nps_by_area"]}
    assert {"Density of Weekly wage", "Weekly wage (EUR)"} <= {*drawn["wage"]}
    assert not [text for texts in drawn.values() for text in texts if re.search(r"\b(nps|area|high end)\b", text)]


def test_without_titles_names_are_shown_as_written(tmp_path: Path) -> None:
    run = _run(tmp_path, SCHEME.format(**dict.fromkeys(WITH, "")))
    page, ui, summary = _texts(run)
    assert [heading.strip() for heading in re.findall(r"<h2>(.*?)</h2>", page)][:3] == ["nps", "visits", "wage"]
    for texts in (page, summary, *ui.attributes.values()):
        assert not re.search(r"\bNps\b", texts)


def test_titles_are_those_of_one_block() -> None:
    scheme = Scheme.from_toml(SCHEME.format(**WITH))
    assert title_of("nps") == "nps"
    with titled(scheme.canonical):
        assert (title_of("nps"), title_of("nps", "low"), title_of("nps", "middle")) == (
            TITLES["nps"],
            "0 to 6",
            "middle",
        )
        assert whose("area=n", "area=s") == "North = old town − s"
        assert whose("weighted=area") == "weighted by Part of town"
        with titled(None):
            assert title_of("nps", "high_end") == in_words("high_end") == "high end"
        assert title_of("nps") == TITLES["nps"]
    assert title_of("nps") == "nps"
