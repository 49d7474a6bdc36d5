"""Empirical lower bounds of epsilon: run the client's code many times and compare the reports of two values.

Only reports are used.  On one part of them, events are chosen: sets of reports that are more frequent under one value than
under the other.  On a disjoint part, they are counted.  A client with (epsilon, delta) has Pr(event | x) <= e^epsilon Pr(event
| x') + delta, so

    epsilon >= ln((p - delta) / p'),

with p the lower and p' the upper limit of the exact intervals of the two probabilities [ClopperPearson1934], each at half of
the error probability.  The bound is valid for every event; a good event makes it tight.  A lower bound cannot prove a promise,
but it can disprove one: it detects faults in the code that draws, which enumeration of the integers cannot see.

Views of reports: each view sorts reports into a small number of classes, from which events of an attack are formed.

A view is built from other reports than those it is tested on.  Any view is valid: under epsilon, the probabilities of any set
of classes differ by at most a factor e^epsilon.  One view uses the mechanism's likelihood; the others are independent of the
mechanism, to detect faults of its implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from dpcore._random import Source
from dpcore.audit.mechanisms.base import Pair, hard_pairs, log_ratio
from dpcore.errors import check_within
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.reports import Reports, starts_of

CONFIDENCE = 0.99
TRIALS = 200_000
LEAST_TRIALS = 1000
_CHUNK = 1 << 14  # reports drawn at a time
_INTEGERS = 1 << 25  # most integers in the reports of one value; fewer reports are drawn if they are longer
_BINS = 128  # classes of a likelihood ratio with many distinct values
_SINGLE = 4096  # most frequent reports, each with its own class
_PLACES = 8  # integers of a report whose low bits are tested
_BITS = 128  # exponents of a lowest bit, 2^-90 to 2^37, and zero

Two = tuple[Reports, Reports]  # reports of the pair's first value and of its second


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """A lower bound of a mechanism's epsilon from reports.

    epsilon: lower bound at `confidence`, natural-log units, at least 0.  values: two input cells, first the one under which the
    event is more probable.  hits: number of reports in the event, of `trials` reports of each value.
    """

    epsilon: float
    confidence: float
    trials: int
    hits: tuple[int, int]
    values: tuple[int, int]
    event: str


def lower_bound(
    mechanism: Mechanism, random: Source, *, trials: int = TRIALS, confidence: float = CONFIDENCE
) -> LowerBound:
    """Return a lower bound of the epsilon of one report, from reports alone.

    trials: counted reports of each value, 1000 or more; about as many more are used to choose the events.  confidence:
    0.5..0.999999; the bound is invalid with probability at most 1 - confidence.

    A bound above the promise is measured again on fresh reports, and the smaller of the two is returned.  A false alarm
    therefore needs two events, each of probability at most 1 - confidence.

    Raises SchemeError for numbers outside these ranges, CalibrationError if the mechanism has no registered likelihood.
    """
    check_within(LEAST_TRIALS, 10**9, trials=trials)
    check_within(0.5, 0.999999, confidence=confidence)
    pair = _hardest(mechanism, random, trials)
    events = _choose(mechanism, pair, random, trials)
    first = _count(mechanism, pair, events, random, trials, confidence)
    if first.epsilon > float(mechanism.budget):
        again = _count(mechanism, pair, events, random, trials, confidence)
        return min(first, again, key=lambda bound: bound.epsilon)
    return first


def clopper_pearson(
    hits: np.ndarray, others: np.ndarray, trials: int, *, confidence: float, delta: float = 0.0
) -> np.ndarray:
    """Return ln((p - delta) / p'), p the lower limit for `hits` of `trials`, p' the upper limit for `others`; at least 0.

    hits, others: integers 0..trials, of equal shape, which is that of the result.  Each limit fails with probability at most
    half of 1 - confidence.

    >>> float(clopper_pearson(np.array([600_000]), np.array([100_000]), 10**6, confidence=0.99)[0].round(4))
    1.7819
    """
    low, _ = binomial_interval(hits, trials, confidence)
    _, high = binomial_interval(others, trials, confidence)
    return np.log(np.maximum((low - delta) / high, 1.0))


def binomial_interval(
    hits: np.ndarray | int, trials: np.ndarray | int, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of the exact interval of a probability [ClopperPearson1934]; 0 and 1 for zero trials.

    hits: integers 0..trials; `hits` and `trials` are broadcast.  Each limit fails with probability at most half of
    1 - confidence.
    """
    tail = (1 - confidence) / 2
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    low = np.where(k > 0, scipy.special.betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, scipy.special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    return low, high


@dataclass(frozen=True, eq=False)
class _Event:
    """The event that a report's class is in `classes`; likely: index (0 or 1) of the value under which it is more frequent."""

    view: View
    classes: np.ndarray
    likely: int
    score: float  # the bound at selection

    def hits(self, two: Two) -> np.ndarray:
        """Return the number of reports in the event, for the more likely value and for the other."""
        counts = [int(np.count_nonzero(self.classes[self.view.classify(reports)])) for reports in two]
        return np.array(counts[:: 1 - 2 * self.likely])


def _hardest(mechanism: Mechanism, random: Source, trials: int) -> Pair:
    """Return the candidate pair with the largest measured bound."""
    pairs = hard_pairs(mechanism)
    if len(pairs) == 1:
        return pairs[0]
    scores = []
    for pair in pairs:
        parts = list(_reports(mechanism, pair, random, max(trials // (2 * len(pairs)), LEAST_TRIALS // 2)))
        view = likelihood_view(mechanism, pair, _together(parts[: len(parts) // 2]))
        scores.append(_best([view], parts, _delta(mechanism)).score)
    return pairs[int(np.argmax(scores))]


def _choose(mechanism: Mechanism, pair: Pair, random: Source, trials: int) -> list[_Event]:
    """Return the event with the largest bound for each kind of view."""
    before, *parts = _reports(mechanism, pair, random, trials)
    seen = _together(parts[: len(parts) // 2])
    return [_best(views, parts, _delta(mechanism)) for views in views_of(mechanism, pair, seen, before)]


def _best(views: list[View], parts: list[Two], delta: float) -> _Event:
    """Return the event with the largest bound.

    The first half of the reports, from which the views were built, orders the classes.  The second half determines how many
    classes to include, so no count influences its own selection.
    """
    half, events = len(parts) // 2, []
    for view in views:
        counts = np.array([[np.bincount(view.classify(side), minlength=view.size) for side in two] for two in parts])
        learned, scored = counts[:half].sum(axis=0), counts[half:].sum(axis=0)
        for likely in (0, 1):
            order = np.argsort(-(learned[likely] + 0.5) / (learned[1 - likely] + 0.5), kind="stable")
            hits, others = np.cumsum(scored[likely][order]), np.cumsum(scored[1 - likely][order])
            bounds = clopper_pearson(hits, others, int(hits[-1]), confidence=CONFIDENCE, delta=delta)
            most = int(np.argmax(bounds))
            taken = np.isin(np.arange(view.size), order[: most + 1])
            events.append(_Event(view, taken, likely, float(bounds[most])))
    return max(events, key=lambda event: event.score)


def _count(
    mechanism: Mechanism, pair: Pair, events: list[_Event], random: Source, trials: int, confidence: float
) -> LowerBound:
    """Return the largest bound of the events, with the error probability divided among them."""
    hits, n = np.zeros((len(events), 2), dtype=np.int64), 0
    for two in _reports(mechanism, pair, random, trials):
        hits += [event.hits(two) for event in events]
        n += len(two[0])
    event_confidence = 1 - (1 - confidence) / len(events)
    bounds = clopper_pearson(hits[:, 0], hits[:, 1], n, confidence=event_confidence, delta=_delta(mechanism))
    best = int(np.argmax(bounds))
    cells = (pair.first, pair.second)
    return LowerBound(
        epsilon=float(bounds[best]),
        confidence=confidence,
        trials=n,
        hits=(int(hits[best, 0]), int(hits[best, 1])),
        values=cells if events[best].likely == 0 else cells[::-1],
        event=events[best].view.words,
    )


def _reports(mechanism: Mechanism, pair: Pair, random: Source, trials: int) -> Iterator[Two]:
    """Yield reports of both values in chunks, drawn by the client's code."""
    size = max(mechanism.sizes) if pair.level is None else mechanism.sizes[pair.level]
    trials = min(trials, _INTEGERS // size)
    chunks = max(8, -(-trials // _CHUNK))
    chunk = trials // chunks
    levels = None if pair.level is None else np.full(chunk, pair.level, dtype=np.uint8)
    values = [np.full(chunk, value, dtype=np.int64) for value in (pair.first, pair.second)]
    for _ in range(chunks):
        yield mechanism.privatize(values[0], random, levels), mechanism.privatize(values[1], random, levels)


def _together(parts: list[Two]) -> Two:
    first, second = zip(*parts, strict=True)
    return Reports.joined(first), Reports.joined(second)


def _delta(mechanism: Mechanism) -> float:
    """Return the mechanism's delta; 0 unless the noise is Gaussian."""
    return float(mechanism.delta)


@dataclass(frozen=True, eq=False)
class View:
    """A classification of reports.  words: its description.  classify: the class of each report, integers 0..size-1."""

    words: str
    size: int
    classify: Callable[[Reports], np.ndarray]


def views_of(mechanism: Mechanism, pair: Pair, seen: Two, before: Two) -> list[list[View]]:
    """Return the views for a pair of values, grouped by kind; the attack uses the best view of each kind.

    seen: reports under both values, at least one each.  before: earlier reports, as many as `classify` receives, by position.
    """
    return [
        [likelihood_view(mechanism, pair, seen)],
        [_single(mechanism, seen)],
        [_repeated(mechanism, before)],
        _low_bits(mechanism, pair, seen),
    ]


def likelihood_view(mechanism: Mechanism, pair: Pair, seen: Two) -> View:
    """Return the view of the likelihood ratio; many distinct values are binned, with separate bins for the extremes."""
    ratios = np.concatenate([log_ratio(mechanism, reports, pair) for reports in seen])
    edges = np.unique(ratios)
    if len(edges) > _BINS:
        edges = np.unique(np.quantile(ratios, np.linspace(0, 1, _BINS), method="nearest"))

    def classify(reports: Reports) -> np.ndarray:
        return np.searchsorted(edges, log_ratio(mechanism, reports, pair), side="right")

    return View("the likelihood ratio of the two values", len(edges) + 1, classify)


def _single(mechanism: Mechanism, seen: Two) -> View:
    """Return the view of the most frequent reports, one by one, which detects occasional unprotected values."""
    prints, times = np.unique(
        np.concatenate([_fingerprints(mechanism, reports) for reports in seen]), return_counts=True
    )
    common = np.sort(prints[np.argsort(-times, kind="stable")[:_SINGLE]])

    def classify(reports: Reports) -> np.ndarray:
        fingerprints = _fingerprints(mechanism, reports)
        at = np.minimum(np.searchsorted(common, fingerprints), len(common) - 1)
        return np.where(common[at] == fingerprints, at + 1, 0)

    return View("the report itself, if it is frequent", len(common) + 1, classify)


def _repeated(mechanism: Mechanism, before: Two) -> View:
    """Return the view whether a report repeats the earlier report at its position, which detects predictable draws."""
    first, second = (_fingerprints(mechanism, reports) for reports in before)

    def classify(reports: Reports) -> np.ndarray:
        fingerprints = _fingerprints(mechanism, reports)
        return (fingerprints == first).astype(np.int64) + 2 * (fingerprints == second)

    return View("whether the report repeats the earlier one at its position", 4, classify)


def _low_bits(mechanism: Mechanism, pair: Pair, seen: Two) -> list[View]:
    """Return views of the lowest set bit of the likelihood ratio and of a report's integers, which detect float noise."""

    def of_ratio(reports: Reports) -> np.ndarray:
        return lowest_bits(log_ratio(mechanism, reports, pair))

    views = [View("the lowest bit of the likelihood ratio", _BITS, of_ratio)]
    if len({mechanism.sizes[level] for reports in seen for level in np.unique(reports.level)}) > 1:
        return views
    first, second = (reports.values.reshape(len(reports), -1) for reports in seen)
    apart = np.abs(first.astype(np.float64).mean(axis=0) - second.astype(np.float64).mean(axis=0))

    def of_place(place: int) -> Callable[[Reports], np.ndarray]:
        return lambda reports: lowest_bits(reports.values.reshape(len(reports), -1)[:, place])

    places = np.argsort(-apart, kind="stable")[:_PLACES].tolist()
    return [
        *views,
        *(View(f"the lowest bit of integer {place + 1} of the report", _BITS, of_place(place)) for place in places),
    ]


def lowest_bits(numbers: np.ndarray) -> np.ndarray:
    """Return the class of each number's lowest set bit, 0 for zero.

    >>> lowest_bits(np.array([0.0, 1.0, 3.0, 2.0, 0.75])).tolist()
    [0, 91, 91, 92, 89]
    """
    mantissa, exponent = np.frexp(np.asarray(numbers, dtype=np.float64))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    last = np.frexp((whole & -whole).astype(np.float64))[1] - 1 + exponent - 53
    return np.where(whole == 0, 0, np.clip(last + 91, 1, _BITS - 1))


def _fingerprints(mechanism: Mechanism, reports: Reports) -> np.ndarray:
    """Return a 64-bit hash of each report's level and integers, shape (n,)."""
    words = np.ascontiguousarray(reports.values)
    words = words.view(np.uint64) if words.dtype.itemsize == 8 else words.astype(np.uint64)
    levels = reports.level.astype(np.uint64)
    ends = starts_of(reports.level, mechanism.sizes)
    starts = ends[:-1]
    place = np.arange(len(words), dtype=np.uint64) - np.repeat(starts, np.diff(ends)).astype(np.uint64)
    return np.add.reduceat(_mixed(words ^ _mixed(place + np.uint64(1))), starts) + _mixed(levels + np.uint64(1 << 32))


def _mixed(words: np.ndarray) -> np.ndarray:
    """Apply a fixed bijective mixing of 64 bits."""
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(odd)
    return words ^ (words >> np.uint64(31))
