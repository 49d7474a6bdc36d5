"""Designs for a purpose solve the problem that their study states, and are what clients draw by."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpcore.errors import SchemeError
from dpcore.laboratory.studies.design import wave_purposes
from dpcore.laboratory.studies.design.wave_purposes import (
    PRICES,
    Price,
    Problem,
    errors,
    informations,
    patterns,
    search,
)
from dpcore.mechanisms import DyadicWave
from dpcore.mechanisms.calibration import wave_design
from dpcore.privacy.budget import Budget
from tests.helpers.cases import some_by_day


def table(purpose: str, epsilon: float) -> tuple[tuple[wave_design.Pattern, ...], np.ndarray]:
    law, chosen = wave_design.choose_for_purpose(Budget.parse(f"{epsilon:g}"), purpose)
    return chosen, np.array(law) / sum(law)


def dyadic(epsilon: float) -> tuple[tuple[wave_design.Pattern, ...], np.ndarray]:
    chosen = wave_design.choose(Budget.parse(f"{epsilon:g}"))
    harmonics = (0, 2, 4, 8)
    return tuple(zip(harmonics, chosen.half_widths, strict=True)), np.array(chosen.level_law) / sum(chosen.level_law)


def test_the_information_is_that_of_the_listed_channel() -> None:
    """By the rows of `channel()`, and cosines summed over 64 points of each input cell."""
    wave = DyadicWave.design(Budget.parse("1"), purpose="curve")
    chosen, _ = table("curve", 1.0)
    points = (np.arange(64 * wave.inputs) + 0.5) / (64 * wave.inputs)
    cosines = np.sqrt(2) * np.cos(np.pi * np.outer(points, np.arange(1, 49)))
    masses = cosines.reshape(wave.inputs, 64, 48).sum(axis=1) / len(points)
    for (harmonic, _), weights, found in zip(chosen, wave.channel(), informations(1.0, chosen), strict=True):
        law = weights / weights.sum(axis=1, keepdims=True)
        twin = (masses.T @ law) / law.mean(axis=0) @ (law.T @ masses)
        np.testing.assert_allclose(found, twin, atol=2e-3 * np.abs(twin).max(), err_msg=str(harmonic))


def test_the_gradient_is_the_criterion_s() -> None:
    chosen, shares = table("both", 1.0)
    problem, matrices, step = Problem(PRICES["both"]), informations(1.0, chosen), 1e-5
    for place, slope in enumerate(problem.gradient(matrices, shares)):
        moved = np.eye(len(shares))[place] * step
        change = problem.value(matrices, shares + moved) - problem.value(matrices, shares - moved)
        assert -change / (2 * step) == pytest.approx(slope, rel=1e-4)


def test_worse_designs_score_worse(subtests: pytest.Subtests) -> None:
    for purpose, epsilon in list(product(PRICES, [0.5, 1.0, 2.0])):
        with subtests.test(purpose=purpose, epsilon=epsilon):
            problem, (chosen, shares) = Problem(PRICES[purpose]), table(purpose, epsilon)
            best = problem.value(informations(epsilon, chosen), shares)
            octaves, law = dyadic(epsilon)
            assert problem.value(informations(epsilon, octaves), law) > best + 0.01
            assert problem.value(informations(epsilon, chosen), shares[::-1]) > best + 1e-4
            wider = tuple((k, h + 4) for k, h in chosen)
            assert problem.value(informations(epsilon, wider), shares) > best + 0.01
            assert min(shares) >= 0.02
            assert len(chosen) <= 5


@pytest.mark.slow
@pytest.mark.parametrize(("purpose", "epsilon"), some_by_day(list(product(PRICES, [0.5, 1.0, 3.0])), ("both", 1.0)))
def test_the_table_is_the_solution(purpose: str, epsilon: float) -> None:
    """Of the study, anew; and hardly worse than all patterns together."""
    problem, (chosen, shares) = Problem(PRICES[purpose]), table(purpose, epsilon)
    value = problem.value(informations(epsilon, chosen), shares)
    again, law = search(epsilon, problem)
    assert value <= problem.value(informations(epsilon, again), law) + 1e-3
    every = informations(epsilon, patterns())
    assert value <= problem.value(every, problem.solve(every)) + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", some_by_day([0.5, 1.0, 2.0], 1.0))
def test_near_the_uniform_the_curve_is_near_the_best_of_each_order_and_number_of_clients(epsilon: float) -> None:
    """Geometric mean over orders 2 and 3 and 10^5 and 10^6 clients of the integrated error to that of the best mixture."""
    every, (chosen, shares) = informations(epsilon, patterns()), table("curve", epsilon)
    ratios = []
    for order, n in product((2, 3), (1e5, 1e6)):
        best = Problem(Price(orders=(order,)), (n,)).solve(every)
        ours, least = (
            errors(*design, (n,), (order,))[0] for design in ((informations(epsilon, chosen), shares), (every, best))
        )
        ratios.append(float(ours[0] / least[0]))
    assert 1 <= np.exp(np.mean(np.log(ratios))) <= 1.15


def test_a_budget_takes_the_nearest_row_and_none_above() -> None:
    assert wave_design.choose_for_purpose(Budget.parse("1"), "both") == wave_design.choose_for_purpose(
        Budget.parse("1.05"), "both"
    )
    assert wave_design.choose_for_purpose(Budget.parse("0.165"), "both") == wave_design.choose_for_purpose(
        Budget.parse("0.25"), "both"
    )
    assert wave_design.choose_for_purpose(Budget.parse("0.01"), "both") == wave_design.choose_for_purpose(
        Budget.parse("0.1"), "both"
    )
    with pytest.raises(SchemeError, match="purpose is for epsilon of at most 5, got 6; above, leave it out"):
        DyadicWave.design(Budget.parse("6"), purpose="curve")
    assert set(PRICES) == set(wave_design.PURPOSES)
    assert wave_purposes.CELLS == wave_design.CELLS


def test_harmonics_out_of_range_are_refused(subtests: pytest.Subtests) -> None:
    for harmonics, words in [
        ((0, 2), "are the dyadic ones; leave them out"),
        ((0, 3), "a power of two"),
        ((0, -1), "0 of a line"),
        ((0,), "one for each of the 2 levels"),
        ((0, 512), "at most 4096"),
    ]:
        with subtests.test(harmonics=harmonics, words=words):
            parameters = {
                "cells": 16,
                "widths": [3, 3],
                "weights_in": [2, 2],
                "weights_out": [1, 1],
                "level_law": [65535, 1],
            }
            assert DyadicWave.from_parameters(Budget.parse("1"), {**parameters, "harmonics": [1, 4]}).inputs == 64
            with pytest.raises(SchemeError, match=words):
                DyadicWave.from_parameters(Budget.parse("1"), {**parameters, "harmonics": list(harmonics)})
