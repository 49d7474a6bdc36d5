"""Regression on labels: equal to independent maximisations, to statsmodels without noise, and to what simulation shows."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy

import dpcore as dp
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.weighting.raking import Margins, rake
from dpcore.mechanisms.observation_model import FiniteChannel, ScoreSums

REGIONS, SEXES, JOBS = ("north", "south", "east"), ("f", "m"), ("none", "clerk", "nurse")
LABELS = """
[labels.region]
categories = ["north", "south", "east"]
[labels.sex]
categories = ["f", "m"]
"""
IDENTITY = 'mechanism = "stated"\nchannel = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]'


def scheme(attribute: str) -> dp.Scheme:
    return dp.Scheme.from_toml(f'name = "regression"\nclients = 20000\n[attributes.y]\n{attribute}\n{LABELS}')


def jobs(options: str) -> dp.Scheme:
    return scheme(f'type = "categorical"\ncategories = ["none", "clerk", "nurse"]\n{options}')


def covariates(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, n), rng.integers(0, 2, n)


def records(n: int = 20_000, seed: int = 1) -> pd.DataFrame:
    """Respondents with a job, a habit and an income that depend on both labels, without an interaction."""
    rng, (region, sex) = np.random.default_rng(seed + 100), covariates(n, seed)
    scores = np.column_stack(
        [np.zeros(n), 0.5 * (region == 1) + 0.4 * sex - 0.3, 0.3 * (region == 2) - 0.2 * sex - 0.5]
    )
    job = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    income = np.clip(rng.normal(40 + 5 * sex + 3 * (region == 2), 12), 0, 100)
    return pd.DataFrame(
        {
            "y": np.array(JOBS)[job],
            "smokes": rng.logistic(size=n) < 0.5 * sex + 0.3 * (region == 1) - 1,
            "income": income,
            "region": np.array(REGIONS)[region],
            "sex": np.array(SEXES)[sex],
        }
    )


def aggregate(of: dp.Scheme, table: pd.DataFrame, seed: int = 3) -> dp.Aggregate:
    if not of.is_asked:  # another system's channel
        return dp.simulate(of, table, dp.seeded(seed))
    return dp.aggregate(of, dp.privatize(of, table, dp.seeded(seed)))


def design(formula: str) -> np.ndarray:
    """Indicators of the six combinations of region and sex, written by hand."""
    region, sex = np.indices((3, 2)).reshape(2, -1)
    columns = [np.ones(6), region == 1, region == 2, sex == 1]
    if "*" in formula:
        columns += [(region == 1) & (sex == 1), (region == 2) & (sex == 1)]
    return np.column_stack(columns).astype(float)


def log_likelihood(whole: dp.Aggregate, coefficients: np.ndarray, matrix: np.ndarray) -> float:
    """The multinomial log-likelihood of the reported categories, from the channel alone."""
    model = whole.scheme.attributes["y"].mechanism.model()
    scores = np.column_stack([np.zeros(len(matrix)), matrix @ coefficients.reshape(-1, matrix.shape[1]).T])
    laws = np.exp(scores - scores.max(axis=1, keepdims=True))
    laws /= laws.sum(axis=1, keepdims=True)
    assert isinstance(model, ScoreSums | FiniteChannel)
    reported = laws @ model.response().T
    assert whole.labelled is not None
    return float(np.sum(whole.labelled.statistics["y"] * np.log(reported)))


@pytest.mark.parametrize("formula", ["y ~ region + sex", "y ~ region * sex"])
@pytest.mark.parametrize(
    "options",
    [
        'epsilon = 2\nmechanism = "randomized_response"',
        'mechanism = "stated"\nchannel = [[6, 1, 2], [1, 7, 1], [2, 1, 8]]',
    ],
)
def test_coefficients_and_errors_are_those_of_an_independent_maximisation(options: str, formula: str) -> None:
    whole, matrix = aggregate(jobs(options), records()), design(formula)
    found = dp.regress(whole, formula)
    values = np.array([one.value for one in found.coefficients])

    def loss(coefficients: np.ndarray) -> float:
        return -log_likelihood(whole, coefficients, matrix)

    best = scipy.optimize.minimize(loss, np.zeros(len(values)), method="BFGS", options={"gtol": 1e-3})
    for _ in range(3):  # Newton's steps with finite differences sharpen what BFGS leaves
        slope, curvature = _derivatives(loss, best.x)
        best.x = best.x - np.linalg.solve(curvature, slope)
    np.testing.assert_allclose(values, best.x, atol=1e-6)
    errors = np.sqrt(np.diagonal(np.linalg.inv(_derivatives(loss, values)[1])))
    np.testing.assert_allclose(
        [one.standard_error for one in found.coefficients], errors, rtol=0.05
    )  # observed, not expected


def _derivatives(loss: Any, x: np.ndarray, h: float = 1e-4) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and curvature by central differences."""
    steps = h * np.eye(len(x))
    slope = np.array([(loss(x + e) - loss(x - e)) / (2 * h) for e in steps])
    curvature = np.array(
        [
            [(loss(x + e + f) - loss(x + e - f) - loss(x - e + f) + loss(x - e - f)) / (4 * h * h) for f in steps]
            for e in steps
        ]
    )
    return slope, curvature


