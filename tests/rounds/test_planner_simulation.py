"""What the planner says beforehand, beside simulated rounds: within 10 % for every mechanism there is."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore import pipeline
from dpcore._random import seeded
from dpcore.functionals import parse
from dpcore.mechanisms.registry import CATEGORICAL, NUMERIC
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.planning.aims import Aim
from dpcore.rounds.planning.assumed_population import Assumed
from dpcore.rounds.planning.planner import Planner

WITHIN = 0.1
CLIENTS = 300_000
LAWS = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
FUNCTIONALS = ("mean", "quantile(0.5)", "cdf(0.3)")  # at .3 the law begins: 6 % apart over 800 rounds
CHANCE = 0.05  # 300 rounds tell a standard deviation to 4 %


class Uneven(Assumed):
    """Categories that are not equally common."""

    def probabilities(self, attribute: str, categories: tuple[str, ...], given: str | None = None) -> np.ndarray:
        return LAWS


def planner(lines: str) -> Planner:
    text = f'name = "plan"\nclients = {CLIENTS}\n[attributes.x]\nepsilon = 1\n{lines}\n'
    return Planner.read(text, Uneven())


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("mechanism", [*CATEGORICAL, "unary_encoding symmetric"])
def test_frequencies(mechanism: str, epsilon: str) -> None:
    name, _, variant = mechanism.partition(" ")
    lines = f'type = "categorical"\ncategories = ["a", "b", "c", "d", "e"]\nmechanism = "{name}"'
    plan = planner(lines + (f'\nvariant = "{variant}"' if variant else ""))
    clients = 5_000
    scheme, reports = plan._redesigned(Aim("x", "frequency(a)"), clients, Budget.parse(epsilon), None)
    draws = [
        pipeline.estimate(pipeline.simulate(scheme, plan.population, seeded((seed, 1)), reports), "x").raw
        for seed in range(1500)
    ]
    measured = np.std(draws, axis=0, ddof=1)
    for place, category in enumerate("abcde"):
        said = plan.forecast(Aim("x", f"frequency({category})"), clients, Budget.parse(epsilon))
        assert said.mechanism == name
        assert said.error == pytest.approx(measured[place], rel=WITHIN)


@pytest.mark.nightly("a study")
@pytest.mark.parametrize(
    ("lines", "rounds"),
    [
        *((f'mechanism = "{name}"', 300) for name in NUMERIC),
        ('mechanism = "wavelet_laplace"\nallocation = "split"', 400),
        ('mechanism = "wavelet_laplace"\nbasis = "bior2.4"', 400),
        ('mechanism = "wavelet_laplace"\nnoise = "discrete_gaussian"\ndelta = 1e-6', 400),
    ],
)
def test_numbers(lines: str, rounds: int) -> None:
    plan = planner(f'type = "numeric"\nlower = 0\nupper = 1\n{lines}')
    scheme = Scheme.from_toml(
        f'name = "plan"\nclients = {CLIENTS}\n[attributes.x]\nepsilon = 1\ntype = "numeric"\nlower = 0\nupper = 1\n{lines}\n'
    )
    functionals = FUNCTIONALS if rounds == 300 else FUNCTIONALS[:1]
    found = []
    for seed in range(rounds):
        estimate = pipeline.estimate(pipeline.simulate(scheme, plan.population, seeded((seed, 2)), CLIENTS), "x")
        found.append([estimate.functional(parse(name)).value for name in functionals])
    measured = np.std(np.array(found, dtype=float), axis=0, ddof=1)
    said = [plan.forecast(Aim("x", name), CLIENTS, Budget.parse("1")).error for name in functionals]
    print(lines, dict(zip(functionals, np.array(said) / measured, strict=True)))
    np.testing.assert_allclose(said[:2], measured[:2], rtol=WITHIN)
    np.testing.assert_allclose(said[2:], measured[2:], rtol=WITHIN + CHANCE)
