"""The frequent texts of a round, and intervals for their shares.

Search.  Each stage extends the prefixes that the stage before has kept.  A candidate's evidence is the posterior log odds that
a text of some share begins with it: the prior odds are those of its prefix, divided among the prefix's extensions, and the
likelihood ratio is that of the stage's own clients.  All evidence for a text is used, where PEM [Wang2021] keeps a fixed
number of prefixes by the reports of one stage.

Estimates.  Only clients who reported whole texts count, and the search has not read them.  So p-values and intervals of the
candidates are valid whatever the search found, and the odds of the search are weights of a false discovery rate procedure
[GenoveseRoederWasserman2006].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from dpcore.errors import NotEstimable
from dpcore.laboratory.open_answers.candidates import Extensions
from dpcore.laboratory.open_answers.text_hashing import KEPT, Stage, TextHashing

TESTED = 256  # candidates of the search whose shares are estimated
FALSE_DISCOVERIES = 0.05  # the expected share of reported texts that nobody has, at most
_SHARES = 12  # hypothetical shares of a text, equally spaced in logarithm from its standard error to one
_ADDED = 64  # candidates that enter a regression at once
_PASSES = 12  # the most times that candidates enter


@dataclass(frozen=True, eq=False)
class FrequentTexts:
    """The candidates of a search, the largest share first, m of them.

    texts: (m, length) symbols.  shares, errors: unbiased estimates and their standard errors.  low, high: simultaneous
    intervals of all candidates within [0, 1].  is_reported: whether each is reported; of those at most 5 % on average are texts
    that nobody has.
    """

    texts: np.ndarray
    shares: np.ndarray
    errors: np.ndarray
    low: np.ndarray
    high: np.ndarray
    is_reported: np.ndarray
    clients: int


def frequent_texts(
    mechanism: TextHashing, tables: np.ndarray, clients: np.ndarray, confidence: float = 0.95
) -> FrequentTexts:
    """Return the frequent texts from the statistics of a round.

    tables: (ROWS, buckets) supports.  clients: (ROWS,) reports of each row.  Raises NotEstimable if a row has no report.
    """
    if not clients.all():
        raise NotEstimable("open answers: a row has no reports yet; collect reports before estimating")
    frequencies = mechanism.oracle.model().frequencies(tables, clients[:, None])
    texts, odds = _searched(mechanism, frequencies, clients)
    stage = mechanism.estimation
    buckets = np.stack([mechanism.buckets(texts, row) for row in range(*stage.rows.indices(len(tables)))])
    threshold = float(norm.isf((1 - confidence) / len(texts)))
    shares, null_error = _regression(mechanism, frequencies, clients, stage, buckets, threshold)
    weights = 1 / (1 + np.exp(-odds))
    is_reported = _discovered(norm.sf(shares / null_error), weights / weights.mean())
    own = mechanism.oracle.model()
    n = int(clients[stage.rows].sum())
    gain = own.variance(np.clip(shares, 0.0, 1.0), n) - own.variance(0.0, n)
    errors = np.sqrt(null_error**2 + np.maximum(gain, 0.0))
    half = float(norm.isf((1 - confidence) / 2 / len(texts))) * errors
    order = np.argsort(-shares, kind="stable")
    low, high = (np.clip(end, 0.0, 1.0)[order] for end in (shares - half, shares + half))
    return FrequentTexts(texts[order], shares[order], errors[order], low, high, is_reported[order], int(clients.sum()))


def visible_share(mechanism: TextHashing, clients: int, power: float = 0.8) -> float:
    """Return the share from which a text of full length is found and reported with about this probability.

    Every stage must keep the text's prefix among the best KEPT, by the evidence of all stages so far, and the test of a
    candidate that the search considers certain must reject.
    """
    error = float(np.sqrt(mechanism.oracle.model().variance(0.0, clients)))
    rows = mechanism.estimation.first + len(mechanism.estimation.bases)
    room = float(norm.isf(1 - power))
    needed = [(norm.isf(FALSE_DISCOVERIES / 10) + room) / np.sqrt(len(mechanism.estimation.bases) / rows)]
    for stage in mechanism.stages:
        prefixes = float(mechanism.symbols + 1) ** stage.length
        needed.append((norm.isf(min(KEPT / prefixes, 0.5)) + room) / np.sqrt(stage.rows.stop / rows))
    return error * float(max(needed))


def _searched(mechanism: TextHashing, frequencies: np.ndarray, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best candidates, (m, length) symbols, and their log odds, (m,)."""
    prefixes = np.zeros((1, 0), dtype=np.int64)
    error = float(np.sqrt(mechanism.oracle.model().variance(0.0, int(clients.sum()))))
    hypotheses = np.geomspace(error, 1.0, _SHARES)
    odds = np.full((1, _SHARES), np.inf)  # that a text of each share begins with the prefix
    for stage in mechanism.stages:
        extensions = Extensions(prefixes, stage.length, mechanism.symbols)
        buckets = extensions.buckets(mechanism, stage)
        threshold = float(norm.isf(1 / len(extensions)))
        shares, error = _regression(mechanism, frequencies, clients, stage, buckets, threshold)
        prior = -np.logaddexp(0.0, -odds)  # the log probability of each prefix
        total, listed = np.full(len(extensions), -np.inf), []
        for hypothesis, before in zip(hypotheses, prior.T, strict=True):
            gain = np.where(shares < hypothesis, hypothesis * (shares - hypothesis / 2), shares**2 / 2) / error**2
            listed.append(before[extensions.parents] - np.log(extensions.siblings) + gain)
            total = np.logaddexp(total, listed[-1])
        kept = np.argsort(-total, kind="stable")[: KEPT if stage is not mechanism.stages[-1] else TESTED]
        prefixes, odds = extensions.take(kept), np.stack([one[kept] for one in listed], axis=1)
    return prefixes, total[kept]