def test_a_likelihood_ratio_is_that_of_two_maximised_likelihoods() -> None:
    whole = aggregate(jobs('epsilon = 2\nmechanism = "randomized_response"'), records())
    test = {one.term: one for one in dp.regress(whole, "y ~ region + sex").terms}["sex"]
    full = dp.regress(whole, "y ~ region + sex")
    small = dp.regress(whole, "y ~ region")
    likelihoods = [
        log_likelihood(whole, np.array([one.value for one in fit.coefficients]), design("+")[:, columns])
        for fit, columns in ((full, [0, 1, 2, 3]), (small, [0, 1, 2]))
    ]
    assert test.statistic == pytest.approx(2 * (likelihoods[0] - likelihoods[1]), rel=1e-8)
    assert test.degrees_of_freedom == 2


def test_without_noise_the_logistic_and_multinomial_models_are_those_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    table = records()
    whole = aggregate(jobs(IDENTITY), table)
    region, sex = (table[name].to_numpy() for name in ("region", "sex"))
    matrix = np.column_stack([np.ones(len(table)), region == "south", region == "east", sex == "m"]).astype(float)
    peer = api.MNLogit(table["y"].map(JOBS.index).to_numpy(), matrix).fit(disp=0, method="newton", tol=1e-14)
    ours = dp.regress(whole, "y ~ region + sex")
    np.testing.assert_allclose([one.value for one in ours.coefficients], peer.params.T.ravel(), atol=1e-8)
    np.testing.assert_allclose([one.standard_error for one in ours.coefficients], peer.bse.T.ravel(), rtol=1e-8)
    yes_no = scheme(
        'type = "categorical"\ncategories = ["False", "True"]\nmechanism = "stated"\nchannel = [[1, 0], [0, 1]]'
    )
    binary = aggregate(yes_no, table.assign(y=table["smokes"].astype(str)))
    peer = api.Logit(table["smokes"].to_numpy(float), matrix).fit(disp=0, method="newton", tol=1e-14)
    ours = dp.regress(binary, "y ~ region + sex")
    np.testing.assert_allclose([one.value for one in ours.coefficients], peer.params, atol=1e-8)
    np.testing.assert_allclose([one.standard_error for one in ours.coefficients], peer.bse, rtol=1e-8)
    effects = peer.get_margeff(dummy=True).margeff
    np.testing.assert_allclose(
        [one.value for one in ours.effects if one.category == "True"][-1], effects[-1], atol=1e-8
    )


