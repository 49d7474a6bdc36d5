"""A round as tables: one frame for each table of the warehouse, built from estimates and, for simulated people, the truth.

No estimation happens here and no file is touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from dpcore.errors import SchemeError
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import BIAS_AWARE, DISTRIBUTION_FREE
from dpcore.functionals import parse
from dpcore.functionals.group import WEIGHTED, Group
from dpcore.mechanisms.observation_model import ScoreSums
from dpcore.pipeline import Round
from dpcore.protocol.aggregates import Aggregate, statistic_rows
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import category_law
from dpcore.protocol.syntax.keys import PLANE
from dpcore.results.checks.round_checks import checks, every_estimate
from dpcore.results.tables.functional_rows import NUMBERS, row_of
from dpcore.results.tables.joint_tables import joint_tables
from dpcore.results.tables.simultaneous_bands import bands_at_once
from dpcore.results.tables.spending import Known, states

POINTS = 201  # of a landed density; lines drawn through them look smooth on any screen
_CURVES = ("density", "cdf")  # in `sensitivities`
_OWN = ("own_variance_none", "own_variance_all")  # in `attributes`


def tables_of(
    round_: Round, population: Any = None, rehearsal: bool = False, parts: Sequence[Aggregate] = ()
) -> dict[str, pd.DataFrame]:
    """Return the frames of a round, without run_id: table -> frame.

    population: the simulated people's, whose truth then lands too.  rehearsal: real records were privatized with a known
    seed, which the check `secure_randomness` then says.  parts: the aggregates of batches, as they came, which are checked for
    having one law.
    """
    tables = {
        **scheme_tables(round_.aggregate.scheme),
        "labels": _labels(round_),
        "weights": _weights(round_),
        "aggregates": _aggregates(round_),
        "frequencies": _frequencies(round_),
        "densities": _densities(round_),
        "functionals": _functionals(round_),
        **joint_tables(round_.joints),
        "sensitivities": _sensitivities(round_),
        "levels": _levels(round_),
        "budgets": _budgets(round_),
        "rejects": _rejects(round_),
        "checks": checks(round_, rehearsal, parts),
    }
    if population is not None:
        tables["truths"] = truths(round_, population)
    return {name: frame for name, frame in tables.items() if len(frame)}


def scheme_tables(scheme: Scheme) -> dict[str, pd.DataFrame]:
    """Return the frames of `schemes`, `attributes` and `categories`: what clients and aggregator agreed on."""
    agreed = {
        "description": scheme.description,
        "planned_clients": scheme.clients,
        "reporting": scheme.reporting,
        "stated": scheme.budget.text,
        "epsilon": scheme.epsilon,
        "delta": float(scheme.delta),
        "canonical": scheme.canonical,
    }
    attributes = [
        {
            "attribute": name,
            "position": position,
            "type": attribute.type,
            "unit": attribute.unit,
            "lower": float(attribute.lower) if attribute.is_numeric and not attribute.sides else None,
            "upper": float(attribute.upper) if attribute.is_numeric and not attribute.sides else None,
            **_own_variances(attribute),
        }
        for position, (name, attribute) in enumerate(scheme.attributes.items())
    ]
    categories = [
        {"attribute": name, "category": category, "position": position, "value": value}
        for name, attribute in scheme.attributes.items()
        for position, (category, value) in enumerate(zip_longest(attribute.categories, attribute.values or ()))
    ]
    return {
        "schemes": _frame([agreed]),
        "attributes": _frame(attributes, **dict.fromkeys(("lower", "upper", *_OWN), "float64")),
        "categories": _frame(categories, value="float64"),
    }


def _own_variances(attribute: Attribute) -> dict[str, float | None]:
    """What `share_of` needs; of categories that are alike, so that two numbers say how the errors of all hang together."""
    model = attribute.mechanism.model()
    told = model.own_variances if isinstance(model, ScoreSums) and model.contrast > 0 else (None, None)
    return dict(zip(_OWN, told, strict=True))


def _frame(rows: Sequence[Any], columns: str = "", **types: str) -> pd.DataFrame:
    """The rows, mappings or tuples of these columns; types: of columns that would have none where all are null."""
    return pd.DataFrame(rows, columns=columns.split() or None).astype(types) if rows else pd.DataFrame()


def _aggregates(round_: Round) -> pd.DataFrame:
    aggregate = round_.aggregate
    rows: list[tuple[Any, ...]] = []
    for name, statistics in aggregate.statistics.items():
        rows += statistic_rows(aggregate.scheme, name, "", statistics)
    for name, other in aggregate.scheme.grouped:
        if (name, other) in round_.withheld:
            continue
        tables = zip(aggregate.scheme.attributes[other].categories, aggregate.pairs[name, other], strict=True)
        for category, statistics in tables:
            rows += statistic_rows(aggregate.scheme, name, str(Group(other, category)), statistics)
    for (name, group), alone in round_.labelled.items():
        rows += statistic_rows(aggregate.scheme, name, str(group), alone.statistics[name])
    return _frame(rows, "attribute given statistic level cell value")


def _labels(round_: Round) -> pd.DataFrame:
    """Each category of each label, and how many reports have it, where that may be seen."""
    scheme = round_.aggregate.scheme
    seen = {
        group: alone.n
        for (_, group), alone in round_.labelled.items()
        if all((name, group) in round_.labelled or not alone.reports(name) for name in scheme.attributes)
    }
    known = round_.margins.by_category() if round_.margins is not None else {}
    rows = [
        (label, category, position, seen.get(Group(label, category)), known.get((label, category)))
        for label, held in scheme.labels.items()
        for position, category in enumerate(held.categories)
    ]
    return _frame(rows, "label category position reports population", reports="Int64", population="float64")


def _weights(round_: Round) -> pd.DataFrame:
    """What weighting by known totals costs each attribute."""
    weights, held = round_.weights, round_.aggregate.labelled
    if weights is None or held is None:
        return pd.DataFrame()
    rows = []
    for group in round_.groups:
        if group.group.attribute == WEIGHTED and group.estimate is not None:
            name, counts = group.attribute, held.answered[group.attribute]
            n, total, square = counts.sum(), weights.values @ counts, weights.values**2 @ counts
            effect = round(n * square / total**2, 2)  # more digits would tell counts
            rows.append((name, ",".join(weights.labels), int(n), round(n / effect, -1), effect))
    return _frame(rows, "attribute labels reports effective_n design_effect")


def _frequencies(round_: Round) -> pd.DataFrame:
    return _stack(round_, FrequencyEstimate, lambda estimate: estimate.to_frame().assign(raw=estimate.raw))


def _densities(round_: Round) -> pd.DataFrame:
    own = _stack(round_, DensityEstimate, lambda estimate: estimate.to_frame(POINTS))
    said = list(bands_at_once(round_, POINTS))
    return pd.concat([own, *said], ignore_index=True) if said else own


def _stack(round_: Round, kind: type, frame_of: Any) -> pd.DataFrame:
    frames = [
        frame_of(estimate).assign(attribute=estimate.attribute, estimator=estimate.estimator, given=estimate.given)
        for estimate in every_estimate(round_)
        if isinstance(estimate, kind)
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _functionals(round_: Round) -> pd.DataFrame:
    asked = [(name, round_.estimates[name].estimator, "", results) for name, results in round_.functionals.items()]
    asked += [(group.attribute, group.estimator, group.given, group.functionals) for group in round_.groups]
    asked += [(name, BIAS_AWARE, "", results) for name, (results, _) in round_.assumed.items()]
    asked += [(name, DISTRIBUTION_FREE, "", results) for name, results in round_.any_law.items()]
    rows = [
        {"attribute": name, "estimator": estimator, "given": given, **row_of(result)}
        for name, estimator, given, results in asked
        for result in results
    ]
    return _frame(rows, **dict.fromkeys(NUMBERS, "float64"))


def _sensitivities(round_: Round) -> pd.DataFrame:
    """How far malicious clients can have moved each number, and the curves where they are most exposed; where known."""
    asked = [(estimate, round_.functionals[name]) for name, estimate in round_.estimates.items()]
    asked += [(group.estimate, group.functionals) for group in round_.groups if group.estimate is not None]
    rows: list[tuple[Any, ...]] = []
    for estimate, results in asked:
        who = (estimate.attribute, estimate.estimator, estimate.given)
        if isinstance(estimate, FrequencyEstimate) and estimate.sensitivities is not None:
            moves = zip(estimate.categories, estimate.sensitivities, strict=True)
            exact = estimate.exposure is not None and estimate.exposure.is_constant
            rows += [(*who, f"frequency({category})", float(moved), exact) for category, moved in moves]
        if isinstance(estimate, DensityEstimate):
            along = estimate.curve_sensitivity(np.linspace(estimate.density.lower, estimate.density.upper, POINTS))
            rows += [(*who, name, float(curve.max()), False) for name, curve in zip(_CURVES, along or (), strict=False)]
        told = {one.functional: estimate.sensitivity(parse(one.functional)) for one in results if not one.is_refused}
        rows += [
            (*who, name, moved.value, moved.is_exact)
            for name, moved in told.items()
            if moved is not None and math.isfinite(moved.value)
        ]
    return _frame(rows, "attribute estimator given number sensitivity is_exact")


def _levels(round_: Round) -> pd.DataFrame:
    rows = [
        (estimate.attribute, estimate.given, row.level, row.statistic, row.threshold, row.selected)
        for estimate in every_estimate(round_)
        if isinstance(estimate, DensityEstimate)
        for row in estimate.levels
    ]
    return _frame(rows, "attribute given level statistic threshold selected")


def _budgets(round_: Round) -> pd.DataFrame:
    """What is promised and charged; what tokens show of it is known of collected reports only (`spending`)."""
    unknown = dict.fromkeys(column.name for column in fields(Known))
    rows = [
        {
            "attribute": name,
            "mechanism": attribute.mechanism.name,
            "stated": attribute.budget.text,
            "epsilon": float(attribute.budget),
            "delta": float(attribute.delta),
            "certificate": attribute.mechanism.certificate().text,
            "charges": round_.aggregate.reports(name),
            "states": states(attribute.mechanism),
            **unknown,
        }
        for name, attribute in round_.aggregate.scheme.attributes.items()
    ]
    return _frame(rows, **dict.fromkeys(unknown, "Int64"))


def _rejects(round_: Round) -> pd.DataFrame:
    aggregate = round_.aggregate
    rows = [(reason, count, aggregate.examples.get(reason)) for reason, count in aggregate.rejected.items()]
    return _frame(rows, "reason count example_position")


def truths(round_: Round, population: Any) -> pd.DataFrame:
    """Return what is true of the population, in the rows of `truths`: densities, frequencies and functionals."""
    rows: list[tuple[Any, ...]] = []
    for name, attribute in round_.aggregate.scheme.attributes.items():
        estimated = [result.functional for result in round_.functionals.get(name, ())]
        asked = list(dict.fromkeys([*attribute.functionals, *estimated]))
        rows += list(_truth_rows(attribute, asked, population, round_.estimates.get(name), ""))
    for group in round_.groups:
        scheme = round_.aggregate.scheme
        attribute = scheme.attributes[group.attribute]
        asked = list(dict.fromkeys([*attribute.functionals, *(result.functional for result in group.functionals)]))
        try:
            whom = _whom(scheme, population, group.group)
            rows += list(_truth_rows(attribute, asked, population, group.estimate, group.given, whom))
        except SchemeError:
            continue  # nobody simulated has that category, so that nothing is true of them
    return _frame(rows, "attribute given quantity x value")


def _truth_rows(
    attribute: Attribute, asked: list[str], population: Any, estimate: Any, given: str, whom: Any = None
) -> Iterator[tuple[Any, ...]]:
    name = attribute.name
    if attribute.kind == PLANE:
        return  # no law of one number, and no estimate to be true
    if attribute.has_density:
        yield from _numeric_truths(attribute, asked, population.truth(name, whom), estimate, given)
        silent = getattr(population, "nonresponse", {}).get(name, 0.0)
        yield from ((name, given, f"frequency({category})", None, silent) for category in attribute.categories)
    else:
        probabilities = category_law(attribute, population, whom)
        for category, value in zip(attribute.categories, probabilities, strict=True):
            yield name, given, f"frequency({category})", None, float(value)
        numbers = np.asarray(attribute.values or ())
        answered = probabilities[: len(numbers)] / max(probabilities[: len(numbers)].sum(), np.finfo(float).tiny)
        for text in asked:
            functional = parse(text)
            yield name, given, str(functional), None, functional.of_probabilities(answered, numbers)


def _whom(scheme: Scheme, population: Any, group: Group) -> Any:
    """Who is in a group, as a population knows it: by name or, of a number's range, by the shares its own groups have there."""
    if group.attribute not in scheme.reported:
        raise SchemeError("no population knows of weights")
    attribute = scheme.reported[group.attribute]
    if attribute.bins is None:
        return str(group)
    place = attribute.categories.index(group.category)
    joint = {
        own: weight * category_law(attribute, population, own)[place] for own, weight in population.weights.items()
    }
    if not any(joint.values()):
        raise SchemeError(f"nobody in population {population.name!r} is of {str(group)!r}")
    return {own: share / sum(joint.values()) for own, share in joint.items()}


def _numeric_truths(
    attribute: Attribute, asked: list[str], truth: Any, estimate: Any, given: str
) -> Iterator[tuple[Any, ...]]:
    name, truth = attribute.name, truth.clipped(attribute.lower, attribute.upper)
    points = truth if hasattr(truth, "probabilities") else None
    if estimate is not None and points is None:
        x = estimate.to_frame(POINTS)["x"].to_numpy()
        for point, value in zip(x, truth.pdf(x), strict=True):
            yield name, given, "density", float(point), float(value)
    for text in asked:
        functional = parse(text)
        with suppress(SchemeError):  # of what a distribution of points, or without derivatives, does not have
            value = (
                functional.of_probabilities(points.probabilities, points.values) if points else functional.value(truth)
            )
            yield name, given, str(functional), None, value
