"""The exponential mechanism for any loss and its sensitivity, drawn exactly from a finite list [McSherryTalwar2007].

Losses are whole numbers, so that the law is one of integer weights and can be proved private.  `on_lattice` makes whole numbers
of a real loss.  Where the list is too long to go through, `approximate_exponential` walks instead, and promises nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, ClassVar, Protocol

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeError, check_whole, check_within
from dpcore.laboratory.central.base import CuratorMechanism
from dpcore.laboratory.central.exponential import integer_weights
from dpcore.mechanisms.base import Certificate
from dpcore.privacy.budget import Budget

_SLACK = 1e-9  # of a real loss: far above the rounding of the floats it was computed with


class Candidates(Protocol):
    """A list, or an equivalent sequence."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


@dataclass(frozen=True, eq=False)
class ExponentialMechanism(CuratorMechanism):
    """Release candidate z with probability ~ mu(z) q^loss(x, z), q a rational just above exp(-epsilon / (2 Delta)).

    loss: records -> whole losses, one for each candidate; a utility is minus a loss.
    sensitivity: Delta >= 1, whole: the most that changing one record moves the loss of any one candidate.
    candidates: what may be released, of known length.
    measure: mu, (C,) whole and positive, their sum below 2^63; None counts each once.

    Privacy.  Claim: Pr(A(x) = z) <= e^epsilon Pr(A(y) = z) for all neighbours x, y and all z (Theorem 9 of the source).
        1. |loss(x, z) - loss(y, z)| <= Delta for each z, so mu(z) q^loss(x, z) <= q^-Delta mu(z) q^loss(y, z).
        2. The sum over all candidates obeys the same bound, in the other direction: it costs q^-Delta once more.
        3. So the ratio of the two probabilities is at most q^(-2 Delta).
        4. The draw is from integers in exactly these proportions: no float is near it.
        5. The constructor compares q^(-2 Delta) with a rational lower bound of e^epsilon.  Delta is the caller's word.

    Raises SchemeError where the sensitivity or the measure is not of whole numbers above 0.
    """

    name: ClassVar[str] = "exponential_mechanism"

    budget: Budget
    loss: Callable[[Any], np.ndarray]
    sensitivity: int
    candidates: Candidates
    measure: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_whole(1, 1 << 32, sensitivity=self.sensitivity)
        if not len(self.candidates):
            raise SchemeError("an exponential mechanism needs at least one candidate, got none")
        self._check_measure()
        self._refuse_unless_kept("state the sensitivity of the loss")

    @property
    def ratio(self) -> Fraction:
        """q."""
        return integer_weights.ratio_above(self.budget, 2 * self.sensitivity)

    def certificate(self) -> Certificate:
        return Certificate("ratio", self.ratio ** (-2 * self.sensitivity), self.budget, (self.sensitivity,))

    def losses(self, records: Any) -> np.ndarray:
        """Return the loss of each candidate, (C,), int64."""
        losses = np.asarray(self.loss(records))
        if losses.shape != (len(self.candidates),) or losses.dtype.kind not in "iu":
            raise SchemeError(f"a loss must give {len(self.candidates)} whole numbers, got shape {losses.shape}")
        return losses.astype(np.int64)

    def law(self, records: Any) -> tuple[Fraction, ...]:
        """Return the probability of each candidate, exact."""
        losses = self.losses(records)
        weights = integer_weights.powers(self.ratio, np.unique(losses).tolist())
        measure = self._measure.tolist()
        return integer_weights.law([m * weights[int(loss)] for m, loss in zip(measure, losses, strict=True)])

    def draw(self, records: Any, size: int, random: Source) -> np.ndarray:
        """Return the numbers of `size` independent releases, (size,): each of them spends the budget; for studies."""
        losses, measure = self.losses(records), self._measure
        different, group = np.unique(losses, return_inverse=True)
        masses = np.zeros(len(different), dtype=np.int64)
        np.add.at(masses, group, measure)
        weights = integer_weights.powers(self.ratio, different.tolist())
        chosen = integer_weights.draw(
            [int(m) * weights[int(v)] for m, v in zip(masses, different, strict=True)], size, random
        )
        result = np.empty(size, dtype=np.int64)
        for value in np.unique(chosen):  # within one loss the measure alone decides
            members, at = np.flatnonzero(group == value), np.flatnonzero(chosen == value)
            result[at] = members[integer_weights.draw(measure[members].tolist(), len(at), random)]
        return result

    def release(self, records: Any, random: Source) -> Any:
        """Return one candidate."""
        return self.candidates[int(self.draw(records, 1, random)[0])]

    def utility_bound(self, shortfall: float) -> float:
        """Return a bound on Pr(loss(x, A(x)) >= least loss + shortfall), C q^shortfall, at most 1; shortfall: at least 0.

        For candidates of equal measure; C is how many there are.
        """
        check_within(0, inf, shortfall=shortfall)
        return min(1.0, len(self.candidates) * float(self.ratio) ** shortfall)

    @property
    def _measure(self) -> np.ndarray:
        return np.ones(len(self.candidates), dtype=np.int64) if self.measure is None else self.measure

    def _check_measure(self) -> None:
        if self.measure is None:
            return
        mu = np.asarray(self.measure)
        if mu.shape != (len(self.candidates),) or mu.dtype.kind not in "iu" or mu.min() < 1 or sum(mu.tolist()) >> 63:
            raise SchemeError(
                f"measure must be {len(self.candidates)} whole numbers above 0 with a sum below 2^63, got shape {mu.shape}"
            )
        measure = mu.astype(np.int64)  # a copy that nobody else can change
        measure.flags.writeable = False
        object.__setattr__(self, "measure", measure)


def on_lattice(losses: np.ndarray, sensitivity: float, steps: int) -> np.ndarray:
    """Return floor(steps * loss / sensitivity'), sensitivity' a hair above: whole losses of sensitivity `steps`.

    losses: real, computed with an error below 1e-10; sensitivity: of the real loss; steps: >= 1, more are finer.
    As floor(a) - floor(b) <= ceil(a - b), whole losses of neighbours differ by at most `steps`.
    """
    return np.floor(np.asarray(losses) * (steps / (sensitivity + _SLACK))).astype(np.int64)