@pytest.mark.parametrize(
    "mechanism", ["randomized_response", "unary_encoding", "subset_selection", "hadamard_response", "local_hashing"]
)
def test_a_saturated_model_has_the_unbiased_frequencies_of_each_cell(mechanism: str) -> None:
    whole = aggregate(jobs(f'epsilon = 3\nmechanism = "{mechanism}"'), records(60_000))
    assert whole.labelled is not None
    found = dp.regress(whole, "y ~ region * sex")
    coefficients = np.array([one.value for one in found.coefficients]).reshape(2, -1)
    scores = np.column_stack([np.zeros(6), design("*") @ coefficients.T])
    laws = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    model = whole.scheme.attributes["y"].mechanism.model()
    for law, statistics, n in zip(laws, whole.labelled.statistics["y"], whole.labelled.n, strict=True):
        raw = model.frequencies(statistics, int(n))
        # the sum of a mechanism's raw frequencies is not one: the fit moves them along their covariance
        own, shared, weights = model.covariance(law, int(n))
        along = (np.diag(own) + shared.T @ weights @ shared) @ np.ones(3)
        expected = raw if abs(raw.sum() - 1) < 1e-12 else raw - along * (raw.sum() - 1) / along.sum()
        np.testing.assert_allclose(law, expected, atol=2e-3 if abs(raw.sum() - 1) > 1e-12 else 1e-7)
    assert found.fit is None


@pytest.mark.parametrize(
    "attribute", ['epsilon = 2\nmechanism = "randomized_response"', 'epsilon = 2\nmechanism = "subset_selection"']
)
def test_intervals_cover_the_truth_and_would_not_if_they_were_a_third_shorter(attribute: str) -> None:
    asked, truth = jobs(attribute), np.array([-0.3, 0.5, 0.0, 0.4, -0.5, 0.0, 0.3, -0.2])
    matrix = design("+")
    scores = np.column_stack([np.zeros(6), matrix @ truth.reshape(2, -1).T])
    laws = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    rounds, random = 60, dp.seeded(5)
    inside, narrow = 0, 0
    for _ in range(rounds):
        whole = simulated(asked, laws, 20_000, random)
        for one, true in zip(dp.regress(whole, "y ~ region + sex").coefficients, truth, strict=True):
            inside += one.low <= true <= one.high
            narrow += abs(one.value - true) <= 0.7 * (one.high - one.low) / 2
    trials = rounds * len(truth)  # the coefficients of a round are correlated: four standard errors of independent ones
    assert abs(inside / trials - 0.95) < 4 * (0.95 * 0.05 / trials) ** 0.5
    assert narrow / trials < 0.95 - 4 * (0.95 * 0.05 / trials) ** 0.5


def simulated(asked: dp.Scheme, laws: np.ndarray, clients: int, random: Any) -> dp.Aggregate:
    """Return an aggregate of so many clients, spread over the cells at random, drawn from its exact distribution."""
    zero = dp.Aggregate.zero(asked)
    assert zero.labelled is not None
    sizes = random.generator().multinomial(clients, np.full(len(laws), 1 / len(laws)))
    mechanism = asked.attributes["y"].mechanism
    for cell, (size, law) in enumerate(zip(sizes, laws, strict=True)):
        counts = random.generator().multinomial(size, law)
        zero.labelled.statistics["y"][cell] += mechanism.simulate(counts, random)
    zero.labelled.n[:] = sizes
    zero.labelled.answered["y"][:] = sizes
    return zero


def test_a_linear_model_is_weighted_least_squares_on_unbiased_means() -> None:
    number = scheme('type = "numeric"\nlower = 0\nupper = 100\nepsilon = 4')
    table = records(120_000)
    found = dp.regress(aggregate(number, table.assign(y=table["income"])), "y ~ region + sex")
    assert found.kind == "linear"
    for one, true in zip(found.coefficients, (40, 0, 3, 5), strict=True):
        assert abs(one.value - true) < 4 * one.standard_error
        assert one.standard_error < 0.5
    effects = {one.term: one.value for one in found.effects}
    assert effects == pytest.approx({one.term: one.value for one in found.coefficients[1:]})  # without an interaction
    assert found.fit is not None
    assert found.fit.degrees_of_freedom == 2


@pytest.mark.parametrize(
    "values",
    ["lower = 0\nupper = 9\nstep = 1\nepsilon = 3", 'lower = 0\nupper = 9\nepsilon = 3\nmechanism = "wavelet_laplace"'],
)
def test_means_of_counts_and_of_noisy_coefficients_are_regressed_alike(values: str) -> None:
    table = records(120_000)
    whole = aggregate(scheme(f'type = "numeric"\n{values}'), table.assign(y=2.0 + 3 * (table["sex"] == "m")))
    one = dp.regress(whole, "y ~ sex")["sex = m"]
    assert abs(one.value - 3) < 4 * one.standard_error
    assert one.standard_error < 0.3


