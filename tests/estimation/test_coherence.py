"""What a round reports of one number belongs to one distribution, and is at least as accurate as the curve.

The study: `python -m tests.estimation.test_coherence`, eight minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.estimation.coherent_cdf import CoherentCdf, rising, significant
from dpcore.estimation.functional_estimate import FunctionalEstimate, moved
from dpcore.estimation.inference.comparison import difference
from dpcore.functionals import parse
from dpcore.laboratory.studies.targets import densities
from dpcore.protocol.aggregates import Aggregate

MECHANISMS = {
    "dyadic_wave": 'mechanism = "dyadic_wave"',
    "square_wave": 'mechanism = "square_wave"\ncells = 64',
    "wavelet_laplace": 'mechanism = "wavelet_laplace"',
}
NAMES = ("beta_10_10", "beta_2_5", "bimodal", "claw", "uniform", "lognormal", "age", "expenditure", "chronic", "jump")
CLIENTS = (300, 1_000, 10_000, 100_000)
ROUNDS = {300: 12, 1_000: 12, 10_000: 8, 100_000: 6}
PLACES = np.arange(1, 20) / 20
GRID = np.linspace(0.0, 1.0, 777)
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
POINTS = np.arange(11)
STATED = 'mechanism = "stated"\nform = "rappor"\nrates = { f = 0.5, p = 0.5, q = 0.75 }\n'
ON_POINTS = {
    "values": f'type = "numeric"\nvalues = {POINTS.tolist()}\n',
    "step": 'type = "numeric"\nlower = 0\nupper = 10\nstep = 1\n',
    "stated": f'type = "categorical"\ncategories = {[f"c{i}" for i in POINTS]}\nvalues = {POINTS.tolist()}\n',
}
LAWS = {
    "smooth": np.exp(-((POINTS - 4) ** 2) / 8.0),
    "heaped": np.where(POINTS % 5 == 0, 4.0, 1.0),
    "few": np.where((POINTS == 2) | (POINTS == 3), 1.0, 0.0),
}


@dataclass(frozen=True)
class Found:
    """Squared errors of the reported cdf and of the curve at some places, and the parts of the intervals that cover."""

    reported: float
    curve: float
    covered: float
    quantiles: float


def rounds(method: str, name: str, clients: int, seed: int) -> dp.DensityEstimate:
    scheme = dp.Scheme.from_toml(
        f'name = "s"\nclients = {clients}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n'
        f"{MECHANISMS[method]}\n"
    )
    return dp.estimate(dp.simulate(scheme, densities.target(name), dp.seeded([seed, clients]), clients), "x")


def told(estimate: Any, texts: list[str]) -> list[FunctionalEstimate]:
    """The numbers that are not refused."""
    return [found for found in map(estimate.functional, map(parse, texts)) if not found.is_refused]


def check_one_distribution(estimate: Any) -> None:
    """Assert that shares rise and add up, quantiles invert them, and the table and the bands say the same."""
    below = estimate.cdf(GRID)
    assert np.all(np.diff(below) >= -1e-12)
    assert below[-1] == 1
    frame = estimate.to_frame(points=41)
    assert frame["cdf"].to_numpy() == pytest.approx(estimate.cdf(frame["x"].to_numpy()), abs=1e-12)
    assert np.all((frame["cdf_low"] <= frame["cdf"]) & (frame["cdf"] <= frame["cdf_high"]))
    for x, y in pairwise(PLACES[::4].tolist()):
        for one in told(estimate, [f"cdf({x!r})"]):
            assert one.value == pytest.approx(float(estimate.cdf(x)), abs=1e-9)
            assert is_inside(one, 0.0, 1.0)
        for one in told(estimate, [f"probability({x!r}, {y!r})"]):
            assert one.value == pytest.approx(float(estimate.cdf(y) - estimate.cdf(x)), abs=1e-9)
            assert is_inside(one, 0.0, 1.0)
    for t in SHARES:
        for one in told(estimate, [f"quantile({t})"]):
            assert one.value == pytest.approx(float(estimate.quantile(t)), abs=1e-9)
            assert estimate.cdf(one.value) >= t - 1e-9
            assert estimate.cdf(one.value - 1e-9) <= t + 1e-6 or one.value == 0
    for one in told(estimate, ["atom(0)"]):
        assert one.value == pytest.approx(float(estimate.cdf(0.0)), abs=1e-9)
    for one in told(estimate, ["atom(1)"]):
        assert one.value == pytest.approx(1 - float(estimate.cdf(np.nextafter(1.0, 0.0))), abs=1e-6)


def is_inside(found: FunctionalEstimate, least: float, most: float) -> bool:
    """Whether an estimate is on no limit of its interval but the range's own."""
    return (found.low < found.value or found.value == least) and (found.value < found.high or found.value == most)


