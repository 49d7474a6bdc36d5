"""The page of a round: nothing missing, nothing fetched, every number the warehouse's."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pandas as pd
import pytest

from dpcore.errors import MigrationError, WarehouseError
from dpcore.mechanisms.registry import BY_KIND
from dpcore.results.pages import publish
from dpcore.results.pages.query import queries
from dpcore.results.pages.vocabulary import factor_of, name_of, what_leaves
from dpcore.results.text.phrases import phrase, rounded
from dpcore.results.warehouse import (
    REHEARSAL,
    Landing,
    RunRow,
    land,
    open_for_writing,
    query,
    reader,
    run_id,
)
from dpcore.results.warehouse.schema_migration import migrate, shipped_migrations
from tests.helpers.kept_open import kept_open

VOID = {"meta", "img", "br", "link", "hr"}
START = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)


class Page(HTMLParser):
    """What a test asks of a page: its addresses, its SQL, its text, whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.sql: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "data", "action", "srcset")]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-2:] == ["pre", "code"]:
            if data.lstrip().startswith("select"):
                self.sql.append(data)
        elif self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)


@pytest.fixture(scope="module")
def pages(landed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    for scheme in ("consumer_expenditure", "health_insurance"):
        found = publish(landed, folder / f"{scheme}.html", round_="2026-11-20", scheme=scheme)
        assert found == (scheme, "2026-11-20")
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["consumer_expenditure", "health_insurance"])
def test_a_page_needs_nothing_but_itself(pages: dict[str, str], scheme: str) -> None:
    page = Page(pages[scheme])
    assert page.open == []
    assert not {"img", "link", "iframe", "object"} & set(page.tags)
    for address in page.addresses:
        assert address in {f"#{one}" for one in page.ids}, address[:60]
    assert len(page.ids) == len(set(page.ids))
    style = re.search(r"<style>(.*?)</style>", pages[scheme], re.S)[1]  # type: ignore[index]
    assert "url(" not in style
    assert "@import" not in style
    assert "@media print" in style
    assert "default-src 'none'" in pages[scheme]
    assert page.tags.count("script") == 1
    script = re.search(r"<script>(.*?)</script>", pages[scheme], re.S)[1]  # type: ignore[index]
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{allowed}'\"" in pages[scheme]
    assert len(pages[scheme]) < 2_000_000


@pytest.mark.slow
def test_every_picture_is_drawn_twice_in_the_pages_colours_and_leads_nowhere_else(pages: dict[str, str]) -> None:
    pictures = re.findall(r'<svg class="picture".*?</svg>', pages["consumer_expenditure"], re.S)
    assert len(pictures) == 12  # five attributes, and income by urban or rural; wide and narrow
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        assert not [
            text for element in root.iter() for text in element.attrib.values() if re.search("#[0-9a-f]{6}", text)
        ]
        own = {element.attrib["id"] for element in root.iter() if "id" in element.attrib}
        assert {one or other for one, other in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', picture)} == own


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["consumer_expenditure", "health_insurance"])
def test_the_sql_behind_each_table_and_picture_runs(pages: dict[str, str], landed: Path, scheme: str) -> None:
    page = Page(pages[scheme])
    shown = pages[scheme].count("Show as table")
    assert page.tags.count("details") == len(page.sql) + shown + 1  # the scheme's text
    assert len(page.sql) + shown >= page.tags.count("table")
    with reader(landed) as ask:
        answers = [len(ask(sql)) for sql in page.sql]
    assert all(answers) or scheme == "consumer_expenditure"  # whose reports were all accepted
    assert answers.count(0) <= 1


