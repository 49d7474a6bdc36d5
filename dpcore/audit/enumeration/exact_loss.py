"""The exact privacy loss of every attribute of a scheme, by enumeration.

A mechanism certifies itself; the audit does not use that certificate.  It reads the integers of the canonical scheme, with
which clients draw, and enumerates their effects:

- a channel that can be listed: every entry, each row divided by its own total;
- a frequency oracle with too many reports to list: every class of reports that are equivalent for a pair of categories.  Parts
  that do not depend on the value (a hash function, a column) or have equal probability under both values (other categories'
  bits) are the same factor in both probabilities, and cancel;
- additive noise: every pair of input cells of every coefficient table.

Rule: a figure is exact, never only a bound.  If there is no exact figure, the audit raises an error.  Tests verify that the
clients' code draws from these channels, by running it on every draw that it can make.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce, singledispatch
from math import comb
from operator import add

import numpy as np

from dpcore._random import seeded
from dpcore.audit.enumeration.additive_noise import approximate_epsilon, largest_loss, largest_square
from dpcore.audit.enumeration.attribute_pairs import audit_pair
from dpcore.audit.enumeration.finite_channel import largest_ratio, turns_of
from dpcore.audit.enumeration.loss import Loss
from dpcore.audit.findings import AttributeAudit, Finding, PairAudit, SchemeAudit
from dpcore.errors import CalibrationError
from dpcore.mechanisms import (
    CrossedWave,
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
)
from dpcore.mechanisms.categorical.set_selection import SetSelection
from dpcore.mechanisms.categorical.text_hashing import TextHashing
from dpcore.mechanisms.categorical.unary_encoding import BitCounts
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.protocol.scheme import Scheme

_SEEDS = 4  # seeds of the test that levels are independent of values; half as many if reports are long

Class = tuple[str, int, int, int]  # class of reports: its name, size, and the weight of one report under x and under x'


def audit_scheme(scheme: Scheme) -> SchemeAudit:
    """Return the exact loss of every attribute and of the whole scheme, from the integers in its canonical text.

    Raises SchemeError if the canonical text cannot be parsed, CalibrationError if a mechanism cannot be enumerated.
    """
    read = Scheme.from_toml(scheme.canonical)
    if read.digest != scheme.digest:
        raise CalibrationError(
            f"the canonical text of {scheme.name} reads back as another scheme ({read.digest[:12]}..., not "
            f"{scheme.digest[:12]}...), so its digest is invalid; prepare the scheme again"
        )
    attributes = {
        name: AttributeAudit(
            name=name,
            mechanism=attribute.mechanism.name,
            configuration=attribute.mechanism.parameters(),
            digest=_digest(attribute.mechanism),
            promised=attribute.budget,
            finding=audit_mechanism(attribute.mechanism),
            columns=attribute.of,
        )
        for name, attribute in read.attributes.items()
    }
    units = [reduce(add, [attributes[name].finding.loss for name in unit]) for unit in read.units]
    return SchemeAudit(
        name=read.name,
        digest=read.digest,
        canonical=read.canonical,
        reporting=read.reporting,
        promised=read.budget,
        loss=reduce(add if read.reporting == "all" else _larger, units),
        attributes=tuple(attributes.values()),
        public={name: len(label.categories) for name, label in read.labels.items()},
        pairs=tuple(_pair(read, attributes, pair) for pair in read.pairs),
    )


def _pair(scheme: Scheme, audits: Mapping[str, AttributeAudit], pair: tuple[str, str]) -> PairAudit:
    first, second = pair
    mechanisms = scheme.attributes[first].mechanism, scheme.attributes[second].mechanism
    return audit_pair(pair, mechanisms, (audits[first].finding.loss, audits[second].finding.loss))


def audit_mechanism(mechanism: Mechanism) -> Finding:
    """Return the exact loss of one report of a mechanism.

    Levels are public.  They are drawn independently of the value, so the loss of (level, report) is the largest loss within a
    level.

    Raises CalibrationError if the mechanism cannot be enumerated.

    >>> from dpcore.privacy.budget import Budget
    >>> two_coins = RandomizedResponse(Budget.parse("ln 3"), 2, 3, 1)
    >>> audit_mechanism(two_coins).loss
    Loss(rational=Fraction(0, 1), ratio=Fraction(3, 1))
    """
    finding = _enumerate(mechanism)
    if _levels_ignore_values(mechanism):
        return finding
    doubt = "the level of a report depends on the value, and is public"
    return replace(finding, doubts=(*finding.doubts, doubt))


@singledispatch
def _enumerate(mechanism: Mechanism) -> Finding:
    """Return the larger exact loss of the stated integers and of the channel that the mechanism's code lists, if any."""
    channel, stated = mechanism.channel(), _stated(mechanism)
    if stated is None or channel is None:
        return _by_classes(*_classes(mechanism)) if channel is None else _listed(channel)
    listed = _listed(channel)
    if stated.loss.is_within(listed.loss):
        return listed
    return replace(
        stated, doubts=("the channel listed by the clients' code differs from that of the scheme's integers",)
    )


