"""Repeated dry runs of a scheme: errors of the estimates and coverage of their intervals.

Each round simulates new clients and their aggregate, from its exact distribution if that is known, and makes the same estimates
as a real round.  Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dpcore import pipeline
from dpcore._random import Source
from dpcore.errors import SchemeError
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.functionals import parse
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.scheme import Scheme
from dpcore.results.checks.round_checks import every_estimate
from dpcore.results.tables.round_tables import truths
from dpcore.results.text.phrases import phrase, read, rounded, titled
from dpcore.rounds.defaults import MIN_CLIENTS

MOST_ROUNDS = 100_000
_NUMBERS = ["estimate", "low", "high", "truth"]
ALL = "all estimates"  # the quantity of an attribute without any estimate
KEY = ["attribute", "given", "quantity"]


def dry_runs(scheme: Scheme, people: Any, clients: int, rounds: int, random: Source) -> Iterator[pd.DataFrame]:
    """Yield the estimates of each round: a row by attribute, given and quantity, with estimate, low, high and truth.

    people: simulated respondents, as `populations.respondents_of` returns them.  clients: of a round; groups of fewer than
    `MIN_CLIENTS` are withheld, as in a real round.  rounds: 1..100,000.  random: of all rounds.
    estimate, low and high are NaN where the estimate is withheld, and truth where there is none.  Raises SchemeError.
    """
    if not 1 <= rounds <= MOST_ROUNDS:
        raise SchemeError(f"rounds must be a whole number between 1 and {MOST_ROUNDS:,}, got {rounds}")
    scheme.check_asked()
    true_values = None
    for number in range(rounds):
        round_ = _aggregated(scheme, people, clients, random.spawn(number))
        true_values = _truths(round_, people) if true_values is None else true_values
        rows = _estimates(round_).merge(true_values, how="left", on=KEY).astype(dict.fromkeys(_NUMBERS, "float64"))
        is_open = rows["attribute"].map(lambda name: scheme.attributes[name].is_open)
        yield rows.fillna(
            {"truth": rows["truth"].mask(is_open & rows["estimate"].notna(), 0.0)}
        )  # texts that nobody has


def summary(rounds: list[pd.DataFrame]) -> pd.DataFrame:
    """Return a row for each quantity of some rounds' estimates, in their order.

    Columns beside attribute, given and quantity: truth; error, the root mean squared distance of estimate and truth; length,
    the median length of the interval; intervals, how many rounds have one; covered, how many of them contain the truth;
    withheld, how many rounds have no estimate; rounds.
    """
    rows = pd.concat(rounds, ignore_index=True)
    rows = rows.assign(
        square=(rows["estimate"] - rows["truth"]) ** 2,
        length=rows["high"] - rows["low"],
        covered=(rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"]),
        withheld=rows["estimate"].isna(),
    )
    groups = rows.groupby(KEY, sort=False).agg(
        truth=("truth", "first"),
        error=("square", "mean"),
        length=("length", "median"),
        intervals=("length", "count"),
        covered=("covered", "sum"),
        withheld=("withheld", "sum"),
        rounds=("withheld", "size"),
    )
    return groups.assign(error=np.sqrt(groups["error"])).reset_index()


def lines(scheme: Scheme, result: pd.DataFrame) -> list[dict[str, str]]:
    """Return the rows of a summary as texts, with units, for a terminal or a page."""
    shown = []
    with titled(scheme.canonical):
        for row in result[result["quantity"] != ALL].to_dict("records"):
            unit = scheme.attributes[row["attribute"]].unit
            own = {name: row[name] for name in ("attribute", "given")}
            line, wording = (
                read(own | {"functional": row["quantity"], "estimate": row["truth"]}, unit),
                phrase(row["quantity"], unit),
            )
            sizes = [wording.factor * row[size] for size in ("error", "length")]
            error, length = (f"{rounded(size, size / 10)} {wording.unit_of_difference}".strip() for size in sizes)
            shown.append(
                {
                    "attribute": line.attribute,
                    "quantity": line.quantity,
                    "group": line.group,
                    "true value": line.value if row["truth"] == row["truth"] else "-",
                    "root mean squared error": error,
                    "interval length": length,
                    "covered": f"{row['covered']} of {row['intervals']}" if row["intervals"] else "-",
                }
            )
    return shown


def verdict(result: pd.DataFrame) -> str:
    """Return in one line how many intervals of a summary cover the true value."""
    intervals, covered = int(result["intervals"].sum()), int(result["covered"].sum())
    if not intervals:
        return "every estimate is withheld in every round, since there are too few reports"
    return f"{100 * covered / intervals:.1f} % of {intervals:,} intervals cover the true value; 95 % should"


def _aggregated(scheme: Scheme, people: Any, clients: int, random: Source) -> pipeline.Round:
    drawn = pipeline.simulate if scheme.reporting == "all" else _collected
    return pipeline.estimate_all(drawn(scheme, people, random, clients), MIN_CLIENTS)


def _collected(scheme: Scheme, people: Any, random: Source, clients: int) -> Aggregate:
    return pipeline.collect(scheme, people, clients, random)


def _truths(round_: pipeline.Round, people: Any) -> pd.DataFrame:
    """True values of all quantities except densities, the same in every round."""
    groups = tuple(replace(group, estimate=None) for group in round_.groups)
    rows = truths(replace(round_, estimates={}, groups=groups), people)
    return rows.rename(columns={"value": "truth"})[[*KEY, "truth"]].drop_duplicates(KEY)


def _estimates(round_: pipeline.Round) -> pd.DataFrame:
    rows = []
    for estimate in every_estimate(round_):
        if isinstance(estimate, FrequencyEstimate):
            numbers = zip(estimate.categories, estimate.values, estimate.low, estimate.high, strict=True)
            key = estimate.attribute, estimate.given
            rows += [(*key, f"frequency({category})", *row) for category, *row in numbers]
    results = [(name, "", functionals) for name, functionals in round_.functionals.items()]
    results += [(group.attribute, group.given, group.functionals) for group in round_.groups]
    for attribute, group_name, functionals in results:
        asked = {str(parse(name)) for name in round_.aggregate.scheme.attributes[attribute].functionals}
        rows += [
            (attribute, group_name, result.functional, result.value, result.low, result.high)
            for result in functionals
            if result.functional in asked  # point masses at a bound are reported in the rounds that show one
        ]
    rows += [(name, "", ALL, None, None, None) for name in round_.unavailable]
    order = list(round_.aggregate.scheme.attributes)
    rows.sort(key=lambda row: (order.index(row[0]), row[1] != ""))
    return pd.DataFrame(rows, columns=[*KEY, *_NUMBERS[:-1]])
