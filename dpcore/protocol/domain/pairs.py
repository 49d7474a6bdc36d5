"""Pairs: two attributes of which the joint counts are kept, at no epsilon beyond what both reports spend already.

What is kept of [a, b] is a table (S_b, S_a): the sum over the clients who answered both of what a client's report adds to each
of b's statistics times what it adds to each of a's.  Reports of the two are drawn independently of one another, so that this
table is a sum over what anybody who has the reports knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpcore.errors import SchemeError
from dpcore.mechanisms import Mechanism
from dpcore.protocol.attribute import Attribute

Pair = tuple[str, str]
MOST_ENTRIES = 1 << 22  # of one pair's table, 32 MB
MOST_LABELLED = 1 << 24  # of one pair's tables by label


def read(pairs: Sequence[Sequence[str]], attributes: Mapping[str, Attribute], cells: int) -> tuple[Pair, ...]:
    """Return a scheme's pairs; cells: combinations of its labels.  Raises SchemeError for what cannot be counted."""
    parsed: list[Pair] = []
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1] or any(name not in attributes for name in pair):
            raise SchemeError(
                f'pairs must list two different attributes each, such as [["income", "urban_rural"]]; got {pair!r}'
            )
        parsed.append((pair[0], pair[1]))
        _check(parsed[-1], attributes, cells)
    if len({frozenset(pair) for pair in parsed}) != len(parsed):
        raise SchemeError(f"pairs must differ, whatever their order, got {pairs!r}")
    return tuple(parsed)


def _check(pair: Pair, attributes: Mapping[str, Attribute], cells: int) -> None:
    one, other = (attributes[name].mechanism for name in pair)
    entries = statistics_of(one) * statistics_of(other)
    if entries > MOST_ENTRIES or entries * cells > MOST_LABELLED:
        beside = f" for each of {cells:,} combinations of labels" if entries <= MOST_ENTRIES else ""
        most = MOST_LABELLED if beside else MOST_ENTRIES
        raise SchemeError(
            f"the pair {pair[0]}, {pair[1]} needs a table of {statistics_of(other):,} x {statistics_of(one):,} counts{beside}, "
            f"and {most:,} are the most; ask for fewer categories, cells or levels, or leave the pair out"
        )
    if one.counts_outputs or other.counts_outputs:
        return
    for name, mechanism in zip(pair, (one, other), strict=True):
        if np.any(mechanism.labels().statistic != "count"):
            raise SchemeError(
                f"the pair {pair[0]}, {pair[1]} cannot be counted: {name} has {mechanism.name}, whose noisy numbers go with "
                "reports of one output alone; give one of the two dyadic_wave or square_wave or, for categories, "
                "randomized_response"
            )


def is_grouped(pair: Pair, attributes: Mapping[str, Attribute]) -> bool:
    """Return whether a pair has groups: of a density that everybody gives, by a question whose reports name a category."""
    first, second = (attributes[name] for name in pair)
    return first.has_density and first.missing != "category" and second.mechanism.declared.names_one


def statistics_of(mechanism: Mechanism) -> int:
    """Return S, how many statistics there are of a mechanism's reports."""
    return len(mechanism.labels().level)


def zero(pair: Pair, attributes: Mapping[str, Attribute]) -> np.ndarray:
    """Return the table of no reports, (S_b, S_a)."""
    first, second = (statistics_of(attributes[name].mechanism) for name in pair)
    return np.zeros((second, first), dtype=np.int64)
