"""The estimator of a joint attribute of two numbers: it refuses, as `dp.joint` estimates their joint distribution."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dpcore.errors import NotEstimable
from dpcore.estimation.estimator import Estimator


@dataclass(frozen=True)
class Together(Estimator):
    """The estimator that a joint attribute names; it always refuses, and refers to `dp.joint`."""

    name = "together"
    titles = MappingProxyType({"together": "asked of two numbers together"})

    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> Any:
        """Raise NotEstimable."""
        one, other = aggregate.scheme.attributes[attribute].of
        raise NotEstimable(f'{attribute} has no law of one number; ask dp.joint(aggregate, "{one}", "{other}")')