def test_effects_are_differences_of_mean_proportions() -> None:
    whole = aggregate(jobs("epsilon = 4"), records())
    assert whole.labelled is not None
    found = dp.regress(whole, "y ~ region * sex")
    coefficients = np.array([one.value for one in found.coefficients]).reshape(2, -1)

    def mean(sex: int) -> np.ndarray:
        matrix = design("*")[np.arange(3) * 2 + sex]
        scores = np.column_stack([np.zeros(3), matrix @ coefficients.T])
        laws = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        assert whole.labelled is not None
        regions = whole.labelled.n.reshape(3, 2).sum(axis=1)
        return np.asarray(regions @ laws / regions.sum())

    effects = [one.value for one in found.effects if one.term == "sex = m"]
    np.testing.assert_allclose(effects, mean(1) - mean(0), atol=1e-12)


def test_equal_weights_change_nothing_and_others_cost_precision() -> None:
    whole = aggregate(jobs("epsilon = 4"), records())
    assert whole.labelled is not None
    rows = [("sex", "f", 1), ("sex", "m", 9)]
    skewed = rake(whole.labelled.n, Margins.from_rows(rows, whole.scheme.labels))
    even = rake(
        whole.labelled.n,
        Margins.from_rows(
            [("sex", s, int(n)) for s, n in zip(SEXES, whole.labelled.n.reshape(3, 2).sum(0), strict=True)],
            whole.scheme.labels,
        ),
    )
    plain, same, other = (dp.regress(whole, "y ~ region", weights=w) for w in (None, even, skewed))
    for a, b, c in zip(plain.coefficients, same.coefficients, other.coefficients, strict=True):
        assert b.value == pytest.approx(a.value, abs=1e-7)
        assert b.standard_error == pytest.approx(a.standard_error, rel=0.02)  # information at six cells, not three
        assert c.standard_error > 1.2 * a.standard_error


