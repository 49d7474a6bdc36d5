"""The coverage study: chunks and how they add up, truths, what the view makes of them, and what is said of the aims."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import beta

from dpcore import cli
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.functionals import Functional, parse
from dpcore.laboratory.benchmarks.coverage import Coverage
from dpcore.laboratory.benchmarks.option import Place
from dpcore.laboratory.plots.coverage import plot_coverage
from dpcore.laboratory.studies import coverage
from dpcore.laboratory.studies.aims import coverage as coverage_aims
from dpcore.laboratory.studies.coverage import Cell
from dpcore.laboratory.studies.targets import densities as targets
from dpcore.laboratory.studies.targets.densities import target
from dpcore.results import plots, warehouse
from tests.helpers.cases import of_each_kind

WAVELET = "wavelet_laplace"
SMALL: dict[str, Any] = {
    "targets": ("uniform", "bimodal"),
    "places": (Place(10_000, 1.0),),
    "methods": (WAVELET,),
    "repetitions": 2,
}


def truth(name: str, functional: str) -> float:
    return coverage.truths(name)[parse(functional)]


@dataclass(frozen=True)
class Normal:
    """An estimator whose every functional is normal around the truth, with errors that are said to be `told` of theirs."""

    target: str
    seed: Sequence[int]
    told: float

    def functional(self, functional: Functional, confidence: float) -> FunctionalEstimate:
        value = coverage.truths(self.target)[functional] + np.random.default_rng(self.seed).normal()
        half, is_told = 1.959964 * self.told, functional.name != "entropy"
        return FunctionalEstimate(
            functional=str(functional),
            value=value if is_told else None,
            standard_error=self.told if is_told else None,
            low=value - half if is_told else None,
            high=value + half if is_told else None,
            confidence=confidence,
            plug_in=value,
            kind=functional.kind,
            reason=None if is_told else "it is refused every time",
            second_order=0.0,
        )

    def band(self, x: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        return self._around(target(self.target).pdf(x))

    def cdf_band(self, x: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        return self._around(target(self.target).cdf(x))

    def _around(self, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Independent errors at the points."""
        middle = truth + np.random.default_rng([*self.seed, 1]).normal(size=len(truth))
        return middle - 1.959964 * self.told, middle + 1.959964 * self.told


@dataclass(frozen=True)
class Planted:
    """A contestant that tells its errors too small or too large, and fails with one seed in a hundred."""

    told: float = 1.0
    name: str = "square_wave"

    def estimate(self, law: Any, n: int, epsilon: float, seed: Sequence[int]) -> Normal:
        if seed[-1] % 100 == 99:
            raise NotEstimable("x has no report; collect some first")
        return Normal(law.name, seed, self.told)


def planted(
    monkeypatch: pytest.MonkeyPatch,
    file: Path,
    told: float,
    repetitions: int,
    asked: Sequence[str] = coverage.FUNCTIONALS,
) -> pd.DataFrame:
    truths = {parse(text): truth("bimodal", text) for text in asked if parse(text) in coverage.truths("bimodal")}
    monkeypatch.setattr(coverage, "contestants", lambda: (Planted(told),))
    grid = Coverage(
        targets=("bimodal",), places=(Place(10_000, 1.0),), methods=("square_wave",), repetitions=repetitions
    )
    with monkeypatch.context() as patch:
        patch.setattr(coverage, "truths", lambda name: truths)
        list(grid.run(file))
    return grid.rows(file)


