"""Differences of rounds and groups: signs, errors, correlation, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import SchemeError
from dpcore.estimation.diagnostics.evidence import Sample
from dpcore.estimation.functional_estimate import FunctionalEstimate
from dpcore.estimation.inference.comparison import difference, related, simultaneous_deviations
from dpcore.functionals.group import Group

MEAN = dp.functionals.Mean()
TEXT = """
name = "sides"
pairs = [["height", "side"]]
[attributes.side]
type = "categorical"
categories = ["left", "right"]
values = [0, 1]
epsilon = 1
[attributes.height]
type = "numeric"
mechanism = "wavelet_laplace"
unit = "m"
lower = 0.5
upper = 2.5
level_rule = "fixed"
level = 3
epsilon = 2
functionals = ["mean"]
"""


def people(n: int, seed: int, left: float = 0.6) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    is_left = rng.random(n) < left
    return {
        "side": np.where(is_left, "left", "right"),
        "height": 0.5 + 2 * np.where(is_left, rng.beta(3, 8, n), rng.beta(8, 3, n)),
    }


def aggregate(seed: int, n: int = 100_000, left: float = 0.6) -> dp.Aggregate:
    return dp.simulate(dp.Scheme.from_toml(TEXT), people(n, seed, left), random=dp.seeded(seed))


@pytest.fixture(scope="module")
def rounds() -> tuple[dp.Aggregate, dp.Aggregate]:
    return aggregate(1), aggregate(2)


def result(value: float | None, error: float | None, **changes: Any) -> FunctionalEstimate:
    z = 1.959964
    ends = {} if value is None or error is None else {"low": value - z * error, "high": value + z * error}
    given = {"functional": "mean", "confidence": 0.95, "plug_in": value, "kind": "smooth", "low": None, "high": None}
    return FunctionalEstimate(value=value, standard_error=error, **(given | ends | changes))


def test_independent_errors_add_in_squares() -> None:
    found = difference(result(3.0, 0.3), result(1.0, 0.4))
    assert found.difference == 2
    assert found.standard_error == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((2 - 1.96 * 0.5, 2 + 1.96 * 0.5), rel=1e-4)
    assert found.reason is None
    assert difference(result(3.0, 0.3), result(1.0, 0.4), correlation=-1).standard_error == pytest.approx(0.7)
    assert difference(result(3.0, 0.3), result(1.0, 0.4), correlation=1).standard_error == pytest.approx(0.1)


def test_what_an_interval_allows_for_beyond_its_error_is_kept() -> None:
    """An allowance for bias above the left value only reaches the upper end only; an end cut at zero is not believed."""
    found = difference(result(3.0, 0.3, high=5.0), result(1.0, 0.4))
    assert found.low == pytest.approx(2 - 1.96 * 0.5, rel=1e-4)
    assert found.high == pytest.approx(2 + np.hypot(2.0, 1.96 * 0.4), rel=1e-4)
    cut = difference(result(0.1, 0.3, low=0.0), result(1.0, 0.4))
    assert cut.low == pytest.approx(-0.9 - 1.96 * 0.5, rel=1e-4)


def test_deviations_are_those_of_the_end_on_zeros_side() -> None:
    z = 1.959964
    assert difference(result(3.0, 0.3), result(1.0, 0.4)).deviations == pytest.approx(4.0)
    assert difference(result(1.0, 0.4), result(3.0, 0.3)).deviations == pytest.approx(4.0)
    assert difference(result(1.0, 0.4), result(1.0, 0.4)).deviations == 0
    # An allowance of the left one downwards makes the difference less sure above zero, not below.
    wide = result(3.0, 0.3, low=3.0 - 3 * z * 0.3)
    assert difference(wide, result(1.0, 0.4)).deviations == pytest.approx(2 / np.hypot(0.9, 0.4))
    assert difference(wide, result(5.0, 0.4)).deviations == pytest.approx(4.0)
    assert difference(result(None, None, reason="no"), result(1.0, 0.4)).deviations is None


def test_the_deviations_of_many_are_sidaks() -> None:
    assert simultaneous_deviations(0.95, 1) == pytest.approx(1.959964)
    once, rng = simultaneous_deviations(0.9, 20), np.random.default_rng(1)
    largest = np.abs(rng.standard_normal((40_000, 20))).max(axis=1)
    assert np.mean(largest <= once) == pytest.approx(0.9, abs=0.006)
    common = np.abs(rng.standard_normal((40_000, 20)) + 2 * rng.standard_normal((40_000, 1))).max(axis=1) / np.sqrt(5)
    assert np.mean(common <= once) > 0.91  # correlated errors are covered, too


def test_a_refused_side_refuses_the_difference_and_says_which() -> None:
    found = difference(result(1.0, 0.1), result(None, None, reason="too noisy"))
    assert found.is_refused
    assert (found.difference, found.standard_error, found.low, found.high) == (None,) * 4
    assert found.reason == "right: too noisy"
    with pytest.raises(SchemeError, match="one functional and confidence"):
        difference(result(1.0, 0.1), result(1.0, 0.1, functional="entropy"))


def test_two_rounds(rounds: tuple[dp.Aggregate, dp.Aggregate]) -> None:
    left, right = (dp.estimate(each, "height") for each in rounds)
    one, other = left.functional(MEAN), right.functional(MEAN)
    found = dp.compare(left, right, MEAN)
    assert found.difference == pytest.approx(one.value - other.value)
    assert found.standard_error == pytest.approx(np.hypot(one.standard_error, other.standard_error))
    assert found.low < 0 < found.high
    assert dp.compare(right, left, MEAN).low == pytest.approx(-found.high)
    assert "memoised" in str(dp.compare(left, right, MEAN, memoised=True).reason)
    shares = [dp.estimate(each, "side") for each in rounds]
    assert dp.compare(shares[0], shares[1], MEAN).standard_error > 0
    moved: Any = dp.estimate(aggregate(3, left=0.3), "height")
    assert dp.compare(moved, left, MEAN).low > 0


def test_groups_of_one_aggregate_are_correlated(rounds: tuple[dp.Aggregate, dp.Aggregate]) -> None:
    groups = dp.estimate(rounds[0], "height", given="side")
    left, right = (groups[name].functional(MEAN).standard_error for name in ("left", "right"))
    found = dp.compare(groups["right"], groups["left"], MEAN)
    assert found.low > 0.5  # of .91
    p, q = np.e / (1 + np.e), 1 / (1 + np.e)
    assert found.standard_error**2 == pytest.approx(
        left**2 + right**2 + 4 * p * q / (p * p + q * q) * left * right, rel=0.1
    )
    later = dp.estimate(rounds[1], "height", given="side")
    assert dp.compare(groups["right"], later["left"], MEAN).standard_error == pytest.approx(
        np.hypot(left, right), rel=0.05
    )
    everyone: Any = dp.estimate(rounds[0], "height")
    assert dp.compare(groups["left"], everyone, MEAN).standard_error < np.hypot(
        left, everyone.functional(MEAN).standard_error
    )


def test_what_cannot_be_compared_says_so(rounds: tuple[dp.Aggregate, dp.Aggregate]) -> None:
    height: Any = dp.estimate(rounds[0], "height")
    for other, part in (
        (dp.estimate(rounds[0], "side"), "one attribute"),
        (dp.estimate(rounds[0], "height"), "everyone of one aggregate"),
        (replace(height, unit="cm"), "is in m on one side, cm"),
        (dp.estimate(rounds[0], "height", given="side"), "two estimates"),
    ):
        with pytest.raises(SchemeError, match=part):
            dp.compare(height, other, MEAN)


def test_a_median_looks_where_a_group_s_median_is_so_that_its_errors_are_less_alike(
    rounds: tuple[dp.Aggregate, dp.Aggregate],
) -> None:
    """A mean is a sum of what each report says, whoever it is of."""
    groups, everyone = dp.estimate(rounds[0], "height", given="side"), dp.estimate(rounds[0], "height")
    left, right, median = groups["left"], groups["right"], dp.functionals.Quantile(0.5)
    for other, sign in ((right, -1), (everyone, 1)):
        mean_found, found = (dp.compare(left, other, f) for f in (MEAN, median))
        assert sign * mean_found.correlation > 0.3
        assert abs(found.correlation) < 0.8 * abs(mean_found.correlation)
        assert mean_found.reason is found.reason is None
    # Where two estimates do not add reports up alike, nobody knows more than that tau is between -1 and 1.
    for f in (MEAN, median):
        rho, remark = related(left, replace(everyone, estimator="another"), f)
        assert rho == pytest.approx(-related(left, everyone, MEAN)[0])
        assert "largest error that their weights allow" in str(remark)
    errors = [each.functional(median).standard_error for each in (left, everyone)]
    assert dp.compare(left, replace(everyone, estimator="another"), median).standard_error > np.hypot(*errors)


class NoInfluence(dp.functionals.Entropy):
    def expand(self, density: Any) -> Any:
        raise SchemeError("no influence where the density is zero")


def test_the_alignment_is_that_of_the_influences_under_the_estimate_s_covariance(subtests: pytest.Subtests) -> None:
    for functional in [dp.functionals.Quantile(0.5), dp.functionals.IntegratedSquare(0), dp.functionals.Variance()]:
        with subtests.test(functional=functional):
            made = aggregate(5, 50_000)
            groups: Any = dp.estimate(made, "height", given="side")
            left, right = groups["left"], groups["right"]
            weights = related(left, right, MEAN)[0]
            wanted = []
            for side in (left, right):
                psi, phi = (
                    functional.expand(each.density).influence.on(side.raw.features, each.density.breakpoints)
                    for each in (left, right)
                )
                S = side.covariance
                wanted.append(weights * (psi @ S @ phi) / np.sqrt((psi @ S @ psi) * (phi @ S @ phi)))
            assert related(left, right, functional)[0] == pytest.approx(min(wanted), rel=1e-3)
            assert related(left, right, NoInfluence()) == (
                weights,
                "both groups are made of the same reports: the largest error that their weights allow is used",
            )


class Jittery:
    """An inference whose variances are not quadratic: those of sums of influences are too large by so much."""

    def __init__(self, inference: Any, by: float) -> None:
        self.inference, self.by = inference, by

    def estimate(self, functional: Any, confidence: float) -> FunctionalEstimate:
        found = self.inference.estimate(functional, confidence)
        if len(functional.influence.weights) == 1:
            return found
        return replace(found, standard_error=np.sqrt(1 + self.by) * found.standard_error)


def test_variances_that_are_not_quadratic_leave_room_for_the_worse(rounds: tuple[dp.Aggregate, dp.Aggregate]) -> None:
    groups: Any = dp.estimate(rounds[0], "height", given="side")
    left, right = groups["left"], groups["right"]
    median, bound = dp.functionals.Quantile(0.5), related(left, right, MEAN)[0]
    clean = related(left, right, median)[0]
    found = {
        by: related(*(replace(side, inference=Jittery(side.inference, by)) for side in (left, right)), median)
        for by in (0.1, 0.2, 0.5)
    }
    assert bound < found[0.2][0] < found[0.1][0] < clean
    assert found[0.2][1] is None
    assert found[0.5] == (bound, related(left, right, NoInfluence())[1])


def test_what_is_of_second_order_is_counted_as_independent() -> None:
    a, b = result(3.0, 0.3, second_order=0.36), result(1.0, 0.4, second_order=0.75)
    found = difference(a, b, correlation=-0.5)
    assert found.correlation == pytest.approx(-0.5 * 0.8 * 0.5)
    assert found.standard_error**2 == pytest.approx(0.09 + 0.16 + 2 * 0.2 * 0.12)
    assert difference(a, b, correlation=-1).correlation == -1  # nobody knows: all of it


def test_shares_of_two_rounds_are_compared_one_by_one(rounds: tuple[dp.Aggregate, dp.Aggregate]) -> None:
    one, other = (dp.estimate(each, "side") for each in rounds)
    found = dp.compare_frequencies(one, other)
    assert list(found) == ["left", "right"]
    assert found["left"].functional == "frequency(left)"
    assert found["left"].difference == pytest.approx(one.raw[0] - other.raw[0])
    error = np.hypot(one.standard_errors[0], other.standard_errors[0])
    assert found["left"].standard_error == pytest.approx(error)
    assert found["left"].high - found["left"].difference == pytest.approx(1.96 * error, rel=1e-3)
    assert (found["left"].confidence, found["left"].correlation, found["left"].reason) == (0.95, 0, None)
    wide = dp.compare_frequencies(one, other, simultaneous=True, memoised=True)["left"]
    assert wide.confidence == pytest.approx(0.95**0.5)
    assert wide.high - wide.difference == pytest.approx(2.236 * error, rel=1e-3)
    assert "memoised" in str(wide.reason)
    moved = dp.estimate(aggregate(3, left=0.5), "side")
    assert dp.compare_frequencies(one, moved)["left"].low > 0.05
    for right, part in (
        (one, "of one aggregate"),
        (replace(other, categories=("left", "wrong")), "category by category"),
        (dp.estimate(rounds[1], "height"), "one attribute"),
    ):
        with pytest.raises(SchemeError, match=part):
            dp.compare_frequencies(one, right)
    heights = [dp.estimate(each, "height") for each in rounds]
    with pytest.raises(SchemeError, match="category by category"):
        dp.compare_frequencies(*heights)


def test_groups_of_two_attributes_get_the_largest_error() -> None:
    row = {"aggregate": "a", "n": 10, "weights": np.array([2.0, -1.0]), "reported": np.array([6.0, 4.0])}
    height: Any = dp.estimate(aggregate(4, 20_000), "height")
    left = replace(height, group=Group("side", "left"), sample=Sample(**row))
    old = replace(height, group=Group("age", "old"), sample=Sample(**row))
    found = dp.compare(left, old, MEAN)
    assert found.standard_error == pytest.approx(2 * height.functional(MEAN).standard_error)
    assert "overlap" in str(found.reason)


def test_the_size_of_a_group() -> None:
    """Two equal groups at epsilon = 1 are worth .18 n, six are worth .01 n."""
    for k, worth in ((2, 0.18), (6, 0.01)):
        names = [f"c{i}" for i in range(k)]
        text = TEXT.replace('["left", "right"]', str(names)).replace("values = [0, 1]", "")
        side = np.array(names)[np.arange(60_000) % k]
        records = {"side": side, "height": np.full(60_000, 1.0)}
        from dpcore.estimation.groups import groups

        made = dp.simulate(dp.Scheme.from_toml(text), records, random=dp.seeded(1))
        for sample in groups(made, "height", "side").values():
            assert sample.size == pytest.approx(60_000 / k, rel=0.25)
            assert sample.effective_n / sample.n == pytest.approx(worth, rel=0.5 if k == 6 else 0.1)
