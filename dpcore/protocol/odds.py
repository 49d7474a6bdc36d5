"""The odds of an attacker who sees a client's reports: for each attribute, all attributes, and several rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dpcore.mechanisms.odds import odds_of
from dpcore.mechanisms.stated.bit_vectors import StatedBits
from dpcore.mechanisms.stated.stated_channel import Stated
from dpcore.privacy.odds import Odds, either, together
from dpcore.protocol.scheme import Scheme


@dataclass(frozen=True, eq=False)
class SchemeOdds:
    """The odds of each attribute and of all of them in one round; labels, which are public, are only listed.

    rounds: number of rounds.  after: odds after these rounds if each answer is drawn anew, as by a client without a key.  A
    memoized answer does not change, so `all` applies while the values stay the same.  titles: name -> title of attributes and
    labels.
    """

    questions: Mapping[str, Odds]
    all: Odds
    rounds: int
    after: Odds
    in_clear: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)


def scheme_odds(scheme: Scheme, rounds: int = 1) -> SchemeOdds:
    """Return the odds of a scheme; if a client reports one unit, the odds of all are the largest of any unit."""
    questions = {name: odds_of(attribute.mechanism) for name, attribute in scheme.attributes.items()}
    units = [[questions[name] for name in unit] for unit in scheme.units]
    if scheme.reporting == "all":
        parts = [part for unit in units for part in unit]
    else:
        parts = [either(together(unit) for unit in units)]
    titles = {name: part.title or name.replace("_", " ") for name, part in scheme.reported.items()}
    after = together(parts, rounds)
    return SchemeOdds(MappingProxyType(questions), together(parts), rounds, after, tuple(scheme.labels), titles)


def unbounded(scheme: Scheme) -> list[str]:
    """Return a sentence for each attribute whose epsilon is infinite, with the epsilon of a finite design close to it."""
    return [
        f"{name}: epsilon is infinite, because some reports are possible for some values only; if 1 answer in 100 were drawn "
        f"uniformly, it would be {attribute.mechanism.nearest.text} ({float(attribute.mechanism.nearest):.4f})"
        for name, attribute in scheme.attributes.items()
        if isinstance(attribute.mechanism, Stated | StatedBits) and not attribute.budget.is_finite
    ]