@singledispatch
def _stated(mechanism: Mechanism) -> Finding | None:
    """Return the exact loss of the integers, from classes of reports or weights of waves; None for other mechanisms."""
    has_classes = _classes.dispatch(type(mechanism)) is not _classes.dispatch(object)
    return _by_classes(*_classes(mechanism)) if has_classes else None


@_stated.register
def _(mechanism: SquareWave) -> Finding:
    stated = mechanism.parameters()
    cells, window = stated["cells"], stated["width"]
    return _listed([_wave(np.arange(cells), window, cells + window - 1, stated["weight_in"], stated["weight_out"])])


@_stated.register
def _(mechanism: DyadicWave) -> Finding:
    """Input cells of equal phase share a row; a line has an extended range, other levels are circles."""
    stated = mechanism.parameters()
    cells, channel = stated["cells"], []
    for turns, window, heavy, light in zip(
        turns_of(stated), stated["widths"], stated["weights_in"], stated["weights_out"], strict=True
    ):
        starts = np.arange(cells) - (window // 2 if turns else 0)
        channel.append(_wave(starts, window, cells if turns else cells + window - 1, heavy, light))
    return _listed(channel)


@_stated.register
def _(mechanism: CrossedWave) -> Finding:
    """Windows: a square around the point, an interval around the product of both centred values, and one on each axis."""
    stated = mechanism.parameters()
    M, heavy, light = stated["cells"], stated["weights_in"], stated["weights_out"]
    (side, length, *alone), doubled = stated["widths"], 2 * np.arange(M) + 1 - M
    near = _wave(np.arange(M), side, M + side - 1, 1, 0)
    square = np.einsum("xi,yj->xyij", near, near).reshape(M * M, -1)
    starts = np.multiply.outer(doubled, doubled).ravel() + (M - 1) ** 2
    product = _wave(starts // 2, length, (M - 1) ** 2 + length, heavy[1], light[1])
    either = [
        _wave(phases.ravel(), width, M + width - 1, heavy[level], light[level])
        for level, (phases, width) in enumerate(zip(np.indices((M, M)), alone, strict=True), start=2)
    ]
    return _listed([np.where(square, heavy[0], light[0]), product, *either])


def _wave(starts: np.ndarray, window: int, outputs: int, heavy: int, light: int) -> np.ndarray:
    """Return weights, (phases, outputs): `heavy` in the window that begins at each start, `light` elsewhere."""
    return np.where((np.arange(outputs) - starts[:, None]) % outputs < window, heavy, light)


def _listed(channel: Sequence[np.ndarray]) -> Finding:
    worst = [largest_ratio(weights) for weights in channel]
    level = max(range(len(worst)), key=lambda i: (worst[i].ratio is None, worst[i].ratio or 0))
    shapes = " + ".join(f"{weights.shape[0]:,} x {weights.shape[1]:,}" for weights in channel)
    at = worst[level]
    named = f"level {level}, " if len(channel) > 1 else ""
    return Finding(
        loss=Loss(ratio=at.ratio),
        how=f"all {shapes} weights of the channel, each row divided by its total",
        worst=f"{named}output {at.output}, input cells {at.likely} and {at.unlikely}",
    )


def _by_classes(classes: Sequence[Class], how: str) -> Finding:
    """Return the loss between two values x and x'."""
    there = [entry for entry in classes if entry[1]]
    weights = np.array([[entry[side] for entry in there] for side in (2, 3)], dtype=object)
    at = largest_ratio(weights, [entry[1] for entry in there])
    return Finding(loss=Loss(ratio=at.ratio), how=how, worst=there[at.output][0])


@singledispatch
def _classes(mechanism: Mechanism) -> tuple[list[Class], str]:
    """Return the classes of reports for any two categories x and x', and a description of the enumeration."""
    raise CalibrationError(
        f"{mechanism.name}: neither a channel that can be listed nor an enumeration exists; register one in {__name__}"
    )


@_classes.register
def _(mechanism: RandomizedResponse) -> tuple[list[Class], str]:
    inside, outside = mechanism.weight_in, mechanism.weight_out
    classes = [
        ("the report x", 1, inside, outside),
        ("the report x'", 1, outside, inside),
        ("a third category as report", mechanism.categories - 2, outside, outside),
    ]
    return classes, "the three kinds of reports for any two categories x and x'; all pairs of categories are equivalent"


@_classes.register
def _(mechanism: BitCounts) -> tuple[list[Class], str]:
    total, true, other = mechanism.total, mechanism.weight_true, mechanism.weight_other
    weight = {
        (1, 1): true,
        (0, 1): total - true,
        (1, 0): other,
        (0, 0): total - other,
    }  # (bit, is its category true)
    classes = [
        (f"bits x = {x}, x' = {y}", 1, weight[x, 1] * weight[y, 0], weight[x, 0] * weight[y, 1])
        for x in (0, 1)
        for y in (0, 1)
    ]
    return (
        classes,
        "the four values of the bits of any two categories x and x'; other bits have equal probabilities and cancel",
    )


@_classes.register
def _(mechanism: SubsetSelection) -> tuple[list[Class], str]:
    """As clients draw: whether the subset contains the true category, then a uniform subset of that kind."""
    k, w, total = mechanism.categories, mechanism.size, mechanism.total
    with_true = w * mechanism.weight_in  # draws of `total` whose subset contains the true category, C(k-1, w-1) subsets
    containing, lacking = comb(k - 1, w - 1), comb(k - 1, w)
    # over the common denominator total * containing * lacking
    inside, outside = with_true * lacking, (total - with_true) * containing
    classes = [
        ("subsets with x and x'", comb(k - 2, w - 2) if w > 1 else 0, inside, inside),
        ("subsets with x, without x'", comb(k - 2, w - 1), inside, outside),
        ("subsets with x', without x", comb(k - 2, w - 1), outside, inside),
        ("subsets with neither", comb(k - 2, w), outside, outside),
    ]
    return classes, "the four kinds of subsets for any two categories x and x', counted by binomial coefficients"


@_classes.register
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


@_classes.register
def _(mechanism: HadamardResponse) -> tuple[list[Class], str]:
    inside, outside = mechanism.weight_in, mechanism.weight_out
    classes = [
        ("the symbol of x, in a column that separates x and x'", 1, inside, outside),
        ("the symbol of x', in a column that separates x and x'", 1, outside, inside),
    ]
    how = "the two symbols of a column that separates any two categories x and x'; the column is uniform and cancels"
    return classes, how


@_classes.register
def _(mechanism: LocalHashing) -> tuple[list[Class], str]:
    inside, outside = mechanism.weight_in, mechanism.weight_out
    classes = [
        ("the bin of x, under a line that separates x and x'", 1, inside, outside),
        ("the bin of x', under a line that separates x and x'", 1, outside, inside),
        ("a third bin", mechanism.bins - 2, outside, outside),
    ]
    how = "the bins of any two categories x and x' under a line that separates them; the line is uniform and cancels"
    return classes, how


@_classes.register
def _(mechanism: TextHashing) -> tuple[list[Class], str]:
    classes, how = _classes(mechanism.oracle)
    return classes, how.replace("categories", "buckets of a row")


@_enumerate.register
def _(mechanism: WaveletLaplace) -> Finding:
    """For Gaussian noise, convert the exact concentration into epsilon at the scheme's delta."""
    tables, scales = mechanism.tables, mechanism.noise_scales
    cells, is_gaussian = len(tables[0]), mechanism.is_gaussian
    single = [largest_square(table) if is_gaussian else largest_loss([table], [1]) for table in tables]
    sensitivity = tuple(int(distance) for distance, _ in single)
    how = f"all {cells * (cells - 1) // 2:,} pairs of the {cells:,} input cells in {len(tables)} coefficient tables"
    if mechanism.is_sampled or is_gaussian:
        losses = [Fraction(d, 2 * t * t if is_gaussian else t) for d, t in zip(sensitivity, scales, strict=True)]
        block = max(range(len(losses)), key=losses.__getitem__)
        loss, pair, named = losses[block], single[block][1], f"block {block}"
    else:
        (loss, pair), named = largest_loss(tables, scales), "all blocks"
    if is_gaussian:
        how += (
            f"; Gaussian noise, {float(loss):.6g}-concentrated, has this epsilon at delta = {float(mechanism.delta):g}"
        )
        loss = approximate_epsilon(loss, mechanism.delta)
    return Finding(
        loss=Loss(loss),
        how=how,
        worst=f"{named}, input cells {pair[0]} and {pair[1]}",
        sensitivity=sensitivity,
        doubts=_doubts(mechanism, sensitivity),
    )


def _doubts(mechanism: WaveletLaplace, sensitivity: tuple[int, ...]) -> tuple[str, ...]:
    """Return the scheme's statements about its tables that are not true."""
    stated = mechanism.parameters()
    doubts = []
    if tuple(stated["sensitivity"]) != sensitivity:
        doubts.append(f"the scheme states the sensitivity {list(stated['sensitivity'])}, but it is {list(sensitivity)}")
    if stated["table_sha256"] != _tables_digest(mechanism.tables):
        doubts.append("the SHA-256 of the coefficient tables differs from the one in the scheme")
    return tuple(doubts)


def _levels_ignore_values(mechanism: Mechanism) -> bool:
    """Return whether clients with equal random words send equal levels, whatever their values.

    Runs the clients' code on every input cell, in both orders, and on the last cell only; `report_distribution` tests many
    reports.
    """
    if len(mechanism.sizes) == 1:
        return True
    cells = np.arange(mechanism.inputs)
    inputs = (cells, cells[::-1], np.full_like(cells, mechanism.inputs - 1))
    for seed in range(_SEEDS if set(mechanism.sizes) == {1} else _SEEDS // 2):
        first, *others = (mechanism.privatize(values, seeded(seed)).level for values in inputs)
        if not all(np.array_equal(first, level) for level in others):
            return False
    return True


def _tables_digest(tables: Sequence[np.ndarray]) -> str:
    """Return the SHA-256 of coefficient tables, 64 hex digits: shape and rows of each, as little-endian 64-bit integers."""
    parts = [np.asarray(part, dtype="<i8").tobytes() for table in tables for part in (table.shape, table)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _larger(first: Loss, second: Loss) -> Loss:
    return second if first.is_within(second) else first


def _digest(mechanism: Mechanism) -> str:
    """Return the SHA-256 of the mechanism's name, epsilon and integers as JSON with sorted keys."""
    content = {"mechanism": mechanism.name, "epsilon": mechanism.budget.text, "client": dict(mechanism.parameters())}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
