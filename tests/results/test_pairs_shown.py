"""Where people see two attributes together: tables, the page, Prefect's pages, the terminal, pictures."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.cli.round_summary import render
from dpcore.results import plots, warehouse
from dpcore.results.pages import pieces, publish
from dpcore.results.plots import style
from dpcore.results.plots.joint import joint_figure, with_independent
from dpcore.results.tables.round_tables import tables_of
from dpcore.results.text.relation_phrases import Side, read_number, read_test

WAGE, SCHOOL, JOB = Side("wage", "USD a week", 0, 1500, True), Side("years_of_school", "years", 0, 18), Side("job")
NOTHING = dict.fromkeys(("estimate", "low", "high", "reason"))
TEST = {"functional": "independence", "p_value": 0.00001, "statistic": 41.26, "degrees": 9}


def run_of(file: Path) -> str:
    return str(warehouse.query(file, "select run_id from latest_runs")["run_id"][0])


@pytest.mark.parametrize(
    ("functional", "part", "text", "unit", "group"),
    [
        ("correlation", "", "correlation", "", ""),
        ("slope", "", "slope: change of wage per unit of years of school", "USD a week", ""),
        ("conditional_mean(16, 17)", "1600 to 1700.5", "mean wage", "USD a week", "1,600 to 1,700.5"),
        ("conditional_quantile(0.5, 16, 16)", "16", "median wage", "USD a week", "16"),
    ],
)
def test_numbers_read_in_words(functional: str, part: str, text: str, unit: str, group: str) -> None:
    row = {"functional": functional, "first_part": "", "second_part": part, "reason": None}
    line = read_number(row | {"estimate": 0.4123, "low": 0.3, "high": 0.5}, WAGE, SCHOOL)
    assert (line.text, line.unit, line.group) == (text, unit, group)
    assert (line.estimate, line.interval, line.note) == ("0.41", "0.30 to 0.50", "")
    refused = read_number(row | NOTHING | {"reason": "too few"}, WAGE, SCHOOL)
    assert (refused.value, refused.note) == ("refused", "too few")


def test_shares_are_percent_and_name_their_part() -> None:
    row = {"functional": "conditional_probability(rural_town, full-time)", "first_part": "rural_town", "reason": None}
    line = read_number(row | {"second_part": "full-time", "estimate": 0.25, "low": 0.2, "high": 0.3}, Side("home"), JOB)
    assert (line.text, line.value, line.group) == ("share of rural town", "25 %", "full-time")


@pytest.mark.parametrize("name", ["independence", "trend", "equal_means"])
def test_a_test_says_what_it_saw_and_never_that_there_is_nothing(name: str) -> None:
    seen = read_test(TEST | {"functional": name}, WAGE, SCHOOL)
    assert "p < 0.0001, chi-squared 41.3 on 9 degrees of freedom" in seen
    assert not seen.startswith("No sign")
    unseen = read_test(TEST | {"functional": name, "p_value": 0.2, "degrees": 1}, WAGE, SCHOOL)
    assert unseen.startswith("No sign")
    assert "p = 0.2, chi-squared 41.3 on 1 degree of freedom" in unseen


def test_what_is_clipped_is_named() -> None:
    assert WAGE.value_range == "wage clipped to 0 to 1,500 USD a week"
    assert SCHOOL.value_range == "years of school within 0 to 18 years"
    assert JOB.value_range == ""


def table(estimates: list[float], error: float = 0.01) -> pd.DataFrame:
    cells = [(own, part) for own in ("low", "high") for part in ("a", "b")]
    frame = pd.DataFrame(cells, columns=["first_part", "second_part"])
    shares = {"share": 0.25, "estimate": estimates, "standard_error": error, "confidence": 0.95}
    return with_independent(frame.assign(**shares))


def test_triangles_mark_cells_that_are_surely_apart_from_independence() -> None:
    figure = joint_figure(table([0.29, 0.21, 0.255, 0.25]), Side("home"), JOB)
    marks = {line.get_marker(): len(line.get_xdata()) for line in figure.axes[0].lines}
    assert marks == {"^": 1, "v": 1}
    assert not joint_figure(table([0.29, 0.21, 0.255, 0.25], error=0.02), Side("home"), JOB).axes[0].lines
    told = [text.get_text() for text in figure.axes[0].texts]
    assert told.count("25.0") == 4
    assert told.count("±2.0") == 4


COARSE = """
name = "coarse"
pairs = [["wage", "education"], ["wage", "job"], ["education", "job"]]
[attributes.wage]
type = "numeric"
lower = 0
upper = 1500
step = 150
epsilon = 2
[attributes.education]
type = "numeric"
lower = 0
upper = 18
step = 1
epsilon = 2
[attributes.job]
type = "categorical"
categories = ["full-time", "part-time"]
epsilon = 1
"""


def test_every_pair_is_drawn_once_and_the_same_twice() -> None:
    people = {
        "wage": np.arange(3000) % 11 * 150,
        "education": np.arange(3000) % 19,
        "job": np.resize(["full-time", "part-time"], 3000),
    }
    found = tables_of(pipeline.run(dp.Scheme.from_toml(COARSE), people, dp.seeded(1)))
    tables = {name: found[name] for name in ("joint", "associations")}
    sides = {"wage": WAGE, "education": Side("education", "years", 0, 18), "job": JOB}
    drawn = plots.pair_pictures(tables, sides)
    pairs = (("wage", "education"), ("wage", "job"), ("education", "job"))
    assert set(drawn) == {f"{one}_{how}_{other}" for one, other in pairs for how in ("and", "along")}
    one_pair = {name: frame[frame["second"] == "job"] for name, frame in tables.items()}
    again = plots.pair_pictures({name: frame[frame["first"] == "wage"] for name, frame in one_pair.items()}, sides)
    assert again == {name: drawn[name] for name in ("wage_and_job", "wage_along_job")}
    assert all(picture.startswith(b"\x89PNG") for picture in drawn.values())


class Tags(HTMLParser):
    """Whether every tag is closed, and which ids there are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in {"meta", "br", "link", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
def test_the_page_has_a_section_of_pairs(schooling: Path, tmp_path: Path) -> None:
    publish(schooling, tmp_path / "round.html")
    page = (tmp_path / "round.html").read_text(encoding="utf-8")
    tags = Tags(page)
    assert len(tags.ids) == len(set(tags.ids))
    assert {"together", "pair-wage-education", "pair-wage-job", "pair-education-job"} <= set(tags.ids)
    section = page[page.index('<section id="together">') : page.index('<section id="privacy">')]
    text = re.sub(r"<[^>]+>", " ", section)
    assert section.count("<figure") == 6
    assert "wage clipped to 0 to 1,500 USD a week; education clipped to 0 to 18 years" in text
    assert text.count("For clients who answered both") == 3
    assert "The intervals assume a smooth joint distribution" in text
    found = warehouse.query(
        schooling,
        "from latest_associations where functional = 'correlation' and first = 'wage' and second = 'education'",
    )
    assert f">{found['estimate'][0]:.2f}<" in section
    assert "href" not in section.replace('href="#t', "")
    again = tmp_path / "again.html"
    publish(schooling, again)
    assert again.read_text(encoding="utf-8") == page


@pytest.mark.slow
def test_the_terminal_and_prefect_tell_each_pair(schooling: Path) -> None:
    told = render(schooling, run_of(schooling))
    assert re.search(r"^wage and education:  correlation 0\.\d\d \(0\.\d\d to 0\.\d\d\)$", told, re.M)
    assert re.search(
        r"^wage and job:        mean wage: full-time [\d,]+ USD a week \([\d,]+ to [\d,]+\), part-time ", told, re.M
    )
    shown = pieces(schooling, run_of(schooling))
    assert set(shown.pairs) == {"wage-education", "wage-job", "education-job"}
    page = shown.pairs["wage-education"]
    assert page.count("data:image/svg+xml") == 2
    assert "| correlation |" in page
    assert "The intervals assume a smooth joint distribution" in page


def test_colours_are_the_house_s() -> None:
    figure = joint_figure(table([0.25] * 4), Side("home"), JOB)
    from matplotlib.colors import to_hex

    assert {to_hex(patch.get_facecolor()) for patch in figure.axes[0].patches} == {style.ESTIMATE.lower()}
