"""Titles of attributes, labels and categories: read, checked, part of the digest if stated, and shown with odds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpcore.collector.browser_client import ENTRY, joined
from dpcore.errors import SchemeError
from dpcore.protocol.odds import pages_of, scheme_odds, tell, texts_of
from dpcore.protocol.revision import revise
from dpcore.protocol.scheme import Scheme
from tests.helpers.bundles import Bundle
from tests.helpers.node import OPEN_ALL, node

TABLES = """name = "s"
[attributes.nps]
type = "categorical"
categories = ["no_never", "yes"]
epsilon = 1
mechanism = "randomized_response"
{nps}
[attributes.main_wage]
type = "numeric"
lower = 0
upper = 100
epsilon = 1
{wage}
[attributes.pair]
type = "categorical"
of = ["job", "town"]
categories = [["a", "b"], ["c", "d"]]
epsilon = 1
{pair}
[labels.abroad]
type = "boolean"
{abroad}
"""
TITLED = {
    "nps": 'title = "Promoter score"\ntitles = { yes = "Yes, at least once" }',
    "wage": 'title = "Weekly wage"',
    "pair": 'title = "Job and town"',
    "abroad": 'title = "Lives abroad"\ntitles = { true = "Yes", false = "No" }',
}
WRONG = [  # where, what is written, what is said
    ("nps", 'titles = { maybe = "Maybe" }', "attributes.nps: titles.maybe is not the title of a category"),
    ("nps", 'titles = { yes = "" }', "attributes.nps: titles.yes must be a text in quotes that is not empty, got ''"),
    ("nps", "titles = { yes = 3 }", "attributes.nps: titles.yes must be a text in quotes that is not empty, got 3"),
    (
        "nps",
        'titles = { yes = "a\\nb" }',
        "attributes.nps: titles.yes must be printable text of at most 200 characters",
    ),
    ("nps", 'titles = { yes = "no_never" }', "attributes.nps: titles must differ from each other and from other"),
    ("nps", 'titles = { yes = "A", no_never = "A" }', "attributes.nps: titles must differ from each other"),
    ("nps", 'titles = ["Yes"]', "attributes.nps: titles must map categories to titles, such as"),
    ("nps", 'title = ""', "attributes.nps: title must be a text in quotes that is not empty"),
    ("wage", 'title = "   "', "attributes.main_wage: title must be a text in quotes that is not empty"),
    ("wage", "title = 3", "attributes.main_wage.title must be a text in quotes"),
    ("wage", f'title = "{"a" * 201}"', "attributes.main_wage: title must be printable text of at most 200 characters"),
    ("wage", 'titles = { 1 = "one" }', "attributes.main_wage has an unknown key 'titles'"),
    ("pair", 'titles = { a = "A" }', "attributes.pair has an unknown key 'titles'"),
    ("abroad", 'title = "a\\u200bb"', "labels.abroad: title must be printable text of at most 200 characters"),
    ("abroad", 'titles = { yes = "Yes" }', "labels.abroad: titles.yes is not the title of a category"),
]


def text_of(**titles: str) -> str:
    return TABLES.format(**dict.fromkeys(TITLED, "") | titles)


@pytest.fixture(scope="module")
def plain() -> Scheme:
    return Scheme.from_toml(text_of())


@pytest.fixture(scope="module")
def titled() -> Scheme:
    return Scheme.from_toml(text_of(**TITLED))


def test_titles_are_read_and_written(titled: Scheme) -> None:
    again = Scheme.from_toml(titled.canonical)
    assert again.canonical == titled.canonical
    for scheme in (titled, again):
        assert scheme.attributes["nps"].title == "Promoter score"
        assert scheme.attributes["nps"].titles == {"yes": "Yes, at least once"}
        assert [scheme.attributes[name].title for name in ("main_wage", "pair")] == ["Weekly wage", "Job and town"]
        assert scheme.labels["abroad"].title == "Lives abroad"
        assert list(scheme.labels["abroad"].titles.items()) == [("false", "No"), ("true", "Yes")]


def test_a_scheme_without_titles_has_none_in_its_text(plain: Scheme, titled: Scheme) -> None:
    assert "title" not in plain.canonical
    stated = [line for line in titled.canonical.splitlines() if line not in plain.canonical.splitlines()]
    assert len(stated) == 4 + 2 + 3  # four titles, two tables of titles, three titles of categories


@pytest.mark.parametrize(("where", "written", "said"), WRONG)
def test_a_wrong_title_is_refused_in_one_line(where: str, written: str, said: str) -> None:
    with pytest.raises(SchemeError) as refused:
        Scheme.from_toml(text_of(**{where: written}))
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_schemes_that_differ_in_titles_have_comparable_estimates(plain: Scheme, titled: Scheme) -> None:
    revision = revise(plain, titled)
    assert not revision.same
    assert (revision.alike, revision.apart, revision.in_clear) == (tuple(plain.attributes), (), ())
    changes = {(change.where, change.field): (change.before, change.after) for change in revision.changes}
    assert changes["nps", "titles"] == ("-", "yes = Yes, at least once")
    assert changes["labels.abroad", "title"] == ("-", "Lives abroad")


def test_odds_show_the_title_or_the_name_as_written(plain: Scheme, titled: Scheme) -> None:
    for scheme, shown, public in (
        (plain, ["nps", "main wage", "pair"], "abroad"),
        (titled, ["Promoter score", "Weekly wage", "Job and town"], "Lives abroad"),
    ):
        telling = tell(scheme_odds(scheme), texts_of("en"))
        assert [title for title, _ in telling.lines][:3] == shown
        assert public in telling.all.sentence
        assert list(telling.questions) == ["nps", "main_wage", "pair"]
        for language in pages_of(scheme, "", 1)["languages"]:
            assert [language["titles"][name] for name in language["questions"]] == shown


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_browser_opens_the_titles_that_python_reads(titled: Scheme, tmp_path: Path, root: Path) -> None:
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    shutil.copy(root / "tests/browser/bundles.mjs", tmp_path)
    text, yes = titled.canonical, 'yes = "Yes, at least once"'
    assert text.count(yes) == 1
    cases = {
        "fine": text,
        "unknown": text.replace(yes, 'maybe = "Maybe"'),
        "empty": text.replace(yes, 'yes = ""'),
        "number": text.replace(yes, "yes = 3"),
        "twice": text.replace(yes, 'yes = "no_never"'),
        "long": text.replace(yes, f'yes = "{"a" * 201}"'),
        "blank": text.replace('"Weekly wage"', '" "'),
        "label": text.replace('"Lives abroad"', '""'),
    }
    bundles = {name: Bundle(name, case, (), "", "").files() for name, case in cases.items()}
    said = node(tmp_path, OPEN_ALL, json.dumps(bundles))
    assert said["fine"] == ""
    for name, case in cases.items():
        if name != "fine":
            with pytest.raises(SchemeError):
                Scheme.from_toml(case)
            assert "title" in said[name], name