@pytest.mark.slow
def test_the_numbers_are_the_warehouses(pages: dict[str, str], landed: Path) -> None:
    text = Page(pages["consumer_expenditure"]).text
    of_round = "scheme = 'consumer_expenditure' and round = '2026-11-20' and given = ''"
    numbers = query(landed, f"from latest_functionals where {of_round} and estimate is not null")
    assert len(numbers) >= 5
    for row in numbers.to_dict("records"):
        factor = phrase(row["functional"], "USD").factor
        spread = factor * (row["high"] - row["low"])
        estimate, low, high = (rounded(factor * row[name], spread) for name in ("estimate", "low", "high"))
        assert re.search(rf"{re.escape(estimate)}( \S+)? {re.escape(low)} to {re.escape(high)}", text), row
    shares = query(landed, "from latest_frequencies where round = '2026-11-20' and attribute = 'race'")
    for row in shares.to_dict("records"):
        assert f"{row['category']} {rounded(100 * row['estimate'], 100 * (row['high'] - row['low']))} %" in text


@pytest.mark.slow
def test_privacy_is_stated_whole(pages: dict[str, str], landed: Path) -> None:
    text = Page(pages["consumer_expenditure"]).text
    (digest,) = query(landed, "select distinct scheme_digest from runs where scheme = 'consumer_expenditure'").iloc[0]
    assert f"{digest} , which matches the scheme text below" in text
    assert "a client spends ε = 5.099 in this round (4 + ln 3, the sum over attributes)" in text
    assert "at most a factor of 164" in text
    assert "In 3 rounds of this scheme since 2026-11-18, clients were asked 3 times." in text
    assert "A client who answered every time has spent ε = 15.3" in text
    assert "178145/65536 = 2.71827698" in text
    assert "What leaves a device." in text
    records = Page(pages["health_insurance"]).text
    assert "The operating system of each device." in records
    assert "clients are simulated, so" not in records
    assert ">true value<" in pages["consumer_expenditure"]
    assert ">true value<" not in pages["health_insurance"]


@pytest.mark.slow
def test_checks_and_rejects_are_told(pages: dict[str, str]) -> None:
    text = Page(pages["health_insurance"]).text
    assert "✓ passed" in text
    assert "20,188 reports were counted and 2 rejected" in text
    assert "✗" not in text


