"""The continuous exponential mechanism and JointExp: exact ratios of densities, exact draws, and what atoms do to them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import SchemeError
from dpcore.laboratory.central.exponential import integer_weights
from dpcore.laboratory.central.exponential.continuous_exponential import (
    STEPS,
    ContinuousExponential,
    Interval,
    PiecewiseLoss,
    RankLoss,
    SmoothedDistance,
)
from dpcore.laboratory.central.exponential.integer_weights import largest_ratio
from dpcore.laboratory.central.exponential.joint_quantiles import JointExp
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import law_agrees

ONE = Budget.parse(1)
UNIT = Interval(0, 1)
HALF = Fraction(1, 2)


def densities(mechanism: ContinuousExponential, databases: list[tuple[float, ...]]) -> list[list[Fraction]]:
    """Each database's mass per step on the common refinement of all pieces."""
    pieces = [mechanism.weights(np.array(x)) for x in databases]
    edges = np.unique(np.concatenate([edge for edge, _ in pieces]))[:-1]
    result = []
    for edge, weights in pieces:
        at = np.searchsorted(edge, edges, side="right") - 1
        lengths = np.diff(edge).tolist()
        result.append([Fraction(weights[i], lengths[i] * sum(weights)) for i in at])
    return result


@pytest.mark.parametrize(
    "loss", [RankLoss(HALF), RankLoss(Fraction(1, 4)), SmoothedDistance(HALF, 0), SmoothedDistance(HALF, 1 << 17)]
)
def test_densities_of_neighbours_are_within_the_budget(loss: PiecewiseLoss) -> None:
    mechanism = ContinuousExponential(ONE, UNIT, loss)
    grid = (0.1, 0.35, 0.6, 0.85)
    worst = Fraction(1)
    for rest in product(grid, repeat=2):
        laws = densities(mechanism, [(*rest, last) for last in grid])
        worst = max([worst, *(r for a in laws for b in laws if (r := largest_ratio(a, b)))])
    assert 1 < worst <= mechanism.certificate().kept <= ONE.ratio_floor


