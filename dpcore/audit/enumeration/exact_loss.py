"""The exact privacy loss of every attribute of a scheme, by enumeration.

A mechanism certifies itself; an audit does not ask it.  It reads the integers of the canonical scheme, which are those that
clients use, and enumerates what they lead to:

- a channel that can be listed: every entry, each row divided by its own total;
- a frequency oracle with too many reports to list: every class of reports that no two categories tell apart.  What is
  public and drawn without looking at the value (a hash function, a column) or alike under both values (other
  categories' bits) has the same factor in both probabilities, and cancels;
- additive noise: every pair of input cells of every coefficient table.

Rule: a figure is exact, never a bound that happens to be good enough.  Where none can be found the audit refuses.
That the clients' code draws from these channels is held by the tests, which run it on every draw it can make.
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
from dpcore.audit.enumeration.additive_noise import largest_loss, largest_square
from dpcore.audit.enumeration.attribute_pairs import audit_pair
from dpcore.audit.enumeration.finite_channel import largest_ratio, turns_of
from dpcore.audit.enumeration.gaussian_noise import approximate_epsilon
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
from dpcore.mechanisms.categorical.unary_encoding import BitCounts
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.protocol.scheme import Scheme

_SEEDS = 4  # with which it is looked whether levels ignore values; half of them where reports are long

Class = tuple[str, int, int, int]  # of reports: its name, how many they are, the weight of one under x, and under x'


def audit_scheme(scheme: Scheme) -> SchemeAudit:
    """Return the exact loss of every attribute and of the whole scheme, of the integers its canonical text holds.

    Raises SchemeError where the canonical text does not read back, CalibrationError where a mechanism cannot be enumerated.
    """
    read = Scheme.from_toml(scheme.canonical)
    if read.digest != scheme.digest:
        raise CalibrationError(
            f"the canonical text of {scheme.name} reads back as another scheme ({read.digest[:12]}..., not "
            f"{scheme.digest[:12]}...); its digest vouches for nothing"
        )
    attributes = {
        name: AttributeAudit(
            name=name,
            mechanism=attribute.mechanism.name,
            configuration=attribute.mechanism.parameters(),
            digest=_digest(attribute.mechanism),
            promised=attribute.budget,
            found=audit_mechanism(attribute.mechanism),
            of=attribute.of,
        )
        for name, attribute in read.attributes.items()
    }
    units = [reduce(add, [attributes[name].found.kept for name in unit]) for unit in read.units]
    return SchemeAudit(
        name=read.name,
        digest=read.digest,
        canonical=read.canonical,
        reporting=read.reporting,
        promised=read.budget,
        kept=reduce(add if read.reporting == "all" else _larger, units),
        attributes=tuple(attributes.values()),
        in_clear={name: len(label.categories) for name, label in read.labels.items()},
        pairs=tuple(_pair(read, attributes, pair) for pair in read.pairs),
    )


def _pair(scheme: Scheme, audits: Mapping[str, AttributeAudit], pair: tuple[str, str]) -> PairAudit:
    first, second = pair
    mechanisms = scheme.attributes[first].mechanism, scheme.attributes[second].mechanism
    return audit_pair(pair, mechanisms, (audits[first].found.kept, audits[second].found.kept))


def audit_mechanism(mechanism: Mechanism) -> Finding:
    """Return the exact loss of one report of a mechanism.

    Levels are public.  As they are drawn without looking at the value, a level has the same probability under all values,
    and the loss of (level, report) is the largest loss within a level.

    Raises CalibrationError where the mechanism cannot be enumerated.

    >>> from dpcore.privacy.budget import Budget
    >>> two_coins = RandomizedResponse(Budget.parse("ln 3"), 2, 3, 1)
    >>> audit_mechanism(two_coins).kept
    Loss(rational=Fraction(0, 1), ratio=Fraction(3, 1))
    """
    finding = _enumerate(mechanism)
    if _levels_ignore_values(mechanism):
        return finding
    doubt = "the level of a report depends on the value, and is public"
    return replace(finding, doubts=(*finding.doubts, doubt))


@singledispatch
def _enumerate(mechanism: Mechanism) -> Finding:
    """The exact loss of what its integers say, and of the channel that its code lists where it does: the larger."""
    channel, stated = mechanism.channel(), _stated(mechanism)
    if stated is None or channel is None:
        return _by_classes(*_classes(mechanism)) if channel is None else _listed(channel)
    listed = _listed(channel)
    if stated.kept.is_within(listed.kept):
        return listed
    return replace(stated, doubts=("the channel that the clients' code lists is not that of the scheme's integers",))


@singledispatch
def _stated(mechanism: Mechanism) -> Finding | None:
    """The exact loss by the integers alone: of the classes of reports, or of the weights of waves; None of what has neither."""
    known = _classes.dispatch(type(mechanism)) is not _classes.dispatch(object)
    return _by_classes(*_classes(mechanism)) if known else None


@_stated.register
def _(mechanism: SquareWave) -> Finding:
    stated = mechanism.parameters()
    cells, window = stated["cells"], stated["width"]
    return _listed([_wave(np.arange(cells), window, cells + window - 1, stated["weight_in"], stated["weight_out"])])


@_stated.register
def _(mechanism: DyadicWave) -> Finding:
    """Rows of input cells of one phase are the same; of a line the range is extended, others are circles."""
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
    """A square around the place, a stretch around the product of how far both are from the middle, and one around either."""
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
    """Weights, (phases, outputs): the heavier from where each window starts."""
    return np.where((np.arange(outputs) - starts[:, None]) % outputs < window, heavy, light)


def _listed(channel: Sequence[np.ndarray]) -> Finding:
    worst = [largest_ratio(weights) for weights in channel]
    level = max(range(len(worst)), key=lambda i: (worst[i].ratio is None, worst[i].ratio or 0))
    shapes = " + ".join(f"{weights.shape[0]:,} x {weights.shape[1]:,}" for weights in channel)
    at = worst[level]
    named = f"level {level}, " if len(channel) > 1 else ""
    return Finding(
        kept=Loss(ratio=at.ratio),
        how=f"all {shapes} weights of the channel, each row over its own total",
        worst=f"{named}output {at.output}, input cells {at.likely} and {at.unlikely}",
    )


def _by_classes(classes: Sequence[Class], how: str) -> Finding:
    """The loss between two values x and x'."""
    there = [entry for entry in classes if entry[1]]
    weights = np.array([[entry[side] for entry in there] for side in (2, 3)], dtype=object)
    at = largest_ratio(weights, [entry[1] for entry in there])
    return Finding(kept=Loss(ratio=at.ratio), how=how, worst=there[at.output][0])


