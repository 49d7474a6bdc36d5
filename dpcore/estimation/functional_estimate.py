"""One number that an aggregate says, with its interval, or why it says none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.estimation import constants

ASSUMED, BIAS_AWARE = "assumed", "bias_aware"  # the kind of an interval under a stated bound, and what makes such rows
DISTRIBUTION_FREE = "distribution_free"  # the kind of one that holds whatever the law, and what makes such rows
# What makes rows that are, once more, of numbers and curves that another estimator made.
SAID = (BIAS_AWARE, DISTRIBUTION_FREE)
TWO_ROUNDS = "two_rounds"  # what makes rows that are of an earlier round's reports, too


@dataclass(frozen=True, kw_only=True)
class FunctionalEstimate:
    """A number of a density, or of frequencies, with its interval.

    value, standard_error, low, high: the corrected estimate's, in the functional's unit; all None where it was refused.  A
    share's or quantile's value is that of one distribution function, the standard error that of its corrected estimate.
    plug_in: the functional of the density that is shown.  kind: 'smooth' or 'atomic', by the functional; 'assumed' of an
    interval that holds for every density as smooth as was said, 'distribution_free' of one that holds whatever the law.
    reason: why it was refused and what would do; None otherwise.
    second_order: the share of standard_error^2 that the functional's second derivative adds; None where nobody said.
    design_effect: standard_error^2 over that of as many reports that all count the same; None where they do.
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
        """Whether there is no estimate, for the reason given."""
        return self.value is None

    def around(self, value: float, least: float, most: float) -> FunctionalEstimate:
        """Return the same of another value, the interval moved as far as that needs; least, most: the quantity's range."""
        if self.low is None or self.high is None:
            return self
        low, high = (float(np.clip(end, least, most)) for end in moved(value, self.low, self.high, least, most))
        return replace(self, value=value, low=low, high=high)


def refused(
    functional: Any, reason: str, confidence: float = 0.95, plug_in: float | None = None, kind: str = ""
) -> FunctionalEstimate:
    """Return the result of a functional that cannot be inferred, and why; plug_in: of what is shown, where it has one."""
    name, kind = str(functional), kind or functional.kind
    return FunctionalEstimate(functional=name, kind=kind, confidence=confidence, plug_in=plug_in, reason=reason)


def normal_quantile(confidence: float) -> float:
    """Return z with P(|N(0, 1)| <= z) = confidence."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def check_confidence(confidence: float) -> None:
    """Raise SchemeError unless 0 < confidence < 1."""
    if not 0 < confidence < 1:
        raise SchemeError(f"confidence must lie strictly between 0 and 1, got {confidence}")


def moved(
    value: np.ndarray | float,
    low: np.ndarray | float,
    high: np.ndarray | float,
    least: np.ndarray | float,
    most: np.ndarray | float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return intervals, moved where needed, so that each value is away from its limits by an eighth of the length.

    least, most: the range of the quantity.  A limit that the range cuts may be the value itself, and does not move from there.

    >>> [end.round(3).tolist() for end in moved(0.3, 0.25, 0.65, 0.0, 1.0)]
    [0.25, 0.65]
    >>> [end.round(3).tolist() for end in moved(0.2, 0.25, 0.65, 0.0, 1.0)]
    [0.15, 0.55]
    """
    value, low, high = (np.asarray(number, dtype=np.float64) for number in (value, low, high))
    low, high = np.minimum(low, high), np.maximum(low, high)  # of few cells each may come from elsewhere, and cross
    margin = constants.MARGIN * (high - low)
    first, last = np.where(low <= least, low, low + margin), np.where(high >= most, high, high - margin)
    shift = value - np.clip(value, first, np.maximum(first, last))
    # A limit at the range's own may have been cut there: where it was before nobody knows
    low = np.where(low == least, low, low + shift)
    high = np.where(high == most, high, high + shift)
    low, high = np.maximum(low, np.minimum(least, value)), np.minimum(high, np.maximum(most, value))
    return np.minimum(low, value), np.maximum(high, value)
