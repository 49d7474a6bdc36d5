"""What holds of every estimator, functional and group: ends in order, errors that shrink, units that follow the attribute's.

The same integers are read as an attribute of [0, 1] and of [-3, 5], of as many people and of sixteen times as many.
"""

from __future__ import annotations

from functools import cache
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.functionals import parse
from dpcore.mechanisms.registry import CATEGORICAL, NUMERIC

WIDTH, FROM = 8, -3
FEW, MANY = 4000, 64_000
HERE = {"unit": (0, 1), "wide": (FROM, FROM + WIDTH)}
NUMBERS = ("mean", "variance", "quantile(0.3)", "entropy", "integrated_square(0)", "fisher_information")
AT = ("cdf({})", "atom({})", "derivative(0, {})", "probability({}, {})")
SHARES = (0.2, 0.5, 0.3)
FIXED, FINER = 'level_rule = "fixed"\nlevel = 2\n', 'level_rule = "undersmoothed"\n'
READ = [
    (name, estimator, options)
    for name, kind in NUMERIC.items()
    for estimator in kind.declared.estimators
    for options in ((FIXED, FINER) if estimator == "projection" else ("",))
]
QUICK = [("wavelet_laplace", "projection", FIXED), ("dyadic_wave", "log_spline", "")]
CASES = [
    pytest.param(*one, id=" ".join((*one[:2], one[2][14:19])), marks=() if one in QUICK else pytest.mark.slow)
    for one in READ
]
EXTRA = {
    "wavelet_laplace": "degree = 1\nfinest_level = 2\n",
    "dyadic_wave": "cells = 32\n",
    "square_wave": "cells = 32\n",
}


def at(place: float, where: str) -> float:
    lower, upper = HERE[where]
    return lower + (upper - lower) * place


def functionals(where: str) -> dict[str, str]:
    """What each is called on the unit interval -> there."""
    told = {name: name for name in NUMBERS}
    for text in AT:
        places = (1,) if text.startswith("atom") else (0.375, 0.75)[: text.count("{}")]
        told[text.format(*places)] = text.format(*(f"{at(place, where):g}" for place in places))
    return told


