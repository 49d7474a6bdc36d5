"""Two stages for the integral of f squared: unbiased, of known error, and better than one where a density is rough."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import NotEstimable, SchemeError
from dpcore.laboratory.theory import two_stage
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import mean_agrees


def rough(smoothness: float, height: float, cells: int, level: int) -> tuple[np.ndarray, float, float]:
    """1 + height sum_j 2^{-j s} r_j, r_j = +-1 on halves of cells of width 2^-j: its law on cells, int (P f)^2, int f^2."""
    x = (np.arange(cells) + 0.5) / cells
    scales = range(int(np.log2(cells)))
    density = 1 + sum(height * 2 ** (-j * smoothness) * np.where((x * 2**j) % 1 < 0.5, 1, -1) for j in scales)
    squares = height**2 * 4.0 ** (-smoothness * np.arange(len(scales)))
    return density / cells, 1 + squares[:level].sum(), 1 + squares.sum()


def test_two_stages_are_unbiased_and_know_their_error() -> None:
    level, n = 4, 1_000_000
    mechanism = two_stage.mechanism_for(Budget.parse("1"), level)
    law, projected, _ = rough(0.5, 0.28, mechanism.cells, level)
    found = [two_stage.integrated_square(mechanism, law, n, level, seeded((r, 1))) for r in range(60)]
    values = np.array([each.value for each in found])
    assert mean_agrees(values, projected)
    assert not mean_agrees(values, projected * 1.02)
    assert 0.8 < np.median([each.standard_error for each in found]) / values.std(ddof=1) < 1.25


def test_at_fine_levels_one_stage_pays_for_the_square_of_its_noise() -> None:
    level, n = 6, 100_000
    mechanism = two_stage.mechanism_for(Budget.parse("1"), level)
    law, projected, _ = rough(0.3, 0.18, mechanism.cells, level)
    two = [two_stage.integrated_square(mechanism, law, n, level, seeded((r, 2))).value for r in range(12)]
    one = [two_stage.one_stage(mechanism, law, n, level, seeded((r, 3))) for r in range(12)]
    assert np.std(two) < np.std(one) / 2
    assert abs(np.mean(one) - projected) < 4 * np.std(one) / np.sqrt(12)


@pytest.mark.nightly("a study")
def test_at_its_best_level_the_interactive_estimate_wins_and_more_so_with_more_people() -> None:
    errors = []
    for n in (10**7, 10**8):
        least = {}
        for level in (5, 7, 9):
            mechanism = two_stage.mechanism_for(Budget.parse("1"), level)
            law, _, truth = rough(0.3, 0.18, mechanism.cells, level)
            ways = {
                "two": [two_stage.integrated_square(mechanism, law, n, level, seeded((r, 4))).value for r in range(60)],
                "one": [two_stage.one_stage(mechanism, law, n, level, seeded((r, 5))) for r in range(60)],
            }
            for way, values in ways.items():
                error = np.sqrt(np.mean((np.array(values) - truth) ** 2))
                least[way] = min(least.get(way, np.inf), error)
        errors.append(least["one"] / least["two"])
    assert 1.05 < errors[0] < errors[1]


def test_the_second_question_is_a_bit_of_epsilon() -> None:
    mechanism = two_stage.mechanism_for(Budget.parse("ln 3"), 4)
    law, _, _ = rough(0.5, 0.28, mechanism.cells, 4)
    counts = np.rint(400_000 * law).astype(np.int64)
    first = mechanism.simulate(counts, seeded(1))
    question, error = two_stage.ask(mechanism, first, 4)
    assert error > 0
    assert question.parts.min() == 0
    assert question.parts.max() == 1 << 16
    assert question.answer.certificate().kept == 3
    cells = np.repeat(np.arange(mechanism.cells), counts)
    bits = question.privatize(cells, seeded(2))
    direct, simulated = (
        question.estimate(said)[0] for said in (np.bincount(bits, minlength=2), question.simulate(counts, seeded(3)))
    )
    _, spread = question.estimate(np.bincount(bits, minlength=2))
    assert abs(direct - simulated) < 6 * spread


def test_what_cannot_be_asked_is_refused() -> None:
    mechanism = two_stage.mechanism_for(Budget.parse("1"), 4)
    nothing = np.zeros(sum(mechanism.sizes) + len(mechanism.sizes), dtype=np.int64)
    with pytest.raises(SchemeError, match="level must lie"):
        two_stage.ask(mechanism, nothing, 9)
    with pytest.raises(NotEstimable, match="has no report"):
        two_stage.ask(mechanism, nothing, 4)
    with pytest.raises(NotEstimable, match="has 0 answers"):
        two_stage.Question(
            parts=np.zeros(1, dtype=np.int64),
            lowest=0.0,
            highest=1.0,
            answer=two_stage.RandomizedResponse.design(Budget.parse("1"), categories=2),
        ).estimate(np.zeros(2))
