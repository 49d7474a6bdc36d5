"""The numbers that an attribute may have: bounds, and the points of one that says which values there are.

The points are lower, lower + step, ..., upper, or a list.  A client's value is the point nearest to it, and the law of an
attribute lives on its points, each of which has an input cell of its own.
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

MOST_POINTS = 1024  # of more a density says as much
_LEAST_GAP = 2  # input cells, that of silence among them
LARGEST = 10**30  # of a bound: its eighth power is still a number
_FINEST = 2.0**-32  # least width of the bounds, relative to them: input cells are then far above rounding


def check_bounds(lower: Fraction, upper: Fraction) -> None:
    """Raise SchemeError unless lower is below upper, far enough for doubles to tell values between them apart."""
    check_within(-LARGEST, LARGEST, lower=lower, upper=upper)
    if not lower < upper:
        raise SchemeError(f"lower must be below upper, got {number(lower)} and {number(upper)}")
    if float(upper - lower) <= _FINEST * max(abs(float(lower)), abs(float(upper))):
        raise SchemeError(
            f"lower and upper are too close to tell values apart, got {number(lower)} and {number(upper)}"
        )


def read(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the points that an attribute's table says there are, their names as `categories`, and its bounds.

    Raises SchemeError where they are none, or codes of who gives no answer are among them.
    """
    points = _points(entries)
    check_bounds(points[0], points[-1])
    codes = codes_of_silence(entries)
    for code in codes:
        if numeral(code) in {float(point) for point in points}:
            raise SchemeError(f"codes.{code} is one of the values there are, and cannot mean that there is no answer")
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
    """Return the codes that a number's table says mean no answer, in the order of the canonical text."""
    codes = entries["codes"]
    if not isinstance(codes, Mapping) or any(label != MISSING for label in codes.values()):
        raise SchemeError(f'codes of a number say who gives no answer, such as {{ -1 = "{MISSING}" }}, got {codes!r}')
    return MappingProxyType(dict(sorted(codes.items())))


def _points(entries: Mapping[str, Any]) -> tuple[Fraction, ...]:
    step, listed, lower, upper = (entries[key] for key in ("step", "values", "lower", "upper"))
    if listed is not None:
        if (step, lower, upper) != (None, None, None):
            raise SchemeError("values are all that there are: leave out lower, upper and step, or leave out values")
        if any(below >= above for below, above in pairwise(listed)):
            raise SchemeError("values must rise, each above the one before")
        steps = Fraction(len(listed) - 1)
    else:
        if lower is None or upper is None:
            raise SchemeError("a step goes from lower to upper; give both")
        steps = (upper - lower) / step if step > 0 else Fraction(0)
        if steps < 1 or steps.denominator != 1:
            raise SchemeError(
                f"step must be above 0 and go into the range from {number(lower)} to {number(upper)} without rest, got "
                f"{number(step)}"
            )
    if steps >= MOST_POINTS:
        raise SchemeError(
            f"there may be {MOST_POINTS:,} values, got {int(steps) + 1:,}; take a larger step, or give lower and upper alone, "
            "for a density"
        )
    return tuple(listed) if listed is not None else tuple(lower + step * place for place in range(int(steps) + 1))


def _heaps(heaps: list[Fraction], points: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    for heap in heaps:
        if heap <= 0 or sum((point / heap).denominator == 1 for point in points) < 2:
            raise SchemeError(
                f"heaps must be numbers above 0 that have multiples among the values, two at least, got {number(heap)}"
            )
    return tuple(heaps)


def name_of(point: Fraction) -> str:
    """Return how tables write a point: 41000, 0.5."""
    return str(int(point)) if point.denominator == 1 else repr(float(point))


def silence(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the codes, the categories and the estimator of a number with a density, as its table says.

    Raises SchemeError where silence is an answer of it that nothing reads.
    """
    codes = {"codes": codes_of_silence(entries)}
    if entries["missing"] == "refuse":
        return codes
    able = [name for name, kind in NUMERIC.items() if "lattice" in kind.declared.attributes]  # the finite channels
    if entries["mechanism"] not in able:
        raise SchemeError(
            f'missing = "category" of a density needs mechanism = {" or ".join(able)}, got {entries["mechanism"]}'
        )
    if table.get("estimator", LOG_SPLINE) != LOG_SPLINE:
        raise SchemeError(
            f'missing = "category" of a density goes with estimator = "{LOG_SPLINE}", got "{table["estimator"]}"'
        )
    return codes | {"categories": (MISSING,), "estimator": LOG_SPLINE}


def check_gap(mechanism: Mechanism) -> None:
    """Raise SchemeError unless an input cell is left empty between those of a density's values and that of silence."""
    if mechanism.inputs - room_of(mechanism.inputs) < _LEAST_GAP:
        raise SchemeError(
            f'missing = "category" needs {4 * _LEAST_GAP} input cells, got {mechanism.inputs}; give {mechanism.name} more cells'
        )


def told(entries: Mapping[str, Any]) -> dict[str, int]:
    """Return what designs are told: 'values', 'categories', silence included, and 'points', for how many there must be room."""
    answers, values = len(entries["categories"]), len(entries["points"])
    return {"values": values, "categories": answers, "points": room_for(values, answers > values)}


def check_room(mechanism: Mechanism, sizes: Mapping[str, int]) -> None:
    """Raise SchemeError unless each answer has an input cell of its own, as `spread` gives them out."""
    if mechanism.inputs != sizes["categories"] and mechanism.inputs < sizes["points"]:
        raise SchemeError(
            f"{mechanism.name} has {mechanism.inputs} input cells here, and {sizes['categories']} answers need "
            f'{sizes["points"]}; give it more levels or cells, or say mechanism = "auto"'
        )
