"""Central epsilon by shuffling of a round, from the integers that clients draw with, and its conditions.

Each mechanism's levels are enumerated in `mechanisms`.  For a frequency oracle, the weights of reports under three values
suffice: the respondent's two candidate values and the common value of all others; all triples are equivalent.  For additive
noise only the exact loss is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

from dpcore.audit.mechanisms.base import levels
from dpcore.privacy.budget import Budget
from dpcore.privacy.shuffling.central_epsilon import CONDITION, Figure, Publication, jointly, published, upward
from dpcore.protocol.scheme import Scheme

DELTA = 1e-6  # delta of a whole round
_NOTHING_LINKS = Publication()
_UNBOUNDED = "some values never give some answers in a stated channel, so one report may exclude a value with certainty"


@dataclass(frozen=True, kw_only=True)
class CentralGuarantee:
    """Central epsilon by shuffling for one respondent of a round; never above the local epsilon.

    attributes: by attribute.  units: by unit of jointly counted attributes.  whole: for all answers of a client.  refusals:
    reasons why there is no figure, empty if there is one.  reports: number of reports in the smallest group that published
    results distinguish.  group: describes that group.
    """

    attributes: Mapping[str, Figure] = field(default_factory=dict)
    units: Mapping[tuple[str, ...], Figure] = field(default_factory=dict)
    whole: Figure | None
    refusals: tuple[str, ...] = ()
    reports: int
    group: str = ""

    @property
    def words(self) -> str:
        """The figure of the whole with its conditions, a sentence without its full stop."""
        if self.whole is None:
            figure = "no less than the local epsilon, because " + "; ".join(self.refusals)
        else:
            figure = (
                f"(epsilon {upward(self.whole.epsilon)}, delta {self.whole.delta:g}) by shuffling, if {self.reports:,} clients "
                f"report{self.group} {CONDITION}"
            )
        return f"against readers of published results only: {figure}"


def planned(scheme: Scheme, clients: int | None = None) -> CentralGuarantee:
    """Return the central guarantee for a number of clients, by default the scheme's; label groups are assumed equally large."""
    groups = math.prod(len(label.categories) for label in scheme.labels.values())
    group = f" in each of {groups} groups by label" if groups > 1 else ""
    return replace(central_guarantee(scheme, max(1, (clients or scheme.clients) // groups)), group=group)


def central_guarantee(
    scheme: Scheme,
    reports: int,
    *,
    delta: float = DELTA,
    publication: Publication = _NOTHING_LINKS,
    rounds: int = 1,
    attacked: bool = False,
) -> CentralGuarantee:
    """Return the central guarantee of a round, or the reasons why there is none.

    reports: number of reports in the smallest group that published results distinguish. delta: of the whole, divided equally
    among units. rounds: number of rounds with the same respondents. attacked: whether to compute lower bounds of attributes,
    which are 0 otherwise.
    """
    publication = replace(publication, delta=max(publication.delta, float(scheme.delta)))
    refusals = publication.refusals + (() if scheme.budget.is_finite else (_UNBOUNDED,))
    if refusals:
        return CentralGuarantee(whole=None, refusals=refusals, reports=reports)
    channels = {unit: jointly([levels(scheme.attributes[name].mechanism) for name in unit]) for unit in scheme.units}
    is_all = scheme.reporting == "all"
    unit_delta, share = (delta / len(channels) / rounds, 1.0) if is_all else (delta / rounds, 1 / len(channels))
    distinct = {
        channel: published(channel, reports, unit_delta, share, attacked=attacked) for channel in set(channels.values())
    }
    units = {unit: distinct[channel] for unit, channel in channels.items()}
    if is_all:
        figures = list(units.values())
    else:  # a respondent reports one unit; delta is averaged over units
        members = [replace(level, share=level.share * share) for channel in channels.values() for level in channel]
        figures = [published(members, reports, unit_delta, attacked=False)]
    attributes = {name: _at_most(units[unit], scheme.attributes[name].budget) for unit in units for name in unit}
    whole = _at_most(_total(figures * rounds), reduce(add, [scheme.budget] * rounds))
    return CentralGuarantee(attributes=attributes, units=units, whole=whole, reports=reports)


def _at_most(figure: Figure, budget: Budget) -> Figure:
    """Return the figure, or the local epsilon if it is smaller."""
    local = math.nextafter(float(budget), math.inf)
    return figure if figure.epsilon <= local else replace(figure, epsilon=float(budget))


def _total(figures: Sequence[Figure]) -> Figure:
    first, *others = figures
    for figure in others:
        first += figure
    return first
