"""Two numbers that were asked together: what they have is a joint law, which `dp.joint` reads; alone there is nothing here."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dpcore.errors import NotEstimable
from dpcore.estimation.estimator import Estimator


@dataclass(frozen=True)
class Together(Estimator):
    """The estimator that such an attribute names: it refuses, and says what to ask instead."""

    name = "together"
    titles = MappingProxyType({"together": "asked of two numbers together"})

    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> Any:
        """Raise NotEstimable."""
        one, other = aggregate.scheme.attributes[attribute].of
        raise NotEstimable(f'{attribute} has no law of one number; ask dp.joint(aggregate, "{one}", "{other}")')
