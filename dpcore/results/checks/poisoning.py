"""Tests for malicious clients in an aggregate, each with a false-alarm rate of 1 in 1,000 for honest clients.

Single reports are validated elsewhere (exact support, the level that a public hash assigns, lattice numbers outside the range
of the noise).  An aggregate of honest reports has a distribution with few unknown parameters, which these tests use:

    levels        the numbers of reports per level follow the public distribution of levels, whatever the values
    marginals     parts of a report that do not depend on the value have their known distribution (`Mechanism.marginal_laws`):
                  the number of ones of a unary report, the hash function of local hashing, the column of a Hadamard symbol
    possible      frequencies are not negative, and averages of features are within the range of the features
    consistency   all levels agree with one density: contrasts of shares in the null space of A' have mean zero, with a
                  covariance from the observed shares; features give a total mass of one; shares sum to one
    homogeneity   batches of reports, in order of arrival, have the same distribution (random halves would both contain
                  malicious clients)

Each statistic is chi-squared or a mixture of chi-squared distributions, asymptotically.  Malicious clients that behave like
honest clients with other values (`attacks.RandomItem`) cannot be detected by any test.  Source: [Cao2021] for the attacks; the
contrasts are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import nan

import numpy as np
import scipy

from dpcore.estimation.density.inner_products import InnerProducts, mass_gain
from dpcore.estimation.estimators import project_simplex
from dpcore.mechanisms.observation_model import FiniteChannel, Level, NoisyFeatures, ScoreSums
from dpcore.protocol.aggregates import Aggregate

FALSE_ALARMS = 1e-3  # false-alarm rate of each check for honest clients
_MANY = 2048  # with more cells, a regression replaces the basis of contrasts
_STEPS = 60  # iterations of least squares; stopping early regularizes the distribution
_RARE = 0.01  # lower limit of a cell's share in its variance, relative to the average share
_ENOUGH = 5.0  # expected reports in a cell, for a normal approximation of its count
_NOTHING = 1e-9  # singular values and variances below this fraction of the largest count as zero
_LARGEST = 1024  # categories up to which the full covariance is computed


@dataclass(frozen=True)
class Outcome:
    """A test statistic with its critical value at level `FALSE_ALARMS`, its p-value and a description."""

    statistic: float
    threshold: float
    p_value: float
    description: str


@dataclass(frozen=True, kw_only=True)
class Check(Outcome):
    """Result of a named check of an attribute."""

    name: str
    attribute: str

    @property
    def detail(self) -> str:
        """Description and p-value in one line."""
        return self.description if np.isnan(self.p_value) else f"{self.description}, p = {self.p_value:.2g}"

    @property
    def is_available(self) -> bool:
        """Whether the test could be made; otherwise the numbers are nan and detail gives the reason."""
        return not np.isnan(self.statistic)

    @property
    def passed(self) -> bool:
        """Whether the statistic is at most its threshold; true if the test is not available."""
        return not self.statistic > self.threshold


def checks(aggregate: Aggregate, parts: Sequence[Aggregate] = (), names: Collection[str] = ()) -> list[Check]:
    """Return the results of all checks that apply to each attribute and have enough reports.

    parts: the aggregates of the batches in order of arrival.  names: a subset of `NAMES`; () for all.  Without single reports,
    as in an aggregate of `simulate`, the check `marginals` is not available.
    """
    results = []
    for name in aggregate.scheme.attributes:
        for check, test in _CHECKS.items():
            is_requested = aggregate.reports(name) and (not names or check in names)
            result = test(aggregate, name, parts) if is_requested else None
            if result is not None:
                results.append(Check(**vars(result), name=check, attribute=name))
    return results


def _levels(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Outcome | None:
    model, statistics = aggregate.scheme.attributes[name].mechanism.model(), aggregate.statistics[name]
    counted = model.level_counts(statistics)
    return None if counted is None else _chi_squared(*pearson(*counted), "numbers of reports per level")


def _marginals(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Outcome | None:
    laws = aggregate.scheme.attributes[name].mechanism.marginal_laws()
    counted = aggregate.marginals.get(name, np.zeros(0, dtype=np.int64))
    if not laws:
        return None
    if counted.sum() != len(laws) * aggregate.reports(name):
        return Outcome(nan, nan, nan, "not available: an aggregate of simulated statistics has no single reports")
    ends = np.cumsum([len(law) for law in laws])[:-1]
    seen = [pearson(part, law) for law, part in zip(laws, np.split(counted, ends), strict=True)]
    total, free = sum(part for part, _ in seen), sum(degrees for _, degrees in seen)
    return _chi_squared(total, free, "parts of reports that do not depend on the value")


def _possible(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Outcome | None:
    model, statistics = aggregate.scheme.attributes[name].mechanism.model(), aggregate.statistics[name]
    supports = model.single_supports(statistics)
    if supports is not None:
        (scores, counts), n = supports, aggregate.reports(name)
        error = np.sqrt(float(scores.variance(0.0, n)))
        if not np.isfinite(error) or n * float(scores.other_mean) < _ENOUGH:
            return None
        excess, description = np.minimum(scores.frequencies(counts, n) / error, 0.0), "frequencies below zero"
    elif isinstance(model, NoisyFeatures):
        reports, sums = model.split(statistics)
        used = [b for b in range(len(sums)) if reports[b] >= _ENOUGH]
        if not used:
            return None
        excess = np.concatenate([_outside(model, b, sums[b] / reports[b], int(reports[b])) for b in used])
        description = "averages of features outside their range"
    else:
        return None
    statistic, size = float(excess @ excess), len(excess)
    return Outcome(statistic, _half_threshold(size), _half_tail(statistic, size), f"sum of squares: {description}")


def _outside(model: NoisyFeatures, block: int, means: np.ndarray, n: int) -> np.ndarray:
    """Excess of averages over the range of the features, in standard errors, (K,)."""
    least, most = model.tables[block].min(axis=0), model.tables[block].max(axis=0)
    errors = np.sqrt(model.noise_variances[block] / n)  # at a limit of the range only the noise varies
    return np.asarray(np.maximum(np.maximum(least - means, means - most), 0.0) / errors)


def _half_tail(limit: float, number: int) -> float:
    """Probability that the sum of squares of the negative parts of so many standard normals exceeds a limit."""
    sided = np.arange(1, number + 1)
    choices = (
        scipy.special.gammaln(number + 1) - scipy.special.gammaln(sided + 1) - scipy.special.gammaln(number - sided + 1)
    )
    return float(np.exp(choices - number * np.log(2)) @ scipy.special.chdtrc(sided, limit))


@lru_cache(maxsize=64)
def _half_threshold(number: int) -> float:
    """Limit that the sum exceeds with probability `FALSE_ALARMS`."""
    most = float(scipy.special.chdtri(number, FALSE_ALARMS)) + 1.0
    return float(scipy.optimize.brentq(lambda limit: _half_tail(limit, number) - FALSE_ALARMS, 0.0, most))


def _consistency(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Outcome | None:
    model, statistics = aggregate.scheme.attributes[name].mechanism.model(), aggregate.statistics[name]
    if isinstance(model, FiniteChannel):
        return _contrasted(model, statistics)
    if isinstance(model, NoisyFeatures):
        if model.split(statistics)[0][0] < _ENOUGH:
            return None
        products = InnerProducts.from_statistics(model, statistics)
        weights, _ = mass_gain(model.basis, products.covariance)
        off, variance = float(weights @ products.stacked) - 1.0, float(weights @ products.covariance @ weights)
        return _chi_squared(off**2 / variance, 1, "total mass of the density against 1")
    if not isinstance(model, ScoreSums):
        return None
    n = aggregate.reports(name)
    raw = model.frequencies(statistics, n) if model.contrast > 0 else np.zeros(0)
    if not len(raw) or n * float(model.other_mean) < _ENOUGH:
        return None
    own, shared, weights = model.covariance(project_simplex(raw), n)
    total = shared.sum(axis=1)
    variance = float(own.sum() + total @ weights @ total)
    if variance <= _NOTHING * own.sum():
        return None  # every report supports the same number of categories
    return _chi_squared((raw.sum() - 1.0) ** 2 / variance, 1, "sum of frequencies against 1")


def _contrasted(model: FiniteChannel, statistics: np.ndarray) -> Outcome | None:
    """Test contrasts of the levels' shares that are zero for every density."""
    counts = model.split(np.asarray(statistics, dtype=np.float64))
    used = tuple(level for level, part in enumerate(counts) if part.sum() >= _ENOUGH * len(part))
    if not used:
        return None
    if sum(len(counts[level]) for level in used) > _MANY:
        return _regressed(model, [counts[level] for level in used], used)
    contrasts = null_contrasts(tuple(model.levels[level] for level in used))
    if not contrasts.size:
        return None  # some distribution of values explains every distribution of reports
    shares = np.concatenate([counts[level] / counts[level].sum() for level in used])
    observed, covariance = shares @ contrasts, np.zeros((contrasts.shape[1],) * 2)
    fitted = shares - contrasts @ observed  # a cell's variance must not depend on its own error
    start = 0
    for level in used:
        part, own = (rows[start : start + len(counts[level])] for rows in (contrasts, fitted))
        own = np.maximum(own, 0.0) / np.maximum(own, 0.0).sum()
        mean = own @ part
        covariance += ((part * own[:, None]).T @ part - np.outer(mean, mean)) / counts[level].sum()
        start += len(own)
    return _chi_squared(*_spread_out(observed[None], np.ones(1), covariance), "contrasts between levels")


