"""Intervals for every density as smooth as was said: their bias is the worst there is, and without it they would not hold."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore._random import seeded
from dpcore.errors import SchemeError
from dpcore.estimation.density.densities import cell_masses
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.inference import bounded_curvature, smoothness_class
from dpcore.functionals import FunctionDensity, parse
from dpcore.laboratory.studies.targets.densities import Target, target
from dpcore.mechanisms.bases import bspline
from dpcore.protocol.scheme import Scheme
from dpcore.results.tables.round_tables import tables_of
from tests.helpers.cases import of_each_kind

NUMBERS = ("mean", "moment(2)", "cdf(0.31)", "probability(0.2, 0.4)", "derivative(0, 0.5)", "quantile(0.5)")


def scheme(
    lines: str = "", n: int = 100_000, mechanism: str = "dyadic_wave", bounds: str = "lower = 0\nupper = 1"
) -> Scheme:
    head = f'name = "smooth"\nclients = {n}\n[attributes.x]\ntype = "numeric"\n{bounds}\nepsilon = 1\n'
    return Scheme.from_toml(f'{head}mechanism = "{mechanism}"\nestimator = "log_spline"\n{lines}\n')


ASKED = 'cells = 32\nfunctionals = ["cdf(0.31)", "entropy"]\n'
ASSUMED = f"{ASKED}assume = {{ second_derivative = 73.2 }}\n"


@cache
def round_of(lines: str):
    """A round of that scheme, and its tables."""
    found = dp.pipeline.estimate_all(dp.simulate(scheme(lines), target("beta_2_5"), seeded((5,)), 50_000))
    return found, tables_of(found)


@cache
def in_two_units():
    """Estimates of the same reports on [0, 1] and on [-10, 30]."""
    values, wide = np.random.default_rng(3).beta(2, 5, 50_000), "lower = -10\nupper = 30"
    return (
        dp.estimate(dp.simulate(scheme("cells = 16"), {"x": values}, seeded((1,))), "x"),
        dp.estimate(dp.simulate(scheme("cells = 16", bounds=wide), {"x": 40 * values - 10}, seeded((1,))), "x"),
    )


def bend(law: Target | str) -> float:
    """|f''|_2 of a target."""
    law, x = target(law) if isinstance(law, str) else law, (np.arange(100_000) + 0.5) / 100_000
    return float(np.sqrt(np.mean(law.derivatives[1](x) ** 2)))


def truth(name: str) -> FunctionDensity:
    law = target(name)
    return FunctionDensity(0.0, 1.0, law.pdf, (), law.derivatives)


@cache
def estimate(name: str, n: int = 100_000, seed: int = 1, mechanism: str = "dyadic_wave"):
    return dp.estimate(dp.simulate(scheme(n=n, mechanism=mechanism), target(name), seeded((30, seed)), n), "x")


def class_of(law: Target, n: int, bound: float) -> smoothness_class.SmoothClass:
    """The class of that bound around expected counts of n clients, whose noise is the law's own."""
    model, cells = scheme(n=n).attributes["x"].mechanism.model(), law.cells
    counts = model.expected(cells(model.inputs), n * model.level_law)
    return smoothness_class.build(Counts(model, counts), model.probabilities(cells(model.inputs)), 0, 1, bound)


def known(name: str, n: int = 100_000, times: float = 1.0) -> smoothness_class.SmoothClass:
    return class_of(target(name), n, times * bend(name))


@pytest.mark.parametrize("text", NUMBERS[:5])
def test_the_worst_bias_is_that_of_the_roughest_density_found_by_search(text):
    """A slow twin: weights w of the counts, and the density of the class for which w'y errs most, by a dense solve."""
    model = scheme().attributes["x"].mechanism.model()
    law = target("beta_2_5").cells(model.inputs)
    shares, reports = (
        model.probabilities(law),
        np.repeat(1e5 * model.level_law, [wave.outputs for wave in model.levels]),
    )
    A = np.vstack([wave.matrix() for wave in model.levels])
    level, degree = 7, 2
    seen, free = (
        A @ cell_masses(degree, level, model.inputs),
        scipy.linalg.null_space(bspline.integrals(degree, level)[None]),
    )
    bends = bspline.evaluate((np.arange(128) + 0.5) / 128, degree, level, 2) / 128**0.5
    P, E, W = free.T @ bends.T @ bends @ free / bend("beta_2_5") ** 2, seen @ free, reports / shares
    number = parse(text).expand(truth("beta_2_5")).influence
    along = number.on(lambda x, order: bspline.evaluate(x, degree, level, order), np.arange(129) / 128) @ free
    found = known("beta_2_5")
    ours = found.linear(found.along(number), 0.95)
    w = W[:, None] * E @ np.linalg.solve(E.T @ (W[:, None] * E) + ours.trade[0] * P, along)  # weights of the shares
    variance = sum(float(a**2 @ p - (a @ p) ** 2) / n for a, p, n in parts(model, w, shares, 1e5 * model.level_law))
    off = E.T @ w - along  # the error of w'y along each function of mass zero; straight lines have none
    straight = scipy.linalg.null_space(P, rcond=1e-9)
    assert np.abs(off @ straight).max() < 1e-6 * np.abs(along).max()
    worst = np.sqrt(off @ np.linalg.pinv(P, rcond=1e-11, hermitian=True) @ off)
    assert np.sqrt(variance) == pytest.approx(ours.deviation[0], rel=1e-3)
    assert worst == pytest.approx(ours.bias[0], rel=0.02)


