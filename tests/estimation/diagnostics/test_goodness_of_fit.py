"""What estimates show of themselves: the fit's chi-squared, draws from the law, effective numbers of observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation.density.likelihood import Averages, Counts
from dpcore.estimation.diagnostics import goodness_of_fit
from dpcore.pipeline import estimate_all
from dpcore.results.tables.round_tables import tables_of
from tests.helpers.statistical import (
    draws_for_law,
    draws_for_mean,
    draws_for_variance,
    law_agrees,
    mean_agrees,
    variance_agrees,
)

MEAN = dp.functionals.Mean()


def scheme(mechanism: str = "dyadic_wave", epsilon: str = "4", extra: str = "") -> dp.Scheme:
    return dp.Scheme.from_toml(
        f'name = "x"\nclients = 100_000\n[attributes.x]\ntype = "numeric"\nlower = -1\nupper = 3\n'
        f'mechanism = "{mechanism}"\nepsilon = "{epsilon}"\nfunctionals = ["mean"]\n{extra}'
    )


def values(n: int, seed: int) -> np.ndarray:
    """A bimodal law, with an atom at the upper bound."""
    rng = np.random.default_rng(seed)
    smooth = np.where(rng.random(n) < 0.5, rng.beta(8, 20, n), rng.beta(30, 12, n))
    return -1 + 4 * np.where(rng.random(n) < 0.1, 1.0, smooth)


def aggregate(of: dp.Scheme, n: int, seed: int) -> dp.Aggregate:
    return dp.simulate(of, {"x": values(n, seed)}, random=dp.seeded([9, seed]))


def shifted(whole: dp.Aggregate) -> dp.Aggregate:
    """The same reports, each said one cell further than the model thinks: every window is off by one."""
    model = whole.scheme.attributes["x"].mechanism.model()
    parts = [np.roll(part, 1) for part in model.split(whole.statistics["x"])]  # type: ignore[union-attr]
    return replace(whole, statistics={"x": np.concatenate(parts)})


@pytest.fixture(scope="module")
def estimate() -> Any:
    return dp.estimate(aggregate(scheme(), 100_000, 1), "x", estimator=dp.LogSpline())


def test_residuals_of_a_known_linear_model_have_the_textbook_law() -> None:
    """Least squares with K free coefficients leaves a chi-squared of S - K; one more cell tells nothing it should not."""
    rng = np.random.default_rng(1)
    features, law = rng.normal(size=(40, 16)), np.full(16, 1 / 16)
    masses = np.kron(np.eye(4), np.ones((4, 1))) / 4  # four cells of equal mass, so three free directions
    errors = rng.normal(size=40)
    found: Any = goodness_of_fit.of_space(Averages(features, features @ law + errors, 100.0), law, masses)
    assert found.degrees == pytest.approx(40 - 3)
    assert found.threshold == pytest.approx(scipy.stats.chi2.isf(1e-3, 37), rel=1e-3)
    assert found.p_value == pytest.approx(scipy.stats.chi2.sf(found.statistic, 37), rel=1e-2)
    tilted = law + masses @ np.array([0.1, -0.1, 0.2, -0.2])  # another law of the space leaves the same residual
    same: Any = goodness_of_fit.of_space(Averages(features, features @ law + errors, 100.0), tilted, masses)
    assert same.statistic == pytest.approx(found.statistic)
    outside: Any = goodness_of_fit.of_space(
        Averages(features, features @ law + errors, 100.0), np.arange(16) / 120, masses
    )
    assert outside.statistic == pytest.approx(found.statistic)


def test_a_penalty_takes_part_of_a_degree_away() -> None:
    slope = np.vstack([np.eye(2), np.zeros((3, 2))])
    residual = np.array([1.0, 1.0, 2.0, 0.0, 0.0])
    likelihood = Averages(np.zeros((5, 4)), residual, 10.0)
    found: Any = goodness_of_fit.of_posterior(likelihood, np.zeros(5), slope, np.diag([1.0, 0.25]))
    assert found.degrees == pytest.approx(5 - 1.25)
    assert found.statistic == pytest.approx(6.0)
    assert (
        goodness_of_fit.of_posterior(Averages(np.zeros((2, 4)), residual[:2], 10.0), np.zeros(2), slope[:2], np.eye(2))
        is None
    )


def test_pearsons_statistic_counts_cells_less_one_a_level_and_leaves_rare_levels_out() -> None:
    model: Any = scheme().attributes["x"].mechanism.model()
    law = np.full(model.inputs, 1 / model.inputs)
    reports = [4000.0] * (len(model.levels) - 1) + [20.0]
    counts = model.expected(law, np.array(reports))
    counts[0] += 30
    counts[1] -= 30
    found: Any = goodness_of_fit.of_posterior(
        Counts(model, counts), model.probabilities(law), np.zeros((len(counts), 1)), np.zeros((1, 1))
    )
    used = model.levels[:-1]
    assert found.degrees == pytest.approx(sum(wave.outputs - 1 for wave in used))
    expected = model.expected(law, np.array(reports))[:2]
    assert found.statistic == pytest.approx(float(np.sum(900 / expected)))


def test_a_right_model_fits(subtests: pytest.Subtests) -> None:
    for mechanism, estimator in [
        ("dyadic_wave", dp.LogSpline()),
        ("square_wave", dp.ExpectationMaximization()),
        ("wavelet_laplace", dp.Projection()),
        ("wavelet_laplace", dp.LogSpline()),
    ]:
        with subtests.test(mechanism=mechanism, estimator=estimator):
            rng = np.random.default_rng(2)
            records = {"x": -1 + 4 * rng.beta(2, 5, 60_000)}
            found: Any = dp.estimate(
                dp.simulate(scheme(mechanism), records, random=dp.seeded(2)), "x", estimator=estimator
            )
            assert found.fit.passed
            assert found.fit.p_value > 1e-6
            assert abs(found.fit.statistic - found.fit.degrees) < 5 * np.sqrt(2 * found.fit.degrees)


@pytest.mark.slow
def test_the_check_lands_and_a_window_off_by_one_is_found() -> None:
    of = scheme(extra='estimator = "log_spline"')
    right = aggregate(of, 3_000_000, 3)
    for whole, passes in ((right, True), (shifted(right), False)):
        checks = tables_of(estimate_all(whole))["checks"].set_index("name")
        row = checks.loc["fit(x)"]
        assert row["passed"] == passes
        assert (row["observed"] <= row["threshold"]) == passes
        assert "effective degrees of freedom" in row["detail"]


def test_draws_follow_the_law_that_is_shown_atoms_included(estimate: Any) -> None:
    edges = np.linspace(-1, 3, 41)
    law = np.diff(estimate.cdf(edges))
    law[-1] -= estimate.atoms[1]
    n = max(draws_for_law(law, np.roll(law, 1)), draws_for_mean(0.1))  # a third more or less at the bound
    drawn = estimate.draw(n, dp.seeded(5))
    assert drawn.shape == (n,)
    assert mean_agrees((drawn == 3.0).astype(float), estimate.atoms[1])
    assert not mean_agrees((drawn == 3.0).astype(float), 1.35 * estimate.atoms[1])
    assert 0.09 < estimate.atoms[1] < 0.11
    counts = np.histogram(drawn[drawn < 3.0], edges)[0]
    assert law_agrees(counts, law)
    assert not law_agrees(counts, np.roll(law, 1))
    assert np.array_equal(drawn, estimate.draw(n, dp.seeded(5)))
    assert estimate.draw(0, dp.seeded(5)).shape == (0,)
    with pytest.raises(SchemeError):
        estimate.draw(-1, dp.seeded(5))


def test_the_effective_number_is_the_variance_over_the_means_squared_error(estimate: Any) -> None:
    drawn = estimate.draw(draws_for_variance(1.3), dp.seeded(6))
    stated = estimate.effective_n * estimate.functional(MEAN).standard_error ** 2
    assert variance_agrees(drawn, stated)
    assert not variance_agrees(drawn, 1.3 * stated)
    assert not variance_agrees(drawn, 0.7 * stated)
    assert 0.2 * estimate.n < estimate.effective_n < estimate.n  # epsilon = 4
    other: Any = dp.estimate(aggregate(scheme(epsilon="1"), 100_000, 1), "x", estimator=dp.LogSpline())
    assert other.effective_n < 0.1 * other.n


def test_frequencies_have_draws_and_an_effective_number_too() -> None:
    text = 'name = "c"\n[attributes.c]\ntype = "categorical"\ncategories = ["a", "b", "c"]\nepsilon = "{}"'
    records = {"c": np.array(["a"] * 5000 + ["b"] * 3000 + ["c"] * 2000)}
    found = {}
    for epsilon in ("1", "12"):
        of = dp.Scheme.from_toml(text.format(epsilon))
        found[epsilon] = dp.estimate(dp.simulate(of, records, random=dp.seeded(1)), "c")
    assert found["12"].effective_n == pytest.approx(10_000, rel=0.01)
    f = found["1"].values
    assert found["1"].effective_n == pytest.approx((1 - f @ f) / np.sum(found["1"].standard_errors ** 2))
    drawn = found["1"].draw(draws_for_law(f, f[::-1]), dp.seeded(2))
    counts = np.array([np.sum(drawn == name) for name in "abc"])
    assert law_agrees(counts, f)
    assert not law_agrees(counts, f[::-1])
