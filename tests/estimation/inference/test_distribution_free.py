"""Intervals and bands that hold whatever the law: but for noise no law, point masses above all, may make them err."""

import numpy as np
import pytest

import dpcore as dp
from dpcore._random import seeded
from dpcore.errors import SchemeError
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.inference import distribution_free
from dpcore.estimation.inference.distribution_free_weights import DistributionFreeWeights, Shares, of_bracket
from dpcore.functionals import parse
from dpcore.protocol.scheme import Scheme
from dpcore.results.plots.density import CURVE
from tests.estimation.inference.test_bounded_curvature import ASSUMED, estimate, in_two_units, round_of, scheme
from tests.helpers.cases import of_each_kind

N, POINT, NOTHING = 100_000, 0.37, 1e-9  # the last a confidence at which intervals have no noise in them
NUMBERS = (
    "mean",
    "moment(2)",
    "variance",
    "cdf(0.31)",
    "probability(0.2, 0.4)",
    "probability(0.25, 0.375)",
    "quantile(0.5)",
    "atom(1)",
)


def counts_of(law: np.ndarray, epsilon: str = "1", n: int = N) -> Counts:
    """What is expected of a law of the input cells."""
    model = scheme(n=n).attributes["x"].mechanism.model()
    return Counts(model, model.expected(law, n * model.level_law))


def inferred(law: np.ndarray) -> distribution_free.DistributionFree:
    return distribution_free.from_likelihood(lambda: counts_of(law), Spline(0.0, 1.0, 0, 0, np.ones(1)))


