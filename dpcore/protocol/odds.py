"""The odds of an attacker who sees a client's reports, of each attribute, all attributes and several rounds, and in words.

In words they are a sentence, a paragraph and the numbers; each language has a file of texts.  Every number is rounded up, so a
printed guarantee is never better than the certified one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms.odds import odds_of
from dpcore.mechanisms.stated.bit_vectors import StatedBits
from dpcore.mechanisms.stated.stated_channel import Stated
from dpcore.privacy.odds import Odds, either, together
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax.fields import listed

LANGUAGES = ("en", "de", "es")
LEVELS = ("sentence", "paragraph", "numbers")
GUESS = 50
_LONGEST = 24  # characters; a longer fraction is printed as a decimal only
_MOST_DIGITS = 4
_WHOLE = 10**6  # from this value on a ratio is printed as a power of ten
_CODE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_HOLE = re.compile(r"\{([^}]*)\}")


@dataclass(frozen=True, eq=False)
class SchemeOdds:
    """The odds of each attribute and of all of them in one round; labels, which are public, are only listed.

    rounds: number of rounds.  after: odds after these rounds if each answer is drawn anew, as by a client without a key.  A
    memoized answer does not change, so `all` applies while the values stay the same.  titles: name -> title of attributes and
    labels.
    """

    questions: Mapping[str, Odds]
    all: Odds
    rounds: int
    after: Odds
    in_clear: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)


def scheme_odds(scheme: Scheme, rounds: int = 1) -> SchemeOdds:
    """Return the odds of a scheme; if a client reports one unit, the odds of all are the largest of any unit."""
    questions = {name: odds_of(attribute.mechanism) for name, attribute in scheme.attributes.items()}
    units = [[questions[name] for name in unit] for unit in scheme.units]
    if scheme.reporting == "all":
        parts = [part for unit in units for part in unit]
    else:
        parts = [either(together(unit) for unit in units)]
    titles = {name: part.title or name.replace("_", " ") for name, part in scheme.reported.items()}
    after = together(parts, rounds)
    return SchemeOdds(MappingProxyType(questions), together(parts), rounds, after, tuple(scheme.labels), titles)


def unbounded(scheme: Scheme) -> list[str]:
    """Return a sentence for each attribute whose epsilon is infinite, with the epsilon of a finite design close to it."""
    return [
        f"{name}: epsilon is infinite, because some reports are possible for some values only; if 1 answer in 100 were drawn "
        f"uniformly, it would be {attribute.mechanism.nearest.text} ({float(attribute.mechanism.nearest):.4f})"
        for name, attribute in scheme.attributes.items()
        if isinstance(attribute.mechanism, Stated | StatedBits) and not attribute.budget.is_finite
    ]


@dataclass(frozen=True)
class Line:
    """The texts about one attribute, all attributes, or all rounds; dots: how many of 100 the picture fills.

    average, worst, ratio, variation: the numbers as printed, with a fraction if it is short.
    """

    sentence: str
    paragraph: str
    dots: int
    picture: str
    average: str
    worst: str
    ratio: str
    variation: str


@dataclass(frozen=True)
class Telling:
    """The odds of a scheme in one language; texts: those of the file, for the surrounding page; titles: of questions."""

    texts: Mapping[str, Any]
    questions: Mapping[str, Line]
    all: Line
    after: Line | None
    rounds: int
    titles: Mapping[str, str]

    @property
    def lines(self) -> list[tuple[str, Line]]:
        """Every line with its heading: each attribute, then several reports together."""
        questions = [(self.titles[name], line) for name, line in self.questions.items()]
        return [*questions, *self.together]

    @property
    def together(self) -> list[tuple[str, Line]]:
        """The lines about several reports with their headings: all attributes, and all rounds."""
        words = self.texts["numbers"]
        lines = [(words["all"], self.all)] if len(self.questions) > 1 else []
        return lines if self.after is None else [*lines, (words["rounds"].format(rounds=self.rounds), self.after)]


def texts_of(language: str) -> Mapping[str, Any]:
    """Return the texts of a shipped language, or of a TOML file with the keys of `odds.en.toml`.

    Raises SchemeError for an unknown language, or if a text of the file, or a number in it, is missing.
    """
    if language in LANGUAGES:
        return _shipped(language)
    path = Path(language)
    if path.suffix != ".toml":
        raise SchemeError(f"language must be one of {listed(LANGUAGES)}, or a .toml file of texts, got {language!r}")
    try:
        own = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SchemeError(f"{path}: cannot be read as TOML ({error}); start from a copy of odds.en.toml") from None
    for place in _differs(_shipped("en"), own):
        raise SchemeError(
            f"{path}: {place} is missing, unknown or lacks a number in braces; compare it with odds.en.toml"
        )
    if not _CODE.fullmatch(own["code"]):
        raise SchemeError(f"{path}: code must be a language tag such as fr or pt-BR, got {own['code']!r}")
    return own


def pages_of(scheme: Scheme, first: str, rounds: int) -> dict[str, Any]:
    """Return the odds in every language, as JSON for a page; first: the language shown first, '' for any.

    Raises SchemeError for an unknown language.
    """
    odds, own = scheme_odds(scheme, rounds), [first] if first and first not in LANGUAGES else []
    by_language = [tell(odds, texts_of(language)) for language in (*LANGUAGES, *own)]
    code = texts_of(first)["code"] if first else None
    return {
        "first": code,
        "languages": [asdict(telling) | {"together": _as_lists(telling), "guess": GUESS} for telling in by_language],
    }


def _as_lists(telling: Telling) -> list[list[Any]]:
    return [[title, asdict(line)] for title, line in telling.together]


def tell(odds: SchemeOdds, texts: Mapping[str, Any]) -> Telling:
    """Return a scheme's odds in words."""
    questions = {name: line_of(question, texts, "question") for name, question in odds.questions.items()}
    kind = "all" if len(questions) > 1 else "question"
    after = line_of(odds.after, texts, "rounds", odds.rounds) if odds.rounds > 1 else None
    public = [odds.titles[name] for name in odds.in_clear]
    return Telling(
        texts, questions, _beside(line_of(odds.all, texts, kind), texts, public), after, odds.rounds, odds.titles
    )


