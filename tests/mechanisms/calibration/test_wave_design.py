"""The dyadic wave's constants are the minimisers of their criterion, and the criterion tells good from bad."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcore.laboratory.studies.design.wave_design import criterion, search
from dpcore.mechanisms.calibration import wave_design
from dpcore.privacy.budget import Budget
from tests.helpers.cases import some_by_day


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", some_by_day([0.5, 1.0, 4.0], 4.0))
def test_the_table_minimises_the_criterion(epsilon: float) -> None:
    chosen = wave_design.choose(Budget.parse(f"{epsilon:g}"))
    assert criterion(chosen, epsilon) <= criterion(search(epsilon), epsilon) + 1e-3


def test_worse_designs_score_worse(subtests: pytest.Subtests) -> None:
    for epsilon in [0.5, 1.0, 2.0, 4.0]:
        with subtests.test(epsilon=epsilon):
            chosen = wave_design.choose(Budget.parse(f"{epsilon:g}"))
            best = criterion(chosen, epsilon)
            assert criterion(replace(chosen, level_law=(300, 300, 200, 200)), epsilon) > best + 0.02
            if epsilon < 3:  # above, nearly everybody answers the anchor
                assert criterion(replace(chosen, level_law=(997, 1, 1, 1)), epsilon) > best
            wide = (min(31, 2 * chosen.half_widths[0] + 6), *chosen.half_widths[1:])
            assert criterion(replace(chosen, half_widths=wide), epsilon) > best + 0.01


def test_a_budget_takes_the_nearest_row() -> None:
    at_one, near_one = (wave_design.choose(Budget.parse(text)) for text in ("1", "1.1"))
    assert at_one == near_one
    assert wave_design.choose(Budget.parse("20")) == wave_design.choose(Budget.parse("8"))
    assert wave_design.choose(Budget.parse("0.01")) == wave_design.choose(Budget.parse("0.1"))
    wider = wave_design.choose(Budget.parse("1"), cells=128, levels=5)
    assert len(wider.level_law) == len(wider.half_widths) == 5
    assert wider.half_widths[0] in (32, 33)
