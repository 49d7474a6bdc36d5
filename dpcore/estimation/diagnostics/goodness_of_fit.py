"""Whether an estimate explains what was observed: chi-squared of the residuals against its known law.

Residuals are whitened: r_z = (share - expected) sqrt(n_l / expected) for counts of level l, whose squares add up to Pearson's
statistic [Pearson1900], with as many degrees of freedom as there are cells less one for each level; averages with normal errors
come whitened.  Levels in which some cell expects fewer than five reports are left out.

A penalised fit does not take whole degrees of freedom away.  With J the whitened slope of what is expected in the fit's
parameters and V their posterior covariance, residuals have the covariance 1 - J V J' over noise and prior together, so that

    sum r^2 ~ sum_i (1 - h_i) chi^2_1,    h the eigenvalues of J V J',    effective degrees of freedom = number - sum h.

A least squares fit in a space of functions takes one for each dimension that is seen (`of_space`).  In both, what is left are
mostly directions that no density explains: levels that contradict each other, windows that are not where the model says.
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
    """Return how a penalised fit explains the data; None where there is nothing to judge by.

    expected: (S,) under the fit.  slope: (S, D), its derivative by the parameters; covariance: (D, D), theirs.
    """
    residual, scale, number = _whitened(likelihood, expected)
    J = slope * scale[:, None]
    taken = np.clip(np.linalg.svd(J @ root(covariance), compute_uv=False) ** 2, 0.0, 1.0)
    return _judged(residual, taken, number)


def of_space(likelihood: Likelihood, law: np.ndarray, masses: np.ndarray) -> GoodnessOfFit | None:
    """Return how the best law in a space explains the data; None where there is nothing to judge by.

    law: (inputs,), a fit to start from.  masses: (inputs, K), of a basis of the space; laws have the mass one.
    """
    expected = likelihood.expected(law)
    residual, scale, number = _whitened(likelihood, expected)
    total = masses.sum(axis=0)
    # Towards the span from the law itself, which need not lie in it
    inside = masses @ (total / (total @ total)) - law
    seen = likelihood.expected(np.column_stack([masses @ massless(total), inside])) * scale[:, None]
    residual = residual - seen[:, -1]
    axes, values, _ = np.linalg.svd(seen[:, :-1], full_matrices=False)
    axes = axes[:, values > constants.RANK_TOLERANCE * max(values.max(initial=0.0), 1e-300)]
    return _judged(residual - axes @ (axes.T @ residual), np.ones(axes.shape[1]), number)


def _whitened(likelihood: Likelihood, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Whitened residuals (S,), what whitens a change of what is expected (S,), and how many residuals are free."""
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
