"""The study of rates: its densities, what theory predicts at a point, slopes and what is said of them, chunks and pictures."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore import cli, pipeline
from dpcore._random import seeded
from dpcore.errors import SchemeError
from dpcore.estimation.estimators import Fixed, Projection
from dpcore.laboratory.benchmarks.rates import Rates
from dpcore.laboratory.plots.rates import plot_rates
from dpcore.laboratory.studies import pointwise, rates
from dpcore.laboratory.studies.aims import rates as rates_aims
from dpcore.laboratory.studies.rates import SELF_SIMILAR
from dpcore.results import plots, warehouse

LINEAR = "projection_degree_1"
FEW = (10**6, 4 * 10**6)


# Densities


@pytest.mark.parametrize("name", ["hill", "wave", "sine", "cosine"])
def test_densities_are_proper_bounded_away_from_zero_and_know_their_derivatives(name: str) -> None:
    law, x, h = rates.target(name), np.linspace(0.01, 0.99, 99), 1e-5
    assert law.cdf(1.0) == 1
    assert law.distribution(1.0) == pytest.approx(1)
    assert law.pdf(np.linspace(0, 1, 999)).min() > 0.19
    np.testing.assert_allclose((law.cdf(x + h) - law.cdf(x - h)) / (2 * h), law.pdf(x), rtol=1e-7)
    for order, derivative in enumerate(law.derivatives):
        before = law.pdf if order == 0 else law.derivatives[order - 1]
        np.testing.assert_allclose((before(x + h) - before(x - h)) / (2 * h), derivative(x), atol=1e-5)


@pytest.mark.parametrize(("name", "degree"), [("sine", 0), ("cosine", 1)])
def test_what_the_bias_is_made_of_is_extreme_at_a_third(name: str, degree: int) -> None:
    law, x = rates.target(name), np.linspace(0, 1, 2001)
    leading, following = law.derivatives[degree], law.derivatives[1 - degree]
    assert abs(leading(SELF_SIMILAR)) == pytest.approx(np.abs(leading(x)).max(), rel=1e-4)
    if degree == 0:
        assert following(SELF_SIMILAR) == pytest.approx(0, abs=1e-9)


# What theory predicts


def test_the_bias_of_constants_is_a_cells_mean_less_the_density() -> None:
    law, x = rates.target("sine"), 0.3
    for level in (3, 5):
        a, b = np.floor(x * 2**level) / 2**level, np.ceil(x * 2**level) / 2**level
        mean = (law.cdf(b) - law.cdf(a)) / (b - a)
        assert pointwise.bias(law, 0, level, 0, x) == pytest.approx(mean - law.pdf(x), abs=1e-9)


@pytest.mark.parametrize(("name", "degree", "order"), [("sine", 0, 0), ("cosine", 1, 0), ("cosine", 1, 1)])
def test_at_a_third_the_bias_only_scales_and_at_three_tenths_it_does_not(name: str, degree: int, order: int) -> None:
    def steps(x: float) -> np.ndarray:
        biases = np.array([abs(pointwise.bias(rates.target(name), degree, j, order, x)) for j in range(4, 9)])
        return biases[:-1] / biases[1:] / 2 ** (degree + 1 - order)

    np.testing.assert_allclose(steps(SELF_SIMILAR), 1, atol=0.06)
    assert np.abs(np.log(steps(0.3))).max() > np.log(1.5)


@pytest.mark.parametrize("degree", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_levels_go_up_by_one_as_theory_says(degree: int) -> None:
    law = rates.target(("sine", "cosine")[degree])
    for order in range(degree + 1):
        levels = [pointwise.balanced_level(law, degree, order, SELF_SIMILAR, n, 1.0) for n in rates.CLIENTS]
        apart = degree + 2
        assert [b - a for a, b in zip(levels, levels[apart:], strict=False)] == [1] * (len(levels) - apart)
        errors = [
            pointwise.bias(law, degree, j, order, SELF_SIMILAR) ** 2
            + pointwise.noise(law, degree, j, order, SELF_SIMILAR, 10**8, 1.0) ** 2
            for j in (3, 4, 5, 6, 7)
        ]
        wanted = pointwise.balanced_level(law, degree, order, SELF_SIMILAR, 10**8, 1.0)
        assert abs(3 + int(np.argmin(errors)) - wanted) <= 1


def test_the_noise_is_the_mechanisms_and_the_clients() -> None:
    law, degree, level, n = rates.target("cosine"), 1, 4, 10**6
    mechanism = pointwise.scheme(degree, n, 1.0).attributes["x"].mechanism
    model, cells = mechanism.model(), law.cells(mechanism.inputs)
    variance = 0.0
    for block in range(level - model.basis.coarsest_level + 1):
        dual = pointwise.bspline.evaluate(np.array([0.3]), degree, level, 1) @ model.basis.synthesis(block, level)
        row = (dual * model.units[block])[0]
        sent = model.tables[block] @ row
        own = model.noise_variances[block] * row @ row + cells @ sent**2 - (cells @ sent) ** 2
        variance += own / (n * model.block_law[block])
    assert pointwise.noise(law, degree, level, 1, 0.3, n, 1.0) == pytest.approx(np.sqrt(variance), rel=0.01)


def test_draws_are_the_literal_plug_in() -> None:
    law, n, seed = rates.target("cosine"), 10**6, (3, 1)
    planned = pointwise.scheme(1, n, 1.0)
    found = pointwise.draws(law, 1, {0: 4, 1: 3}, rates.POINTS, n, 1.0, [seed])
    aggregate = pipeline.simulate(planned, law, seeded(seed), n)
    for order, level in ((0, 4), (1, 3)):
        raw = pipeline.estimate(aggregate, "x", Projection(Fixed(level), unit_mass=False)).raw
        np.testing.assert_allclose(found[0, order], raw.derivative(order)(np.array(rates.POINTS)), rtol=1e-9)


# Slopes


def smooth(
    method: str, functional: str, slope: float, *, returned: int = 100, sizes: Any = rates.SIZES[rates.WAVELETS]
) -> pd.DataFrame:
    sizes = np.array(sizes, dtype=float)
    columns: dict[str, Any] = {
        "method": method,
        "target": "hill",
        "clients": sizes.astype(int),
        "epsilon": 1.0,
        "functional": functional,
        "repetitions": 100,
        "returned": returned,
        "effective": sizes,
        "error": 3.0 * sizes**-slope,
        "uncertainty": 0.05,
        "mean_error": 0.0,
        "standard_error": 1.0,
        "bias": np.nan,
        "noise": np.nan,
        "level": np.nan,
    }
    return pd.DataFrame(columns)


def atomic(order: int, x: float, slope: float, *, scale: float = 1.0, ripple: float = 0.2) -> pd.DataFrame:
    """Errors that depend on how far n is from the next level, as they do."""
    frame = smooth(LINEAR, f"derivative({order}, {x!r})", slope, sizes=rates.CLIENTS)
    classes = np.arange(len(frame))[::-1] % 3
    error = frame["error"] * (1 + ripple * classes)
    return frame.assign(target="cosine", error=error * scale, bias=0.6 * error, noise=0.8 * error, level=4.0)


def verdict(frame: pd.DataFrame, words: str) -> Any:
    (found,) = [each for each in rates_aims.verdicts(rates_aims.judged(frame)) if words in each.aim]
    return found


@pytest.mark.parametrize(("slope", "is_right"), [(0.5, True), (0.46, True), (0.44, False), (0.56, False)])
def test_a_slope_is_held_against_one_half(slope: float, is_right: bool) -> None:
    frame = pd.concat([smooth("dyadic_wave", "mean", 0.5), smooth("dyadic_wave", "entropy", slope)])
    found = verdict(frame, "dyadic_wave: slope")
    assert (found.value, found.reached) == (pytest.approx(abs(slope - 0.5), abs=1e-6), is_right)
    if slope != 0.5:
        assert f"entropy, hill: {slope:.3f} +- 0.007" in found.aim  # .05 / sqrt(sum of (log 10)^2 (4 + 1 + 0 + 1 + 4))


def test_the_logarithm_of_many_levels_is_allowed_where_schemes_are_planned_anew() -> None:
    line = rates_aims.judged(smooth(rates.REPLANNED, "mean", 0.43)).iloc[0]
    assert (line["theory_low"], line["theory_high"]) == (pytest.approx(0.462, abs=5e-4), 0.5)
    assert line["off"] == pytest.approx(0.032, abs=5e-4)
    assert verdict(smooth(rates.REPLANNED, "mean", 0.40), "_replanned: slope").reached is False
    assert verdict(smooth(rates.REPLANNED, "mean", 0.48), "_replanned: slope").value == 0


def test_the_logarithm_of_a_weight_that_jumps_is_allowed() -> None:
    for name in ("cdf(0.3)", "quantile(0.5)"):
        line = rates_aims.judged(smooth("dyadic_wave", name, 0.42)).iloc[0]
        assert (line["theory_low"], line["theory_high"]) == (pytest.approx(0.444, abs=1e-3), 0.5)
        assert line["off"] == pytest.approx(0.024, abs=1e-3)
    assert rates_aims.judged(smooth("dyadic_wave", "mean", 0.42)).iloc[0]["theory_low"] == 0.5


def test_refused_places_are_left_out_and_three_decades_must_remain() -> None:
    rare = smooth("dyadic_wave", "entropy", 0.5)
    for kept, is_judged in ((4, True), (3, False)):
        few = rare.assign(
            returned=[94] * (5 - kept) + [100] * kept, error=[9.0] * (5 - kept) + list(rare["error"][-kept:])
        )
        assert (rates_aims.judged(few).iloc[0]["off"] == pytest.approx(0, abs=1e-9)) == is_judged
        assert verdict(few, "3 decades").value == (0 if is_judged else 1)
    nobody = rates_aims.judged(rare.assign(returned=0, error=np.nan))
    assert nobody.iloc[0]["places"] == 0


def test_a_slope_over_levels_is_taken_among_places_that_are_alike() -> None:
    frame = pd.concat([atomic(0, SELF_SIMILAR, 1 / 3), atomic(1, SELF_SIMILAR, 1 / 6), atomic(0, 0.3, 0.7)])
    lines = rates_aims.judged(frame).set_index("functional")
    assert list(lines["off"].fillna(9)) == pytest.approx([0, 0, 9], abs=1e-6)  # of 0.3 no slope is judged
    assert (
        verdict(atomic(0, SELF_SIMILAR, 0.39), "projection_degree_1: slope of the derivative of order 0").reached
        is False
    )
    assert (
        verdict(atomic(1, SELF_SIMILAR, 0.11), "projection_degree_1: slope of the derivative of order 1").reached
        is False
    )


@pytest.mark.parametrize(("scale", "is_right"), [(1.0, True), (1.14, True), (0.8, False), (1.2, False)])
def test_errors_are_held_against_bias_and_noise_at_both_points(scale: float, is_right: bool) -> None:
    frame = pd.concat([atomic(0, SELF_SIMILAR, 1 / 3), atomic(0, 0.3, 1 / 3, scale=scale)])
    assert verdict(frame, "projection_degree_1: error").reached == is_right


def test_what_was_not_measured_is_not_reached() -> None:
    nothing = rates_aims.judged(smooth("dyadic_wave", "mean", 0.5)[:0])
    assert {each.reached for each in rates_aims.verdicts(nothing)} == {None}


# Chunks, tables and pictures


@pytest.mark.slow
def test_a_study_goes_on_and_takes_more_repetitions(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "CLIENTS", FEW)
    monkeypatch.setattr(rates, "CHUNK", 2)
    file, other = fresh, tmp_path / "other.duckdb"
    list(Rates(methods=(LINEAR,), repetitions=3).run(file))
    more = Rates(methods=(LINEAR,), repetitions=4)
    assert list(more.run(file)) == [(0, 2), (1, 2), (2, 2)]  # both cells' second chunk, anew
    assert list(more.run(file)) == [(0, 0)]
    assert next(iter(more.run(file, again=True))) == (0, 4)
    list(more.run(other))
    cells = more.cells(file)
    pd.testing.assert_frame_equal(cells, more.cells(other))
    assert set(cells["returned"]) == {40}
    row = cells.set_index(["functional", "clients"]).loc[("derivative(1, 0.3)", FEW[0])]
    law, level = rates.target("cosine"), int(row["level"])
    assert row["bias"] == pytest.approx(pointwise.bias(law, 1, level, 1, 0.3))
    cell = rates.cells(LINEAR)[0]
    seeds = [rates.runner.seed(cell, LINEAR, each) for each in range(40)]
    errors = pointwise.draws(law, 1, {0: 3, 1: level}, rates.POINTS, FEW[0], 1.0, seeds)[:, 1, 1] - law.derivatives[0](
        0.3
    )
    assert row["error"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert row["mean_error"] == pytest.approx(errors.mean())
    assert row["uncertainty"] == pytest.approx(np.std(errors**2) / np.mean(errors**2) / np.sqrt(40) / 2)


def test_every_cells_first_chunk_comes_before_any_second() -> None:
    pieces = Rates(methods=("dyadic_wave", LINEAR), repetitions=30).pending(pd.DataFrame())
    cells = len(rates.cells("dyadic_wave")) + len(rates.cells(LINEAR))
    assert [chunk for _, _, chunk, _ in pieces] == [0] * cells + [1] * cells
    known = pd.DataFrame({"clients": rates.CLIENTS}).assign(
        method=LINEAR, parameters="chunk=000", target="cosine", epsilon=1.0, repetitions=10 * rates.CHUNK
    )
    assert len(Rates(methods=(LINEAR,), repetitions=30).pending(known)) == len(rates.CLIENTS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ("peers",)}, "methods must be one of 'dyadic_wave'"),
        ({"repetitions": 1}, "repetitions must lie between 2"),
    ],
    ids=str,
)
def test_a_wrong_grid_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemeError, match=message) as caught:
        Rates(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_pictures_show_places_and_theory() -> None:
    figure, axes = plots.new_axes()
    frame = pd.concat([smooth("dyadic_wave", "mean", 0.5), smooth("dyadic_wave", "entropy", 0.5)]).assign(
        expected=np.nan
    )
    plot_rates(frame, axes, rate=0.5)
    assert plots.png(figure)[:4] == b"\x89PNG"
    assert [line.get_marker() for line in axes.lines].count("o") == len(rates.SIZES[rates.WAVELETS])
    law = axes.lines[0]
    assert np.polyfit(np.log(law.get_xdata()), np.log(law.get_ydata()), 1)[0] == pytest.approx(-0.5)
    figure, axes = plots.new_axes()
    predicted = atomic(0, SELF_SIMILAR, 1 / 3)
    plot_rates(predicted.assign(expected=predicted["error"]), axes, rate=1 / 3)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), predicted["error"])
    np.testing.assert_allclose(axes.lines[1].get_ydata(), predicted["bias"])
    with pytest.raises(ValueError, match="columns"):
        plot_rates(predicted, axes, rate=1 / 3)


@pytest.mark.slow
def test_the_command_measures_prints_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "CLIENTS", FEW)
    monkeypatch.setattr(rates, "_SMOOTH", ("hill",))
    monkeypatch.setattr(rates, "SIZES", {rates.WAVELETS: FEW[:1]})
    monkeypatch.setattr(rates, "EPSILONS", (1.0,))
    arguments = ["benchmark", "rates", "--methods", f"{LINEAR},wavelet_laplace", "--repetitions", "2", "--workers", "1"]
    for extra in ([], ["--report"]):
        with contextlib.chdir(tmp_path), pytest.raises(SystemExit) as stop:
            cli.main([*arguments, *extra])
        assert not stop.value.code
        out = capsys.readouterr().out
        for words in (
            "derivative(0, 1/3)",
            "quantile(0.5)",
            "predicted bias and noise",
            "not measured",
            "figures/rates",
        ):
            assert words in out
    pictures = {path.name for path in (tmp_path / "data/var/figures/rates").iterdir()}
    assert "rates_projection_degree_1_cosine_order_1.png" in pictures
    assert "rates_wavelet_laplace_hill.png" in pictures
    rows = warehouse.query(tmp_path / "data/var/warehouse.duckdb", "from benchmarks")
    assert rows["measured_at"].nunique() == 1
    assert (rows["version"].str.endswith("+rates.1")).all()
