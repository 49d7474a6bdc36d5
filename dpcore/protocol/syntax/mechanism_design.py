"""The design of an attribute's mechanism from its options, and the rule of `mechanism = "auto"`.

A canonical text contains designed mechanisms as integers, so clients do not import this module.

For categories the rule selects the mechanism of least variance whose report is not too large, by the closed form at frequency
0, where all but the commonest categories lie; for support points the one with the least expected error for the planned clients.
The rule is applied once, never to data; the canonical scheme records the selected mechanism, so that a later version of this
rule does not change an existing scheme.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore.errors import SchemeError
from dpcore.mechanisms.base import Mechanism
from dpcore.mechanisms.categorical.frequency_oracle import MOST_CATEGORIES, FrequencyOracle
from dpcore.mechanisms.fisher_information import SeenThrough, room_for, spread
from dpcore.mechanisms.numeric.dyadic_wave import DyadicWave
from dpcore.mechanisms.registry import CATEGORICAL
from dpcore.privacy.budget import Budget

LARGEST_REPORT = 256  # integers
TOLERANCE = 0.01  # of variance, given up for a smaller report
_ROUGH, _SMOOTH = 0.5, 2.0  # of the log law that a forecast believes in: each point by itself, and over the whole range
_NEAR = 0.1  # largest relative increase of the error for which proportions estimated without a prior are preferred


def choose(budget: Budget, *, categories: int) -> FrequencyOracle:
    """Return the mechanism with the smallest report among those within 1 % of the least variance.

    categories: k, 2..10,000.  Mechanisms whose reports have more than 256 integers are not considered.
    Raises SchemeError where no mechanism can keep the budget.
    """
    if categories > MOST_CATEGORIES:
        raise SchemeError(
            f'categories must be at most {MOST_CATEGORIES:,}, got {categories:,}; join rare ones, such as under "other"'
        )
    fitting = [oracle for oracle in oracles(budget, categories) if oracle.sizes[0] <= LARGEST_REPORT]
    if not fitting:
        raise SchemeError(
            f"no mechanism keeps epsilon = {budget.text} in reports of at most {LARGEST_REPORT} integers; lower epsilon"
        )
    least = min(oracle.variance(0.0, 1) for oracle in fitting)
    near = [oracle for oracle in fitting if oracle.variance(0.0, 1) <= (1 + TOLERANCE) * least]
    return min(near, key=lambda oracle: oracle.sizes[0])  # among equals the first, the simplest


def oracles(budget: Budget, categories: int) -> list[FrequencyOracle]:
    """Return every frequency oracle that can keep `budget`, the simplest first, each with its best parameters."""
    designed: list[FrequencyOracle] = []
    for kind in CATEGORICAL.values():
        if not issubclass(kind, FrequencyOracle):  # its variance depends on the category
            continue
        try:
            designed.append(kind.design(budget, categories=categories))
        except SchemeError:  # epsilon too large for this mechanism's weights
            continue
    return designed


def choose_for_points(budget: Budget, *, points: int, clients: int, is_silent: bool = False) -> Mechanism:
    """Return the mechanism with the least expected error for that number of points and clients.

    A dyadic wave or the frequency oracle that categories would get; within a tenth the oracle.
    is_silent: whether nonresponse is an answer.  Raises SchemeError if neither keeps the budget.
    """
    oracle = choose(budget, categories=points + is_silent)
    wave = DyadicWave.design(budget, points=room_for(points, is_silent))
    of_oracle, of_wave = (forecast(mechanism, points, clients, is_silent) for mechanism in (oracle, wave))
    return oracle if of_oracle <= (1 + _NEAR) * of_wave else wave


def forecast(mechanism: Mechanism, points: int, clients: int, is_silent: bool = False) -> float:
    """Return the expected error of the distribution function, its mean over the points: a proportion of the respondents.

    Model: a distribution near the uniform, whose logarithm is a random walk of standard deviation 2 over the range with
    independent deviations of .5 at each point; normal errors: E |e| = sqrt(2 / pi) sd.
    """
    k = points + is_silent
    law, at = np.full(k, 1 / k), np.arange(1, k + 1) / k
    information = SeenThrough(mechanism.model(), spread(points, mechanism.inputs, is_silent)).expected(law, clients)
    centred = np.eye(k) - 1 / k
    belief = centred @ (_SMOOTH**2 * np.minimum.outer(at, at) + _ROUGH**2 * np.eye(k)) @ centred / k**2
    left = np.linalg.solve(np.eye(k) + belief @ information, belief)
    variances = np.diagonal(np.cumsum(np.cumsum(left, axis=0), axis=1))
    return float(np.sqrt(2 / np.pi) * np.sqrt(np.maximum(variances, 0.0)).mean())


def design(kind: Any, budget: Budget | None, sizes: Mapping[str, int], options: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism of a class with the options, or a chosen mechanism if `kind` is None.

    budget: None if the epsilon is computed from a stated channel.
    sizes: 'categories', the number of answers; for numbers 'clients' (planned) and 'points' (input cells needed); 'values', the
    number of support points.
    """
    if kind is not None:
        mechanism: Mechanism = kind.design(budget, **{key: sizes[key] for key in kind.declared.scheme_facts}, **options)
        return mechanism
    assert budget is not None  # `keys` requires an epsilon unless a channel is stated
    if "values" in sizes:
        return choose_for_points(
            budget, points=sizes["values"], clients=sizes["clients"], is_silent=sizes["categories"] > sizes["values"]
        )
    return choose(budget, categories=sizes["categories"])
