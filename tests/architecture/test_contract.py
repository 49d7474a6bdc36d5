"""The public contract, line by line: other people's scripts use these names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.populations import consumer_expenditure


@pytest.fixture(scope="module")
def scheme(root: Path) -> dp.Scheme:
    return dp.Scheme.from_toml(root / "data/schemes/consumer_expenditure.toml")


@pytest.fixture(scope="module")
def agg(scheme: dp.Scheme) -> dp.Aggregate:
    return dp.simulate(scheme, consumer_expenditure(), random=dp.seeded(7), clients=1_000_000)


@pytest.fixture(scope="module")
def income(agg: dp.Aggregate) -> Any:
    return dp.estimate(agg, "income")


def test_schemes(scheme: dp.Scheme, root: Path) -> None:
    assert len(scheme.digest) == 64
    assert scheme.attributes["income"].mechanism.name == "wavelet_laplace"
    assert scheme.epsilon == pytest.approx(4 + np.log(3))
    path = root / "data/schemes/consumer_expenditure.toml"
    assert dp.Scheme.from_toml(str(path)).digest == dp.Scheme.from_toml(path.read_text()).digest == scheme.digest


def test_clients_and_aggregates(scheme: dp.Scheme) -> None:
    client = dp.Client(scheme, random=dp.secure(), token=None)
    record = {"income": 41_000, "urban_rural": "rural", "race": "asian", "kids_count": 2, "expenditure": 9_000}
    assert client.report(record).digest == scheme.digest
    records = consumer_expenditure().records(500, dp.seeded(1))
    batch = dp.privatize(scheme, records, random=dp.seeded(7))
    agg = dp.aggregate(scheme, batch)
    assert agg.n == 500
    assert agg.merge(agg).n == 1000
    assert dp.simulate(scheme, records, random=dp.seeded(7)).n == 500


def test_densities(agg: dp.Aggregate, income: Any) -> None:
    est = income
    fixed: Any = dp.estimate(agg, "income", estimator=dp.Projection(level_rule=dp.Lepski()))
    x = np.linspace(0, 250_000, 5001)
    assert np.array_equal(est(x), fixed(x))
    assert np.trapezoid(est(x), x) == pytest.approx(1, abs=1e-4)  # a density in the attribute's own units
    assert est.derivative(1)(50_000.0) == pytest.approx((est(50_001.0) - est(49_999.0)) / 2, rel=1e-3)
    assert est.cdf(250_000) == pytest.approx(1)
    assert est.cdf(est.quantile(0.5)) == pytest.approx(0.5)
    assert isinstance(est.level, int)
    assert {"x", "density", "low", "high", "cdf", "cdf_low", "cdf_high", "confidence"} <= set(est.to_frame().columns)
    fun = est.functional(dp.functionals.Entropy(), confidence=0.95)
    for name in ("value", "standard_error", "low", "high", "plug_in", "kind", "reason"):
        assert hasattr(fun, name)


def test_frequencies(agg: dp.Aggregate) -> None:
    freq: Any = dp.estimate(agg, "race")
    k = len(freq.categories)
    assert k == len(freq.values) == len(freq.standard_errors) == len(freq.low) == len(freq.high) == 6
    assert sum(freq.values) == pytest.approx(1)
    union = freq.share_of(freq.categories[:2], confidence=0.95)
    assert union.low < union.value < union.high
    assert union.plug_in == pytest.approx(sum(freq.values[:2]))


FUNCTIONALS = (
    ("Mean()", "mean"),
    ("Variance()", "variance"),
    ("Moment(2)", "moment(2)"),
    ("CentralMoment(3)", "central_moment(3)"),
    ("Cdf(50000)", "cdf(50000)"),
    ("Probability(0, 10000)", "probability(0, 10000)"),
    ("Atom(250000)", "atom(250000)"),
    ("Quantile(0.5)", "quantile(0.5)"),
    ("Derivative(0, 41000)", "derivative(0, 41000)"),
    ("IntegratedSquare(0)", "integrated_square(0)"),
    ("PowerIntegral(1.5)", "power_integral(1.5)"),
    ("Entropy()", "entropy"),
    ("FisherInformation()", "fisher_information"),
    ("Wasserstein(1, 'uniform')", "wasserstein(1, uniform)"),
    ("Wasserstein(2, 'uniform')", "wasserstein(2, uniform)"),
    ("KullbackLeibler('uniform')", "kullback_leibler(uniform)"),
)


def test_functionals_are_named_in_snake_case_and_read_back(income: Any) -> None:
    for functional, name in FUNCTIONALS:
        made = eval(f"f.{functional}", {"f": dp.functionals})
        read_back, estimated = dp.functionals.parse(name), income.functional(made).functional
        assert [str(made), str(read_back), str(estimated)] == [name] * 3


def test_estimators_have_their_names() -> None:
    for rule in (dp.Lepski(), dp.Undersmoothed(), dp.Fixed(3)):
        assert dp.Projection(level_rule=rule).level_rule == rule
    dp.Frequency()
