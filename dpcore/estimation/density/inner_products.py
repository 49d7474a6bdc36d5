"""Unbiased inner products of a density with each block of a basis from noisy features, for all clients or a group.

The covariance is the mechanism's noise, which is known exactly, plus the sampling of the clients at the coarsest proper
density.
The latter is smooth, never degenerate, and small beside the noise unless epsilon is large.

Ours: the inner products with block 0 estimate the mass, which is one.  Conditioning on it (regression of the normal
distribution, exact for the covariance) needs no assumption and removes most of the noise of moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.consistency import project_density
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.density.likelihood import Averages, whiten
from dpcore.mechanisms.bases import Basis, bspline
from dpcore.mechanisms.observation_model import NoisyFeatures


@dataclass(frozen=True, eq=False, kw_only=True)
class InnerProducts:
    """Unbiased inner products of the available blocks, and the parts of their covariance.

    z: per block (K_b,).  noise: per block (K_b,), variances.  weights: per block (inputs,), frequency of each input cell.
    law: (inputs,), distribution for the mean.  totals: (B,), divisors of the sums.  n: number of reports.
    """

    model: NoisyFeatures
    z: Sequence[np.ndarray]
    noise: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]
    law: np.ndarray
    totals: np.ndarray
    n: float

    @classmethod
    def from_statistics(cls, model: NoisyFeatures, statistics: np.ndarray) -> InnerProducts:
        """Return those of all clients, statistics (S,); raises NotEstimable if the coarsest block has no report."""
        reports, _ = model.split(statistics)
        available = _available(reports, reports > 0)
        z, noise = model.coefficients(statistics), model.noise_covariances(np.maximum(reports, 1))
        law = _coarse_law(model, z[0], noise[0])
        return cls(
            model=model,
            z=z[:available],
            noise=noise,
            weights=[reports[b] * law for b in range(available)],
            law=law,
            totals=reports.astype(np.float64),
            n=_size(model, reports),
        )

    @classmethod
    def of_group(cls, model: NoisyFeatures, tables: np.ndarray, inverse: np.ndarray) -> InnerProducts:
        """Return those of the clients truly in one category, from statistics by reported category.

        tables: (k, S), rows the reported categories c'.  inverse: (k,), the row w of R^{-1} for the true category, R the
        (reported, true) response matrix.  sum_c' w_c' (statistics of c') is unbiased for the statistics of the true category;
        the inner products are ratios of its sums to its count, block by block, and their covariance is that of the ratio to
        first order: sum_c' w_c'^2 n_c' E[(Z - m)(Z - m)' | c'] / count^2.

        Raises NotEstimable where a count is below three standard errors in the coarsest block.
        """
        parts = [model.split(table) for table in tables]
        reported = np.array([reports for reports, _ in parts], dtype=np.float64)  # (k, B)
        totals = inverse @ reported
        errors = np.sqrt(inverse**2 @ reported)
        available = _available(totals, totals > constants.CLEAR_ERRORS * errors)
        sums = [sum(w * part[1][b] for w, part in zip(inverse, parts, strict=True)) for b in range(available)]
        z = tuple(model.units[b] * sums[b] / totals[b] for b in range(available))
        effective = totals[:available] ** 2 / (inverse**2 @ reported[:, :available])
        noise = model.noise_covariances(np.append(effective, np.ones(len(totals) - available)))
        laws = []
        for (reports, _), table in zip(parts, tables, strict=True):
            if reports[0] > 0:
                alone = model.noise_covariances(np.maximum(reports, 1))
                laws.append(_coarse_law(model, model.coefficients(table)[0], alone[0]))
            else:
                laws.append(np.full(len(model.tables[0]), 1 / len(model.tables[0])))
        return cls(
            model=model,
            z=z,
            noise=noise,
            weights=[(inverse**2 * reported[:, b]) @ np.array(laws) for b in range(available)],
            law=_coarse_law(model, z[0], noise[0]),
            totals=totals,
            n=_size(model, totals),
        )

    @property
    def stacked(self) -> np.ndarray:
        """All of them, (stacked,)."""
        return np.concatenate(list(self.z))

    @cached_property
    def features(self) -> list[np.ndarray]:
        """Contribution of each input cell to z, per block (inputs, K_b)."""
        return [table * unit for table, unit, _ in zip(self.model.tables, self.model.units, self.z, strict=False)]

    @property
    def reading(self) -> np.ndarray:
        """(stacked, S): z as combinations of the average reports of the blocks, whose counts come first."""
        blocks, sums = len(self.model.tables), sum(table.shape[1] for table in self.model.tables)
        units = np.concatenate([unit for unit, _ in zip(self.model.units, self.z, strict=False)])
        rows = np.zeros((len(units), blocks + sums))
        rows[np.arange(len(units)), blocks + np.arange(len(units))] = units
        return rows

    @cached_property
    def covariance(self) -> np.ndarray:
        """Covariance of all inner products, stacked: noise of the mechanism and sampling of the clients."""
        covariance = np.diag(np.concatenate([self.noise[b] for b in range(len(self.z))]))
        ends = np.cumsum([0] + [len(block) for block in self.z])
        together = self.model.block_law is None  # blocks of one client are correlated through its value
        for b in range(len(self.z)):
            for c in range(b, len(self.z) if together else b + 1):
                part = _sampling(self.features[b], self.features[c], self.weights[b], self.law)
                part = part / (self.totals[b] * self.totals[c])
                covariance[ends[b] : ends[b + 1], ends[c] : ends[c + 1]] += part
                if c > b:
                    covariance[ends[c] : ends[c + 1], ends[b] : ends[b + 1]] += part.T
        return covariance

    def averages(self) -> Averages:
        """Return them as a likelihood."""
        features = np.hstack(self.features).T
        if features.shape[1] > constants.CURVE_CELLS:  # splines are nearly constant within a cell this small
            features = features.reshape(len(features), constants.CURVE_CELLS, -1).mean(axis=2)
        whitened = whiten(features, self.stacked, self.covariance, self.n)
        return replace(whitened, turn=whitened.of_reports(np.eye(len(whitened.values))) @ self.reading)


def _available(counts: np.ndarray, enough: np.ndarray) -> int:
    """Number of blocks with reports, counted from the coarsest."""
    available = len(counts) if enough.all() else int(np.argmin(enough))
    if available == 0:
        raise NotEstimable("no level can be estimated: the coarsest block has too few reports; collect more")
    return available


def _size(model: NoisyFeatures, reports: np.ndarray) -> float:
    return float(reports.max() if model.block_law is None else reports.sum())


def _coarse_law(model: NoisyFeatures, z: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Probabilities of the input cells under the proper density of V_j0."""
    degree, level = model.basis.degree, model.basis.coarsest_level
    z, _ = conditioned(model.basis, z, np.diag(noise))
    coefficients = project_density(model.basis.synthesis(0, level) @ z, degree, level)
    cells = len(model.tables[0])
    law = np.diff(Spline(0.0, 1.0, degree, level, coefficients).cdf(np.arange(cells + 1) / cells))
    law = np.maximum(law, 0.0)
    return np.asarray(law / law.sum())


def _sampling(left: np.ndarray, right: np.ndarray, weights: np.ndarray, law: np.ndarray) -> np.ndarray:
    """sum over cells of weight (left - its mean)(right - its mean)'."""
    left, right = left - law @ left, right - law @ right
    return np.asarray((left * weights[:, None]).T @ right)


def conditioned(basis: Basis, z: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the normal distribution of z, conditioned on mass one."""
    mass, gain = mass_gain(basis, covariance)
    return z - gain * (mass @ z - 1.0), covariance - np.outer(gain, covariance @ mass)


def mass_gain(basis: Basis, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the inner products in the mass, and the regression coefficient of each on it."""
    j0, mass = basis.coarsest_level, np.zeros(len(covariance))
    mass[: basis.size(0)] = bspline.integrals(basis.degree, j0) @ basis.synthesis(0, j0)  # block 0 alone has any
    along = covariance @ mass
    return mass, along / (mass @ along)