def _beside(line: Line, texts: Mapping[str, Any], in_clear: Sequence[str]) -> Line:
    """The line with a sentence about labels, which are public; in_clear: their titles."""
    if not in_clear:
        return line
    sentence = texts["sentence"]["clear"].format(names=", ".join(in_clear))
    return replace(line, sentence=f"{line.sentence} {sentence}", paragraph=f"{line.paragraph} {sentence}")


def line_of(odds: Odds, texts: Mapping[str, Any], kind: str, rounds: int = 1) -> Line:
    """Return odds in words; kind: 'question', 'all' or 'rounds'."""
    mark = texts["decimal"]
    values = {
        "worst": times(odds.worst, mark),
        "average": times(odds.average, mark),
        "guess": str(GUESS),
        "rounds": str(rounds),
        "delta": _small(odds.delta).replace(".", mark),
    }
    beyond = [texts["sentence"]["delta"].format(**values)] if odds.delta else []
    sentence = " ".join([texts["sentence"][kind].format(**values), *beyond])
    paragraph = texts["paragraph"].get(kind, texts["sentence"][kind]).format(**values)
    dots = int(-(-odds.worst * 100 // 1))
    return Line(
        sentence=sentence,
        paragraph=" ".join([paragraph, *beyond]),
        dots=dots,
        picture=texts["picture"].format(guess=GUESS, more=dots - GUESS),
        average=_number(odds.average, mark),
        worst=_number(odds.worst, mark),
        ratio=_number(odds.ratio, mark),
        variation=_number(odds.variation, mark),
    )


def times(share: Fraction, mark: str = ".") -> str:
    """Return a probability in percent, rounded up to a whole number, with decimals if that would be 100.

    >>> times(Fraction(3, 4)), times(Fraction(178145, 243681)), times(Fraction(9999, 10000))
    ('75', '74', '99.99')
    """
    for digits in range(_MOST_DIGITS + 1):
        text = _up(100 * share, digits)
        if Fraction(text) < 100:
            return text.replace(".", mark)
    return "100"


def _number(value: Fraction | float, mark: str) -> str:
    """The value in decimals, after its fraction if that is short; the sign of infinity for an infinite ratio."""
    if isinstance(value, float):
        return "∞"
    decimals = _power(value, mark) if value >= _WHOLE else _up(value, 4).replace(".", mark)
    fraction = str(value)
    if "/" not in fraction or len(fraction) > _LONGEST:
        return decimals
    sign = "=" if Fraction(decimals.replace(mark, ".")) == value else "≤"
    return f"{fraction} {sign} {decimals}"


def _small(value: Fraction) -> str:
    """A probability with two significant digits, rounded up."""
    digits = 1
    while value and value * 10**digits < 10:
        digits += 1
    return _up(value, digits)


def _power(value: Fraction, mark: str) -> str:
    """A large number as 1.2e34, rounded up."""
    exponent = len(str(value.numerator // value.denominator)) - 1
    return f"{_up(value / 10**exponent, 1).replace('.', mark)}e{exponent}"


def _up(value: Fraction, digits: int) -> str:
    """The value with at most `digits` decimals, rounded up."""
    text = str(-(-value * 10**digits // 1)).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".") if digits else text


@cache
def _shipped(language: str) -> Mapping[str, Any]:
    return tomllib.loads((files(__package__) / "texts" / f"odds.{language}.toml").read_text(encoding="utf-8"))


def _differs(pattern: Mapping[str, Any], own: Mapping[str, Any], at: str = "") -> list[str]:
    """The keys that are missing, unknown, or do not contain the same numbers in braces."""
    paths = [f"{at}{key}" for key in pattern.keys() ^ own.keys()]
    for key in pattern.keys() & own.keys():
        first, second = pattern[key], own[key]
        if isinstance(first, Mapping):
            paths += _differs(first, second, f"{at}{key}.") if isinstance(second, Mapping) else [f"{at}{key}"]
        elif not isinstance(second, str) or set(_HOLE.findall(first)) != set(_HOLE.findall(second)):
            paths.append(f"{at}{key}")
    return sorted(paths)
