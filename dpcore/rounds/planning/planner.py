"""The planner: computes one of clients, epsilon and error from the other two, for one quantity.

The error of a functional or a frequency is its standard error in the estimate from the expected aggregate
(`expected_aggregate`), with the mechanism, estimator and inference of a round, so formulas are not repeated here.  The error of
a density is the root of its mean integrated squared error relative to the norm of the density.  It has no closed form because
of level rules and priors, so it is the mean over a few simulated rounds with fixed seeds.

(1) Exactly one of the three is computed.  (2) The result is sufficient: with the returned clients or epsilon, rounded up to
three digits, the error is at most the target.  (3) The population is the scheme's or an assumed one, and the plan names it.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.errors import DPCoreError, NotEstimable, SchemeError, check_positive, check_within
from dpcore.estimation import registry
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.frequency.frequency_estimate import FrequencyEstimate
from dpcore.functionals import Cdf, parse
from dpcore.mechanisms.calibration import wave_design
from dpcore.mechanisms.categorical.option_sets import is_joint_share
from dpcore.mechanisms.categorical.randomized_response import RandomizedResponse
from dpcore.mechanisms.registry import BY_KIND, options_of
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import category_law
from dpcore.protocol.syntax import canonical, keys
from dpcore.protocol.syntax.fields import listed
from dpcore.rounds.planning.aims import DENSITY, FREQUENCY, VISIBLE, Aim, Forecast, Plan
from dpcore.rounds.planning.assumed_population import (
    Assumed,
    density_ratio,
    expected_aggregate,
    lower_bound,
    population_of,
)
from dpcore.rounds.planning.joint_plan import PairAim, PairPlan, plan_pair
from dpcore.rounds.planning.search import LEAST_CLIENTS, MOST_CLIENTS, WITHIN, fewest_clients, least, rounded_epsilon

LEAST_EPSILON, MOST_EPSILON = Fraction(1, 100), Fraction(16)
_ROUNDS = 12  # simulated rounds for the error of a density
_BESIDE = ("client", "estimator", "level_rule", "level")  # keys that depend on the mechanism, besides its own options


@dataclass(frozen=True, eq=False)
class Planner:
    """A planner for a scheme and a population.

    document: the TOML, decimals as texts.  population: default, that of the scheme's name, or an assumed one.
    part: effective fraction of the clients: the share of a group by label, divided by the design effect of weights.
    """

    document: Mapping[str, Any]
    population: Any = None
    part: float = 1.0

    @classmethod
    def read(
        cls, source: str | Path, population: Any = None, *, share: float = 1.0, design_effect: float = 1.0
    ) -> Planner:
        """Return the planner of a scheme file (a path) or TOML text (a string with a line break).

        share: a group's fraction of the clients, in (0, 1].  design_effect: of weights, at least 1.  Raises SchemeError.
        """
        if not 0 < share <= 1:
            raise SchemeError(f"share: a group's fraction of the clients must be above 0 and at most 1, got {share:g}")
        if not 1 <= design_effect < math.inf:
            raise SchemeError(f"design_effect: must be at least 1 (see the table weights), got {design_effect:g}")
        scheme = Scheme.from_toml(source)  # raises for an invalid scheme
        scheme.check_asked()
        text = source if isinstance(source, str) and "\n" in source else Path(source).read_text(encoding="utf-8")
        document = tomllib.loads(text, parse_float=str)
        document.pop("simulate", None)  # for dry runs only
        return cls(MappingProxyType(document), population or population_of(scheme), share / design_effect)

    def plan(
        self,
        aim: Aim,
        *,
        clients: int | None = None,
        epsilon: str | float | Fraction | Budget | None = None,
        error: float | None = None,
    ) -> Plan:
        """Return the plan with the missing one of clients, epsilon and error.

        Without an error, the defaults of clients and epsilon are those of the scheme.
        Raises SchemeError unless exactly one is missing, NotEstimable if the target is out of range.
        """
        self._check(aim)
        budget = None if epsilon is None else Budget.parse(epsilon)
        if clients is not None:
            check_within(LEAST_CLIENTS, MOST_CLIENTS, clients=clients)
        if error is None:
            clients = clients or self._scheme.clients
            budget = budget or self._scheme.attributes[aim.attribute].budget
            forecast = self.forecast(aim, clients, budget)
            if forecast.error is None:
                raise NotEstimable(
                    f"{aim.quantity} of {aim.attribute}: no estimate would be available: {forecast.reason}"
                )
            return self._answer(aim, "error", clients, budget, forecast)
        check_positive(error=error)
        if (clients is None) == (budget is None):
            raise SchemeError(
                "clients, epsilon, error: give exactly two of them, got "
                + ("all three" if clients is not None else "the error only; add clients or epsilon")
            )
        if budget is not None:
            clients = self._clients(aim, budget, error)
            return self._answer(aim, "clients", clients, budget, self.forecast(aim, clients, budget), error)
        assert clients is not None  # checked above
        budget = self._epsilon(aim, clients, error)
        return self._answer(aim, "epsilon", clients, budget, self.forecast(aim, clients, budget), error)

    def forecast(self, aim: Aim, clients: int, budget: Budget, mechanism: str | None = None) -> Forecast:
        """Return the expected result with so many clients; mechanism: another one than the scheme's, with its defaults."""
        scheme, reports = self._redesigned(aim, clients, budget, mechanism)
        attribute = scheme.attributes[aim.attribute]
        name = attribute.mechanism.name
        people = self._people
        visible = registry.named(attribute).visible_share(attribute.mechanism, reports)
        if visible is not None:
            return Forecast(mechanism=name, error=visible)
        if aim.quantity == DENSITY:
            return Forecast(mechanism=name, error=_density_error(scheme, aim.attribute, people, reports))
        try:
            estimate = pipeline.estimate(expected_aggregate(scheme, people, reports), aim.attribute)
        except (NotEstimable, np.linalg.LinAlgError) as exception:
            return Forecast(mechanism=name, error=None, reason=str(exception))
        law = None if attribute.has_density else attribute.shares(category_law(attribute, people))
        return _read(estimate, aim, name, law)

    def plan_pair(self, aim: PairAim, *, clients: int | None = None, error: float | None = None) -> PairPlan:
        """Return the error of a joint functional for each design, or the clients that an error needs."""
        document = {**self.document, "clients": self._scheme.clients}
        return plan_pair(document, self._people, aim, clients=clients, error=error)

    # The parts of `plan`

    def _clients(self, aim: Aim, budget: Budget, error: float, mechanism: str | None = None) -> int:
        """The smallest number of clients, to three digits."""

        def error_of(number: int) -> float | None:
            return self.forecast(aim, number, budget, mechanism).error

        clients = fewest_clients(error_of, error, self._scheme.clients)
        if clients is None:
            raise NotEstimable(
                f"{aim.quantity} of {aim.attribute}: an error of {error:g} at epsilon = {budget.text} needs more than "
                f"{MOST_CLIENTS:,} clients; use a larger epsilon or a larger error"
            )
        return clients

    def _epsilon(self, aim: Aim, clients: int, error: float, mechanism: str | None = None) -> Budget:
        """The smallest epsilon, to three digits."""
        has_purpose = mechanism is None and "purpose" in self.document["attributes"][aim.attribute]
        most = min(MOST_EPSILON, Fraction(wave_design.MOST_EPSILON)) if has_purpose else MOST_EPSILON

        def budget(exponent: float) -> Budget:
            return min(Budget.parse(rounded_epsilon(exponent)), Budget(most), key=float)

        def error_of(exponent: float) -> float | None:
            return self.forecast(aim, clients, budget(exponent), mechanism).error

        low, high = (math.log10(float(end)) for end in (LEAST_EPSILON, most))
        start = math.log10(float(self._scheme.attributes[aim.attribute].budget))
        exponent = least(error_of, error, low=low, high=high, start=start, slope=1.0, within=WITHIN)
        if exponent is None:
            best = min(self._choices(aim, clients, Budget(most)), key=_size)
            least_error = "no mechanism has an estimate"
            if best.error is not None:
                least_error = f"the smallest error of any mechanism is {best.error:.3g}, with {best.mechanism}"
            raise NotEstimable(
                f"{aim.quantity} of {aim.attribute}: an error of {error:g} with {clients:,} clients needs epsilon above "
                f"{most}; {least_error}"
            )
        return budget(exponent)

    def _choices(self, aim: Aim, clients: int, budget: Budget, apart: str = "") -> list[Forecast]:
        """The forecasts of all mechanisms except `apart`, with their defaults."""
        choices = []
        for name in BY_KIND[self._scheme.attributes[aim.attribute].kind]:
            if name == apart:
                continue
            try:
                choices.append(self.forecast(aim, clients, budget, name))
            except DPCoreError as exception:  # this mechanism does not support this epsilon
                choices.append(Forecast(mechanism=name, error=None, reason=str(exception)))
        return choices

    def _answer(
        self, aim: Aim, missing: str, clients: int, budget: Budget, forecast: Forecast, error: float | None = None
    ) -> Plan:
        assert forecast.error is not None
        choices = sorted([forecast, *self._choices(aim, clients, budget, forecast.mechanism)], key=_size)
        needed: int | Budget | None = None
        if error is not None and choices[0] is not forecast:
            name = choices[0].mechanism
            other = missing == "clients"
            needed = self._clients(aim, budget, error, name) if other else self._epsilon(aim, clients, error, name)
        attribute, promised = self._scheme.attributes[aim.attribute], self._promised(aim, budget)
        redesigned, reports = self._redesigned(aim, clients, budget, None)
        from dpcore.audit.publication import planned  # a slow import

        return Plan(
            aim=aim,
            missing=missing,
            clients=clients,
            epsilon=budget,
            total=promised.budget,
            published=planned(promised, clients),
            delta=attribute.delta,
            total_delta=self._scheme.delta,
            error=forecast.error,
            unit=self._unit(aim),
            people=self._people.name,
            forecast=forecast,
            choices=tuple(choices),
            needed=needed,
            limit=lower_bound(attribute, aim.quantity, self._people, budget, reports),
            of_curve=density_ratio(redesigned.attributes[aim.attribute], aim.quantity, reports),
            may_be_silent=self._may_be_silent(aim),
            one_bin=self._one_bin(aim, clients, forecast.value, budget),
        )

    def _promised(self, aim: Aim, budget: Budget) -> Scheme:
        """The scheme with the attribute's epsilon."""
        document = {**self.document, "attributes": dict(self.document["attributes"])}
        table = dict(document["attributes"][aim.attribute])
        if Budget.parse(table["epsilon"]) != budget:
            document["attributes"][aim.attribute] = table | {"epsilon": budget.text}
        return _parsed(document)

    def _may_be_silent(self, aim: Aim) -> bool:
        attribute = self._scheme.attributes[aim.attribute]
        return attribute.is_numeric and attribute.missing == "category" and FREQUENCY.match(aim.quantity) is None

    def _one_bin(self, aim: Aim, clients: int, value: float | None, budget: Budget) -> float | None:
        """The error of the proportion below a value from one bit of randomized response."""
        if value is None or aim.quantity == DENSITY or FREQUENCY.match(aim.quantity):
            return None
        if not isinstance(parse(aim.quantity), Cdf) or not self._scheme.attributes[aim.attribute].has_density:
            return None
        return math.sqrt(RandomizedResponse.design(budget, categories=2).variance(value, self._reports(clients)))

    # The scheme, planned otherwise

    @cached_property
    def _scheme(self) -> Scheme:
        return _parsed(self.document)

    @cached_property
    def _people(self) -> Any:
        return self.population if self.population is not None else Assumed()

    def _reports(self, clients: int) -> int:
        units = 1 if self._scheme.reporting == "all" else len(self._scheme.units)
        return max(1, int(clients * self.part) // units)

    def _redesigned(self, aim: Aim, clients: int, budget: Budget, mechanism: str | None) -> tuple[Scheme, int]:
        """The scheme of that attribute alone, and its number of reports."""
        table = dict(self.document["attributes"][aim.attribute])
        attribute = self._scheme.attributes[aim.attribute]
        planned = clients if self._scheme.reporting == "all" else max(1, clients // len(self._scheme.attributes))
        is_changed = (clients, budget) != (self._scheme.clients, attribute.budget)
        if mechanism is not None:
            own = {*_BESIDE, *options_of(attribute.kind)}
            table = {key: value for key, value in table.items() if key not in own} | {"mechanism": mechanism}
        elif "client" in table and is_changed:
            raise SchemeError(
                f"attributes.{aim.attribute}: its integers are fixed by a client table; plan with the original scheme"
            )
        table["epsilon"] = budget.text
        table.pop("functionals", None)  # only the aim is planned, but joint shares decide the size of a set's reports
        joint = list(filter(is_joint_share, attribute.functionals))
        if joint or (is_joint_share(aim.quantity) and "size" not in table):
            table["functionals"] = joint or [aim.quantity]
        document = {"name": self._scheme.name, "clients": planned, "attributes": {aim.attribute: table}}
        return _parsed(document), self._reports(clients)

    def _check(self, aim: Aim) -> None:
        """Raise SchemeError if the attribute does not have the quantity."""
        attributes = self._scheme.attributes
        if aim.attribute not in attributes:
            raise SchemeError(f"aim: the scheme has no attribute {aim.attribute!r}; it has {', '.join(attributes)}")
        attribute, share = attributes[aim.attribute], FREQUENCY.match(aim.quantity)
        if attribute.kind == keys.PLANE:
            raise SchemeError(
                f"{aim.attribute}: a joint attribute; plan for a joint quantity, such as "
                f'"{", ".join(attribute.of or ())}: correlation"'
            )
        if attribute.is_open or aim.quantity == VISIBLE:
            if not attribute.is_open or aim.quantity != VISIBLE:
                kind = f'is a text; plan for "{VISIBLE}"' if attribute.is_open else "is not a text"
                raise SchemeError(f"{aim.attribute}: {kind}, got {aim.quantity!r}")
        elif share is not None:
            if share[1] not in attribute.categories:
                kinds = "no categories" if attribute.has_density else f"the categories {listed(attribute.categories)}"
                raise SchemeError(f"{aim.attribute}: has {kinds}, got {aim.quantity!r}")
        elif aim.quantity == DENSITY:
            if not attribute.has_density:
                raise SchemeError(f"{aim.attribute}: categorical, without a density; use frequency(CATEGORY)")
        else:
            functional = parse(aim.quantity)
            if not attribute.has_numbers:
                raise SchemeError(f"{aim.attribute}: its categories have no numeric values; use frequency(CATEGORY)")
            reason = attribute.refusal(functional)
            if reason is not None:
                raise SchemeError(f"{aim.quantity!r} of {aim.attribute}: {reason}")

    def _unit(self, aim: Aim) -> str:
        if aim.quantity in (DENSITY, VISIBLE):
            return "relative to the density's norm" if aim.quantity == DENSITY else ""
        attribute = self._scheme.attributes[aim.attribute]
        is_share = FREQUENCY.match(aim.quantity) is not None
        is_measured = attribute.is_numeric or not attribute.is_exclusive
        has_unit = is_measured and not is_share and parse(aim.quantity).unit == 1
        return attribute.unit if has_unit else ""


def _size(forecast: Forecast) -> float:
    return math.inf if forecast.error is None else forecast.error


def _parsed(document: Mapping[str, Any]) -> Scheme:
    return Scheme.from_toml(canonical.dumps(document) + "\n")


def _read(estimate: DensityEstimate | FrequencyEstimate, aim: Aim, mechanism: str, law: np.ndarray | None) -> Forecast:
    share = FREQUENCY.match(aim.quantity)
    if share is not None and isinstance(estimate, DensityEstimate) and estimate.silence is not None:
        return Forecast(mechanism=mechanism, error=float(estimate.silence.standard_errors[0]), value=0.0)
    if share is not None and law is not None and isinstance(estimate, FrequencyEstimate):
        place = estimate.categories.index(share[1])
        return Forecast(mechanism=mechanism, error=float(estimate.standard_errors[place]), value=float(law[place]))
    result = estimate.functional(parse(aim.quantity))
    return Forecast(mechanism=mechanism, error=result.standard_error, value=result.value, reason=result.reason or "")


def _density_error(scheme: Scheme, attribute: str, people: Any, reports: int) -> float | None:
    """The root mean integrated squared error relative to the density's norm; None if no round has an estimate."""
    described = scheme.attributes[attribute]
    lower, upper = float(described.lower), float(described.upper)
    cells = 1 << 10
    edges = np.linspace(lower, upper, cells + 1)
    truth = np.asarray(people.cell_probabilities(attribute, lower, upper, cells)) * cells
    middle, width = (edges[1:] + edges[:-1]) / 2, upper - lower
    squares = []
    for seed in range(_ROUNDS):
        try:
            density = pipeline.estimate(pipeline.simulate(scheme, people, seeded(seed), reports), attribute)
        except (NotEstimable, np.linalg.LinAlgError):
            continue
        squares.append(np.mean((density(middle) * width - truth) ** 2))
    return float(np.sqrt(np.mean(squares) / np.mean(truth**2))) if squares else None
