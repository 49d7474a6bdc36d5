"""The study of malicious clients: gains of attacks compared with theory and stated bounds, and how often checks detect them.

Each mechanism has a round of honest clients in eight batches, and malicious ones: a share beta of all reports, who all come in
the last batch or spread over all.  Of frequency oracles the five rarest of 101 categories are the targets.  Of densities it is
a functional, and MGA's counterpart sends the report that raises it most, at the level where it is worth most or, as a
public hash of a token makes clients do, at the level they are given.  What honest reports show beside the truth is drawn from
its law.

Rows.  `method` is the mechanism, `parameters` the attack and beta, `target` the targets' frequency or the functional, and

    bias         mean of the rise, with its 95 % interval
    theory       what it is by `audit.gains`; printed: what [Cao2021] have, for three oracles
    of_bound     the largest |rise| over the bound that the poisoned estimate states; exact_of_bound where it is stated as exact
    seen:CHECK   share of rounds that a check does not pass, with Clopper and Pearson's 95 % interval; seen:any: some check.
                 "CHECK, spread": where malicious clients come in all batches, which is one to every check but homogeneity
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import numpy as np
import pandas as pd

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.audit.attacks.lower_bound import binomial_interval
from dpcore.estimation.estimators import Estimator, Fixed, Projection
from dpcore.functionals import Cdf, Entropy, Functional, Mean, Quantile
from dpcore.laboratory import attack_gains
from dpcore.laboratory.attacks import Attack, MaximalGain, MaximalInfluence, RandomItem, RandomReports
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets import densities as targets
from dpcore.mechanisms import Mechanism
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.scheme import Scheme
from dpcore.results.checks import poisoning

CLIENTS = 100_000
ORACLES = ("randomized_response", "unary_encoding", "subset_selection", "hadamard_response", "local_hashing")
DENSITIES = ("dyadic_wave", "square_wave", "wavelet_laplace")
FIXED = "wavelet_laplace_fixed"  # in V_3, without the mass: a linear estimator
METHODS = (*ORACLES, *DENSITIES, FIXED)
BETAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)  # of all reports, for checks
BIASED = (0.01, 0.05, 0.1)  # for densities, which are fitted
RANDOM, ITEM, MAXIMAL, OWN = "random", "random item", "maximal gain", "maximal gain at the given level"
FUNCTIONALS: tuple[Functional, ...] = (Mean(), Cdf(0.3), Quantile(0.5), Entropy())
SPREAD = ", spread"  # after a check's name: malicious clients come in all batches
LEAST_REPETITIONS = 20
_BATCHES = 8
_CATEGORIES, _TARGETS, _FREQUENCY = 101, 5, 0.1
_LN3, _DENSITY = "ln 3", "beta_2_5"
_PER_FIT, _PER_BIAS = 50, 4  # repetitions of checks for each of a fit, and of a frequency oracle's
_ERRORS, _FALSE, _FIRST_ORDER, _PRINTED, _SEEN = 4.0, 2.0, 1.2, 0.03, 0.9


def measure(method: str, repetitions: int) -> pd.DataFrame:
    """Return the rows of one method, of so many rounds; a tenth of them are fitted."""
    trial = Trial(method)
    rows = (
        trial.frequencies(max(LEAST_REPETITIONS, repetitions // _PER_BIAS))
        if method in ORACLES
        else trial.densities(max(3, repetitions // _PER_FIT))
    )
    if method != FIXED:
        rows += trial.seen(repetitions)
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class Trial:
    """Rounds of one method's mechanism."""

    method: str

    @property
    def is_oracle(self) -> bool:
        return self.method in ORACLES

    @property
    def epsilon(self) -> float:
        return log(3) if self.is_oracle else 1.0

    @cached_property
    def scheme(self) -> Scheme:
        head = f'name = "attackers"\nclients = {CLIENTS}\n[attributes.x]\n'
        if self.is_oracle:
            categories = [f"c{i}" for i in range(_CATEGORIES)]
            kind = f'type = "categorical"\nepsilon = "{_LN3}"\ncategories = {categories}\n'
        else:
            kind = 'type = "numeric"\nepsilon = 1\nlower = 0\nupper = 1\n'
        return Scheme.from_toml(f'{head}{kind}mechanism = "{self.method.removesuffix("_fixed")}"\n')

    @property
    def mechanism(self) -> Mechanism:
        return self.scheme.attributes["x"].mechanism

    @cached_property
    def law(self) -> np.ndarray:
        """The honest clients' input cells; a tenth of them hold a target, which are the last categories."""
        if not self.is_oracle:
            return targets.target(_DENSITY).cell_probabilities("x", 0.0, 1.0, self.mechanism.inputs)
        others = np.full(_CATEGORIES - _TARGETS, (1 - _FREQUENCY) / (_CATEGORIES - _TARGETS))
        return np.append(others, np.full(_TARGETS, _FREQUENCY / _TARGETS))

    @cached_property
    def targets(self) -> tuple[int, ...]:
        inputs = self.mechanism.inputs
        return tuple(range(inputs - _TARGETS, inputs)) if self.is_oracle else (inputs - 1,)

    def honest(self, repetition: int) -> list[Aggregate]:
        """The batches of a round."""
        random = seeded(runner.seed(Cell("honest", CLIENTS, self.epsilon), self.method, repetition))
        generator = random.generator()
        batches = []
        for _ in range(_BATCHES):
            n = CLIENTS // _BATCHES
            statistics = self.mechanism.simulate(generator.multinomial(n, self.law), random)
            beside = [generator.multinomial(n, law) for law in self.mechanism.marginal_laws()]
            batches.append(self._aggregate(n, statistics, np.concatenate(beside) if beside else np.zeros(0, np.int64)))
        return batches

    def _aggregate(self, n: int, statistics: np.ndarray, marginals: np.ndarray) -> Aggregate:
        beside = {"x": marginals} if len(marginals) else {}
        return Aggregate(self.scheme, n, {"x": statistics}, {}, {"x": n}, marginals=beside)

    def malicious(self, attack: Attack, beta: float, repetition: int) -> Aggregate:
        """The malicious clients' reports, as their batch alone would have them."""
        return self._sent(attack, self._number(beta), (repetition, self._number(beta)))

    def spread(self, attack: Attack, beta: float, repetition: int) -> list[Aggregate]:
        """As many, in as many parts as there are batches."""
        n = self._number(beta)
        sizes = np.diff(np.linspace(0, n, _BATCHES + 1).astype(int))
        return [self._sent(attack, int(size), (repetition, n, part)) for part, size in enumerate(sizes)]

    def _number(self, beta: float) -> int:
        return round(CLIENTS * beta / (1 - beta))

    def _sent(self, attack: Attack, n: int, seed: tuple[int, ...]) -> Aggregate:
        reports = attack.reports(self.mechanism, n, seeded(seed))
        return self._aggregate(n, self.mechanism.statistics(reports), self.mechanism.marginals(reports))

    def attacks(self, functional: Functional, clean: Any) -> dict[str, Attack]:
        """Name -> attack; clean: an estimate of honest clients, which attackers are taken to know."""
        plain: dict[str, Attack] = {RANDOM: RandomReports(CLIENTS), ITEM: RandomItem(self.targets)}
        if self.is_oracle:
            return plain | {MAXIMAL: MaximalGain(self.targets)}
        weights = clean.inference.influence(functional)[0]
        maximal = {MAXIMAL: MaximalInfluence(clean.exposure, weights)}
        if len(self.mechanism.sizes) > 1:
            maximal[OWN] = MaximalInfluence(clean.exposure, weights, chosen=False)
        return plain | maximal

    def seen(self, repetitions: int) -> list[dict[str, Any]]:
        """How often each check sees each attack on the mean, or on the targets' frequencies, and how often honest clients."""
        clean = None if self.is_oracle else pipeline.estimate(_whole(self.honest(0)), "x")
        attacks = self.attacks(Mean(), clean)
        alarms: dict[tuple[str, float], list[dict[str, bool]]] = {}
        for repetition in range(repetitions):
            batches = self.honest(repetition)
            whole = _whole(batches)
            alarms.setdefault(("honest", 0.0), []).append(_alarms(whole, batches))
            for name, attack in attacks.items():
                for beta in BETAS:
                    alarms.setdefault((name, beta), []).append(
                        self._seen(batches, self.spread(attack, beta, repetition))
                    )
        rows = []
        target = "frequency" if self.is_oracle else str(Mean())
        for (name, beta), rounds in alarms.items():
            for check in rounds[0]:
                failed = sum(one[check] for one in rounds)
                low, high = (float(end) for end in binomial_interval(failed, len(rounds), 0.95))
                rows.append(
                    self._row(name, beta, target, f"seen:{check}", failed / len(rounds), len(rounds), low, high)
                )
        return rows

    def _seen(self, batches: Sequence[Aggregate], parts: Sequence[Aggregate]) -> dict[str, bool]:
        """Check -> whether it is not passed, with malicious clients in the last batch, and spread over all."""
        bad = _whole(parts)
        whole = _whole(batches).merge(bad)
        in_last = _alarms(whole, [*batches[:-1], batches[-1].merge(bad)])
        apart = [one.merge(other) for one, other in zip(batches, parts, strict=True)]
        again = {check.name: not check.passed for check in poisoning.checks(whole, apart, ("homogeneity",))}
        anyone = any({**in_last, "any": False, **again}.values())
        return in_last | {f"{check}{SPREAD}": failed for check, failed in again.items()} | {f"any{SPREAD}": anyone}

    def frequencies(self, repetitions: int) -> list[dict[str, Any]]:
        """What the targets' summed frequency gains, and how near to the bounds of all categories."""
        rows, chosen = [], list(self.targets)
        wholes = [_whole(self.honest(repetition)) for repetition in range(repetitions)]
        clean = [pipeline.estimate(whole, "x").raw for whole in wholes]
        frequency = float(np.mean([raw[chosen].sum() for raw in clean]))
        for name, attack in self.attacks(Mean(), None).items():
            for beta in BIASED:
                rises, shares = [], []
                for repetition, (honest, before) in enumerate(zip(wholes, clean, strict=True)):
                    poisoned = honest.merge(self.malicious(attack, beta, repetition))
                    estimate, share = pipeline.estimate(poisoned, "x"), 1 - honest.n / poisoned.n
                    moved = estimate.raw - before
                    rises.append(float(moved[chosen].sum()) / share)
                    shares.append(float(np.max(np.abs(moved) * (1 - share) / share / estimate.sensitivities)))
                expected = attack_gains.gain(self.mechanism, attack, chosen, frequency)
                rows += self._biases(name, beta, "frequency", beta * np.array(rises), shares, True)
                rows.append(self._row(name, beta, "frequency", "theory", beta * expected, repetitions))
                if self.method in ("randomized_response", "unary_encoding", "local_hashing"):
                    stated = attack_gains.printed(
                        self.method,
                        name,
                        epsilon=self.epsilon,
                        categories=_CATEGORIES,
                        targets=_TARGETS,
                        frequency=frequency,
                    )
                    rows.append(self._row(name, beta, "frequency", "printed", beta * stated, repetitions))
        return rows

    def densities(self, repetitions: int) -> list[dict[str, Any]]:
        """How far each functional moves, by attacks on it, and how near to its bound."""
        rows = []
        estimator: Estimator | None = Projection(level_rule=Fixed(3), unit_mass=False) if self.method == FIXED else None
        asked = FUNCTIONALS[:2] if self.method == FIXED else FUNCTIONALS
        wholes = [_whole(self.honest(repetition)) for repetition in range(repetitions)]
        clean = [pipeline.estimate(whole, "x", estimator) for whole in wholes]
        attacks = {
            (name, functional if name in (MAXIMAL, OWN) else None): attack
            for functional in asked
            for name, attack in self.attacks(functional, clean[0]).items()
        }
        for (name, aim), attack in attacks.items():
            for beta in BIASED:
                poisoned = []
                for repetition, whole in enumerate(wholes):
                    bad = self.malicious(attack, beta, repetition)
                    poisoned.append(pipeline.estimate(whole.merge(bad), "x", estimator))
                for functional in asked if aim is None else (aim,):
                    rows += self._moved(name, beta, functional, clean, poisoned)
        return rows

    def _moved(
        self, name: str, beta: float, functional: Functional, clean: Sequence[Any], poisoned: Sequence[Any]
    ) -> list[dict[str, Any]]:
        """How far a functional moved from the honest clients' estimates, where both have one, and what was stated of it."""
        rises, shares, is_exact = [], [], True
        for before, after in zip(clean, poisoned, strict=True):
            stated = after.sensitivity(functional)
            if stated is None:
                continue
            values = [_value(estimate, functional) for estimate in (before, after)]
            if None in values:
                continue
            rises.append(values[1] - values[0])
            shares.append(abs(rises[-1]) / stated.bias(1 - before.n / after.n))
            is_exact &= stated.is_exact
        return self._biases(name, beta, str(functional), np.array(rises), shares, is_exact) if rises else []

    def _biases(
        self, name: str, beta: float, target: str, rises: np.ndarray, shares: Sequence[float], is_exact: bool
    ) -> list[dict[str, Any]]:
        mean, error = float(rises.mean()), float(rises.std(ddof=1) / np.sqrt(len(rises))) if len(rises) > 1 else 0.0
        metric = "exact_of_bound" if is_exact else "of_bound"
        return [
            self._row(name, beta, target, "bias", mean, len(rises), mean - 1.96 * error, mean + 1.96 * error),
            self._row(name, beta, target, metric, float(np.max(shares)), len(rises)),
        ]

    def _row(
        self, attack: str, beta: float, target: str, metric: str, value: float, repetitions: int, *ends: float
    ) -> dict[str, Any]:
        """One row; ends: of the value's interval, if it has one."""
        low, high = ends or (None, None)
        named: dict[str, Any] = {"parameters": f"attack={attack}, beta={beta:g}", "repetitions": repetitions}
        return runner.row(Cell(target, CLIENTS, self.epsilon), self.method, metric, value, low=low, high=high, **named)