@singledispatch
def _classes(mechanism: Mechanism) -> tuple[list[Class], str]:
    """The classes of reports that no two categories x and x' tell apart, and how every case is seen by them."""
    raise CalibrationError(
        f"{mechanism.name} has neither a channel that can be listed nor an enumeration of its own; add one to the audit"
    )


@_classes.register
def _(mechanism: RandomizedResponse) -> tuple[list[Class], str]:
    inside, outside = mechanism.weight_in, mechanism.weight_out
    classes = [
        ("saying x", 1, inside, outside),
        ("saying x'", 1, outside, inside),
        ("saying a third category", mechanism.categories - 2, outside, outside),
    ]
    return classes, "the three kinds of answers to any two categories x and x', which are all alike"


@_classes.register
def _(mechanism: BitCounts) -> tuple[list[Class], str]:
    total, true, other = mechanism.total, mechanism.weight_true, mechanism.weight_other
    weight = {(1, 1): true, (0, 1): total - true, (1, 0): other, (0, 0): total - other}  # (bit, is it the true one)
    classes = [
        (f"bits x = {x}, x' = {y}", 1, weight[x, 1] * weight[y, 0], weight[x, 0] * weight[y, 1])
        for x in (0, 1)
        for y in (0, 1)
    ]
    return classes, "the four values of the bits of any two categories x and x'; other bits are drawn alike and cancel"


