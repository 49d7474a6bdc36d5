"""The smallest differences that an experiment finds, with a given power, between an arm and the control arm.

The expected estimate of each arm (`expected_aggregate`) has the standard error and the interval of a round.  A difference is
significant if its interval excludes zero, so that a true one of

    distance to the interval's limit + z_power * standard error

is found with that power.  Both are those without a difference; they change little with it, because the noise dominates.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from dpcore import pipeline
from dpcore.errors import NotEstimable, SchemeError, check_within
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.estimation.inference.comparison import difference
from dpcore.functionals import parse
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import category_law
from dpcore.protocol.syntax import canonical
from dpcore.protocol.syntax.keys import PLANE
from dpcore.results.tables.comparisons import outcomes, unavailable
from dpcore.rounds.planning.assumed_population import expected_aggregate
from dpcore.rounds.planning.search import LEAST_CLIENTS, MOST_CLIENTS


@dataclass(frozen=True)
class Detectable:
    """The smallest detectable difference of an outcome between arms of one size and the control arm, in the outcome's unit.

    reports: of each arm and of the control arm.  difference: None if there would be no estimate, for `reason`.
    """

    label: str
    arms: tuple[str, ...]
    reports: tuple[int, int]
    attribute: str
    functional: str
    difference: float | None
    reason: str


def detectable(scheme: Scheme, people: Any, *, clients: int, power: float = 0.8) -> list[Detectable]:
    """Return the smallest differences that are significant at 5 %, two-sided and alone, with this power.

    people: the population that the scheme assumes (`assumed_population`).
    Arms have the proportions that the scheme's `simulate` states for the label, else equal ones.
    Raises SchemeError if no label has a control arm.
    """
    check_within(0.05, 0.999, power=power)
    rows = []
    for label in (label for label in scheme.labels.values() if label.control):
        sizes = _sizes(scheme, label, people, clients)
        check_within(LEAST_CLIENTS, MOST_CLIENTS, **{"reports of an arm": min(sizes.values())})
        estimates = {size: _estimates(scheme, people, size) for size in set(sizes.values())}
        control = sizes.pop(label.control)
        for size in sorted(set(sizes.values())):
            arms = tuple(arm for arm in sizes if sizes[arm] == size)
            for key, result in estimates[size].items():
                smallest = _smallest(result, estimates[control][key], power)
                rows.append(Detectable(label.name, arms, (size, control), *key, *smallest))
    if not rows:
        raise SchemeError("no label has a control arm; add control = CATEGORY to its table [labels.NAME]")
    return rows


def _sizes(scheme: Scheme, label: Attribute, people: Any, clients: int) -> dict[str, int]:
    """The reports of each arm for one attribute."""
    law = np.full(len(label.categories), 1 / len(label.categories))
    if label.name in scheme.simulate:
        law = category_law(label, people)
    units = 1 if scheme.reporting == "all" else len(scheme.units)
    return {arm: max(1, int(clients * share) // units) for arm, share in zip(label.categories, law, strict=True)}


def _estimates(scheme: Scheme, people: Any, reports: int) -> dict[tuple[str, str], FunctionalEstimate]:
    """Attribute and functional -> the expected estimate of so many reports."""
    document = tomllib.loads(scheme.canonical)
    del document["labels"]
    for name in (name for name, attribute in scheme.attributes.items() if attribute.is_open):
        del document["attributes"][name]  # texts are not known beforehand
    if not document["attributes"]:
        raise SchemeError(
            "the scheme asks for texts only, which are not known beforehand; plan for their visible_share"
        )
    plain = Scheme.from_toml(canonical.dumps(document | {"pairs": []}) + "\n")
    aggregate = expected_aggregate(plain, people, reports)
    results: dict[tuple[str, str], FunctionalEstimate] = {}
    for name, attribute in plain.attributes.items():
        if attribute.kind == PLANE:
            continue
        functionals = list(map(parse, attribute.functionals))
        try:
            estimate = pipeline.estimate(aggregate, name)
            own = outcomes(estimate, map(estimate.functional, functionals), attribute)
            results |= {(name, one.functional): one for one in own}
        except (NotEstimable, np.linalg.LinAlgError) as error:
            results |= {(name, one.functional): one for one in unavailable(attribute, str(error))}
    return results


def _smallest(arm: FunctionalEstimate, control: FunctionalEstimate, power: float) -> tuple[float | None, str]:
    """The difference, or None and the reason."""
    compared = difference(arm, control)
    if compared.difference is None or compared.low is None or compared.high is None or compared.standard_error is None:
        return None, arm.reason or control.reason or ""
    reach = max(compared.difference - compared.low, compared.high - compared.difference)
    return reach + NormalDist().inv_cdf(power) * compared.standard_error, ""
