"""The choice behind `mechanism = "auto"`: the categorical mechanism of the least variance whose report is not too large.

The variance is the closed form's at frequency 0, where all but the commonest categories lie.  The choice is made once, from
the number of categories and epsilon, never from data; the canonical scheme records what was chosen, so that a later version
of this rule changes no scheme that exists.
"""

from __future__ import annotations

from dpcore.errors import SchemeError, check_within
from dpcore.mechanisms.named import CATEGORICAL
from dpcore.mechanisms.oracle import FrequencyOracle
from dpcore.privacy.budget import Budget

LARGEST_REPORT = 256  # integers
TOLERANCE = 0.01  # of variance, given up for a smaller report


def choose(budget: Budget, *, categories: int, largest_report: int = LARGEST_REPORT) -> FrequencyOracle:
    """Return the mechanism with the smallest report among those within 1 % of the least variance.

    categories: k, 2..10,000.  largest_report: integers; mechanisms whose reports are larger are not considered.
    Raises SchemeError where no mechanism can keep the budget.
    """
    check_within(1, 1 << 16, largest_report=largest_report)
    fitting = [oracle for oracle in oracles(budget, categories) if oracle.sizes[0] <= largest_report]
    if not fitting:
        raise SchemeError(
            f"no mechanism keeps epsilon = {budget.text} in reports of at most {largest_report} integers; lower epsilon"
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
