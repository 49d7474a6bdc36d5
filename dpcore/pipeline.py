"""The whole protocol on one page.

    record --privatize--> ReportBatch --aggregate--> Aggregate --estimate--> Estimate

This module works on arrays only: no files, no database, no scheduler.  Respondents come in blocks of 65,536.  `privatize` is in
`protocol.records.blocks`, because a program that only collects reports does not estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import groups
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.diagnostics import poisoning_sensitivity
from dpcore.estimation.diagnostics.evidence import Evidence
from dpcore.estimation.estimators import Estimator
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate, refused
from dpcore.estimation.registry import assuming, named, whatever_the_law
from dpcore.estimation.weighting.raking import Margins, Weights, rake
from dpcore.functionals import Atom, parse
from dpcore.functionals.group import WEIGHTED, Group, OfGroup
from dpcore.protocol import simulation
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.label_sums import members
from dpcore.protocol.records.arrow_columns import as_columns
from dpcore.protocol.records.blocks import People, Table, block_sizes, privatize, report_blocks
from dpcore.protocol.report import ReportBatch
from dpcore.protocol.scheme import Scheme

if TYPE_CHECKING:
    from dpcore.estimation.joint.joint_estimate import JointEstimate
    from dpcore.estimation.joint.pair_estimates import PairEstimates
    from dpcore.estimation.regression.regression import Regression

__all__ = ["Round", "aggregate", "collect", "estimate", "estimate_all", "joint", "privatize", "run", "simulate"]

Estimate = DensityEstimate | FrequencyEstimate


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupEstimates(OfGroup):
    """Estimates of an attribute within one category of another attribute or of a label.

    estimate: None if the group is too small; every functional then has the reason.  reason: why there is none, or ''.
    """

    attribute: str
    group: Group
    estimator: str
    estimate: Estimate | None
    functionals: tuple[FunctionalEstimate, ...]
    reason: str


@dataclass(frozen=True, eq=False)
class Round:
    """The results of one round: the aggregate, an estimate of each attribute, and their functionals.

    unavailable: attribute -> the reason why there is no estimate.  groups: estimates for each declared pair, then for each
    label, in the order of categories.  withheld: pairs with a group of too few reports, whose sums are not shown.
    labelled: (attribute, group) of labels -> the group's aggregate, if it may be shown.  margins, weights: known totals of the
    population by label, and the weights computed from them. joints: estimates of pairs with joint counts, in the scheme's
    order. assumed: functionals under a declared assumption, with the test of that assumption, by attribute. any_law:
    functionals with distribution-free intervals, for attributes whose scheme requests them.
    regressions: those that the scheme declares, by name; the reason if one cannot be estimated.
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
    regressions: Mapping[str, Regression | str] = field(default_factory=dict)


def aggregate(scheme: Scheme, *batches: ReportBatch) -> Aggregate:
    """Return the aggregate of any number of batches of reports."""
    parts = (Aggregate.of(scheme, batch) for batch in batches)
    return reduce(Aggregate.merge, parts) if batches else Aggregate.zero(scheme)


