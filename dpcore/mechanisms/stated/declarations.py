"""Stated channels in a scheme: their weights, or the name of a published channel with its rates.

Every rate is read as an exact fraction.  Of yes or no, yes is the first category.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, lcm
from typing import Any

from dpcore._random import LARGEST
from dpcore.errors import SchemeError, exact
from dpcore.mechanisms.base import Mechanism
from dpcore.mechanisms.declaration import Option, mechanism
from dpcore.mechanisms.stated.bit_vectors import StatedBits
from dpcore.mechanisms.stated.stated_channel import WORDS, Stated
from dpcore.privacy.budget import Budget

Law = list[list[Fraction]]  # a row of probabilities for each value
_MOST_CARDS = 62  # in [Kuk1990]; more have no weights within 2^62, even in decks that are half red


@dataclass(frozen=True)
class Form:
    """A named channel; rates: its rates with their defaults, None if required.

    law: from the number of values and the rates.  values: required number of values, 0 for any number.
    counts: rates that are whole numbers from 1 on, in place of probabilities.
    """

    rates: Mapping[str, Fraction | None]
    law: Callable[..., Law]
    values: int = 0
    counts: tuple[str, ...] = ()


def _truth_or_other(k: int, truth: Fraction) -> Law:
    return [[truth if z == x else (1 - truth) / (k - 1) for z in range(k)] for x in range(k)]


def _attribution_reporting(k: int, rate: Fraction) -> Law:
    """With `rate` any output alike, the true one among them: k / (k + e^epsilon - 1) in its documents."""
    return _truth_or_other(k, 1 - rate + rate / k)


def _opendp(k: int, prob: Fraction) -> Law:
    """With `prob` the truth, else another one."""
    return _truth_or_other(k, prob)


def _forced_response(k: int, yes: Fraction, no: Fraction) -> Law:
    """With `yes` reports yes, with `no` reports no, else the truth."""
    truth = 1 - yes - no
    return [[yes + truth, no], [yes, no + truth]] if truth >= 0 else [[truth]]  # which is no law, and refused


def _unrelated_question(k: int, unrelated: Fraction, share: Fraction) -> Law:
    """With `unrelated` answers another question, with a share of yes of `share`, else the one of interest."""
    return _forced_response(k, unrelated * share, unrelated * (1 - share))


def _warner(k: int, prob: Fraction) -> Law:
    """With `prob` answers the question, else its negation [Warner1965]."""
    return _truth_or_other(k, prob)


def _crosswise(k: int, share: Fraction) -> Law:
    """Reports whether the answers to two questions are the same; the other is yes with a known `share` [Yu2008].

    Outputs: the same, different.
    """
    return [[share, 1 - share], [1 - share, share]]


def _triangular(k: int, share: Fraction) -> Law:
    """Reports whether either answer is yes; the other question's is with a known `share` [Yu2008].

    Outputs: at least one yes, twice no.
    """
    return [[Fraction(1), Fraction(0)], [share, 1 - share]]


def _mangat(k: int, prob: Fraction) -> Law:
    """Those with the trait answer yes, others as in Warner's design with `prob` [Mangat1994]."""
    return [[Fraction(1), Fraction(0)], [1 - prob, prob]]


def _kuk(k: int, yes: Fraction, no: Fraction, cards: Fraction) -> Law:
    """Reports the number of red cards among so many, drawn with replacement from the deck of one's answer [Kuk1990].

    yes, no: the share of red cards in each deck.  Outputs: 0, 1, ... red cards.
    """
    draws = int(cards)
    return [
        [comb(draws, red) * rate**red * (1 - rate) ** (draws - red) for red in range(draws + 1)] for rate in (yes, no)
    ]


def _rappor(k: int, f: Fraction, p: Fraction, q: Fraction) -> Law:
    """Permanent bits are replaced by fair coins with f; a report's bit is one with q of a permanent one, with p of a zero.

    One row: the probabilities of a one where the bit is true, and where it is not [Erlingsson2014, section 3].
    """
    return [[f / 2 * (p + q) + (1 - f) * rate for rate in (q, p)]]


FORMS = {
    "attribution_reporting": Form({"rate": None}, _attribution_reporting),
    "crosswise": Form({"share": None}, _crosswise, values=2),
    "forced_response": Form({"yes": None, "no": None}, _forced_response, values=2),
    "kuk": Form({"yes": None, "no": None, "cards": Fraction(1)}, _kuk, values=2, counts=("cards",)),
    "mangat": Form({"prob": None}, _mangat, values=2),
    "opendp_randomized_response": Form({"prob": None}, _opendp),
    "rappor": Form({"f": None, "p": Fraction(0), "q": Fraction(1)}, _rappor),
    "triangular": Form({"share": None}, _triangular, values=2),
    "unrelated_question": Form({"unrelated": None, "share": None}, _unrelated_question, values=2),
    "warner": Form({"prob": None}, _warner, values=2),
}
_CHANNEL = (
    Option(
        "channel",
        list[list[Fraction]],
        words="a row for each value: the probability of each output, or whole numbers in proportion to it",
    ),
    Option(
        "names",
        list[str],
        words="what files call the outputs; else the categories, where there are as many, or 0, 1, ..",
    ),
    Option("form", str, choices=tuple(FORMS), words="in place of channel: the name of one that others have published"),
    Option(
        "rates", dict, words="of the form, such as { f = 0.5, p = 0.5, q = 0.75 }; a text such as '1/3' is read exactly"
    ),
)


