"""The planner: exactly one of clients, epsilon and error, and that what it finds does."""

from __future__ import annotations

import contextlib
import io
import math
import re
from pathlib import Path

import numpy as np
import pytest

from dpcore import cli, pipeline
from dpcore.audit import publication
from dpcore.errors import NotEstimable, SchemeError
from dpcore.functionals import parse
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.planning.aims import Aim, Forecast
from dpcore.rounds.planning.assumed_population import Assumed, density_ratio, expected_aggregate, expected_statistics
from dpcore.rounds.planning.planner import Planner
from dpcore.rounds.planning.search import least, rounded_clients, rounded_epsilon

PETS = """
name = "pets"
clients = 20_000
[attributes.kind]
type = "categorical"
categories = ["cat", "dog", "fish", "bird", "none"]
epsilon = "ln 3"
[attributes.legs]
type = "categorical"
categories = ["none", "two", "four"]
values = [0, 2, 4]
epsilon = 1
mechanism = "subset_selection"
[attributes.weight]
type = "numeric"
lower = 0
upper = 50
unit = "kg"
mechanism = "dyadic_wave"
epsilon = 1.5
"""
KIND = Aim.parse("kind: frequency(dog)")


@pytest.fixture(scope="module")
def pets() -> Planner:
    return Planner.read(PETS)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plans compare no mechanisms and publish nothing, most of their time, where a test asks for neither."""
    none = Forecast(mechanism="none", error=1e9)
    monkeypatch.setattr(Planner, "_choices", lambda *_: [none])
    monkeypatch.setattr(publication, "planned", lambda *_: {})


@pytest.mark.usefixtures("alone")
def test_a_wave_for_a_purpose_is_planned_up_to_the_epsilons_that_it_may_have() -> None:
    planner = Planner.read(PETS.replace("epsilon = 1.5", 'epsilon = 1.5\npurpose = "both"'))
    weight = Aim.parse("weight: mean")
    with pytest.raises(NotEstimable, match=r"mean of weight: .* needs epsilon above 5"):
        planner.plan(weight, clients=20_000, error=0.05)


@pytest.mark.slow
def test_a_density_is_held_against_all_mechanisms_of_the_epsilon_that_is_planned_for(pets: Planner) -> None:
    found = pets.plan(Aim.parse("weight: density"), epsilon="1")
    planned = Scheme.from_toml(PETS.replace("epsilon = 1.5", "epsilon = 1"))
    assert found.limit is None
    assert found.of_curve == density_ratio(planned.attributes["weight"], "density", planned.clients)


def test_a_number_and_a_category_have_no_error_of_a_density(pets: Planner) -> None:
    attributes = Scheme.from_toml(PETS).attributes
    assert density_ratio(attributes["weight"], "density", 100_000) > 1.1
    assert density_ratio(attributes["weight"], "mean", 100_000) is None
    silent = Scheme.from_toml(PETS.replace("epsilon = 1.5", 'epsilon = 1.5\nmissing = "category"'))
    assert density_ratio(silent.attributes["weight"], "density", 100_000) is None


@pytest.mark.usefixtures("alone")
def test_the_limit_is_of_those_who_are_asked(pets: Planner) -> None:
    one = Planner.read(PETS.replace("clients", 'reporting = "one"\nclients', 1))
    assert one.plan(KIND).limit == pytest.approx(math.sqrt(3) * pets.plan(KIND).limit, rel=1e-3)


@pytest.mark.usefixtures("alone")
def test_a_share_below_a_value_is_told_with_what_it_costs_alone(pets: Planner) -> None:
    density = pets.plan(Aim.parse("weight: cdf(20)"))
    asked = PETS.replace('type = "numeric"\nlower = 0\nupper = 50', 'type = "categorical"\nbins = [20]')
    alone = Planner.read(asked.replace('mechanism = "dyadic_wave"\n', ""))
    share = alone.plan(Aim.parse("weight: frequency(below 20)"))
    assert density.one_bin == pytest.approx(share.error, rel=0.1)
    assert density.one_bin < density.error / 2
    assert (share.unit, share.one_bin) == ("", None)
    assert pets.plan(Aim.parse("weight: mean")).one_bin is None
    with pytest.raises(SchemeError, match="have no numeric values"):
        alone.plan(Aim.parse("weight: mean"))


@pytest.mark.usefixtures("alone")
def test_an_error_is_the_closed_form_of_the_mechanism(pets: Planner) -> None:
    found = pets.plan(KIND)
    mechanism = pets._scheme.attributes["kind"].mechanism
    assert found.missing == "error"
    assert (found.clients, found.epsilon) == (20_000, Budget.parse("ln 3"))
    assert found.error == pytest.approx(math.sqrt(mechanism.model().variance(0.2, 20_000)), rel=1e-3)
    assert found.forecast.value == pytest.approx(0.2)
    assert found.total == Budget.parse("2.5 + ln 3")
    legs = pets.plan(Aim.parse("legs: mean"))
    model = pets._scheme.attributes["legs"].mechanism.model()
    own, shared, weights = model.covariance(np.full(3, 1 / 3), 20_000)
    numbers = np.array([0, 2, 4])
    variance = numbers @ (np.diag(own) + shared.T @ weights @ shared) @ numbers
    assert legs.error == pytest.approx(math.sqrt(variance), rel=1e-2)


@pytest.mark.parametrize("aim", ["kind: frequency(dog)", pytest.param("weight: mean", marks=pytest.mark.slow)])
def test_clients_and_epsilon_that_are_found_do_and_less_does_not(pets: Planner, aim: str) -> None:
    goal = Aim.parse(aim)
    error = pets.plan(goal).error / 2
    more = pets.plan(goal, epsilon="1", error=error)
    assert more.missing == "clients"
    assert more.error <= error < pets.forecast(goal, round(more.clients * 0.98), Budget.parse("1")).error
    dearer = pets.plan(goal, clients=40_000, error=error)
    assert dearer.missing == "epsilon"
    assert (
        dearer.error <= error < pets.forecast(goal, 40_000, Budget.parse(round(float(dearer.epsilon) * 0.97, 4))).error
    )
    assert dearer.best.error <= dearer.error
    assert dearer.limit is not None
    assert dearer.limit < dearer.best.error
    assert {choice.mechanism for choice in dearer.choices} >= {dearer.forecast.mechanism}


def test_another_mechanism_that_is_better_is_named_with_what_it_needs() -> None:
    planner = Planner.read(PETS.replace('categories = ["cat"', 'mechanism = "hadamard_response"\ncategories = ["cat"'))
    found = planner.plan(KIND, epsilon="2", error=0.004)
    assert found.forecast.mechanism == "hadamard_response"
    assert found.best.mechanism in ("randomized_response", "subset_selection")
    assert found.needed < found.clients / 2
    assert [choice.mechanism for choice in found.choices].count("hadamard_response") == 1


@pytest.mark.usefixtures("alone")
def test_who_reports_one_attribute_reports_each_less_often() -> None:
    one = Planner.read(PETS.replace("clients = 20_000", 'clients = 20_000\nreporting = "one"'))
    found, everyone = one.plan(KIND), Planner.read(PETS).plan(KIND)
    assert found.error == pytest.approx(everyone.error * math.sqrt(3), rel=1e-2)
    assert found.total == Budget.parse("1.5")


def test_two_must_be_given(pets: Planner) -> None:
    with pytest.raises(SchemeError, match="got the error only"):
        pets.plan(KIND, error=0.01)
    with pytest.raises(SchemeError, match="all three"):
        pets.plan(KIND, error=0.01, clients=1000, epsilon="1")
    with pytest.raises(NotEstimable, match="smallest error of any mechanism is"):
        pets.plan(KIND, error=1e-5, clients=1000)
    with pytest.raises(NotEstimable, match="needs more than"):
        pets.plan(KIND, error=1e-9, epsilon="0.1")
    with pytest.raises(SchemeError, match="error must be a finite number above 0"):
        pets.plan(KIND, error=-1, clients=1000)


def test_aims_that_nobody_can_answer_are_refused(pets: Planner) -> None:
    for aim, said in (
        ("kind mean", 'must be "ATTRIBUTE: QUANTITY"'),
        ("size: mean", "no attribute 'size'"),
        ("kind: mean", "have no numeric values"),
        ("kind: density", "without a density"),
        ("kind: frequency(cow)", "the categories cat, dog"),
        ("weight: frequency(dog)", "no categories"),
        ("weight: quantile(2)", "quantile"),
        ("weight: fun", "fun"),
    ):
        with pytest.raises(SchemeError, match=re.escape(said)):
            pets.plan(Aim.parse(aim))


@pytest.mark.parametrize("value", ["2", "missing"])
def test_the_share_of_one_of_a_numbers_values_is_an_aim(value: str) -> None:
    said = 'lower = 0\nupper = 3\nstep = 1\nunit = "km"\nmissing = "category"\nepsilon = 1\n'
    counted = Planner.read(f'name = "s"\n[attributes.a]\ntype = "numeric"\n{said}')
    found = counted.plan(Aim.parse(f"a: frequency({value})"), clients=5000)
    assert (found.unit, found.missing) == ("", "error")
    assert 0 < found.error < 0.1


@pytest.mark.usefixtures("alone")
def test_integers_that_are_fixed_are_not_redesigned(pets: Planner) -> None:
    fixed = Planner.read(pets._scheme.canonical)
    assert fixed.plan(KIND).error == pytest.approx(pets.plan(KIND).error)
    with pytest.raises(SchemeError, match="client table"):
        fixed.plan(KIND, epsilon="2")


@pytest.mark.usefixtures("alone")
def test_a_functional_that_would_be_refused_says_so(pets: Planner) -> None:
    with pytest.raises(NotEstimable, match="no estimate would be available"):
        pets.plan(Aim.parse("weight: entropy"), clients=100, epsilon="0.1")


def test_expected_statistics_are_means(pets: Planner) -> None:
    for attribute in pets._scheme.attributes.values():
        mechanism = attribute.mechanism
        law = np.full(mechanism.inputs, 1 / mechanism.inputs)
        model = mechanism.model()
        means = expected_statistics(mechanism, law, 10**6)
        if mechanism.name != "dyadic_wave":
            np.testing.assert_allclose(model.frequencies(means, 10**6), law, atol=1e-5)
        else:
            np.testing.assert_allclose(model.reports(means), 10**6 * model.level_law, atol=100)


def test_expected_reports_of_levels_say_what_is_expected() -> None:
    curve = 'type = "numeric"\nlower = 0\nupper = 1\nmechanism = "wavelet_laplace"\ndegree = 1\nfinest_level = 3\n'
    scheme = Scheme.from_toml(f'name = "s"\n[attributes.x]\n{curve}estimator = "projection"\nepsilon = 1\n')
    expected = expected_aggregate(scheme, Assumed(), 10**9)
    half = Assumed().cell_probabilities("x", 0, 1, 1000)[:500].sum()
    assert pipeline.estimate(expected, "x").functional(parse("cdf(0.5)")).value == pytest.approx(half, abs=1e-3)


def test_the_search_finds_the_least_and_numbers_are_rounded_up() -> None:
    limits = {"low": 0.0, "high": 8.0, "start": 3.0, "slope": 0.5, "within": 1e-3}
    for power in (0.2, 0.5, 1.3):  # whatever the slope is, and where the first answers are refused
        for edge in (0.5, 2.345, 7.9):
            asked = []

            def error(x: float, edge: float = edge, power: float = power) -> float | None:
                asked.append(x)  # noqa: B023
                return None if x < edge - 0.7 else 10 ** (-power * (x - edge))

            found = least(error, 1.0, **limits)
            assert found is not None
            assert edge - 1e-9 <= found <= edge + 1e-3
            assert len(asked) <= 30
    assert least(lambda x: 1e-9, 1.0, **limits) == 0.0
    assert least(lambda x: None, 1.0, **limits) is None
    assert (rounded_clients(math.log10(123_456)), rounded_epsilon(math.log10(0.12345))) == (124_000, "0.124")


def test_the_command_prints_the_plan_and_the_published_epsilons(tmp_path: Path) -> None:
    (tmp_path / "pets.toml").write_text(PETS, encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for arguments, code in ((["--epsilon", "1", "--error", "0.01"], 0), (["--error", "0.01"], 1)):
            with pytest.raises(SystemExit) as stop:
                cli.main(["plan", "pets.toml", "--aim", "kind: frequency(dog)", *arguments])
            assert (stop.value.code or 0) == code
    printed = out.getvalue()
    for said in ("clients", "found", "choose ", "Apple", "2 to 8", "0.6 to 10", "1.67 to 4.7", "34.9", "13.64 to 49.2"):
        assert said in printed
    assert "assumed" in printed
    assert err.getvalue().startswith("ldpflow: clients, epsilon, error: give exactly two")


def test_the_law_that_is_assumed_is_the_one_that_is_named() -> None:
    law = Assumed().cell_probabilities("any", 0, 50, 1000)
    x = (np.arange(1000) + 0.5) / 1000
    assert law.sum() == pytest.approx(1)
    assert 1000 * law == pytest.approx(0.3 + 0.7 * 20 * x * (1 - x) ** 3, abs=1e-4)  # Beta(2, 4)
    assert Assumed().probabilities("any", ["a", "b", "c", "d"]).tolist() == [0.25] * 4


@pytest.mark.usefixtures("alone")
def test_a_group_and_weights_leave_less_of_the_clients() -> None:
    aim, text = Aim.parse("kids_count: frequency(0)"), Path("data/schemes/consumer_expenditure.toml")
    whole = Planner.read(text).plan(aim, clients=100_000)
    part = Planner.read(text, share=0.5, design_effect=2.0).plan(aim, clients=400_000)
    assert part.error == pytest.approx(whole.error)
    asked = Planner.read(text, share=0.5, design_effect=2.0).plan(aim, epsilon=1, error=whole.error)
    assert asked.clients == pytest.approx(400_000, rel=0.01)
    for wrong in ({"share": 0.0}, {"share": 1.1}, {"design_effect": 0.5}):
        with pytest.raises(SchemeError, match=next(iter(wrong))):
            Planner.read(text, **wrong)


@pytest.mark.parametrize("quantity", ["mean", "density", "frequency(a)"])
def test_two_numbers_asked_together_are_refused_in_a_line(quantity: str) -> None:
    plane = 'name = "plane"\n[attributes.both]\ntype = "numeric"\nof = ["x", "y"]\nlower = [0, 0]\nupper = [1, 1]\n'
    plane += "epsilon = 2\n"
    with pytest.raises(SchemeError, match="both: a joint attribute; plan for a joint quantity"):
        Planner.read(plane).plan(Aim("both", quantity), clients=1000)