def _regressed(model: FiniteChannel, counts: Sequence[np.ndarray], used: Sequence[int]) -> Outcome | None:
    """Test the same for many cells, without a basis of contrasts: the residual sum of squares of weighted least squares."""
    channel = np.vstack([model.levels[level].matrix() for level in used])
    shares = np.concatenate([part / part.sum() for part in counts])
    sizes = np.repeat([part.sum() for part in counts], [len(part) for part in counts])
    smooth = channel @ scipy.sparse.linalg.lsqr(channel, shares, iter_lim=_STEPS)[0]
    own = np.maximum(smooth, _RARE / len(shares))  # a cell's variance must not depend on its own error
    weighted = (channel * (sizes / own)[:, None]).T
    try:
        solved = scipy.linalg.cho_factor(weighted @ channel)
    except np.linalg.LinAlgError:
        return None  # the channel does not have full rank, so the degrees of freedom are unknown
    left = shares - channel @ scipy.linalg.cho_solve(solved, weighted @ shares)
    free = len(shares) - model.inputs - len(counts) + 1
    return _chi_squared(float(np.sum(sizes * left**2 / own)), free, "residuals of the levels' cells")


@lru_cache(maxsize=16)
def null_contrasts(levels: tuple[Level, ...]) -> np.ndarray:
    """Return an orthonormal basis, (S, D), of the contrasts c of all levels' shares with A'c = 0: zero for every density.

    The difference of the sums of two levels' shares is one of them; its variance is zero.
    """
    folded = np.vstack([wave.matrix() for wave in levels])
    axes, values, _ = np.linalg.svd(folded, full_matrices=True)
    return np.asarray(axes[:, int(np.sum(values > _NOTHING * values[0])) :])


