"""The frequent texts of a round, and intervals for their shares.

Search.  Each stage extends the prefixes that the stage before has kept.  A candidate's evidence is the posterior log odds that
a text of some share begins with it: the prior odds are those of its prefix, divided among the prefix's extensions, and the
likelihood ratio is that of the stage's own clients.  So a decision uses all stages so far.  PEM [Wang2021] decides by the
reports of one stage.

Estimates.  Only clients who reported whole texts count, and the search has not read them.  So p-values and intervals of the
candidates are valid whatever the search found.  The false discovery rate is controlled by p-values that are weighted with the
odds of the search [GenoveseRoederWasserman2006].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

from dpcore.errors import NotEstimable
from dpcore.estimation import constants
from dpcore.estimation.estimator import FrequencyEstimator
from dpcore.estimation.frequency.frequency_estimate import Spread
from dpcore.estimation.frequency.text_estimate import TEXTS, SelectedIntervals, TextEstimate
from dpcore.mechanisms.categorical.text_hashing import (
    BEAM,
    END,
    ESTIMATION_ROWS,
    PRIME,
    ROWS,
    Stage,
    TextHashing,
    polynomials,
)


@dataclass(frozen=True, eq=False)
class FrequentTexts:
    """The candidates of a search, the largest share first: at most BEAM, m of them.

    texts: (m, length) symbols.  intervals: of their shares.  is_reported: whether each is reported.  On average, at most 5 % of
    the reported texts are texts that nobody has.  confidence: of low and high, simultaneous intervals of all candidates.
    """

    texts: np.ndarray
    intervals: SelectedIntervals
    is_reported: np.ndarray
    confidence: float

    @property
    def shares(self) -> np.ndarray:
        """The estimates, unbiased, (m,)."""
        return self.intervals.raw

    @property
    def errors(self) -> np.ndarray:
        """Their standard errors, (m,)."""
        return self.intervals.standard_errors

    @cached_property
    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        return self.intervals.simultaneous(self.confidence)

    @property
    def low(self) -> np.ndarray:
        return self._limits[0]

    @property
    def high(self) -> np.ndarray:
        return self._limits[1]


def frequent_texts(
    mechanism: TextHashing, statistics: np.ndarray, confidence: float = constants.CONFIDENCE
) -> FrequentTexts:
    """Return the frequent texts from the statistics of a round, (S,); raises NotEstimable if a row has no report."""
    clients, tables = mechanism.model().split(statistics)
    if not clients.all():
        raise NotEstimable(
            f"a search for texts needs about 1,000 reports, and there are {clients.sum():,}; collect more"
        )
    own = mechanism.oracle.model()
    frequencies = own.frequencies(tables, clients[:, None])
    texts, odds = _searched(mechanism, frequencies, clients)
    stage = mechanism.estimation
    buckets = np.stack([mechanism.hashed(texts, row) for row in range(stage.first, ROWS)])
    threshold = float(scipy.stats.norm.isf((1 - confidence) / len(texts)))
    shares, null_errors, rest = _regression(mechanism, frequencies, clients, stage, buckets, threshold)
    n = int(clients[stage.rows].sum())
    gain = own.variance(np.clip(shares, 0.0, 1.0), n) - own.variance(0.0, n)
    errors = np.sqrt(null_errors**2 + np.maximum(gain, 0.0))
    excess = np.sqrt(np.maximum(_spread(rest, clients[stage.rows], buckets) / errors**2, 1.0))
    null_errors, errors = null_errors * excess, errors * excess
    other = float(own.other_mean)
    supports = np.clip(n * other + shares / null_errors * np.sqrt(n * other * (1 - other)), 0.0, n)
    tails = scipy.special.betainc(np.maximum(supports, constants.ROUNDING), n - supports + 1, other)
    p_values = np.where(supports > 0, tails, 1.0)
    weights = scipy.special.expit(odds)
    is_reported = _discovered(p_values, weights / weights.mean())
    order = np.argsort(-shares, kind="stable")
    intervals = SelectedIntervals(shares[order], errors[order], len(texts), own, n)
    return FrequentTexts(texts[order], intervals, is_reported[order], confidence)


def visible_share(mechanism: TextHashing, clients: int, power: float = 0.8) -> float:
    """Return the share from which a text of full length is found and reported, with about this probability.

    Every stage must keep the text's prefix among the best BEAM.  Its log odds after the search are normal with mean
    d^2 R / 2 - log(12 N): d is the share in standard errors, R the part of the clients who search, N the number of possible
    texts.  On average, the posterior probabilities of the texts that nobody has add up to one at most, so the weighted test of
    a text with posterior probability p has about the level q p / (p + 1), q = `SIGNIFICANCE`.  Supports are binomial
    [CornishFisher1938].  Other texts are taken to be rare.  Returns 1 if no share suffices.
    """
    model, even, symbols = mechanism.oracle.model(), 1 / mechanism.buckets, mechanism.symbols + 1
    null, other = np.sqrt(float(model.variance(even, clients))), float(model.means(np.array(even)))
    points, weights = np.polynomial.hermite_e.hermegauss(constants.HERMITE_NODES)
    guard = np.sqrt(1 + 1 / np.sqrt(np.pi * (ESTIMATION_ROWS - 1)))  # mean of max(1, s^2), s^2 that of `_spread`

    def is_passed(share: float, rows: int, level: np.ndarray | float, factor: float = 1.0) -> np.ndarray:
        """Return the probability that a text's supports in so many rows pass a test of no text at this level.

        The critical value is that of Cornish and Fisher's expansion.  factor: on its distance from the mean.
        """
        n = round(clients * rows / ROWS)
        scale, z = np.sqrt(n * other * (1 - other)), scipy.stats.norm.isf(level)
        critical = n * other + factor * (scale * z + (1 - 2 * other) * (z**2 - 1) / 6)
        chance = float(model.means(np.array(min(share + even, 1.0))))
        return np.asarray(scipy.stats.binom.sf(critical, n, chance))

    def shortfall(share: float) -> float:
        """Return the power less the probability that a text of this share is found."""
        own = np.sqrt(float(model.variance(min(share + even, 1.0), clients))) / null
        retained = np.prod(
            [
                is_passed(share, stage.rows.stop, min(BEAM / float(symbols) ** stage.length, 0.5))
                for stage in mechanism.stages[:-1]
            ]
        )
        seen = share / null * np.sqrt(mechanism.stages[-1].rows.stop / ROWS)
        prior = np.log(constants.TEXT_SHARES) + mechanism.length * np.log(symbols)
        posterior = scipy.special.expit(seen**2 / 2 + seen * own * points - prior)
        level = constants.SIGNIFICANCE * posterior / (posterior + 1)
        reported = is_passed(share, ESTIMATION_ROWS, level, guard)
        return power - float(retained * (weights @ reported) / weights.sum())

    if shortfall(1.0) >= 0:
        return 1.0
    return float(scipy.optimize.brentq(shortfall, 0.0, 1.0)) if shortfall(0.0) > 0 else 0.0


def _searched(mechanism: TextHashing, frequencies: np.ndarray, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best candidates, (m, length) symbols, and their log odds, (m,)."""
    prefixes = np.zeros((1, 0), dtype=np.int64)
    error = float(np.sqrt(mechanism.oracle.model().variance(0.0, int(clients.sum()))))
    hypotheses = np.geomspace(error, 1.0, constants.TEXT_SHARES)
    odds = np.full((1, constants.TEXT_SHARES), np.inf)  # that a text of each share begins with the prefix
    for stage in mechanism.stages:
        extensions = Extensions(prefixes, stage.length, mechanism.symbols)
        buckets = extensions.buckets(mechanism, stage)
        threshold = float(scipy.stats.norm.isf(1 / len(extensions)))
        shares, errors, _ = _regression(mechanism, frequencies, clients, stage, buckets, threshold)
        prior = -np.logaddexp(0.0, -odds)  # the log probability of each prefix
        total, listed = np.full(len(extensions), -np.inf), []
        for hypothesis, before in zip(hypotheses, prior.T, strict=True):
            gain = np.where(shares < hypothesis, hypothesis * (shares - hypothesis / 2), shares**2 / 2)
            listed.append(before[extensions.parents] - np.log(extensions.siblings) + gain / errors**2)
            total = np.logaddexp(total, listed[-1])
        best = np.argsort(-total, kind="stable")[:BEAM]
        prefixes, odds = extensions.take(best), np.stack([one[best] for one in listed], axis=1)
    return prefixes, total[best] - np.log(constants.TEXT_SHARES)


