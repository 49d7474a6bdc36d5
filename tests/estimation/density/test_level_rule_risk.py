"""The calibrated Lepski rule against the best fixed level, and the rates of the best fixed level.

Aggregates are drawn in bulk: block sizes multinomial, sums of the mechanism's noise from their exact law, the sampling
of the clients normal with its exact covariance.  Errors are integrated squared errors of the raw estimate, computed from
Gram matrices.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy
from scipy.linalg import cho_factor, cho_solve, eigh

from dpcore import _random as dp_random
from dpcore.estimation.density.inner_products import conditioned
from dpcore.estimation.density.projection import accepted, distances, thresholds
from dpcore.laboratory.theory.noise_energy import noise_energy
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from tests.helpers.cases import some_by_day
from tests.helpers.statistical import mean_agrees


def _claw(x):
    parts = [(0.5, 0.0, 1.0)] + [(0.1, l / 2 - 1, 0.1) for l in range(5)]
    return sum(weight * scipy.stats.norm.cdf(6 * (x - 0.5), mean, sd) for weight, mean, sd in parts)


DISTRIBUTIONS = {
    "uniform": lambda x: scipy.stats.uniform.cdf(x),
    "beta": lambda x: scipy.stats.beta.cdf(x, 2, 5),
    "bimodal": lambda x: 0.5 * scipy.stats.beta.cdf(x, 8, 20) + 0.5 * scipy.stats.beta.cdf(x, 30, 12),
    "claw": _claw,
}


class Bulk:
    """Many aggregates of n clients at once: errors and energies of every level, without building an estimate."""

    def __init__(self, mechanism: WaveletLaplace, cdf, n: float) -> None:
        self.mechanism, self.model, self.n = mechanism, mechanism.model(), n
        law = np.diff(cdf(np.linspace(0, 1, mechanism.inputs + 1)))
        self.law = law / law.sum()
        self.features = [table * unit for table, unit in zip(self.model.tables, self.model.units, strict=True)]
        self.truth = [self.law @ features for features in self.features]
        self.factors = [cho_factor(self.model.basis.gram(b)) for b in range(len(self.truth))]
        energies = [z @ cho_solve(factor, z) for z, factor in zip(self.truth, self.factors, strict=True)]
        self.bias = np.sum(self.law**2) * mechanism.inputs - np.cumsum(energies)  # int f^2 - int (P_j f)^2, per level

    def covariance(self, block: int) -> np.ndarray:
        """Of one report's coefficients."""
        centred = self.features[block] - self.truth[block]
        sampling = (centred * self.law[:, None]).T @ centred
        return sampling + np.diag(self.model.units[block] ** 2 * self.model.noise_variances[block])

    def thresholds(self) -> np.ndarray:
        shares = self.n * self.model.block_law
        spectra = [
            eigh(self.covariance(b) / shares[b], self.model.basis.gram(b), eigvals_only=True)
            for b in range(1, len(self.truth))
        ]
        return thresholds(tuple(spectra))

    def draw(self, repetitions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return squared errors per level, (R, levels), and energies of the wavelet blocks, (R, levels - 1)."""
        rng, source = np.random.default_rng(seed), dp_random.seeded([seed, 1])
        sizes = rng.multinomial(int(self.n), self.model.block_law, size=repetitions)
        errors, energies = [], []
        for b, truth in enumerate(self.truth):
            centred = self.features[b] - truth
            values, vectors = np.linalg.eigh((centred * self.law[:, None]).T @ centred)
            root = vectors * np.sqrt(np.maximum(values, 0))
            t = self.mechanism.noise_scales[b]
            noise = np.array([discrete_laplace.simulate_sums(int(m), t, len(truth), source) for m in sizes[:, b]])
            noise = noise / sizes[:, b : b + 1] * self.model.units[b]
            noise += rng.standard_normal(noise.shape) @ root.T / np.sqrt(sizes[:, b : b + 1])
            z = truth + noise
            if b == 0:
                z = np.array([conditioned(self.model.basis, row, self.covariance(0))[0] for row in z])
            else:
                energies.append(np.sum(z * cho_solve(self.factors[b], z.T).T, axis=1))
            errors.append(np.sum((z - truth) * cho_solve(self.factors[b], (z - truth).T).T, axis=1))
        return np.cumsum(np.array(errors).T, axis=1) + self.bias, np.array(energies).T


@pytest.mark.slow
@pytest.mark.parametrize(("name", "degree"), some_by_day(product(DISTRIBUTIONS, [1, 3]), ("claw", 1), ("beta", 3)))
def test_calibrated_rule_is_within_sixty_percent_of_the_best_fixed_level(name, degree, record_property):
    for n in (1e5, 1e6, 1e7):
        mechanism = WaveletLaplace.design(Budget.parse("1"), degree=degree, clients=int(n))
        bulk = Bulk(mechanism, DISTRIBUTIONS[name], n)
        errors, energies = bulk.draw(1000, seed=int(np.log10(n)) + 10 * degree)
        chosen = accepted(distances(energies), bulk.thresholds())
        risk, best = errors[np.arange(len(errors)), chosen].mean(), errors.mean(axis=0).min()
        record_property(f"{name} degree {degree} n {n:g}", f"{risk / best:.3f}")
        assert risk <= 1.6 * best, (name, degree, n, risk / best)


def _oracle_errors(degree: int, name: str, repetitions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clients, the best level's errors, (sizes, R), and their closed form, at epsilon 1 from 1e6 to 1e10 clients."""
    mechanism = WaveletLaplace.design(Budget.parse("1"), degree=degree, finest_level=8)
    clients, found, closed = 10.0 ** np.arange(6, 11), [], []
    for n in clients:
        bulk = Bulk(mechanism, DISTRIBUTIONS[name], n)
        errors = bulk.draw(repetitions, seed=int(100 * np.log10(n)))[0]
        best = int(np.argmin(errors.mean(axis=0)))
        found.append(errors[:, best])
        noise = noise_energy(bulk.model, n, mechanism.basis.coarsest_level + best, bulk.law)
        closed.append(bulk.bias[best] + noise)
    return clients, np.array(found), np.array(closed)


@pytest.mark.nightly("a study")
@pytest.mark.parametrize(("degree", "slope", "tolerance"), [(0, -1 / 2, 0.05), (1, -2 / 3, 0.1)])
def test_the_best_level_converges_at_the_rate_of_its_degree(degree, slope, tolerance, record_property):
    clients, errors, _ = _oracle_errors(degree, "beta", 110)
    means = errors.mean(axis=1)
    fitted = np.polyfit(np.log(clients), np.log(means), 1)[0]
    record_property(f"slope at degree {degree}", f"{fitted:.3f}")
    assert abs(fitted - slope) <= tolerance
    # The slopes of the two degrees are 1/6 apart, which leaves eleven standard errors beyond the tolerance.
    relative_error = (errors.std(axis=1) / means).max() / np.sqrt(errors.shape[1])
    assert relative_error / np.std(np.log(clients)) / np.sqrt(len(clients)) < (1 / 6 - tolerance) / 11


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("degree", [2, 3])
def test_errors_are_the_projection_error_plus_the_closed_form_noise(degree, record_property):
    _, errors, closed = _oracle_errors(degree, "bimodal", 200)
    ratios = errors.mean(axis=1) / closed
    record_property(f"error over closed form at degree {degree}", np.array2string(ratios, precision=3))
    for drawn, stated in zip(errors, closed, strict=True):
        assert mean_agrees(drawn, stated)
        assert not mean_agrees(drawn, 1.3 * stated)
        assert not mean_agrees(drawn, 0.7 * stated)