@_classes.register
def _(mechanism: SubsetSelection) -> tuple[list[Class], str]:
    """As clients draw: whether the truth is held, then a uniform subset of either kind."""
    k, w, total = mechanism.categories, mechanism.size, mechanism.total
    held = w * mechanism.weight_in  # draws of `total` that hold the truth, C(k-1, w-1) subsets
    holding, lacking = comb(k - 1, w - 1), comb(k - 1, w)
    inside, outside = held * lacking, (total - held) * holding  # over one denominator, total * holding * lacking
    classes = [
        ("subsets with x and x'", comb(k - 2, w - 2) if w > 1 else 0, inside, inside),
        ("subsets with x, without x'", comb(k - 2, w - 1), inside, outside),
        ("subsets with x', without x", comb(k - 2, w - 1), outside, inside),
        ("subsets with neither", comb(k - 2, w), outside, outside),
    ]
    return classes, "the four kinds of subsets for any two categories x and x', counted by binomial coefficients"


@_classes.register
def _(mechanism: HadamardResponse) -> tuple[list[Class], str]:
    inside, outside = mechanism.weight_in, mechanism.weight_out
    classes = [
        ("the symbol of x, in a column that tells x from x'", 1, inside, outside),
        ("the symbol of x', in a column that tells x from x'", 1, outside, inside),
    ]
    how = "the two symbols of a column that tells any two categories x and x' apart; the column is uniform and cancels"
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


@_enumerate.register
def _(mechanism: WaveletLaplace) -> Finding:
    """Of Gaussian noise the epsilon that a theorem gives for the exact concentration, at the delta that the scheme states."""
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
        how += f": Gaussian noise, {float(loss):.6g}-concentrated, keeps this epsilon at delta = {float(mechanism.delta):g}"
        loss = approximate_epsilon(loss, mechanism.delta)
    return Finding(
        kept=Loss(loss),
        how=how,
        worst=f"{named}, input cells {pair[0]} and {pair[1]}",
        sensitivity=sensitivity,
        doubts=_doubts(mechanism, sensitivity),
    )


def _doubts(mechanism: WaveletLaplace, sensitivity: tuple[int, ...]) -> tuple[str, ...]:
    """What the scheme states of its tables, and they do not bear out."""
    stated = mechanism.parameters()
    doubts = []
    if tuple(stated["sensitivity"]) != sensitivity:
        doubts.append(f"the scheme states the sensitivity {list(stated['sensitivity'])}, it is {list(sensitivity)}")
    if stated["table_sha256"] != _tables_digest(mechanism.tables):
        doubts.append("the coefficient tables are not those whose SHA-256 the scheme states")
    return tuple(doubts)


def _levels_ignore_values(mechanism: Mechanism) -> bool:
    """Whether clients that draw the same words send the same level, whatever their values.

    The clients' code is run on every input cell, beside clients who all have the last; `report_distribution` looks at many
    reports.
    """
    if len(mechanism.sizes) == 1:
        return True
    cells = np.arange(mechanism.inputs)
    each = (cells, cells[::-1], np.full_like(cells, mechanism.inputs - 1))
    for seed in range(_SEEDS if set(mechanism.sizes) == {1} else _SEEDS // 2):
        first, *others = (mechanism.privatize(values, seeded(seed)).level for values in each)
        if not all(np.array_equal(first, level) for level in others):
            return False
    return True


def _tables_digest(tables: Sequence[np.ndarray]) -> str:
    """SHA-256 of coefficient tables, 64 hex digits: of each its shape and its rows, as little-endian integers of 64 bits."""
    parts = [np.asarray(part, dtype="<i8").tobytes() for table in tables for part in (table.shape, table)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _larger(first: Loss, second: Loss) -> Loss:
    return second if first.is_within(second) else first


def _digest(mechanism: Mechanism) -> str:
    """SHA-256 of the mechanism's name, epsilon and integers as JSON with sorted keys."""
    content = {"mechanism": mechanism.name, "epsilon": mechanism.budget.text, "client": dict(mechanism.parameters())}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
