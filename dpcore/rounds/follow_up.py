"""A second round that follows a first: its scheme, made of what has landed, and the numbers of both together.

The first round's sums are read from the warehouse, exact as they landed; no report of it is needed any more.  What is asked in
the second is public before anybody answers, as every scheme is, and paid for anew by whoever answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore import pipeline
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.functional_estimate import normal_quantile
from dpcore.estimation.inference import two_rounds
from dpcore.functionals import Cdf, Quantile, parse
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.domain.support_points import name_of
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.results.checks.check import Check, frame_of
from dpcore.results.tables.functional_rows import row_of
from dpcore.rounds.planning.aims import Aim
from dpcore.rounds.run import Run

_RARE = 0.01  # how often the check fails where both rounds asked one population


def scheme_from(scheme: Path, round_: str, file: Path, aims: Sequence[str] = ()) -> str:
    """Return the TOML of a scheme for other people, which asks on which side of quantiles of a landed round they are.

    scheme: the first round's file.  aims: "ATTRIBUTE: quantile(t)" or "ATTRIBUTE: cdf(x)"; the quantiles that the scheme asks
    for where there is none.
    Raises WarehouseError where the round has not landed, SchemeError where an aim is none that a second round can follow,
    NotEstimable where the first round does not know the quantile at all.
    """
    parsed = Scheme.from_toml(scheme)
    first, source, _ = warehouse.landed_sums(file, parsed.name, round_)
    if first.scheme.digest != parsed.digest:
        raise SchemeError(
            f"round {round_} landed under {first.scheme.digest[:12]}, and {scheme} is {parsed.digest[:12]}; "
            "name the file that it ran with"
        )
    wanted = _wanted(parsed, aims)
    tables = [_table(parsed.attributes[name], _edges(first, name, asked)) for name, asked in wanted.items()]
    people = "simulated people's" if source == "simulated" else "real people's"
    head = [
        f"# Made of round {round_} of {parsed.name} ({people}), scheme {parsed.digest[:16]}: what its reports leave open.",
        "# For people who did not answer there; whoever answers both has spent both epsilons.",
        *_refused(parsed, wanted, round_),
        f"name = {json.dumps(parsed.name)}",
        f"description = {json.dumps(f'Follows round {round_}: {parsed.description or parsed.name}', ensure_ascii=False)}",
        f"clients = {parsed.clients}",
    ]
    return "\n".join(["\n".join(head), *tables]) + "\n"


def check_after(scheme: Scheme, after: str, file: Path, source: str, seed: int | None) -> None:
    """Raise SchemeError or WarehouseError where a round cannot be read together with the landed one that it follows.

    seed: of simulated people, or of a rehearsal.
    """
    if source != "simulated" and seed is not None:
        raise SchemeError("a rehearsal lands by itself, where no earlier round is; leave out --after")
    first, before, of_seed = warehouse.landed_sums(file, scheme.name, after)
    if first.scheme.digest == scheme.digest:
        raise SchemeError(
            f"round {after} asked by this very scheme; a second round has one that ldpflow scheme --from {after} makes"
        )
    if (before == "simulated") != (source == "simulated"):
        raise SchemeError(
            f"round {after} is of {before}, this one of {source}: simulated people are never put beside real ones"
        )
    if seed is not None and seed == of_seed:
        raise SchemeError(f"round {after} has seed {seed}, too: these would be the same people; give another --seed")
    for name in _followed(first.scheme, scheme):
        if not first.reports(name):
            raise NotEstimable(f"in round {after} nobody answered {name}; there is nothing to follow")


def beside(tables: Mapping[str, pd.DataFrame], run: Run, second: Aggregate, people: Any) -> dict[str, pd.DataFrame]:
    """Return the tables of a round that follows another with the numbers of both: rows of `functionals`, `truths`, `checks`.

    people: the simulated population; None of real people.
    """
    assert run.plan.after is not None
    first, _, _ = warehouse.landed_sums(run.plan.warehouse, run.scheme.name, run.plan.after)
    numbers: list[dict[str, Any]] = []
    true: list[tuple[Any, ...]] = []
    checks: list[Check] = []
    for name, questions in _followed(first.scheme, run.scheme).items():
        if not all(second.reports(question) for question in questions):
            continue  # as the check `estimable` says
        attribute, question = first.scheme.attributes[name], questions[0]
        both = two_rounds.combine(first, second, name)
        for text in attribute.functionals:
            result = row_of(both.functional(parse(text)))
            numbers.append({"attribute": question, "estimator": both.estimator, "given": "", **result})
            if people is not None:
                law = people.truth(name).clipped(attribute.lower, attribute.upper)
                true.append((question, "", str(parse(text)), None, parse(text).value(law)))
        checks.append(_one_population(pipeline.estimate(first, name), second, questions, run.plan.after))
    added = {
        "functionals": pd.DataFrame(numbers),
        "truths": pd.DataFrame(true, columns=["attribute", "given", "quantity", "x", "value"]),
        "checks": frame_of(checks),
    }
    own = {table: tables[table] for table in added if table in tables}
    joined = {
        table: pd.concat([own[table], frame] if table in own else [frame], ignore_index=True)
        for table, frame in added.items()
    }
    return {**tables, **{table: frame for table, frame in joined.items() if len(frame)}}


def _one_population(first: Any, second: Aggregate, questions: Sequence[str], after: str) -> Check:
    """Whether both rounds say the same of the shares below the edges, as they do where one population answered."""
    found = [each for name in questions for each in two_rounds.deviations(first, second, name)]
    threshold = normal_quantile(1 - _RARE / max(len(found), 1))
    most = max(found, default=0.0)
    detail = (
        f"shares below what is asked differ from those of round {after} by {most:.1f} standard errors at most; where one "
        f"population answered both, {threshold:.1f} are exceeded once in a hundred rounds"
    )
    return Check(f"two_rounds({questions[0]})", most <= threshold, most, threshold, detail)


def _followed(first: Scheme, second: Scheme) -> dict[str, list[str]]:
    """Each number of the first scheme that the second asks by ranges, and by which attributes; SchemeError without any."""
    columns = {each.column for each in second.attributes.values() if each.bins is not None}
    names = [
        name for name, each in first.attributes.items() if each.is_numeric and not each.of and each.column in columns
    ]
    if not names:
        raise SchemeError(
            f"scheme {second.name} {second.digest[:12]} asks for ranges of no number of the round before; make one "
            "with ldpflow scheme --from"
        )
    able = [name for name in names if _can_follow(first, name)] or names  # one column may be asked in several ways
    return {name: two_rounds.questions_of(two_rounds.asked(first, name), second) for name in able}


def _wanted(scheme: Scheme, aims: Sequence[str]) -> dict[str, list[Quantile | Cdf]]:
    """Attribute -> the quantiles and shares that are asked about."""
    parsed = [Aim.parse(aim) for aim in aims]
    if not aims:
        parsed = [
            Aim(name, text)
            for name, attribute in scheme.attributes.items()
            for text in attribute.functionals
            if attribute.has_density and isinstance(parse(text), Quantile)
        ]
        parsed = [aim for aim in parsed if _can_follow(scheme, aim.attribute)]
        if not parsed:
            raise SchemeError(
                f"no number of scheme {scheme.name} has a quantile that a second round can follow; "
                'say --aim "NAME: quantile(0.5)"'
            )
    wanted: dict[str, list[Quantile | Cdf]] = {}
    for aim in parsed:
        two_rounds.asked(scheme, aim.attribute)
        functional = parse(aim.quantity)
        if not isinstance(functional, Quantile | Cdf):
            raise SchemeError(f"a second round follows quantile(t) or cdf(x), got {aim.quantity}")
        wanted.setdefault(aim.attribute, []).append(functional)
    return wanted


def _can_follow(scheme: Scheme, name: str) -> bool:
    try:
        two_rounds.asked(scheme, name)
    except SchemeError:
        return False
    return True


def _edges(first: Aggregate, name: str, asked: Sequence[Quantile | Cdf]) -> list[Fraction]:
    """Where ranges meet, rising: near what the first round says of quantiles, and at the points of shares."""
    attribute, estimate = first.scheme.attributes[name], pipeline.estimate(first, name)
    found = set()
    for functional in asked:
        edge = (
            two_rounds.threshold(estimate.functional(functional))
            if isinstance(functional, Quantile)
            else Fraction(str(functional.x))
        )
        if not attribute.lower < edge < attribute.upper:
            raise SchemeError(
                f"{name}: {functional} is at {name_of(edge)}, at a bound or beyond; nothing is to be asked there"
            )
        found.add(edge)
    return sorted(found)


def _refused(scheme: Scheme, names: Iterable[str], round_: str) -> Iterator[str]:
    """A line for each number whose scheme refuses people beyond its bounds: ranges that are asked for have no bounds."""
    for attribute in (scheme.attributes[name] for name in names):
        if attribute.outside == "refuse":
            yield (
                f"# Round {round_} refused whoever's {attribute.name} is not {name_of(attribute.lower)} to "
                f"{name_of(attribute.upper)}: do not ask them here either."
            )


def _table(attribute: Attribute, edges: Sequence[Fraction]) -> str:
    """The table of the question: in which range the number is."""
    epsilon = attribute.budget.text
    lines = [
        f"\n[attributes.{attribute.name}]",
        'type = "categorical"',
        f"column = {json.dumps(attribute.column, ensure_ascii=False)}",
        f"bins = [{', '.join(map(name_of, edges))}]",
        *([f"unit = {json.dumps(attribute.unit, ensure_ascii=False)}"] if attribute.unit else []),
        'mechanism = "randomized_response"',
        f"epsilon = {epsilon if epsilon.replace('.', '').isdigit() else json.dumps(epsilon)}",
    ]
    return "\n".join(lines)
