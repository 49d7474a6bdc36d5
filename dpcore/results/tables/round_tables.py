"""A round as tables: one frame for each table of the warehouse, from estimates and the true values of simulated clients."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpcore.errors import NotEstimable, SchemeError
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
from dpcore.protocol.simulation import category_law, cell_law
from dpcore.protocol.syntax.keys import PLANE
from dpcore.results.checks.round_checks import checks, every_estimate
from dpcore.results.tables.comparisons import experiment_table
from dpcore.results.tables.estimate_rows import NUMBERS, regression_table, row_of
from dpcore.results.tables.spending import TokenCharges, states

if TYPE_CHECKING:
    from dpcore.estimation.joint.pair_estimates import PairEstimates  # with scipy, which few rounds need

POINTS = 201  # grid points of a landed density, enough for a smooth line on any screen
_CURVES = ("density", "cdf")  # in `sensitivities`
_OWN = ("own_variance_none", "own_variance_all")  # in `attributes`


def tables_of(
    round_: Round, population: Any = None, rehearsal: bool = False, parts: Sequence[Aggregate] = ()
) -> dict[str, pd.DataFrame]:
    """Return the frames of a round, without run_id: table -> frame.

    population: of simulated clients, for the table `truths`.  rehearsal: whether real records were privatized with a known
    seed, for the check `secure_randomness`.  parts: the aggregates of batches in order of arrival, for the check `homogeneity`.
    """
    tables = {
        **_with_texts(scheme_tables(round_.aggregate.scheme), round_),
        "labels": _labels(round_),
        "weights": _weights(round_),
        "aggregates": _aggregates(round_),
        "frequencies": _frequencies(round_),
        "densities": _densities(round_),
        "functionals": _functionals(round_),
        **_joint_tables(round_.joints),
        "regressions": regression_table(round_.regressions, round_.aggregate.scheme.regressions),
        "experiments": experiment_table(round_),
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
            "at_most": attribute.at_most,
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
        "attributes": _frame(attributes, **dict.fromkeys(("lower", "upper", *_OWN), "float64"), at_most="Int64"),
        "categories": _frame(categories, value="float64"),
    }


def _with_texts(tables: dict[str, pd.DataFrame], round_: Round) -> dict[str, pd.DataFrame]:
    """The tables of a scheme, where `categories` also has the texts that the round found, those of all clients first."""
    frequencies = (estimate for estimate in every_estimate(round_) if isinstance(estimate, FrequencyEstimate))
    selected = (estimate for estimate in frequencies if estimate.is_selected)
    keys = dict.fromkeys((estimate.attribute, text) for estimate in selected for text in estimate.categories)
    rows = pd.DataFrame(list(keys), columns=["attribute", "category"])
    rows = rows.assign(position=rows.groupby("attribute").cumcount(), value=np.nan)
    listed = [frame for frame in (tables["categories"], rows) if len(frame)]
    return tables | {"categories": pd.concat(listed, ignore_index=True) if listed else tables["categories"]}


def _own_variances(attribute: Attribute) -> dict[str, float | None]:
    """Variances for the macro `share_of`; exchangeable categories have a covariance with two parameters."""
    model = attribute.mechanism.model()
    variances = model.own_variances if isinstance(model, ScoreSums) and model.contrast > 0 else (None, None)
    return dict(zip(_OWN, variances, strict=True))


def _frame(rows: Sequence[Any], columns: str = "", **types: str) -> pd.DataFrame:
    """A frame of rows, mappings or tuples of these columns; types: of columns that can be null in all rows."""
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
    """The categories of all labels, with their numbers of reports if these may be published."""
    scheme = round_.aggregate.scheme
    seen = {
        group: alone.n
        for (_, group), alone in round_.labelled.items()
        if all((name, group) in round_.labelled or not alone.reports(name) for name in scheme.attributes)
    }
    population = round_.margins.by_category() if round_.margins is not None else {}
    rows = [
        (label, category, position, seen.get(Group(label, category)), population.get((label, category)))
        for label, held in scheme.labels.items()
        for position, category in enumerate(held.categories)
    ]
    return _frame(rows, "label category position reports population", reports="Int64", population="float64")


def _weights(round_: Round) -> pd.DataFrame:
    """Design effect of weighting by population totals, for each attribute."""
    weights, held = round_.weights, round_.aggregate.labelled
    if weights is None or held is None:
        return pd.DataFrame()
    rows = []
    for group in round_.groups:
        if group.group.attribute == WEIGHTED and group.estimate is not None:
            name, counts = group.attribute, held.answered[group.attribute]
            n, total, square = counts.sum(), weights.values @ counts, weights.values**2 @ counts
            effect = round(n * square / total**2, 2)  # more digits would reveal counts of small categories
            rows.append((name, ",".join(weights.labels), int(n), round(n / effect, -1), effect))
    return _frame(rows, "attribute labels reports effective_n design_effect")


def _frequencies(round_: Round) -> pd.DataFrame:
    return _stack(round_, FrequencyEstimate, lambda estimate: estimate.to_frame().assign(raw=estimate.raw))


def _densities(round_: Round) -> pd.DataFrame:
    own = _stack(round_, DensityEstimate, lambda estimate: estimate.to_frame(POINTS))
    bands = list(_simultaneous_bands(round_, POINTS))
    return pd.concat([own, *bands], ignore_index=True) if bands else own


def _simultaneous_bands(round_: Round, points: int) -> Iterator[pd.DataFrame]:
    """Yield rows of `densities` on so many points: bands under the assumed smoothness, and distribution-free bands."""
    attributes = round_.aggregate.scheme.attributes
    named: list[tuple[str, str, dict[str, Any]]] = [
        *((name, BIAS_AWARE, {"second_derivative": float(attributes[name].assume or 0)}) for name in round_.assumed),
        *((name, DISTRIBUTION_FREE, {"distribution_free": True}) for name in round_.any_law),
    ]
    for name, estimator, laws in named:
        estimate = round_.estimates[name]
        assert isinstance(estimate, DensityEstimate)  # schemes have these keys for densities only
        try:
            yield estimate.to_frame(points, **laws).assign(attribute=name, estimator=estimator, given="")
        except NotEstimable:
            continue  # the functionals have the reason


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
        {"attribute": name, "estimator": estimator, "given": group, **row_of(result)}
        for name, estimator, group, results in asked
        for result in results
    ]
    return _frame(rows, **dict.fromkeys(NUMBERS, "float64"))


def _sensitivities(round_: Round) -> pd.DataFrame:
    """Sensitivity to malicious reports of each functional, and of the curves at their most sensitive point."""
    asked = [(estimate, round_.functionals[name]) for name, estimate in round_.estimates.items()]
    asked += [(group.estimate, group.functionals) for group in round_.groups if group.estimate is not None]
    rows: list[tuple[Any, ...]] = []
    for estimate, results in asked:
        key = (estimate.attribute, estimate.estimator, estimate.given)
        if isinstance(estimate, FrequencyEstimate) and estimate.sensitivities is not None:
            moves = zip(estimate.categories, estimate.sensitivities, strict=True)
            exact = estimate.exposure is not None and estimate.exposure.is_constant
            rows += [(*key, f"frequency({category})", float(moved), exact) for category, moved in moves]
        if isinstance(estimate, DensityEstimate):
            along = estimate.curve_sensitivity(np.linspace(estimate.density.lower, estimate.density.upper, POINTS))
            rows += [(*key, name, float(curve.max()), False) for name, curve in zip(_CURVES, along or (), strict=False)]
        available = [result.functional for result in results if not result.is_refused]
        shifts = {name: estimate.sensitivity(parse(name)) for name in available}
        rows += [
            (*key, name, shift.value, shift.is_exact)
            for name, shift in shifts.items()
            if shift is not None and math.isfinite(shift.value)
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
    """Stated and certified budgets with their charges; charges by token are added for collected reports (`spending`)."""
    unknown = dict.fromkeys(column.name for column in fields(TokenCharges))
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
    """Return the rows of `truths`: densities, frequencies and functionals of the population."""
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
            members = _members(scheme, population, group.group)
            rows += list(_truth_rows(attribute, asked, population, group.estimate, group.given, members))
        except SchemeError:
            continue  # no simulated client has that category, so the group has no true values
    return _frame(rows, "attribute given quantity x value")


def _truth_rows(
    attribute: Attribute, asked: list[str], population: Any, estimate: Any, group: str, members: Any = None
) -> Iterator[tuple[Any, ...]]:
    name = attribute.name
    if attribute.kind == PLANE:
        return  # a joint attribute has no estimates of its own
    if attribute.is_open:
        law = cell_law(attribute, population, members)
        shares = {attribute.value_of(cell): share for cell, share in law.tolist()}
        for text in shares if estimate is None else estimate.categories:
            yield name, group, f"frequency({text})", None, shares.get(text, 0.0)
        return
    if attribute.has_density:
        yield from _numeric_truths(attribute, asked, population.truth(name, members), estimate, group)
        nonresponse = getattr(population, "nonresponse", {}).get(name, 0.0)
        yield from ((name, group, f"frequency({category})", None, nonresponse) for category in attribute.categories)
    else:
        numbers, probabilities = attribute.numbers(), category_law(attribute, population, members)
        for category, value in zip(attribute.categories, attribute.shares(probabilities), strict=True):
            yield name, group, f"frequency({category})", None, float(value)
        answered = probabilities[: len(numbers)] / max(probabilities[: len(numbers)].sum(), np.finfo(float).tiny)
        for functional in dict.fromkeys(map(parse, asked)):
            value = functional.of_probabilities(answered, attribute.numbers(functional))
            yield name, group, str(functional), None, value


def _members(scheme: Scheme, population: Any, group: Group) -> Any:
    """A group as a population describes it: its name or, for a numeric range, the proportions of the population's groups."""
    if group.attribute not in scheme.reported:
        raise SchemeError("weights: a simulated population has none")
    attribute = scheme.reported[group.attribute]
    if attribute.bins is None:
        return str(group)
    place = attribute.categories.index(group.category)
    joint = {
        own: weight * category_law(attribute, population, own)[place] for own, weight in population.weights.items()
    }
    if not any(joint.values()):
        raise SchemeError(f"population {population.name!r}: no client in group {str(group)!r}")
    return {own: share / sum(joint.values()) for own, share in joint.items()}


