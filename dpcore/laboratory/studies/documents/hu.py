"""The three queries of [HuOverview] on a consumer-expenditure sample, and its two implications, as tables.

How many units are rural, what is their mean income, what is their mean quarterly expenditure: with sensitivity, noise and
answer under a trusted curator, and asked locally beside them, where a report's own range is the sensitivity and noise is
sqrt(n) times worse. The sample is of the simulated households of the scheme `consumer_expenditure`, whose attributes are the
document's.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

from dpcore import pipeline
from dpcore._random import Source
from dpcore.functionals import Mean as MeanOfDensity
from dpcore.laboratory.central.laplace_mechanism import LaplaceMechanism
from dpcore.laboratory.central.queries import Count, Mean, Query
from dpcore.populations import consumer_expenditure
from dpcore.populations.registry import EXPENDITURE_UPPER, INCOME_UPPER
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme

QUERIES = ("rural units", "mean income", "mean expenditure")


def three_queries(n: int, epsilon: str, random: Source) -> pd.DataFrame:
    """Return one row a query: query, truth, sensitivity, noise_scale, noise, answer, local_answer, local_standard_error.

    n: households in the sample.  epsilon: of each query, as `Budget.parse` reads it; the local answers spend as much on each.
    truth, answers and noise are in units or in USD; the sensitivity is 1 for the count, (b - a) / n for the means.
    """
    budget = Budget.parse(epsilon)
    records = consumer_expenditure().records(n, random.spawn(0))
    columns, queries = _columns(records), _queries()
    local = _local(records, n, epsilon, random.spawn(1))
    rows = []
    for i, (name, query, column) in enumerate(zip(QUERIES, queries, columns, strict=True)):
        answer = LaplaceMechanism.design(budget, query).release(column, random.spawn(2, i))
        truth = float(column.sum() if isinstance(query, Count) else column.mean())
        value, scale = float(answer.values[0]), float(answer.noise_scale[0])
        rows.append((name, truth, float(_sensitivity(query, n)), scale, value - truth, value, *local[name]))
    names = "query truth sensitivity noise_scale noise answer local_answer local_standard_error"
    return pd.DataFrame(rows, columns=names.split())


def noise_against_sensitivity(n: int, epsilon: str) -> pd.DataFrame:
    """Return the first implication, at one budget: query, sensitivity, noise_scale; the scale is in proportion."""
    budget = Budget.parse(epsilon)
    rows = [(name, *_scale(query, n, budget)) for name, query in zip(QUERIES, _queries(), strict=True)]
    return pd.DataFrame(rows, columns=["query", "sensitivity", "noise_scale"])


def noise_against_budget(n: int, epsilons: Sequence[str] = ("0.1", "0.2", "0.5", "1", "2", "5")) -> pd.DataFrame:
    """Return the second implication, query by query: query, epsilon, noise_scale; the scale falls as 1 / epsilon."""
    rows = []
    for name, query in zip(QUERIES, _queries(), strict=True):
        for epsilon in epsilons:
            budget = Budget.parse(epsilon)
            rows.append((name, float(budget), _scale(query, n, budget)[1]))
    return pd.DataFrame(rows, columns=["query", "epsilon", "noise_scale"])


def _queries() -> tuple[Query, Query, Query]:
    return Count(), Mean((0.0,), (INCOME_UPPER,)), Mean((0.0,), (EXPENDITURE_UPPER,))


def _columns(records: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    return (records["urban_rural"] == "rural").astype(np.int64), records["income"], records["expenditure"]


def _sensitivity(query: Query, n: int) -> Fraction:
    return query.sensitivity_for(n) if isinstance(query, Mean) else query.sensitivity


def _scale(query: Query, n: int, budget: Budget) -> tuple[float, float]:
    scale = LaplaceMechanism.design(budget, query).scale * query.unit(n)
    return float(_sensitivity(query, n)), float(np.ravel(scale)[0])


def _local(records: dict[str, np.ndarray], n: int, epsilon: str, random: Source) -> dict[str, tuple[float, float]]:
    """Each query's local answer and its standard error, from reports of the same people."""
    stated = epsilon if epsilon.replace(".", "").isdigit() else f'"{epsilon}"'
    scheme = Scheme.from_toml(f"""
name = "three_queries"
clients = {max(n, 1000)}

[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural"]
mechanism = "randomized_response"
epsilon = {stated}

[attributes.income]
type = "numeric"
lower = 0
upper = {INCOME_UPPER:.0f}
mechanism = "dyadic_wave"
epsilon = {stated}

[attributes.expenditure]
type = "numeric"
lower = 0
upper = {EXPENDITURE_UPPER:.0f}
mechanism = "dyadic_wave"
epsilon = {stated}
""")
    people = {name: records[name] for name in scheme.attributes}
    aggregate = pipeline.aggregate(scheme, pipeline.privatize(scheme, people, random=random))
    shares = pipeline.estimate(aggregate, "urban_rural")
    rural = list(shares.categories).index("rural")
    answers = {QUERIES[0]: (n * float(shares.values[rural]), n * float(shares.standard_errors[rural]))}
    for name, attribute in zip(QUERIES[1:], ("income", "expenditure"), strict=True):
        mean = pipeline.estimate(aggregate, attribute).functional(MeanOfDensity())
        is_estimable = mean.value is not None and mean.standard_error is not None
        answers[name] = (
            (float(mean.value), float(mean.standard_error)) if is_estimable else (float("nan"), float("nan"))
        )
    return answers
