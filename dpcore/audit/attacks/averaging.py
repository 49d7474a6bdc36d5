"""The averaging attack: ask the same people again and again, and add up what their answers say.

Under fresh noise T answers to one question tell T times as much as one, and their average is the record.  A client with a
secret gives the same answer while its value is the same (`privacy.memoization`), so that there is nothing to average.  The
attacker here knows that each person has one of two records, the two that reports tell apart best, and guesses by the sum of
all log-likelihood ratios so far.  It is let loose on the client as it is, and for comparison on one that forgets its secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.audit.attacks.likelihood_ratio import Pair, hard_pairs, log_ratio
from dpcore.client import Client
from dpcore.errors import check_within
from dpcore.mechanisms.reports import Reports
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.report import Report
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import public_levels, token_of

PEOPLE, ROUNDS = 200, 6
_SECRET_WORDS = 8  # 32 bytes
_TIE = 1e-9  # sums of logarithms that cancel

Answering = Callable[[Scheme, Source, bytes], Callable[[Mapping[str, Any]], Report]]


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """What the attack found.

    right: the share of people guessed right after 1, 2, .. rounds, a half being chance.  fresh: the same of clients that draw
    fresh noise for every answer.  changed: how many people gave another answer though nothing had changed.
    """

    people: int
    right: tuple[float, ...]
    fresh: tuple[float, ...]
    changed: int

    @property
    def gain(self) -> float:
        """How much larger a share is guessed right after all rounds than after the first."""
        return self.right[-1] - self.right[0]

    @property
    def holds(self) -> bool:
        """Whether nothing was to be gained after the first round: nobody's answer changed."""
        return self.changed == 0 and self.gain <= 0


def memoizing(scheme: Scheme, random: Source, secret: bytes) -> Callable[[Mapping[str, Any]], Report]:
    """Return what a client with a secret answers to a record."""
    return Client(scheme, random, secret=secret).report


def forgetting(scheme: Scheme, random: Source, secret: bytes) -> Callable[[Mapping[str, Any]], Report]:
    """Return what a client answers that keeps its token and draws fresh noise."""
    return Client(scheme, random, token_of(secret, scheme.digest)).report


def averaging(
    scheme: Scheme, random: Source, *, people: int = PEOPLE, rounds: int = ROUNDS, client: Answering = memoizing
) -> Averaging:
    """Return what the attack finds on people who answer in so many rounds, their values never changing.

    people: 2 or more, half of them with either record.  rounds: 2 or more.  client: what is attacked.

    Raises SchemeError for numbers outside these ranges, CalibrationError where a mechanism's likelihood is not known.
    """
    check_within(2, 10**6, people=people)
    check_within(2, 1000, rounds=rounds)
    pairs = {name: hard_pairs(attribute.mechanism, attribute.cells) for name, attribute in scheme.attributes.items()}
    right, changed = _attack(scheme, random, people, rounds, client, pairs)
    fresh, _ = _attack(scheme, random, people, rounds, forgetting, pairs)
    return Averaging(people=people, right=right, fresh=fresh, changed=changed)


def _attack(
    scheme: Scheme,
    random: Source,
    people: int,
    rounds: int,
    client: Answering,
    pairs: Mapping[str, tuple[Pair, ...]],
) -> tuple[tuple[float, ...], int]:
    """The share guessed right after each round, and how many people changed their answer."""
    told, changed = np.zeros((people, rounds)), 0
    for person in range(people):
        secret = random.words(_SECRET_WORDS).tobytes()
        levels = public_levels(scheme, token_of(secret, scheme.digest))
        asked = {
            name: next((p for p in candidates if p.level == levels.get(name)), candidates[0])
            for name, candidates in pairs.items()
        }
        record = {label.column: label.categories[0] for label in scheme.labels.values()}
        for name, attribute in scheme.attributes.items():
            record |= values_of(attribute, (asked[name].first, asked[name].second)[person % 2])
        answer = client(scheme, random, secret)
        reports = [answer(record).answers for _ in range(rounds)]
        changed += any(report != reports[0] for report in reports)
        for name in reports[0].keys() & scheme.attributes.keys():
            answers = Reports(
                np.array([report[name][0] for report in reports], dtype=np.uint8),
                np.array([value for report in reports for value in report[name][1]], dtype=np.int64),
            )
            told[person] += log_ratio(scheme.attributes[name].mechanism, answers, asked[name])
    sums = np.cumsum(told, axis=1) * np.where(np.arange(people) % 2, -1, 1)[:, None]
    guessed = np.where(np.abs(sums) < _TIE, 0.5, sums > 0)  # who knows nothing tosses a coin
    return tuple(float(share) for share in guessed.mean(axis=0)), changed


def values_of(attribute: Attribute, cell: int) -> dict[str, Any]:
    """Return what a record of that input cell may hold, by column; None of who gives no answer."""
    if not attribute.sides:
        return {attribute.column: value_of(attribute, cell)}
    one, other = attribute.sides
    places = divmod(cell, len(other.cells))
    return {side.column: value_of(side, place) for side, place in zip((one, other), places, strict=True)}


def value_of(attribute: Attribute, cell: int) -> Any:
    """Return a value that a record of that input cell may hold; None of who gives no answer."""
    place = int(np.searchsorted(attribute.cells, cell))
    if attribute.has_density:
        room = len(attribute.cells) - len(attribute.categories)
        if place == room:
            return None
        return float(attribute.lower + (attribute.upper - attribute.lower) * (2 * cell + 1) / (2 * room))
    if attribute.bins is not None:  # edges, and below them all
        first, *others = map(float, attribute.bins)
        held = [float(np.nextafter(first, -np.inf)), first, *others]
        return held[place] if place < len(held) else None
    if attribute.points is None:
        return attribute.categories[place]
    return float(attribute.points[place]) if place < len(attribute.points) else None
