"""Quantiles at the ends of the range, where an atom too small to be told may hold them, and through few cells."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.estimation.inference import binning_error, quantile_inversion, residual_projection
from dpcore.estimation.inference.confidence_bands import invert_band
from dpcore.functionals import Cdf, Quantile
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.contestants import contestants
from dpcore.laboratory.studies.runner import Cell
from dpcore.laboratory.studies.targets.densities import target
from tests.helpers.cases import of_each_kind


def interval(law: str, clients: int, epsilon: float, t: float, seed: int) -> tuple[float, float]:
    cell = Cell(law, clients, epsilon)
    found = contestants()[0].estimate(target(law), clients, epsilon, runner.seed(cell, "ends", seed))
    result = found.functional(Quantile(t), 0.95)
    return result.low, result.high


@pytest.mark.parametrize(("epsilon", "seed"), of_each_kind([(1.0, 2), (4.0, 2)], (4.0, 2)))
def test_an_atom_too_small_to_be_told_may_hold_a_quantile(epsilon: float, seed: int) -> None:
    """One in 89 is clipped to 1: of 12 rounds at each of four places none held the .99-quantile, ending at .997; now all do."""
    low, high = interval("pareto", 100_000, epsilon, 0.99, seed)
    assert low < 1
    assert high == 1


def test_what_is_surely_no_atom_is_none() -> None:
    """Reports leave .004 of an atom possible there, not a hundredth; and a density that vanishes has none."""
    for law, t, near in (("uniform", 0.99, 0.995), ("beta_2_5", 0.99, 0.8)):
        low, high = interval(law, 1_000_000, 4.0, t, 0)
        assert low < target(law).quantile(t) < high < near


def test_below_an_atom_stands_the_density_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the fit has an atom and the span has none, nothing that the span sees is the atom's: its changes have no mass."""
    cell = Cell("lognormal", 100_000, 1.0)
    found = contestants()[0].estimate(target("lognormal"), cell.clients, cell.epsilon, runner.seed(cell, "ends", 0))
    step = found.inference.corrected
    told, bare = (residual_projection.project(step.posterior, 4, np.array(ends, dtype=int)) for ends in ([1], []))
    bands: list[np.ndarray] = []
    monkeypatch.setattr(
        quantile_inversion, "invert_band", lambda x, cdf, *_: (bands.append(cdf), invert_band(x, cdf, *_))[1]
    )
    for seen in (told, bare):
        quantile_inversion.corrected(step.posterior, seen, 0.9, 0.95)
    atom = step.posterior.density.atoms[1]
    assert bands[0][-2] == pytest.approx(1 - atom - told.correction[-1], abs=1e-9)
    assert bands[1][-2] == pytest.approx(1 - atom, abs=1e-9)


SMALL = """name = "s"
[attributes.x]
type = "numeric"
lower = 0
upper = 1
mechanism = "square_wave"
estimator = "log_spline"
cells = 16
epsilon = 1
"""


def incomes(n: int, seed: int) -> np.ndarray:
    """Of whom one in 44 is clipped to 1."""
    return np.minimum(np.random.default_rng(seed).lognormal(-1.2, 0.6, n), 1)


def test_few_cells_are_asked_in_the_span_that_is_surest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen cells hardly tell an atom from the coarsest span's B-splines: .111 for .232 in 8 rounds."""
    people = incomes(100_000, 1)
    scheme = dp.Scheme.from_toml(SMALL)
    found = dp.estimate(dp.aggregate(scheme, dp.privatize(scheme, {"x": people}, dp.seeded(1))), "x")
    new = found.functional(Quantile(0.9), 0.95)
    monkeypatch.setattr(binning_error.Cells, "are_few", property(lambda _: False))
    old = found.functional(Quantile(0.9), 0.95)
    assert new.high - new.low < 0.95 * (old.high - old.low)
    assert new.low <= np.quantile(people, 0.9) <= new.high


def test_within_an_end_cell_of_few_no_span_is_surer_than_what_was_seen() -> None:
    """The surest there is the one that has seen least: of 40 rounds 11 held cdf(.98), and 16 the .98-quantile."""
    scheme, everybody = dp.Scheme.from_toml(SMALL), incomes(1_000_000, 0)
    for seed in range(3):  # all of which the surest would hold once in 16
        found = dp.estimate(
            dp.aggregate(scheme, dp.privatize(scheme, {"x": incomes(100_000, seed)}, dp.seeded(seed))), "x"
        )
        for functional, truth in ((Cdf(0.98), float(np.mean(everybody <= 0.98))), (Quantile(0.98), 1.0)):
            result = found.functional(functional, 0.95)
            assert result.low <= truth <= result.high, functional
        low, high = found.cdf_band(np.array([0.98]), 0.95)
        assert low[0] <= np.mean(everybody <= 0.98) <= high[0]
        assert high[0] - low[0] < 0.1
