"""What an auditor looks at in a report: each view sorts reports into a few classes, of which events are made.

A view is made from reports that are not the ones it is tested on.  It may be anything: whatever the classes are, a client
that keeps epsilon falls into no set of them with probabilities more than a factor e^epsilon apart.  One view knows the
mechanism; the others know nothing, and are there for the faults that a mechanism does not know it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcore.audit.attacks.likelihood_ratio import Pair, log_ratio
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.reports import Reports, starts_of

_BINS = 128  # classes of a likelihood ratio that takes many values
_SINGLE = 4096  # most frequent reports that have a class of their own
_PLACES = 8  # integers of a report whose low bits are looked at
_BITS = 128  # exponents of a lowest bit, 2^-90 to 2^37, and zero


Two = tuple[Reports, Reports]  # of the pair's first value and of its second


@dataclass(frozen=True, eq=False)
class View:
    """Classes of reports.  words: what is looked at, for people.  classify: the class of each, integers 0..size-1."""

    words: str
    size: int
    classify: Callable[[Reports], np.ndarray]


def views_of(mechanism: Mechanism, pair: Pair, seen: Two, before: Two) -> list[list[View]]:
    """Return the views of the reports of a pair of values, in kinds: an auditor takes the best of each.

    seen: reports under either of them, at least one.  before: as many as `classify` will be given, sent at the same places.
    """
    return [
        [likelihood_view(mechanism, pair, seen)],
        [_single(mechanism, seen)],
        [_repeated(mechanism, before)],
        _low_bits(mechanism, pair, seen),
    ]


def likelihood_view(mechanism: Mechanism, pair: Pair, seen: Two) -> View:
    """How much likelier a report is under one of the values; where that takes many values, in bins, the ends by themselves."""
    ratios = np.concatenate([log_ratio(mechanism, reports, pair) for reports in seen])
    edges = np.unique(ratios)
    if len(edges) > _BINS:
        edges = np.unique(np.quantile(ratios, np.linspace(0, 1, _BINS), method="nearest"))

    def classify(reports: Reports) -> np.ndarray:
        return np.searchsorted(edges, log_ratio(mechanism, reports, pair), side="right")

    return View("how much likelier the report is under one of the values", len(edges) + 1, classify)


def _single(mechanism: Mechanism, seen: Two) -> View:
    """The reports that were seen most often, one by one: a value that is sent in clear now and then shows there."""
    prints, times = np.unique(
        np.concatenate([_fingerprints(mechanism, reports) for reports in seen]), return_counts=True
    )
    common = np.sort(prints[np.argsort(-times, kind="stable")[:_SINGLE]])

    def classify(reports: Reports) -> np.ndarray:
        fingerprints = _fingerprints(mechanism, reports)
        at = np.minimum(np.searchsorted(common, fingerprints), len(common) - 1)
        return np.where(common[at] == fingerprints, at + 1, 0)

    return View("which report it is", len(common) + 1, classify)


def _repeated(mechanism: Mechanism, before: Two) -> View:
    """Whether a report is the one that was sent at its place under either value: draws that are known are no noise."""
    first, second = (_fingerprints(mechanism, reports) for reports in before)

    def classify(reports: Reports) -> np.ndarray:
        fingerprints = _fingerprints(mechanism, reports)
        return (fingerprints == first).astype(np.int64) + 2 * (fingerprints == second)

    return View("whether it is the report that was seen at its place before", 4, classify)


def _low_bits(mechanism: Mechanism, pair: Pair, seen: Two) -> list[View]:
    """The exponent of the lowest bit of a report's integers, and of its likelihood ratio: where floats betray themselves."""

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
        *(View(f"the lowest bit of number {place + 1} of the report", _BITS, of_place(place)) for place in places),
    ]


def lowest_bits(numbers: np.ndarray) -> np.ndarray:
    """Return the class of the lowest bit that is one of each number, 0 for zero: an integer's parity, a float's last digit.

    >>> lowest_bits(np.array([0.0, 1.0, 3.0, 2.0, 0.75])).tolist()
    [0, 91, 91, 92, 89]
    """
    mantissa, exponent = np.frexp(np.asarray(numbers, dtype=np.float64))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    last = np.frexp((whole & -whole).astype(np.float64))[1] - 1 + exponent - 53
    return np.where(whole == 0, 0, np.clip(last + 91, 1, _BITS - 1))


def _fingerprints(mechanism: Mechanism, reports: Reports) -> np.ndarray:
    """A number for each report, of its level and all its bits, shape (n,); two reports share one by chance only."""
    words = np.ascontiguousarray(reports.values)
    words = words.view(np.uint64) if words.dtype.itemsize == 8 else words.astype(np.uint64)
    levels = reports.level.astype(np.uint64)
    ends = starts_of(reports.level, mechanism.sizes)
    starts = ends[:-1]
    place = np.arange(len(words), dtype=np.uint64) - np.repeat(starts, np.diff(ends)).astype(np.uint64)
    return np.add.reduceat(_mixed(words ^ _mixed(place + np.uint64(1))), starts) + _mixed(levels + np.uint64(1 << 32))


def _mixed(words: np.ndarray) -> np.ndarray:
    """A fixed scrambling of 64 bits, one to one."""
    for shift, odd in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(odd)
    return words ^ (words >> np.uint64(31))
