"""Goodness of fit: chi-squared of the residuals against its known distribution.

Residuals are whitened: r_z = (share - expected) sqrt(n_l / expected) for counts of level l, whose squares add up to Pearson's
statistic [Pearson1900], with one degree of freedom per cell less one per level; averages with normal errors are whitened
already.
Levels in which some cell expects fewer than five reports are left out.

A penalised fit uses fractions of degrees of freedom.  With J the whitened slope of the expected values in the fit's parameters
and V their posterior covariance, residuals have the covariance 1 - J V J' over noise and prior, so that

    sum r^2 ~ sum_i (1 - h_i) chi^2_1,    h the eigenvalues of J V J',    effective degrees of freedom = number - sum h.

A least squares fit in a space of functions uses one for each identified dimension (`of_space`).  In both, the rest are mostly
directions that no density explains: levels that contradict each other, windows at other places than in the model.
"""

from __future__ import annotations

import numpy as np

from dpcore.estimation import constants
from dpcore.estimation.density.likelihood import Counts, Likelihood
from dpcore.estimation.diagnostics.chi_square_mixture import ChiSquareMixture
from dpcore.estimation.diagnostics.evidence import GoodnessOfFit
from dpcore.estimation.inference.confidence_bands import massless, root


def of_posterior(
    likelihood: Likelihood, expected: np.ndarray, slope: np.ndarray, covariance: np.ndarray
) -> GoodnessOfFit | None:
    """Return the goodness of a penalised fit; None without degrees of freedom.

    expected: (S,) under the fit.  slope: (S, D), its derivative by the parameters; covariance: (D, D), theirs.
    """
    residual, scale, number = _whitened(likelihood, expected)
    J = slope * scale[:, None]
    taken = np.clip(np.linalg.svd(J @ root(covariance), compute_uv=False) ** 2, 0.0, 1.0)
    return _judged(residual, taken, number)


def of_space(likelihood: Likelihood, law: np.ndarray, masses: np.ndarray) -> GoodnessOfFit | None:
    """Return the goodness of the best fit in a space; None without degrees of freedom.

    law: (inputs,), a fit to start from.  masses: (inputs, K), of a basis of the space; distributions have mass one.
    """
    expected = likelihood.expected(law)
    residual, scale, number = _whitened(likelihood, expected)
    total = masses.sum(axis=0)
    # Towards the span from the law itself, which need not lie in it
    inside = masses @ (total / (total @ total)) - law
    seen = likelihood.expected(np.column_stack([masses @ massless(total), inside])) * scale[:, None]
    residual = residual - seen[:, -1]
    axes, values, _ = np.linalg.svd(seen[:, :-1], full_matrices=False)
    axes = axes[:, values > constants.RANK_TOLERANCE * max(values.max(initial=0.0), constants.TINY)]
    return _judged(residual - axes @ (axes.T @ residual), np.ones(axes.shape[1]), number)


def _whitened(likelihood: Likelihood, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Whitened residuals (S,), the whitening factors of expected values (S,), and the number of free residuals."""
    if not isinstance(likelihood, Counts):
        return likelihood.residual(expected), np.ones(len(expected)), len(expected)
    scale, number = [], 0
    for counts, shares in zip(
        likelihood.channel.split(likelihood.counts), likelihood.channel.split(expected), strict=True
    ):
        n, is_used = float(counts.sum()), bool(np.all(counts.sum() * shares >= constants.MIN_EXPECTED))
        scale.append(np.sqrt(n / shares) if is_used else np.zeros(len(shares)))
        number += (len(shares) - 1) * is_used
    whitening = np.concatenate(scale)
    return likelihood.residual(expected) * whitening, whitening, number


def _judged(residual: np.ndarray, taken: np.ndarray, number: int) -> GoodnessOfFit | None:
    taken = np.sort(taken)[::-1][:number]
    weights = np.concatenate([1 - taken, np.ones(number - len(taken))])
    if weights.sum() < 0.5:
        return None
    law, statistic = ChiSquareMixture(weights), float(residual @ residual)
    return GoodnessOfFit(
        statistic=statistic,
        degrees=float(weights.sum()),
        threshold=law.quantile(1 - constants.FIT_FALSE_ALARMS),
        p_value=float(np.clip(law.tail(statistic), 0.0, 1.0)),
    )