def _homogeneity(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Outcome | None:
    model = aggregate.scheme.attributes[name].mechanism.model()
    tables = [part.statistics[name] for part in parts]
    sizes = [part.reports(name) for part in parts]
    if not sum(sizes):
        return None
    if isinstance(model, FiniteChannel) or (isinstance(model, ScoreSums) and model.is_one_category):
        return _one_law(tables)
    if isinstance(model, NoisyFeatures):
        return _one_average(model, tables)
    supports = [own for own in map(model.single_supports, tables) if own is not None]
    if not supports:
        return None
    n = sum(sizes)
    covariance = model.support_covariance(np.sum(tables, axis=0), n)
    one_report = None if covariance is None else covariance * n
    return _one_frequency(supports[0][0], [counts for _, counts in supports], sizes, one_report)


def _one_law(tables: Sequence[np.ndarray]) -> Outcome | None:
    """Test whether all batches have the same multinomial distribution."""
    rows = _gathered(tables, [int(table.sum()) for table in tables], _ENOUGH * len(tables[0]))
    if len(rows) < 2:
        return None
    counts = np.array(rows)
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    free = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return _chi_squared(
        float(np.sum((counts - expected) ** 2 / expected)), free, f"differences between {len(rows)} batches"
    )


def _one_frequency(
    model: ScoreSums, tables: Sequence[np.ndarray], sizes: Sequence[int], one: np.ndarray | None = None
) -> Outcome | None:
    """Test whether all batches have the same frequencies; one: the covariance for one report, by default the model's."""
    if len(tables[0]) > _LARGEST or model.contrast <= 0:
        return None
    rows = _gathered(
        [np.append(table, n) for table, n in zip(tables, sizes, strict=True)], sizes, _ENOUGH * len(tables[0])
    )
    if len(rows) < 2:
        return None
    n = np.array([row[-1] for row in rows], dtype=np.float64)
    raw = np.array([model.frequencies(row[:-1], int(row[-1])) for row in rows])
    pooled = n @ raw / n.sum()
    if one is None:
        own, shared, weights = model.covariance(project_simplex(pooled), 1)
        one = np.diag(own) + shared.T @ weights @ shared
    statistic, directions = _spread_out(raw - pooled, n, one)
    return _chi_squared(statistic, (len(rows) - 1) * directions, f"differences between {len(rows)} batches")


def _one_average(model: NoisyFeatures, tables: Sequence[np.ndarray]) -> Outcome | None:
    """Test whether all batches have the same averages of features, block by block."""
    if len(tables) < 2:
        return None
    whole = np.sum(tables, axis=0)
    covariance = InnerProducts.from_statistics(model, whole).covariance
    ends = np.cumsum([0, *(table.shape[1] for table in model.tables)])
    statistic, free = 0.0, 0
    blocks = range(len(model.tables)) if model.block_law is not None else range(1)  # blocks of one client are dependent
    for block in blocks:
        rows = [table for table in tables if model.split(table)[0][block] >= _ENOUGH]
        if len(rows) < 2 or ends[block + 1] > len(covariance):
            continue
        reports = float(model.split(whole)[0][block])
        one = covariance[ends[block] : ends[block + 1], ends[block] : ends[block + 1]] * reports
        n = np.array([model.split(row)[0][block] for row in rows], dtype=np.float64)
        z = np.array([model.coefficients(row)[block] for row in rows])
        statistic += _spread_out(z - n @ z / n.sum(), n, one)[0]
        free += (len(rows) - 1) * z.shape[1]
    return _chi_squared(statistic, free, f"differences between {len(tables)} batches") if free else None


def _spread_out(off: np.ndarray, n: np.ndarray, one: np.ndarray) -> tuple[float, int]:
    """Chi-squared statistic of the deviations of batch averages, (P, K), and the rank of their covariance.

    n: (P,), reports.  one: (K, K), covariance for one report.
    """
    scales, axes = np.linalg.eigh(one)
    varies = scales > _NOTHING * scales[-1]
    turned = off @ axes[:, varies] / np.sqrt(scales[varies])
    return float(n @ np.sum(turned**2, axis=1)), int(varies.sum())


def _gathered(rows: Sequence[np.ndarray], sizes: Sequence[int], least: float) -> list[np.ndarray]:
    """Sum consecutive rows until each sum has enough reports; the remainder is added to the last sum."""
    sums: list[np.ndarray] = []
    held, total = None, 0
    for row, size in zip(rows, sizes, strict=True):
        held, total = row if held is None else held + row, total + size
        if total >= least:
            sums.append(held)
            held, total = None, 0
    if held is not None and sums:
        sums[-1] = sums[-1] + held
    return sums


def pearson(counts: np.ndarray, law: np.ndarray) -> tuple[float, int]:
    """Return Pearson's chi-squared statistic for a known distribution and its degrees of freedom; rare cells are merged."""
    expected = np.asarray(law) * counts.sum()
    order = np.argsort(expected, kind="stable")
    together = int(np.searchsorted(np.cumsum(expected[order]), _ENOUGH)) + 1
    groups = np.concatenate([[0], np.arange(together, len(order))])
    observed, wanted = (np.add.reduceat(cells[order], groups) for cells in (counts, expected))
    return float(np.sum((observed - wanted) ** 2 / np.maximum(wanted, 1e-300))), len(groups) - 1


def _chi_squared(statistic: float, free: int, description: str) -> Outcome:
    """Result of a chi-squared test with so many degrees of freedom."""
    description = f"chi-squared({free}): {description}"
    if not free:
        return Outcome(0.0, 0.0, 1.0, description)
    threshold, p_value = scipy.special.chdtri(free, FALSE_ALARMS), scipy.special.chdtrc(free, statistic)
    return Outcome(statistic, float(threshold), float(p_value), description)


_CHECKS: Mapping[str, Callable[[Aggregate, str, Sequence[Aggregate]], Outcome | None]] = {
    "levels": _levels,
    "marginals": _marginals,
    "possible": _possible,
    "consistency": _consistency,
    "homogeneity": _homogeneity,
}
NAMES = tuple(_CHECKS)
