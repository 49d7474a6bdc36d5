"""The check of a stated bound over whole rounds: how often it rejects one that is true, and one that is false.

A false bound is the one from whose class the expected reports are so many standard deviations away, in chi-squared.
`python -m tests.estimation.inference.test_assumption_power ROUNDS CLIENTS... [--deviations D]` prints a line for each density.
"""

from __future__ import annotations

import argparse

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore._random import seeded
from tests.estimation.inference.test_bounded_curvature import bend, class_of, scheme
from tests.estimation.inference.test_bounded_curvature_coverage import LAWS

AWAY = 4.5


def distance(name: str, n: int, bound: float) -> float:
    """How far the expected reports of n clients are from the class of that bound, in standard deviations."""
    known = class_of(LAWS[name], n, bound)
    return float(known.distance(known.score[None], 1.0)[0]) ** 0.5


def false_bound(name: str, n: int, deviations: float) -> float:
    """The bound that the law is so many standard deviations too rough for; not a number where none is."""
    true, least = bend(LAWS[name]), 1e-3
    if distance(name, n, least * true) < deviations:
        return float("nan")
    share = scipy.optimize.brentq(
        lambda log: distance(name, n, float(np.exp(log)) * true) - deviations, np.log(least), 0.0, xtol=1e-3
    )
    return float(np.exp(share) * true)


def rejections(name: str, n: int, bounds: list[float], rounds: int) -> np.ndarray:
    """How many of that many rounds reject each bound, (bounds,)."""
    counted = np.zeros(len(bounds), dtype=int)
    for seed in range(rounds):
        found = dp.estimate(dp.simulate(scheme(n=n), LAWS[name], seeded((45, n, seed)), n), "x")
        counted += [not found.assumption(bound).passed for bound in bounds]
    return counted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rounds", "least", "most"),
    [
        ("bimodal", 12, 8, 2),
        *(
            pytest.param(name, 60, 48, 4, marks=pytest.mark.nightly("a study"))
            for name in ("beta_2_5", "beta_10_10", "bimodal")
        ),
    ],
)
def test_a_false_bound_is_rejected_and_a_true_one_is_not(name: str, rounds: int, least: int, most: int) -> None:
    """Nine of ten rounds reject a class 4.5 deviations away: fewer than 8 of 12 or 48 of 60 would once in 200 times.

    A true bound is rejected once in a hundred: more than 2 of 12 or 4 of 60 would be once in thousands of times.
    """
    false, true = rejections(name, 100_000, [false_bound(name, 100_000, AWAY), bend(LAWS[name])], rounds)
    assert false >= least, false
    assert true <= most, true


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    parser.add_argument("clients", type=int, nargs="+")
    parser.add_argument("--deviations", type=float, default=AWAY)
    asked = parser.parse_args()
    print(f"{'law':12} {'n':>9} {'true M':>9} {'false M':>9} {'true rejected':>14} {'false rejected':>15}")
    for n in asked.clients:
        for law in LAWS:
            true, false = bend(LAWS[law]), false_bound(law, n, asked.deviations)
            if np.isnan(false):
                print(f"{law:12} {n:9} {true:9.4g}   reports tell no class so far away", flush=True)
                continue
            counts = rejections(law, n, [true, false], asked.rounds) / asked.rounds
            print(f"{law:12} {n:9} {true:9.4g} {false:9.4g} {counts[0]:14.3f} {counts[1]:15.3f}", flush=True)
