"""Bases by the names that schemes give them: "spline", or a pair of `filter_bank`."""

from __future__ import annotations

from dpcore.errors import SchemeError, check_one_of, check_within
from dpcore.mechanisms.bases import filter_bank
from dpcore.mechanisms.bases.base import Basis
from dpcore.mechanisms.bases.bspline import LARGEST_DEGREE
from dpcore.mechanisms.bases.filter_bank import FilterBank
from dpcore.mechanisms.bases.spline_wavelet import SplineWavelet

SPLINE = "spline"
NAMES = (SPLINE, *filter_bank.ACCEPTED)
REFUSED = tuple(filter_bank.REFUSED)
DEFAULT_DEGREE = 2


def degree_of(name: str, degree: int | None = None) -> int:
    """Return the degree of the splines: the requested one, 0..3 and 2 by default, or that in the name of a filter bank.

    Raises CalibrationError, with the reason, for a pair that cannot be used; SchemeError for another name, a degree out of
    range or one that the name contradicts.

    >>> degree_of("spline"), degree_of("bior2.4")
    (2, 1)
    """
    if name == SPLINE:
        degree = DEFAULT_DEGREE if degree is None else degree
        check_within(0, LARGEST_DEGREE, degree=degree)
        return degree
    if name not in REFUSED:
        check_one_of(NAMES, basis=name)
    own = filter_bank.degree_of(name)
    if degree not in (None, own):
        raise SchemeError(f"basis = {name!r} has splines of degree {own}, got degree = {degree}; leave degree out")
    return own


def build(name: str, degree: int, coarsest_level: int, finest_level: int) -> Basis:
    """Return the basis; errors are those of `degree_of` and of the basis itself."""
    if name == SPLINE:
        return SplineWavelet(degree, coarsest_level, finest_level)
    degree_of(name, degree)
    return FilterBank(name, coarsest_level, finest_level)
