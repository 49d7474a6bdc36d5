"""What an estimator is: an aggregate and an attribute in, an estimate with its uncertainty out.

There is no fit and no state: the same aggregate gives the same answer, and choices (a level rule) are fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar


class Estimator(ABC):
    """Turns an aggregate into the estimate of one attribute.

    `name` is what tables call the estimator.
    """

    name: ClassVar[str]

    @abstractmethod
    def estimate(self, aggregate: Any, attribute: str, given: str | None = None) -> Any:
        """Return the attribute's estimate; with `given`, a paired categorical attribute, {category: estimate}.

        Raises NotEstimable where there are too few reports, SchemeError where the question does not fit the scheme.
        """
