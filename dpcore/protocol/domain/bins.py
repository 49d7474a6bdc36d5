"""Categories that are the ranges of a number: what a scheme says of them, and in which a number lies.

`bins = [20000, 50000]` makes three, below 20000, 20000 to below 50000, 50000 and above: an edge belongs to the range above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpcore.errors import SchemeError, check_within
from dpcore.protocol.attribute import MISSING
from dpcore.protocol.domain.support_points import LARGEST, codes_of_silence, name_of


def read(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bins, codes and values that an attribute's table says, and the names of its `categories`.

    Raises SchemeError where the edges do not rise, as clients that read numbers as doubles see them.
    """
    edges, values = tuple(entries["bins"]), entries["values"]
    check_within(-LARGEST, LARGEST, **{f"bins[{place}]": edge for place, edge in enumerate(edges)})
    if any(float(below) >= float(above) for below, above in pairwise(edges)):
        raise SchemeError("bins must rise, each edge above the one before")
    names = _names(edges)
    if values is not None and len(values) != len(names):
        raise SchemeError(f"values must list one number for each of the {len(names)} bins, got {len(values)}")
    if values is None and entries["functionals"]:
        raise SchemeError("functionals of bins need values, one number for each bin; give them or leave both out")
    return {
        "bins": edges,
        "categories": (*names, *([MISSING] if entries["missing"] == "category" else [])),
        "codes": codes_of_silence(entries),
        "values": None if values is None else tuple(map(float, values)),
    }


def _names(edges: tuple[Fraction, ...]) -> list[str]:
    """How tables write the ranges, so that no edge is in two."""
    edge_names = [name_of(edge) for edge in edges]
    between = [f"{below} to below {above}" for below, above in pairwise(edge_names)]
    return [f"below {edge_names[0]}", *between, f"{edge_names[-1]} and above"]
