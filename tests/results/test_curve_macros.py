"""Densities, shares and quantiles asked of the landed curve are those of Python's own estimates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import pipeline
from dpcore.errors import WarehouseError
from dpcore.results.tables import round_tables
from dpcore.results.warehouse import land, query
from tests.helpers import warehouses
from tests.helpers.kept_open import kept_open
from tests.results.test_warehouse_macros import a_run, landing

SCHEME = """
name = "people"
clients = 40000
[attributes.income]
type = "numeric"
lower = 0
upper = 100
cells = 64
epsilon = 2
[attributes.age]
type = "numeric"
lower = 0
upper = 100
mechanism = "wavelet_laplace"
finest_level = 3
cells = 128
epsilon = 4
"""
GROUP = "sex=f"  # whose incomes are distributed as everybody's ages: no estimate of its own
CURVES = [("income", ""), ("income", GROUP), ("age", "")]
EVERYONE = [("income", ""), ("age", "")]


@pytest.fixture(scope="module")
def round_() -> pipeline.Round:
    """Incomes of which a tenth is none at all and a sixth is beyond the upper bound."""
    rng = np.random.default_rng(3)
    people = {"income": rng.gamma(2, 20, 40_000), "age": rng.normal(45, 15, 40_000).clip(0, 100)}
    people["income"][:4_000], people["income"][4_000:10_000] = 0, 150
    return pipeline.run(dp.Scheme.from_toml(SCHEME), people, dp.seeded(5))


@pytest.fixture(scope="module")
def estimates(round_: pipeline.Round) -> dict[tuple[str, str], dp.DensityEstimate]:
    of_everyone = {(name, ""): estimate for name, estimate in round_.estimates.items()}
    return of_everyone | {("income", GROUP): of_everyone["age", ""]}  # type: ignore[return-value]


@pytest.fixture(scope="module")
def path(round_: pipeline.Round, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = warehouses.put(tmp_path_factory.mktemp("curves") / "w.duckdb")
    whole = round_tables.tables_of(round_)
    curves, numbers = whole["densities"], whole["functionals"]  # of which atoms at a bound are some
    group = curves[curves["attribute"] == "age"].assign(attribute="income", given=GROUP)
    with kept_open():
        land(file, landing(a_run("r1", "x"), {"densities": pd.concat([curves, group]), "functionals": numbers}))
    return file


def ask(path: Path, call: str, given: str, *columns: str) -> np.ndarray:
    frame = query(path, f"from {call} where given = '{given}'")
    assert len(frame) == 1
    return frame[list(columns)].to_numpy(dtype=float)[0]


@pytest.mark.parametrize(("attribute", "given"), CURVES)
def test_at_grid_points_a_density_is_pythons(
    path: Path, estimates: dict[tuple[str, str], dp.DensityEstimate], attribute: str, given: str
) -> None:
    est = estimates[attribute, given]
    for x in np.linspace(0, 100, round_tables.POINTS)[[0, 1, 37, 100, 199, 200]]:
        low, high = est.band(x)
        found = ask(path, f"density_at('{attribute}', {x})", given, "density", "low", "high")
        assert found == pytest.approx([float(est(x)), low[0], high[0]], abs=1e-9)


@pytest.mark.parametrize(("attribute", "given"), EVERYONE)
def test_at_grid_points_a_share_is_pythons(
    path: Path, estimates: dict[tuple[str, str], dp.DensityEstimate], attribute: str, given: str
) -> None:
    """Atoms are in it: of the lower bound where it begins there, of the upper one where it ends there."""
    est = estimates[attribute, given]
    frame = est.to_frame(round_tables.POINTS)  # whose band, unlike `cdf_band`, is in rising order
    x, lows, highs = (frame[name].to_numpy() for name in ("x", "cdf_low", "cdf_high"))
    for i, j in ((10, 150), (0, 50), (0, 0), (40, 200), (199, 200), (0, 200), (60, 60)):
        (low_a, low_b), (high_a, high_b) = lows[[i, j]], highs[[i, j]]
        cdf_a, cdf_b = est.cdf(x[[i, j]])
        if i == 0:  # nobody is below
            low_a = high_a = cdf_a = 0.0
        if j == 200:  # nobody is above
            low_b = high_b = 1.0
        found = ask(path, f"share_between('{attribute}', {x[i]}, {x[j]})", given, "share", "low", "high")
        assert found == pytest.approx([cdf_b - cdf_a, max(0, low_b - high_a), min(1, high_b - low_a)], abs=1e-9)


def _least(x: np.ndarray, curve: np.ndarray, p: float, side: str) -> float:
    """Where a line through a rising curve reaches p ('left'), or goes above it ('right')."""
    i = int(np.searchsorted(curve, p, side))  # type: ignore[call-overload]
    if i in (0, len(x)):
        return float(x[min(i, len(x) - 1)])
    return float(x[i - 1] + (p - curve[i - 1]) / (curve[i] - curve[i - 1]) * (x[i] - x[i - 1]))


@pytest.mark.parametrize(("attribute", "given"), EVERYONE)
def test_a_quantile_is_that_of_the_landed_curve_and_next_to_pythons(
    path: Path, estimates: dict[tuple[str, str], dp.DensityEstimate], attribute: str, given: str
) -> None:
    est = estimates[attribute, given]
    frame, (left, right) = est.to_frame(round_tables.POINTS), est.atoms
    assert (left > 0.05 and right > 0.1) == ((attribute, given) == ("income", ""))
    x, cdf, cdf_low, cdf_high = (frame[name].to_numpy(copy=True) for name in ("x", "cdf", "cdf_low", "cdf_high"))
    cdf[-1] -= right  # the curve jumps there
    if right:
        cdf_low[-1] = cdf_low[-2]
    on_the_jump = (left / 2, 1 - right / 2, 1 - right * 0.999)
    for p in (0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.82, 0.9, 0.999, 1, float(cdf[100]), *on_the_jump):
        found = ask(path, f"quantile_at('{attribute}', {p!r})", given, "quantile", "low", "high")
        expected = [_least(x, cdf, p, "left"), _least(x, cdf_high, p, "left"), _least(x, cdf_low, p, "right")]
        assert found == pytest.approx(expected, abs=1e-9)
        assert found[1] <= found[0] <= found[2]
        if 0 < p < 1:
            assert found[0] == pytest.approx(float(est.quantile(p)), abs=0.5)  # a grid step: never further
        if 0.05 < p < 0.95:
            assert found[0] == pytest.approx(float(est.quantile(p)), abs=0.02)


def test_a_quantiles_interval_is_the_functionals(
    path: Path, estimates: dict[tuple[str, str], dp.DensityEstimate]
) -> None:
    """Both invert the band, Python on a finer grid: away from the bounds their ends are a tenth of the interval apart."""
    for (attribute, given), p in zip(CURVES, (0.3, 0.5, 0.7), strict=True):
        number = estimates[attribute, given].functional(dp.functionals.Quantile(p))
        _, low, high = ask(path, f"quantile_at('{attribute}', {p})", given, "quantile", "low", "high")
        assert (low, high) == pytest.approx((number.low, number.high), abs=(high - low) / 10)


def test_a_quantile_of_a_flat_curve_is_the_least(fresh: Path) -> None:
    """Where nobody is between 10 and 30, half of the clients have at most 10, and not 20 or 30."""
    flat = {"attribute": "income", "estimator": "log_spline", "given": "", "density": 0.0, "low": 0.0, "high": 1.0}
    flat |= {"x": [0.0, 10.0, 30.0, 40.0], "cdf": [0.0, 0.5, 0.5, 1.0], "confidence": 0.95}
    flat |= {"cdf_low": [0.0, 0.4, 0.4, 1.0], "cdf_high": [0.1, 0.6, 0.6, 1.0]}
    land(fresh, landing(a_run("r1", "x"), {"densities": pd.DataFrame(flat)}))
    assert ask(fresh, "quantile_at('income', 0.5)", "", "quantile", "low", "high") == pytest.approx(
        [10, 8, 30 + 10 / 6]
    )
    assert ask(fresh, "quantile_at('income', 0.4)", "", "quantile", "low", "high") == pytest.approx([8, 6, 30])
    assert query(fresh, "from quantile_at('nothing', 0.5)").empty


@pytest.mark.parametrize("p", ["-0.1", "1.01", "null"])
def test_what_is_no_share_is_one_line(path: Path, p: str) -> None:
    with pytest.raises(WarehouseError, match=r"quantile_at\(attribute, p\) needs p between 0 and 1") as caught:
        query(path, f"from quantile_at('income', {p})")
    assert "\n" not in str(caught.value)
