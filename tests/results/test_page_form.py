"""A page's form: colours are told apart, tables have heads and captions, pictures have words, trends have every round."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.results.pages import publish
from dpcore.results.pages.content import _by_attribute
from dpcore.results.pages.pictures import points_of
from dpcore.results.pages.trends import trends
from dpcore.results.plots import inline, narrow, new_axes, places, plot_density, plot_frequency, style
from dpcore.results.warehouse import Landing, land, run_id
from tests.helpers.kept_open import kept_open
from tests.results.test_pages import Page, a_comparison, a_run, tables

CSS = (files("dpcore.results.pages") / "templates/page.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root \{(.*?)\}", CSS, re.S)
)
TEXT = [(ink, paper) for ink in ("ink", "faint", "blue", "red") for paper in ("paper", "wash")]
DRAWN = [(name, "paper") for name in LIGHT if name in ("truth", "previous") or name.startswith("group")]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""

    def luminance(colour: str) -> float:
        shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_wcags() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_are_told_apart(colours: dict[str, str]) -> None:
    assert colours.keys() == LIGHT.keys()
    assert len(DRAWN) == 2 + len(style.GROUPS) - 2
    least = {4.5: TEXT, 3.0: DRAWN}
    assert [pair for ratio, pairs in least.items() for pair in pairs if contrast(*map(colours.get, pair)) < ratio] == []  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def three_rounds(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of three rounds, of which the second refused the mean; the last has a curve, groups and changes."""
    path = Path(shutil.copy(created, tmp_path_factory.mktemp("form") / "warehouse.duckdb"))
    with kept_open():
        _land_three_rounds(path)
    return path


@pytest.fixture(scope="module")
def page(three_rounds: Path) -> str:
    """The page of the last round."""
    publish(three_rounds, three_rounds.with_name("page.html"))
    return three_rounds.with_name("page.html").read_text(encoding="utf-8")


def _land_three_rounds(path: Path) -> None:
    x = np.linspace(0, 10, 101)
    for place, round_ in enumerate(("r0", "r1", "r2")):
        value = 5.0 + place
        number = {"attribute": "answer", "given": "", "estimator": "log_spline", "functional": "mean", "kind": "smooth"}
        number |= {"confidence": 0.95, "standard_error": 1.0, "plug_in": value}
        number |= {"estimate": value, "low": value - 2, "high": value + 2, "reason": None}
        if place == 1:
            number |= dict.fromkeys(("estimate", "standard_error", "low", "high")) | {"reason": "too noisy"}
        curve = pd.DataFrame({"attribute": "answer", "given": "", "estimator": "log_spline", "x": x, "density": 0.1})
        curve = curve.assign(low=0.08, high=0.12, confidence=0.95, cdf=x / 10, cdf_low=x / 10, cdf_high=x / 10)
        landed = tables("answer") | {"densities": curve, "functionals": pd.DataFrame([number])}
        if place == 2:
            landed["comparisons"] = pd.DataFrame([a_comparison(other_run_id=run_id("ab", "r1", 7))])
        land(path, Landing(a_run(round=round_, run_id=run_id("ab", round_, 7)), landed))


def test_tables_have_heads_and_captions_and_pictures_have_words(page: str) -> None:
    assert '<html lang="en">' in page
    found = re.findall(r"<table.*?</table>", page, re.S)
    assert len(found) >= 6
    for table in found:
        assert re.match(r"<table[^>]*>\s*<caption[^>]*>[^<\s]", table), table[:200]
        heads = re.findall(r"<th\b([^>]*)>(.*?)</th>", table, re.S)
        assert all('scope="row"' in where or 'scope="col"' in where for where, _ in heads)
        assert all(re.sub(r"<[^>]*>", "", text).strip() for _, text in heads), table[:300]
        assert table.count("<tr") == table.count('scope="row"') + 1 + table.count('class="note"')
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(re.search(r'aria-label="[^"]+"', frame) for frame in re.findall(r'<div class="frame"[^>]*>', page))
    assert len(re.findall(r'<svg[^>]*role="img"><title>[^<]+</title>', page)) == page.count("<svg") - page.count(
        'aria-hidden="true"'
    )
    drawn, told = page.count('class="frame"'), page.count('<table id="')
    assert drawn == told == 2
    assert set(re.findall(r'data-rows="([^"]+)"', page)) == set(re.findall(r'<table id="([^"]+)"', page))


