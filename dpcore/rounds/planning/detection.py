"""The smallest differences that an experiment finds: those between an arm and the control arm with a given power.

Each arm's estimate from its expected aggregate (`expected_aggregate`) has the standard error and the interval of a round.  A
difference is significant if its interval excludes zero, so a true one of

    distance to the interval's limit + z_power * standard error

is found with that power.  Both are for equal arms; they change little with the difference, because the noise dominates.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from dpcore import pipeline
from dpcore.errors import NotEstimable, SchemeError, check_within
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.estimation.inference.comparison import difference, shares
from dpcore.functionals import parse
from dpcore.protocol.attribute import Attribute
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import category_law
from dpcore.protocol.syntax import toml_writer
from dpcore.protocol.syntax.keys import PLANE
from dpcore.rounds.planning.assumed_population import population_of
from dpcore.rounds.planning.expected_aggregate import expected_aggregate


@dataclass(frozen=True, kw_only=True)
class Detectable:
    """The smallest detectable difference of an outcome between arms of one size and the control arm, in the outcome's unit.

    reports: of each arm and of the control arm.  difference: None if there would be no estimate, for `reason`.
    """

    label: str
    arms: tuple[str, ...]
    reports: tuple[int, int]
    attribute: str
    functional: str
    difference: float | None = None
    reason: str = ""


def detectable(scheme: Scheme, *, clients: int, power: float = 0.8) -> list[Detectable]:
    """Return the smallest differences that are significant at 5 %, two-sided and alone, with this power.

    Arms have the proportions that the scheme's `simulate` states for the label, else equal ones.
    Raises SchemeError if no label has a control arm.
    """
    check_within(0.05, 0.999, power=power)
    experiments = [label for label in scheme.labels.values() if label.control]
    if not experiments:
        raise SchemeError("no label has a control arm; add control = CATEGORY to its table [labels.NAME]")
    people, rows = population_of(scheme), []
    document = tomllib.loads(scheme.canonical)
    plain = Scheme.from_toml(
        toml_writer.dumps({key: value for key, value in document.items() if key not in ("labels", "pairs")}) + "\n"
    )
    for label in experiments:
        sizes = _sizes(scheme, label, people, clients)
        control = _estimates(plain, people, sizes[label.control])
        for size in sorted({sizes[arm] for arm in label.categories if arm != label.control}):
            arms = tuple(arm for arm in label.categories if arm != label.control and sizes[arm] == size)
            estimates = control if size == sizes[label.control] else _estimates(plain, people, size)
            for (attribute, functional), arm in estimates.items():
                smallest, reason = _smallest(arm, control.get((attribute, functional), arm), power)
                rows.append(
                    Detectable(
                        label=label.name,
                        arms=arms,
                        reports=(size, sizes[label.control]),
                        attribute=attribute,
                        functional=functional,
                        difference=smallest,
                        reason=reason,
                    )
                )
    return rows


def _sizes(scheme: Scheme, label: Attribute, people: Any, clients: int) -> dict[str, int]:
    """The reports of each arm for one attribute."""
    law = np.full(len(label.categories), 1 / len(label.categories))
    if label.name in scheme.simulate:
        law = category_law(label, people)
    units = 1 if scheme.reporting == "all" else len(scheme.units)
    return {arm: max(1, int(clients * share) // units) for arm, share in zip(label.categories, law, strict=True)}


def _estimates(scheme: Scheme, people: Any, reports: int) -> dict[tuple[str, str], FunctionalEstimate | str]:
    """Attribute and functional -> the expected estimate of so many reports, or why there would be none."""
    aggregate = expected_aggregate(scheme, people, reports)
    results: dict[tuple[str, str], FunctionalEstimate | str] = {}
    for name, attribute in scheme.attributes.items():
        if attribute.kind == PLANE:
            continue
        try:
            for result in _outcomes(pipeline.estimate(aggregate, name), attribute):
                results[name, result.functional] = result
        except (NotEstimable, np.linalg.LinAlgError) as error:
            functionals = () if attribute.is_numeric else (f"frequency({one})" for one in attribute.categories)
            results |= {(name, one): str(error) for one in (*functionals, *map(str, map(parse, attribute.functionals)))}
    return results


def _outcomes(estimate: Any, attribute: Attribute) -> Iterator[FunctionalEstimate]:
    if isinstance(estimate, FrequencyEstimate) and not attribute.is_numeric:
        yield from shares(estimate)
    yield from map(estimate.functional, map(parse, attribute.functionals))


def _smallest(
    arm: FunctionalEstimate | str, control: FunctionalEstimate | str, power: float
) -> tuple[float | None, str]:
    """The difference, or None and the reason."""
    if isinstance(arm, str) or isinstance(control, str):
        return None, next(side for side in (arm, control) if isinstance(side, str))
    compared = difference(arm, control)
    if compared.difference is None or compared.low is None or compared.high is None or compared.standard_error is None:
        return None, compared.reason or ""
    reach = max(compared.difference - compared.low, compared.high - compared.difference)
    return reach + NormalDist().inv_cdf(power) * compared.standard_error, ""
