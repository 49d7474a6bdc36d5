"""Search for the smallest sufficient number on a logarithmic scale, and rounding up to three digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal

from dpcore.protocol.syntax import keys

LEAST_CLIENTS, MOST_CLIENTS = 100, keys.CLIENTS.most
WITHIN = 2e-3  # tolerance of log10, for three digits
_DIGITS = 3
_STEP = 0.5  # step of the exponent if no error is available


def least(
    error: Callable[[float], float | None],
    wanted: float,
    *,
    low: float,
    high: float,
    start: float,
    slope: float,
    within: float,
) -> float | None:
    """Return an exponent x with error(x) <= wanted, smallest up to `within`; None if there is none.

    error: for 10^x clients or epsilon = 10^x, approximately proportional to 10^{-slope x}; None if not available.
    low, high: range of exponents; low is returned if it suffices.

    >>> round(least(lambda x: 10 ** (-x / 2), 0.01, low=0, high=9, start=3, slope=0.5, within=1e-3), 2)
    4.0
    """
    bad, good, gaps = low, high, dict[float, float]()
    x = min(max(start, low), high)
    while True:
        reached = error(x)
        gaps[x] = math.inf if reached is None else math.log10(reached / wanted)
        if gaps[x] > 0:
            if x >= high:
                return None
            bad = x
        else:
            if x <= low:
                return low
            good = x
        if good in gaps and bad in gaps and good - bad <= within:
            return good
        x = _next(gaps, bad, good, slope, within)


def _next(gaps: dict[float, float], bad: float, good: float, slope: float, within: float) -> float:
    """Next point: by linear interpolation between both ends, or by the slope from one end, shifted to close the bracket."""
    if bad not in gaps:
        return max(bad, good + gaps[good] / slope - within / 2)
    if good not in gaps:
        step = _STEP if math.isinf(gaps[bad]) else gaps[bad] / slope + within / 2
        return min(good, bad + step)
    if math.isinf(gaps[bad]) or good - bad <= 2 * within:
        return (bad + good) / 2
    line = bad + (good - bad) * gaps[bad] / (gaps[bad] - gaps[good])
    nearer_good = gaps[bad] > -gaps[good]
    aimed = line - within / 2 if nearer_good else line + within / 2
    return min(max(aimed, bad + within / 2), good - within / 2)


def fewest_clients(error: Callable[[int], float | None], wanted: float, start: int) -> int | None:
    """Return the smallest number of clients, to three digits, with an error of at most `wanted`; None if there is none.

    start: the number that is tried first.
    """
    exponent = least(
        lambda x: error(rounded_clients(x)),
        wanted,
        low=math.log10(LEAST_CLIENTS),
        high=math.log10(MOST_CLIENTS),
        start=math.log10(start),
        slope=0.5,
        within=WITHIN,
    )
    return None if exponent is None else rounded_clients(exponent)


def rounded_clients(exponent: float) -> int:
    """Return 10^exponent clients, three digits, rounded up."""
    return int(_upwards(10**exponent))


def rounded_epsilon(exponent: float) -> str:
    """Return epsilon = 10^exponent as a decimal, three digits, rounded up."""
    return f"{_upwards(10**exponent):f}"


def _upwards(number: float) -> Decimal:
    exact = Decimal(repr(number))
    return exact.quantize(Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1), rounding=ROUND_CEILING)
