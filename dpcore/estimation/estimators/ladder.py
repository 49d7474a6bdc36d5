"""All levels' estimates of one density: the rungs f^j0, f^{j0+1}, ... of the projection through the dual.

Noisy features give unbiased inner products z_b of the density with each block of the basis.  The L2 projection on V_j is
estimated by the sum over blocks b <= j - j0 of synthesis(b, j) z_b, so that f^l - f^j lives in the blocks between and levels
are compared without overlap.  Source: [Szabo2024].

Blocks of a basis whose levels are not orthogonal are taken there first, all of them together, with their covariance (see
`dual.to_orthogonal`): f^j is then the L2 projection of what they all say, for every such basis.

The covariance is the mechanism's noise, known exactly, plus the sampling of the clients, evaluated at the coarsest proper
density: it is smooth, never degenerate, and small beside the noise unless epsilon is large.

Ours: the inner products with block 0 say how much mass there is, and that is known to be one.  Conditioning on it (the normal
law's regression, exact for the covariance) takes no assumption and frees moments of most of their noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from dpcore.errors import NotEstimable
from dpcore.estimation.densities import Spline
from dpcore.estimation.estimators.consistency import project_density
from dpcore.estimation.estimators.likelihood import CERTAINTY, Averages, whiten
from dpcore.mechanisms.bases import Basis, bspline
from dpcore.mechanisms.bases.base import OrthogonalBasis
from dpcore.mechanisms.bases.dual import to_orthogonal
from dpcore.mechanisms.observation import NoisyFeatures

_LIKELIHOOD_CELLS = 1024  # input cells, at most, that a likelihood looks at


@dataclass(frozen=True, eq=False)
class Rung:
    """One level's estimate: raw and proper splines, and the covariance (K, K) of the raw coefficients.

    weights: (K, S), of the levels' average reports, whose sums the raw coefficients are but for a constant; None where nobody
    said.
    """

    raw: Spline
    proper: Spline
    covariance: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Ladder:
    """Estimates at every level for which all blocks have reports.

    basis: one of orthogonal levels.  inner_products: per available block (K_b,), unbiased for <f, psi_bk>.
    covariance: of all of them, stacked.  n: reports.  epsilon: natural-log units, of one report.
    weights: (stacked, S), with which they are sums of the blocks' average reports, but for a constant.
    """

    basis: OrthogonalBasis
    inner_products: tuple[np.ndarray, ...]
    covariance: np.ndarray
    n: float
    epsilon: float
    weights: np.ndarray

    @property
    def levels(self) -> range:
        """The levels there are estimates for, coarsest first."""
        j0 = self.basis.coarsest_level
        return range(j0, j0 + len(self.inner_products))

    def coefficients(self, level: int) -> np.ndarray:
        """Return the B-spline coefficients of f^level in V_level, shape (2^level + degree,)."""
        stacked = np.concatenate(self.inner_products[: level - self.basis.coarsest_level + 1])
        return np.asarray(self._synthesis(level) @ stacked)

    def covariance_of(self, level: int) -> np.ndarray:
        """Return the covariance of `coefficients(level)`."""
        synthesis = self._synthesis(level)
        used = synthesis.shape[1]
        return np.asarray(synthesis @ self.covariance[:used, :used] @ synthesis.T)

    def rung(self, level: int, lower: float, upper: float) -> Rung:
        """Return f^level as splines in the attribute's units."""
        degree, raw = self.basis.degree, self.coefficients(level)
        proper, synthesis = project_density(raw, degree, level), self._synthesis(level)
        return Rung(
            Spline(lower, upper, degree, level, raw),
            Spline(lower, upper, degree, level, proper),
            self.covariance_of(level),
            synthesis @ self.weights[: synthesis.shape[1]],
        )

    @cached_property
    def energies(self) -> np.ndarray:
        """||f^{j+1} - f^j||^2 in L2[0, 1] for each j but the last, shape (levels - 1,)."""
        blocks = enumerate(self.inner_products[1:], 1)
        return np.array([float(z @ np.linalg.solve(self.basis.gram(b), z)) for b, z in blocks])

    @cached_property
    def spectra(self) -> tuple[np.ndarray, ...]:
        """Eigenvalues, (K_b,), of G_b^{-1/2} Cov_b G_b^{-1/2} for each block b >= 1: the noise of `energies` is their mixture
        of chi-squares."""
        found, start = [], len(self.inner_products[0])
        for b, z in enumerate(self.inner_products[1:], 1):
            block = self.covariance[start : start + len(z), start : start + len(z)]
            found.append(np.maximum(eigh(block, self.basis.gram(b), eigvals_only=True), 0.0))
            start += len(z)
        return tuple(found)

    def _synthesis(self, level: int) -> np.ndarray:
        blocks = range(level - self.basis.coarsest_level + 1)
        return np.hstack([self.basis.synthesis(b, level) for b in blocks])


