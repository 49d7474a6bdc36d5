"""Crossed wave: what its windows are, and how well two numbers that are asked together are known by it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

import dpcore as dp
from dpcore.audit import audit_mechanism
from dpcore.errors import CalibrationError, SchemeError
from dpcore.mechanisms import SquareWave
from dpcore.mechanisms.numeric.crossed_wave import SIZES, CrossedWave, Window
from dpcore.privacy.budget import Budget
from dpcore.protocol.syntax.mechanism_design import choose
from tests.helpers.statistical import law_agrees

TWO = Budget.parse("2")


def test_every_epsilon_has_windows_and_weights_that_keep_it(subtests: pytest.Subtests) -> None:
    for epsilon in ["1/100", "1/2", "1", "ln 3", "2", "4", "8"]:
        for cells in SIZES if epsilon == "1" else SIZES[:2]:
            with subtests.test(epsilon=epsilon, cells=cells):
                mechanism = CrossedWave.design(Budget.parse(epsilon), cells=cells)
                assert mechanism.certificate().holds
                assert [window.total < 1 << 32 for window in mechanism.windows] == [True] * 4
                again = CrossedWave.from_parameters(mechanism.budget, dict(mechanism.parameters()))
                assert again == mechanism


def test_a_row_is_a_square_around_the_place_and_a_stretch_around_the_product_and_around_either() -> None:
    """By the definition, output by output."""
    mechanism = CrossedWave.design(TWO, cells=8, widths=[3, 11, 5, 1])
    plane, product, first, second = mechanism.channel()
    M, (heavy, light) = 8, mechanism.weights[0]
    for x in range(M):
        for y in range(M):
            row = plane[M * x + y].reshape(M + 2, M + 2)
            assert np.array_equal(
                row == heavy, [[x <= i <= x + 2 and y <= j <= y + 2 for j in range(10)] for i in range(10)]
            )
            assert set(row.ravel()) == {heavy, light}
            u = (2 * x + 1 - M) * (2 * y + 1 - M)
            phase = (u + 49) // 2
            assert np.flatnonzero(product[M * x + y] == mechanism.weights[1][0]).tolist() == list(
                range(phase, phase + 11)
            )
            assert first[M * x + y].tolist() == [mechanism.weights[2][not x <= z <= x + 4] for z in range(12)]
            assert second[M * x + y].tolist() == [mechanism.weights[3][z != y] for z in range(8)]


def test_as_many_draws_lead_to_an_output_as_its_weight_says(subtests: pytest.Subtests) -> None:
    for rows, columns, high, wide in [(5, 7, 2, 3), (1, 9, 1, 4), (4, 4, 4, 1), (6, 3, 2, 3)]:
        with subtests.test(rows=rows, columns=columns, high=high, wide=wide):
            starts = np.array([0, rows - 1, rows // 2]), np.array([columns - 1, 0, columns // 2])
            window = Window(*starts, rows, columns, high, wide, 5, 2)
            for value in range(3):
                draws = np.arange(window.total)
                reached = window.draw(np.full(window.total, value), draws)
                assert np.array_equal(np.bincount(reached, minlength=window.outputs), window.weights()[value])


def test_clients_draw_as_the_channel_says() -> None:
    mechanism = CrossedWave.design(TWO, cells=8)
    for cell in (0, 27, 63):
        reports = mechanism.privatize(np.full(200_000, cell), dp.seeded(cell))
        counts = mechanism.model().split(mechanism.statistics(reports))
        assert law_agrees(np.array([part.sum() for part in counts]), mechanism.model().level_law)
        for part, weights in zip(counts, mechanism.channel(), strict=True):
            assert law_agrees(part, weights[cell] / weights[cell].sum())


def test_simulated_counts_have_the_law_of_the_reports() -> None:
    mechanism = CrossedWave.design(TWO, cells=8)
    clients = np.random.default_rng(3).multinomial(300_000, np.full(64, 1 / 64))
    counts = mechanism.model().split(mechanism.simulate(clients, dp.seeded(7)))
    for part, weights in zip(counts, mechanism.channel(), strict=True):
        assert law_agrees(part, clients / clients.sum() @ (weights / weights.sum(axis=1, keepdims=True)))


def test_what_no_design_can_be_is_refused(subtests: pytest.Subtests) -> None:
    for options, words in [
        ({"cells": 64}, "cells must be one of 8, 16, 32"),
        ({"cells": 12}, "cells must be one of 8, 16, 32"),
        ({"widths": [3, 5]}, "widths must be four numbers"),
        ({"widths": [3, 5, 4, 3]}, "odd numbers"),
        ({"level_law": [1, 1, 1]}, "level_law must be four numbers"),
        ({"level_law": [1, 1, 1, 0]}, "positive integers"),
        ({"widths": [601, 5, 3, 3]}, "needs 1 <= weight_out|a level has at most|does not fit"),
    ]:
        with subtests.test(options=options, words=words), pytest.raises((SchemeError, CalibrationError), match=words):
            CrossedWave.design(TWO, **options)  # type: ignore[arg-type]


def gaussian(cells: int, correlation: float, deviation: float) -> np.ndarray:
    """The probabilities of the input cells under a Gaussian copula, standard deviations a share of the range."""
    fine = (np.arange(8 * cells) + 0.5) / (8 * cells) - 0.5
    x, y = np.meshgrid(fine / deviation, fine / deviation, indexing="ij")
    law = np.exp(-(x**2 - 2 * correlation * x * y + y**2) / (2 * (1 - correlation**2)))
    law = law.reshape(cells, 8, cells, 8).sum(axis=(1, 3)).ravel()
    return law / law.sum()


def influence(law: np.ndarray, cells: int) -> np.ndarray:
    """Of the correlation, means and variances estimated, too: xy - rho (x^2 + y^2) / 2, standardised."""
    x, y = np.divmod(np.arange(cells**2), cells)
    x, y = ((z - law @ z) / np.sqrt(law @ z**2 - (law @ z) ** 2) for z in (x, y))
    return x * y - law @ (x * y) * (x**2 + y**2) / 2


def error(mechanism: CrossedWave, law: np.ndarray, asked: np.ndarray, clients: int) -> float:
    """The standard error of the mean of `asked`, by the unbiased weights of reports of the least variance."""
    model = mechanism.model()
    channel = np.concatenate([share * matrix for share, matrix in zip(model.level_law, model.matrices, strict=True)])
    expected = channel @ law
    weights = channel @ linalg.solve((channel.T / expected) @ channel, asked, assume_a="pos") / expected
    assert np.allclose(channel.T @ weights, asked, atol=1e-6)  # they are unbiased for every law
    return float(np.sqrt((expected @ weights**2 - (law @ asked) ** 2) / clients))


@pytest.mark.slow
def test_a_correlation_has_the_error_that_asking_together_allows() -> None:
    """Standard deviations an eighth of the range, correlation .5, 10^5 clients, epsilon 2: at most .062."""
    law = gaussian(32, 0.5, 1 / 8)
    assert error(CrossedWave.design(TWO), law, influence(law, 32), 100_000) < 0.058


def test_the_audit_does_not_take_the_codes_channel_for_the_schemes_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = CrossedWave.design(TWO, cells=8)
    assert not audit_mechanism(mechanism).doubts
    monkeypatch.setattr(CrossedWave, "channel", lambda self: tuple(np.ones_like(table) for table in self._tables))
    assert audit_mechanism(mechanism).doubts


def risk(information: np.ndarray, cells: int, clients: int) -> float:
    """The mean squared error of rectangles that is to be expected of smooth laws near the uniform, in units of 10^-4.

    Their logarithms are Gaussian fields of standard deviation 1.5 and length .25.  information: of one report, at the uniform.
    """
    middles, many = (np.arange(cells) + 0.5) / cells, cells**2
    field = np.exp(-0.5 * ((middles[:, None] - middles) / 0.25) ** 2)
    centred = np.eye(many) - 1 / many
    belief = centred @ np.kron(field, field) @ centred * 1.5**2 / many**2
    left = np.linalg.solve(np.eye(many) + clients * belief @ information, belief)
    ends = np.sort(np.random.default_rng(1).integers(0, cells + 1, (200, 2, 2)), axis=2)
    inside = (np.arange(cells) >= ends[:, :, :1]) & (np.arange(cells) < ends[:, :, 1:])
    rectangles = np.einsum("ri,rj->rij", inside[:, 0], inside[:, 1]).reshape(len(ends), -1).astype(float)
    return 1e4 * float(np.mean(np.einsum("ri,ij,rj->r", rectangles, left, rectangles)))


def test_a_square_around_the_place_tells_rectangles_as_a_grid_does_and_correlations_besides() -> None:
    """Of 10^5 clients, epsilon 2: .9 of a grid of 8 x 8 that half of them answer, waves and product by the others."""
    mechanism = CrossedWave.design(TWO, cells=16)
    law = np.full(256, 1 / 256)

    def told(shares: np.ndarray, matrices: tuple[np.ndarray, ...]) -> np.ndarray:
        return np.sum([q * (a.T / (a @ law)) @ a for q, a in zip(shares, matrices, strict=True)], axis=0)

    x, y = np.divmod(np.arange(256), 16)
    own, factors, weights = choose(TWO, categories=64).model().covariance(np.full(64, 1 / 64), 1)
    grid = np.eye(64)[x // 2 * 8 + y // 2]
    by_grid = grid @ np.linalg.pinv(np.diag(own) + factors.T @ weights @ factors) @ grid.T
    wave = SquareWave.design(TWO, cells=16).model().matrices[0]
    others = told(np.array([0.1, 0.1, 0.3]), (wave[:, x], wave[:, y], mechanism.model().matrices[1]))
    found = risk(told(mechanism.model().level_law, mechanism.model().matrices), 16, 100_000)
    assert found < 0.95 * risk(0.5 * by_grid + others, 16, 100_000)