def test_a_trend_has_every_round_that_told_the_number_and_the_previous_round_is_named(page: str) -> None:
    text = Page(page).text
    assert "The previous round is r1; it landed 2026-11-20 06:31 UTC . The small charts" in text
    assert "the last 3 rounds. The dot is this round" in text
    assert "2 rounds: first 5.0 in r0; minimum 5.0 in r0; maximum 7.0 in r2; last 7.0 in r2 2 of 3" in text
    assert "3 rounds: first 50 % in r0; minimum 50 % in r0; maximum 50 % in r2; last 50 % in r2" in text
    assert "This round minus round r1, which landed 2026-11-20 06:31 UTC ." in text


@pytest.mark.usefixtures("plain_pages")
def test_the_trend_of_an_earlier_round_ends_with_it(three_rounds: Path, tmp_path: Path) -> None:
    publish(three_rounds, tmp_path / "earlier.html", round_="r1")
    text = Page((tmp_path / "earlier.html").read_text(encoding="utf-8")).text
    assert "2 rounds: first 50 % in r0; minimum 50 % in r0; maximum 50 % in r1; last 50 % in r1" in text
    assert "r2" not in text.partition("SQL")[0]


def test_a_trend_is_drawn_to_scale_with_a_gap_where_a_round_refused() -> None:
    values = [2.0, 4.0, None, 6.0]
    rows = pd.DataFrame({"round": list("abcd"), "given": "", "functional": "mean", "estimate": values})
    rows = rows.assign(low=rows["estimate"] - 1, high=rows["estimate"] + 1)
    rounds, found = trends(rows, "USD")
    trend = found["mean", ""]
    assert (rounds, trend.rounds) == (4, 3)
    assert trend.curve == "M3 18L33 12M93 6L93 6"  # 1 to 7 stand for 21 to 3, downwards
    assert trend.band == "M3 15L33 9L33 15L3 21zM93 3L93 9z"
    assert trend.dot == (93.0, 6.0)
    assert trends(rows.iloc[:1], "USD")[1] == {}


def test_the_table_of_a_curve_and_the_places_in_its_picture_are_the_curves() -> None:
    x = np.linspace(0, 10, 201)
    rows = pd.DataFrame({"attribute": "answer", "given": "", "x": x, "density": x / 50, "low": x / 50 - 0.01})
    rows = rows.assign(high=x / 50 + 0.01, confidence=0.95, before=0.1)
    points = points_of(rows, "USD", shown=6)
    assert points is not None
    assert points.heads == ["answer (USD)", "% per 1 USD", "95 % band", "previous round"]
    assert (len(points.rows), points.of_all) == (41, 201)
    assert points.rows[20] == ["5", "10.0", "9.0 to 11.0", "10.0"]
    figure, axes = new_axes()
    plot_density(rows, axes)
    inline(figure, "p")
    box = axes.get_position()
    assert places(figure, "x", [0, 5, 10]) == pytest.approx([box.x0, (box.x0 + box.x1) / 2, box.x1])


def test_a_narrow_picture_breaks_long_names_and_keeps_its_rows() -> None:
    frame = pd.DataFrame({"attribute": "a", "given": "", "category": ["long " * 12, "b"], "estimate": 0.5})
    frame = frame.assign(low=0.4, high=0.6, confidence=0.95)
    figure, axes = new_axes(height=3.0)
    plot_frequency(frame, axes)
    narrow(figure)
    assert '<svg class="picture"' in inline(figure, "p")
    assert axes.get_position().width > 0.4
    first, second = places(figure, "y", [0, 1])
    assert 0 < first < second < 1
    assert all(len(line) <= 18 for label in axes.get_yticklabels() for line in label.get_text().splitlines())


def test_of_a_numbers_many_values_those_alone_are_told_that_differ() -> None:
    names = [f"frequency({value})" for value in range(20)] + ["mean"]
    rows = [
        {"attribute": name, "given": "", "functional": functional, "differs": functional == "frequency(7)"}
        for name in ("age", "job")
        for functional in names
    ]
    told = _by_attribute(rows, {"age": "", "job": ""}, {"age"})
    assert [row["functional"] for row in told if row["attribute"] == "age"] == ["frequency(7)", "mean"]
    assert len([row for row in told if row["attribute"] == "job"]) == 21