def found_of(estimate: Any, name: str) -> Found:
    law, curve = densities.target(name), estimate.density
    truth = law.cdf(PLACES)
    shares = [estimate.functional(parse(f"cdf({x!r})")) for x in PLACES[::3].tolist()]
    quantiles = [estimate.functional(parse(f"quantile({t})")) for t in SHARES]
    return Found(
        float(np.mean((estimate.cdf(PLACES) - truth) ** 2)),
        float(np.mean((curve.cdf(PLACES) - truth) ** 2)),
        covered(shares, truth[::3].tolist()),
        covered(quantiles, [law.quantile(t) for t in SHARES]),
    )


def covered(results: list[FunctionalEstimate], truth: list[float]) -> float:
    """The part of the intervals that cover, of those that there are."""
    known = [
        one.low - 1e-9 <= true <= one.high + 1e-9
        for one, true in zip(results, truth, strict=True)
        if one.low is not None and one.high is not None
    ]
    return float(np.mean(known)) if known else np.nan


def on_points(kind: str, law: str, clients: int, seed: int) -> tuple[dp.FrequencyEstimate, np.ndarray]:
    """An estimate of values at eleven points, and their cdf."""
    asked = STATED if kind == "stated" else "epsilon = 1\n"
    scheme = dp.Scheme.from_toml(f'name = "s"\nclients = {clients}\n[attributes.x]\n{ON_POINTS[kind]}{asked}')
    shares = LAWS[law] / LAWS[law].sum()
    values = np.random.default_rng([seed, clients]).choice(POINTS, clients, p=shares)
    if kind == "stated":  # nobody is asked by such a scheme
        mechanism = scheme.attributes["x"].mechanism
        statistics = mechanism.statistics(mechanism.privatize(values, dp.seeded([seed, 7])))
        found = Aggregate(scheme, clients, {"x": statistics}, {}, {"x": clients})
    else:
        found = dp.aggregate(scheme, dp.privatize(scheme, {"x": values.astype(float)}, dp.seeded([seed, 7])))
    return dp.estimate(found, "x"), np.cumsum(shares)


def check_points(estimate: dp.FrequencyEstimate) -> None:
    """Assert that shares add up to their cdf, which quantiles invert, and are inside their intervals."""
    frame = estimate.to_frame()
    assert frame["estimate"].sum() == pytest.approx(1)
    for side in ("low", "high"):
        is_at_limit = frame["estimate"] == frame[side]
        assert frame["estimate"][is_at_limit].isin([0.0, 1.0]).all()
    below = np.cumsum(frame["estimate"])
    for point, share in zip(POINTS.tolist(), below, strict=True):
        found = estimate.functional(parse(f"cdf({point})"))
        assert found.value == pytest.approx(share, abs=1e-9) == pytest.approx(float(estimate.cdf(point)), abs=1e-9)
        assert is_inside(found, 0.0, 1.0) or found.value == pytest.approx(1)
    for t in SHARES:
        found = estimate.functional(parse(f"quantile({t})"))
        assert found.value == float(estimate.quantile(t))
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize("method", MECHANISMS)
def test_a_small_round_of_a_number_is_one_distribution(method: str) -> None:
    for name, clients in (("beta_2_5", 1_000), ("lognormal", 1_000)):
        check_one_distribution(rounds(method, name, clients, 6))


