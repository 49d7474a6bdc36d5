"""Upper and lower bounds of one client's privacy loss from the multiset of n reports of a finite channel, by integer weights.

Upper: the blanket of the largest ratio and the largest distance of two rows (`blanket`).  Lower: all others have one value, and
reports are sorted into three kinds (`Contrast`) or more (`Kinds`), an attack.  For two values and two reports the distribution
is exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpcore.errors import CalibrationError
from dpcore.privacy.shuffling.blanket import Blanket
from dpcore.privacy.shuffling.contrast import Contrast, TwoCategories
from dpcore.privacy.shuffling.kinds import Kinds, kinds_of

_PAIRS = 128  # up to so many different rows every pair is looked at
_THIRDS = 64  # of the values that everybody else may hold, so many are tried
_TELLS_MORE = 1.004  # times: above that more than three kinds are worth their rounding


@dataclass(frozen=True, kw_only=True)
class Level:
    """What is known of one public level of a channel.

    share: of people who report at this level. ratio: E, at least the largest ratio of two probabilities. distance: at least
    the largest total variation of two rows. mass: M, at most the sum of every output's least probability. attacks: what
    everybody else may hold, and how reports are sorted; none where nobody has looked. two: the exact law, where there are
    two values and two reports.
    """

    ratio: float
    distance: float = 1.0
    mass: float = 0.0
    share: float = 1.0
    attacks: tuple[Contrast | Kinds, ...] = ()
    two: TwoCategories | None = None

    @property
    def blanket(self) -> Blanket:
        """The upper bound of the level's privacy loss."""
        return Blanket(self.ratio, self.distance, self.mass)

    def above(self, reports: int, epsilon: float, crowd: float = 1.0) -> float:
        """Return a number that delta is at most, for a person at this level; crowd: the share of others who might be at it."""
        crowd *= self.share
        if self.two is not None:
            return self.two.above(reports, epsilon, crowd)
        return self.blanket.delta(reports, epsilon, crowd)

    def below(self, reports: int, epsilon: float, crowd: float = 1.0) -> float:
        """Return a number that delta is at least: what an attack finds."""
        crowd *= self.share
        if self.two is not None and crowd == 1:
            return self.two.below(reports, epsilon)
        return max((attack.among(crowd).below(reports, epsilon) for attack in self.attacks), default=0.0)

    def sharpest(self, reports: int, epsilon: float, crowd: float = 1.0) -> Level:
        """Return the level with the one of its attacks that finds most at this epsilon."""
        deltas = [attack.among(crowd * self.share).below(reports, epsilon) for attack in self.attacks]
        return replace(self, attacks=self.attacks[int(np.argmax(deltas)) :][:1]) if len(deltas) > 1 else self


def level_of(weights: np.ndarray, share: float = 1.0, mass: Fraction | None = None) -> Level:
    """Return what the integer weights of one level say, (inputs, outputs), each row over its own total.

    mass: at most M, where the rows are some of the channel's, and the columns kinds of its reports.

    Raises CalibrationError where no number bounds the ratio: then a single report may say what was answered.

    >>> three = level_of(np.array([[3, 1, 1], [1, 3, 1], [1, 1, 3]]))
    >>> three.ratio, three.distance  # p = 1/5
    (3.0, 0.4)
    """
    rows, totals = distinct_rows(weights)
    if len(rows) == 1:
        return Level(ratio=1.0, distance=0.0, share=share)
    law = np.array([[float(Fraction(int(w), t)) for w in row] for row, t in zip(rows, totals, strict=True)])
    ratio = _ratio(rows, totals)
    distance, pair = _farthest(rows, totals, law)
    two = None
    if law.shape == (2, 2):
        first = int(np.argmax(law[:, 0]))
        two = TwoCategories(law[first, 0], law[1 - first, 0])
    attacks = tuple(attacks_of(law, *pair))
    least = _least_mass(rows, totals) if mass is None else mass
    return Level(
        ratio=up(ratio), distance=min(1.0, up(distance)), mass=-up(-least), share=share, attacks=attacks, two=two
    )


