"""Weighted estimates of samples that are not the population: what they err by, and what they say they do.

Two labels, six cells whose laws differ much, and chances of answering from 1 to 17: weights are from about 1 to 10, and means of the
reports as they are lie tens of standard errors off.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.estimators.named import named
from dpcore.estimation.estimators.sensitivity import averaged, exposed
from dpcore.estimation.estimators.strata import Strata
from dpcore.estimation.estimators.weighted import estimate_weighted
from dpcore.estimation.weighting import Margins, Weights, rake
from dpcore.functionals import parse
from tests.helpers.statistical import draws_for_variance, variance_agrees

PEOPLE = np.outer([0.5, 0.3, 0.2], [0.5, 0.5])  # the population's shares by region and sex
ANSWER = np.outer([0.1, 0.33, 1.0], [0.6, 1.0])  # chances of answering
SENT = PEOPLE * ANSWER / (PEOPLE * ANSWER).sum()
BETA = ((2, 6), (3, 6), (4, 4), (5, 4), (6, 2), (7, 2))  # the laws of the cells
KINDS = {
    "randomized_response": "",
    "unary_encoding": "",
    "subset_selection": "",
    "hadamard_response": "",
    "local_hashing": "",
    "dyadic_wave": "",
    "square_wave": "",
    "wavelet_laplace": "",
    "wavelet_laplace log_spline": 'estimator = "log_spline"\n',
    "wavelet_laplace split": 'allocation = "split"\n',
    "points": "step = 1\n",
}


@cache
def scheme_of(kind: str, epsilon: float, others: str = "") -> dp.Scheme:
    mechanism = "dyadic_wave" if kind == "points" else kind.split()[0]
    numeric = 'type = "numeric"\nlower = 0\nupper = {}\n'.format(20 if kind == "points" else 1)
    categorical = 'type = "categorical"\ncategories = ["a", "b", "c", "d"]\nvalues = [0, 1, 2, 3]\n'
    is_numeric = "wave" in mechanism
    return dp.Scheme.from_toml(
        f'name = "s"\n{others}\n[labels.region]\ncategories = ["n", "m", "s"]\n[labels.sex]\ncategories = ["f", "m"]\n'
        f'[attributes.x]\n{numeric if is_numeric else categorical}mechanism = "{mechanism}"\nepsilon = {epsilon}\n{KINDS[kind]}'
    )


def laws_of(scheme: dp.Scheme) -> np.ndarray:
    """The laws of the input cells in each cell of the labels, (6, inputs)."""
    attribute = scheme.attributes["x"]
    inputs = attribute.mechanism.inputs
    if attribute.has_density:
        return np.array([np.diff(scipy.stats.beta.cdf(np.arange(inputs + 1) / inputs, a, b)) for a, b in BETA])
    places = range(inputs) if attribute.points is None else attribute.cells
    laws = np.zeros((len(BETA), inputs))
    laws[:, places] = [scipy.stats.binom.pmf(np.arange(len(places)), len(places) - 1, a / (a + b)) for a, b in BETA]
    return laws


def drawn(scheme: dp.Scheme, n: int, seed: int) -> Any:
    """An aggregate kept by label, of so many of those who answer."""
    rng, mechanism = np.random.default_rng([seed, 28]), scheme.attributes["x"].mechanism
    reports = rng.multinomial(n, SENT.ravel())
    cells = zip(reports, laws_of(scheme), strict=True)
    tables = np.array(
        [
            mechanism.simulate(rng.multinomial(m, law / law.sum()), dp.seeded([seed, c]))
            for c, (m, law) in enumerate(cells)
        ]
    )
    held = SimpleNamespace(n=reports, answered={"x": reports}, statistics={"x": tables}, pairs={})
    return SimpleNamespace(
        scheme=scheme,
        statistics={"x": tables.sum(axis=0)},
        reports=lambda _: n,
        pairs={},
        fingerprint=str(seed),
        labelled=held,
    )


def margins_of(scheme: dp.Scheme, *, together: bool = False) -> Margins:
    regions, sexes = (label.categories for label in scheme.labels.values())
    if together:
        rows = [(f"{r}*{s}", PEOPLE[i, j]) for i, r in enumerate(regions) for j, s in enumerate(sexes)]
        return Margins.of([("region*sex", *row) for row in rows], scheme.labels)
    rows = [("region", r, PEOPLE[i].sum()) for i, r in enumerate(regions)]
    rows += [("sex", s, PEOPLE[:, j].sum()) for j, s in enumerate(sexes)]
    return Margins.of(rows, scheme.labels)


def weighted(aggregate: Any, *, together: bool = False, weights: Weights | None = None) -> Any:
    scheme = aggregate.scheme
    weights = weights or rake(aggregate.labelled.n, margins_of(scheme, together=together))
    return estimate_weighted(aggregate, "x", weights, named(scheme.attributes["x"]))


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.slow if kind.startswith(("square", "wavelet_laplace ")) else ())
        for kind in KINDS
    ],
)
def test_equal_weights_change_nothing(kind: str) -> None:
    """Values, errors, intervals, bands and what one report can do: to 1e-12, whatever the mechanism."""
    aggregate = drawn(scheme_of(kind, 2), 20_000, 5)
    estimator = named(aggregate.scheme.attributes["x"])
    plain = exposed(estimator.estimate(aggregate, "x"), aggregate, "x")
    found = weighted(aggregate, weights=Weights((), np.ones(6), aggregate.labelled.n))
    for name in ("mean", "variance", "quantile(0.4)"):
        one, other = (estimate.functional(parse(name)) for estimate in (found, plain))
        for value in ("value", "standard_error", "low", "high", "plug_in"):
            assert getattr(one, value) == pytest.approx(getattr(other, value), rel=1e-12), (name, value)
        assert name.startswith("quantile") or one.design_effect == pytest.approx(1, rel=1e-12)
    least, most = (estimate.sensitivity(parse("mean")).value for estimate in (plain, found))
    assert most == pytest.approx(least, rel=1e-9)
    if aggregate.scheme.attributes["x"].has_density:
        x = np.linspace(0, 1, 21)
        np.testing.assert_allclose(found.band(x), plain.band(x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.cdf_band(x), plain.cdf_band(x), rtol=1e-12, atol=1e-12)
    else:
        for value in ("raw", "values", "low", "high", "standard_errors", "covariance"):
            np.testing.assert_allclose(getattr(found, value), getattr(plain, value), rtol=1e-10, atol=1e-14)


def slow_variance(aggregate: Any, weights: Weights, g: np.ndarray) -> float:
    """Report by report: residuals of a least squares regression on what margins hold, squared, each by what it counts."""
    model = aggregate.scheme.attributes["x"].mechanism.model()
    level = np.repeat(np.arange(len(model.levels)), [each.outputs for each in model.levels])
    outputs = [
        (c, z)
        for c, table in enumerate(aggregate.labelled.statistics["x"])
        for z, many in enumerate(table)
        for _ in range(many)
    ]
    cell, output = np.array(outputs).T
    w = weights.values[cell]
    u = np.zeros(len(cell))
    for l in range(len(model.levels)):
        here = level[output] == l
        u[here] = (g[output[here]] - np.average(g[output[here]], weights=w[here])) / w[here].sum()
    X = np.column_stack([*(cell // 2 == region for region in range(3)), cell % 2 == 0]).astype(float)
    residual = u - X @ np.linalg.lstsq(X * np.sqrt(w)[:, None], u * np.sqrt(w), rcond=None)[0]
    hat = w * np.einsum("im,mk,ik->i", X, np.linalg.inv((X.T * w) @ X), X) - w / w.sum()
    return float(np.sum(w**2 * residual**2 / (1 - hat)))


@pytest.mark.parametrize("kind", ["dyadic_wave", "square_wave"])
def test_variances_are_those_of_residuals_report_by_report(kind: str) -> None:
    aggregate = drawn(scheme_of(kind, 1), 3000, 3)
    weights = rake(aggregate.labelled.n, margins_of(aggregate.scheme))
    g = np.random.default_rng(1).normal(size=(4, len(aggregate.statistics["x"])))
    strata = Strata.of(aggregate, "x", weights)
    np.testing.assert_allclose(strata.variance(g), [slow_variance(aggregate, weights, row) for row in g], rtol=1e-10)


def number(scheme: dp.Scheme) -> np.ndarray:
    """Weights of the average reports that tell the cells apart, (S,)."""
    mechanism, model = scheme.attributes["x"].mechanism, scheme.attributes["x"].mechanism.model()
    place = np.linspace(0, 1, mechanism.inputs)
    if hasattr(model, "adjoint"):
        ends = np.cumsum([0, *(level.outputs for level in model.levels)])
        return np.concatenate(
            [np.linspace(0, 1 / (l + 1), b - a) for l, (a, b) in enumerate(zip(ends, ends[1:], strict=False))]
        )
    if not hasattr(model, "tables"):
        return place
    towards = [
        unit * ((table - table.mean(axis=0)).T @ place) for table, unit in zip(model.tables, model.units, strict=True)
    ]
    sent = np.concatenate(
        [part / np.abs(table @ part).max() for part, table in zip(towards, model.tables, strict=True)]
    )
    return np.concatenate([np.zeros(len(model.tables)), sent])


STATED = 1.3  # times the variance, which is to be told from it
SAMPLED = [kind for kind in KINDS if kind not in ("points", "wavelet_laplace log_spline")]
QUICK = [("unary_encoding", 6, True)]


@pytest.mark.parametrize(
    ("kind", "epsilon", "together"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
        for case in product(SAMPLED, (1, 6), (False, True))
    ],
)
def test_variances_are_those_of_many_samples(kind: str, epsilon: float, together: bool) -> None:
    """Of a weighted average report: sampling, noise, which level was drawn, and who happened to answer."""
    scheme = scheme_of(kind, epsilon)
    mechanism, g = scheme.attributes["x"].mechanism, number(scheme)
    margins, values, variances = margins_of(scheme, together=together), [], []
    for seed in range(draws_for_variance(STATED)):
        aggregate = drawn(scheme, 4000, seed)
        strata = Strata.of(aggregate, "x", rake(aggregate.labelled.n, margins))
        average = averaged(mechanism, strata.summed, strata.effective_n, 1000)
        values.append(float(average.means @ g))
        if seed % 50 == 0:
            variances.append(float(strata.variance(g[None])[0]))
    assert variance_agrees(np.array(values), float(np.mean(variances)))
    assert not variance_agrees(np.array(values), STATED * float(np.mean(variances)))


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("kind", ["randomized_response", "unary_encoding"])
def test_one_more_report_is_worth_at_most_what_is_said(kind: str, together: bool) -> None:
    """Weights readjust to every report: of all that one client can send, in all cells, the worst is what is said, or less."""
    aggregate = drawn(scheme_of(kind, 1), 50_000, 1)
    said = weighted(aggregate, together=together)
    mechanism, held, worst = aggregate.scheme.attributes["x"].mechanism, aggregate.labelled, np.zeros(4)
    for cell, sent in product(
        range(6), np.vstack([np.eye(4), 1 - np.eye(4)]) if kind == "unary_encoding" else np.eye(4)
    ):
        one = np.zeros(6)
        one[cell] = 1
        tables = held.statistics["x"] + one[:, None] * sent
        counts = held.n + one
        weights = rake(counts, margins_of(aggregate.scheme, together=together))
        raw = mechanism.model().frequencies(weights.values @ tables, counts.sum())
        worst = np.maximum(worst, np.abs(raw - said.raw) * counts.sum())
    plain = exposed(named(aggregate.scheme.attributes["x"]).estimate(aggregate, "x"), aggregate, "x")
    heaviest = rake(held.n, margins_of(aggregate.scheme, together=together)).values.max()
    assert np.all(worst <= said.sensitivities * 1.001)
    assert np.all(said.sensitivities <= 1.25 * worst)
    assert np.all(said.sensitivities >= 0.9 * heaviest * plain.sensitivities)
    mean = said.sensitivity(parse("mean"))
    assert not mean.is_exact
    assert mean.value >= 0.9 * heaviest * plain.sensitivity(parse("mean")).value


def test_a_weighted_estimate_says_whose_it_is() -> None:
    """Through the whole protocol: reports, aggregate by label, and what is of the population by region and sex."""
    scheme = scheme_of("randomized_response", 2)
    rng = np.random.default_rng(4)
    cell = rng.choice(6, 30_000, p=SENT.ravel())
    answers = np.array([rng.choice(list("abcd"), p=law) for law in laws_of(scheme)[cell]])
    people = {"region": np.array(list("nms"))[cell // 2], "sex": np.array(list("fm"))[cell % 2], "x": answers}
    aggregate = dp.aggregate(scheme, dp.privatize(scheme, people, dp.seeded(4)))
    found = weighted(aggregate)
    truth = PEOPLE.ravel() @ laws_of(scheme)
    assert found.given == "weighted=region,sex"
    assert found.n == 30_000
    assert np.all(np.abs(found.raw - truth) <= 4 * found.standard_errors)
    assert np.abs((dp.estimate(aggregate, "x").raw - truth) / found.standard_errors).max() > 10
    kish = rake(aggregate.labelled.n, margins_of(scheme)).design_effect
    assert 2 < kish < 2.6
    mean = found.functional(parse("mean"))
    assert 0.4 * kish < mean.design_effect < 1.6 * kish
    assert found.spread.design_effects.shape == (4,)
    union, whole = found.share_of(["a", "b"]), found.share_of(["a", "b", "c", "d"])
    assert union.low < truth[:2].sum() < union.high
    assert (whole.value, whole.standard_error) == (pytest.approx(1), pytest.approx(0, abs=1e-6))
    np.testing.assert_allclose(np.sqrt(np.diagonal(found.covariance)), found.standard_errors, rtol=1e-9)


def test_weights_of_other_reports_are_refused() -> None:
    aggregate = drawn(scheme_of("randomized_response", 2), 5000, 1)
    other = rake(aggregate.labelled.n + 1, margins_of(aggregate.scheme))
    with pytest.raises(SchemeError, match="rake its own counts"):
        weighted(aggregate, weights=other)
    own = rake(aggregate.labelled.n, margins_of(aggregate.scheme))
    aggregate.labelled.answered["x"] = np.zeros(6, dtype=int)
    with pytest.raises(NotEstimable, match="x has no report"):
        weighted(aggregate, weights=own)
    aggregate.labelled = None
    with pytest.raises(SchemeError, match="the scheme has none"):
        weighted(aggregate, weights=own)
