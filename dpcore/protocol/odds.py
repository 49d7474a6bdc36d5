"""The odds of what a client sends under a scheme: of each question, and of all questions and rounds together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpcore.mechanisms.odds import odds_of
from dpcore.mechanisms.stated.bit_vectors import StatedBits
from dpcore.mechanisms.stated.stated_channel import Stated
from dpcore.privacy.odds import Odds, either, together
from dpcore.protocol.scheme import Scheme


@dataclass(frozen=True, eq=False)
class SchemeOdds:
    """Of one round, each question and all of them; what is sent in clear is not in it, and is named.

    rounds: in how many each question is answered.  after: what all of them tell, where each answer is drawn anew, as a client
    without a key draws it; a memoized answer is the same, and is what `all` says while nothing changes.
    """

    questions: Mapping[str, Odds]
    all: Odds
    rounds: int
    after: Odds
    in_clear: tuple[str, ...] = ()


def scheme_odds(scheme: Scheme, rounds: int = 1) -> SchemeOdds:
    """Return the odds of a scheme's questions; a client that reports one of several units tells at most what either does."""
    questions = {name: odds_of(attribute.mechanism) for name, attribute in scheme.attributes.items()}
    units = [[questions[name] for name in unit] for unit in scheme.units]
    if scheme.reporting == "all":
        parts = [part for unit in units for part in unit]
    else:
        parts = [either(together(unit) for unit in units)]
    return SchemeOdds(
        MappingProxyType(questions), together(parts), rounds, together(parts, rounds), tuple(scheme.labels)
    )


def unbounded(scheme: Scheme) -> list[str]:
    """Return a sentence for each attribute whose epsilon is infinite, with the nearest design that keeps a finite one."""
    return [
        f"{name}: epsilon is infinite, as an answer that some values give is never given of others; were 1 answer in 100 drawn "
        f"uniformly instead, it would be {attribute.mechanism.nearest.text} ({float(attribute.mechanism.nearest):.4f})"
        for name, attribute in scheme.attributes.items()
        if isinstance(attribute.mechanism, Stated | StatedBits) and not attribute.budget.is_finite
    ]
