"""Divergences of two laws on finitely many outputs, sum q phi(p / q): exact where phi maps fractions to fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Divergence:
    """D(P || Q) = sum_z q_z phi(p_z / q_z), phi convex with phi(1) = 0.

    at_zero: phi(0).  slope: lim phi(t) / t as t grows, what P pays per mass where Q has none; infinite for most.

    >>> TOTAL_VARIATION.between((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 3), Fraction(2, 3)))
    Fraction(1, 6)
    """

    name: str
    phi: Callable[[Fraction], Any]
    at_zero: Any
    slope: Any = math.inf

    def between(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> Any:
        """Return D(P || Q), a Fraction where phi gives fractions, else a float."""
        total: Any = Fraction(0)
        for left, right in zip(p, q, strict=True):
            if right == 0:
                total += left * self.slope if left else 0
            else:
                total += right * (self.phi(left / right) if left else self.at_zero)
        return total


TOTAL_VARIATION = Divergence("total variation", lambda t: abs(t - 1) / 2, Fraction(1, 2), Fraction(1, 2))
KULLBACK_LEIBLER = Divergence("Kullback-Leibler", lambda t: float(t) * _log(t), 0.0)
CHI_SQUARED = Divergence("chi-squared", lambda t: (t - 1) ** 2, Fraction(1))
HELLINGER = Divergence("squared Hellinger", lambda t: (math.sqrt(t) - 1) ** 2, 1.0, 1.0)


def _log(ratio: Fraction) -> float:
    """Accurate near one, where the terms of a divergence all but cancel."""
    return math.log1p(float(ratio - 1)) if ratio < 2 else math.log(ratio.numerator) - math.log(ratio.denominator)
