"""The smallest differences that an experiment finds, and how often simulated rounds find them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore import cli, pipeline
from dpcore.errors import SchemeError
from dpcore.estimation.inference.comparison import difference, shares
from dpcore.functionals import parse
from dpcore.rounds.planning.assumed_population import Assumed, population_of
from dpcore.rounds.planning.detection import Detectable, detectable
from tests.results.test_experiments import SCHEME

PLAIN = SCHEME.partition("[labels")[0]


def planned(text: str = SCHEME, clients: int = 6000, **options: float) -> dict[str, Detectable]:
    scheme = dp.Scheme.from_toml(text)
    rows = detectable(scheme, population_of(scheme), clients=clients, **options)
    return {row.functional: row for row in rows}


@dataclass(frozen=True)
class Shifted(Assumed):
    """The assumed population, with the last category more and the first less common, and larger numbers."""

    share: float = 0.0
    mean: float = 0.0
    weights: dict[str, float] = field(default_factory=lambda: {"all": 1.0})

    def probabilities(self, attribute, categories, condition=None):
        law = super().probabilities(attribute, categories, condition)
        law[[0, -1]] += [-self.share, self.share]
        return law

    def cell_probabilities(self, attribute, lower, upper, cells, condition=None):
        law = super().cell_probabilities(attribute, lower, upper, cells, condition)
        middle = (np.arange(cells) + 0.5) / cells
        reflected = self.mean / (upper - lower) / (middle @ law[::-1] - middle @ law)
        return (1 - reflected) * law + reflected * law[::-1]


def power(attribute: str, functional: str, people: Shifted, rounds: int, clients: int, pairs: int = 1) -> float:
    """The share of simulated rounds in which two arms differ significantly; pairs: control arms that each arm meets."""
    head, *tables = PLAIN.split("[attributes.")
    [own] = [table for table in tables if table.startswith(attribute)]
    scheme = dp.Scheme.from_toml(f"{head}[attributes.{own}")
    arms = []
    for place, law in enumerate((people, Shifted())):
        results = []
        for seed in range(place, 2 * rounds, 2):
            estimate = pipeline.estimate(pipeline.simulate(scheme, law, dp.seeded(seed), clients), attribute)
            of_shares = {one.functional: one for one in shares(estimate)} if attribute != "spent" else {}
            results.append(of_shares.get(functional) or estimate.functional(parse(functional)))
        arms.append(results)
    p_values = [
        difference(arm, arms[1][(place + shift) % rounds]).p_value
        for place, arm in enumerate(arms[0])
        for shift in range(pairs)
    ]
    return sum(p is not None and p < 0.05 for p in p_values) / len(p_values)


@pytest.mark.parametrize(("attribute", "functional"), [("bought", "frequency(true)"), ("device", "frequency(desktop)")])
def test_shares_are_found_with_the_planned_power(attribute: str, functional: str) -> None:
    row = planned()[functional]
    assert row.reports == (2000, 2000)
    assert row.arms == ("new", "plain")
    assert row.difference is not None
    assert power(attribute, functional, Shifted(share=row.difference), 2000, 2000) == pytest.approx(0.8, abs=0.03)


@pytest.mark.nightly
def test_a_mean_is_found_with_the_planned_power() -> None:
    row = planned()["mean"]
    assert row.difference is not None
    assert power("spent", "mean", Shifted(mean=row.difference), 600, 2000, pairs=20) == pytest.approx(0.8, abs=0.03)


def test_arms_have_the_shares_that_the_scheme_simulates() -> None:
    text = SCHEME + "[simulate.variant]\nshares = { new = 1, old = 3, plain = 1 }\n"
    scheme = dp.Scheme.from_toml(text)
    rows = detectable(scheme, population_of(scheme), clients=6000)
    assert {row.reports for row in rows} == {(1200, 3600)}


def test_larger_arms_and_less_power_find_smaller_differences() -> None:
    found = [
        planned(**options)["frequency(true)"].difference or 0.0 for options in ({}, {"clients": 24_000}, {"power": 0.5})
    ]
    assert found[0] / found[1] == pytest.approx(2, rel=0.01)
    assert found[0] / found[2] == pytest.approx((1.96 + 0.8416) / 1.96, rel=0.001)


def test_a_scheme_without_an_experiment_is_refused() -> None:
    with pytest.raises(SchemeError, match="no label has a control arm"):
        planned(SCHEME.replace('control = "old"', ""))
    with pytest.raises(SchemeError, match="reports of an arm"):
        planned(clients=297)
    with pytest.raises(SchemeError, match="power"):
        planned(power=1.0)


def test_plan_prints_the_differences_and_refuses_other_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "checkout.toml"
    file.write_text(SCHEME)
    with pytest.raises(SystemExit) as stop:
        cli.main(["plan", str(file), "--detect"])
    assert not stop.value.code
    printed = capsys.readouterr().out
    row = planned()["frequency(true)"]
    assert f"bought: true      {100 * (row.difference or 0):.2f} % points" in printed
    assert "control arm old: 2,000 reports" in printed
    with pytest.raises(SystemExit) as stop:
        cli.main(["plan", str(file), "--detect", "--aim", "spent: mean"])
    assert stop.value.code == 2
