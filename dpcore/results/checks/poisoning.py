"""What malicious clients leave in an aggregate: checks that honest clients fail once in a thousand times, whatever is true.

Beside what is refused report by report (exact support, the level that a public hash assigns, lattice numbers beyond honest
noise) an aggregate of honest reports has a law with few unknowns.

    levels        reports of each level are drawn by the public law, whatever is true
    marginals     what does not depend on the truth has its known law (`Mechanism.marginal_laws`): the number of ones of a unary
                  report, the hash function of local hashing, the column of a Hadamard symbol
    possible      frequencies are not negative, and averages of features lie within the features' range
    consistency   levels tell of one density: contrasts of shares in the null space of A' have mean zero for every density, and
                  covariances that the observed shares say; features tell its mass, which is one; shares add up to one
    homogeneity   batches of reports, as they came, have one law.  Halves drawn at random would hold malicious clients alike

Each is chi-squared or a mixture of such laws, exact for many reports.  What looks like honest clients with other values
(`attacks.RandomItem`) leaves nothing: no check sees it, and nobody could.  Source: [Cao2021] for what is looked for; the
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

FALSE_ALARMS = 1e-3  # of each check, where every client is honest
_MANY = 2048  # cells, of whose contrasts no basis is written
_STEPS = 60  # towards the law of least squares, after which it is smooth still
_RARE = 0.01  # of the average share, below which no cell's variance is believed to lie
_ENOUGH = 5.0  # reports in a cell on average, for its count to be all but normal
_NOTHING = 1e-9  # of the largest, below which a singular value or a variance is none
_LARGEST = 1024  # numbers whose whole covariance is looked at


@dataclass(frozen=True)
class Found:
    """A statistic, what it exceeds once in a thousand honest rounds, at most, and how often it would be as large.

    said: what it is of.
    """

    statistic: float
    threshold: float
    p_value: float
    said: str


@dataclass(frozen=True, kw_only=True)
class Check(Found):
    """What the check of a name found of an attribute."""

    name: str
    attribute: str

    @property
    def detail(self) -> str:
        """All of it, in one line."""
        return self.said if np.isnan(self.p_value) else f"{self.said}, p = {self.p_value:.2g}"

    @property
    def is_available(self) -> bool:
        """Whether there was anything to judge; else the numbers are nan, and detail says why."""
        return not np.isnan(self.statistic)

    @property
    def passed(self) -> bool:
        """Whether honest clients would leave this; so they would where nothing can be judged."""
        return not self.statistic > self.threshold


def checks(aggregate: Aggregate, parts: Sequence[Aggregate] = (), names: Collection[str] = ()) -> list[Check]:
    """Return what every check that can be made finds of each attribute; too few reports are not judged.

    parts: the aggregates of batches that the whole was merged from, as they came.  names: of `NAMES`, () for all.  Where no
    report was seen, as in an aggregate of `simulate`, the check of what they show beside the truth says it is not available.
    """
    results = []
    for name in aggregate.scheme.attributes:
        for check, judge in _CHECKS.items():
            is_asked = aggregate.reports(name) and (not names or check in names)
            seen = judge(aggregate, name, parts) if is_asked else None
            if seen is not None:
                results.append(Check(**vars(seen), name=check, attribute=name))
    return results


def _levels(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Found | None:
    model, statistics = aggregate.scheme.attributes[name].mechanism.model(), aggregate.statistics[name]
    if isinstance(model, FiniteChannel) and len(model.levels) > 1:
        return _chi_squared(*pearson(model.reports(statistics), model.level_law), "reports of each level")
    if isinstance(model, NoisyFeatures) and model.block_law is not None:
        return _chi_squared(*pearson(model.split(statistics)[0], model.block_law), "reports of each level")
    return None


def _marginals(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Found | None:
    laws = aggregate.scheme.attributes[name].mechanism.marginal_laws()
    counted = aggregate.marginals.get(name, np.zeros(0, dtype=np.int64))
    if not laws:
        return None
    if counted.sum() != len(laws) * aggregate.reports(name):
        return Found(
            nan, nan, nan, "not available: no report was seen, as where `simulate` draws statistics from their law"
        )
    ends = np.cumsum([len(law) for law in laws])[:-1]
    seen = [pearson(part, law) for law, part in zip(laws, np.split(counted, ends), strict=True)]
    return _chi_squared(sum(one for one, _ in seen), sum(free for _, free in seen), "what does not depend on the truth")


def _possible(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Found | None:
    model, statistics = aggregate.scheme.attributes[name].mechanism.model(), aggregate.statistics[name]
    if isinstance(model, ScoreSums):
        n = aggregate.reports(name)
        error = np.sqrt(float(model.variance(0.0, n)))
        if not np.isfinite(error) or n * float(model.other_mean) < _ENOUGH:
            return None
        short, what = np.minimum(model.frequencies(statistics, n) / error, 0.0), "frequencies below zero"
    elif isinstance(model, NoisyFeatures):
        reports, sums = model.split(statistics)
        used = [b for b in range(len(sums)) if reports[b] >= _ENOUGH]
        if not used:
            return None
        short = np.concatenate([_outside(model, b, sums[b] / reports[b], int(reports[b])) for b in used])
        what = "average features beyond what any client's can be"
    else:
        return None
    statistic = float(short @ short)
    return Found(statistic, _half_threshold(len(short)), _half_tail(statistic, len(short)), f"sum of squares: {what}")


def _outside(model: NoisyFeatures, block: int, means: np.ndarray, n: int) -> np.ndarray:
    """By how many standard errors averages are beyond the features' range, (K,)."""
    least, most = model.tables[block].min(axis=0), model.tables[block].max(axis=0)
    errors = np.sqrt(model.noise_variances[block] / n)  # at an end of the range all clients are alike
    return np.asarray(np.maximum(np.maximum(least - means, means - most), 0.0) / errors)