@cache
def estimates(name: str, estimator: str, options: str, where: str, n: int) -> dict[str, Any]:
    """Everyone's estimate, and those of two groups, of n people whose reports are drawn alike wherever they live."""
    lower, upper = HERE[where]
    scheme = dp.Scheme.from_toml(f"""
name = "contract"
clients = 100000
pairs = [["x", "home"]]
[attributes.home]
type = "categorical"
categories = ["urban", "rural"]
epsilon = 3
[attributes.x]
type = "numeric"
lower = {lower}
upper = {upper}
epsilon = 4
mechanism = "{name}"
estimator = "{estimator}"
{options}{EXTRA[name]}""")
    places = np.repeat(scipy.special.betaincinv(2, 3, (np.arange(500) + 0.5) / 500), n // 500)
    people = {"x": at(places, where), "home": np.where(np.arange(n) % 3 == 0, "urban", "rural")}  # type: ignore[arg-type]
    found = dp.simulate(scheme, people, dp.seeded(11))
    return {"": dp.estimate(found, "x")} | (dp.estimate(found, "x", given="home") if n == FEW else {})


def moved(functional: str, value: float) -> float:
    """What a number of the unit interval is on the wide one."""
    unit = parse(functional).unit
    shift = FROM if functional.startswith(("mean", "quantile")) else log(WIDTH) if functional == "entropy" else 0
    return shift + value * (1 if isinstance(unit, str) else WIDTH**unit)


@pytest.mark.parametrize(("name", "estimator", "options"), CASES)
def test_numbers_of_densities_keep_the_contract(name: str, estimator: str, options: str) -> None:
    small, wide = (estimates(name, estimator, options, where, FEW) for where in HERE)
    large = estimates(name, estimator, options, "unit", MANY)
    assert set(small) == set(wide) == {"", "urban", "rural"}
    told = 0
    for group, estimate in small.items():
        if group == "rural":
            continue  # as urban is
        for functional, there in functionals("wide").items():
            one = estimate.functional(parse(functional))
            other = wide[group].functional(parse(there))
            assert one.is_refused == other.is_refused, functional
            if one.is_refused:
                assert one.reason
                assert (one.low, one.high, one.standard_error) == (None, None, None)
                continue
            told += 1
            assert one.low <= one.value <= one.high, functional
            scale = moved(functional, 1) - moved(functional, 0)
            for column in ("value", "low", "high", "plug_in"):
                there_it_is = moved(functional, getattr(one, column))
                if functional == "fisher_information" and column == "low" and one.low == 0:
                    there_it_is = 0
                assert getattr(other, column) == pytest.approx(there_it_is, rel=1e-4, abs=1e-4 * scale), functional
            assert other.standard_error == pytest.approx(one.standard_error * scale, rel=1e-4)
            half = estimate.functional(parse(functional), 0.5)
            assert one.low <= half.low <= half.high <= one.high, functional
            if one.low < one.value < one.high and not functional.startswith(("quantile", "fisher", "atom")):
                ends = [one.high - one.value, one.value - one.low]
                assert max(ends) > 0.98 * 1.96 * one.standard_error, functional
                if parse(functional).is_linear and not functional.startswith("derivative"):
                    assert sum(ends) == pytest.approx(2 * 1.96 * one.standard_error, rel=0.01), functional
                assert max(ends) > 1.5 * (half.high - half.value), functional
            if not group and functional.startswith(("mean", "cdf", "probability")):
                more = large[group].functional(parse(functional))
                assert more.standard_error == pytest.approx(one.standard_error / 4, rel=0.35), functional
    assert told >= 12


@pytest.mark.parametrize(("name", "estimator", "options"), CASES)
def test_curves_of_densities_keep_the_contract(name: str, estimator: str, options: str) -> None:
    small, wide = (estimates(name, estimator, options, where, FEW) for where in HERE)
    places = np.array([0.01, 0.2, 0.5, 0.77, 0.99])
    for group, estimate in small.items():
        x, there = places, at(places, "wide")  # type: ignore[arg-type]
        assert estimate.effective_n == pytest.approx(wide[group].effective_n, rel=1e-3)
        assert 0 < estimate.effective_n < 4000
        assert estimate(x) == pytest.approx(WIDTH * wide[group](there), rel=1e-4, abs=1e-6)
        for simultaneous in (False, True):
            low, high = estimate.band(x, simultaneous=simultaneous)
            others = wide[group].band(there, simultaneous=simultaneous)
            assert np.all((low >= 0) & (low <= estimate(x)) & (estimate(x) <= high))
            for one, other in zip((low, high), others, strict=True):
                assert one == pytest.approx(WIDTH * other, rel=1e-3, abs=1e-5)
        low, high = estimate.cdf_band(x)
        assert np.all((low >= 0) & (low <= estimate.cdf(x)) & (estimate.cdf(x) <= high) & (high <= 1))
        narrow = estimate.cdf_band(x, 0.5)
        assert np.all((low <= narrow[0]) & (narrow[1] <= high))
        together = estimate.band(x, simultaneous=True)
        assert np.all((together[0] <= estimate.band(x)[0]) & (together[1] >= estimate.band(x)[1]))
        moves, others = estimate.curve_sensitivity(x), wide[group].curve_sensitivity(there)
        if moves is not None:
            assert moves[0] == pytest.approx(WIDTH * others[0], rel=1e-3)
            assert moves[1] == pytest.approx(others[1], rel=1e-3)
        if estimate.fit is not None:
            assert estimate.fit.statistic == pytest.approx(wide[group].fit.statistic, rel=1e-3)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_frequencies_keep_the_contract(name: str) -> None:
    values = np.array([0.0, 1.0, 2.5])
    found = {}
    for n in (4000, 64_000):
        for where, scale in (("unit", 1), ("wide", WIDTH)):
            scheme = dp.Scheme.from_toml(f"""
name = "contract"
[attributes.x]
type = "categorical"
categories = ["a", "b", "c"]
values = {[float(scale * value) for value in values]}
epsilon = 2
mechanism = "{name}"
""")
            people = {"x": np.repeat(["a", "b", "c"], (np.array(SHARES) * n).astype(int))}
            found[where, n] = dp.estimate(dp.simulate(scheme, people, dp.seeded(5)), "x")
    one, other, more = found["unit", 4000], found["wide", 4000], found["unit", 64_000]
    assert one.raw == pytest.approx(other.raw)
    assert one.raw == pytest.approx(SHARES, abs=5 * one.standard_errors.max())
    assert one.standard_errors == pytest.approx(np.sqrt(np.diagonal(one.covariance)))
    assert np.all(one.standard_errors > 0)
    assert more.standard_errors == pytest.approx(one.standard_errors / 4, rel=0.1)
    low, high = one.interval(0.9)
    assert (high - low) / 2 == pytest.approx(1.645 * one.standard_errors, rel=0.05)
    assert np.all((one.interval(0.5)[0] > low) & (one.interval(0.5)[1] < high))
    for functional in ("mean", "variance"):
        left, right, better = (each.functional(parse(functional)) for each in (one, other, more))
        scale = moved(functional, 1) - moved(functional, 0)
        for column in ("value", "low", "high", "plug_in"):
            assert getattr(right, column) == pytest.approx(getattr(left, column) * scale)
        assert right.standard_error == pytest.approx(left.standard_error * scale)
        assert left.high - left.value == pytest.approx(1.96 * left.standard_error, rel=1e-3)
        assert left.value - left.low == pytest.approx(1.96 * left.standard_error, rel=1e-3)
        assert better.standard_error == pytest.approx(left.standard_error / 4, rel=0.1)
        assert other.sensitivity(parse(functional)).value == pytest.approx(
            scale * one.sensitivity(parse(functional)).value
        )
    assert one.effective_n == pytest.approx(more.effective_n / 16, rel=0.1)
    assert sqrt(one.spread.along(values)) == pytest.approx(one.functional(parse("mean")).standard_error)
