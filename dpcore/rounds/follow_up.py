"""A second round that follows a first one: its scheme, derived from landed results, and estimates from both rounds.

The sums of the first round are read from the warehouse; its reports are not needed.  The second scheme is public before any
client answers, and spends its own epsilon.
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
from dpcore.protocol.attribute import MISSING, Attribute
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax.fields import name_of
from dpcore.protocol.syntax.keys import OTHER
from dpcore.results import warehouse
from dpcore.results.checks.check import Check, frame_of
from dpcore.results.tables.estimate_rows import row_of
from dpcore.rounds.planning.aims import Aim
from dpcore.rounds.run import Run

_RARE = 0.01  # false-alarm rate of the check if both rounds have the same population


def scheme_from(scheme: Path, round_: str, file: Path, aims: Sequence[str] = ()) -> str:
    """Return the TOML of a scheme for other clients: it asks for ranges between quantiles of a landed round, or for its texts.

    scheme: the first round's file.  aims: "ATTRIBUTE: quantile(t)" or "ATTRIBUTE: cdf(x)"; default, the quantiles of the
    scheme, and which of the texts found each client has.
    Raises WarehouseError if the round has not landed, SchemeError if a second round cannot improve an aim, NotEstimable if the
    first round has no estimate of the quantile.
    """
    parsed = Scheme.from_toml(scheme)
    first, source, _ = warehouse.landed_sums(file, parsed.name, round_)
    if first.scheme.digest != parsed.digest:
        raise SchemeError(
            f"{scheme}: its digest is {parsed.digest[:12]}, but round {round_} has {first.scheme.digest[:12]}; use the scheme "
            "file of the round"
        )
    texts = [name for name, attribute in parsed.attributes.items() if attribute.is_open and not aims]
    wanted = _wanted(parsed, aims, is_needed=not texts)
    tables = [_table_of_texts(parsed.attributes[name], pipeline.estimate(first, name).categories) for name in texts]
    tables += [_table(parsed.attributes[name], _edges(first, name, asked)) for name, asked in wanted.items()]
    clients = "simulated clients" if source == "simulated" else "real clients"
    head = [
        f"# Made from round {round_} of {parsed.name} ({clients}), scheme {parsed.digest[:16]}.",
        "# For clients who did not answer in that round; the epsilons of both rounds add up.",
        *_refused(parsed, wanted, round_),
        f"name = {json.dumps(parsed.name)}",
        f"description = {json.dumps(f'Follows round {round_}: {parsed.description or parsed.name}', ensure_ascii=False)}",
        f"clients = {parsed.clients}",
    ]
    return "\n".join(["\n".join(head), *tables]) + "\n"


def check_after(scheme: Scheme, after: str, file: Path, source: str, seed: int | None) -> None:
    """Raise SchemeError or WarehouseError if a round cannot be combined with the landed round that it follows.

    seed: of simulated clients, or of a dry run.
    """
    if source != "simulated" and seed is not None:
        raise SchemeError("after: a dry run on real records has no earlier round; omit --after")
    first, before, of_seed = warehouse.landed_sums(file, scheme.name, after)
    if first.scheme.digest == scheme.digest:
        raise SchemeError(
            f"round {after}: it has the same scheme; make one for a second round with ldpflow scheme --from {after}"
        )
    if (before == "simulated") != (source == "simulated"):
        raise SchemeError(
            f"round {after}: its source is {before} and this one's is {source}; simulated and real data are never combined"
        )
    if seed is not None and seed == of_seed:
        raise SchemeError(f"round {after}: it has the same seed {seed} and so the same clients; use another --seed")
    for name in _followed(first.scheme, scheme):
        if not first.reports(name):
            raise NotEstimable(f"round {after}: no reports of {name}, so no round can follow it")


def with_both_rounds(
    tables: Mapping[str, pd.DataFrame], run: Run, second: Aggregate, people: Any
) -> dict[str, pd.DataFrame]:
    """Return the tables with estimates from both rounds added to `functionals`, `truths` and `checks`.

    people: the simulated population; None for real data.
    """
    assert run.plan.after is not None
    first, _, _ = warehouse.landed_sums(run.plan.warehouse, run.scheme.name, run.plan.after)
    numbers: list[dict[str, Any]] = []
    true: list[tuple[Any, ...]] = []
    checks: list[Check] = []
    for name, questions in _followed(first.scheme, run.scheme).items():
        if not all(second.reports(question) for question in questions):
            continue  # the check `estimable` reports it
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
    """Test whether both rounds have the same proportions below the edges, that is, the same population."""
    deviations = [value for name in questions for value in two_rounds.deviations(first, second, name)]
    threshold = normal_quantile(1 - _RARE / max(len(deviations), 1))
    most = max(deviations, default=0.0)
    detail = (
        f"proportions below the edges differ from those of round {after} by at most {most:.1f} standard errors; the critical "
        f"value for one population is {threshold:.1f} (level 0.01)"
    )
    return Check(f"two_rounds({questions[0]})", most <= threshold, most, threshold, detail)


def _followed(first: Scheme, second: Scheme) -> dict[str, list[str]]:
    """Numeric attribute of the first scheme -> attributes of the second with its ranges; SchemeError without any."""
    columns = {attribute.column for attribute in second.attributes.values() if attribute.bins is not None}
    names = [
        name
        for name, attribute in first.attributes.items()
        if attribute.is_numeric and not attribute.of and attribute.column in columns
    ]
    if not names:
        raise SchemeError(
            f"scheme {second.name} {second.digest[:12]}: no ranges of a numeric attribute of the first round; make one "
            "with ldpflow scheme --from, or omit --after: rounds of texts are not combined"
        )
    able = [name for name in names if _can_follow(first, name)] or names  # several attributes can have one column
    return {name: two_rounds.questions_of(two_rounds.asked(first, name), second) for name in able}


def _wanted(scheme: Scheme, aims: Sequence[str], *, is_needed: bool) -> dict[str, list[Quantile | Cdf]]:
    """Attribute -> its quantiles and proportions."""
    parsed = [Aim.parse(aim) for aim in aims]
    if not aims:
        parsed = [
            Aim(name, text)
            for name, attribute in scheme.attributes.items()
            for text in attribute.functionals
            if attribute.has_density and isinstance(parse(text), Quantile)
        ]
        parsed = [aim for aim in parsed if _can_follow(scheme, aim.attribute)]
        if not parsed and is_needed:
            raise SchemeError(
                f'scheme {scheme.name}: no quantile that a second round can improve; add --aim "NAME: quantile(0.5)"'
            )
    wanted: dict[str, list[Quantile | Cdf]] = {}
    for aim in parsed:
        two_rounds.asked(scheme, aim.attribute)
        functional = parse(aim.quantity)
        if not isinstance(functional, Quantile | Cdf):
            raise SchemeError(f"aim {aim.quantity}: a second round can improve quantile(t) or cdf(x) only")
        wanted.setdefault(aim.attribute, []).append(functional)
    return wanted


def _can_follow(scheme: Scheme, name: str) -> bool:
    try:
        two_rounds.asked(scheme, name)
    except SchemeError:
        return False
    return True


def _edges(first: Aggregate, name: str, asked: Sequence[Quantile | Cdf]) -> list[Fraction]:
    """The sorted edges of the ranges: near the first round's estimates of quantiles, and at the points of proportions."""
    attribute, estimate = first.scheme.attributes[name], pipeline.estimate(first, name)
    edges = set()
    for functional in asked:
        edge = (
            two_rounds.threshold(estimate.functional(functional))
            if isinstance(functional, Quantile)
            else Fraction(str(functional.x))
        )
        if not attribute.lower < edge < attribute.upper:
            raise SchemeError(
                f"{name}: {functional} is at {name_of(edge)}, not inside the bounds; a second round cannot improve it"
            )
        edges.add(edge)
    return sorted(edges)