def test_the_smoothed_distance_is_the_least_over_the_width() -> None:
    """Against the definition, step by step, on a few records near one another."""
    steps = np.array([5, 5, 9, 20, 21])
    span = np.arange(60)
    for t in (Fraction(1, 5), HALF, Fraction(1)):
        rank = -(-t.numerator * 5 // t.denominator)
        plain = np.array([max(0, (steps < s).sum() - rank + 1, rank - (steps <= s).sum()) for s in span])
        for width in (0, 1, 4, 30):
            edges, losses = SmoothedDistance(t, width).pieces(steps)
            found = losses[np.searchsorted(edges, span[:30], side="right") - 1]
            assert found.tolist() == [plain[max(0, s - width) : s + width + 1].min() for s in span[:30]]


def test_draws_follow_the_pieces() -> None:
    mechanism = ContinuousExponential(Budget.parse(3), UNIT, RankLoss(HALF))
    records = np.array([0.2, 0.4, 0.45, 0.7])
    edges, weights = mechanism.weights(records)
    drawn = mechanism.draw(records, 2000, seeded(1))
    counts = np.histogram(drawn * STEPS, bins=edges)[0]
    law = np.array([float(p) for p in integer_weights.law(weights)])
    assert law_agrees(counts, law)
    assert not law_agrees(counts, law**1.4)


def test_an_atom_breaks_the_rank_and_not_the_smoothed_distance() -> None:
    records = np.concatenate([np.full(150, 0.3), np.linspace(0.4, 0.9, 50)])
    errors = {}
    for loss in (RankLoss(HALF), SmoothedDistance(HALF, STEPS >> 7)):
        drawn = ContinuousExponential(ONE, UNIT, loss).draw(records, 200, seeded(2))
        errors[type(loss)] = np.abs(drawn - 0.3).mean()
    assert errors[RankLoss] > 0.05
    assert errors[SmoothedDistance] < 0.012


def brute_force(mechanism: JointExp, cells: tuple[int, ...]) -> tuple[list[tuple[int, ...]], tuple[Fraction, ...]]:
    answers = list(combinations_with_replacement(range(mechanism.cells), len(mechanism.orders)))
    losses = [mechanism.loss(np.array(cells), np.array(answer)) for answer in answers]
    weights = integer_weights.powers(mechanism.ratio, losses)
    return answers, integer_weights.law([weights[loss] for loss in losses])


@pytest.mark.parametrize(
    "orders",
    [
        (HALF,),
        (Fraction(1, 4), Fraction(3, 4)),
        pytest.param((Fraction(1, 4), HALF, Fraction(3, 4)), marks=pytest.mark.slow),
    ],
)
def test_joint_quantiles_of_neighbours_are_within_the_budget(orders: tuple[Fraction, ...]) -> None:
    mechanism = JointExp(ONE, UNIT, orders, cells=4)
    worst = Fraction(1)
    for rest in combinations_with_replacement(range(4), 3):
        laws = [brute_force(mechanism, (*rest, last))[1] for last in range(4)]
        worst = max([worst, *(r for a in laws for b in laws if (r := largest_ratio(a, b)))])
    assert 1 < worst <= mechanism.certificate().kept <= ONE.ratio_floor


@pytest.mark.slow
def test_the_dynamic_program_draws_from_the_law() -> None:
    mechanism = JointExp(Budget.parse(4), UNIT, (Fraction(1, 4), HALF, Fraction(3, 4)), cells=8)
    records = np.array([0.1, 0.15, 0.4, 0.4, 0.4, 0.7, 0.9])
    answers, law = brute_force(mechanism, tuple(mechanism.cells_of(records).tolist()))
    number = {answer: i for i, answer in enumerate(answers)}
    source = seeded(3)
    drawn = [number[tuple((mechanism.release(records, source) * 8).astype(int).tolist())] for _ in range(1500)]
    counts = np.bincount(drawn, minlength=len(answers))
    probabilities = np.array([float(p) for p in law])
    assert law_agrees(counts, probabilities)
    assert not law_agrees(counts, probabilities**1.6)


def test_spreading_an_atom_brings_joint_quantiles_back() -> None:
    records = np.concatenate([np.full(90, 0.3), np.linspace(0.5, 0.9, 30)])
    orders = (Fraction(1, 4), HALF)
    errors = {}
    for width in (0, 4):
        mechanism, source = JointExp(Budget.parse(2), UNIT, orders, cells=256, width=width), seeded(4)
        errors[width] = np.mean([np.abs(mechanism.release(records, source) - 0.3).max() for _ in range(12)])
    assert errors[0] > 0.1
    assert errors[4] < 0.05


def test_intervals_orders_and_widths_that_are_none_are_refused() -> None:
    for lower, upper in ((0.0, np.inf), (-np.inf, np.inf), (np.nan, 1.0), (1.0, 1.0), (-1e308, 1e308), (0.0, 5e-324)):
        with pytest.raises(SchemeError, match="an interval needs"):
            Interval(lower, upper)
    for t in (Fraction(0), Fraction(-1), Fraction(2)):
        for make in (RankLoss, lambda t: SmoothedDistance(t, 3)):
            with pytest.raises(SchemeError, match="t of a quantile"):
                make(t)
    for width in (-1, 2.5, STEPS + 1):
        with pytest.raises(SchemeError, match="width"):
            SmoothedDistance(HALF, width)  # type: ignore[arg-type]


def test_orders_must_increase() -> None:
    for orders in ((), (HALF, HALF), (HALF, Fraction(1, 4)), (Fraction(1),)):
        with pytest.raises(SchemeError, match="increase strictly"):
            JointExp(ONE, UNIT, orders)