@pytest.mark.parametrize("kind", ON_POINTS)
def test_a_small_round_of_points_is_one_distribution(kind: str) -> None:
    for law, clients in product(LAWS, (50, 1_000)):
        check_points(on_points(kind, law, clients, 1)[0])


def test_corrections_within_three_standard_errors_are_not_made() -> None:
    corrections = np.array([-0.3, 0.3, 0.6, 6.0])
    assert significant(corrections, np.full(4, 0.1)) == pytest.approx([0, 0, 0.6 * 0.75, 6 * (1 - 0.0025)])
    assert significant(corrections, np.zeros(4)) == pytest.approx(corrections)
    assert significant(corrections, np.full(4, np.inf)) == pytest.approx(np.zeros(4))


def test_a_corrected_cdf_is_the_nearest_that_does_not_fall() -> None:
    curve, corrected = np.array([0.1, 0.2, 0.3, 0.9]), np.array([-0.1, 0.5, 0.3, 1.2])
    assert rising(curve, corrected, np.zeros(4)) == pytest.approx([0, 0.4, 0.4, 1])
    assert rising(curve, corrected, np.full(4, 0.5)) == pytest.approx(curve)


def test_between_grid_points_shares_rise_as_the_curve_does() -> None:
    density = rounds("dyadic_wave", "beta_2_5", 1_000, 1).density
    coherent = CoherentCdf.from_band(density, lambda x: (density.cdf(x) ** 2, density.cdf(x) ** 2))
    assert coherent(0.5) == pytest.approx(density.cdf(0.5) ** 2, abs=1e-6)
    coherent = replace(coherent, **{name: getattr(coherent, name)[::64] for name in ("grid", "curve", "shares")})
    x = np.array([0.0625, 0.09, 0.125])
    part = (density.cdf(x[1]) - density.cdf(x[0])) / (density.cdf(x[2]) - density.cdf(x[0]))
    first, middle, last = coherent(x)
    assert middle == pytest.approx(first + part * (last - first))
    assert coherent.quantile(middle) == pytest.approx(0.09, abs=1e-9)
    assert coherent(np.array([-1.0, 1.0, 2.0])).tolist() == [0, 1, 1]


def test_an_interval_is_moved_and_never_longer() -> None:
    rng = np.random.default_rng(1)
    value, low, length = rng.random(1000), rng.uniform(-0.5, 1, 1000), rng.random(1000)
    high = low + length
    least, most = moved(value, low, high, -9.0, 9.0)
    assert most - least == pytest.approx(length)
    assert np.all((value - least >= length / 8 - 1e-12) & (most - value >= length / 8 - 1e-12))
    is_well_inside = (value - low >= length / 8) & (high - value >= length / 8)
    assert np.array_equal(low[is_well_inside], least[is_well_inside])
    assert np.all(np.abs(least - low)[~is_well_inside] > 0)


def test_a_limit_that_the_range_cut_stays_and_may_be_the_value() -> None:
    assert [float(end) for end in moved(0.0, 0.0, 0.4, 0.0, 1.0)] == [0.0, 0.4]
    assert [float(end) for end in moved(0.05, 0.0, 1.0, 0.0, 1.0)] == [0.0, 1.0]
    low, high = moved(0.5, 0.0, 0.4, 0.0, 1.0)
    assert (float(low), float(high)) == pytest.approx((0.0, 0.55))