def _refused(scheme: Scheme, names: Iterable[str], round_: str) -> Iterator[str]:
    """A line for each attribute that rejects values outside its bounds, because the ranges of the second scheme have none."""
    for attribute in (scheme.attributes[name] for name in names):
        if attribute.outside == "refuse":
            yield (
                f"# Round {round_} rejected values of {attribute.name} outside {name_of(attribute.lower)} to "
                f"{name_of(attribute.upper)}: do not ask these clients here either."
            )


def _table_of_texts(attribute: Attribute, texts: Sequence[str]) -> str:
    """The TOML table of the attribute that asks which of these texts a client has."""
    none = MISSING if attribute.missing == "category" else ""
    names = [text for text in dict.fromkeys((*texts, OTHER)) if text != none]
    lines = [
        f"\n[attributes.{attribute.name}]",
        'type = "categorical"',
        f"column = {json.dumps(attribute.column, ensure_ascii=False)}",
        f"categories = {json.dumps(names, ensure_ascii=False)}",
        f'outside = "{OTHER}"',
        f'missing = "{attribute.missing}"',
        _epsilon(attribute),
    ]
    return "\n".join(lines)


def _epsilon(attribute: Attribute) -> str:
    """The line with the attribute's epsilon."""
    text = attribute.budget.text
    return f"epsilon = {text if text.replace('.', '').isdigit() else json.dumps(text)}"


def _table(attribute: Attribute, edges: Sequence[Fraction]) -> str:
    """The TOML table of the attribute that asks for the range of a value."""
    lines = [
        f"\n[attributes.{attribute.name}]",
        'type = "categorical"',
        f"column = {json.dumps(attribute.column, ensure_ascii=False)}",
        f"bins = [{', '.join(map(name_of, edges))}]",
        *([f"unit = {json.dumps(attribute.unit, ensure_ascii=False)}"] if attribute.unit else []),
        'mechanism = "randomized_response"',
        _epsilon(attribute),
    ]
    return "\n".join(lines)
