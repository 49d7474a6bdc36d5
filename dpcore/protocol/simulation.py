"""Draw an aggregate from its exact distribution, without generating reports.

Conditional on the reported categories of paired attributes, all other attributes are independent.  So the number of clients
of each combination of reported categories is drawn first, then the other attributes' statistics from a histogram of input
cells.  The cost depends on the number of cells, not of clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product
from math import gcd, lcm
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import SchemeError
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain.label import shape
from dpcore.protocol.scheme import Scheme

_MOST_CELLS = 1 << 16

# The reported categories of paired attributes, the number of clients, and the histogram of their input cells of an attribute.
Group = tuple[tuple[int, ...], int, Callable[[str], np.ndarray]]


def simulate(scheme: Scheme, people: Any, random: Source, clients: int | None = None) -> Aggregate:
    """Return an aggregate drawn from the exact distribution of `aggregate(privatize(people))`.

    It has no marginals: their joint distribution with the statistics cannot be drawn without generating reports.

    people: a mapping or DataFrame of records, or a population; a population of 10^9 clients costs as much as one of 10^5.
    clients: number of clients of a population (default: the scheme's).  Raises SchemeError unless `reporting = "all"`.
    """
    if scheme.reporting != "all":
        raise SchemeError('simulate: needs reporting = "all", got "one"; use privatize and aggregate')
    if scheme.pairs != scheme.grouped:
        raise SchemeError("simulate: cannot draw joint counts of two attributes; use privatize and aggregate")
    paired = [name for name in scheme.attributes if any(name == categorical for _, categorical in scheme.pairs)]
    paired += scheme.labels  # reported without noise
    if hasattr(people, "cell_probabilities"):
        groups = _groups_of_population(scheme, people, clients or scheme.clients, paired, random)
    else:
        groups = _groups_of_records(scheme, scheme.encode(people), paired, random)
    return _draw(scheme, groups, paired, random)


def _draw(scheme: Scheme, groups: Iterator[Group], paired: list[str], random: Source) -> Aggregate:
    zero = Aggregate.zero(scheme)
    statistics, pairs, labelled, n = dict(zero.statistics), dict(zero.pairs), zero.labelled, 0
    answers = len(paired) - len(scheme.labels)
    for combination, size, histogram in groups:
        n += size
        cell = np.ravel_multi_index(combination[answers:], shape(scheme.labels)) if labelled is not None else 0
        drawn = {
            name: _one(scheme, name, category, size)
            for name, category in zip(paired[:answers], combination, strict=False)
        }
        for name, attribute in scheme.attributes.items():
            if name not in paired and size:
                drawn[name] = attribute.mechanism.simulate(histogram(name), random)
        for name, added in drawn.items():
            statistics[name] += added
            if labelled is not None:
                labelled.statistics[name][cell] += added
            for numeric, categorical in scheme.pairs:
                if numeric == name:
                    category = combination[paired.index(categorical)]
                    pairs[numeric, categorical][category] += added
                    if labelled is not None:
                        labelled.pairs[numeric, categorical][cell, category] += added
        if labelled is not None:
            for count in (labelled.n, *labelled.answered.values()):
                count[cell] += size
    return Aggregate(scheme, n, statistics, pairs, dict.fromkeys(scheme.attributes, n), labelled=labelled)


def _one(scheme: Scheme, name: str, category: int, size: int) -> np.ndarray:
    """The statistics of `size` reports that name one category."""
    counts = np.zeros(scheme.attributes[name].mechanism.inputs, dtype=np.int64)
    counts[category] = size
    return counts


def _groups_of_records(
    scheme: Scheme, cells: Mapping[str, np.ndarray], paired: list[str], random: Source
) -> Iterator[Group]:
    n = len(next(iter(cells.values())))
    answers = [
        cells[name]
        if name in scheme.labels
        else scheme.attributes[name].mechanism.privatize(cells[name], random).values
        for name in paired
    ]
    for combination in product(*(range(scheme.reported[name].mechanism.inputs) for name in paired)):
        members = np.ones(n, dtype=bool)
        for answer, category in zip(answers, combination, strict=True):
            members &= answer == category

        def histogram(name: str, members: np.ndarray = members) -> np.ndarray:
            own = cells[name][members]
            if scheme.attributes[name].is_open:
                return counted(*np.unique(own, return_counts=True))
            return np.bincount(own, minlength=scheme.attributes[name].mechanism.inputs)

        yield combination, int(members.sum()), histogram


def _groups_of_population(
    scheme: Scheme, population: Any, clients: int, paired: list[str], random: Source
) -> Iterator[Group]:
    """Draw the groups of a population, whose attributes are independent within a category of its group attribute."""
    generator = random.generator()
    groups = list(population.weights)
    sizes = generator.multinomial(clients, [population.weights[group] for group in groups])
    for group, group_size in zip(groups, sizes, strict=True):
        laws = {name: cell_law(attribute, population, group) for name, attribute in scheme.reported.items()}
        answers = [_answer_law(scheme, name, laws[name]) for name in paired]
        joint = reduce(np.multiply.outer, answers, np.ones(()))
        counts = generator.multinomial(group_size, joint.ravel() / joint.sum()).reshape(joint.shape)
        for combination, size in np.ndenumerate(counts):

            def histogram(name: str, size: int = int(size), laws: Mapping[str, np.ndarray] = laws) -> np.ndarray:
                law = laws[name]
                if law.dtype.names:
                    return counted(law["text"], generator.multinomial(size, law["share"]))
                return generator.multinomial(size, law)

            yield combination, int(size), histogram


def cell_law(attribute: Attribute, people: Any, condition: str | None = None) -> np.ndarray:
    """Return the probabilities of an attribute's input cells in a population or one of its groups, shape (inputs,).

    Of open answers: records of a `text` and its `share`.
    """
    if attribute.is_open:
        return _records("share", *people.text_shares(attribute, condition))
    law = np.zeros(attribute.mechanism.inputs)
    if attribute.has_density:
        bounds, cells = (float(attribute.lower), float(attribute.upper)), len(attribute.cells)
        answers = people.cell_probabilities(attribute.name, *bounds, cells - len(attribute.categories), condition)
        law[attribute.cells] = _with_nonresponse(attribute, people, answers, cells)
    else:
        law[attribute.cells] = category_law(attribute, people, condition)
    return law


def counted(texts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return records of a `text` and its `count`, as `TextHashing.simulate` takes them."""
    return _records("count", texts, counts)


def _records(name: str, texts: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Records of a text and a number of this name."""
    records = np.empty(len(texts), dtype=[("text", texts.dtype), (name, numbers.dtype)])
    records["text"], records[name] = texts, numbers
    return records


def category_law(attribute: Attribute, people: Any, condition: str | None = None) -> np.ndarray:
    """Return the probabilities of an attribute's categories, sets or support points, shape (k,), nonresponse last.

    Every value belongs to the nearest support point.  The probabilities are sums over cells of half the points' common step,
    so that the midpoints between support points are bounds of cells.  Raises SchemeError for more than 65,536 cells.
    """
    if attribute.sides:
        return together(attribute, people, condition).ravel()
    if attribute.bins is not None:
        law = np.asarray(
            people.range_probabilities(attribute.name, [float(edge) for edge in attribute.bins], condition)
        )
        return _with_nonresponse(attribute, people, law, len(attribute.categories))
    if not attribute.is_numeric:
        return np.asarray(people.probabilities(attribute.name, attribute.answers, condition))
    points = attribute.points or ()
    gaps = [above - below for below, above in pairwise(points)]
    whole = lcm(*(gap.denominator for gap in gaps))
    common = Fraction(gcd(*(int(gap * whole) for gap in gaps)), whole)
    cells = int(2 * (attribute.upper - attribute.lower) / common)
    if cells > _MOST_CELLS:
        raise SchemeError(
            f"attribute {attribute.name!r}: values have no common step, so that their population cannot be simulated; "
            "round the values, or pass records"
        )
    ends = [int((below + above - 2 * attribute.lower) / common) for below, above in pairwise(points)]
    masses = people.cell_probabilities(attribute.name, float(attribute.lower), float(attribute.upper), cells, condition)
    law = np.add.reduceat(np.asarray(masses), [0, *ends])
    return _with_nonresponse(attribute, people, law, len(attribute.categories))


def _with_nonresponse(attribute: Attribute, people: Any, law: np.ndarray, size: int) -> np.ndarray:
    """The distribution of the answers followed by the nonresponse share, if the attribute has a category for it."""
    silent = getattr(people, "nonresponse", {}).get(attribute.name, 0.0) if attribute.missing == "category" else 0.0
    rest = np.zeros(size - len(law))
    rest[:1] = silent
    return np.append(law * (1 - silent), rest)


def together(attribute: Attribute, people: Any, condition: str | None = None) -> np.ndarray:
    """Return the distribution of a joint attribute, (k_1, k_2); columns are independent within a group of the population."""
    if hasattr(people, "joint_probabilities"):
        return np.asarray(people.joint_probabilities(attribute, condition))
    laws = (
        share * np.outer(*(cell_law(side, people, group) for side in attribute.sides))
        for group, share in people.shares(condition).items()
    )
    return np.sum(list(laws), axis=0)


def _answer_law(scheme: Scheme, name: str, law: np.ndarray) -> np.ndarray:
    """The probabilities of reported categories, from those of true categories."""
    if name in scheme.labels:
        return law
    model = scheme.attributes[name].mechanism.model()
    assert isinstance(model, ScoreSums | FiniteChannel)  # every mechanism whose reports name one category
    return model.means(law) if isinstance(model, ScoreSums) else model.probabilities(law)