@pytest.mark.parametrize(
    ("told", "is_right"), [(1.0, True), (0.7, False), pytest.param(1.3, False, marks=pytest.mark.slow)]
)
def test_the_truth_is_accepted_and_a_scale_off_by_a_third_is_not(
    told: float, is_right: bool, fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "CHUNK", 300)  # fewer, so that landing takes less time
    cells = planted(monkeypatch, fresh, told, 600, ("mean", "variance", "entropy")).set_index("functional")
    row = cells.loc["mean"]
    assert (row["repetitions"], row["returned"]) == (600, 594)  # six runs had no estimate
    assert (0.93 <= row["coverage"] <= 0.97) == is_right
    assert (row["upper_99"] < 0.92) == (told == 0.7)
    assert row["deviation"] == pytest.approx(1.0, rel=0.12)
    assert row["standard_error"] == pytest.approx(told)
    assert row["long"] == pytest.approx(told, rel=0.12)
    for name in coverage.BANDS:  # of 59,400 points
        row = cells.loc[name]
        assert row["kind"] == "band"
        assert row["coverage"] == pytest.approx({1.0: 0.95, 0.7: 0.830, 1.3: 0.9892}[told], abs=0.004)
        assert row["long"] == pytest.approx(told, rel=0.02)
    (verdict,) = [each for each in coverage_aims.verdicts(cells.reset_index()) if each.aim.startswith("cdf_band")]
    assert verdict.reached == is_right
    assert cells["refused"]["entropy"]
    assert not cells["refused"].drop("entropy").any()


@pytest.mark.slow
def test_chunks_add_up_to_what_their_repetitions_say(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = truth("bimodal", "mean")
    cells = planted(monkeypatch, fresh, 1.0, 120).set_index("functional")
    assert not cells["refused"].drop("entropy").any()
    row = cells.loc["mean"]
    seeds = [
        coverage.runner.seed(Cell("bimodal", 10_000, 1.0), "square_wave", each) for each in range(120) if each != 99
    ]
    values = np.array([Normal("bimodal", seed, 1.0).functional(parse("mean"), 0.95).value for seed in seeds])
    assert row["bias"] == pytest.approx(np.mean(values) - expected)
    assert row["deviation"] == pytest.approx(np.std(values, ddof=1))
    assert row["covered"] == np.sum(np.abs(values - expected) <= 1.959964)
    assert row["above"] == np.sum(values - expected > 1.959964)
    chunks = warehouse.query(fresh, "select distinct parameters, repetitions from benchmarks order by all")
    assert list(chunks.itertuples(index=False, name=None)) == [("chunk=000", 50), ("chunk=001", 50), ("chunk=002", 20)]


@pytest.mark.slow
def test_a_study_goes_on_and_takes_more_repetitions(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = planted(monkeypatch, fresh, 1.0, 120)
    more = Coverage(targets=("bimodal",), places=(Place(10_000, 1.0),), methods=("square_wave",), repetitions=170)
    assert list(more.run(fresh)) == [(0, 2), (1, 2), (2, 2)]  # the third anew, and a fourth
    assert list(more.run(fresh)) == [(0, 0)]
    assert next(iter(more.run(fresh, again=True))) == (0, 4)
    at_once = planted(monkeypatch, tmp_path / "other.duckdb", 1.0, 170)
    pd.testing.assert_frame_equal(more.rows(fresh), at_once)
    assert set(first["repetitions"]) == {120}
    assert warehouse.query(fresh, "from benchmarks")["measured_at"].nunique() == 1


def chunks(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=["method", "parameters", "target", "clients", "epsilon", "repetitions"])


def test_every_cells_first_chunk_comes_before_any_second() -> None:
    grid = Coverage(**(SMALL | {"repetitions": 60}))
    assert [(cell.target, chunk, upto) for _, cell, chunk, upto in grid.pending(pd.DataFrame())] == [
        ("uniform", 0, 50),
        ("bimodal", 0, 50),
        ("uniform", 1, 60),
        ("bimodal", 1, 60),
    ]
    known = chunks(
        (WAVELET, "chunk=000", "uniform", 10_000, 1.0, 50), (WAVELET, "chunk=000", "bimodal", 10_000, 1.0, 40)
    )
    assert next((cell.target, chunk) for _, cell, chunk, _ in grid.pending(known)) == ("bimodal", 0)
    assert len(grid.pending(known)) == 3


def test_numbers_that_are_not_finite_are_told(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = planted(monkeypatch, fresh, np.inf, 20, ("mean", "entropy"))
    assert set(cells["broken"]) == {0, 20}
    assert cells["refused"].all()
    (verdict,) = [each for each in coverage_aims.verdicts(cells) if each.aim == "numbers that are not finite"]
    assert verdict.reached is False


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ("chronic",)}, "chronic has no density"),
        ({"targets": ("gamma",)}, "targets must be one of"),
        ({"methods": ("peers",)}, "methods must be one of 'dyadic_wave'"),
        ({"repetitions": 1}, "repetitions must lie between 2"),
        ({"places": (Place(3, 1.0),)}, "clients must lie between 100"),
        ({"places": (Place(1000, 0.0),)}, "epsilon must lie between 0.01"),
    ],
    ids=str,
)
def test_a_wrong_grid_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemeError, match=message) as caught:
        Coverage(**(SMALL | changes))
    assert "\n" not in str(caught.value)