def _regression(
    mechanism: TextHashing,
    frequencies: np.ndarray,
    clients: np.ndarray,
    stage: Stage,
    buckets: np.ndarray,
    threshold: float,
) -> tuple[np.ndarray, float]:
    """Shares of candidates from one stage, (n,), and the standard error of one that nobody has.

    A bucket's frequency is the sum of the shares of its texts.  A candidate's share is the average over rows of its bucket's,
    less what others account for: the significant candidates by least squares, and all other texts evenly.
    buckets: (rows, n).  threshold: in standard errors, from which a candidate is significant.
    """
    observed, own = frequencies[stage.rows], clients[stage.rows]
    weights = own / own.sum()
    even = 1 / observed.shape[1]
    error = float(np.sqrt(mechanism.oracle.model().variance(0.0, int(own.sum()))))
    numbers, explained = np.zeros(0, dtype=np.int64), np.zeros(0)
    rest = observed - even
    shares = _averages(rest, weights, buckets) / (1 - even)
    for _ in range(_PASSES):
        entering = _entering(shares, buckets, weights, numbers, threshold * error)
        if not len(entering):
            break
        numbers = np.concatenate([numbers, entering])
        for _ in range(2):  # the second time without those that the others explain
            places = buckets[:, numbers]
            moments = _shared(places, weights) - even
            explained = np.linalg.solve(moments, _averages(observed, weights, places) - even)
            is_kept = explained > threshold * error / 2
            if is_kept.all():
                break
            numbers, explained = numbers[is_kept], explained[is_kept]
        rest = observed - (1 - explained.sum()) * even
        for row, place in zip(rest, buckets[:, numbers], strict=True):
            np.subtract.at(row, place, explained)
        shares = _averages(rest, weights, buckets) / (1 - even)
        shares[numbers] += explained
    variances = (rest**2).mean(axis=1)
    return shares, float(np.sqrt(weights**2 @ variances))


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
    """The numbers of candidates that enter the regression: the largest share first, each less what those before explain."""
    left = shares.copy()
    left[present] = -np.inf
    large = np.flatnonzero(left > least)
    large = large[np.argsort(-left[large], kind="stable")[: 4 * _ADDED]]
    left, overlap = left[large], _shared(buckets[:, large], weights)
    entering: list[int] = []
    while len(entering) < _ADDED and len(large) and left.max() > least:
        best = int(np.argmax(left))
        entering.append(best)
        left = left - left[best] * overlap[:, best]
        left[entering] = -np.inf
    return large[np.array(entering, dtype=np.int64)]


def _discovered(p_values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Which hypotheses are rejected at the rate FALSE_DISCOVERIES, by p-values divided by weights of mean one."""
    weighted = p_values / weights
    order = np.argsort(weighted)
    most = FALSE_DISCOVERIES * np.arange(1, len(order) + 1) / len(order)
    passed = np.flatnonzero(weighted[order] <= most)
    is_rejected = np.zeros(len(order), dtype=bool)
    is_rejected[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return is_rejected
