"""What people are told of odds: every printed number is the enumerated fraction, rounded up, in every language."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache, reduce
from operator import mul
from pathlib import Path

import pytest

from dpcore.audit import audit_scheme
from dpcore.errors import SchemeError
from dpcore.privacy.odds import exp_above
from dpcore.protocol.odds import LANGUAGES, Line, SchemeOdds, Telling, scheme_odds, tell, texts_of, times
from dpcore.protocol.scheme import Scheme

EVERY = "\n".join(
    [
        'name = "everything"',
        "clients = 1000",
        *(
            f'[attributes.{mechanism}]\ntype = "categorical"\ncategories = ["a", "b", "c", "d"]\n'
            f'mechanism = "{mechanism}"\nepsilon = {epsilon}'
            for mechanism, epsilon in [
                ("randomized_response", 0.5),
                ("unary_encoding", 1),
                ("subset_selection", 0.25),
                ("hadamard_response", '"ln 3"'),
                ("local_hashing", 2),
            ]
        ),
        *(
            f'[attributes.{mechanism}]\ntype = "numeric"\nlower = 0\nupper = 10\nmechanism = "{mechanism}"\nepsilon = 0.5'
            for mechanism in ("square_wave", "dyadic_wave", "wavelet_laplace")
        ),
        "degree = 1\nfinest_level = 3\ncells = 256\n",
    ]
)
ROUNDS = 3
TIMES = re.compile(r"(\d+(?:[.,]\d+)?) (?:times|Mal|veces)")


@pytest.fixture(scope="module")
def scheme() -> Scheme:
    return Scheme.from_toml(EVERY)


@pytest.fixture(scope="module")
def ratios(scheme: Scheme) -> dict[str, Fraction]:
    """The largest ratio of every question, as the audit enumerates it; of noise, a fraction just above e^loss."""
    kept = {each.name: each.finding.loss for each in audit_scheme(scheme).attributes}
    return {
        name: exp_above(loss.rational) if loss.rational else loss.ratio or Fraction(0) for name, loss in kept.items()
    }


@cache
def odds_of(text: str) -> SchemeOdds:
    return scheme_odds(Scheme.from_toml(text), ROUNDS)


def told(text: str, language: str) -> Telling:
    return tell(odds_of(text), texts_of(language))


def is_up(printed: str, exact: Fraction) -> bool:
    """Whether a number is the exact one rounded up to the digits that are printed."""
    number = Fraction(printed.replace(",", "."))
    digits = len(printed.partition("." if "." in printed else ",")[2])
    return exact <= number < exact + Fraction(1, 10**digits)


def as_printed(cell: str, exact: Fraction) -> bool:
    """Whether a cell says the exact number: as a fraction, if it does, and in decimals."""
    fraction, sign, decimals = cell.rpartition(" ")[0].partition(" ")[0], cell.split(" ")[-2:-1], cell.split(" ")[-1]
    if sign and Fraction(fraction) != exact:
        return False
    return is_up(decimals if "." in decimals or "," in decimals else f"{decimals}.0000", exact)


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_are_those_that_the_audit_enumerates(
    language: str, scheme: Scheme, ratios: dict[str, Fraction]
) -> None:
    lines, odds = told(EVERY, language), odds_of(EVERY)
    whole = reduce(mul, ratios.values())
    assert list(lines.questions) == list(scheme.attributes)
    cases: list[tuple[Line, Fraction, Fraction]] = [
        (line, ratios[name], odds.questions[name].variation) for name, line in lines.questions.items()
    ]
    cases.append((lines.all, whole, odds.all.variation))
    for line, ratio, variation in cases:
        worst, average = ratio / (1 + ratio), (1 + variation) / 2
        assert as_printed(line.worst, worst)
        assert as_printed(line.average, average)
        assert as_printed(line.ratio, ratio)
        assert as_printed(line.variation, variation)
        said = TIMES.findall(line.sentence)
        assert is_up(said[0], 100 * worst)
        assert said[1:] == ["50"]
        said = TIMES.findall(line.paragraph)
        assert is_up(said[0], 100 * worst)
        assert is_up(said[1], 100 * average)
        assert said[2:] == ["50"]
        assert line.dots == -(-100 * worst // 1)
        assert re.findall(r"\d+", line.picture) == ["100", "100", "50", str(line.dots - 50)]
    assert lines.after is not None
    after = whole**ROUNDS
    assert re.findall(r"\d+(?:[.,]\d+)?", lines.after.sentence)[0] == str(ROUNDS)
    assert is_up(TIMES.findall(lines.after.sentence)[0], 100 * after / (1 + after))


def test_a_number_is_never_below_what_it_stands_for() -> None:
    cases = {"3/4": "75", "178145/243681": "74", "99/100": "99", "991/1000": "99.1", "99999/100000": "99.999"}
    assert {share: times(Fraction(share)) for share in cases} == cases
    assert times(1 - Fraction(1, 10**9)) == "100"
    assert times(Fraction(991, 1000), ",") == "99,1"


def test_of_several_units_one_is_reported_and_the_worst_is_told() -> None:
    one = Scheme.from_toml(EVERY.replace("clients = 1000", 'clients = 1000\nreporting = "one"'))
    odds = scheme_odds(one, 2)
    assert odds.all.ratio == max(each.ratio for each in odds.questions.values())
    assert odds.after.ratio == odds.all.ratio**2


def test_gaussian_noise_says_the_chance_that_it_leaves() -> None:
    noisy = EVERY.replace("degree = 1", 'noise = "discrete_gaussian"\ndelta = 0.000001\ndegree = 1')
    line = told(noisy, "de").questions["wavelet_laplace"]
    assert line.sentence.endswith("Mit der Wahrscheinlichkeit 0,000001 kann ein Bericht mehr verraten.")


def test_a_team_has_a_language_of_its_own(tmp_path: Path) -> None:
    texts = (
        files_of("en").replace('code = "en"', 'code = "fr"').replace("Anyone who sees your report", "De deux réponses")
    )
    (tmp_path / "fr.toml").write_text(texts, "utf-8")
    assert told(EVERY, str(tmp_path / "fr.toml")).questions["unary_encoding"].sentence.startswith("De deux réponses")


def test_texts_that_lack_something_are_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for old, new, says in [
        ('code = "en"', "", ": code is missing"),
        (
            "your answers are one of two sets guesses the right set at most {worst}",
            "your answers are one of two sets guesses the right set at most 73",
            ": sentence.all is",
        ),
        ("[paragraph]", "[paragraphs]", ": paragraph is"),
        ('code = "en"', 'code = "<b>"', "language tag"),
        ("[numbers]", "[numbers", "as TOML"),
    ]:
        with subtests.test(old=old, new=new, says=says):
            (tmp_path / "own.toml").write_text(files_of("en").replace(old, new), "utf-8")
            with pytest.raises(SchemeError, match=says):
                texts_of(str(tmp_path / "own.toml"))


def test_a_language_that_is_not_there_is_refused() -> None:
    with pytest.raises(SchemeError, match=r"en, de, es, or a \.toml file"):
        texts_of("fr")


def files_of(language: str) -> str:
    from dpcore import protocol

    return (Path(protocol.__file__).parent / "texts" / f"odds.{language}.toml").read_text("utf-8")


def test_what_is_sent_in_clear_is_said_to_be_left_out() -> None:
    region = '[labels.home_region]\ncategories = ["north", "south"]\n'
    told_of = told(EVERY + region, "en").all
    for text in (told_of.sentence, told_of.paragraph):
        assert text.endswith(
            "These figures do not cover what is sent unprotected (home region): anyone who sees the report can read it."
        )
