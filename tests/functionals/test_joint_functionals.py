"""Numbers of two attributes: values by hand on small laws, gradients by differences, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore import functionals as f
from dpcore.errors import SchemeError
from dpcore.functionals.axis import Axis

X = Axis(
    name="x",
    unit="m",
    answered=np.ones(4),
    numbers=np.array([0.5, 1.5, 2.5, 3.5]),
    squares=np.array([0.5, 1.5, 2.5, 3.5]) ** 2 + 1 / 12,
    edges=np.arange(5.0),
)
Y = Axis(
    name="y",
    unit="",
    answered=np.array([1.0, 1, 1, 0]),
    numbers=np.array([1.0, 2, 5, 0]),
    squares=np.array([1.0, 4, 25, 0]),
    categories=("a", "b", "c", "missing"),
)
LAW = np.random.default_rng(1).dirichlet(np.ones(16)).reshape(4, 4)
ALL = (
    f.Correlation(),
    f.RankCorrelation(),
    f.Covariance(),
    f.Slope(),
    f.Intercept(),
    f.ConditionalMean(("b",)),
    f.ConditionalMean((1, 2)),
    f.ConditionalQuantile(0.5, ("c",)),
    f.ConditionalProbability((1, 2.5), ("a",)),
    f.Rectangle((0, 1.25), (2, 5)),
)


def _means(functional: f.JointFunctional, law: np.ndarray) -> np.ndarray:
    found = functional.means(X, Y, LAW)
    return np.einsum("ri,ij,rj->r", found.first, law, found.second)


def test_gradients_are_those_of_differences(subtests: pytest.Subtests) -> None:
    for functional in ALL:
        with subtests.test(functional=functional):
            found, m = functional.means(X, Y, LAW), _means(functional, LAW)
            _, gradient = found.combine(m)
            steps = 1e-6 * np.eye(len(m))
            by_hand = [(found.combine(m + step)[0] - found.combine(m - step)[0]) / 2e-6 for step in steps]
            np.testing.assert_allclose(gradient, by_hand, rtol=1e-5, atol=1e-6)
            divisors, slopes = found.divisors(m)
            rows = np.array([(found.divisors(m + step)[0] - found.divisors(m - step)[0]) / 2e-6 for step in steps])
            np.testing.assert_allclose(slopes, rows.T, rtol=1e-5, atol=1e-6)
            assert np.all(divisors > 0)


def test_values_are_those_of_people_counted_by_hand() -> None:
    """Of those who answered both: a large table of people, each spread over its cell."""
    law = LAW[:, :3] / LAW[:, :3].sum()
    x = np.repeat(np.repeat(np.arange(4), 3), 1)
    y = np.tile(np.array([1.0, 2, 5]), 4)
    w, centre = law.ravel(), x + 0.5
    ex, ey = w @ centre, w @ y
    cov = w @ (centre * y) - ex * ey
    vx, vy = w @ (centre**2 + 1 / 12) - ex**2, w @ y**2 - ey**2
    expected = {
        f.Covariance(): cov,
        f.Correlation(): cov / np.sqrt(vx * vy),
        f.Slope(): cov / vy,
        f.Intercept(): ex - cov / vy * ey,
        f.ConditionalMean(("b",)): (law[:, 1] @ (np.arange(4) + 0.5)) / law[:, 1].sum(),
        f.ConditionalMean((1, 2)): (law[:, :2].sum(axis=1) @ (np.arange(4) + 0.5)) / law[:, :2].sum(),
        f.Rectangle((0, 1.25), (2, 5)): law[0, 1:].sum() + law[1, 1:].sum() / 4,
        f.ConditionalProbability((1, 2.5), ("a",)): (law[1, 0] + law[2, 0] / 2) / law[:, 0].sum(),
    }
    for functional, value in expected.items():
        assert functional.means(X, Y, LAW).combine(_means(functional, LAW))[0] == pytest.approx(value, abs=1e-12)
    cells = f.CellDifference(("a", "b"), ("c", "a")).means(Y, Y, LAW)
    both = LAW[:3, :3] / LAW[:3, :3].sum()
    assert cells.value(LAW) == pytest.approx(both[0, 1] - both[2, 0])


def test_rank_correlation_is_that_of_ranks_and_moves_with_the_law() -> None:
    """Its derivative along any change of the law, ranks' own change included, is that of the number itself."""
    change = np.random.default_rng(2).normal(size=(4, 4)) * np.outer(X.answered, Y.answered)
    change *= 1e-5 / np.abs(change).max()
    change -= np.outer(X.answered, Y.answered) * change.sum() / 12
    law = LAW * np.outer(X.answered, Y.answered)
    law /= law.sum()

    def number(p: np.ndarray) -> float:
        rows, columns = p.sum(axis=1), p.sum(axis=0)
        r, s = np.cumsum(rows) - rows / 2 - 0.5, np.cumsum(columns) - columns / 2 - 0.5
        return float(r @ p @ s)

    spread = f.RankCorrelation().means(X, Y, law)
    scale = spread.value(law) / number(law)
    m = np.einsum("ri,ij,rj->r", spread.first, law + change, spread.second)
    moved = spread.combine(m)[0] - spread.value(law)
    assert moved == pytest.approx(scale * (number(law + change) - number(law)), rel=1e-3)


def test_a_median_is_where_the_law_says() -> None:
    found = f.ConditionalQuantile(0.5, ("c",)).means(X, Y, LAW)
    cdf = np.append(0.0, np.cumsum(LAW[:, 2]) / LAW[:, 2].sum())
    assert found.value(LAW) == pytest.approx(np.interp(0.5, cdf, np.arange(5.0)))


def test_what_an_axis_has_not_is_refused_in_a_line() -> None:
    named = Axis(name="job", unit="", answered=np.ones(2), categories=("cook", "smith"))
    with pytest.raises(SchemeError, match="correlation needs numbers, and job has categories"):
        f.Correlation().means(X, named, LAW[:, :2])
    with pytest.raises(SchemeError, match="no category 'king'; it has cook, smith"):
        f.ConditionalMean(("king",)).means(X, named, LAW[:, :2])
    with pytest.raises(SchemeError, match="lower end first"):
        f.Rectangle((2, 1), (1, 2)).means(X, Y, LAW)
    with pytest.raises(SchemeError, match="strictly between 0 and 1"):
        f.ConditionalQuantile(1, ("a",)).means(X, Y, LAW)
    with pytest.raises(SchemeError, match="one category or a range's two ends"):
        f.Rectangle((2, 3), ("a", "b", "c")).means(X, Y, LAW)
