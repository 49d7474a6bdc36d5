"""The averaging attack: collect reports of the same respondents in several rounds, and combine them.

With fresh noise, T reports of one value lose T times the epsilon of one report, and their average converges to the value.  A
client with a secret repeats its answer while its value stays the same (`privacy.memoization`), so averaging gains nothing.
This attacker knows that each respondent has one of two records, the pair that reports distinguish best, and guesses by the sum
of log-likelihood ratios over rounds.  The attack runs on the client as it is, and for comparison on a client with fresh noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.audit.mechanisms.base import Pair, hard_pairs, log_ratio
from dpcore.client import Client
from dpcore.errors import check_within
from dpcore.mechanisms.reports import Reports
from dpcore.protocol.report import Report
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import public_levels, token_of

PEOPLE, ROUNDS = 200, 6
_SECRET_WORDS = 8  # 32 bytes
_TIE = 1e-9  # below this, a sum of log-likelihood ratios counts as zero

Answering = Callable[[Scheme, Source, bytes], Callable[[Mapping[str, Any]], Report]]


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """The result of the attack.

    right: share of respondents guessed correctly after 1, 2, .. rounds; chance is one half.  fresh: the same for clients that
    draw fresh noise for every answer.  changed: respondents who changed an answer although their value was the same.
    """

    people: int
    right: tuple[float, ...]
    fresh: tuple[float, ...]
    changed: int

    @property
    def gain(self) -> float:
        """Increase of the correctly guessed share from the first round to the last."""
        return self.right[-1] - self.right[0]

    @property
    def holds(self) -> bool:
        """Whether rounds after the first gave the attacker nothing: no answer changed."""
        return self.changed == 0 and self.gain <= 0


def memoizing(scheme: Scheme, random: Source, secret: bytes) -> Callable[[Mapping[str, Any]], Report]:
    """Return the report function of a client with a secret."""
    return Client(scheme, random, secret=secret).report


def forgetting(scheme: Scheme, random: Source, secret: bytes) -> Callable[[Mapping[str, Any]], Report]:
    """Return the report function of a client with the same token that draws fresh noise."""
    return Client(scheme, random, token_of(secret, scheme.digest)).report


def averaging(
    scheme: Scheme, random: Source, *, people: int = PEOPLE, rounds: int = ROUNDS, client: Answering = memoizing
) -> Averaging:
    """Run the attack on simulated respondents whose values never change.

    people: 2 or more respondents, half of them with each record.  rounds: 2 or more.  client: the client under attack.

    Raises SchemeError for numbers outside these ranges, CalibrationError if a mechanism has no registered likelihood.
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
    """Return the share guessed correctly after each round, and the number of respondents who changed an answer."""
    log_ratios, changed = np.zeros((people, rounds)), 0
    for person in range(people):
        secret = random.words(_SECRET_WORDS).tobytes()
        levels = public_levels(scheme, token_of(secret, scheme.digest))
        asked = {
            name: next((p for p in candidates if p.level == levels.get(name)), candidates[0])
            for name, candidates in pairs.items()
        }
        record = {label.column: label.categories[0] for label in scheme.labels.values()}
        for name, attribute in scheme.attributes.items():
            record |= attribute.values_of((asked[name].first, asked[name].second)[person % 2])
        answer = client(scheme, random, secret)
        reports = [answer(record).answers for _ in range(rounds)]
        changed += any(report != reports[0] for report in reports)
        for name in reports[0].keys() & scheme.attributes.keys():
            answers = Reports(
                np.array([report[name][0] for report in reports], dtype=np.uint8),
                np.array([value for report in reports for value in report[name][1]], dtype=np.int64),
            )
            log_ratios[person] += log_ratio(scheme.attributes[name].mechanism, answers, asked[name])
    sums = np.cumsum(log_ratios, axis=1) * np.where(np.arange(people) % 2, -1, 1)[:, None]
    guessed = np.where(np.abs(sums) < _TIE, 0.5, sums > 0)  # without evidence, a coin decides
    return tuple(float(share) for share in guessed.mean(axis=0)), changed