def at_points(places: tuple[float, ...], shares: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The law of the cells of values at points, and they."""
    law = np.zeros(512)
    np.add.at(law, [min(int(512 * place), 511) for place in places], shares)
    return law, np.array(places), np.array(shares)


LAWS = {
    "inside a cell": at_points((POINT, 0.8), (0.7, 0.3)),
    "at edges": at_points((0.25, 0.375, 0.5), (0.2, 0.4, 0.4)),
    "at the ends": at_points((0.0, 1.0), (0.4, 0.6)),
    "just below edges": at_points((0.25 - 1e-9, 0.5 - 1e-9), (0.5, 0.5)),
}


def true(text: str, values: np.ndarray, shares: np.ndarray) -> float:
    return parse(text).of_probabilities(shares, values) if text != "atom(1)" else float(shares[values == 1.0].sum())


def test_without_noise_no_law_escapes(subtests: pytest.Subtests) -> None:
    """Where counts are as expected, what weights miss of a number is left, which limits must hold wherever values sit."""
    for name in LAWS:
        with subtests.test(name=name):
            law, values, shares = LAWS[name]
            found = inferred(law)
            for text in NUMBERS:
                one, value = found.estimate(parse(text), NOTHING), true(text, values, shares)
                assert one.low - 1e-9 <= value <= one.high + 1e-9, text
            x = np.sort(
                np.concatenate([np.linspace(0, 1, 129), values, np.nextafter(values, -1), values[values < 1] + 1e-6])
            )
            cdf = (values <= x[:, None]) @ shares
            low, high = found.cdf_band(x, NOTHING, False)
            assert np.all(low - 1e-9 <= cdf)
            assert np.all(cdf <= high + 1e-9)


def test_an_interval_has_two_sided_noise_where_its_limits_meet_and_one_sided_where_they_are_apart() -> None:
    for places, shares, at, critical in [
        ((0.1, 0.9), (0.5, 0.5), 0.5, 1.96),
        ((0.2, 0.505, 0.8), (0.25, 0.5, 0.25), 0.505, 1.645),
    ]:
        law, _, _ = at_points(places, shares)
        found = inferred(law)
        limits, noisy = (found.estimate(parse(f"cdf({at})"), confidence) for confidence in (NOTHING, 0.95))
        noise = (limits.low - noisy.low + noisy.high - limits.high) / 2
        assert noise / noisy.standard_error == pytest.approx(critical, abs=0.1), at


def test_the_critical_value_of_a_bracket_is_finite_however_large_z_is() -> None:
    assert of_bracket(np.array([9.0, 40.0]), np.array([0.0, 5.0])) == pytest.approx([9, 40], rel=0.05)


def test_what_weights_tell_surely_is_told() -> None:
    law, _, _ = at_points((0.3125,), (1.0,))
    found = inferred(law)
    assert found.estimate(parse("probability(0.2, 0.4)"), 0.95).low > 0.9
    low, high = found.cdf_band(np.array([-0.1, 1.0, 2.0]), 0.95, False)
    assert (low[1:] == 1.0).all()
    assert high[0] == 0.0


def test_edges_and_ramps_are_of_the_scheme_and_never_of_what_was_observed() -> None:
    chosen = {
        (shares.edges, shares.ramp)
        for law in (np.full(512, 1 / 512), LAWS["at the ends"][0], LAWS["inside a cell"][0])
        for shares in (inferred(law)._shares,)
    }
    assert len(chosen) == 1


def test_a_variance_is_unsure_by_where_the_mean_may_be_too() -> None:
    """E (x - c)^2, of which a second moment of shifted values has its interval, is more by the square of half that range."""
    counts = counts_of(LAWS["inside a cell"][0], n=2000)
    one, mean = (
        distribution_free.from_likelihood(lambda: counts, Spline(0.0, 1.0, 0, 0, np.ones(1))).estimate(
            parse(text), confidence
        )
        for text, confidence in (("variance", 0.95), ("mean", 1 - 0.05 * 0.1))
    )
    centre, half = (mean.low + mean.high) / 2, (mean.high - mean.low) / 2
    shifted = distribution_free.from_likelihood(lambda: counts, Spline(-centre, 1 - centre, 0, 0, np.ones(1)))
    square = shifted.estimate(parse("moment(2)"), 1 - 0.05 * 0.9)
    assert [one.low, one.high] == pytest.approx([max(0.0, square.low - half**2), min(square.high, 0.25)], abs=1e-9)


def test_means_of_weights_are_those_under_every_point_mass() -> None:
    told = DistributionFreeWeights(counts_of(np.full(512, 1 / 512)))
    shares = Shares(told, 64, 2)
    model = told.likelihood.channel
    for cell in (0, 100, 511):
        expected = model.probabilities(np.eye(512)[cell])
        means = shares.weighed.weights @ expected + shares.weighed.start
        assert means == pytest.approx(shares.weighed.means[:, cell], abs=1e-9)
    ramp = shares.weighed.means[2 + 32]  # falls from edge 32: a sixty-fourth at two thirds, one at a third
    assert ramp[[255, 256, 264, 272]] == pytest.approx([1, 2 / 3, 1 / 3, 0], abs=1e-9)


def test_the_error_of_a_number_is_that_of_what_was_observed() -> None:
    law = LAWS["at the ends"][0]
    likelihood = counts_of(law)
    told, model, random = DistributionFreeWeights(likelihood), likelihood.channel, np.random.default_rng(2)
    weighed = told.weigh(((np.arange(512) + 0.5) / 512)[None] ** 2)
    _, _, error = told.interval(weighed, weighed.means[0], weighed.means[0], 1.96)
    levels = zip(N * model.level_law, model.split(model.probabilities(law)), strict=True)
    drawn = np.hstack([random.multinomial(round(n), p, 4000) / round(n) for n, p in levels])
    assert error == pytest.approx(float(np.std(drawn @ weighed.weights[0])), rel=0.03)


def test_no_other_weights_of_the_same_means_have_less_noise() -> None:
    """A slow twin: the least of g'Cg among all g with A'g = v and a constant, by a dense solve."""
    likelihood = counts_of(np.full(512, 1 / 512))
    told, model = DistributionFreeWeights(likelihood), likelihood.channel
    weighed = Shares(told, 64, 1).weighed
    A = np.vstack([wave.matrix() for wave in model.levels])
    covariance = likelihood.covariance(np.eye(len(A)), told.uniform)
    ours = np.diagonal(weighed.weights @ covariance @ weighed.weights.T)
    null = np.linalg.svd((A - told.uniform[:, None]).T)[2][160 - 1 :]  # moves no mean but by a constant
    assert np.abs((A - told.uniform[:, None]).T @ null.T).max() < 1e-9
    for row in (20, 33):
        g = weighed.weights[row]
        least = np.linalg.lstsq(null @ covariance @ null.T, -null @ covariance @ g, rcond=1e-12)[0]
        other = g + least @ null
        assert ours[row] == pytest.approx(other @ covariance @ other, rel=1e-6)


def test_critical_values_hold_all_edges_at_once_as_often_as_they_say(subtests: pytest.Subtests) -> None:
    for name in ["inside a cell", "uniform"]:
        with subtests.test(name=name):
            law = np.full(512, 1 / 512) if name == "uniform" else LAWS[name][0]
            likelihood = counts_of(law)
            shares, model = Shares(DistributionFreeWeights(likelihood), 64, 2), likelihood.channel
            random = np.random.default_rng(3)
            drawn = np.hstack(
                [
                    random.multinomial(round(n), p, 4000) / round(n)
                    for n, p in zip(N * model.level_law, model.split(model.probabilities(law)), strict=True)
                ]
            )
            errors = (drawn - model.probabilities(law)) @ shares.weighed.weights.T
            deviations = np.sqrt(np.diagonal(likelihood.covariance(shares.weighed.weights, model.probabilities(law))))
            seen = deviations > 1e-9
            largest = np.abs(errors[:, seen] / deviations[seen]).max(axis=1)
            c = shares.critical_value(0.95)
            assert 3.1 < c < 3.5
            assert np.mean(largest <= c) == pytest.approx(0.95, abs=0.015)
            assert np.mean(largest <= 0.85 * c) < 0.9


@pytest.mark.parametrize("mechanism", of_each_kind(["dyadic_wave", "wavelet_laplace", "square_wave"], "dyadic_wave"))
def test_every_estimator_of_a_density_has_them(mechanism: str) -> None:
    if mechanism == "square_wave":
        agreed = dp.Scheme.from_toml(
            'name = "s"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n'
            'mechanism = "square_wave"\n'
        )
    else:
        agreed = scheme(mechanism=mechanism)
    values = np.random.default_rng(1).choice([0.2, 0.37, 0.95], 50_000, p=[0.2, 0.5, 0.3])
    one = dp.estimate(dp.aggregate(agreed, dp.privatize(agreed, {"x": values}, seeded((7,)))), "x")
    x = np.linspace(0, 1, 65)
    low, high = one.cdf_band(x, simultaneous=True, distribution_free=True)
    cdf = np.mean(values <= x[:, None], axis=1)
    assert np.all((low <= cdf) & (cdf <= high))
    assert np.all(np.diff(low) >= 0)
    assert np.all(np.diff(high) >= 0)
    assert np.mean(high - low) < (0.2 if mechanism == "dyadic_wave" else 0.5)
    found = one.functional(parse("quantile(0.5)"), distribution_free=True)
    assert found.kind == "distribution_free"
    assert found.low <= 0.37 <= found.high
    frame = one.to_frame(5, distribution_free=True)
    assert frame["low"].isna().all()
    assert frame["cdf_high"].iloc[-1] == 1.0


def test_what_is_not_offered_is_refused_in_a_line() -> None:
    one = estimate("beta_2_5")
    assert "proportions, quantiles" in one.functional(parse("entropy"), distribution_free=True).reason
    assert one.functional(parse("derivative(0, 0.5)"), distribution_free=True).is_refused
    with pytest.raises(SchemeError, match="ask for one"):
        one.functional(parse("mean"), distribution_free=True, second_derivative=1.0)
    with pytest.raises(SchemeError, match="simultaneous band of the cdf"):
        one.cdf_band([0.5], simultaneous=True)


def test_numbers_are_in_the_unit_of_the_values() -> None:
    values = np.random.default_rng(3).beta(2, 5, 50_000)
    one, other = in_two_units()
    for text, moved in (("mean", "mean"), ("quantile(0.5)", "quantile(0.5)"), ("cdf(0.5)", "cdf(10)")):
        small, large = (e.functional(parse(t), distribution_free=True) for e, t in ((one, text), (other, moved)))
        scale, shift = (1, 0) if text.startswith("cdf") else (40, -10)
        assert [large.low, large.high] == pytest.approx([scale * small.low + shift, scale * small.high + shift])
    square = other.functional(parse("moment(2)"), distribution_free=True)
    assert square.low <= np.mean((40 * values - 10) ** 2) <= square.high


def test_a_scheme_asks_for_them_and_tables_hold_them() -> None:
    asked = f'{ASSUMED}intervals = ["distribution_free"]'
    plain, said = scheme(ASSUMED), scheme(asked)
    assert Scheme.from_toml(said.canonical).digest == said.digest != plain.digest
    assert "intervals" not in plain.canonical
    (_, before), (round_, after) = round_of(ASSUMED), round_of(asked)
    rows = after["functionals"].set_index(["estimator", "functional"])
    assert rows.loc[("distribution_free", "cdf(0.31)"), "kind"] == "distribution_free"
    assert "distribution-free intervals" in rows.loc[("distribution_free", "entropy"), "reason"]
    others = after["functionals"][after["functionals"]["estimator"] != "distribution_free"].reset_index(drop=True)
    assert others.equals(before["functionals"])
    curves = after["densities"].set_index("estimator")
    assert list(dict.fromkeys(curves.index)) == ["log_spline", "bias_aware", "distribution_free"]
    length = (curves["cdf_high"] - curves["cdf_low"]).groupby(level=0, sort=False).mean()
    assert length["log_spline"] < length["bias_aware"] < length["distribution_free"]
    assert curves.loc["bias_aware", "low"].notna().all()
    frame = round_.estimates["x"].to_frame(len(curves.loc["bias_aware"]), second_derivative=73.2)
    for column in ("low", "high", "cdf_low", "cdf_high"):
        assert curves.loc["bias_aware", column].to_numpy() == pytest.approx(frame[column].to_numpy()), column
    ((part, drawn),) = list(CURVE.parts(after["densities"]))
    assert part == ""
    assert drawn["estimator"].eq("log_spline").all()
    assert drawn["distribution_free_cdf_low"].to_numpy() == pytest.approx(curves.loc["distribution_free", "cdf_low"])
    assert not list(CURVE.parts(before["densities"].query("estimator == 'log_spline'")))


def test_intervals_that_there_are_not_are_refused_in_a_line(subtests: pytest.Subtests) -> None:
    for lines, message in [
        ('intervals = ["honest"]', "distribution_free"),
        ('intervals = ["distribution_free"]\nmissing = "category"', "missing"),
    ]:
        with subtests.test(lines=lines, message=message), pytest.raises(SchemeError, match=message):
            scheme(lines)


@pytest.mark.parametrize("seed", [17, 43])
def test_limits_that_chance_put_in_the_wrong_order_are_taken_at_their_middle(seed: int) -> None:
    """Of people at both bounds no ramp matters, and limits of different ramps differ by chance alone."""
    model, law = scheme(n=3000).attributes["x"].mechanism.model(), LAWS["at the ends"][0]
    shares = zip(3000 * model.level_law, model.split(model.probabilities(law)), strict=True)
    random = np.random.default_rng(seed)
    counts = np.concatenate([random.multinomial(round(n), p) for n, p in shares]).astype(float)
    found = distribution_free.from_likelihood(lambda: Counts(model, counts), Spline(0.0, 1.0, 0, 0, np.ones(1)))
    one = found.estimate(parse("cdf(0.5)"), 0.95)
    assert one.low <= 0.4 <= one.high
    assert one.high - one.low > 2 * one.standard_error  # each limit has its own noise, the larger of which is said
    for at_once in (False, True):
        low, high = found.cdf_band(np.linspace(0, 1, 65), 0.95, at_once)
        assert np.all(low <= high)
