"""The differencing attack: two innocent counts, one with and one without a person, and what their difference reveals.

Source: [DworkRoth2014], quoted in [Garivier2022]: how many people have the trait; how many people, not named Z, have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpcore._random import Source
from dpcore.errors import check_whole
from dpcore.laboratory.central.laplace_mechanism import LaplaceMechanism
from dpcore.laboratory.central.queries import Count
from dpcore.privacy.budget import Budget


def exact_attack(bits: Any, person: int) -> int:
    """Return a person's bit from two exact counts: always right."""
    bits = np.asarray(bits)
    return int(bits.sum() - np.delete(bits, person).sum())


def private_attack(bits: Any, person: int, budget: Budget, random: Source) -> int:
    """Return the attacker's best guess of a person's bit from two counts with Laplace noise, epsilon / 2 each."""
    bits = np.asarray(bits)
    mechanism = LaplaceMechanism.design(Budget(rational=budget.floor / 2), Count())
    with_person, without = (mechanism.release(data, random).values[0] for data in (bits, np.delete(bits, person)))
    return int(with_person - without > 0.5)


@dataclass(frozen=True)
class AttackRate:
    """How often the attacker is right about a fair coin, of `runs`; no attack on epsilon-private answers is above `bound`."""

    rate: float
    bound: float
    runs: int


def attack_rate(n: int, budget: Budget | None, *, runs: int, random: Source) -> AttackRate:
    """Return how often the attack finds one of n >= 2 people's bits, each a fair coin; budget None: on exact answers.

    The bound is e^epsilon / (1 + e^epsilon): the posterior odds move by at most e^epsilon.
    """
    check_whole(2, 1 << 20, n=n)
    check_whole(1, 1 << 20, runs=runs)
    right = 0
    for _ in range(runs):
        bits = random.below(2, n)
        guess = exact_attack(bits, 0) if budget is None else private_attack(bits, 0, budget, random)
        right += guess == bits[0]
    odds = None if budget is None else Fraction(budget.ratio_floor)
    return AttackRate(right / runs, 1.0 if odds is None else float(odds / (1 + odds)), runs)