def test_truths_of_a_density_without_end_are_its_closed_forms() -> None:
    assert truth("arcsine", "mean") == pytest.approx(1 / 2, abs=1e-6)
    assert truth("arcsine", "variance") == pytest.approx(1 / 8, abs=1e-6)
    assert truth("arcsine", "entropy") == pytest.approx(np.log(np.pi / 4), abs=1e-4)
    assert parse("integrated_square(0)") not in coverage.truths("arcsine")


BOUNDED = [name for name in coverage.TARGETS if name != "arcsine"]


@pytest.mark.parametrize("name", of_each_kind(BOUNDED, "beta_2_5", "age"))
def test_truths_are_those_of_the_target(name: str) -> None:
    """Integrals by an adaptive rule, on either side of corners and narrow places."""
    law = target(name)
    ends = np.unique([0.0, *np.geomspace(1e-4, 0.05, 6), *law.corners, *np.linspace(0.05, 1, 40)])

    def integral(of: Any) -> float:
        pieces = pairwise(ends)
        return sum(quad(lambda x: float(of(x)), low, high, epsabs=1e-11)[0] for low, high in pieces)

    assert truth(name, "mean") == pytest.approx(law.mean, abs=1e-9)
    second = integral(lambda x: x * x * law.pdf(x)) + law.atom_mass
    assert truth(name, "moment(2)") == pytest.approx(second, abs=1e-8)
    assert truth(name, "variance") == pytest.approx(second - law.mean**2, abs=1e-8)
    assert truth(name, "entropy") == pytest.approx(law.entropy, abs=1e-7)
    assert truth(name, "integrated_square(0)") == pytest.approx(law.integrated_square, abs=1e-8)
    assert truth(name, "cdf(0.3)") == pytest.approx(float(law.cdf(0.3)), abs=1e-9)
    assert truth(name, "quantile(0.9)") == law.quantile(0.9)
    if not law.derivatives:
        return
    assert truth(name, "derivative(1, 0.3)") == float(law.derivatives[0](0.3))
    slope = integral(lambda x: law.derivatives[0](x) ** 2)
    assert truth(name, "integrated_square(1)") == pytest.approx(slope, rel=1e-6, abs=1e-9)


@pytest.mark.slow
def test_infinite_truths_are_left_out_and_unbounded_influences_flagged() -> None:
    assert parse("fisher_information") not in coverage.truths("beta_2_5")  # int 30 / x near 0
    assert parse("fisher_information") not in coverage.truths("age")
    # (f'/f)^2 f = 81 (1 - 2x)^2 x^7 (1-x)^7 / B(10, 10), and (1 - 2x)^2 = 1 - 4 x (1 - x)
    expected = 81 * (beta(8, 8) - 4 * beta(9, 9)) / beta(10, 10)
    assert truth("beta_10_10", "fisher_information") == pytest.approx(expected, rel=1e-9)
    assert not coverage.regular("uniform")["wasserstein(1, uniform)"]  # no influence where law and reference are equal
    assert coverage.regular("bimodal")["entropy"]
    assert not coverage.regular("beta_2_5")["entropy"]
    assert not coverage.regular("lognormal")["power_integral(0.5)"]
    for name in targets.USUAL[:-1]:
        assert coverage.regular(name)["power_integral(1.5)"]
        assert coverage.regular(name)["derivative(0, 0.3)"]