def test_crossed_limits_are_put_in_order_and_contain_the_value() -> None:
    rng = np.random.default_rng(2)
    value, low, high = (
        rng.random(1000).round(1),
        rng.uniform(-0.5, 1.5, 1000).round(1),
        rng.uniform(-0.5, 1.5, 1000).round(1),
    )
    for most in (1.0, np.maximum(value, 0.5)):
        first, last = moved(value, low, high, 0.0, most)
        assert np.all((first <= value) & (value <= last))


def test_the_limits_of_a_difference_are_those_of_its_sides() -> None:
    """A reported share has the bias of its curve, which does not cancel: the side on which it may be is the longer one."""
    middle = {"functional": "cdf(1)", "standard_error": 0.1, "confidence": 0.95, "kind": "smooth"}
    one = FunctionalEstimate(value=0.5, low=0.304, high=0.696, **middle)
    other = FunctionalEstimate(value=0.35, low=0.304, high=0.696, **middle)
    found = difference(other, one)
    assert found.high - found.difference == pytest.approx(np.hypot(0.346, 0.196), abs=1e-3)
    assert found.difference - found.low == pytest.approx(np.hypot(0.196, 0.196), abs=1e-3)


def study(clients: int, seeds: range) -> Iterator[tuple[str, str, list[Found]]]:
    """Mechanism, distribution and what was found in each round; raises AssertionError where something contradicts."""
    for method, name in product(MECHANISMS, NAMES):
        found = []
        for seed in seeds:
            estimate = rounds(method, name, clients, seed)
            check_one_distribution(estimate)
            found.append(found_of(estimate, name))
        yield method, name, found


def ratio(found: list[Found]) -> float:
    """Root mean squared error of the reported cdf over that of the curve."""
    return float(np.sqrt(sum(one.reported for one in found) / sum(one.curve for one in found)))


@pytest.mark.nightly("a study")
@pytest.mark.slow
@pytest.mark.parametrize("clients", CLIENTS)
def test_rounds_of_ten_distributions_are_coherent_and_as_accurate_as_their_curve(clients: int) -> None:
    everything = list(study(clients, range(ROUNDS[clients])))
    for method, name, found in everything:
        assert ratio(found) <= 1.05, (method, name)
    assert np.nanmean([one.covered for _, _, found in everything for one in found]) >= 0.94
    assert np.nanmean([one.quantiles for _, _, found in everything for one in found]) >= 0.94


@pytest.mark.nightly("a study")
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "clients"), list(product(ON_POINTS, CLIENTS)))
def test_rounds_of_points_are_coherent(kind: str, clients: int) -> None:
    for law in LAWS:
        covers = []
        for seed in range(ROUNDS[clients]):
            estimate, below = on_points(kind, law, clients, seed)
            check_points(estimate)
            results = [estimate.functional(parse(f"cdf({point})")) for point in POINTS[:-1].tolist()]
            covers.append(covered(results, below[:-1].tolist()))
        # Not significantly below 90 %: shares of one round are correlated, so the error is that of the rounds' means.
        assert np.mean(covers) + 2.33 * np.std(covers) / np.sqrt(len(covers)) >= 0.9, law


def report() -> Iterator[str]:
    """A line for each size and mechanism: the largest ratio of errors, and coverage of shares and quantiles."""
    for clients in CLIENTS:
        everything = list(study(clients, range(ROUNDS[clients])))
        for method in MECHANISMS:
            own = [(name, found) for each, name, found in everything if each == method]
            worst = max(own, key=lambda one: ratio(one[1]))
            shares, quantiles = (
                np.nanmean([getattr(one, side) for _, found in own for one in found])
                for side in ("covered", "quantiles")
            )
            yield (
                f"{clients:7,} {method:16} ratio {ratio(worst[1]):.3f} ({worst[0]}), mean "
                f"{np.mean([ratio(found) for _, found in own]):.3f}; covered {shares:.3f}, quantiles {quantiles:.3f}"
            )


if __name__ == "__main__":
    for line in report():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
