"""Central epsilon by shuffling of a round, from the integers that clients draw with, and its conditions.

Each mechanism's levels are enumerated as in `exact_loss`.  For a frequency oracle, the weights of reports under three values
suffice: the respondent's two candidate values and the common value of all others; all triples are equivalent.  For additive
noise only the exact loss is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce, singledispatch
from itertools import product
from math import comb, prod
from operator import add

import numpy as np

from dpcore.audit.enumeration.finite_channel import turns_of
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
from dpcore.mechanisms.odds import total_variation
from dpcore.privacy.budget import Budget
from dpcore.privacy.shuffling.central_epsilon import CONDITION, Figure, Publication, jointly, published, upward
from dpcore.privacy.shuffling.channel import Level, attacks_of, level_of, up
from dpcore.privacy.shuffling.contrast import Contrast
from dpcore.privacy.shuffling.kinds import Kinds
from dpcore.protocol.scheme import Scheme

DELTA = 1e-6  # delta of a whole round
_NOTHING_LINKS = Publication()
_UNBOUNDED = "some values never give some answers in a stated channel, so one report may exclude a value with certainty"
_LINES = 1200  # largest prime for which all lines of local hashing are enumerated
_STARTS = 64  # candidate windows for the common value of all others
_BINS = 8  # bin edges of a noisy coefficient
_LEVEL_TOTAL = 1 << 16  # sum of the weights of a level distribution


@dataclass(frozen=True, kw_only=True)
class CentralGuarantee:
    """Central epsilon by shuffling for one respondent of a round; never above the local epsilon.

    attributes: by attribute.  units: by unit of jointly counted attributes.  whole: for all answers of a client.  refusals:
    reasons why there is no figure, empty if there is one.  reports: number of reports in the smallest group that published
    results distinguish.  group: describes that group.
    """

    attributes: Mapping[str, Figure] = field(default_factory=dict)
    units: Mapping[tuple[str, ...], Figure] = field(default_factory=dict)
    whole: Figure | None
    refusals: tuple[str, ...] = ()
    reports: int
    group: str = ""

    @property
    def words(self) -> str:
        """The figure of the whole with its conditions, a sentence without its full stop."""
        if self.whole is None:
            figure = "no less than the local epsilon, because " + "; ".join(self.refusals)
        else:
            figure = (
                f"(epsilon {upward(self.whole.epsilon)}, delta {self.whole.delta:g}) by shuffling, if {self.reports:,} clients "
                f"report{self.group} {CONDITION}"
            )
        return f"against readers of published results only: {figure}"


def planned(scheme: Scheme, clients: int | None = None) -> CentralGuarantee:
    """Return the central guarantee for a number of clients, by default the scheme's; label groups are assumed equally large."""
    groups = math.prod(len(label.categories) for label in scheme.labels.values())
    group = f" in each of {groups} groups by label" if groups > 1 else ""
    return replace(central_guarantee(scheme, max(1, (clients or scheme.clients) // groups)), group=group)


def central_guarantee(
    scheme: Scheme,
    reports: int,
    *,
    delta: float = DELTA,
    publication: Publication = _NOTHING_LINKS,
    rounds: int = 1,
    attacked: bool = False,
) -> CentralGuarantee:
    """Return the central guarantee of a round, or the reasons why there is none.

    reports: number of reports in the smallest group that published results distinguish. delta: of the whole, divided equally
    among units. rounds: number of rounds with the same respondents. attacked: whether to compute lower bounds of attributes,
    which are 0 otherwise.
    """
    publication = replace(publication, delta=max(publication.delta, float(scheme.delta)))
    refusals = publication.refusals + (() if scheme.budget.is_finite else (_UNBOUNDED,))
    if refusals:
        return CentralGuarantee(whole=None, refusals=refusals, reports=reports)
    channels = {unit: jointly([levels(scheme.attributes[name].mechanism) for name in unit]) for unit in scheme.units}
    is_all = scheme.reporting == "all"
    unit_delta, share = (delta / len(channels) / rounds, 1.0) if is_all else (delta / rounds, 1 / len(channels))
    distinct = {
        channel: published(channel, reports, unit_delta, share, attacked=attacked) for channel in set(channels.values())
    }
    units = {unit: distinct[channel] for unit, channel in channels.items()}
    if is_all:
        figures = list(units.values())
    else:  # a respondent reports one unit; delta is averaged over units
        members = [replace(level, share=level.share * share) for channel in channels.values() for level in channel]
        figures = [published(members, reports, unit_delta, attacked=False)]
    attributes = {name: _at_most(units[unit], scheme.attributes[name].budget) for unit in units for name in unit}
    whole = _at_most(_total(figures * rounds), reduce(add, [scheme.budget] * rounds))
    return CentralGuarantee(attributes=attributes, units=units, whole=whole, reports=reports)


def _at_most(figure: Figure, budget: Budget) -> Figure:
    """Return the figure, or the local epsilon if it is smaller."""
    local = math.nextafter(float(budget), math.inf)
    return figure if figure.epsilon <= local else replace(figure, epsilon=float(budget))


def _total(figures: Sequence[Figure]) -> Figure:
    first, *others = figures
    for figure in others:
        first += figure
    return first


@singledispatch
def levels(mechanism: Mechanism) -> tuple[Level, ...]:
    """Return the bounds of a mechanism's public levels; for unregistered mechanisms, from the channel that they list."""
    channel = mechanism.channel()
    if channel is None:
        certificate = mechanism.certificate()
        loss = Fraction(certificate.kept)
        return (Level(ratio=up(loss) if certificate.kind == "ratio" else math.exp(up(loss)) * (1 + 1e-14)),)
    shares = mechanism.parameters().get("level_law", [_LEVEL_TOTAL])
    return tuple(level_of(weights, share / _LEVEL_TOTAL) for weights, share in zip(channel, shares, strict=True))


@levels.register
def _(mechanism: RandomizedResponse) -> tuple[Level, ...]:
    k, inside, outside = mechanism.categories, mechanism.weight_in, mechanism.weight_out
    values = min(k, 3)
    weights = np.full((values, values), outside, dtype=np.int64) + (inside - outside) * np.eye(values, dtype=np.int64)
    more = np.full((values, int(k > values)), (k - values) * outside)  # any other category
    return (level_of(np.hstack([weights, more])),)


@levels.register
def _(mechanism: BitCounts) -> tuple[Level, ...]:
    values, total = min(mechanism.categories, 3), mechanism.total
    true, other = mechanism.weight_true, mechanism.weight_other
    weight = {(1, 1): true, (0, 1): total - true, (1, 0): other, (0, 0): total - other}
    patterns = list(product((0, 1), repeat=values))
    rows = [[prod(weight[bit, int(y == x)] for y, bit in enumerate(bits)) for bits in patterns] for x in range(values)]
    mass = Fraction(total - true, total - other)  # likelihood ratio of some category's zero bit
    return (level_of(np.array(rows, dtype=object), mass=mass),)


@levels.register
def _(mechanism: SubsetSelection) -> tuple[Level, ...]:
    k, w, values = mechanism.categories, mechanism.size, min(mechanism.categories, 3)
    rows: list[list[int]] = [[] for _ in range(values)]
    for members in product((0, 1), repeat=values):
        rest = w - sum(members)
        if not 0 <= rest <= k - values:
            continue
        for x, row in enumerate(rows):
            row.append(comb(k - values, rest) * (mechanism.weight_in if members[x] else mechanism.weight_out))
    mass = Fraction(k * mechanism.weight_out, mechanism.total)  # every subset lacks some category
    return (level_of(np.array(rows, dtype=object), mass=mass),)


@levels.register
def _(mechanism: SetSelection) -> tuple[Level, ...]:
    """Bounds alone; every subset is at least as likely as one without a true item."""
    least = mechanism.probabilities[1] * comb(mechanism.items, mechanism.size)
    distance = total_variation(mechanism)
    return (Level(ratio=up(mechanism.certificate().kept), distance=up(distance), mass=-up(-least)),)


@levels.register
def _(mechanism: HadamardResponse) -> tuple[Level, ...]:
    """Enumerate which values favour the same symbol of a column; all patterns of two or three rows are equally frequent."""
    values = min(mechanism.categories, 3)
    rows: list[list[int]] = [[] for _ in range(values)]
    for signs in product((0, 1), repeat=values - 1):
        for bit in (0, 1):
            for row, sign in zip(rows, (0, *signs), strict=True):
                row.append(mechanism.weight_in if sign == bit else mechanism.weight_out)
    mass = Fraction(2 * mechanism.weight_out, mechanism.weight_in + mechanism.weight_out)
    return (level_of(np.array(rows, dtype=np.int64), mass=mass),)


@levels.register
def _(mechanism: LocalHashing) -> tuple[Level, ...]:
    stated = mechanism.parameters()
    prime, bins = stated["prime"], stated["bins"]
    inside, outside = mechanism.weight_in, mechanism.weight_out
    if prime > _LINES:
        return (_of_pairs(prime, bins, inside, outside),)
    values = min(mechanism.categories, 3)
    slope, shift = np.arange(1, prime)[:, None], np.arange(prime)
    hashes = [(slope * x + shift) % prime * bins // prime for x in range(values)]
    first = [np.argmax([hashes[y] == hashes[x] for y in range(x + 1)], axis=0) for x in range(values)]
    code = sum(values**x * position for x, position in enumerate(first))  # which values collide
    counts = np.bincount(np.asarray(code).ravel())
    patterns = {
        tuple(int(i) // values**x % values for x in range(values)): int(counts[i]) for i in np.flatnonzero(counts)
    }
    rows: list[list[int]] = [[] for _ in range(values)]
    for kind, count in patterns.items():
        for bin_ in sorted(set(kind)):
            for x, row in enumerate(rows):
                row.append(count * (inside if kind[x] == bin_ else outside))
        if rest := bins - len(set(kind)):
            for row in rows:
                row.append(count * rest * outside)
    return (level_of(np.array(rows, dtype=object), mass=Fraction(bins * outside, inside + (bins - 1) * outside)),)


@levels.register
def _(mechanism: TextHashing) -> tuple[Level, ...]:
    """Bounds alone: the row is uniform, and two texts have two buckets in it at most."""
    return (_of_pairs(mechanism.prime, mechanism.bins, mechanism.weight_in, mechanism.weight_out),)


def _of_pairs(prime: int, bins: int, inside: int, outside: int) -> Level:
    """Return the level from two values only: how often a line separates them is exact."""
    widths = np.diff(-(-np.arange(bins + 1) * prime // bins)).tolist()
    apart = 1 - Fraction(sum(width * (width - 1) for width in widths), prime * (prime - 1))
    distance = apart * Fraction(inside - outside, inside + (bins - 1) * outside)
    mass = Fraction(bins * outside, inside + (bins - 1) * outside)
    return Level(ratio=up(Fraction(inside, outside)), distance=up(distance), mass=-up(-mass))


@levels.register
def _(mechanism: SquareWave) -> tuple[Level, ...]:
    stated = mechanism.parameters()
    cells, window = stated["cells"], stated["width"]
    return (_wave(cells, window, cells + window - 1, stated["weight_in"], stated["weight_out"], 1.0),)


@levels.register
def _(mechanism: DyadicWave) -> tuple[Level, ...]:
    """A line has an extended range, other levels are circles; cells of equal phase share a row."""
    stated = mechanism.parameters()
    cells, lists = stated["cells"], (stated[name] for name in ("widths", "weights_in", "weights_out", "level_law"))
    return tuple(
        _wave(cells, window, cells if turns else cells + window - 1, heavy, light, share / _LEVEL_TOTAL)
        for turns, window, heavy, light, share in zip(turns_of(stated), *lists, strict=True)
    )


@levels.register
def _(mechanism: CrossedWave) -> tuple[Level, ...]:
    """Windows at opposite ends differ most: in the plane, in the product, and in either number."""
    stated = mechanism.parameters()
    M, (side, length, *alone) = stated["cells"], stated["widths"]
    x, y = np.divmod(np.unique(np.linspace(0, M * M - 1, _STARTS).astype(int)), M)
    x, y = np.append(x, [0, M - 1]), np.append(y, [M - 1, 0])  # the last product is the smallest
    products = ((2 * x + 1 - M) * (2 * y + 1 - M) + (M - 1) ** 2) // 2
    square = _near(x, side, M + side - 1)[:, :, None] & _near(y, side, M + side - 1)[:, None, :]
    inside = [
        square.reshape(len(x), -1),
        _near(products, length, (M - 1) ** 2 + length),
        *(_near(place, width, M + width - 1) for place, width in zip((x, y), alone, strict=True)),
    ]
    pairs = [(0, len(x) - 3), (0, len(x) - 1), (0, len(x) - 3), (0, len(x) - 3)]
    lists = (stated[name] for name in ("weights_in", "weights_out", "level_law"))
    return tuple(
        _of_windows(near, pair, heavy, light, share / _LEVEL_TOTAL)
        for near, pair, heavy, light, share in zip(inside, pairs, *lists, strict=True)
    )


def _wave(cells: int, window: int, outputs: int, heavy: int, light: int, share: float) -> Level:
    """Two windows differ most at a shift of their width, limited by the circle's circumference or the range of the values."""
    is_circle = outputs == cells
    shift = min(window, outputs - window) if is_circle else min(window, cells - 1)
    starts = np.unique([0, shift, *np.linspace(0, cells - 1, min(cells, _STARTS)).astype(int).tolist()])
    return _of_windows(_near(starts, window, outputs), (0, int(np.searchsorted(starts, shift))), heavy, light, share)


def _near(starts: np.ndarray, window: int, outputs: int) -> np.ndarray:
    """Return which outputs are in the windows with these starts, (starts, outputs) bool."""
    return np.asarray((np.arange(outputs) - starts[:, None]) % outputs < window)


def _of_windows(inside: np.ndarray, pair: tuple[int, int], heavy: int, light: int, share: float) -> Level:
    """Return the level of windows of equal size, (starts, outputs) bool; pair: the two that differ most."""
    first, second = (inside[place] for place in pair)
    outputs, window, apart = len(first), int(first.sum()), int(np.count_nonzero(first & ~second))
    total = window * heavy + (outputs - window) * light
    return Level(
        ratio=up(Fraction(heavy, light)),
        distance=up(Fraction(apart * (heavy - light), total)),
        mass=-up(-Fraction(outputs * light, total)),  # no output is in all windows
        share=share,
        attacks=tuple(attacks_of(np.where(inside, heavy, light) / total, *pair)),
    )


@levels.register
def _(mechanism: WaveletLaplace) -> tuple[Level, ...]:
    """Use the exact total loss for every block; the attack uses the block's coefficient with the largest range."""
    stated = mechanism.parameters()
    shares = stated.get("level_law") or [_LEVEL_TOTAL]
    ratio = math.exp(up(Fraction(mechanism.certificate().kept))) * (1 + 1e-14)
    attacks = [_of_noise(table, noise) for table, noise in zip(mechanism.tables, mechanism.noise_scales, strict=True)]
    if not mechanism.is_sampled:  # one report has all blocks: attack the most informative one
        attacks = [max(attacks, key=lambda attack: attack[0].strength)]
    return tuple(
        Level(ratio=ratio, share=share / _LEVEL_TOTAL, attacks=() if mechanism.is_gaussian else attack)
        for share, attack in zip(shares, attacks, strict=True)
    )


def _of_noise(table: np.ndarray, noise: int) -> tuple[Contrast | Kinds, ...]:
    """Return attacks on a coefficient with discrete Laplace noise: reports below its minimum, above its maximum, in bins."""
    entries = table[:, int(np.argmax(np.ptp(table, axis=0)))]
    rows = np.unique(np.linspace(0, len(entries) - 1, _STARTS).astype(int))
    values = np.concatenate([[entries.max(), entries.min()], entries[rows]])
    edges = np.unique(np.linspace(entries.min(), entries.max(), _BINS).round().astype(np.int64))
    return tuple(attacks_of(_with_noise(values, edges, noise), 0, 1))


def _with_noise(values: np.ndarray, edges: np.ndarray, noise: int) -> np.ndarray:
    """Return the bin probabilities of each value plus discrete Laplace noise: below the first edge, between edges, above."""
    to_edge = edges - values[:, None]
    tail = np.exp(-np.maximum(np.abs(to_edge), 1 - to_edge) / noise) / (1 + math.exp(-1 / noise))
    at_least = np.where(to_edge >= 1, tail, 1 - tail)  # Pr(noise >= the edge)
    whole, none = np.ones((len(values), 1)), np.zeros((len(values), 1))
    return np.asarray(np.hstack([whole, at_least]) - np.hstack([at_least, none]))
