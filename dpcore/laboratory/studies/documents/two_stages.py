"""The integral of f squared in one stage and in two, where a density is rough: errors at the best level [Butucea2023]."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, sqrt

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.theory import rates, two_stage
from dpcore.privacy.budget import Budget

LEVELS = (3, 4, 5, 6, 7, 8, 9)


def rough(smoothness: float, cells: int) -> tuple[np.ndarray, float]:
    """Return a density's law on cells and its int f^2: 1 + h sum_j 2^{-j s} r_j, r_j = +-1 on halves of cells of width 2^-j.

    h is such that the density is never below a tenth.
    """
    scales = np.arange(int(log2(cells)))
    falls = 2.0 ** (-smoothness * scales)
    x = (np.arange(cells) + 0.5) / cells
    signs = np.array([np.where((x * 2.0**j) % 1 < 0.5, 1, -1) for j in scales])
    height = 0.9 / falls.sum()
    return (1 + height * falls @ signs) / cells, float(1 + height**2 * (falls**2).sum())


def errors(*, smoothness: float, sizes: Sequence[int], runs: int, random: Source) -> pd.DataFrame:
    """Return root mean square errors at epsilon = 1: method, n, level (the best), error, standard_error, rate (in n)."""
    rows = []
    mechanisms = {level: two_stage.mechanism_for(Budget.parse("1"), level) for level in LEVELS}
    for n in sizes:
        best: dict[str, tuple[float, float, int]] = {}
        for level, mechanism in mechanisms.items():
            law, truth = rough(smoothness, mechanism.cells)
            both = {
                "one stage": [two_stage.one_stage(mechanism, law, n, level, random) for _ in range(runs)],
                "two stages": [
                    two_stage.integrated_square(mechanism, law, n, level, random).value for _ in range(runs)
                ],
            }
            for method, values in both.items():
                squares = (np.array(values) - truth) ** 2
                error = sqrt(squares.mean())
                spread = float(squares.std(ddof=1)) / sqrt(runs) / (2 * error)
                best[method] = min(best.get(method, (np.inf, 0.0, 0)), (error, spread, level))
        for method, (error, spread, level) in best.items():
            rate = -float(rates.integrated_square(smoothness, interactive=method == "two stages").exponent)
            rows.append((method, n, level, error, spread, rate))
    return pd.DataFrame(rows, columns=["method", "n", "level", "error", "standard_error", "rate"])
