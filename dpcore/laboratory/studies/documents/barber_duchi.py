"""Table 1 of [BarberDuchi2014]: how the truncated mean's worst risk falls with n under each definition of privacy.

The worst law is looked for among (1 - p) delta_0 + p delta_v, v = r p^{-1/k}, the family of the lower bounds; there the risk of
the truncated mean has a closed form.  Risks are without the r^2 / n that every estimator pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.central.truncated_mean import (
    OUTPUT,
    ApproximateMean,
    KullbackLeiblerMean,
    SmoothMean,
    TruncatedMean,
)
from dpcore.privacy.budget import Budget

_SHARES = np.geomspace(1e-12, 1.0, 2000)  # p


def mechanisms(n: int, moment: float, dimension: int) -> dict[str, tuple[TruncatedMean, float]]:
    """Return the three at epsilon = alpha = 1/2, delta = 1e-6, r = 1, each with its stated exponent of n: -2 (k - 1) / k."""
    rate = -2.0 if moment == inf else -2 * (moment - 1) / moment
    shape: dict[str, Any] = {"n": n, "moment": moment, "bound": 1.0, "dimension": dimension}
    return {
        "kl": (KullbackLeiblerMean.design(0.5, **shape), rate),
        "approximate": (ApproximateMean.design(0.5, 1e-6, **shape), rate),
        "smooth": (SmoothMean.design(Budget.parse("0.5"), **shape), rate),
    }


def worst_risk(mechanism: TruncatedMean, n: int, moment: float) -> float:
    """Return the largest E |theta_hat - theta|^2 - Var(X-bar) over the family, r = 1: squared bias and noise."""
    v = np.ones_like(_SHARES) if moment == inf else _SHARES ** (-1 / moment)
    bias = _SHARES * np.maximum(0.0, v - mechanism.radius)
    unit = mechanism.radius / (OUTPUT * n)
    return float((bias**2).max()) + mechanism.dimension * mechanism.noise_variance * unit**2


def scalings(
    sizes: Sequence[int], *, moments: Sequence[float] = (2.0, 4.0, inf), dimensions: Sequence[int] = (1, 8)
) -> pd.DataFrame:
    """Return the risks: privacy, moment, dimension, n, risk, rate (the stated exponent of n)."""
    rows = []
    for moment in moments:
        for dimension in dimensions:
            for n in sizes:
                for name, (mechanism, rate) in mechanisms(n, moment, dimension).items():
                    rows.append((name, moment, dimension, n, worst_risk(mechanism, n, moment), rate))
    return pd.DataFrame(rows, columns=["privacy", "moment", "dimension", "n", "risk", "rate"])


def slopes(risks: pd.DataFrame) -> pd.DataFrame:
    """Return the exponents of n beside the stated: privacy, moment, dimension, slope, rate."""
    rows = []
    for key, cell in risks.groupby(["privacy", "moment", "dimension"]):
        slope = np.polyfit(np.log(cell["n"]), np.log(cell["risk"]), 1)[0]
        rows.append((*key, float(slope), float(cell["rate"].iloc[0])))
    return pd.DataFrame(rows, columns=["privacy", "moment", "dimension", "slope", "rate"])


def dimension_scalings(n: int, moment: float, dimensions: Sequence[int] = (1, 2, 4, 8, 16, 32)) -> pd.DataFrame:
    """Return how the risk grows with d: privacy, dimension, risk, ratio to d = 1 to the stated power of d.

    Stated: d^{(k-1)/k} for Kullback-Leibler and approximate privacy, d^{2(k-1)/k} for smooth and pure privacy.
    """
    power = 1.0 if moment == inf else (moment - 1) / moment
    rows = []
    first: dict[str, float] = {}
    for d in dimensions:
        for name, (mechanism, _) in mechanisms(n, moment, d).items():
            risk = worst_risk(mechanism, n, moment)
            base = first.setdefault(name, risk)
            rows.append((name, d, risk, risk / base / d ** (power * (2 if name == "smooth" else 1))))
    return pd.DataFrame(rows, columns=["privacy", "dimension", "risk", "ratio"])


def simulated(n: int, moment: float, *, runs: int, random: Source) -> pd.DataFrame:
    """Return simulated risks beside the closed form, d = 1: privacy, simulated, standard_error, closed."""
    rows = []
    for name, (mechanism, _) in mechanisms(n, moment, 1).items():
        p = min(1.0, 4 * mechanism.radius**-moment if moment != inf else 0.5)
        v = 1.0 if moment == inf else p ** (-1 / moment)
        errors = []
        for _ in range(runs):
            records = v * (random.generator().random(n) < p)
            errors.append(float(mechanism.release(records, random).values[0] - p * v) ** 2)
        clipped = min(v, mechanism.radius)
        unit = mechanism.radius / (OUTPUT * n)
        closed = (p * (v - clipped)) ** 2 + p * (1 - p) * clipped**2 / n + mechanism.noise_variance * unit**2
        rows.append((name, float(np.mean(errors)), float(np.std(errors, ddof=1) / sqrt(runs)), closed))
    return pd.DataFrame(rows, columns=["privacy", "simulated", "standard_error", "closed"])