def aggregate_parts(scheme: Scheme, parts: Iterable[ReportBatch]) -> Aggregate:
    """Return the aggregate of one batch that arrives in parts, in order; only one part is in memory at a time."""
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
    """Return the aggregate of the reports of `clients` respondents, block by block in `workers` threads.

    progress: called with the number of finished clients.
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
    """Return an aggregate drawn from the exact distribution of `aggregate(privatize(people))`.

    people: a mapping or DataFrame of records, or a population with cell probabilities, for which 10^9 clients take as long as
    10^5.  If the scheme has pairs without groups (`pairs` but not `grouped`), reports are generated, 65,536 at a time.
    Otherwise no reports are generated, and there are no marginals, because their joint distribution with the statistics needs
    reports. clients: number of clients for a population (default: the scheme's).  Raises SchemeError unless `reporting =
    "all"`.
    """
    if getattr(people, "is_dependent", False):  # draws records first, because the attributes are dependent
        people = people.records(clients or scheme.clients, random)
    if scheme.pairs == scheme.grouped or scheme.reporting != "all":
        return simulation.simulate(scheme, people, random, clients)
    if hasattr(people, "records_block"):
        return collect(scheme, people, clients or scheme.clients, random)
    if hasattr(people, "cell_probabilities"):
        raise SchemeError("joint counts need respondents with all attributes; pass a population or records")
    return collect(scheme, Table(people), len(Table(people)), random)


def estimate(aggregate: Aggregate, attribute: str, estimator: Estimator | None = None, given: str | None = None) -> Any:
    """Return the estimate of an attribute: a DensityEstimate or a FrequencyEstimate.

    estimator: None for the scheme's estimator.  given: a categorical attribute that the scheme pairs with it, or a label; the
    result is then {category: estimate}.  Raises NotEstimable if there are too few reports.
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
            f"{attribute} given {given}: there are no groups, because they need a density that every client reports and a "
            "randomized_response question; use the joint counts of the pair"
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
    """Return the joint estimate of two attributes of a pair, or of the two columns of a joint attribute.

    Raises SchemeError if the scheme has neither, NotEstimable if there are too few reports.
    """
    from dpcore.estimation.joint.joint_estimate import asked_together, paired  # imports scipy, which is slow

    for name, attribute in aggregate.scheme.attributes.items():
        if attribute.of and sorted(attribute.of) == sorted((first, second)):
            return asked_together(aggregate, name, first, None if attribute.is_numeric else estimate(aggregate, name))
    return paired(aggregate, first, second, (estimate(aggregate, first), estimate(aggregate, second)))


def estimate_all(
    aggregate: Aggregate, fewest: int = 0, margins: Margins | None = None, *, hide_labels: str = ""
) -> Round:
    """Return every attribute's estimate and functionals; an attribute with too few reports is named in `unavailable`.

    Point masses at a bound are always among the functionals.
    fewest: groups with fewer reports are refused, together with other groups of the pair or label that would reveal them by
    subtraction.  margins: known totals of the population by label, for additional weighted estimates.  hide_labels: the reason
    why no results by label may be shown, if there is one.
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
    seen = [] if hide_labels else groups.seen(aggregate, cells, fewest)
    alone = {group: aggregate.within(cells[group]) for group in dict.fromkeys(group for _, group in seen)}
    labelled = {(name, group): alone[group] for name, group in seen}
    reason = (
        hide_labels or f"fewer than {fewest:,} reports are in this group, or it would reveal such a group (min_clients)"
    )
    estimated += [group for name in estimates for group in _label_groups(aggregate, name, labelled, reason)]
    by_label, weights = aggregate.labelled, None
    if margins is not None and by_label is not None and not hide_labels:
        try:
            weights = rake(by_label.n, margins)
        except NotEstimable as error:
            whole = Group(WEIGHTED, ",".join(margins.labels))
            estimated += [
                _group_estimates(aggregate.scheme.attributes[name], whole, None, str(error)) for name in estimates
            ]
        else:
            estimated += [_weighted(aggregate, name, margins, weights, labelled, fewest) for name in estimates]
    joints: tuple[PairEstimates, ...] = ()
    if aggregate.scheme.pairs or any(attribute.of for attribute in aggregate.scheme.attributes.values()):
        from dpcore.estimation.joint.pair_estimates import pair_estimates  # imports scipy, which is slow

        joints = pair_estimates(aggregate, estimates, unavailable, fewest)
    by_group = tuple(estimated)
    parts = (aggregate, estimates, functionals, unavailable, by_group, withheld, labelled, margins, weights, joints)
    regressions = _regressions(aggregate, fewest, hide_labels, labelled, weights)
    return Round(*parts, assumed, any_law, regressions)


def _regressions(
    aggregate: Aggregate, fewest: int, hidden: str, seen: Collection[tuple[str, Group]], weights: Weights | None
) -> dict[str, Regression | str]:
    """The regressions of the scheme; hidden: why nothing by label may be shown, or ''.

    seen: attributes and groups that are shown.  Their sums, and those of the regressions, must not reveal too few reports.
    """
    if hidden or aggregate.labelled is None:
        return dict.fromkeys(aggregate.scheme.regressions, hidden)
    fitted: dict[str, Regression | str] = {}
    cells = _cells(aggregate.scheme)
    shown = {name: [cells[group] for own, group in seen if own == name] for name in aggregate.scheme.attributes}
    for name, asked in aggregate.scheme.regressions.items():
        from dpcore.estimation.regression.regression import regress  # takes 20 ms, and few schemes have regressions

        try:
            one = regress(aggregate, asked.formula, reference=asked.reference, fewest=max(fewest, 1))
        except NotEstimable as error:
            fitted[name] = str(error)
            continue
        sums = [*shown[one.outcome], *(one.cells == cell for cell in np.unique(one.cells))]
        weighted = [] if weights is None else [weights.values]
        if groups.are_disclosive(aggregate.labelled.answered[one.outcome], sums + weighted, fewest):
            fitted[name] = f"with other results by label it would reveal fewer than {fewest:,} reports (min_clients)"
        else:
            fitted[name], shown[one.outcome] = one, sums
    return fitted


def _groups(aggregate: Aggregate, name: str, other: str, fewest: int) -> Iterator[GroupEstimates]:
    """Yield estimates of an attribute within each category of another; categories with too few reports are refused."""
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
        reason = groups.refusal(sample, smallest, fewest) if one is None else ""
        yield _group_estimates(attribute, Group(other, category), one, reason)


def _cells(scheme: Scheme) -> dict[Group, np.ndarray]:
    """Return the cells of each category of each label."""
    return {
        Group(name, one): members(scheme, name, one)
        for name, label in scheme.labels.items()
        for one in label.categories
    }


def _label_groups(
    aggregate: Aggregate, name: str, seen: Mapping[tuple[str, Group], Aggregate], hidden: str
) -> Iterator[GroupEstimates]:
    """Yield estimates of an attribute within each category of each label; hidden: the reason for groups that are not shown."""
    attribute, by_label = aggregate.scheme.attributes[name], aggregate.labelled
    for group, cells in _cells(aggregate.scheme).items():
        one, reason = None, hidden
        if (name, group) in seen:
            try:
                one = replace(estimate(seen[name, group], name), group=group)
            except NotEstimable as error:
                reason = str(error)
        elif by_label is not None and not by_label.n[cells].any():
            reason = "this group has no reports"
        yield _group_estimates(attribute, group, one, reason)


def _weighted(
    aggregate: Aggregate,
    name: str,
    margins: Margins,
    weights: Weights,
    seen: Mapping[tuple[str, Group], Aggregate],
    fewest: int,
) -> GroupEstimates:
    """Return estimates weighted to the population by labels; refused if the weights would reveal too few reports."""
    scheme, by_label = aggregate.scheme, aggregate.labelled
    assert by_label is not None  # the weights are for its cells
    by = ", ".join(weights.labels)
    cells = {group: mask for group, mask in _cells(scheme).items() if (name, group) in seen}
    one, reason = None, ""
    if groups.is_disclosive(by_label.answered[name], weights.values, cells, fewest):
        reason = (
            f"weights by {by} would reveal a group of fewer than {fewest:,} reports (min_clients); merge categories"
        )
    else:
        from dpcore.estimation.weighting.weighted_estimates import (
            estimate_weighted,
        )  # imports scipy, which is slow

        try:
            if scheme.reporting == "one":
                rake(by_label.answered[name], margins)  # raises if those who answered this lack a category
            one = estimate_weighted(aggregate, name, weights, named(scheme.attributes[name]))
        except NotEstimable as error:
            reason = str(error)
    return _group_estimates(scheme.attributes[name], Group(WEIGHTED, ",".join(weights.labels)), one, reason)


def _group_estimates(attribute: Attribute, group: Group, one: Estimate | None, reason: str) -> GroupEstimates:
    """Return the estimates of an attribute in a group, or the reason why there are none."""
    requested = list(dict.fromkeys((*map(parse, attribute.functionals), *_atoms(one))))
    results = tuple(
        refused(functional, reason) if one is None else one.functional(functional) for functional in requested
    )
    estimator = attribute.estimator if one is None else one.estimator
    return GroupEstimates(
        attribute=attribute.name,
        group=group,
        estimator=estimator,
        estimate=one,
        functionals=results,
        reason="" if one is not None else reason,
    )


def _atoms(estimate: Estimate | None) -> list[Atom]:
    """Return the point masses of an estimate, without which its density does not integrate to one."""
    if not isinstance(estimate, DensityEstimate):
        return []
    return [Atom(end) for end, mass in zip((estimate.lower, estimate.upper), estimate.atoms, strict=True) if mass > 0]


def run(scheme: Scheme, people: Any, random: Source, clients: int | None = None) -> Round:
    """Run a whole round: respondents, reports, aggregate, estimates.

    people: a population, or records: columns by name, or a table of pandas, polars, Arrow or DuckDB.
    clients: number of clients for a population (default: the scheme's).
    """
    if hasattr(people, "records_block"):
        return estimate_all(collect(scheme, people, clients or scheme.clients, random))
    table = Table(as_columns(people))
    return estimate_all(collect(scheme, table, len(table), random))
