"""The study of options: errors of shares where a respondent may choose several, of ours and of published constructions.

Variances are exact, of the mean over options that all have the share at_most / (2 options), for one report: those of n are n
times smaller.  Ours is simulated, too: squared errors, and how often nominal 95 % intervals cover shares, joint shares of two
options (with reports of two items or more), and the number chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from dpcore._random import seeded
from dpcore.errors import SchemeError
from dpcore.functionals import Mean
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.runner import Cell, seed
from dpcore.mechanisms import RandomizedResponse, SubsetSelection, UnaryEncoding
from dpcore.mechanisms.categorical.set_selection import SetSelection
from dpcore.pipeline import estimate, simulate
from dpcore.populations.registry import respondents_of
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.simulation import category_law

EXACT, SIMULATED = "exact", "simulated"
CHUNK = 20
KINDS = ("share", "both", "number", "mean")
_WINDOWS = np.linspace(0.001, 0.999, 999)  # tried shares of the wheel that a set's windows cover


def set_selection(options: int, at_most: int, share: float, epsilon: float) -> float:
    """Return our variance; infinite where sets cannot be listed."""
    try:
        mechanism = SetSelection.design(Budget.parse(repr(epsilon)), categories=options, at_most=at_most)
    except SchemeError:
        return math.inf
    return float(mechanism.model().of_one.variance(share))


def one_option(options: int, at_most: int, share: float, epsilon: float) -> float:
    """Return the variance of booleans under `reporting = "one"`: one drawn option, by randomized response [Warner1965]."""
    return options * RandomizedResponse.design(Budget.parse(repr(epsilon)), categories=2).variance(share, 1)


def split_budget(options: int, at_most: int, share: float, epsilon: float) -> float:
    """Return the variance of randomized response on every option, each with its part of epsilon."""
    return RandomizedResponse.design(Budget.parse(repr(epsilon / options)), categories=2).variance(share, 1)


def padding_and_sampling(options: int, at_most: int, share: float, epsilon: float) -> float:
    """Return the variance of one item of the padded set, by the best oracle, or amplified randomized response [Qin2016]."""
    items, budget = options + at_most, Budget.parse(repr(epsilon))
    amplified = Budget.parse(repr(math.log(at_most * math.expm1(epsilon) + 1)))
    oracles = [kind.design(budget, categories=items) for kind in (RandomizedResponse, SubsetSelection, UnaryEncoding)]
    oracles.append(RandomizedResponse.design(amplified, categories=items))
    return at_most**2 * min(oracle.variance(share / at_most, 1) for oracle in oracles)


def wheel(options: int, at_most: int, share: float, epsilon: float) -> float:
    """Return the variance of the wheel mechanism at its best window [Wang2020]: true items p e^epsilon / Omega, others p."""
    covered = _WINDOWS
    other = covered / at_most
    true = other * math.exp(epsilon) / (covered * math.exp(epsilon) + 1 - covered)
    mean = other + share * (true - other)
    return float(np.min((mean * (1 - mean) / (true - other) ** 2)[true > other]))


OURS: Mapping[str, Callable[[int, int, float, float], float]] = MappingProxyType(
    {"set_selection": set_selection, "one_option": one_option}
)
PUBLISHED = MappingProxyType(
    {
        "split_budget": split_budget,
        "padding_and_sampling": padding_and_sampling,
        "wheel": wheel,
        "one_option": one_option,
    }
)


def target(options: int, at_most: int) -> str:
    """Return the name of a question."""
    return f"{options} options, at most {at_most}"


def _numbers(name: str) -> tuple[int, int]:
    words = name.replace(",", "").split()
    return int(words[0]), int(words[-1])


def measure(method: str, cell: Cell, chunk: int, upto: int) -> pd.DataFrame:
    """Return the exact variances of a cell, or sums over a chunk's simulated rounds."""
    options, at_most = _numbers(cell.target)
    if method == EXACT:
        share = at_most / (2 * options)
        measured = {
            name: variance(options, at_most, share, cell.epsilon) for name, variance in {**OURS, **PUBLISHED}.items()
        }
        return runner.rows(EXACT, cell, 0, 1, {name: value for name, value in measured.items() if math.isfinite(value)})
    repetitions = range(chunk * CHUNK, upto)
    sums: dict[str, float] = {}
    for repetition in repetitions:
        for name, value in _round(options, at_most, cell, repetition).items():
            sums[name] = sums.get(name, 0.0) + value
    return runner.rows(SIMULATED, cell, chunk, len(repetitions), sums)


def _round(options: int, at_most: int, cell: Cell, repetition: int) -> dict[str, float]:
    """The mean squared error of shares, and the covered proportion of each kind of number, in one simulated round."""
    measured: dict[str, float] = {}
    for question in questions(options, at_most, cell):
        scheme, truth = question.scheme, question.truth
        size = scheme.attributes["a"].mechanism.parameters()["size"]
        random = seeded(seed(cell, f"{SIMULATED} {size}", repetition))
        result = estimate(simulate(scheme, question.people, random), "a")
        if "mse" not in measured:
            number, mean = result.number, result.functional(Mean())
            measured["mse"] = float(np.mean((result.raw - truth.shares) ** 2))
            measured["share"] = _covered(result.low, truth.shares, result.high)
            measured["number"] = _covered(number.low, truth.numbers, number.high)
            measured["mean"] = _covered(mean.low, truth.numbers @ np.arange(at_most + 1), mean.high)
        if size >= 2:
            together = [result.both(f"o{a}", f"o{b}") for a, b in truth.pairs]
            low, high = (np.array([getattr(one, end) for one in together]) for end in ("low", "high"))
            measured["both"] = _covered(low, np.array(list(truth.pairs.values())), high)
    return measured


def _covered(low: Any, truth: Any, high: Any) -> float:
    return float(np.mean((low <= truth) & (truth <= high)))


@dataclass(frozen=True)
class Truth:
    """shares: (k,), of options.  numbers: of how many are chosen.  pairs: joint shares of two of the first eight options."""

    shares: np.ndarray
    numbers: np.ndarray
    pairs: Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Question:
    """A scheme of one set, its simulated respondents and the true values."""

    scheme: Scheme
    people: Any
    truth: Truth


@lru_cache(maxsize=4)
def questions(options: int, at_most: int, cell: Cell) -> tuple[Question, ...]:
    """Return the question with reports of the best size, and one with two items if the best size is one."""
    text = (
        f'name = "options"\nclients = {cell.clients}\n[attributes.a]\ntype = "set"\nmissing = "none"\n'
        f"at_most = {at_most}\nepsilon = {cell.epsilon}\ncategories = {[f'o{i}' for i in range(options)]}\n"
        f"[simulate.a]\nshares = {[at_most / (2 * options)] * options}\n"
    )
    schemes = [Scheme.from_toml(text)]
    if schemes[0].attributes["a"].mechanism.parameters()["size"] == 1:
        schemes.append(Scheme.from_toml(text.replace("at_most", "size = 2\nat_most")))
    attribute, people = schemes[0].attributes["a"], respondents_of(schemes[0])
    law = category_law(attribute, people)
    chosen = {option: attribute.has_category(f"o{option}") for option in range(min(options, 8))}
    truth = Truth(
        attribute.shares(law),
        np.bincount(attribute.numbers().astype(np.int64), law),
        {(a, b): float(law @ (chosen[a] * chosen[b])) for a, b in combinations(chosen, 2)},
    )
    return tuple(Question(scheme, people, truth) for scheme in schemes)
