"""Set selection in the audit: classes of subsets by their items of the padded set."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from dpcore.audit.mechanisms import base
from dpcore.audit.mechanisms.base import Class, Pair, Ranks
from dpcore.mechanisms.categorical.option_sets import OptionSets
from dpcore.mechanisms.categorical.set_selection import SetSelection
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.shuffling.channel import Level, up


@base.report_classes.register
def _(mechanism: SetSelection) -> tuple[list[Class], str]:
    """As clients draw: whether the subset has an item of the padded set, then a uniform subset of that kind."""
    stated = mechanism.parameters()
    k, m, size = stated["options"], stated["at_most"], stated["size"]
    every, lacking = comb(k + m, size), comb(k, size)
    neither = comb(k - m, size)  # the full set {1, .., m} and the empty set share no item
    # over the common denominator total * (every - lacking) * lacking
    inside, outside = stated["weight_in"] * lacking, stated["weight_out"] * (every - lacking)
    classes = [
        ("subsets with items of x and of x'", every - 2 * lacking + neither, inside, inside),
        ("subsets with items of x alone", lacking - neither, inside, outside),
        ("subsets with items of x' alone", lacking - neither, outside, inside),
        ("subsets with items of neither", neither, outside, outside),
    ]
    return (
        classes,
        "the four kinds of subsets for two padded sets x and x' without a common item, counted by binomial coefficients",
    )


@base.levels.register
def _(mechanism: SetSelection) -> tuple[Level, ...]:
    """Bounds alone; every subset is at least as likely as one without a true item."""
    classes, _ = base.report_classes(mechanism)
    inside, outside = classes[0][2], classes[-1][2]
    total = sum(size * weight for _, size, weight, _ in classes)
    distance = Fraction(sum(size * abs(weight - other) for _, size, weight, other in classes), 2 * total)
    least = Fraction(sum(size for _, size, *_ in classes) * outside, total)
    return (Level(ratio=up(Fraction(inside, outside)), distance=up(distance), mass=-up(-least)),)


@base.hard_pairs.register
def _(mechanism: SetSelection, held: np.ndarray | None = None) -> tuple[Pair, ...]:
    """The empty set and a full one have no item in common."""
    return (Pair(0, mechanism.inputs - 1),)


@base.log_ratio.register
def _(mechanism: SetSelection, reports: Reports, pair: Pair) -> np.ndarray:
    stated, rows = mechanism.parameters(), base.report_rows(mechanism, reports)
    inside = [
        np.asarray(np.isin(rows, items).any(axis=1)) for items in padded(stated, np.array([pair.first, pair.second]))
    ]
    return base.signed_ratio(inside, mechanism.weight_in * mechanism.lacking, mechanism.weight_out * mechanism.holding)


@base.report_ranks.register
def _(mechanism: SetSelection, values: np.ndarray, reports: Reports, generator: np.random.Generator) -> Ranks:
    """Rank how many items of the padded set the subset has, a random one of these, and a random one of the others."""
    stated = mechanism.parameters()
    k, m, size = stated["options"], stated["at_most"], stated["size"]
    own, rows = padded(stated, values), reports.values.reshape(-1, stated["size"])
    is_own = np.zeros((len(rows), k + m), dtype=bool)
    np.put_along_axis(is_own, own, True, axis=1)
    hits = np.take_along_axis(is_own, rows, axis=1)
    every, lacking = comb(k + m, size), comb(k, size)
    weights = [
        stated["weight_in"] / (every - lacking) * comb(m, hit) * comb(k, size - hit) for hit in range(min(m, size) + 1)
    ]
    weights[0] = stated["weight_out"]
    parts = {"how many true items it has": base.weighted_ranks(np.array([weights]), hits.sum(axis=1), generator)}
    for part, of_kind, count in (("a true item of the subset", is_own, m), ("another item of the subset", ~is_own, k)):
        kind = np.take_along_axis(of_kind, rows, axis=1)
        item = rows[np.arange(len(rows)), np.where(kind, generator.random(kind.shape), 2.0).argmin(axis=1)]
        place = np.cumsum(of_kind, axis=1)[np.arange(len(rows)), item] - 1  # among its kind
        has_one = kind.any(axis=1)
        rank = generator.random(len(rows))
        rank[has_one] = base.uniform_ranks(place[has_one], count, generator)
        parts[part] = rank
    return parts


def padded(stated: Mapping[str, Any], values: np.ndarray) -> np.ndarray:
    """Return the items of the padded sets, (n, at_most), of a set mechanism's integers: options first, then dummies."""
    k, m = stated["options"], stated["at_most"]
    members = OptionSets(k, m).members(values)
    dummies = np.arange(m) < m - members.sum(axis=1, keepdims=True)
    return np.nonzero(np.hstack([members, dummies]))[1].reshape(-1, m)