def parts(model, weights, shares, reports):
    return zip(model.split(weights), model.split(shares), reports, strict=True)


def test_no_other_trade_of_bias_for_noise_is_shorter():
    found = known("claw")
    along = found.along(parse("derivative(0, 0.5)").expand(truth("claw")).influence)
    best = found.linear(along, 0.95)
    for factor in (0.5, 2.0):
        assert found.alike(along, best.trade * factor).half(0.95)[0] > best.half(0.95)[0]


def test_half_lengths_hold_a_biased_normal_as_often_as_they_say():
    for ratio in (0.0, 0.5, 2.0, 20.0, 50.0):
        half = smoothness_class.Linear(np.zeros(1), np.ones(1), np.array([ratio]), np.ones(1)).half(0.9)[0]
        assert scipy.stats.norm.cdf(half - ratio) - scipy.stats.norm.cdf(-half - ratio) == pytest.approx(0.9, abs=1e-3)


@pytest.mark.parametrize("mechanism", of_each_kind(["dyadic_wave", "wavelet_laplace"], "dyadic_wave"))
def test_numbers_of_a_density_that_keeps_the_bound(mechanism):
    one, law = estimate("beta_2_5", mechanism=mechanism), truth("beta_2_5")
    for text in NUMBERS:
        found = one.functional(parse(text), second_derivative=bend("beta_2_5"))
        assert found.kind == "assumed"
        assert found.low <= parse(text).value(law) <= found.high
        other = one.functional(parse(text))
        assert found.high - found.low < 1.2 * (other.high - other.low)
        assert one.functional(parse(text)) == other  # what is assumed changes nothing else


def test_the_square_of_a_claw_is_told_where_smoothness_found_from_reports_misses_it():
    one, law = estimate("claw", seed=2), truth("claw")
    found = one.functional(parse("integrated_square(0)"), second_derivative=bend("claw"))
    assert found.low <= parse("integrated_square(0)").value(law) <= found.high
    assert found.high - found.low < 1.0


def test_a_region_s_range_holds_what_is_in_it_and_no_more_than_is_needed():
    """Diagonal squares have their largest value on an axis, or where both bounds meet."""
    known = smoothness_class.SmoothClass(
        0, 1, 1.0, np.eye(3)[:, :2], np.array([0.5, 0.5]), np.array([0.5, 0.5]), np.array([0.2, 0.0])
    )
    for radius in (0.5, 4.0):
        region = bounded_curvature.Region(known, radius)
        low, high = region.range(np.array([0.3, 0.1]), np.array([[1.0, 0.2], [0.2, -0.5]]))
        angle, length = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(0, 2**0.5, 401))
        w = np.stack([length * np.cos(angle), length * np.sin(angle)])
        inside = 0.5 * (w[0] - 0.4) ** 2 + 0.5 * w[1] ** 2 <= radius
        values = (0.3 * w[0] + 0.1 * w[1] + w[0] ** 2 + 0.4 * w[0] * w[1] - 0.5 * w[1] ** 2)[inside]
        assert low <= values.min()
        assert values.max() <= high
        assert high - low < 1.2 * (values.max() - values.min())


def test_squares_are_unbiased_but_for_what_the_region_bounds():
    """Of scores drawn around a density of the class, the value less the known remainder is the truth on average."""
    known_, number = known("claw"), parse("integrated_square(0)")
    w = known_.nearest(known_.score[None])[0]
    random, values = np.random.default_rng(4), []
    everywhere = SimpleNamespace(range=lambda *_: (-np.inf, np.inf))  # the value is not moved into the interval
    for _ in range(10):
        drawn = replace(known_, score=known_.seen * w + np.sqrt(known_.seen) * random.standard_normal(len(w)))
        values.append(bounded_curvature.quadratic(number, drawn, everywhere, 0.95))
    value, error, _, _ = np.array(values).T
    assert abs(value.mean() - number.value(truth("claw"))) < 4 * error.mean() / 10**0.5
    assert np.std(value) == pytest.approx(error.mean(), rel=0.4)


