"""The estimate of one functional, with its interval or the reason of a refusal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from statistics import NormalDist
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.estimation import constants

ASSUMED, BIAS_AWARE = (
    "assumed",
    "bias_aware",
)  # the kind of an interval under a stated bound, and the estimator of such rows
DISTRIBUTION_FREE = "distribution_free"  # the kind of one valid for every distribution, and the estimator of such rows
# Estimators whose rows repeat functionals and curves of another estimator.
REPEATED = (BIAS_AWARE, DISTRIBUTION_FREE)
TWO_ROUNDS = "two_rounds"  # the estimator of rows that also use an earlier round's reports


@dataclass(frozen=True, kw_only=True)
class FunctionalEstimate:
    """A functional of a density or of frequencies, with its interval.

    value, standard_error, low, high: of the corrected estimate, in the functional's unit; all None if refused.  The value of a
    proportion or quantile comes from one distribution function, the standard error from its corrected estimate.
    plug_in: the functional of the density shown.  kind: 'smooth' or 'atomic', by the functional; 'assumed' for an interval
    valid under a stated bound, 'distribution_free' for one valid for every distribution.
    reason: why it was refused, and a remedy; None otherwise.
    second_order: share of standard_error^2 due to the functional's second derivative; None if unknown.
    design_effect: standard_error^2 over that of the same number of equally weighted reports; None for equal weights.
    """

    functional: str
    value: float | None = None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float
    plug_in: float | None = None
    kind: str
    reason: str | None = None
    second_order: float | None = None
    design_effect: float | None = None

    @property
    def is_refused(self) -> bool:
        """Whether there is no estimate, for `reason`."""
        return self.value is None

    def around(self, value: float, least: float, most: float) -> FunctionalEstimate:
        """Return it with another value, the interval moved where needed; least, most: the quantity's range."""
        if self.low is None or self.high is None:
            return self
        low, high = (float(np.clip(end, least, most)) for end in moved(value, self.low, self.high, least, most))
        return replace(self, value=value, low=low, high=high)


def estimated(
    functional: Any,
    interval: Iterable[float],
    confidence: float,
    plug_in: float,
    kind: str = "",
    **more: Any,
) -> FunctionalEstimate:
    """Return a functional with its interval: value, standard error, low and high.  kind: by default the functional's own."""
    value, error, low, high = map(float, interval)
    return FunctionalEstimate(
        functional=str(functional),
        value=value,
        standard_error=error,
        low=low,
        high=high,
        confidence=confidence,
        plug_in=plug_in,
        kind=kind or functional.kind,
        **more,
    )


def refused(
    functional: Any, reason: str, confidence: float = 0.95, plug_in: float | None = None, kind: str = ""
) -> FunctionalEstimate:
    """Return the result of a functional that cannot be inferred, with the reason; plug_in: of the density shown, if defined."""
    name, kind = str(functional), kind or functional.kind
    return FunctionalEstimate(functional=name, kind=kind, confidence=confidence, plug_in=plug_in, reason=reason)


def normal_quantile(confidence: float) -> float:
    """Return z with P(|N(0, 1)| <= z) = confidence."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def check_confidence(confidence: float) -> None:
    """Raise SchemeError unless 0 < confidence < 1."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise SchemeError(f"confidence must lie strictly between 0 and 1, got {confidence}")


def moved(
    value: np.ndarray | float,
    low: np.ndarray | float,
    high: np.ndarray | float,
    least: np.ndarray | float,
    most: np.ndarray | float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return intervals, moved where needed, so that each value is an eighth of the length away from the limits.

    least, most: the range of the quantity.  A limit clipped by the range may equal the value, and does not move.

    >>> [end.round(3).tolist() for end in moved(0.3, 0.25, 0.65, 0.0, 1.0)]
    [0.25, 0.65]
    >>> [end.round(3).tolist() for end in moved(0.2, 0.25, 0.65, 0.0, 1.0)]
    [0.15, 0.55]
    """
    value, low, high = (np.asarray(number, dtype=np.float64) for number in (value, low, high))
    low, high = (
        np.minimum(low, high),
        np.maximum(low, high),
    )  # with few cells they may be computed differently, and cross
    margin = constants.MARGIN * (high - low)
    first, last = np.where(low <= least, low, low + margin), np.where(high >= most, high, high - margin)
    shift = value - np.clip(value, first, np.maximum(first, last))
    # A limit at the range's own may have been clipped: its original place is unknown
    low = np.where(low == least, low, low + shift)
    high = np.where(high == most, high, high + shift)
    low, high = np.maximum(low, np.minimum(least, value)), np.minimum(high, np.maximum(most, value))
    return np.minimum(low, value), np.maximum(high, value)
