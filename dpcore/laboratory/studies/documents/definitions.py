"""What definitions of privacy allow, as tables: trade-off curves, delta, and how laws contract [BarberDuchi2014]."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, sqrt
from typing import cast

import numpy as np
import pandas as pd

from dpcore._random import Source
from dpcore.laboratory.definitions import (
    Channel,
    Promise,
    conditional_testing,
    delta_at,
    gaussian_delta,
    gaussian_trade_off,
    is_less_informative,
    pure_ratio,
    release_one_at_random,
    total_variation,
    trade_off_of_channel,
    trade_off_of_promise,
)
from dpcore.laboratory.theory.lower_bounds import printed_contraction
from dpcore.laboratory.theory.noise_energy import noise_energy
from dpcore.laboratory.theory.two_points import contraction
from dpcore.mechanisms.categorical.randomized_response import RandomizedResponse
from dpcore.mechanisms.observation_model import NoisyFeatures
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme

_STEPS = 40  # of the level
_CLIENTS = 1_000_000


def trade_offs(delta: float = 0.05) -> pd.DataFrame:
    """Return least second errors: curve, level, second_error; of two coins (epsilon = ln 3), promises and Gaussian noise.

    The coins lie on what their promise allows: no other channel at ln 3 reveals more.
    """
    budget, loose = Budget.parse("ln 3"), Fraction(delta).limit_denominator(1000)
    coins = Channel.of_weights([[3, 1], [1, 3]])
    promises = {
        "promised by ln 3": Promise.from_budget(budget),
        f"promised by (ln 3, {delta:g})": Promise.from_budget(budget, loose),
    }
    rows = []
    for step in range(_STEPS + 1):
        level = Fraction(step, _STEPS)
        rows.append(("two coins", float(level), float(trade_off_of_channel(coins, level))))
        rows += [
            (name, float(level), float(trade_off_of_promise(promise, level))) for name, promise in promises.items()
        ]
        if 0 < level < 1:
            rows.append(("Gaussian, shifted by 1", float(level), gaussian_trade_off(1.0, float(level))))
    return pd.DataFrame(rows, columns=["curve", "level", "second_error"])


def deltas(epsilons: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)) -> pd.DataFrame:
    """Return the least delta at each epsilon: curve, epsilon, delta.

    Two coins need none from ln 3 on, Gaussian noise at every epsilon some, one record released at random always 1 / n: here 4.
    """
    coins, one = Channel.of_weights([[3, 1], [1, 3]]), release_one_at_random("ab", 4)
    rows = []
    for epsilon in epsilons:
        ratio = Fraction(exp(epsilon))
        rows += [
            ("two coins", epsilon, float(delta_at(coins, ratio))),
            ("Gaussian, shifted by 1", epsilon, gaussian_delta(epsilon, 1.0)),
            ("one of 4 at random", epsilon, float(delta_at(one, ratio))),
        ]
    return pd.DataFrame(rows, columns=["curve", "epsilon", "delta"])


def one_at_random(sizes: Sequence[int]) -> pd.DataFrame:
    """Return what releasing one of n records at random moves: n, total_variation, stated (1 / n), delta (at epsilon = 5)."""
    rows = []
    for n in sizes:
        channel = release_one_at_random("ab", n)
        rows.append((n, float(total_variation(channel)), 1 / n, float(delta_at(channel, Fraction(exp(5.0))))))
    return pd.DataFrame(rows, columns=["n", "total_variation", "stated", "delta"])


def conditional_tests(etas: Sequence[str] = ("1/20", "1/10", "1/5", "1/3", "1/2", "2/3", "9/10")) -> pd.DataFrame:
    """Return conditional-testing privacy of two coins: eta, gamma, promised (by ln 3, for any channel)."""
    coins, promise = Channel.of_weights([[3, 1], [1, 3]]), Promise.from_budget(Budget.parse("ln 3"))
    rows = [
        (float(eta), float(conditional_testing(coins, eta)), float(promise.conditional_testing(eta)))
        for eta in map(Fraction, etas)
    ]
    return pd.DataFrame(rows, columns=["eta", "gamma", "promised"])


def processed(flips: Sequence[str] = ("0", "1/20", "1/10", "1/5", "3/10", "2/5")) -> pd.DataFrame:
    """Return what is left of two coins when some reports are flipped again: flip, ratio, total_variation, is_less.

    ratio: the exact e^epsilon of the composition.  is_less: whether a linear program finds it less informative than the coins,
    and, but for no flips, not the other way round.
    """
    coins, rows = Channel.of_weights([[3, 1], [1, 3]]), []
    for text in flips:
        flip = Fraction(text)
        both = coins.then(Channel(((1 - flip, flip), (flip, 1 - flip)), coins.neighbours))
        is_less = is_less_informative(both, coins) and (flip == 0) == is_less_informative(coins, both)
        ratio = pure_ratio(both)
        rows.append((float(flip), float(ratio or 0), float(total_variation(both)), float(is_less)))
    return pd.DataFrame(rows, columns=["flip", "ratio", "total_variation", "is_less"])


def contractions(epsilons: Sequence[str], *, runs: int, random: Source) -> pd.DataFrame:
    """Return how two coins contract laws: epsilon, largest, bound, printed; of the symmetric divergence over tv^2.

    largest: over random pairs of laws on a bit, of KL(M1, M2) + KL(M2, M1) after randomized response; bound: of
    [Duchi2018] for any channel, printed: as the document has it.
    """
    rows = []
    for text in epsilons:
        budget = Budget.parse(text)
        flip = RandomizedResponse.design(budget, categories=2)
        ratio = float(flip.certificate().kept)
        stay = ratio / (1 + ratio)
        p, q = random.generator().random((2, runs))
        m, k = (stay * law + (1 - stay) * (1 - law) for law in (p, q))
        symmetric = (m - k) * (np.log(m / (1 - m)) - np.log(k / (1 - k)))
        tv = np.abs(p - q)
        e = float(budget)
        bound, printed = (f(e, 1.0) for f in (contraction, printed_contraction))
        rows.append((e, float((symmetric / tv**2).max()), bound, printed))
    return pd.DataFrame(rows, columns=["epsilon", "largest", "bound", "printed"])


def noise_energies(epsilons: Sequence[str], *, delta: str = "1e-6", level: int = 5) -> pd.DataFrame:
    """Return the error that noise leaves in a density of V_level: noise, epsilon, deviation (root mean square, L2).

    Of a million wavelet reports, one level in each.
    """
    rows = []
    kinds = {"Laplace, delta = 0": "", f"Gaussian, delta = {delta}": f'noise = "discrete_gaussian"\ndelta = {delta}\n'}
    for text in epsilons:
        for name, lines in kinds.items():
            scheme = Scheme.from_toml(
                f'name = "energies"\nclients = {_CLIENTS}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\n'
                f'mechanism = "wavelet_laplace"\nepsilon = {text}\n{lines}'
            )
            model = cast(NoisyFeatures, scheme.attributes["x"].mechanism.model())
            rows.append((name, float(text), sqrt(noise_energy(model, _CLIENTS, level))))
    return pd.DataFrame(rows, columns=["noise", "epsilon", "deviation"])
