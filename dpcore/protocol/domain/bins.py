"""Bins: categories that are the ranges of a number, as a scheme declares them.

`bins = [20000, 50000]` makes three: below 20000, 20000 to below 50000, 50000 and above.  An edge belongs to the upper range.
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
    """Return the bins, codes and values of an attribute's table, and the names of its `categories`.

    Raises SchemeError unless the edges increase as doubles, which clients compare.
    """
    edges, values = tuple(entries["bins"]), entries["values"]
    check_within(-LARGEST, LARGEST, **{f"bins[{place}]": edge for place, edge in enumerate(edges)})
    if any(float(below) >= float(above) for below, above in pairwise(edges)):
        raise SchemeError("bins must increase; sort the edges and remove equal ones")
    names = _names(edges)
    if values is not None and len(values) != len(names):
        raise SchemeError(f"values must list one number for each of the {len(names)} bins, got {len(values)}")
    if values is None and entries["functionals"]:
        raise SchemeError("functionals of bins need values, one number for each bin; add values or remove functionals")
    return {
        "bins": edges,
        "categories": (*names, *([MISSING] if entries["missing"] == "category" else [])),
        "codes": codes_of_silence(entries),
        "values": None if values is None else tuple(map(float, values)),
    }


def _names(edges: tuple[Fraction, ...]) -> list[str]:
    """The names of the ranges in tables."""
    edge_names = [name_of(edge) for edge in edges]
    between = [f"{below} to below {above}" for below, above in pairwise(edge_names)]
    return [f"below {edge_names[0]}", *between, f"{edge_names[-1]} and above"]
