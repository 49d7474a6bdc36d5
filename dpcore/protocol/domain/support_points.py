"""Bounds, support points and bins of a number, as a scheme declares them.

Support points are lower, lower + step, ..., upper, or a list.  A client's value is rounded to the nearest support point.  The
distribution is estimated on the support points, and each has its own input cell.

Bins are categories that are ranges: `bins = [20000, 50000]` makes three: below 20000, 20000 to below 50000, 50000 and above.
An edge belongs to the upper range.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from dpcore.errors import SchemeError, check_within
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.fisher_information import room_for, room_of
from dpcore.mechanisms.registry import NUMERIC
from dpcore.protocol.attribute import MISSING, numeral
from dpcore.protocol.syntax.fields import number
from dpcore.protocol.syntax.keys import LOG_SPLINE

MOST_POINTS = 1024  # with more, a density is as accurate
_LEAST_GAP = 2  # input cells, including that of nonresponse
LARGEST = 10**30  # of a bound: its eighth power is still a finite double
_FINEST = 2.0**-32  # smallest width between bounds relative to them, so that input cells are far above rounding error


def check_bounds(lower: Fraction, upper: Fraction) -> None:
    """Raise SchemeError unless lower is below upper, by enough for doubles to resolve values between them."""
    check_within(-LARGEST, LARGEST, lower=lower, upper=upper)
    if not lower < upper:
        raise SchemeError(f"lower must be below upper, got {number(lower)} and {number(upper)}")
    if float(upper - lower) <= _FINEST * max(abs(float(lower)), abs(float(upper))):
        raise SchemeError(
            f"lower and upper are too close for floating-point numbers, got {number(lower)} and {number(upper)}; subtract a "
            "constant from the values"
        )


def read(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the support points of an attribute's table, their names as `categories`, and its bounds.

    Raises SchemeError if the table declares none, or if a code of nonresponse is one of them.
    """
    points = _points(entries)
    check_bounds(points[0], points[-1])
    codes = codes_of_silence(entries)
    for code in codes:
        if numeral(code) in {float(point) for point in points}:
            raise SchemeError(
                f"codes.{code} is one of the attribute's values, so it cannot mean no answer; remove the code or the value"
            )
    return {
        "lower": points[0],
        "upper": points[-1],
        "points": points,
        "heaps": None if entries["heaps"] is None else _heaps(entries["heaps"], points),
        "values": tuple(map(float, points)),
        "categories": (*map(name_of, points), *([MISSING] if entries["missing"] == "category" else [])),
        "codes": codes,
    }


def codes_of_silence(entries: Mapping[str, Any]) -> Mapping[str, str]:
    """Return a numeric attribute's codes of nonresponse, in the order of the canonical text."""
    codes = entries["codes"]
    if not isinstance(codes, Mapping) or any(label != MISSING for label in codes.values()):
        raise SchemeError(
            f'codes of a number may only declare nonresponse, such as {{ -1 = "{MISSING}" }}, got {codes!r}'
        )
    return MappingProxyType(dict(sorted(codes.items())))


def _points(entries: Mapping[str, Any]) -> tuple[Fraction, ...]:
    step, listed, lower, upper = (entries[key] for key in ("step", "values", "lower", "upper"))
    if listed is not None:
        if (step, lower, upper) != (None, None, None):
            raise SchemeError("values replace lower, upper and step; remove these three, or remove values")
        if any(below >= above for below, above in pairwise(listed)):
            raise SchemeError("values must increase; sort them and remove equal ones")
        steps = Fraction(len(listed) - 1)
    else:
        if lower is None or upper is None:
            raise SchemeError("step needs both lower and upper; add them")
        steps = (upper - lower) / step if step > 0 else Fraction(0)
        if steps < 1 or steps.denominator != 1:
            raise SchemeError(
                f"step must be above 0 and divide the range from {number(lower)} to {number(upper)} into whole steps, got "
                f"{number(step)}"
            )
    if steps >= MOST_POINTS:
        raise SchemeError(
            f"values: at most {MOST_POINTS:,} are possible, got {int(steps) + 1:,}; choose a larger step, or only lower and "
            "upper, for a density"
        )
    return tuple(listed) if listed is not None else tuple(lower + step * place for place in range(int(steps) + 1))


def _heaps(heaps: list[Fraction], points: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    for heap in heaps:
        if heap <= 0 or sum((point / heap).denominator == 1 for point in points) < 2:
            raise SchemeError(
                f"heaps must be above 0 and have at least two multiples among the values, got {number(heap)}"
            )
    return tuple(heaps)


def name_of(point: Fraction) -> str:
    """Return the name of a support point in tables: 41000, 0.5."""
    return str(int(point)) if point.denominator == 1 else repr(float(point))


def silence(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the codes, the categories and the estimator that a density's table implies for nonresponse.

    Raises SchemeError if nonresponse is an answer but the mechanism or estimator does not support it.
    """
    codes = {"codes": codes_of_silence(entries)}
    if entries["missing"] == "refuse":
        return codes
    able = [name for name, kind in NUMERIC.items() if "lattice" in kind.declared.attributes]  # the finite channels
    if entries["mechanism"] not in able:
        raise SchemeError(
            f'missing = "category" of a density needs mechanism = {" or ".join(able)}, got {entries["mechanism"]}; change one'
        )
    if table.get("estimator", LOG_SPLINE) != LOG_SPLINE:
        raise SchemeError(
            f'missing = "category" of a density needs estimator = "{LOG_SPLINE}", got "{table["estimator"]}"; change one'
        )
    return codes | {"categories": (MISSING,), "estimator": LOG_SPLINE}


def check_gap(mechanism: Mechanism) -> None:
    """Raise SchemeError unless an input cell is empty between those of a density's values and that of nonresponse."""
    if mechanism.inputs - room_of(mechanism.inputs) < _LEAST_GAP:
        raise SchemeError(
            f'missing = "category" needs {4 * _LEAST_GAP} input cells, got {mechanism.inputs}; set more for {mechanism.name}'
        )


def counts_for_design(entries: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of 'values', of 'categories' (with nonresponse), and of 'points', the input cells needed."""
    answers, values = len(entries["categories"]), len(entries["points"])
    return {"values": values, "categories": answers, "points": room_for(values, answers > values)}


def check_room(mechanism: Mechanism, sizes: Mapping[str, int]) -> None:
    """Raise SchemeError unless the mechanism has an input cell for each answer (`spread`)."""
    if mechanism.inputs != sizes["categories"] and mechanism.inputs < sizes["points"]:
        raise SchemeError(
            f"{mechanism.name} has {mechanism.inputs} input cells, but {sizes['categories']} answers need "
            f'{sizes["points"]}; declare more levels or cells, or mechanism = "auto"'
        )


def read_bins(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bins, codes and values of an attribute's table, and the names of its `categories`.

    Raises SchemeError unless the edges increase as doubles, which clients compare.
    """
    edges, values = tuple(entries["bins"]), entries["values"]
    check_within(-LARGEST, LARGEST, **{f"bins[{place}]": edge for place, edge in enumerate(edges)})
    if any(float(below) >= float(above) for below, above in pairwise(edges)):
        raise SchemeError("bins must increase; sort the edges and remove equal ones")
    names = _bin_names(edges)
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


def _bin_names(edges: tuple[Fraction, ...]) -> list[str]:
    """The names of the ranges in tables."""
    edge_names = [name_of(edge) for edge in edges]
    between = [f"{below} to below {above}" for below, above in pairwise(edge_names)]
    return [f"below {edge_names[0]}", *between, f"{edge_names[-1]} and above"]