def _whole(batches: Sequence[Aggregate]) -> Aggregate:
    total = batches[0]
    for batch in batches[1:]:
        total = total.merge(batch)
    return total


def _alarms(whole: Aggregate, batches: Sequence[Aggregate]) -> dict[str, bool]:
    """Check -> whether it is not passed; any: some check."""
    alarms = {check.name: not check.passed for check in poisoning.checks(whole, batches)}
    return alarms | {"any": any(alarms.values())}


def _value(estimate: Any, functional: Functional) -> Any:
    """The functional's estimate; of a linear estimator before it is cut to its range, which would help the bound."""
    if estimate.raw is not None and estimate.sensitivity(functional).is_exact:
        influence = functional.expand(estimate.raw).influence
        return float(influence.on(estimate.raw.features, estimate.raw.breakpoints) @ estimate.raw.coefficients)
    return estimate.functional(functional).value


# What is to be seen


def with_attacks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with columns `attack` and `beta`, from their parameters."""
    parts = rows["parameters"].str.extract(r"^attack=(?P<attack>.*), beta=(?P<beta>.*)$")
    return rows.assign(attack=parts["attack"], beta=parts["beta"].astype(float))


def verdicts(rows: pd.DataFrame) -> list[Verdict]:
    """Return the aims with what was found; rows: of the newest study, as landed."""
    rows = with_attacks(rows)
    bias, theory, printed = (_oracles(rows, metric) for metric in ("bias", "theory", "printed"))
    errors = (bias["high"] - bias["low"]) / 3.92
    off = ((bias["value"] - theory["value"]).abs() / errors.where(errors > 0)).dropna()
    apart = ((theory["value"] - printed["value"]).abs() / _TARGETS).dropna().reset_index()
    paper = apart["value"] / apart["beta"]
    exact, first = (rows[rows["metric"] == name] for name in ("exact_of_bound", "of_bound"))
    honest = rows[(rows["beta"] == 0) & rows["metric"].str.startswith("seen:") & (rows["metric"] != "seen:any")]
    alarms = (honest["value"] * honest["repetitions"]).sum() / max(honest["repetitions"].sum(), 1)
    strong = rows[(rows["attack"] == MAXIMAL) & (rows["beta"] == 0.05) & (rows["metric"] == "seen:any")]
    return [
        Verdict("gains of frequencies: largest distance from theory, in standard errors", _most(off), _ERRORS),
        Verdict(
            "gains: largest distance of our oracles' from the paper's, per share and target", _most(paper), _PRINTED
        ),
        Verdict("exact bounds: largest bias over the bound", _most(exact["value"]), 1.0 + 1e-9),
        Verdict(
            "first-order bounds at 1 %: largest bias over the bound",
            _most(first[first["beta"] == 0.01]["value"]),
            _FIRST_ORDER,
        ),
        Verdict("false alarms of all checks, in thousandths", 1000 * alarms if len(honest) else None, _FALSE),
        Verdict(
            "rounds in which some check sees 5 % of maximal gain, the mechanism where it is least",
            float(strong["value"].min()) if len(strong) else None,
            _SEEN,
            at_least=True,
        ),
    ]


def _oracles(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The rows of frequency oracles with a metric, by method, attack and beta."""
    return rows[(rows["metric"] == metric) & rows["method"].isin(ORACLES)].set_index(["method", "attack", "beta"])


def _most(values: pd.Series) -> float | None:
    return float(values.max()) if len(values) else None