def distinct_rows(weights: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Return the rows that differ, of Python integers or int64, and their totals."""
    weights = np.asarray(weights)
    if weights.dtype.kind == "O":
        seen = {tuple(int(entry) for entry in row): None for row in weights}
        rows = np.array(list(seen), dtype=object)
    else:
        rows = np.unique(weights.astype(np.int64), axis=0)
    return rows, [sum(int(entry) for entry in row) for row in rows]


def up(number: Fraction | float) -> float:
    """Return a float that is not below the number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def _ratio(rows: np.ndarray, totals: Sequence[int]) -> Fraction:
    """E, exact."""
    worst = Fraction(1)
    for column in {tuple(column) for column in rows.T.tolist()}:
        shares = {Fraction(w, t) for w, t in zip(column, totals, strict=True)}
        if max(shares) and not min(shares):
            raise CalibrationError(
                "the channel has a report that one answer can give and another cannot, so its epsilon is infinite; "
                "give that report a weight above 0 for every answer"
            )
        worst = max(worst, max(shares) / min(shares)) if max(shares) else worst
    return worst


def _least_mass(rows: np.ndarray, totals: Sequence[int]) -> Fraction:
    """M, exact."""
    columns = Counter(tuple(column) for column in rows.T.tolist())
    least = [
        (min(Fraction(w, t) for w, t in zip(column, totals, strict=True)), many) for column, many in columns.items()
    ]
    return sum((many * weight for weight, many in least), Fraction(0))


def _farthest(rows: np.ndarray, totals: Sequence[int], law: np.ndarray) -> tuple[Fraction | float, tuple[int, int]]:
    """The largest total variation of two rows, exact for few rows and at most a rounding above it else, and who they are."""
    if len(rows) <= _PAIRS:
        best, pair = Fraction(-1), (0, 1)
        near = max(0.5 * np.abs(law[i] - law[j]).sum() for i, j in combinations(range(len(rows)), 2))
        for i, j in combinations(range(len(rows)), 2):
            if 0.5 * np.abs(law[i] - law[j]).sum() < near - 1e-9:
                continue
            total = totals[i] * totals[j]
            apart = sum(max(0, int(a) * totals[j] - int(b) * totals[i]) for a, b in zip(rows[i], rows[j], strict=True))
            if Fraction(apart, total) > best:
                best, pair = Fraction(apart, total), (i, j)
        return best, pair
    most, pair = 0.0, (0, 1)
    for i in range(len(law) - 1):
        distances = 0.5 * np.abs(law[i] - law[i + 1 :]).sum(axis=1)
        at = int(np.argmax(distances))
        if distances[at] > most:
            most, pair = float(distances[at]), (i, i + 1 + at)
    return most * (1 + 1e-12), pair


def attacks_of(law: np.ndarray, first: int, second: int) -> list[Contrast | Kinds]:
    """Return how to tell two rows of a channel apart where everybody else holds one value: the best of some, either way.

    Outputs are sorted by how much likelier they are under one value than under the other, beside how often others send them.
    """
    others = {first, second, *np.linspace(0, len(law) - 1, min(len(law), _THIRDS)).astype(int).tolist()}
    overlaps = np.minimum(np.abs(law[first] - law[second]), law).sum(axis=1)  # where others hide least
    others.add(int(np.argmin(overlaps)))
    rows = {third: (law[first], law[second], law[third]) for third in others}
    strengths = {third: _strength(*rows[third]) for third in others}
    strongest = sorted(others, key=lambda third: strengths[third], reverse=True)
    enough = (1 - 1e-8) * _sorted_kinds(*rows[strongest[0]]).strength  # three kinds are at most as strong as all kinds
    contrasts = (_sorted_kinds(*rows[third]) for third in others if strengths[third][0] >= enough)
    three = max(contrasts, key=lambda contrast: contrast.strength)
    most = next((kinds for third in strongest if (kinds := kinds_of(*rows[third]))), None)
    attacks: list[Contrast | Kinds] = [three]
    if most is not None and most.strength >= _TELLS_MORE * three.strength:
        attacks.append(most)
    return list(dict.fromkeys(side for attack in attacks for side in (attack, attack.reversed)))


def _strength(one: np.ndarray, other: np.ndarray, third: np.ndarray) -> tuple[float, float]:
    """The strength and the skewness of all kinds together, to nine digits; joining what is as likely changes neither."""
    gain, there = one - other, third > 0
    if gain[~there].any():
        return math.inf, 0.0  # the third never sends it
    telling = gain[there] ** 2 / third[there]
    return float(f"{telling.sum():.9g}"), float(f"{abs((telling * gain[there] / third[there]).sum()):.9g}")


def _sorted_kinds(one: np.ndarray, other: np.ndarray, third: np.ndarray) -> Contrast:
    kinds = []
    for gain in (one - other, other - one):
        there = np.flatnonzero((gain > 0) & (third > 0))
        order = there[np.argsort(-(gain / np.maximum(third, 1e-300))[there], kind="stable")]
        information = np.cumsum(gain[order]) ** 2 / np.cumsum(third[order])
        kinds.append(order[: int(np.argmax(information)) + 1] if len(order) else order)
    laws = [(float(law[kinds[0]].sum()), float(law[kinds[1]].sum())) for law in (one, other, third)]
    return Contrast(*laws)
