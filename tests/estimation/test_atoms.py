"""Values clipped to a bound: a share that tables and truths name, beside a density that integrates to the rest."""

import numpy as np
import pandas as pd
import pytest
import scipy

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation.registry import check_estimates
from dpcore.functionals import Atom, Entropy, Mean, Quantile
from dpcore.pipeline import estimate_all
from dpcore.populations import consumer_expenditure
from dpcore.populations.distributions import Beta, NumericLaw
from dpcore.results.tables.round_tables import tables_of

UPPER = 16_000.0
SCHEME = f"""
name = "consumer_expenditure"
clients = 1000000
[attributes.expenditure]
type = "numeric"
lower = 0
upper = {UPPER:g}
epsilon = 2
mechanism = "dyadic_wave"
cells = 32
functionals = ["mean", "quantile(0.95)", "cdf(10000)"]
"""


@pytest.fixture(scope="module")
def round_():
    people = consumer_expenditure()
    return estimate_all(dp.simulate(dp.Scheme.from_toml(SCHEME), people, dp.seeded(3), 1_000_000))


@pytest.fixture(scope="module")
def tables(round_):
    return tables_of(round_, consumer_expenditure())


def test_an_atom_lands_unasked_with_its_interval_and_its_truth(tables) -> None:
    rows = tables["functionals"].set_index("functional")
    assert list(rows.index) == ["mean", "quantile(0.95)", "cdf(10000)", "atom(16000)"]
    true = tables["truths"].query("quantity == 'atom(16000)'")["value"].item()
    assert true == pytest.approx(float(1 - consumer_expenditure().truth("expenditure").cdf(UPPER)))
    row = rows.loc["atom(16000)"]
    assert row["low"] < true < row["high"]
    assert abs(row["plug_in"] - true) < 0.02


def test_the_landed_density_and_the_atom_are_everybody(tables) -> None:
    rows = tables["densities"]
    atom = tables["functionals"].set_index("functional")["plug_in"]["atom(16000)"]
    assert np.trapezoid(rows["density"], rows["x"]) + atom == pytest.approx(1, abs=1e-3)
    assert rows["cdf"].iloc[-1] == 1


def test_every_interval_of_the_round_is_held_against_the_clipped_truth(tables) -> None:
    truths = tables["truths"][tables["truths"]["quantity"] != "density"].set_index("quantity")["value"]
    assert truths["quantile(0.95)"] == UPPER  # one in eight is clipped to it
    people = consumer_expenditure().records(200_000, dp.seeded(1))["expenditure"]
    clipped = np.minimum(people, UPPER)
    assert truths["mean"] == pytest.approx(clipped.mean(), abs=5 * clipped.std() / np.sqrt(len(clipped)))
    rows = tables["functionals"].set_index("functional")
    assert ((rows["low"] <= truths[rows.index]) & (truths[rows.index] <= rows["high"])).all()


def test_an_atom_that_was_not_found_or_is_nowhere_near_a_bound_is_refused_with_its_reason() -> None:
    text = SCHEME.replace("16000", "50000")
    est = dp.estimate(
        dp.simulate(dp.Scheme.from_toml(text), consumer_expenditure(), dp.seeded(3), 100_000), "expenditure"
    )
    assert est.atoms == (0, 0)
    assert "no point mass at 50000" in est.functional(Atom(50_000)).reason
    assert "no bound" in est.functional(Atom(10)).reason
    with pytest.raises(SchemeError, match="no bound"):
        check_estimates(dp.Scheme.from_toml(text.replace('"mean"', '"atom(3)"')))


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 0.7), (-1.0, 0.5), (-1.0, 2.0)])
def test_a_clipped_law_is_the_law_of_clipped_values(lower: float, upper: float) -> None:
    law = NumericLaw(0.0, 1.0, ((1.0, Beta(3, 4)),)).clipped(lower, upper)
    beta = scipy.stats.beta(3, 4)
    assert law.atoms == pytest.approx((beta.cdf(lower), beta.sf(upper)))
    x = np.linspace(lower, upper, 7)[:-1]
    np.testing.assert_allclose(law.cdf(x), beta.cdf(x))
    assert law.cdf(upper) == 1
    mean = beta.expect(lb=max(lower, 0), ub=min(upper, 1)) + lower * beta.cdf(lower) + upper * beta.sf(upper)
    assert Mean().value(law) == pytest.approx(mean)
    assert Atom(upper).expand(law).value == pytest.approx(beta.sf(upper))
    assert Quantile(0.999999).value(law) == pytest.approx(min(upper, beta.ppf(0.999999)))
    entropy = -beta.expect(lambda u: beta.logpdf(u), lb=max(lower, 0) + 1e-12, ub=min(upper, 1) - 1e-12)
    assert Entropy().value(law) == pytest.approx(entropy, rel=1e-6)


def test_a_law_within_the_bounds_it_has_is_itself() -> None:
    law = NumericLaw(0.0, 1.0, ((1.0, Beta(3, 4)),))
    assert law.clipped(0, 1) is law


ALSO = {"marks": [pytest.mark.slow, pytest.mark.nightly("a study")]}


@pytest.mark.parametrize(
    ("share", "seeds"),
    [
        *(pytest.param(share, 1, marks=pytest.mark.slow) for share in (0.99, 1.0)),
        *(pytest.param(share, 4, **ALSO) for share in (0.9, 0.99, 1.0)),
    ],
)
def test_nearly_everybody_at_a_bound_leaves_the_mean_as_well_known_as_ever(share: float, seeds: int) -> None:
    text = (
        'name = "t"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\nmechanism = "dyadic_wave"\n'
    )
    scheme, errors = dp.Scheme.from_toml(text), []
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        values = np.where(generator.random(100_000) < share, 0.0, generator.beta(2, 5, 100_000))
        reports = dp.privatize(scheme, pd.DataFrame({"x": values}), dp.seeded(seed))
        found = dp.estimate(dp.aggregate(scheme, reports), "x").functional(Mean())
        assert found.standard_error == pytest.approx(0.0038, rel=0.05)  # a spike and an atom averaged made it 1.8
        errors.append((found.value - values.mean()) / found.standard_error)
    assert max(map(abs, errors)) < 3