def test_references_choose_what_others_are_compared_with() -> None:
    whole = aggregate(jobs("epsilon = 4"), records())
    plain = dp.regress(whole, "y ~ sex")
    turned = dp.regress(whole, "y ~ sex", reference={"sex": "m", "y": "nurse"})
    assert turned.reference == "nurse"
    assert {one.term for one in turned.coefficients} == {"intercept", "sex = f"}
    assert turned["none : sex = f"].value == pytest.approx(plain["nurse : sex = m"].value, abs=1e-8)


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("y", "not an outcome and labels"),
        ("y ~ (region", "not an outcome and labels"),
        ("y ~ 1", "it has no label"),
        ("y ~ log(region)", "'log(region)' is not a label"),
        ("y ~ {__import__('os').getcwd()}", "is not a label"),
        ("y ~ age", "no label 'age'; the scheme has region, sex"),
        ("z ~ region", "no attribute 'z'; the scheme has y"),
        ("y ~ 0 + region", "it has no intercept"),
        ("y ~ region - 1", "it has no intercept"),
        ("y ~ (region + sex)**40", "powers are not available"),
        ("y + y ~ region", "no attribute 'y + y'; the scheme has y"),
        ("y ~ region | sex", "not an outcome and labels"),
        (3, "formula 3: not a text"),
    ],
)
def test_a_formula_that_is_none_is_refused_in_one_line(formula: Any, problem: str) -> None:
    whole = aggregate(jobs("epsilon = 4"), records(300))
    with pytest.raises(SchemeError, match=re.escape(problem)) as refused:
        dp.regress(whole, formula)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("confidence", ["a", "0.9", None, 1, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence: Any) -> None:
    whole = aggregate(jobs("epsilon = 4"), records(300))
    with pytest.raises(SchemeError, match="confidence must lie strictly between 0 and 1, got"):
        dp.regress(whole, "y ~ region", confidence=confidence)


def test_too_few_reports_and_categories_that_nobody_has_are_refused() -> None:
    whole = aggregate(jobs("epsilon = 4"), records(300))
    with pytest.raises(NotEstimable, match=r"fewer than 200 reports, such as region = north, sex = f"):
        dp.regress(whole, "y ~ region + sex", fewest=200)
    table = records(300)
    only = table.assign(y=np.where(table["sex"] == "m", "nurse", table["y"]))
    separated = aggregate(jobs(IDENTITY), only)
    with pytest.raises(NotEstimable, match="do not determine every coefficient"):
        dp.regress(separated, "y ~ sex")
    ranges = aggregate(
        scheme('type = "categorical"\nbins = [-9, 0, 9, 99]\nepsilon = 4'), table.assign(y=table["income"] - 40)
    )
    with pytest.raises(NotEstimable, match="y: almost no respondents have '99 and above'; merge"):
        dp.regress(ranges, "y ~ sex")
    silent = scheme('type = "numeric"\nlower = 0\nupper = 1\nepsilon = 4\nmissing = "category"')
    answers = aggregate(silent, table.assign(y=0.5))
    with pytest.raises(SchemeError, match="nonresponse is an answer"):
        dp.regress(answers, "y ~ sex")
    with pytest.raises(SchemeError, match="no category 'west'"):
        dp.regress(whole, "y ~ region", reference={"region": "west"})
    with pytest.raises(SchemeError, match="'sex' is neither the outcome nor a label"):
        dp.regress(whole, "y ~ region", reference={"sex": "f"})


@pytest.mark.parametrize("attribute", ['type = "boolean"', 'type = "numeric"\nlower = 0\nupper = 1'])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_no_reports_and_a_few_are_refused_without_a_warning(attribute: str, n: int) -> None:
    table = pd.DataFrame({"y": [True, False, True], "region": ["north"] * 3, "sex": ["f", "m", "f"]})[:n]
    whole = dp.Aggregate.zero(asked := scheme(f"{attribute}\nepsilon = 3"))
    if n:
        whole = aggregate(asked, table.assign(y=table["y"].astype(float)) if "numeric" in attribute else table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NotEstimable):
            dp.regress(whole, "y ~ sex")


@pytest.mark.parametrize("mechanism", ["unary_encoding", "hadamard_response", "local_hashing", "randomized_response"])
def test_the_goodness_of_fit_of_a_true_model_has_its_degrees_of_freedom(mechanism: str) -> None:
    asked, random, rounds = jobs(f'epsilon = 3\nmechanism = "{mechanism}"'), dp.seeded(5), 40
    statistics = []
    for _ in range(rounds):
        whole = dp.Aggregate.zero(asked)
        assert whole.labelled is not None
        for cell in range(6):
            counts = random.generator().multinomial(5_000, [0.5, 0.3, 0.2])
            whole.labelled.statistics["y"][cell] += asked.attributes["y"].mechanism.simulate(counts, random)
        whole.labelled.n[:] = whole.labelled.answered["y"][:] = 5_000
        found = dp.regress(whole, "y ~ region + sex").fit
        assert found is not None
        assert found.degrees_of_freedom == 4
        statistics.append(found.statistic)
    assert abs(np.mean(statistics) - 4) < 3.5 * np.sqrt(8 / rounds)


def test_a_scheme_without_labels_says_what_to_add() -> None:
    plain = dp.Scheme.from_toml('name = "p"\n[attributes.y]\ntype = "boolean"\nepsilon = 1\n')
    whole = dp.aggregate(plain, dp.privatize(plain, {"y": [True, False]}, dp.seeded(1)))
    with pytest.raises(SchemeError, match=r"add a table \[labels.NAME\]"):
        dp.regress(whole, "y ~ region")


def test_a_table_has_odds_ratios() -> None:
    frame = dp.regress(aggregate(jobs("epsilon = 4"), records()), "y ~ sex").to_frame()
    assert list(frame["term"]) == ["intercept", "sex = m"] * 2
    np.testing.assert_allclose(frame["odds_ratio"], np.exp(frame["estimate"]))
