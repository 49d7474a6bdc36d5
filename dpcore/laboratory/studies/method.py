"""What a study measures: a method, under one name or several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Setting:
    """A method and its parameters as in the table `benchmarks`."""

    method: str
    parameters: str = ""


class Method(ABC):
    """People's reports and what becomes of them."""

    settings: tuple[Setting, ...]

    @abstractmethod
    def errors(
        self, target: str, n: int, epsilon: float, seeds: Sequence[Sequence[int]]
    ) -> list[Mapping[str, np.ndarray]]:
        """Return, for each setting, metric -> errors, shape (repetitions,), one repetition a seed.

        target: a name of `densities`.  n: clients.  The same seed gives the same error, whatever the others are.
        """