@pytest.mark.slow
def test_without_a_round_the_newest_landed_is_taken_and_its_page_is_the_same_again(
    pages: dict[str, str], landed: Path, tmp_path: Path
) -> None:
    assert publish(landed, tmp_path / "a.html") == ("health_insurance", "2026-11-20")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == pages["health_insurance"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


@pytest.fixture(scope="module")
def two_schemes(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of three rounds of one scheme and one round of another, without any estimate."""
    path = Path(shutil.copy(created, tmp_path_factory.mktemp("two") / "warehouse.duckdb"))
    with kept_open():
        for scheme, days in (("consumer_expenditure", (18, 19, 20)), ("health_insurance", (20,))):
            for day in days:
                identity = {"scheme": scheme, "scheme_digest": scheme, "round": f"2026-11-{day}"}
                identity |= {"source": "simulated", "randomness": "seeded"}
                land(path, Landing(a_run(run_id=run_id(scheme, f"2026-11-{day}", 7), seed=7, **identity)))
    return path


@pytest.mark.parametrize(
    ("file", "asked", "message"),
    [
        ("a.txt", {}, "not an HTML file"),
        ("a.html", {"round_": "2026-11-17"}, "no landed round '2026-11-17'; the latest of its 3 are 2026-11-18, "),
        ("a.html", {"scheme": "nobody"}, "no round of scheme 'nobody'; its schemes are consumer_expenditure, health"),
        ("a.html", {"round_": "2026-11-20"}, "has landed for 2 schemes, .*; add --scheme"),
    ],
)
def test_what_cannot_be_published_is_one_line(
    two_schemes: Path, tmp_path: Path, file: str, asked: dict[str, str], message: str
) -> None:
    with pytest.raises(WarehouseError, match=message) as caught:
        publish(two_schemes, tmp_path / file, **asked)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_warehouse_without_a_round_or_of_newer_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with pytest.raises(WarehouseError, match="run `ldpflow run` first"):
        publish(path, tmp_path / "a.html")
    with open_for_writing(path):
        pass
    with pytest.raises(WarehouseError, match="no round has landed yet"):
        publish(path, tmp_path / "a.html")
    with open_for_writing(path) as connection:
        connection.execute(
            "insert into migrations values (?, 'tomorrow', repeat('0', 64), now())", [len(shipped_migrations()) + 1]
        )
    with pytest.raises(MigrationError, match="update ldpflow"):
        publish(path, tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


def a_run(**changes: Any) -> RunRow:
    values: dict[str, Any] = {
        "run_id": run_id("ab", "r1", 7),
        "scheme": "people",
        "scheme_digest": "ab",
        "round": "r1",
        "source": "records",
        "randomness": "secure",
        "accepted": 10,
        "rejected": 1,
        "started_at": START,
        "finished_at": START + timedelta(seconds=90),
        "version": "0.1.0",
    }
    return RunRow(**values | changes)


NASTY = "<script>alert(1)</script> & 'quoted' $run_id"


def tables(name: str) -> dict[str, pd.DataFrame]:
    who = {"attribute": name, "given": ""}
    return {
        "frequencies": pd.DataFrame(
            [
                {**who, "estimator": "frequency", "category": category, "estimate": 0.5, "standard_error": 0.1}
                | {"confidence": 0.95, "low": 0.3, "high": 0.7, "raw": 0.5}
                for category in (NASTY, "b")
            ]
        ),
        "budgets": pd.DataFrame(
            [
                {
                    "attribute": name,
                    "mechanism": "tomorrows",
                    "stated": "1",
                    "epsilon": 1.0,
                    "delta": 0.0,
                    "certificate": NASTY,
                    "charges": 9,
                    "states": 2,
                    "known_charges": 3,
                    "known_clients": 2,
                    "most_charges": 2,
                }
            ]
        ),
        "rejects": pd.DataFrame({"reason": [NASTY], "count": [1], "example_position": [3]}),
        "checks": pd.DataFrame(
            {"name": ["fit(a)"], "passed": [False], "observed": [3.0], "threshold": [None], "detail": [NASTY]}
        ),
    }


@pytest.mark.parametrize("name", [pytest.param("answer", marks=pytest.mark.nightly("every case")), NASTY])
def test_a_round_of_older_code_with_hostile_names_is_a_whole_page(fresh: Path, tmp_path: Path, name: str) -> None:
    """Rows that no scheme allows, and none of the tables that describe the scheme."""
    land(fresh, Landing(a_run(scheme=NASTY), tables(name)))
    publish(fresh, tmp_path / "a.html")
    page = Page((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert page.tags.count("script") == 1  # its own
    assert all(sql for sql in page.sql)
    with reader(fresh) as ask:
        assert all(ask(sql) is not None for sql in page.sql)
    assert "1 of 1 checks did not pass." in page.text
    assert "did not store the total epsilon" in page.text
    assert "✗ not passed" in page.text


@pytest.mark.usefixtures("plain_pages")
def test_a_rehearsal_is_called_one(fresh: Path, tmp_path: Path) -> None:
    own = fresh.rename(tmp_path / REHEARSAL)
    land(own, Landing(a_run(randomness="seeded"), tables("answer")))
    publish(own, tmp_path / "a.html")
    assert "Dry run. Real records were privatized with a known seed" in Page((tmp_path / "a.html").read_text()).text


@pytest.mark.usefixtures("plain_pages")
def test_a_warehouse_of_older_code_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with duckdb.connect(path) as connection:
        migrate(connection, shipped_migrations()[:15])
        connection.execute(
            "insert into runs by name select repeat('a', 16) as run_id, 'people' as scheme, 'ab' as scheme_digest, "
            "'r1' as round, 'records' as source, 10 as accepted, 0 as rejected, 'secure' as randomness, "
            "'landed' as state, now()::timestamp as started_at, now()::timestamp as finished_at, '0' as version"
        )
    assert publish(path, tmp_path / "a.html") == ("people", "r1")
    assert query(path, "select max(version) as v from migrations")["v"][0] == len(shipped_migrations())


def test_every_mechanism_is_explained() -> None:
    for name in {name for kinds in BY_KIND.values() for name in kinds}:
        assert what_leaves(name) != what_leaves("of another version")
        assert name_of(name)


@pytest.mark.parametrize(
    ("epsilon", "told"), [(1.0, "2.72"), (1.0986122886681098, "3.00"), (5.0986, "164"), (0.1, "1.11")]
)
def test_a_printed_factor_never_promises_more_than_is_kept(epsilon: float, told: str) -> None:
    assert factor_of(epsilon) == told


@pytest.mark.slow
def test_no_reader_is_left_open(landed: Path, tmp_path: Path) -> None:
    path = shutil.copy(landed, tmp_path / "w.duckdb")
    publish(path, tmp_path / "a.html", round_="2026-11-20", scheme="health_insurance")
    with open_for_writing(path, patience=0.1):
        pass


@pytest.mark.parametrize("name", queries())
def test_a_query_says_what_a_row_is(name: str) -> None:
    first, rest = queries()[name].split("\n", 1)
    assert re.match(r"-- one row( per |: )", first)
    assert ";" not in rest
    assert re.sub(r"'[^']*'", "", rest) == re.sub(r"'[^']*'", "", rest).lower()


def a_comparison(**changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"other_run_id": run_id("ab", "r0", 7), "attribute": "answer", "given": "", "other_given": ""}
    row |= {"functional": "mean", "difference": 5.0, "standard_error": 1.0, "correlation": 0.0, "confidence": 0.95}
    row |= {"low": 3.04, "high": 6.96, "deviations": 5.0, "threshold": 3.5, "differs": True, "reason": None}
    return row | changes


@pytest.mark.usefixtures("plain_pages")
def test_changes_carry_their_verdict_and_groups_are_shown_where_they_may_be_more_than_chance(
    fresh: Path, tmp_path: Path
) -> None:
    rural, urban = "place=rural", "place=urban"
    rows = [
        a_comparison(),
        a_comparison(functional="frequency(a)", difference=0.031, low=0.001, high=0.061, differs=False),
        a_comparison(functional="entropy", difference=None, low=None, high=None, differs=None, reason="too noisy"),
        a_comparison(given=rural, other_given=rural, difference=7.0, low=5.04, high=8.96),
        a_comparison(given=urban, other_given=urban, difference=0.5, low=-1.46, high=2.46, differs=False),
        a_comparison(
            other_run_id=run_id("ab", "r1", 7), given=rural, other_given=urban, difference=-4.0, low=-6.0, high=-2.0
        ),
    ]
    land(fresh, Landing(a_run(round="r0", run_id=run_id("ab", "r0", 7)), tables("answer")))
    land(fresh, Landing(a_run(), tables("answer") | {"comparisons": pd.DataFrame(rows)}))
    publish(fresh, tmp_path / "a.html", round_="r1")
    text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
    changes = text.partition("This round minus round r0, which landed 2026-11-20 06:31 UTC .")[2].partition("Privacy")[
        0
    ]
    assert "answer a +3.1 % points 0.1 to 6.1 perhaps" in changes
    assert "mean +5.0 3.0 to 7.0 moved" in changes
    assert "mean rural +7.0 5.0 to 9.0 moved" in changes
    assert "entropy refused too noisy" in changes
    assert "1 more changes in groups are not significant and not listed." in changes
    assert "urban" not in changes
    assert (
        "Differences between groups statistic groups difference 95 % interval verdict "
        "mean rural − urban −4.0 −6.0 to −2.0 differ" in text
    )


@pytest.mark.slow
def test_of_many_differences_between_groups_those_are_shown_that_may_be_more_than_chance(
    fresh: Path, tmp_path: Path
) -> None:
    quiet = {"difference": 0.1, "low": -1.9, "high": 2.1, "deviations": 0.1, "differs": False}
    rows = [
        a_comparison(other_run_id=run_id("ab", "r1", 7), given=f"age={i}", other_given=f"age={i + 1}", **changes)
        for i, changes in enumerate([quiet] * 20 + [{}] + [quiet] * 20)
    ]
    land(fresh, Landing(a_run(), tables("answer") | {"comparisons": pd.DataFrame(rows)}))
    publish(fresh, tmp_path / "a.html")
    text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
    assert "mean 20 − 21 +5.0 3.0 to 7.0 differ 40 more differences are not significant and not listed." in text