@dataclass(frozen=True, eq=False, kw_only=True)
class _Gathered:
    """Unbiased inner products of the available blocks, and what their covariance is made of.

    z: per block (K_b,).  noise: per block (K_b,), variances.  weights: per block (inputs,), how often each input cell counts;
    law: (inputs,), for the mean.  totals: (B,), what sums were divided by.  n: reports.
    """

    model: NoisyFeatures
    z: Sequence[np.ndarray]
    noise: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]
    law: np.ndarray
    totals: np.ndarray
    n: float

    @cached_property
    def features(self) -> list[np.ndarray]:
        """What each input cell contributes to z, per block (inputs, K_b)."""
        return [table * unit for table, unit, _ in zip(self.model.tables, self.model.units, self.z, strict=False)]

    @property
    def reading(self) -> np.ndarray:
        """(stacked, S): z as sums of the average reports of their blocks, which statistics begin with the numbers of."""
        blocks, sums = len(self.model.tables), sum(table.shape[1] for table in self.model.tables)
        units = np.concatenate([unit for unit, _ in zip(self.model.units, self.z, strict=False)])
        found = np.zeros((len(units), blocks + sums))
        found[np.arange(len(units)), blocks + np.arange(len(units))] = units
        return found

    @cached_property
    def covariance(self) -> np.ndarray:
        """Of all inner products, stacked: the mechanism's noise and the sampling of the clients."""
        covariance = np.diag(np.concatenate([self.noise[b] for b in range(len(self.z))]))
        ends = np.cumsum([0] + [len(block) for block in self.z])
        together = self.model.block_law is None  # one client's blocks are correlated through its value
        for b in range(len(self.z)):
            for c in range(b, len(self.z) if together else b + 1):
                part = _sampling(self.features[b], self.features[c], self.weights[b], self.law)
                part = part / (self.totals[b] * self.totals[c])
                covariance[ends[b] : ends[b + 1], ends[c] : ends[c + 1]] += part
                if c > b:
                    covariance[ends[c] : ends[c + 1], ends[b] : ends[b + 1]] += part.T
        return covariance


def build(model: NoisyFeatures, statistics: np.ndarray, epsilon: float, unit_mass: bool = True) -> Ladder:
    """Return the ladder of everybody's statistics, shape (S,); raises NotEstimable where the coarsest block has no report."""
    return _assemble(_gather(model, statistics), epsilon, unit_mass)


def build_given(
    model: NoisyFeatures, tables: np.ndarray, inverse: np.ndarray, epsilon: float, unit_mass: bool = True
) -> Ladder:
    """Return the ladder of the clients truly in one category, from statistics by reported category.

    tables: (k, S), rows the reported categories c'.  inverse: (k,), the row w of R^{-1} for the true category, R the
    (reported, true) response matrix.  sum_c' w_c' (statistics of c') is unbiased for the statistics of the true category;
    the inner products are ratios of its sums to its count, block by block, and their covariance is that of the ratio to
    first order: sum_c' w_c'^2 n_c' E[(Z - m)(Z - m)' | c'] / count^2.

    Raises NotEstimable where a count is below three standard errors in the coarsest block.
    """
    return _assemble(_gather_given(model, tables, inverse), epsilon, unit_mass)


def averages(model: NoisyFeatures, statistics: np.ndarray) -> Averages:
    """Return everybody's inner products as a likelihood, statistics (S,); raises as `build` does."""
    return _averages(_gather(model, statistics))


