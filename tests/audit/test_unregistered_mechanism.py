"""A mechanism that only lists its channel is audited completely, without a module in `audit.mechanisms`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from math import log

import numpy as np
import pytest
import scipy

from dpcore._random import Source, seeded
from dpcore.audit import Loss, audit_mechanism
from dpcore.audit.attacks.lower_bound import lower_bound
from dpcore.audit.mechanisms.base import (
    LEVEL,
    Pair,
    enumerated_loss,
    hard_pairs,
    levels,
    log_ratio,
    ranks,
    report_classes,
    report_ranks,
)
from dpcore.errors import CalibrationError
from dpcore.mechanisms import Certificate, Mechanism
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.budget import Budget

WEIGHTS = (
    [[5, 3, 2], [2, 6, 2], [3, 2, 4]],
    [[4, 2, 3], [2, 5, 2], [1, 1, 1]],
)  # of each level; rows have unequal totals
INTEGERS = ([[0], [1], [2]], [[0, 1], [0, 2], [1, 2]])  # of the reports of each level, in the order of the columns
FUNCTIONS = (enumerated_loss, report_classes, levels, hard_pairs, log_ratio, report_ranks)


@dataclass(frozen=True)
class Lopsided(Mechanism):
    """Two levels, equally likely: at one a report is an integer, at the other two of them in increasing order."""

    budget: Budget
    drawn: tuple[list[list[int]], ...] = WEIGHTS  # weights that clients draw with

    name = "lopsided"
    inputs, sizes = 3, (1, 2)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        integers = np.array(INTEGERS[level])
        return np.zeros(level + 1, dtype=np.int64), np.full(level + 1, integers.max())

    def accepts(self, reports: Reports) -> np.ndarray:
        rows = np.split(reports.values, np.cumsum(reports.level[:-1].astype(np.int64) + 1))
        return np.array([row.tolist() in INTEGERS[len(row) - 1] for row in rows])

    def channel(self) -> tuple[np.ndarray, ...]:
        return tuple(np.array(weights) for weights in WEIGHTS)

    def draw_levels(self, n: int, random: Source) -> np.ndarray:
        return random.residues(2, n).astype(np.uint8)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        level = self.public_levels(len(values), random, levels)
        parts: list[list[int]] = [[] for _ in values]
        for number, weights in enumerate(self.drawn):
            for value, row in enumerate(weights):
                at = np.flatnonzero((level == number) & (values == value))
                columns = np.searchsorted(np.cumsum(row), random.residues(sum(row), len(at)), side="right")
                for client, column in zip(at, columns, strict=True):
                    parts[client] = INTEGERS[number][column]
        return Reports(level, np.array([integer for part in parts for integer in part], dtype=np.int64))

    def certificate(self) -> Certificate:
        raise AssertionError("the audit does not use certificates")

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        raise NotImplementedError

    def statistics(self, reports: Reports) -> np.ndarray:
        raise NotImplementedError

    def model(self) -> FiniteChannel:
        raise NotImplementedError


PROBABILITIES = [[[Fraction(weight, sum(row)) for weight in row] for row in weights] for weights in WEIGHTS]
RATIOS = [
    max(p / q for one, other in permutations(rows, 2) for p, q in zip(one, other, strict=True))
    for rows in PROBABILITIES
]
TOY = Lopsided(Budget(ratio=max(RATIOS)))


def test_no_function_of_the_audit_is_registered_for_it() -> None:
    assert all(function.dispatch(Lopsided) is function.dispatch(object) for function in FUNCTIONS)


def test_its_exact_loss_and_its_levels_are_those_of_every_ratio() -> None:
    finding = audit_mechanism(TOY)
    assert finding.loss == Loss(ratio=max(RATIOS))
    assert finding.doubts == ()
    for level, rows, ratio in zip(levels(TOY), PROBABILITIES, RATIOS, strict=True):
        distances = [sum(abs(p - q) for p, q in zip(*pair, strict=True)) / 2 for pair in permutations(rows, 2)]
        assert level.share == 0.5
        assert level.ratio == pytest.approx(float(ratio), rel=1e-12)
        assert level.distance == pytest.approx(float(max(distances)), rel=1e-12)
        assert level.attacks


def test_its_log_ratios_are_those_of_the_weights_and_the_pair_attains_the_largest() -> None:
    level = np.repeat([0, 1], 3).astype(np.uint8)
    every = Reports(level, np.concatenate([np.ravel(rows) for rows in INTEGERS]))
    for first, second in permutations(range(3), 2):
        logs = [log(p / q) for rows in PROBABILITIES for p, q in zip(rows[first], rows[second], strict=True)]
        assert np.allclose(log_ratio(TOY, every, Pair(first, second)), logs)
    (pair,) = hard_pairs(TOY)
    at_level = log_ratio(TOY, every, pair)[level == pair.level]
    assert np.max(at_level) == pytest.approx(log(max(RATIOS)))


def test_an_attack_measures_nearly_its_loss() -> None:
    bound = lower_bound(TOY, seeded(1), trials=40_000)
    assert 0.9 * log(max(RATIOS)) < bound.epsilon <= log(max(RATIOS))


def test_its_ranks_are_uniform_unless_clients_draw_with_other_weights(subtests: pytest.Subtests) -> None:
    values = np.arange(60_000) % 3
    faulty = (WEIGHTS[0], [[4, 2, 3], [2, 4, 3], [1, 1, 1]])
    for mechanism, is_honest in ((TOY, True), (replace(TOY, drawn=faulty), False)):
        with subtests.test(is_honest=is_honest):
            reports = mechanism.privatize(values, seeded(2))
            by_part = ranks(mechanism, values, reports, np.random.default_rng(3))
            assert by_part.keys() == {"the report", LEVEL}
            chances = [
                scipy.stats.chisquare(np.histogram(rank[values == value], 16, (0, 1))[0]).pvalue
                for rank in by_part.values()
                for value in range(3)
            ]
            assert (min(chances) > 1e-4) == is_honest


def test_a_channel_in_another_order_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = TOY.privatize(np.arange(30) % 3, seeded(1))
    monkeypatch.setattr(Lopsided, "accepts", lambda self, reports: np.ones(len(reports), dtype=bool))
    with pytest.raises(CalibrationError, match="lopsided: its channel does not list the reports of level 1"):
        log_ratio(TOY, reports, Pair(0, 1))
