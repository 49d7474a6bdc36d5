"""Values at few points are seen from the reports; what they leave open is held or refused, and smooth laws are spared."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.audit.attacks.lower_bound import binomial_interval
from dpcore.estimation.density.density_estimate import DensityEstimate
from dpcore.estimation.diagnostics import discreteness
from dpcore.functionals import parse
from tests.helpers.cases import of_each_kind

ROUNDS = 200
PLACES = np.arange(31) / 30
POINTS = {  # values, and how often each
    "ten": ((np.arange(10) + 0.5) / 10, np.full(10, 0.1)),
    "thirty-one": (PLACES, np.full(31, 1 / 31)),
    "counts": (PLACES, scipy.stats.poisson(5).pmf(np.arange(31))),
    "ages": (np.arange(101) / 100, scipy.stats.norm(40, 20).pdf(np.arange(101))),
    "incomes": (np.arange(151) / 150, scipy.stats.lognorm(0.6, scale=35).pdf(np.arange(151) + 1e-9)),
}
SMOOTH = {
    "skew": scipy.stats.beta(2, 5),
    "narrow": scipy.stats.norm(0.5, 0.02),
    "exponential": scipy.stats.truncexpon(8, scale=1 / 8),
    "two per cent": scipy.stats.uniform(0.3, 0.02),
}


def estimated(name: str, clients: int, epsilon: int, seed: int) -> DensityEstimate:
    rng = np.random.default_rng([seed, 9])
    if name in POINTS:
        values, often = POINTS[name]
        people = rng.choice(values, clients, p=often / often.sum())
    elif name == "zeros inside":
        people = np.where(rng.random(clients) < 0.4, 0.25, rng.beta(2, 2, clients))
    elif name == "a spike":
        people = np.where(rng.random(clients) < 0.05, 0.4, rng.beta(2, 2, clients))
    elif name == "endless":
        people = rng.beta(0.5, 0.5, clients)
    else:
        people = np.clip(SMOOTH[name].rvs(clients, random_state=rng), 0, 1)
    text = f'type = "numeric"\nlower = 0\nupper = 1\nmechanism = "dyadic_wave"\nepsilon = {epsilon}\n'
    scheme = dp.Scheme.from_toml(f'name = "s"\n[attributes.x]\n{text}')
    return dp.estimate(dp.aggregate(scheme, dp.privatize(scheme, {"x": people}, dp.seeded([seed, 2]))), "x")


@pytest.mark.parametrize(
    ("name", "clients", "epsilon", "lattice"),
    of_each_kind(
        [
            ("ten", 10_000, 1, 10),
            ("thirty-one", 100_000, 1, 30),
            ("counts", 100_000, 1, 30),
            ("ages", 100_000, 4, 100),
            ("incomes", 100_000, 4, 150),
        ],
        ("ten", 10_000, 1, 10),
        ("incomes", 100_000, 4, 150),
    ),
)
def test_a_lattice_is_seen_and_its_shares_hold(name: str, clients: int, epsilon: int, lattice: int) -> None:
    """At 0609a21 the share at or below a value held .39 of the times, and nothing was refused."""
    estimate = estimated(name, clients, epsilon, 1)
    found, (values, often) = estimate.discreteness, POINTS[name]
    assert found is not None
    assert found.is_seen
    assert found.lattice == lattice
    assert f"values {1000 / lattice:.4g} EUR apart" in found.text(1000.0, "EUR")
    below = np.cumsum(often / often.sum())
    for place in np.searchsorted(below, [0.2, 0.5, 0.8]):
        share = estimate.functional(parse(f"cdf({float(values[place])!r})"))
        assert share.low <= below[place] <= share.high
        low, high = estimate.cdf_band(values[place])
        assert low[0] <= below[place] <= high[0]
    median = estimate.functional(parse("quantile(0.5)"))
    assert median.low <= values[np.searchsorted(below, 0.5)] <= median.high
    for text in ("entropy", "integrated_square(0)", "derivative(0, 0.3)"):
        refused = estimate.functional(parse(text))
        assert refused.is_refused
        assert "few points" in refused.reason or "few input cells" in refused.reason
    assert not estimate.functional(parse("mean")).is_refused


def test_a_value_of_many_people_is_seen(subtests: pytest.Subtests) -> None:
    for name, clients, epsilon, at in [("zeros inside", 10_000, 1, 0.25), ("a spike", 100_000, 4, 0.4)]:
        with subtests.test(name=name, clients=clients, epsilon=epsilon, at=at):
            estimate = estimated(name, clients, epsilon, 3)
            found = estimate.discreteness
            assert found is not None
            assert found.is_seen
            assert found.lattice or "are indistinguishable from one value each" in found.text(1.0)
            own = 0.4 if at == 0.25 else 0.05
            truth = own + (1 - own) * float(scipy.stats.beta(2, 2).cdf(at))
            share = estimate.functional(parse(f"cdf({at})"))
            assert share.low <= truth <= share.high
            assert share.low < share.value < share.high
            assert (
                abs(share.value - truth) <= abs(float(estimate.density.cdf(at)) - truth) + 0.05 * share.standard_error
            )
            assert share.high - share.low == pytest.approx(2 * 1.96 * share.standard_error, rel=1e-3)
            free = estimate.functional(parse(f"cdf({at})"), distribution_free=True)
            assert share.high - share.low == pytest.approx(free.high - free.low)
            assert abs(share.low - free.low) < (free.high - free.low) / 2
            assert np.ravel(estimate.cdf_band(at)) == pytest.approx([share.low, share.high], abs=1e-3)
            assert estimate.functional(parse("integrated_square(0)")).is_refused


@pytest.mark.parametrize(("name", "seed"), of_each_kind(product(["skew", "ten"], range(5)), ("ten", 4)))
def test_of_few_reports_nothing_is_told(name: str, seed: int) -> None:
    """Fifty people are the smallest round: everything looks like a single value, and like a density."""
    found = estimated(name, 50, 1, seed).discreteness
    assert found is not None
    assert not found.is_seen


@pytest.mark.parametrize(
    ("name", "clients", "epsilon"),
    of_each_kind(
        [(name, *people) for name in SMOOTH for people in [(10_000, 1), (100_000, 4)]],
        ("skew", 10_000, 1),
    ),
)
def test_a_density_is_left_in_peace(name: str, clients: int, epsilon: int) -> None:
    estimate = estimated(name, clients, epsilon, 5)
    found = estimate.discreteness
    assert found is not None
    assert not found.is_seen
    assert "as well as" in found.text(1.0)


@pytest.mark.parametrize(("clients", "epsilon"), of_each_kind([(10_000, 1), (100_000, 4)], (10_000, 1)))
def test_what_may_be_infinite_at_an_end_is_refused(clients: int, epsilon: int) -> None:
    """At 0609a21 the integral of the square of Beta(.5, .5), which is infinite, was 1.1 to 1.3."""
    estimate = estimated("endless", clients, epsilon, 1)
    for text in ("entropy", "integrated_square(0)"):
        assert estimate.functional(parse(text)).is_refused
    assert not estimate.functional(parse("cdf(0.3)")).is_refused


@pytest.mark.nightly("a study")
@pytest.mark.parametrize(("clients", "epsilon"), [(100_000, 1), (100_000, 4), (1_000_000, 4)])
@pytest.mark.parametrize("name", [*POINTS, "zeros inside"])
def test_intervals_of_values_at_points_hold(name: str, clients: int, epsilon: int) -> None:
    if name in ("ages", "incomes") and epsilon == 1:
        pytest.skip("no report tells these from a density")
    if name == "zeros inside":
        truth = {
            "cdf(0.25)": 0.4 + 0.6 * scipy.stats.beta(2, 2).cdf(0.25),
            "cdf(0.4)": 0.4 + 0.6 * scipy.stats.beta(2, 2).cdf(0.4),
        }
    else:
        values, often = POINTS[name]
        below = np.cumsum(often / often.sum())
        truth = {f"cdf({float(values[i])!r})": below[i] for i in np.searchsorted(below, [0.2, 0.5, 0.8])}
        truth |= {"quantile(0.45)": values[np.searchsorted(below, 0.45)]}
    held, asked = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for seed in range(ROUNDS):
        estimate = estimated(name, clients, epsilon, 1000 + seed)
        for text, true in truth.items():
            found = estimate.functional(parse(text))
            asked[text] += not found.is_refused
            held[text] += not found.is_refused and found.low - 1e-9 <= true <= found.high + 1e-9
    for text in truth:
        assert binomial_interval(held[text], asked[text], 0.99)[1] >= 0.9, text


def test_lattices_are_tried_with_parts_of_the_law_and_of_the_evened_law_moved_to_them() -> None:
    law = np.random.default_rng(5).dirichlet(np.ones(60))
    tried: list[np.ndarray] = []

    def preferred(laws: np.ndarray) -> np.ndarray:
        tried.append(laws)
        return np.zeros(len(laws))

    discreteness._lattice(law, np.transpose, preferred)  # each law expects itself
    even = scipy.ndimage.uniform_filter1d(law, round(60 / 7), mode="reflect")
    found = []
    for whole in (law, even / even.sum()):
        moved = np.zeros(60)
        for cell, mass in enumerate(whole):
            nearest = min(6, max(0, round((cell + 0.5) / 60 * 7 - 0.5))) + 0.5  # a middle between multiples of 1 / 7
            moved[int(nearest / 7 * 60)] += mass
        found.append(moved)
    place = 2 * (2 * (7 - 2) + 1)  # of 2, 3, ... multiples and middles, each of the law and of the evened one
    for part, laws in zip((0.2, 0.5, 1.0), tried, strict=True):
        for number, moved in enumerate(found):
            np.testing.assert_allclose(laws[place + number], (1 - part) * law + part * moved, atol=1e-12)