def _numeric_truths(
    attribute: Attribute, asked: list[str], truth: Any, estimate: Any, group: str
) -> Iterator[tuple[Any, ...]]:
    name, truth = attribute.name, truth.clipped(attribute.lower, attribute.upper)
    points = truth if hasattr(truth, "probabilities") else None
    if estimate is not None and points is None:
        x = estimate.to_frame(POINTS)["x"].to_numpy()
        for point, value in zip(x, truth.pdf(x), strict=True):
            yield name, group, "density", float(point), float(value)
    for functional in dict.fromkeys(map(parse, asked)):
        with suppress(
            SchemeError
        ):  # functionals that a discrete distribution, or one without derivatives, does not have
            value = (
                functional.of_probabilities(points.probabilities, points.values) if points else functional.value(truth)
            )
            yield name, group, str(functional), None, value


def _joint_tables(joints: Sequence[PairEstimates]) -> dict[str, pd.DataFrame]:
    """Return the frames of `joint` and `associations`; they are empty if the scheme has no such pair."""
    cells = [_joint_cells(pair) for pair in joints if pair.has_table]
    rows = [row for pair in joints for row in _joint_rows(pair)]
    types = {**dict.fromkeys((*NUMBERS, "statistic", "p_value"), "float64"), "degrees": "Int64", "reason": "object"}
    return {
        "joint": pd.concat(cells, ignore_index=True) if cells else pd.DataFrame(),
        "associations": pd.DataFrame([dict.fromkeys(types) | row for row in rows]).astype(types)
        if rows
        else pd.DataFrame(),
    }


def _joint_cells(pair: PairEstimates) -> pd.DataFrame:
    """The two-way table, sorted by the parts of both attributes."""
    cells = pair.table().rename(columns={"first": "first_part", "second": "second_part"})
    places = {f"{side}_position": pd.factorize(cells[f"{side}_part"])[0] for side in ("first", "second")}
    return cells.assign(first=pair.first, second=pair.second, **places)


def _joint_rows(pair: PairEstimates) -> Iterator[dict[str, Any]]:
    """The functionals, then the tests; or one row with the reason why there are none."""
    named = {"first": pair.first, "second": pair.second, "first_part": "", "second_part": ""}
    for number in pair.numbers:
        parts = {"first_part": number.first_part, "second_part": number.second_part}
        yield named | parts | row_of(number.result)
    for test in pair.tests:
        values = {"statistic": test.statistic, "degrees": test.degrees, "p_value": test.p_value}
        yield named | {"functional": test.name, "kind": "test", **values}
    if pair.reason:
        yield named | {"functional": "independence", "kind": "test", "reason": pair.reason}