def test_bounds_are_in_the_unit_of_the_values():
    """f(x) on [-10, 30] is f(u) / 40, and its second derivative f''(u) / 40^3: |f''|_2 falls with 40^(5/2)."""
    small, large = in_two_units()
    one = small.functional(parse("mean"), second_derivative=73.0)
    other = large.functional(parse("mean"), second_derivative=73.0 / 40**2.5)
    assert other.low == pytest.approx(40 * one.low - 10)
    assert other.high == pytest.approx(40 * one.high - 10)


def test_what_a_bound_says_nothing_of_is_refused():
    one = estimate("beta_2_5")
    assert "order" in one.functional(parse("derivative(2, 0.5)"), second_derivative=73.0).reason
    assert "order" in one.functional(parse("integrated_square(2)"), second_derivative=73.0).reason
    assert "linear and quadratic" in one.functional(parse("entropy"), second_derivative=73.0).reason
    assert one.functional(parse("atom(1)"), second_derivative=73.0).is_refused
    clipped = estimate("lognormal", n=60_000).functional(parse("mean"), second_derivative=100.0)
    assert "bound" in clipped.reason
    assert clipped.kind == "assumed"
    with pytest.raises(SchemeError, match="above 0"):
        one.functional(parse("mean"), second_derivative=0.0)
    with pytest.raises(SchemeError, match="must lie between"):  # of another unit
        one.assumption(1e-8)


def test_a_density_much_rougher_than_assumed_is_noticed_and_one_at_the_bound_is_not():
    one = estimate("bimodal", n=1_000_000)
    assert one.assumption(bend("bimodal")).passed
    wrong = one.assumption(bend("bimodal") / 3)
    assert not wrong.passed
    assert "rougher densities" in str(wrong)


def rejected(found: smoothness_class.SmoothClass, rounds: int) -> int:
    """How many of that many rounds around it contradict its bound."""
    noise = np.random.default_rng(3).standard_normal((rounds, len(found.seen)))
    drawn = [replace(found, score=found.score + np.sqrt(found.seen) * errors) for errors in noise]
    return sum(not bounded_curvature.Assumed(None, one).evidence().passed for one in drawn)


def test_a_bound_far_below_the_truth_is_noticed_more_often_than_by_densities_at_twice_it():
    """A claw said to be 33 times smoother is 4.6 deviations from that, in directions that few of those have anything of."""
    assert rejected(known("claw", times=0.03), 8) >= 4  # by densities twice as rough alone, one in five


@pytest.mark.slow
def test_a_bound_that_is_true_is_next_to_never_rejected():
    assert rejected(known("beta_10_10"), 20) <= 2


def test_a_scheme_says_what_is_assumed_and_tables_hold_it():
    plain, said = scheme(ASKED), scheme(ASSUMED)
    assert Scheme.from_toml(said.canonical).digest == said.digest != plain.digest
    assert float(said.attributes["x"].assume) == 73.2
    before, after = (round_of(lines)[1] for lines in (ASKED, ASSUMED))
    rows = after["functionals"].set_index(["estimator", "functional"])
    assert rows.loc[("bias_aware", "cdf(0.31)"), "kind"] == "assumed"
    others = after["functionals"].query("estimator == 'log_spline'").reset_index(drop=True)
    assert others.drop(columns="reason").equals(before["functionals"].drop(columns="reason"))
    assert others["reason"].isna().all()
    check = after["checks"].set_index("name").loc["assumption(x)"]
    assert check["passed"]
    assert "at most 73.2" in check["detail"]


def test_assumptions_that_cannot_be_are_refused_in_a_line(subtests):
    for lines, message in [
        ("assume = { second_derivative = 0 }", "above 0"),
        ("assume = { second_derivative = 1e-8 }", "must lie between"),
        ("assume = { third_derivative = 1 }", "second_derivative = M"),
        ('assume = { second_derivative = 1 }\nmissing = "category"', "missing"),
    ]:
        with subtests.test(lines=lines, message=message), pytest.raises(SchemeError, match=message):
            scheme(lines)


def coverage(name, text, n, rounds, without_bias=False):
    """How many of that many rounds' intervals hold the truth, their noise drawn as the channel's."""
    found, number, law = known(name, n), parse(text), truth(name)
    estimated = found.linear(found.along(number.expand(law).influence), 0.95)
    half = 1.959964 * estimated.deviation[0] if without_bias else estimated.half(0.95)[0]
    noise = np.random.default_rng(7).standard_normal(rounds) * estimated.deviation[0]
    return np.mean(np.abs(estimated.value[0] + noise - number.value(law)) <= half)


def test_intervals_hold_a_claw_because_they_count_the_bias():
    """Of expected counts the value is off by its bias alone, .24 at the middle peak."""
    assert coverage("claw", "derivative(0, 0.5)", 100_000, 4000) > 0.95
    assert coverage("claw", "derivative(0, 0.5)", 100_000, 4000, without_bias=True) < 0.95
