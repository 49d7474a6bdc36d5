"""One number that an aggregate says, with its interval, or why it says none."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from dpcore.errors import SchemeError

ASSUMED, BIAS_AWARE = "assumed", "bias_aware"  # the kind of an interval under a stated bound, and what makes such rows
DISTRIBUTION_FREE = "distribution_free"  # the kind of one that holds whatever the law, and what makes such rows
# What makes rows that are, once more, of numbers and curves that another estimator made.
SAID = (BIAS_AWARE, DISTRIBUTION_FREE)
TWO_ROUNDS = "two_rounds"  # what makes rows that are of an earlier round's reports, too


@dataclass(frozen=True, kw_only=True)
class FunctionalEstimate:
    """A number of a density, or of frequencies, with its interval.

    value, standard_error, low, high: the corrected estimate's, in the functional's unit; all None where it was refused.
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
