"""Intervals of functionals hold the truth as often as they say: binomial bounds, never "about 95 %"."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import scipy

from dpcore.estimation.estimators import Projection
from dpcore.functionals import FunctionDensity, parse
from tests.helpers.cases import some_by_day
from tests.helpers.estimate_cases import SMOOTH, cell_law, draw, mechanism
from tests.helpers.statistical import draws_for_mean, mean_agrees

REPETITIONS = 300
# The mean of squared scores, over one estimate's functionals, has a relative standard error of .7: functionals are correlated.
BY_DAY = draws_for_mean(abs(1 - 1 / 0.7**2) * 0.7**2 / 0.7, missed=1e-3)  # 160: a standard error 30 % too small is seen
TEXTS = (
    "mean",
    "variance",
    "cdf(0.2)",
    "probability(-0.2, 1.4)",
    "quantile(0.25)",
    "quantile(0.5)",
    "derivative(0, 1)",
    "integrated_square(0)",
    "entropy",
)


def _truth(name: str) -> FunctionDensity:
    """The density on [-1, 3], from its distribution function on a fine grid of cells."""
    law = cell_law(mechanism(1), SMOOTH[name])
    edges = np.linspace(-1, 3, len(law) + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    return FunctionDensity(-1.0, 3.0, lambda x: np.interp(x, centres, law * len(law) / 4))


@pytest.mark.nightly("a study")
@pytest.mark.parametrize(
    ("name", "degree", "epsilon", "clients", "repetitions"),
    some_by_day(
        [
            ("raised", 2, "2", 200_000, REPETITIONS),
            ("beta", 1, "1", 1_000_000, REPETITIONS),
            ("bimodal", 2, "1", 10_000_000, REPETITIONS),
            ("bimodal", 2, "1", 10_000_000, BY_DAY),
        ],
        ("bimodal", 2, "1", 10_000_000, BY_DAY),
    ),
)
def test_intervals_cover(name, degree, epsilon, clients, repetitions, record_property):
    of, truth = mechanism(degree, epsilon, 5), _truth(name)
    exact = {text: parse(text).value(truth) for text in TEXTS}
    held, asked, squares = defaultdict(int), defaultdict(int), []
    x = np.linspace(-0.8, 2.8, 19)
    for seed in range(repetitions):
        scores = []
        estimate = Projection().estimate(draw(of, SMOOTH[name], clients, seed), "x")
        for text in TEXTS:
            result = estimate.functional(parse(text))
            if not result.is_refused:
                asked[text] += 1
                held[text] += result.low <= exact[text] <= result.high
                scores.append((result.value - exact[text]) / result.standard_error)
        squares.append(np.mean(np.square(scores)))
        for kind, (low, high), true in (
            ("band", estimate.band(x), truth.pdf(x)),
            ("cdf_band", estimate.cdf_band(x), truth.cdf(x)),
        ):
            asked[kind] += 1
            held[kind] += np.mean((low <= true) & (true <= high))
    record_property("coverage", ", ".join(f"{text} {held[text] / asked[text]:.3f}" for text in asked))
    record_property("squared scores", f"{np.mean(squares):.3f} +- {np.std(squares):.3f}")
    assert mean_agrees(np.array(squares), 1)
    assert not mean_agrees(np.array(squares) / 0.7**2, 1)  # standard errors 30 % too small
    assert not mean_agrees(np.array(squares) / 1.3**2, 1)
    for text, count in asked.items():
        assert count >= 0.8 * repetitions, f"{text} was refused too often"
        # At a true coverage of 92 % fewer than this are held with probability 1e-4: several tests run, one may not fail.
        fewest = scipy.stats.binom.ppf(1e-4, count, 0.92)
        assert held[text] >= fewest, (text, held[text] / count)
        if text not in ("entropy", "band"):  # widened on purpose where the density vanishes
            most = scipy.stats.binom.ppf(1 - 1e-4, count, 0.98)
            assert held[text] <= most, (text, held[text] / count)
