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

from dpcore.errors import SchemeError, check_bend, check_within, exact
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.fisher_information import room_for, room_of
from dpcore.mechanisms.registry import NUMERIC
from dpcore.protocol.attribute import MISSING, Attribute
from dpcore.protocol.domain import categories
from dpcore.protocol.records.category_names import numeral
from dpcore.protocol.syntax import keys
from dpcore.protocol.syntax.fields import name_of, number
from dpcore.protocol.syntax.keys import LOG_SPLINE

MOST_POINTS = 1024  # with more, a density is as accurate
_LEAST_GAP = 2  # input cells, including that of nonresponse
_SECOND_DERIVATIVE = "second_derivative"  # the only key of `assume`
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


def _read_points(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The support points of an attribute's table, their names as `categories`, and its bounds.

    Raises SchemeError if the table declares none, or if a code of nonresponse is one of them.
    """
    points = _points(entries)
    check_bounds(points[0], points[-1])
    codes = _codes_of_silence(entries)
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


def _codes_of_silence(entries: Mapping[str, Any]) -> Mapping[str, str]:
    """A numeric attribute's codes of nonresponse, in the order of the canonical text."""
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


def _silence(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The codes, the categories and the estimator that a density's table implies for nonresponse.

    Raises SchemeError if nonresponse is an answer but the mechanism or estimator does not support it.
    """
    codes = {"codes": _codes_of_silence(entries)}
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


def _check_gap(entries: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Raise SchemeError unless an input cell is empty between those of a density's values and that of nonresponse."""
    mechanism: Mechanism = entries["mechanism"]
    if entries["missing"] == "category" and mechanism.inputs - room_of(mechanism.inputs) < _LEAST_GAP:
        raise SchemeError(
            f'missing = "category" needs {4 * _LEAST_GAP} input cells, got {mechanism.inputs}; set more for {mechanism.name}'
        )
    return {}


def _sizes_of_points(entries: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of 'values', of 'categories' (with nonresponse), and of 'points', the input cells needed."""
    answers, values = len(entries["categories"]), len(entries["points"])
    return {"values": values, "categories": answers, "points": room_for(values, answers > values)}


def _check_room(entries: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Raise SchemeError unless the mechanism has an input cell for each answer (`spread`)."""
    mechanism: Mechanism = entries["mechanism"]
    if mechanism.inputs != sizes["categories"] and mechanism.inputs < sizes["points"]:
        raise SchemeError(
            f"{mechanism.name} has {mechanism.inputs} input cells, but {sizes['categories']} answers need "
            f'{sizes["points"]}; declare more levels or cells, or mechanism = "auto"'
        )
    return {}


def _read_bins(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The bins, codes and values of an attribute's table, and the names of its `categories`.

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
        "codes": _codes_of_silence(entries),
        "values": None if values is None else tuple(map(float, values)),
    }


def _bin_names(edges: tuple[Fraction, ...]) -> list[str]:
    """The names of the ranges in tables."""
    edge_names = [name_of(edge) for edge in edges]
    between = [f"{below} to below {above}" for below, above in pairwise(edge_names)]
    return [f"below {edge_names[0]}", *between, f"{edge_names[-1]} and above"]


def _read_density(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    check_bounds(entries["lower"], entries["upper"])
    _check_level(entries, table)
    own = {"assume": _assumed(entries), "intervals": _intervals(entries)}
    return own | _silence(entries, table)


def _check_level(entries: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    if entries["estimator"] != "projection" and ("level_rule" in table or "level" in table):
        raise SchemeError(
            f'level_rule and level need estimator = "projection", got estimator = "{entries["estimator"]}"; remove them'
        )
    if (entries["level_rule"] == "fixed") != (entries["level"] is not None):
        raise SchemeError('level and level_rule = "fixed" need each other; add the missing one or remove the other')


def _assumed(entries: Mapping[str, Any]) -> Fraction | None:
    """The bound on the root of int f''^2, in the attribute's unit to the power -5/2; None without an assumption."""
    table = entries["assume"]
    if table is None:
        return None
    if not isinstance(table, Mapping) or set(table) != {_SECOND_DERIVATIVE}:
        raise SchemeError(f"assume must be {{ {_SECOND_DERIVATIVE} = M }}, with M a number above 0, got {table!r}")
    if entries["estimator"] != LOG_SPLINE or entries["missing"] == "category":
        raise SchemeError(
            f'assume needs estimator = "{LOG_SPLINE}" and missing = "refuse", got estimator = '
            f'"{entries["estimator"]}" and missing = "{entries["missing"]}"'
        )
    bound = exact(**{f"assume.{_SECOND_DERIVATIVE}": table[_SECOND_DERIVATIVE]})
    check_bend(entries["lower"], entries["upper"], **{f"assume.{_SECOND_DERIVATIVE}": bound})
    return bound


def _intervals(entries: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds of interval in addition to the data-driven one, without repetition."""
    if entries["intervals"] and entries["missing"] == "category":
        raise SchemeError(
            'intervals and missing = "category" exclude each other, because the share of nonresponse is unknown; remove one'
        )
    return tuple(dict.fromkeys(entries["intervals"]))


def _table_of_density(a: Attribute) -> dict[str, Any]:
    table = _bounds(a) | {"unit": a.unit, "outside": a.outside} | _codes(a)
    table |= {"level_rule": a.level_rule} if a.estimator == "projection" else {}
    table |= {} if a.level is None else {"level": a.level}
    table |= {} if a.assume is None else {"assume": {_SECOND_DERIVATIVE: number(a.assume)}}
    table |= {"intervals": a.intervals} if a.intervals else {}
    return table


def _table_of_points(a: Attribute) -> dict[str, Any]:
    points = [number(point) for point in a.points or ()]
    table: dict[str, Any] = {"values": points} if a.step is None else _bounds(a) | {"step": number(a.step)}
    table |= {} if a.heaps is None else {"heaps": [number(heap) for heap in a.heaps]}
    return table | {"unit": a.unit, "outside": a.outside} | _codes(a)


def _table_of_bins(a: Attribute) -> dict[str, Any]:
    table: dict[str, Any] = {"bins": [number(edge) for edge in a.bins or ()], "unit": a.unit}
    return table | _codes(a) | categories.values_table(a) | categories.design_table(a)


def _bounds(attribute: Attribute) -> dict[str, Any]:
    return {"lower": number(attribute.lower), "upper": number(attribute.upper)}


def _codes(attribute: Attribute) -> dict[str, Any]:
    return {"codes": dict(attribute.codes)} if attribute.codes else {}


DENSITY = keys.Kind(
    keys=keys.OWN["numeric"],
    reason="the default, with the lowest error",
    attribute=Attribute,
    read=_read_density,
    sizes=lambda entries: {"points": 0},
    check=_check_gap,
    functionals=lambda entries, functionals: functionals,
    own_table=_table_of_density,
)
POINTS = keys.Kind(
    keys=keys.OWN[keys.LATTICE],
    reason=categories.REASON,
    automatic="the lowest expected error for the planned clients",
    estimators=(keys.LOG_LINEAR,),
    attribute=Attribute,
    read=_read_points,
    sizes=_sizes_of_points,
    check=_check_room,
    functionals=lambda entries, functionals: functionals,
    own_table=_table_of_points,
)
BINS = keys.Kind(
    keys=keys.OWN[keys.BINNED],
    reason=categories.REASON,
    automatic=categories.AUTOMATIC,
    attribute=Attribute,
    read=_read_bins,
    sizes=categories.sizes,
    functionals=categories.functionals,
    own_table=_table_of_bins,
)
