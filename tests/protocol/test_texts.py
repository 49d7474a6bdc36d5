"""Open answers in schemes and records: what is read as which text, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcore._random import seeded
from dpcore.client import Client
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.populations import respondents_of
from dpcore.populations.inspection import inspect
from dpcore.protocol.records.blocks import privatize
from dpcore.protocol.records.texts import TextDomain
from dpcore.protocol.scheme import Scheme

WORDS = """
name = "words"
clients = 1000
[attributes.word]
type = "text"
max_bytes = 6
alphabet = "abcdeéhortw "
epsilon = 1
"""
ANY = WORDS.replace('alphabet = "abcdeéhortw "\n', "")


def _read(text: str, column: Any) -> list[str]:
    """The text of every record, as the scheme reads it."""
    scheme = Scheme.from_toml(text)
    texts = scheme.attributes["word"].texts
    assert texts is not None
    return texts.texts_of(scheme.encode({"word": column})["word"])


@pytest.mark.parametrize(
    "column",
    [
        ["Tea", " ab\t cd ", "E\u0301te\u0301"],
        pa.array(["Tea", " ab\t cd ", "E\u0301te\u0301"]),
        pd.Series(["Tea", " ab\t cd ", "E\u0301te\u0301"], dtype="category"),
        np.array(["Tea", " ab\t cd ", "E\u0301te\u0301"]),
    ],
    ids=["list", "arrow", "pandas categories", "numpy texts"],
)
def test_spellings_of_one_text_are_read_alike(column: Any) -> None:
    assert _read(WORDS.replace("6", "10"), column) == ["tea", "ab cd", "\u00e9t\u00e9"]


def test_each_normalization_can_be_left_out() -> None:
    def normalized(text: str, *steps: str) -> str:
        return TextDomain("", 10, steps).normalized(text)

    assert normalized("E\u0301  A", "nfc") == "\u00c9  A"
    assert normalized("E\u0301  A", "case") == "e\u0301  a"
    assert normalized(" E\u0301 \u3000 A", "blanks") == "E\u0301 A"
    assert normalized(" E\u0301  A ") == " E\u0301  A "


def test_texts_without_an_alphabet_are_bytes() -> None:
    words = ["tea", "\u00fc\u2603", "\U0001f600x", "42", "true", "true"]
    assert _read(ANY, ["TEA", "\u00dc\u2603", "\U0001f600x", 42.0, True, np.True_]) == words
    symbols = Scheme.from_toml(ANY).encode({"word": ["\u00fc"]})["word"].view(np.uint8)
    assert symbols.tolist() == [*"\u00fc".encode(), 0, 0, 0, 0]  # padded to six


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("abcdeab", r"has a text too long at record 2 .*at most 6 bytes"),
        ("\u00e9\u00e9\u00e9\u00e9", r"has a text too long at record 2"),
        ("xyz", r"has a text with other characters at record 2 .*those of alphabet"),
        ("a\0", r"has a text with other characters"),
        ("\ud800", r"has a text with other characters"),
        (1.5, r"has a text with other characters"),
    ],
)
def test_other_texts_are_refused_without_being_shown_or_become_other(value: Any, problem: str) -> None:
    with pytest.raises(InvalidRecord, match=problem) as refusal:
        _read(WORDS, ["tea", value])
    assert str(value) not in str(refusal.value)
    assert _read(WORDS + 'outside = "other"\n', ["tea", value]) == ["tea", "other"]


def test_lists_are_refused_and_never_become_other() -> None:
    for value in (["a"], {"a": 1}):
        with pytest.raises(InvalidRecord, match=r"column 'word' must hold texts or numbers"):
            _read(WORDS + 'outside = "other"\n', ["tea", value])
    for value in (float("inf"), 2.0**53, 10**5000):
        assert _read(WORDS + 'outside = "other"\n', ["tea", value]) == ["tea", "other"]


def test_control_characters_are_no_text() -> None:
    texts = Scheme.from_toml(ANY.replace("epsilon", "normalize = []\nepsilon")).attributes["word"].texts
    assert texts is not None
    strange = ["\x1b[m", "a\nb", "\x7f", "\u202ea", "\u200eb", "a\u2028"]
    assert (texts.cells(strange)[1] != 0).all()
    cells = np.array([b"\x1b[m", b"\xff", "\u00e9".encode(), b""], dtype="S6")
    assert texts.are_possible(cells).tolist() == [False, False, True, False]


def test_a_missing_text_is_refused_or_counted() -> None:
    for nothing in ("", "  ", None, float("nan")):
        with pytest.raises(
            InvalidRecord, match=r'has no value at record 2 .*a text; fill it in or set missing = "category"'
        ):
            _read(WORDS, ["tea", nothing])
        assert _read(WORDS + 'missing = "category"\n', ["tea", nothing]) == ["tea", "missing"]
    assert _read(ANY + 'missing = "category"\n', ["MISSING"]) == ["missing"]  # one spelling of no answer
    assert _read(ANY.replace("6", "8"), ["MISSING", "none"]) == ["missing", "none"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('alphabet = "aa"', "different printable characters"),
        ('alphabet = "A"', "normalization changes 'A'"),
        ('alphabet = "ab"\noutside = "other"', "allow the text 'other'"),
        ('functionals = ["mean"]', "functionals are of numbers"),
        ("max_bytes = 25", "between 1 and 24"),
        ('max_bytes = 1\nalphabet = "\u00e9 "', "shorter than every character"),
        ('normalize = ["nfd"]', "one of 'nfc', 'case', 'blanks'"),
        ('categories = ["a"]', "unknown key 'categories'"),
    ],
)
def test_what_no_text_can_have_is_refused(line: str, message: str) -> None:
    text = ANY.replace("max_bytes = 6\n", "") if "max" in line else ANY
    with pytest.raises(SchemeError, match=message):
        Scheme.from_toml(text + line + "\n")


def test_a_text_is_no_part_of_a_pair_and_has_few_labels() -> None:
    other = '[attributes.home]\ntype = "boolean"\nepsilon = 1\n'
    with pytest.raises(SchemeError, match="word is a text, which cannot be part of a pair"):
        Scheme.from_toml(WORDS.replace("clients", 'pairs = [["word", "home"]]\nclients') + other)
    regions = ", ".join(f'"r{number}"' for number in range(40))
    with pytest.raises(
        SchemeError, match="word: texts are counted for at most 31 combinations of labels, and there are 40"
    ):
        Scheme.from_toml(WORDS + f"[labels.region]\ncategories = [{regions}]\n")


@pytest.mark.parametrize(
    "text", [WORDS, ANY + 'missing = "category"\nnormalize = ["nfc"]\n', WORDS + 'outside = "other"\n']
)
def test_the_canonical_text_is_the_same_scheme(text: str) -> None:
    scheme = Scheme.from_toml(text)
    assert Scheme.from_toml(scheme.canonical).digest == scheme.digest
    with pytest.raises(SchemeError, match=r"client\.length must be 5"):
        Scheme.from_toml(scheme.canonical.replace("max_bytes = 6", "max_bytes = 5"))


def test_a_report_has_one_length_for_every_text() -> None:
    scheme = Scheme.from_toml(WORDS)
    reports = [privatize(scheme, {"word": [text] * 500}, seeded(1)).of("word").reports for text in ("a", "abcdeh")]
    assert len(reports[0].values) == len(reports[1].values) == 1500
    assert np.array_equal(reports[0].level, reports[1].level)


def test_a_client_with_a_secret_repeats_its_answer_to_the_same_text() -> None:
    scheme = Scheme.from_toml(WORDS)
    client = Client(scheme, seeded(1), secret=b"x" * 32)
    answers = [client.report({"word": text}).answers["word"] for text in ("tea", "Tea ", "cat", "tea")]
    assert answers[0] == answers[1] == answers[3]
    assert answers[2][0] == answers[0][0]  # the row is the token's
    assert answers[2] != answers[0]


def test_texts_of_one_bucket_have_one_answer_for_life_and_two_attributes_have_two() -> None:
    two = ANY.replace(
        "[attributes.word]",
        '[attributes.other]\ntype = "text"\nmax_bytes = 6\ncolumn = "word"\nepsilon = 1\n[attributes.word]',
    )
    scheme = Scheme.from_toml(two)
    client = Client(scheme, seeded(1), secret=b"y" * 32)
    first = client.report({"word": "a"}).answers
    assert first["word"][1] != first["other"][1]
    mechanism, texts = scheme.attributes["word"].mechanism, scheme.attributes["word"].texts
    assert texts is not None
    words = [f"{number}" for number in range(20_000)]
    states = mechanism.states(texts.symbols_of(["a", *words]), first["word"][0])
    same = words[int(np.flatnonzero(states[1:] == states[0])[0])]
    assert client.report({"word": same}).answers["word"] == first["word"]


def test_examples_are_texts_that_records_may_hold() -> None:
    texts = Scheme.from_toml(WORDS).attributes["word"].texts
    assert texts is not None
    cells = texts.examples()
    assert len(set(cells.tolist())) == 1024
    assert np.array_equal(texts.cells(texts.texts_of(cells))[0], cells)
    assert TextDomain("a", 3).texts_of(TextDomain("a", 3).examples()) == ["a", "aa", "aaa"]


def test_stated_shares_are_of_possible_texts() -> None:
    scheme = Scheme.from_toml(WORDS + "[simulate.word.shares]\nwort = 2\nWORT = 1\n")
    people = respondents_of(scheme)
    cells, shares = people.text_shares(scheme.attributes["word"])
    assert (len(cells), shares.tolist()) == (1, [1])
    with pytest.raises(SchemeError, match=r"simulate\.word\.shares: no text of word can be 'xyz'"):
        respondents_of(Scheme.from_toml(WORDS + "[simulate.word.shares]\nxyz = 1\n"))


def test_texts_that_become_other_are_counted_as_such(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("word\nwort\nxyz\nwortwort\n")
    (counts,) = inspect(tmp_path / "words.csv", Scheme.from_toml(WORDS + 'outside = "other"\n'))
    assert (counts.accepted, counts.other) == (1, 2)
