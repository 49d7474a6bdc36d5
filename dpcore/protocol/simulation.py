"""Draw an aggregate from its exact law, without making a single report.

Given what is said of the paired categories, everything else is independent, so the order is: draw how many say what, then
for each such combination draw the other attributes' statistics from a histogram of input cells.  The cost depends on the
number of cells, not of clients.
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

# What is said of the paired categories, by how many clients, and the histogram of an attribute's input cells among them.
Said = tuple[tuple[int, ...], int, Callable[[str], np.ndarray]]


def simulate(scheme: Scheme, people: Any, random: Source, clients: int | None = None) -> Aggregate:
    """Return an aggregate drawn from the exact law of `aggregate(privatize(people))`.

    It has no marginals, whose joint law with the statistics cannot be drawn without making reports.

    people: a mapping or DataFrame of records, or a population, whose cell probabilities make 10^9 clients cost what 10^5 do.
    clients: how many of a population (default: the scheme's number).  Raises SchemeError unless `reporting = "all"`.
    """
    if scheme.reporting != "all":
        raise SchemeError('simulate needs reporting = "all", got "one"; use privatize and aggregate')
    if scheme.pairs != scheme.grouped:
        raise SchemeError("joint counts have no law that is drawn from without reports; use privatize and aggregate")
    paired = [name for name in scheme.attributes if any(name == categorical for _, categorical in scheme.pairs)]
    paired += scheme.labels  # what is said of them is what is true
    if hasattr(people, "cell_probabilities"):
        groups = _said_by_population(scheme, people, clients or scheme.clients, paired, random)
    else:
        groups = _said_by_records(scheme, scheme.encode(people), paired, random)
    return _draw(scheme, groups, paired, random)


def _draw(scheme: Scheme, groups: Iterator[Said], paired: list[str], random: Source) -> Aggregate:
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
    """The statistics of so many reports that name one category."""
    counts = np.zeros(scheme.attributes[name].mechanism.inputs, dtype=np.int64)
    counts[category] = size
    return counts


def _said_by_records(
    scheme: Scheme, cells: Mapping[str, np.ndarray], paired: list[str], random: Source
) -> Iterator[Said]:
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
            return np.bincount(cells[name][members], minlength=scheme.attributes[name].mechanism.inputs)

        yield combination, int(members.sum()), histogram


def _said_by_population(
    scheme: Scheme, population: Any, clients: int, paired: list[str], random: Source
) -> Iterator[Said]:
    """Within a category of the population's group attribute, all attributes are independent."""
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
                return generator.multinomial(size, laws[name])

            yield combination, int(size), histogram


def cell_law(attribute: Attribute, people: Any, given: str | None = None) -> np.ndarray:
    """Return the probabilities of an attribute's input cells among people, or a group of them, shape (inputs,)."""
    law = np.zeros(attribute.mechanism.inputs)
    if attribute.has_density:
        bounds, cells = (float(attribute.lower), float(attribute.upper)), len(attribute.cells)
        answers = people.cell_probabilities(attribute.name, *bounds, cells - len(attribute.categories), given=given)
        law[attribute.cells] = _with_nonresponse(attribute, people, answers, cells)
    else:
        law[attribute.cells] = category_law(attribute, people, given)
    return law


def category_law(attribute: Attribute, people: Any, given: str | None = None) -> np.ndarray:
    """Return the probabilities of an attribute's categories or points, shape (k,), the share without an answer last.

    A point has whom it is the nearest to: cells of half the points' common step are its own up to the middle between points.
    Raises SchemeError where that makes too many cells.
    """
    if attribute.sides:
        return together(attribute, people, given).ravel()
    if attribute.bins is not None:
        law = np.asarray(
            people.range_probabilities(attribute.name, [float(edge) for edge in attribute.bins], given=given)
        )
        return _with_nonresponse(attribute, people, law, len(attribute.categories))
    if not attribute.is_numeric:
        return np.asarray(people.probabilities(attribute.name, attribute.categories, given=given))
    points = attribute.points or ()
    gaps = [above - below for below, above in pairwise(points)]
    whole = lcm(*(gap.denominator for gap in gaps))
    common = Fraction(gcd(*(int(gap * whole) for gap in gaps)), whole)
    cells = int(2 * (attribute.upper - attribute.lower) / common)
    if cells > _MOST_CELLS:
        raise SchemeError(
            f"values of {attribute.name} have no common step to simulate people on; take rounder ones, or give records"
        )
    ends = [int((below + above - 2 * attribute.lower) / common) for below, above in pairwise(points)]
    masses = people.cell_probabilities(
        attribute.name, float(attribute.lower), float(attribute.upper), cells, given=given
    )
    law = np.add.reduceat(np.asarray(masses), [0, *ends])
    return _with_nonresponse(attribute, people, law, len(attribute.categories))


def _with_nonresponse(attribute: Attribute, people: Any, law: np.ndarray, size: int) -> np.ndarray:
    """The law of the answers followed by the share without one, where the attribute has a category for it."""
    silent = getattr(people, "nonresponse", {}).get(attribute.name, 0.0) if attribute.missing == "category" else 0.0
    rest = np.zeros(size - len(law))
    rest[:1] = silent
    return np.append(law * (1 - silent), rest)


def together(attribute: Attribute, people: Any, given: str | None = None) -> np.ndarray:
    """Return the joint law of two columns that are asked together, (k_1, k_2); within a group they are independent."""
    if hasattr(people, "joint_probabilities"):
        return np.asarray(people.joint_probabilities(attribute, given))
    laws = (
        share * np.outer(*(cell_law(side, people, group) for side in attribute.sides))
        for group, share in people.shares(given).items()
    )
    return np.sum(list(laws), axis=0)


def _answer_law(scheme: Scheme, name: str, law: np.ndarray) -> np.ndarray:
    """The probabilities of what is said, from those of what is true."""
    if name in scheme.labels:
        return law
    model = scheme.attributes[name].mechanism.model()
    assert isinstance(model, ScoreSums | FiniteChannel)  # as of every mechanism that declares to name one category
    return model.means(law) if isinstance(model, ScoreSums) else model.probabilities(law)
