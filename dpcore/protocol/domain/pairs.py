"""Pairs: two attributes whose reports are counted jointly.

The table of [a, b], (S_b, S_a), is a sum over the clients that answered both: the outer product of their contributions to the
statistics of b and of a.  It is computed from reports that were privatized independently, so it costs no additional epsilon.
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
    """Return a scheme's pairs; cells: number of combinations of its labels.  Raises SchemeError for an invalid pair."""
    parsed: list[Pair] = []
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1] or any(name not in attributes for name in pair):
            raise SchemeError(
                f'pairs must list two different attributes each, such as [["income", "urban_rural"]]; got {pair!r}'
            )
        parsed.append((pair[0], pair[1]))
        _check(parsed[-1], attributes, cells)
    if len({frozenset(pair) for pair in parsed}) != len(parsed):
        raise SchemeError(f"pairs must differ, and order does not count; remove repeated ones from {pairs!r}")
    return tuple(parsed)


def _check(pair: Pair, attributes: Mapping[str, Attribute], cells: int) -> None:
    one, other = (attributes[name].mechanism for name in pair)
    for name in pair:
        if attributes[name].type in ("set", "text"):
            kind = "a set of options" if attributes[name].type == "set" else "a text"
            raise SchemeError(f"pair {pair[0]}, {pair[1]}: {name} is {kind}, which cannot be part of a pair")
    entries = statistics_of(one) * statistics_of(other)
    if entries > MOST_ENTRIES or entries * cells > MOST_LABELLED:
        beside = f" for each of {cells:,} combinations of labels" if entries <= MOST_ENTRIES else ""
        most = MOST_LABELLED if beside else MOST_ENTRIES
        raise SchemeError(
            f"pair {pair[0]}, {pair[1]}: needs a table of {statistics_of(other):,} x {statistics_of(one):,} counts{beside}, "
            f"more than {most:,}; declare fewer categories, cells or levels, or remove the pair"
        )
    if one.counts_outputs or other.counts_outputs:
        return
    for name, mechanism in zip(pair, (one, other), strict=True):
        if np.any(mechanism.labels().statistic != "count"):
            raise SchemeError(
                f"pair {pair[0]}, {pair[1]}: cannot be counted, because {name} has the mechanism {mechanism.name}; choose "
                "dyadic_wave or square_wave (numbers) or randomized_response (categories) for one of the two"
            )


def is_grouped(pair: Pair, attributes: Mapping[str, Attribute]) -> bool:
    """Return whether a density without nonresponse can be estimated within the categories of the second attribute."""
    first, second = (attributes[name] for name in pair)
    return first.has_density and first.missing != "category" and second.mechanism.declared.names_one


def statistics_of(mechanism: Mechanism) -> int:
    """Return S, the number of statistics of a mechanism's reports."""
    return len(mechanism.labels().level)


def zero(pair: Pair, attributes: Mapping[str, Attribute]) -> np.ndarray:
    """Return the table of no reports, (S_b, S_a)."""
    first, second = (statistics_of(attributes[name].mechanism) for name in pair)
    return np.zeros((second, first), dtype=np.int64)
