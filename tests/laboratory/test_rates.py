"""The study of rates at a reduced size, held against its aims; errors planted in noise and bias must be seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.laboratory.benchmarks.rates import Rates
from dpcore.laboratory.studies import rates
from dpcore.laboratory.studies.aims import rates as rates_aims
from dpcore.mechanisms.noise import discrete_laplace

pytestmark = pytest.mark.slow

_LIMIT, _CERTAIN = 0.05, 5  # of a slope; standard errors, since the study is small


def measured(file: Path, methods: tuple[str, ...], repetitions: int) -> pd.DataFrame:
    study = Rates(methods=methods, repetitions=repetitions)
    list(study.run(file))
    return study.cells(file)


def reached(cells: pd.DataFrame) -> dict[str, bool | None]:
    """Aim up to what was found -> whether it is reached."""
    return {each.aim.partition(" (")[0]: each.reached for each in rates_aims.verdicts(rates_aims.judged(cells))}


@pytest.mark.nightly("a study")
def test_smooth_functionals_are_root_n_within_what_a_small_study_can_tell(
    tmp_path, monkeypatch, record_property
) -> None:
    monkeypatch.setattr(rates, "EPSILONS", (1.0,))
    lines = rates_aims.judged(measured(tmp_path / "w.duckdb", (rates.WAVE, rates.WAVELETS, rates.REPLANNED), 12))
    assert len(lines) == 3 * 2 * len(rates.FUNCTIONALS)
    assert lines["off"].notna().all()  # three decades of numbers everywhere
    record_property("off", lines.groupby("method")["off"].max().round(3).to_dict())
    assert (lines["off"] <= _LIMIT + _CERTAIN * lines["uncertainty"]).all()
    assert (lines["uncertainty"] < 0.05).mean() > 0.9  # so that a slope of 1/4 is told from 1/2


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return measured(tmp_path_factory.mktemp("rates") / "w.duckdb", tuple(rates.DEGREES), 25)


@pytest.mark.nightly("a study")
def test_projections_err_as_bias_and_noise_predict_and_fall_at_the_rate(cells, record_property) -> None:
    found = reached(cells)
    for line in rates_aims.judged(cells).to_dict("records"):
        record_property(
            f"{line['method']} {line['functional']}", f"slope {line['slope']:.3f}, ratio {line['ratio']:.3f}"
        )
    atomic = {aim: is_reached for aim, is_reached in found.items() if aim.startswith("projection")}
    assert len(atomic) == 5
    assert all(atomic.values()), atomic
    z = np.log(cells["error"] / np.hypot(cells["bias"], cells["noise"])) / cells["uncertainty"]
    assert np.abs(z).max() < 6
    errors = (cells["mean_error"] - cells["bias"]) / cells["noise"] * np.sqrt(cells["returned"])
    assert np.abs(errors).max() < 6


@pytest.mark.parametrize("method", rates.DEGREES)
def test_a_prediction_without_its_bias_or_with_noise_off_by_a_third_is_refused(cells, method) -> None:
    aim = f"{method}: error over that of predicted bias and noise, off 1"
    here = cells[cells["method"] == method]
    assert reached(here)[aim]
    assert not reached(here.assign(bias=0.0))[aim]
    assert not reached(here.assign(noise=1.3 * here["noise"]))[aim]
    assert not reached(here.assign(noise=0.7 * here["noise"]))[aim]


def test_a_mechanism_that_adds_too_much_noise_is_seen(tmp_path, monkeypatch) -> None:
    honest = discrete_laplace.simulate_sums
    monkeypatch.setattr(rates, "CLIENTS", rates.CLIENTS[:3])
    monkeypatch.setattr(
        discrete_laplace, "simulate_sums", lambda *given: np.rint(1.3 * honest(*given)).astype(np.int64)
    )
    found = reached(measured(tmp_path / "w.duckdb", ("projection_degree_1",), 25))
    assert found["projection_degree_1: error over that of predicted bias and noise, off 1"] is False
