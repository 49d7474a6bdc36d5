"""Two rounds of one number: the first asks where values lie, the second other people on which side of a value theirs is.

The second round's threshold is the first round's estimate of a quantile.  One bit estimates a share three times as well
as a curve does.  By randomized response its variance is at most (E + 1)^2 / (4 (E - 1)^2 n), E = e^epsilon;
at epsilon 1 that is 1.17 / n.

Both are read at once.  A question by ranges is one more level of the first round's channel: an input cell has the weights
of its range's answers or, where an edge parts it, of both in the parts of its width.  The log-spline is fitted to the counts
of all levels, and its one-step correction weighs them by their information, as inverse variances would for one number; but it
takes no density at the threshold for known, and the threshold need not be near the quantile.  Curve, mean and every other
number are of both rounds, too.  No report is counted twice, so the multinomial errors of the levels are independent.

The threshold depends on the first round's noise.  Given the first round it is a constant, and the second round's likelihood is
what it would have been had it been chosen beforehand; so the likelihoods multiply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, log10
from typing import Any

import numpy as np

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation import constants
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.estimators import LogSpline
from dpcore.estimation.functional_estimate import TWO_ROUNDS, FunctionalEstimate
from dpcore.functionals import Cdf
from dpcore.mechanisms.observation_model import FiniteChannel, Listed, ScoreSums


def combine(first: Any, second: Any, attribute: str) -> DensityEstimate:
    """Return the density of a number from the aggregates of two rounds of one population with different clients.

    first: of a scheme in which `attribute` is a number observed through a finite channel, such as a wave, and estimated by
    log_spline.  second: of one that asks its column by `bins` and randomized_response (`ldpflow scheme --from` makes one).
    A client in both rounds spends both epsilons, and counts twice.
    Raises SchemeError for other schemes, NotEstimable if either has no report.
    """
    described = asked(first.scheme, attribute)
    questions = questions_of(described, second.scheme)
    parts = [(first, attribute), *((second, name) for name in questions)]
    if not all(aggregate.reports(name) for aggregate, name in parts):
        raise NotEstimable(f"of {attribute} one of the two rounds has no report; collect some first")
    levels = [*described.mechanism.model().levels, *(_level(described, second.scheme.attributes[n]) for n in questions)]
    counts = np.concatenate([aggregate.statistics[name] for aggregate, name in parts])
    channel = FiniteChannel(tuple(levels), np.full(len(levels), 1 / len(levels)))  # counts say how many each level has
    return replace(LogSpline().through(described, channel, counts), estimator=TWO_ROUNDS)


def asked(scheme: Any, name: str) -> Any:
    """Return the attribute of a first round that a second can follow; raises SchemeError for any other."""
    if name not in scheme.attributes:
        raise SchemeError(f"scheme {scheme.name} has no attribute {name!r}; it has {', '.join(scheme.attributes)}")
    attribute = scheme.attributes[name]
    if not attribute.has_density:
        raise SchemeError(f"{name} has no quantile that a second round could look for: it is no number with a density")
    is_read = isinstance(attribute.mechanism.model(), FiniteChannel) and attribute.estimator == LogSpline.name
    if not is_read or attribute.missing == "category":
        raise SchemeError(
            f"{name} cannot be followed by a second round: that is read beside a wave, by log_spline, of people who all "
            f"answer; it has {attribute.mechanism.name} and {attribute.estimator}"
        )
    return attribute


def questions_of(attribute: Any, scheme: Any) -> list[str]:
    """Return the attributes of a second round's scheme that ask a number by ranges; raises SchemeError if there is none."""
    names = [
        name
        for name, other in scheme.attributes.items()
        if other.bins is not None and other.column == attribute.column and other.missing != "category"
    ]
    for name in names:
        model = scheme.attributes[name].mechanism.model()
        if not (isinstance(model, ScoreSums) and model.is_one_category):
            raise SchemeError(
                f"{name} has {scheme.attributes[name].mechanism.name}; a second round asks by randomized_response"
            )
    if not names:
        raise SchemeError(
            f"scheme {scheme.name} asks nobody for ranges (bins) of {attribute.column}, the column of {attribute.name}; "
            "make one with ldpflow scheme --from"
        )
    return names


def threshold(estimate: FunctionalEstimate) -> Fraction:
    """Return the roundest number within a quarter of a standard error of an estimate, as a threshold for a second round.

    >>> str(threshold(FunctionalEstimate(functional="quantile(0.5)", value=9234.5, standard_error=98.0, low=9042.0,
    ...     high=9426.0, confidence=0.95, plug_in=9200.0, kind="smooth")))
    '9250'
    """
    if estimate.value is None or estimate.standard_error is None:
        raise NotEstimable(f"{estimate.functional} has no estimate in the first round: {estimate.reason}")
    value, reach = (
        Fraction(estimate.value),
        Fraction(max(estimate.standard_error, 1e-12)) * Fraction(constants.ROUND_NUMBER_ERRORS),
    )
    power = ceil(log10(max(abs(estimate.value), estimate.standard_error, 1e-9)))
    while True:
        step = Fraction(10) ** power
        for unit in (step, step / 2, step / 5):
            nearest = floor(value / unit + Fraction(1, 2)) * unit
            if abs(nearest - value) <= reach:
                return nearest
        power -= 1


def _level(attribute: Any, question: Any) -> Listed:
    """A question by ranges as a level of the attribute's channel: the weights of the answers for each input cell."""
    (weights,) = question.mechanism.channel()
    parts = _shares(attribute, question.bins)
    return Listed(parts @ weights.astype(np.int64))


def _shares(attribute: Any, edges: Sequence[Fraction]) -> np.ndarray:
    """Share of each input cell's width in each range, (inputs, ranges), in parts of 2^16."""
    inputs = attribute.mechanism.model().inputs
    places = [(float(edge) - float(attribute.lower)) / float(attribute.upper - attribute.lower) for edge in edges]
    below = np.clip(np.array(places)[None, :] * inputs - np.arange(inputs)[:, None], 0.0, 1.0)
    whole = np.rint(np.hstack([np.zeros((inputs, 1)), below, np.ones((inputs, 1))]) * constants.CELL_PARTS).astype(
        np.int64
    )
    return np.diff(whole, axis=1)


def deviations(first: DensityEstimate, second: Any, name: str) -> list[float]:
    """Return the differences of two rounds' proportions below each edge, in standard errors: about 1 for one population.

    first: the density of the first round alone.  second: the aggregate with the question, `name`.
    """
    question, counts = second.scheme.attributes[name], second.statistics[name]
    model, n = question.mechanism.model(), second.reports(name)
    reported, shares = (np.cumsum(part)[:-1] for part in (counts / n, model.frequencies(counts, n)))
    errors = np.sqrt(reported * (1 - reported) / n) / float(model.contrast)
    differences = []
    for edge, share, error in zip(question.bins, shares, errors, strict=True):
        before = first.functional(Cdf(float(edge)))
        if before.value is not None and before.standard_error is not None:
            differences.append(abs(share - before.value) / float(np.hypot(error, before.standard_error)))
    return differences