@mechanism(
    "stated", attributes={"categorical"}, estimators=("frequency",), words=WORDS, options=_CHANNEL, is_asked=False
)
class StatedCategories:
    """The stated channels of categories."""

    @staticmethod
    def design(
        budget: Budget | None,
        *,
        categories: int,
        channel: Sequence[Sequence[Fraction]] | None = None,
        names: Sequence[str] | None = None,
        form: str | None = None,
        rates: Mapping[str, Any] | None = None,
    ) -> Mechanism:
        """Return the channel; budget: the promised one, None for the certified one.  Raises SchemeError for an invalid one."""
        if form == "rappor" and channel is None:
            if names is not None:
                raise SchemeError("reports of rappor are bits, which have no names; leave names out")
            ((true, other),) = _law(form, categories, rates)
            return StatedBits.from_rates(budget, categories, true, other)
        return Stated.from_rows(budget, _rows(categories, channel, form, rates), names or (), of_categories=True)

    @staticmethod
    def from_parameters(budget: Budget, parameters: Any) -> Mechanism:
        """Return what `parameters()` described."""
        kind: Any = StatedBits if isinstance(parameters, Mapping) and "draws" in parameters else Stated
        channel: Mechanism = kind.from_parameters(budget, parameters)
        return channel


@mechanism(
    "stated",
    attributes={"numeric"},
    estimators=("log_spline", "ems", "em"),
    words=WORDS,
    options=(
        *_CHANNEL,
        Option("cells", int, least=2, most=1024, words="of a form: cells of the range, a power of two"),
    ),
    is_asked=False,
)
class StatedNumber:
    """The stated channels of a number's cells, which are the rows."""

    @staticmethod
    def design(
        budget: Budget | None,
        *,
        channel: Sequence[Sequence[Fraction]] | None = None,
        names: Sequence[str] | None = None,
        form: str | None = None,
        rates: Mapping[str, Any] | None = None,
        cells: int | None = None,
    ) -> Mechanism:
        """Return the channel; budget: the promised one, None for the certified one.  Raises SchemeError for an invalid one."""
        if form == "rappor":
            raise SchemeError("rappor is for categories; say bins, or step, of the number")
        if (cells is None) != (form is None):
            raise SchemeError(
                "cells goes with form, and form of a number with cells; the rows of a channel are its cells"
            )
        rows = _rows(cells or len(channel or ()), channel, form, rates)
        if len(rows) & (len(rows) - 1):
            raise SchemeError(f"a channel of a number must have a power of two of rows, its cells; got {len(rows)}")
        return Stated.from_rows(budget, rows, names or (), of_categories=False)

    @staticmethod
    def from_parameters(budget: Budget, parameters: Any) -> Mechanism:
        """Return what `parameters()` described."""
        return Stated.from_parameters(budget, parameters)


def _rows(
    values: int, channel: Sequence[Sequence[Fraction]] | None, form: str | None, rates: Mapping[str, Any] | None
) -> Sequence[Sequence[int]]:
    """The weights of so many values, of the table or of the form."""
    if (channel is None) == (form is None):
        raise SchemeError("stated needs channel, a table of weights, or form, the name of one, and not both")
    if channel is not None:
        if rates is not None:
            raise SchemeError("rates go with form; a channel has weights")
        if len(channel) != values:
            raise SchemeError(f"channel must have a row for each of the {values} values, got {len(channel)}")
        return _weights("channel", [list(map(Fraction, row)) for row in channel])
    return _weights(f"rates of {form}", _law(str(form), values, rates))


def _weights(where: str, rows: Law) -> list[list[int]]:
    """Integers in proportion to each row: the row itself if all are integers, else over their common denominator."""
    total = lcm(*(share.denominator for row in rows for share in row))
    if total > LARGEST:
        raise SchemeError(f"{where} must have a common denominator of at most 2^62, got {total}; write fewer digits")
    for row in rows:
        if total > 1 and sum(row) != 1:
            raise SchemeError(
                f"{where} must be whole numbers, or rows that sum to 1; got a sum of {float(sum(row)):.10g}"
            )
    return [[int(share * total) for share in row] for row in rows]


def _law(name: str, values: int, rates: Mapping[str, Any] | None) -> Law:
    """The probabilities of a form with its rates; raises SchemeError where these are none of its."""
    form, stated = FORMS[name], dict(rates or {})
    needed = [rate for rate, default in form.rates.items() if default is None]
    if not set(needed) <= set(stated) <= set(form.rates):
        raise SchemeError(f"rates of {name} are {', '.join(form.rates)}, got {', '.join(stated) or 'none'}")
    if form.values and values != form.values:
        raise SchemeError(f"{name} is for {form.values} categories, yes and no, got {values}")
    if values < 2:
        raise SchemeError(f"{name} needs two values or more, got {values}")
    read = {rate: exact(**{rate: stated[rate]}) if rate in stated else default for rate, default in form.rates.items()}
    for rate in form.counts:
        if read[rate] not in range(1, _MOST_CARDS + 1):
            raise SchemeError(f"{rate} of {name} must be a whole number from 1 to {_MOST_CARDS}, got {read[rate]}")
    law = form.law(values, **read)
    rates_read = [value for rate, value in read.items() if rate not in form.counts]
    if not all(0 <= share <= 1 for share in (*rates_read, *(share for row in law for share in row))):  # type: ignore[operator]
        raise SchemeError(f"rates of {name} must lie between 0 and 1, and so must what comes of them together")
    return law