def test_what_a_rough_density_has_not_is_left_out_and_what_is_finite_is_not() -> None:
    assert truth("arcsine", "entropy") == pytest.approx(np.log(np.pi / 4), abs=1e-4)
    assert truth("arcsine", "mean") == pytest.approx(0.5, abs=1e-6)
    assert parse("integrated_square(0)") not in coverage.truths("arcsine")  # int 1 / (pi^2 x (1 - x))
    for name in ("jump", "blocks", "sawtooth", "pareto"):  # a step has no square of its slope
        assert parse("integrated_square(1)") not in coverage.truths(name)
        assert parse("integrated_square(0)") in coverage.truths(name)


def cells_of(**columns: Any) -> pd.DataFrame:
    """Cells as the view gives them, 1000 repetitions each, all well."""
    plain: dict[str, Any] = {
        "method": "dyadic_wave",
        "target": "bimodal",
        "clients": 100_000,
        "epsilon": 1.0,
        "functional": "mean",
        "repetitions": 1000,
        "returned": 1000,
        "covered": 950,
        "above": 20,
        "broken": 0,
        "refused": False,
        "length": 3.92,
        "standard_error": 1.0,
        "bias": 0.0,
        "deviation": 1.0,
        "second_order": 0.0,
    }
    size = max(len(column) for column in columns.values())
    frame = pd.DataFrame({name: columns.get(name, [value] * size) for name, value in plain.items()})
    return coverage_aims.judged(frame.assign(coverage=frame["covered"] / frame["returned"]))


def found(cells: pd.DataFrame, words: str) -> Any:
    (verdict,) = [each for each in coverage_aims.verdicts(cells) if words in each.aim]
    return verdict


def test_smooth_and_atomic_cells_have_aims_of_their_own() -> None:
    point = "derivative(0, 0.3)"
    cells = cells_of(covered=[950, 920, 980, 930, 999, 929], functional=["mean"] * 4 + [point] * 2)
    assert (found(cells, "smooth: share").value, found(cells, "smooth: share").reached) == (0.5, False)
    assert (found(cells, "atomic").value, found(cells, "atomic").reached) == (0.5, False)
    assert found(cells_of(functional=[point]), "smooth: share").reached is None


def test_a_cell_that_surely_covers_too_little_is_counted_if_it_has_enough_numbers() -> None:
    cells = cells_of(covered=[880, 900, 150], returned=[1000, 1000, 199])
    assert found(cells, "upper limit").value == 1  # 900: up to .923; 199 are too few
    assert found(cells, "upper limit").reached is False
    assert found(cells_of(covered=[950]), "upper limit").reached is True


def test_wrong_intervals_are_counted_among_all_rounds() -> None:
    cells = cells_of(
        covered=[800, 895, 300], returned=[1000, 1000, 400]
    )  # 20 %, 10.5 % (from .081 on) and 10 % of all are wrong
    assert found(cells, "without the truth").value == 2
    assert (
        found(cells_of(covered=[300], returned=[350]), "without the truth").reached is True
    )  # of 350 a seventh, of all 5 %


def test_refusals_count_where_influences_are_bounded() -> None:
    names = ["mean", "entropy", "entropy", "variance"]
    targets = ["bimodal", "beta_2_5", "bimodal", "bimodal"]
    cells = cells_of(functional=names, target=targets, refused=[False, True, True, False])
    assert found(cells, "dyadic_wave: share").value == pytest.approx(1 / 3)  # of beta_2_5 nothing is asked
    cells = cells_of(functional=names, target=targets, refused=[False, True, True, False], method=[WAVELET] * 4)
    assert found(cells, "wavelet_laplace: share").value == 0  # a logarithm at n epsilon^2 = 1e5 is forgiven
    assert found(cells, "dyadic_wave: share").reached is None
    assert (
        found(cells_of(target=["claw"], refused=[True]), "dyadic_wave: share").reached is None
    )  # of claws much may be
    richer = cells_of(functional=["entropy"], refused=[True], method=[WAVELET], clients=[1_000_000])
    assert found(richer, "wavelet_laplace: share").value == 1


