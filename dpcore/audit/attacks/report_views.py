"""Views of reports: each view sorts reports into a small number of classes, from which events of an attack are formed.

A view is built from other reports than those it is tested on.  Any view is valid: under epsilon, the probabilities of any set
of classes differ by at most a factor e^epsilon.  One view uses the mechanism's likelihood; the others are independent of the
mechanism, to detect faults of its implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcore.audit.attacks.likelihood_ratio import Pair, log_ratio
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.reports import Reports, starts_of

_BINS = 128  # classes of a likelihood ratio with many distinct values
_SINGLE = 4096  # most frequent reports, each with its own class
_PLACES = 8  # integers of a report whose low bits are tested
_BITS = 128  # exponents of a lowest bit, 2^-90 to 2^37, and zero


Two = tuple[Reports, Reports]  # reports of the pair's first value and of its second


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