def inner_products(model: NoisyFeatures, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return everybody's inner products with the functions of the blocks that have reports, stacked, and their covariance."""
    gathered = _gather(model, statistics)
    return np.concatenate(list(gathered.z)), gathered.covariance


def group_averages(model: NoisyFeatures, tables: np.ndarray, inverse: np.ndarray) -> Averages:
    """Return one category's inner products as a likelihood; arguments and errors as of `build_given`."""
    return _averages(_gather_given(model, tables, inverse))


def _averages(gathered: _Gathered) -> Averages:
    features = np.hstack(gathered.features).T
    if features.shape[1] > _LIKELIHOOD_CELLS:  # splines hardly move within a cell this small
        features = features.reshape(len(features), _LIKELIHOOD_CELLS, -1).mean(axis=2)
    found = whiten(features, np.concatenate(list(gathered.z)), gathered.covariance, gathered.n)
    return replace(found, turn=found.of_reports(np.eye(len(found.values))) @ gathered.reading)


def _gather(model: NoisyFeatures, statistics: np.ndarray) -> _Gathered:
    reports, _ = model.split(statistics)
    available = _available(reports, reports > 0)
    z, noise = model.coefficients(statistics), model.noise_covariances(np.maximum(reports, 1))
    law = _coarse_law(model, z[0], noise[0])
    return _Gathered(
        model=model,
        z=z[:available],
        noise=noise,
        weights=[reports[b] * law for b in range(available)],
        law=law,
        totals=reports.astype(np.float64),
        n=_size(model, reports),
    )


def _gather_given(model: NoisyFeatures, tables: np.ndarray, inverse: np.ndarray) -> _Gathered:
    parts = [model.split(table) for table in tables]
    reported = np.array([reports for reports, _ in parts], dtype=np.float64)  # (k, B)
    totals = inverse @ reported
    errors = np.sqrt(inverse**2 @ reported)
    available = _available(totals, totals > CERTAINTY * errors)
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
    return _Gathered(
        model=model,
        z=z,
        noise=noise,
        weights=[(inverse**2 * reported[:, b]) @ np.array(laws) for b in range(available)],
        law=_coarse_law(model, z[0], noise[0]),
        totals=totals,
        n=_size(model, totals),
    )


def _available(counts: np.ndarray, enough: np.ndarray) -> int:
    """How many blocks from the coarsest on have reports."""
    available = len(counts) if enough.all() else int(np.argmin(enough))
    if available == 0:
        raise NotEstimable("no level can be estimated: the coarsest block has too few reports; collect more")
    return available


def _size(model: NoisyFeatures, reports: np.ndarray) -> float:
    return float(reports.max() if model.block_law is None else reports.sum())


def _coarse_law(model: NoisyFeatures, z: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Probabilities of the input cells under the proper density of V_j0."""
    degree, level = model.basis.degree, model.basis.coarsest_level
    z, _ = _condition(model.basis, z, np.diag(noise))
    coefficients = project_density(model.basis.synthesis(0, level) @ z, degree, level)
    cells = len(model.tables[0])
    law = np.diff(Spline(0.0, 1.0, degree, level, coefficients).cdf(np.arange(cells + 1) / cells))
    law = np.maximum(law, 0.0)
    return np.asarray(law / law.sum())


def _assemble(gathered: _Gathered, epsilon: float, unit_mass: bool) -> Ladder:
    model, covariance, weights = gathered.model, gathered.covariance, gathered.reading
    stacked = np.concatenate(list(gathered.z))
    if unit_mass:
        mass, gain = _told(model.basis, covariance)
        stacked, covariance = _condition(model.basis, stacked, covariance)
        weights = weights - np.outer(gain, mass @ weights)
    basis, turn = model.basis.orthogonal, to_orthogonal(model.basis, len(gathered.z))
    if turn is not None:
        stacked, covariance, weights = turn @ stacked, turn @ covariance @ turn.T, turn @ weights
    sizes = [basis.size(b) for b in range(len(gathered.z))]
    blocks = tuple(np.split(stacked, np.cumsum(sizes)[:-1]))
    return Ladder(
        basis=basis, inner_products=blocks, covariance=covariance, n=gathered.n, epsilon=epsilon, weights=weights
    )


def _sampling(left: np.ndarray, right: np.ndarray, weights: np.ndarray, law: np.ndarray) -> np.ndarray:
    """sum over cells of weight (left - its mean)(right - its mean)'."""
    left, right = left - law @ left, right - law @ right
    return np.asarray((left * weights[:, None]).T @ right)


def _condition(basis: Basis, z: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The normal law of z given that the mass is one."""
    mass, gain = _told(basis, covariance)
    return z - gain * (mass @ z - 1.0), covariance - np.outer(gain, covariance @ mass)


def _told(basis: Basis, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """With what weights the inner products say the mass, and by how much each goes with what they say too much."""
    mass = np.zeros(len(covariance))
    mass[: basis.size(0)] = mass_weights(basis)
    along = covariance @ mass
    return mass, along / (mass @ along)


def mass_weights(basis: Basis) -> np.ndarray:
    """Return the weights, (K_0,), with which the inner products of block 0 add up to the density's mass."""
    j0 = basis.coarsest_level
    return np.asarray(bspline.integrals(basis.degree, j0) @ basis.synthesis(0, j0))
