"""The whole protocol on one page.

    record --privatize--> ReportBatch --aggregate--> Aggregate --estimate--> Estimate

Everything here is plain Python on arrays: no files, no database, no scheduler.  People come in blocks of 65,536, and
`privatize` stands in `protocol.records.privatization`, since whoever only asks them estimates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import disclosure_control, groups
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.diagnostics import poisoning_sensitivity
from dpcore.estimation.diagnostics.evidence import Evidence
from dpcore.estimation.estimators import Estimator
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate, refused
from dpcore.estimation.registry import named
from dpcore.estimation.requirements import assuming, whatever_the_law
from dpcore.estimation.weighting.raking import Margins, Weights, rake
from dpcore.functionals import Atom, parse
from dpcore.functionals.group import WEIGHTED, Group, OfGroup
from dpcore.protocol import simulation
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.label_sums import members
from dpcore.protocol.records.arrow_columns import as_columns
from dpcore.protocol.records.blocks import People, Table, block_sizes
from dpcore.protocol.records.privatization import privatize, report_blocks
from dpcore.protocol.report import ReportBatch
from dpcore.protocol.scheme import Scheme

if TYPE_CHECKING:
    from dpcore.estimation.joint.joint_estimate import JointEstimate
    from dpcore.estimation.joint.pair_estimates import PairEstimates

__all__ = ["Round", "aggregate", "collect", "estimate", "estimate_all", "joint", "privatize", "run", "simulate"]

Estimate = DensityEstimate | FrequencyEstimate


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupEstimates(OfGroup):
    """What was found of an attribute within one category of another, or of a label.

    estimate: None where the group is too small, for the reason that every functional then has.
    """

    attribute: str
    group: Group
    estimator: str
    estimate: Estimate | None
    functionals: tuple[FunctionalEstimate, ...]


@dataclass(frozen=True, eq=False)
class Round:
    """What one round found: the aggregate, an estimate of each attribute, and their functionals.

    unavailable: attribute -> why no estimate could be made of it.  groups: of each declared pair, then of each label, in the
    categories' order.  withheld: the pairs of which a group has so few reports that their sums are nobody's to see.
    labelled: (attribute, group) of labels -> its own sums, where they may be seen.  margins, weights: of the population, where
    its totals by label are known.  joints: of pairs whose reports have a law of their own, in the scheme's order.
    assumed: the functionals once more, of attributes of which something is assumed, and whether reports contradict it.
    any_law: and of those whose scheme asks for intervals that hold whatever the law.
    """

    aggregate: Aggregate
    estimates: Mapping[str, Estimate]
    functionals: Mapping[str, tuple[FunctionalEstimate, ...]]
    unavailable: Mapping[str, str]
    groups: tuple[GroupEstimates, ...] = ()
    withheld: frozenset[tuple[str, str]] = frozenset()
    labelled: Mapping[tuple[str, Group], Aggregate] = field(default_factory=dict)
    margins: Margins | None = None
    weights: Weights | None = None
    joints: tuple[PairEstimates, ...] = ()
    assumed: Mapping[str, tuple[tuple[FunctionalEstimate, ...], Evidence]] = field(default_factory=dict)
    any_law: Mapping[str, tuple[FunctionalEstimate, ...]] = field(default_factory=dict)


def aggregate(scheme: Scheme, *batches: ReportBatch) -> Aggregate:
    """Return the aggregate of any number of batches of reports."""
    parts = (Aggregate.of(scheme, batch) for batch in batches)
    return reduce(Aggregate.merge, parts) if batches else Aggregate.zero(scheme)


def aggregate_parts(scheme: Scheme, parts: Iterable[ReportBatch]) -> Aggregate:
    """Return the aggregate of one batch that comes in parts, in order; no more than one part is held."""
    total, first = Aggregate.zero(scheme), 0
    for part in parts:
        total = total.add(part, first)
        first += len(part)
    return total


def collect(
    scheme: Scheme,
    people: People,
    clients: int,
    random: Source,
    workers: int = 2,
    progress: Callable[[int], None] | None = None,
) -> Aggregate:
    """Return the aggregate of so many people's reports, block by block in a few threads.

    progress: called with the number of clients done.
    """
    sizes = block_sizes(clients)

    def one(block: int) -> Aggregate:
        run_of_one = range(block, block + 1)
        return aggregate(scheme, *(batch for _, batch in report_blocks(scheme, people, clients, random, run_of_one)))

    total = Aggregate.zero(scheme)
    with ThreadPoolExecutor(workers) as pool:
        for block, part in enumerate(pool.map(one, range(len(sizes)))):
            total = total.merge(part)
            if progress is not None:
                progress(sizes[block])
    return total


def simulate(scheme: Scheme, people: Any, random: Source, clients: int | None = None) -> Aggregate:
    """Return an aggregate drawn from the exact law of `aggregate(privatize(people))`.

    people: a mapping or DataFrame of records, or a population, whose cell probabilities make 10^9 clients cost what 10^5 do.
    Where the scheme has pairs without groups (`pairs` but not `grouped`) reports are made, 65,536 at a time, and cost what they
    cost.  Else none is made, and there are no marginals, whose joint law with the statistics cannot be drawn without.
    clients: how many of a population (default: the scheme's number).  Raises SchemeError unless `reporting = "all"`.
    """
    if getattr(people, "is_dependent", False):  # the exact law given the records, as attributes are not independent
        people = people.records(clients or scheme.clients, random)
    if scheme.pairs == scheme.grouped or scheme.reporting != "all":
        return simulation.simulate(scheme, people, random, clients)
    if hasattr(people, "records_block"):
        return collect(scheme, people, clients or scheme.clients, random)
    if hasattr(people, "cell_probabilities"):
        raise SchemeError("joint counts are drawn of people who have all attributes; give a population or records")
    return collect(scheme, Table(people), len(Table(people)), random)


def estimate(aggregate: Aggregate, attribute: str, estimator: Estimator | None = None, given: str | None = None) -> Any:
    """Return the estimate of an attribute: a DensityEstimate or a FrequencyEstimate.

    estimator: the scheme's own where None.  given: a categorical attribute the scheme pairs it with, or a label; then
    {category: estimate}.  Raises NotEstimable where there are too few reports.
    """
    if attribute not in aggregate.scheme.attributes:
        raise SchemeError(f"the scheme has no attribute {attribute!r}; it has {', '.join(aggregate.scheme.attributes)}")
    if given is not None and given in aggregate.scheme.labels:
        parts = {group: aggregate.within(cells) for group, cells in _cells(aggregate.scheme).items()}
        return {
            group.category: replace(estimate(alone, attribute, estimator), group=group)
            for group, alone in parts.items()
            if group.attribute == given and not alone.is_empty
        }
    if given is not None and (attribute, given) in set(aggregate.scheme.pairs) - set(aggregate.scheme.grouped):
        raise SchemeError(
            f"{attribute} given {given} has no groups, which are of a density that everybody gives, within a question by "
            "randomized_response; what is kept of the two is their joint counts"
        )
    chosen = estimator or named(aggregate.scheme.attributes[attribute])
    plain = chosen.estimate(aggregate, attribute, given)
    if given is None:
        return replace(
            poisoning_sensitivity.exposed(plain, aggregate, attribute), sample=groups.everyone(aggregate, attribute)
        )
    by_category = poisoning_sensitivity.exposed_groups(plain, aggregate, attribute, given)
    samples = groups.groups(aggregate, attribute, given)
    return {category: replace(group, sample=samples.get(category)) for category, group in by_category.items()}


def joint(aggregate: Aggregate, first: str, second: str) -> JointEstimate:
    """Return the estimate of two attributes together, which the scheme pairs, or of two columns that it asks together.

    Raises SchemeError where it does not, NotEstimable where there are too few reports of either.
    """
    from dpcore.estimation.joint.joint_estimate import asked_together, paired  # with scipy, which few rounds need

    for name, attribute in aggregate.scheme.attributes.items():
        if attribute.of and sorted(attribute.of) == sorted((first, second)):
            return asked_together(aggregate, name, first, None if attribute.is_numeric else estimate(aggregate, name))
    return paired(aggregate, first, second, (estimate(aggregate, first), estimate(aggregate, second)))


def estimate_all(
    aggregate: Aggregate, fewest: int = 0, margins: Margins | None = None, *, hide_labels: str = ""
) -> Round:
    """Return every attribute's estimate and functionals; an attribute with too few reports is named in `unavailable`.

    Atoms at a bound are functionals that need not be asked for.
    fewest: reports below which a group is refused, and withheld with it the other groups of its pair, or those of its label,
    that would tell it.  margins: known totals of the population by label, by which everything is estimated once more, weighted.
    hide_labels: why nothing by label may be shown, where that is so.
    """
    estimates: dict[str, Estimate] = {}
    functionals: dict[str, tuple[FunctionalEstimate, ...]] = {}
    assumed: dict[str, tuple[tuple[FunctionalEstimate, ...], Evidence]] = {}
    any_law: dict[str, tuple[FunctionalEstimate, ...]] = {}
    unavailable = {}
    for name, attribute in aggregate.scheme.attributes.items():
        try:
            estimates[name] = estimate(aggregate, name)
        except NotEstimable as error:
            unavailable[name] = str(error)
            continue
        asked = (*map(parse, attribute.functionals), *_atoms(estimates[name]))
        functionals[name] = tuple(estimates[name].functional(functional) for functional in dict.fromkeys(asked))
        if attribute.assume is not None:
            assumed[name] = assuming(attribute, estimates[name])
        if attribute.intervals:
            any_law[name] = whatever_the_law(attribute, estimates[name])
    pairs = aggregate.scheme.grouped
    withheld = frozenset(pair for pair in pairs if groups.is_withheld(aggregate, pair[1], fewest))
    estimated = [group for pair in pairs if pair[0] in estimates for group in _groups(aggregate, *pair, fewest)]
    cells = _cells(aggregate.scheme)
    seen = [] if hide_labels else disclosure_control.seen(aggregate, cells, fewest)
    alone = {group: aggregate.within(cells[group]) for group in dict.fromkeys(group for _, group in seen)}
    labelled = {(name, group): alone[group] for name, group in seen}
    why = hide_labels or f"fewer than {fewest:,} reports are of this group, or would be told by it (min_clients)"
    estimated += [group for name in estimates for group in _label_groups(aggregate, name, labelled, why)]
    held, weights = aggregate.labelled, None
    if margins is not None and held is not None and not hide_labels:
        try:
            weights = rake(held.n, margins)
        except NotEstimable as error:
            whole = Group(WEIGHTED, ",".join(margins.labels))
            estimated += [_found(aggregate.scheme.attributes[name], whole, None, str(error)) for name in estimates]
        else:
            estimated += [_weighted(aggregate, name, margins, weights, labelled, fewest) for name in estimates]
    joints: tuple[PairEstimates, ...] = ()
    if aggregate.scheme.pairs or any(attribute.of for attribute in aggregate.scheme.attributes.values()):
        from dpcore.estimation.joint.pair_estimates import pair_estimates  # with scipy, which few rounds need

        joints = pair_estimates(aggregate, estimates, unavailable, fewest)
    groups_found = tuple(estimated)
    parts = (aggregate, estimates, functionals, unavailable, groups_found, withheld, labelled, margins, weights, joints)
    return Round(*parts, assumed, any_law)


def _groups(aggregate: Aggregate, name: str, other: str, fewest: int) -> Iterator[GroupEstimates]:
    """Estimates of an attribute within each category of another; the categories too rare to tell are refused."""
    attribute = aggregate.scheme.attributes[name]
    reports = groups.reports_by_category(aggregate, other)
    is_withheld = groups.is_withheld(aggregate, other, fewest)
    try:
        by_category = {} if is_withheld else estimate(aggregate, name, given=other)
    except NotEstimable:
        by_category = {}
    for category, sample in groups.groups(aggregate, name, other).items():
        one = by_category.get(category) if reports[category] >= fewest else None
        smallest = min(n for n in reports.values() if n) if is_withheld else reports[category]
        why = groups.refusal(sample, smallest, fewest) if one is None else ""
        yield _found(attribute, Group(other, category), one, why)


def _cells(scheme: Scheme) -> dict[Group, np.ndarray]:
    """The cells of each category of each label."""
    return {
        Group(name, one): members(scheme, name, one)
        for name, label in scheme.labels.items()
        for one in label.categories
    }


def _label_groups(
    aggregate: Aggregate, name: str, seen: Mapping[tuple[str, Group], Aggregate], hidden: str
) -> Iterator[GroupEstimates]:
    """Estimates of an attribute within each category of each label; hidden: why those that may not be seen are refused."""
    attribute, held = aggregate.scheme.attributes[name], aggregate.labelled
    for group, cells in _cells(aggregate.scheme).items():
        one, why = None, hidden
        if (name, group) in seen:
            try:
                one = replace(estimate(seen[name, group], name), group=group)
            except NotEstimable as error:
                why = str(error)
        elif held is not None and not held.n[cells].any():
            why = "no report is of this group"
        yield _found(attribute, group, one, why)


def _weighted(
    aggregate: Aggregate,
    name: str,
    margins: Margins,
    weights: Weights,
    seen: Mapping[tuple[str, Group], Aggregate],
    fewest: int,
) -> GroupEstimates:
    """Estimates of the population, from reports weighted by their labels; refused where the weights would tell few reports."""
    scheme, held = aggregate.scheme, aggregate.labelled
    assert held is not None  # as weights are of its cells
    by = ", ".join(weights.labels)
    cells = {group: mask for group, mask in _cells(scheme).items() if (name, group) in seen}
    one, why = None, ""
    if disclosure_control.tells(held.answered[name], weights.values, cells, fewest):
        why = f"weights by {by} would tell what fewer than {fewest:,} reports say (min_clients); join categories"
    else:
        from dpcore.estimation.weighting.weighted_estimates import (
            estimate_weighted,
        )  # with scipy, which few rounds need

        try:
            if scheme.reporting == "one":
                rake(held.answered[name], margins)  # of those who answered this, too, every category must be there
            one = estimate_weighted(aggregate, name, weights, named(scheme.attributes[name]))
        except NotEstimable as error:
            why = str(error)
    return _found(scheme.attributes[name], Group(WEIGHTED, ",".join(weights.labels)), one, why)


def _found(attribute: Attribute, group: Group, one: Estimate | None, why: str) -> GroupEstimates:
    """What was found of an attribute in a group, or why nothing was."""
    asked = list(dict.fromkeys((*map(parse, attribute.functionals), *_atoms(one))))
    results = tuple(refused(functional, why) if one is None else one.functional(functional) for functional in asked)
    estimator = attribute.estimator if one is None else one.estimator
    return GroupEstimates(attribute=attribute.name, group=group, estimator=estimator, estimate=one, functionals=results)


def _atoms(estimate: Estimate | None) -> list[Atom]:
    """The atoms that an estimate has: nobody asked for them, and without them its density's mass is less than one."""
    if not isinstance(estimate, DensityEstimate):
        return []
    return [Atom(end) for end, mass in zip((estimate.lower, estimate.upper), estimate.atoms, strict=True) if mass > 0]


def run(scheme: Scheme, people: Any, random: Source, clients: int | None = None) -> Round:
    """Return a whole round: people, reports, aggregate, estimates.

    people: a population, or records: columns by name, or a table of pandas, polars, Arrow or DuckDB.
    clients: how many of a population (the scheme's number).
    """
    if hasattr(people, "records_block"):
        return estimate_all(collect(scheme, people, clients or scheme.clients, random))
    table = Table(as_columns(people))
    return estimate_all(collect(scheme, table, len(table), random))