def _half_tail(limit: float, number: int) -> float:
    """How often a sum of squares of so many normal errors, each counted on one side only, exceeds a limit."""
    sided = np.arange(1, number + 1)
    choices = (
        scipy.special.gammaln(number + 1) - scipy.special.gammaln(sided + 1) - scipy.special.gammaln(number - sided + 1)
    )
    return float(np.exp(choices - number * np.log(2)) @ scipy.special.chdtrc(sided, limit))


@lru_cache(maxsize=64)
def _half_threshold(number: int) -> float:
    """What it exceeds once in a thousand times."""
    most = float(scipy.special.chdtri(number, FALSE_ALARMS)) + 1.0
    return float(scipy.optimize.brentq(lambda limit: _half_tail(limit, number) - FALSE_ALARMS, 0.0, most))


def _consistency(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Found | None:
    model, statistics = aggregate.scheme.attributes[name].mechanism.model(), aggregate.statistics[name]
    if isinstance(model, FiniteChannel):
        return _contrasted(model, statistics)
    if isinstance(model, NoisyFeatures):
        if model.split(statistics)[0][0] < _ENOUGH:
            return None
        products = InnerProducts.from_statistics(model, statistics)
        weights, _ = mass_gain(model.basis, products.covariance)
        off, variance = float(weights @ products.stacked) - 1.0, float(weights @ products.covariance @ weights)
        return _chi_squared(off**2 / variance, 1, "the density's mass, which is one")
    n = aggregate.reports(name)
    raw = model.frequencies(statistics, n) if model.contrast > 0 else np.zeros(0)
    if not len(raw) or n * float(model.other_mean) < _ENOUGH:
        return None
    own, shared, weights = model.covariance(project_simplex(raw), n)
    total = shared.sum(axis=1)
    variance = float(own.sum() + total @ weights @ total)
    if variance <= _NOTHING * own.sum():
        return None  # every report supports as many categories
    return _chi_squared((raw.sum() - 1.0) ** 2 / variance, 1, "the sum of frequencies, which is one")


def _contrasted(model: FiniteChannel, statistics: np.ndarray) -> Found | None:
    """Contrasts of the levels' shares that no density has."""
    counts = model.split(np.asarray(statistics, dtype=np.float64))
    used = tuple(level for level, part in enumerate(counts) if part.sum() >= _ENOUGH * len(part))
    if not used:
        return None
    if sum(len(counts[level]) for level in used) > _MANY:
        return _regressed(model, [counts[level] for level in used], used)
    contrasts = null_contrasts(tuple(model.levels[level] for level in used))
    if not contrasts.size:
        return None  # every law of reports is one that some law of values has
    shares = np.concatenate([counts[level] / counts[level].sum() for level in used])
    observed, covariance = shares @ contrasts, np.zeros((contrasts.shape[1],) * 2)
    fitted = shares - contrasts @ observed  # what chance gives a cell must not make its own variance
    start = 0
    for level in used:
        part, own = (rows[start : start + len(counts[level])] for rows in (contrasts, fitted))
        own = np.maximum(own, 0.0) / np.maximum(own, 0.0).sum()
        mean = own @ part
        covariance += ((part * own[:, None]).T @ part - np.outer(mean, mean)) / counts[level].sum()
        start += len(own)
    return _chi_squared(*_spread_out(observed[None], np.ones(1), covariance), "contrasts of levels that no density has")


def _regressed(model: FiniteChannel, counts: Sequence[np.ndarray], used: Sequence[int]) -> Found | None:
    """The same of very many cells, of whose contrasts nobody writes a basis: the weighted squares that no law explains."""
    channel = np.vstack([model.levels[level].matrix() for level in used])
    shares = np.concatenate([part / part.sum() for part in counts])
    sizes = np.repeat([part.sum() for part in counts], [len(part) for part in counts])
    smooth = channel @ scipy.sparse.linalg.lsqr(channel, shares, iter_lim=_STEPS)[0]
    own = np.maximum(smooth, _RARE / len(shares))  # what chance gives a cell must not make its own variance
    weighted = (channel * (sizes / own)[:, None]).T
    try:
        solved = scipy.linalg.cho_factor(weighted @ channel)
    except np.linalg.LinAlgError:
        return None  # the levels do not tell all laws apart, and how many they tell is not known
    left = shares - channel @ scipy.linalg.cho_solve(solved, weighted @ shares)
    free = len(shares) - model.inputs - len(counts) + 1
    return _chi_squared(float(np.sum(sizes * left**2 / own)), free, "what of the levels' cells no density explains")


@lru_cache(maxsize=16)
def null_contrasts(levels: tuple[Level, ...]) -> np.ndarray:
    """Return an orthonormal basis, (S, D), of the contrasts c of all levels' shares with A'c = 0: zero for every density.

    That shares of two levels add up alike is one, whose variance is zero.
    """
    folded = np.vstack([wave.matrix() for wave in levels])
    axes, values, _ = np.linalg.svd(folded, full_matrices=True)
    return np.asarray(axes[:, int(np.sum(values > _NOTHING * values[0])) :])


def _homogeneity(aggregate: Aggregate, name: str, parts: Sequence[Aggregate]) -> Found | None:
    model = aggregate.scheme.attributes[name].mechanism.model()
    tables = [part.statistics[name] for part in parts]
    sizes = [part.reports(name) for part in parts]
    if isinstance(model, FiniteChannel) or (isinstance(model, ScoreSums) and model.is_one_category):
        return _one_law(tables)
    if isinstance(model, ScoreSums):
        return _one_frequency(model, tables, sizes)
    return _one_average(model, tables)


def _one_law(tables: Sequence[np.ndarray]) -> Found | None:
    """Counts of one multinomial law."""
    rows = _gathered(tables, [int(table.sum()) for table in tables], _ENOUGH * len(tables[0]) if tables else 0)
    if len(rows) < 2:
        return None
    counts = np.array(rows)
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    free = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return _chi_squared(
        float(np.sum((counts - expected) ** 2 / expected)), free, f"{len(rows)} batches against each other"
    )


def _one_frequency(model: ScoreSums, tables: Sequence[np.ndarray], sizes: Sequence[int]) -> Found | None:
    if len(tables) < 2 or len(tables[0]) > _LARGEST or model.contrast <= 0:
        return None
    rows = _gathered(
        [np.append(table, n) for table, n in zip(tables, sizes, strict=True)], sizes, _ENOUGH * len(tables[0])
    )
    if len(rows) < 2:
        return None
    n = np.array([row[-1] for row in rows], dtype=np.float64)
    raw = np.array([model.frequencies(row[:-1], int(row[-1])) for row in rows])
    pooled = n @ raw / n.sum()
    own, shared, weights = model.covariance(project_simplex(pooled), 1)
    one = np.diag(own) + shared.T @ weights @ shared
    statistic, directions = _spread_out(raw - pooled, n, one)
    return _chi_squared(statistic, (len(rows) - 1) * directions, f"{len(rows)} batches against each other")


def _one_average(model: NoisyFeatures, tables: Sequence[np.ndarray]) -> Found | None:
    """Averages of features of one law, block by block."""
    if len(tables) < 2:
        return None
    whole = np.sum(tables, axis=0)
    covariance = InnerProducts.from_statistics(model, whole).covariance
    ends = np.cumsum([0, *(table.shape[1] for table in model.tables)])
    statistic, free = 0.0, 0
    blocks = range(len(model.tables)) if model.block_law is not None else range(1)  # a client's own blocks go together
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
    return _chi_squared(statistic, free, f"{len(tables)} batches against each other") if free else None


def _spread_out(off: np.ndarray, n: np.ndarray, one: np.ndarray) -> tuple[float, int]:
    """Chi-squared of batches' averages off the common one, (P, K), and in how many directions they may be.

    n: (P,), reports.  one: (K, K), the covariance of one.
    """
    scales, axes = np.linalg.eigh(one)
    varies = scales > _NOTHING * scales[-1]
    turned = off @ axes[:, varies] / np.sqrt(scales[varies])
    return float(n @ np.sum(turned**2, axis=1)), int(varies.sum())


def _gathered(rows: Sequence[np.ndarray], sizes: Sequence[int], least: float) -> list[np.ndarray]:
    """Rows added up in their order until each is of enough reports; what is left over joins the last."""
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
    """Return chi-squared of counts of a known law, and its degrees of freedom; cells that expect too few are taken together."""
    expected = np.asarray(law) * counts.sum()
    order = np.argsort(expected, kind="stable")
    together = int(np.searchsorted(np.cumsum(expected[order]), _ENOUGH)) + 1
    groups = np.concatenate([[0], np.arange(together, len(order))])
    observed, wanted = (np.add.reduceat(cells[order], groups) for cells in (counts, expected))
    return float(np.sum((observed - wanted) ** 2 / np.maximum(wanted, 1e-300))), len(groups) - 1


def _chi_squared(statistic: float, free: int, what: str) -> Found:
    """The statistic beside what it would be."""
    threshold, p_value = (
        (float(scipy.special.chdtri(free, FALSE_ALARMS)), float(scipy.special.chdtrc(free, statistic)))
        if free
        else (0.0, 1.0)
    )
    return Found(statistic if free else 0.0, threshold, p_value, f"chi-squared on {free}: {what}")


_CHECKS: Mapping[str, Callable[[Aggregate, str, Sequence[Aggregate]], Found | None]] = {
    "levels": _levels,
    "marginals": _marginals,
    "possible": _possible,
    "consistency": _consistency,
    "homogeneity": _homogeneity,
}
NAMES = tuple(_CHECKS)