def test_lengths_are_judged_where_the_functional_is_straight_and_bias_where_it_was_removed() -> None:
    cells = cells_of(
        length=[3.92, 3.92 * 1.4, 3.92 * 9],
        second_order=[0.0, 0.05, 0.2],
        functional=["mean", "variance", "integrated_square(0)"],
        bias=[9.0, 9.0, -0.4],
    )
    verdict = found(cells, "longest interval")
    assert (verdict.value, verdict.reached) == (pytest.approx(1.4), False)
    assert "variance; 50% of cells reach it" in verdict.aim
    assert found(cells, "bias in standard errors").value == pytest.approx(0.4)


def test_a_picture_shows_every_cell_and_crosses_out_refusals() -> None:
    cells = cells_of(
        functional=["mean", "mean", "entropy"], method=["dyadic_wave", WAVELET, WAVELET], refused=[False, False, True]
    )
    figure, axes = plots.new_axes()
    plot_coverage(cells, axes)
    assert [line.get_marker() for line in axes.lines].count("x") == 1
    assert [text.get_text() for text in axes.get_yticklabels()] == ["mean", "entropy"]
    assert plots.png(figure)[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="one target"):
        plot_coverage(pd.concat([cells, cells.assign(target="age")]), axes)
    with pytest.raises(ValueError, match="columns"):
        plot_coverage(cells.drop(columns="low"), axes)


@pytest.mark.slow
def test_the_command_measures_prints_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["benchmark", "coverage", "--targets", "bimodal", "--at", "10000@2", "--methods", WAVELET]
    arguments += ["--repetitions", "2", "--workers", "1"]
    for extra in ([], ["--report"]):
        with contextlib.chdir(tmp_path), pytest.raises(SystemExit) as stop:
            cli.main([*arguments, *extra])
        assert not stop.value.code
        out = capsys.readouterr().out
        for words in ("coverage of nominal 95 % intervals", "quantile(0.9)", "atomic: share", "figures/coverage"):
            assert words in out
    assert (tmp_path / "data/var/figures/coverage/coverage_bimodal.png").exists()
    rows = warehouse.query(tmp_path / "data/var/warehouse.duckdb", "from benchmarks")
    assert rows["measured_at"].nunique() == 1
    assert (rows["version"].str.endswith(f"+coverage.{Coverage.edition}")).all()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [("--at", "100000", "at must be CLIENTS@EPSILON separated by commas"), ("--targets", "chronic", "has no density")],
)
def test_a_wrong_option_is_refused(
    option: str, value: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.chdir(tmp_path), pytest.raises(SystemExit) as stop:
        cli.main(["benchmark", "coverage", option, value])
    assert stop.value.code in (1, 2)
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_both_methods_are_measured_alike_by_one_process_and_two() -> None:
    grid = Coverage(targets=("lognormal",), places=(Place(10_000, 2.0),), repetitions=2)
    keys = ["method", "metric"]
    one, two = (
        pd.concat(grid.measured(grid.pending(pd.DataFrame()), workers)).sort_values(keys).reset_index(drop=True)
        for workers in (1, 2)
    )
    pd.testing.assert_frame_equal(one, two)
    assert set(one["method"]) == set(grid.methods)


@pytest.mark.slow
def test_studies_of_other_versions_are_not_gone_on_with(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, fresh, 1.0, 4)
    monkeypatch.setattr(Coverage, "edition", 99)
    grid = Coverage(targets=("bimodal",), places=(Place(10_000, 1.0),), methods=("square_wave",), repetitions=4)
    begun = datetime(2100, 1, 1, tzinfo=UTC)
    assert list(grid.run(fresh, begun=begun)) == [(0, 1), (1, 1)]
    assert warehouse.query(fresh, "from benchmarks")["measured_at"].nunique() == 2