def _regression(
    mechanism: TextHashing,
    frequencies: np.ndarray,
    clients: np.ndarray,
    stage: Stage,
    buckets: np.ndarray,
    threshold: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of candidates from one stage, (n,), their standard errors if nobody has them, (n,), and what is left of tables.

    A bucket's frequency is the sum of the shares of its texts.  A candidate's share is the average over rows of its bucket's,
    less what others account for: the significant candidates by least squares, and all other texts evenly.
    buckets: (rows, n).  threshold: in standard errors, from which a candidate is significant.
    """
    observed, own = frequencies[stage.rows], clients[stage.rows]
    weights = own / own.sum()
    even = 1 / observed.shape[1]
    error = float(np.sqrt(mechanism.oracle.model().variance(0.0, int(own.sum()))))
    numbers, explained, inverse = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 0))
    rest = observed - even
    shares = _averages(rest, weights, buckets) / (1 - even)
    for _ in range(constants.TEXT_PASSES):
        entering = _entering(shares, buckets, weights, numbers, threshold * error)
        if not len(entering):
            break
        numbers = np.concatenate([numbers, entering])
        for _ in range(2):  # candidates that are small beside the others leave after the first time
            places = buckets[:, numbers]
            inverse = np.linalg.pinv(_shared(places, weights) - even, rcond=constants.DEPENDENT, hermitian=True)
            explained = inverse @ (_averages(observed, weights, places) - even)
            is_kept = explained > threshold * error / 2
            if is_kept.all():
                break
            numbers, explained, inverse = numbers[is_kept], explained[is_kept], inverse[np.ix_(is_kept, is_kept)]
        rest = observed - (1 - explained.sum()) * even
        for row, place in zip(rest, buckets[:, numbers], strict=True):
            np.subtract.at(row, place, explained)
        shares = _averages(rest, weights, buckets) / (1 - even)
        shares[numbers] += explained
    variances = (rest**2).mean(axis=1) * rest.size / max(rest.size - len(numbers), 1)
    errors = np.full(len(shares), np.sqrt(weights**2 @ variances))
    errors[numbers] *= np.sqrt(np.maximum(np.diagonal(inverse), 1.0))
    return shares, errors, rest


def _spread(rest: np.ndarray, clients: np.ndarray, buckets: np.ndarray) -> np.ndarray:
    """The variance of each candidate's average over rows, from the differences between its rows, (m,).

    A frequent text that the search has missed shares a bucket with some candidates in one row: these have a large spread.
    rest: (rows, buckets of a table).  buckets: of the candidates, (rows, m).
    """
    weights, rows = (clients / clients.sum())[:, None], len(rest)
    values = np.take_along_axis(rest, buckets.astype(np.int64), axis=1)
    return np.asarray((weights**2 * (values - (weights * values).sum(axis=0)) ** 2).sum(axis=0) * rows / (rows - 1))


def _averages(tables: np.ndarray, weights: np.ndarray, buckets: np.ndarray) -> np.ndarray:
    """The average over rows of each candidate's entry, (n,); tables: (rows, buckets)."""
    total = np.zeros(buckets.shape[1])
    for table, weight, places in zip(tables, weights, buckets, strict=True):
        total += (weight * table)[places]
    return total


def _shared(places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of the rows in which each two candidates share a bucket, (m, m); places: (rows, m)."""
    return np.asarray(np.einsum("r,rij->ij", weights, places[:, :, None] == places[:, None, :]))


def _entering(
    shares: np.ndarray, buckets: np.ndarray, weights: np.ndarray, present: np.ndarray, least: float
) -> np.ndarray:
    """The numbers of the candidates that enter the regression, by decreasing share that the others do not explain."""
    left = shares.copy()
    left[present] = -np.inf
    large = np.flatnonzero(left > least)
    large = large[np.argsort(-left[large], kind="stable")[: 4 * constants.ENTERING_TEXTS]]
    left, overlap = left[large], _shared(buckets[:, large], weights)
    entering: list[int] = []
    while len(entering) < constants.ENTERING_TEXTS and len(large) and left.max() > least:
        best = int(np.argmax(left))
        entering.append(best)
        left = left - left[best] * overlap[:, best]
        left[entering] = -np.inf
    return large[np.array(entering, dtype=np.int64)]


def _discovered(p_values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Which hypotheses are rejected at the false discovery rate `SIGNIFICANCE`, by p-values divided by weights of mean one."""
    weighted = p_values / weights
    order = np.argsort(weighted)
    most = constants.SIGNIFICANCE * np.arange(1, len(order) + 1) / len(order)
    passed = np.flatnonzero(weighted[order] <= most)
    is_rejected = np.zeros(len(order), dtype=bool)
    is_rejected[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return is_rejected


@dataclass(frozen=True)
class TextShares(FrequencyEstimator):
    """The reported texts; raises NotEstimable, with the smallest share that can be seen, if there is none."""

    name = TEXTS
    titles = MappingProxyType({TEXTS: ""})
    sums_to_one = False
    is_selected = True

    def visible_share(self, mechanism: TextHashing, reports: int) -> float:
        return visible_share(mechanism, reports)

    def _of_everyone(self, described: Any, statistics: np.ndarray, n: int) -> TextEstimate:
        mechanism, domain = described.mechanism, described.texts
        visible = visible_share(mechanism, n)
        frequent = frequent_texts(mechanism, statistics, self.confidence)
        cells = mechanism.cells_of(frequent.texts)
        is_shown = frequent.is_reported & domain.are_possible(cells)  # reports may also favour bytes that are no text
        if not is_shown.any():
            raise NotEstimable(
                f"no text of {described.name} is frequent enough to be found; with {n:,} reports a text is found from a share "
                f"of about {100 * visible:.2g} %; collect more reports, or raise its epsilon"
            )
        raw, errors = frequent.shares[is_shown], frequent.errors[is_shown]
        model = mechanism.model().of_row
        most = max(model.other_mean, 1 - model.other_mean) * ROWS / ESTIMATION_ROWS / model.contrast
        return TextEstimate(
            attribute=described.name,
            categories=tuple(domain.texts_of(cells[is_shown])),
            values=np.clip(raw, 0.0, 1.0),
            raw=raw,
            spread=Spread(errors**2, np.zeros((0, len(raw))), np.zeros((0, 0))),
            intervals=replace(frequent.intervals, raw=raw, standard_errors=errors),
            confidence=self.confidence,
            n=n,
            numbers=None,
            estimator=self.name,
            sensitivities=np.full(len(raw), float(most)),
            visible=visible,
        )


@dataclass(frozen=True, eq=False)
class Extensions:
    """All extensions of some prefixes to one length.

    A prefix that has ended is extended by END only.  Candidates are numbered: those of open prefixes first, prefix by prefix,
    then one for each ended prefix.

    prefixes: (p, old length) symbols.  length: of the extensions.  symbols: of the alphabet.
    """

    prefixes: np.ndarray
    length: int
    symbols: int

    @cached_property
    def endings(self) -> np.ndarray:
        """Every ending of an open prefix, (e, added symbols): no symbol follows END."""
        added = self.length - self.prefixes.shape[1]
        rows = np.indices((self.symbols + 1,) * added).reshape(added, -1).T
        return rows[~((rows[:, :-1] == END) & (rows[:, 1:] != END)).any(axis=1)]

    @cached_property
    def _open(self) -> np.ndarray:
        """The numbers of prefixes that have not ended."""
        return np.flatnonzero((self.prefixes[:, -1:] != END).all(axis=1))

    @cached_property
    def _ended(self) -> np.ndarray:
        return np.setdiff1d(np.arange(len(self.prefixes)), self._open)

    @cached_property
    def parents(self) -> np.ndarray:
        """The number of each candidate's prefix, (n,)."""
        return np.concatenate([np.repeat(self._open, len(self.endings)), self._ended])

    @cached_property
    def siblings(self) -> np.ndarray:
        """How many candidates share each candidate's prefix, itself included, (n,)."""
        return np.where(np.arange(len(self)) < len(self) - len(self._ended), len(self.endings), 1)

    def __len__(self) -> int:
        return len(self._open) * len(self.endings) + len(self._ended)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return the symbols of some candidates, (m, length)."""
        endings = np.zeros((len(numbers), self.length - self.prefixes.shape[1]), dtype=np.int64)
        is_open = numbers < len(self) - len(self._ended)
        endings[is_open] = self.endings[numbers[is_open] % len(self.endings)]
        return np.hstack([self.prefixes[self.parents[numbers]], endings])

    def buckets(self, mechanism: TextHashing, stage: Stage) -> np.ndarray:
        """Return the bucket of each candidate in each row of a stage, (rows, n), int16.

        A hash value of prefix and ending is the prefix's times base^added, plus the ending's.
        """
        added = self.length - self.prefixes.shape[1]
        table = np.empty((len(stage.bases), len(self)), dtype=np.int16)
        for row, base in zip(table, stage.bases, strict=True):
            begun = polynomials(self.prefixes, base) * pow(base, added, PRIME) % PRIME
            values = begun[self._open, None] + polynomials(self.endings, base)
            values -= PRIME * (values >= PRIME)
            ended = (begun[self._ended] + polynomials(np.full((1, added), END), base)) % PRIME
            row[:] = mechanism.bucket_of(np.concatenate([values.ravel(), ended]))
        return table
