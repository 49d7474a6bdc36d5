"""Exact enumeration of a client's code: every draw it could make, one client each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpcore._random import Source
from dpcore.mechanisms.base import Mechanism
from dpcore.mechanisms.observation_model import ScoreSums


class EveryDraw(Source):
    """Client i of n gets the i-th combination of all draws: draws are digits of i, the first one the fastest.

    width: how many low bits of a whole word matter.  `combinations` is the product of what was asked for so far: where it
    ends up at n, every combination was made exactly once.
    """

    def __init__(self, width: int = 32) -> None:
        self.combinations = 1
        self._width = width

    def residues(self, bound: int, count: int) -> np.ndarray:
        digit = np.arange(count, dtype=np.int64) // self.combinations % bound
        self.combinations *= bound
        return digit.astype(np.uint32)

    def words(self, count: int) -> np.ndarray:
        return self.residues(1 << self._width, count)

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


def law_of_clients(mechanism: Mechanism, true: int, combinations: int, width: int = 32) -> dict[tuple[int, ...], int]:
    """Return how many of all combinations of draws lead to each report."""
    source = EveryDraw(width)
    reports = mechanism.privatize(np.full(combinations, true), source)
    assert source.combinations == combinations
    assert mechanism.accepts(reports).all()
    rows, counts = np.unique(reports.values.reshape(combinations, -1), axis=0, return_counts=True)
    return {tuple(map(int, row)): int(count) for row, count in zip(rows, counts, strict=True)}


def largest_ratio(weights: np.ndarray) -> Fraction:
    """Return the largest ratio of two probabilities of one report, from weights (inputs, outputs)."""
    assert len({int(sum(row)) for row in weights.astype(object)}) == 1  # one total, so that weights are probabilities
    return max(Fraction(int(max(column)), int(min(column))) for column in weights.T)


def moments_agree(model: ScoreSums, weights: np.ndarray, scores: np.ndarray) -> bool:
    """Whether the model's moments are exactly those of a channel (inputs, outputs) with scores (outputs, inputs)."""
    weights, scores = weights.astype(object), scores.astype(object)
    total = sum(weights[0])
    for x in range(len(weights)):
        for y in range(len(weights)):
            mean = Fraction(int((weights[x] * scores[:, y]).sum()), int(total))
            square = Fraction(int((weights[x] * scores[:, y] ** 2).sum()), int(total))
            if (mean, square) != (
                (model.true_mean, model.true_square) if x == y else (model.other_mean, model.other_square)
            ):
                return False
            for z in range(y + 1, len(weights)):
                cross = Fraction(int((weights[x] * scores[:, y] * scores[:, z]).sum()), int(total))
                if cross != (model.true_cross if x in (y, z) else model.other_cross):
                    return False
    return True
