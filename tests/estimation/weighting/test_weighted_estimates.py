"""Weighted estimates of samples that are not the population: what they err by, and what they say they do.

Two labels, six cells whose laws differ much, and chances of answering from .06 to 1: weights are 1 to 10, and means of the
reports as they are lie tens of standard errors off.
"""

from __future__ import annotations

from functools import cache
from itertools import cycle, pairwise, product, repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy

import dpcore as dp
from dpcore.audit.attacks.lower_bound import binomial_interval
from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.diagnostics.poisoning_sensitivity import averaged, exposed
from dpcore.estimation.registry import named
from dpcore.estimation.weighting.raking import Margins, Weights, rake
from dpcore.estimation.weighting.stratified_variance import Strata
from dpcore.estimation.weighting.weighted_estimates import estimate_weighted
from dpcore.functionals import parse
from tests.helpers.statistical import MISSED, MISSED_BY_DAY, draws_for_variance, variance_agrees

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
    "dyadic_wave": "cells = 32\n",
    "square_wave": "",
    "wavelet_laplace": "",
    "wavelet_laplace log_spline": 'estimator = "log_spline"\n',
    "wavelet_laplace split": 'allocation = "split"\ndegree = 1\nfinest_level = 3\ncells = 128\n',
    "points": "step = 1\n",
}


SLOW = ("wavelet_laplace", "wavelet_laplace log_spline", "unary_encoding", "subset_selection", "hadamard_response")


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


def drawn(scheme: dp.Scheme, n: int, seed: int, asked: float = 1.0) -> Any:
    """An aggregate kept by label, of so many of those who answer; asked: the chance that one is asked x."""
    rng, mechanism = np.random.default_rng([seed, 28]), scheme.attributes["x"].mechanism
    reports = rng.multinomial(n, SENT.ravel())
    answered = reports if asked == 1 else rng.binomial(reports, asked)
    cells = zip(answered, laws_of(scheme), strict=True)
    tables = np.array(
        [
            mechanism.simulate(rng.multinomial(m, law / law.sum()), dp.seeded([seed, c]))
            for c, (m, law) in enumerate(cells)
        ]
    )
    held = SimpleNamespace(n=reports, answered={"x": answered}, statistics={"x": tables}, pairs={})
    return SimpleNamespace(
        scheme=scheme,
        statistics={"x": tables.sum(axis=0)},
        reports=lambda _: int(answered.sum()),
        pairs={},
        fingerprint=str(seed),
        labelled=held,
    )


def margins_of(scheme: dp.Scheme, *, together: bool = False) -> Margins:
    regions, sexes = (label.categories for label in scheme.labels.values())
    if together:
        rows = [(f"{r}*{s}", PEOPLE[i, j]) for i, r in enumerate(regions) for j, s in enumerate(sexes)]
        return Margins.from_rows([("region*sex", *row) for row in rows], scheme.labels)
    rows = [("region", r, PEOPLE[i].sum()) for i, r in enumerate(regions)]
    rows += [("sex", s, PEOPLE[:, j].sum()) for j, s in enumerate(sexes)]
    return Margins.from_rows(rows, scheme.labels)


def weighted(aggregate: Any, *, together: bool = False, weights: Weights | None = None) -> Any:
    scheme = aggregate.scheme
    weights = weights or rake(aggregate.labelled.n, margins_of(scheme, together=together))
    return estimate_weighted(aggregate, "x", weights, named(scheme.attributes["x"]))


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow if kind.startswith("square") or kind in SLOW else ()) for kind in KINDS],
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
    levels = getattr(model, "levels", [SimpleNamespace(outputs=len(g))])
    level = np.repeat(np.arange(len(levels)), [each.outputs for each in levels])
    outputs = [
        (c, z)
        for c, table in enumerate(aggregate.labelled.statistics["x"])
        for z, many in enumerate(table)
        for _ in range(many)
    ]
    cell, output = np.array(outputs).T
    w = weights.values[cell]
    u = np.zeros(len(cell))
    for l in range(len(levels)):
        here = level[output] == l
        u[here] = (g[output[here]] - np.average(g[output[here]], weights=w[here])) / w[here].sum()
    X = np.column_stack([*(cell // 2 == region for region in range(3)), cell % 2 == 0]).astype(float)
    residual = u - X @ np.linalg.lstsq(X * np.sqrt(w)[:, None], u * np.sqrt(w), rcond=None)[0]
    hat = w * np.einsum("im,mk,ik->i", X, np.linalg.inv((X.T * w) @ X), X) - w / w.sum()
    return float(np.sum(w**2 * residual**2 / (1 - hat)))


def test_variances_are_those_of_residuals_report_by_report(subtests: pytest.Subtests) -> None:
    for kind in ["dyadic_wave", "square_wave", "randomized_response"]:
        with subtests.test(kind=kind):
            aggregate = drawn(scheme_of(kind, 1), 3000, 3)
            weights = rake(aggregate.labelled.n, margins_of(aggregate.scheme))
            g = np.random.default_rng(1).normal(size=(4, len(aggregate.statistics["x"])))
            strata = Strata.from_aggregate(aggregate, "x", weights)
            np.testing.assert_allclose(
                strata.variance(g), [slow_variance(aggregate, weights, row) for row in g], rtol=1e-10
            )


def number(scheme: dp.Scheme) -> np.ndarray:
    """Weights of the average reports that tell the cells apart, (S,)."""
    mechanism, model = scheme.attributes["x"].mechanism, scheme.attributes["x"].mechanism.model()
    place = np.linspace(0, 1, mechanism.inputs)
    if hasattr(model, "adjoint"):
        ends = np.cumsum([0, *(level.outputs for level in model.levels)])
        return np.concatenate([np.linspace(0, 1 / (l + 1), b - a) for l, (a, b) in enumerate(pairwise(ends))])
    if not hasattr(model, "tables"):
        return place
    towards = [
        unit * ((table - table.mean(axis=0)).T @ place) for table, unit in zip(model.tables, model.units, strict=True)
    ]
    sent = np.concatenate(
        [part / np.abs(table @ part).max() for part, table in zip(towards, model.tables, strict=True)]
    )
    return np.concatenate([np.zeros(len(model.tables)), sent])


SAMPLED = [kind for kind in KINDS if kind not in ("points", "wavelet_laplace log_spline")]
STUDY = pytest.mark.nightly("a study")


@pytest.mark.parametrize(
    ("kind", "together", "asked", "stated", "missed"),
    [
        pytest.param(*case, *size, marks=mark)
        for case in [
            ("randomized_response", False, 0.4),
            *zip(SAMPLED, cycle([True, False]), repeat(1.0), strict=False),
        ]
        for *size, mark in [(1.3**2, MISSED_BY_DAY, pytest.mark.slow), (1.3, MISSED, STUDY)]
    ],
)
def test_variances_are_those_of_many_samples(
    kind: str, together: bool, asked: float, stated: float, missed: float
) -> None:
    """Of a weighted average report: sampling, noise, which level was drawn, who happened to answer, and who was asked.

    A scale off by 30 % is rejected by day, of 459 samples with a power of .999; at night a variance off by as much, of 2,997.
    """
    scheme = scheme_of(kind, 6)
    mechanism, g = scheme.attributes["x"].mechanism, number(scheme)
    margins, values, variances = margins_of(scheme, together=together), [], []
    for seed in range(draws_for_variance(stated, missed=missed)):
        aggregate = drawn(scheme, 4000, seed, asked)
        strata = Strata.from_aggregate(aggregate, "x", rake(aggregate.labelled.n, margins))
        average = averaged(mechanism, strata.summed, strata.effective_n, 1000)
        values.append(float(average.means @ g))
        if seed % 25 == 0:
            variances.append(float(strata.variance(g[None])[0]))
    assert variance_agrees(np.array(values), float(np.mean(variances)))
    assert not variance_agrees(np.array(values), stated * float(np.mean(variances)))


def test_densities_have_the_errors_of_the_cells() -> None:
    """Of a mean and a share: the root of the variances' ratio times the fit's own; intervals and bands go with it."""
    aggregate = drawn(scheme_of("dyadic_wave", 4), 50_000, 2)
    found = weighted(aggregate)
    strata, base, z = found.inference.strata, found.inference.base, 1.959964
    assert base.posterior.likelihood.n == pytest.approx(strata.weights.effective_n)
    for name in ("mean", "cdf(0.7)"):
        number, plain = (each.estimate(parse(name), 0.95) for each in (found.inference, base))
        g = base.influence(parse(name))[0][None]
        error = plain.standard_error * float(strata.variance(g)[0] / strata.assumed(g)[0]) ** 0.5
        assert (number.value, number.standard_error) == (plain.value, pytest.approx(error, rel=1e-12))
        assert error < 0.98 * plain.standard_error  # at epsilon 4 strata tell something
        assert number.high - number.low == pytest.approx(2 * z * error, rel=1e-6)
        assert number.design_effect == pytest.approx(float(strata.effect(g)[0]))
    share, (low, high) = found.functional(parse("cdf(0.7)")), found.cdf_band(np.array([0.7]))
    assert high[0] - low[0] == pytest.approx(share.high - share.low, rel=0.02)


def test_one_more_report_is_worth_at_most_what_is_said(subtests: pytest.Subtests) -> None:
    """Weights readjust to every report: of all that one client can send, in all cells, the worst is what is said, or less."""
    for together in [False, True]:
        for kind in ["randomized_response", "unary_encoding"]:
            with subtests.test(together=together, kind=kind):
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
    below = np.cumsum(laws_of(scheme), axis=1)[cell, :3]
    answers = np.array(list("abcd"))[np.sum(rng.random(30_000)[:, None] > below, axis=1)]
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


ASKED = {
    "categories": ("share", "mean", "variance"),
    "numbers": ("mean", "cdf(0.3)", "quantile(0.5)", "quantile(0.9)", "variance"),
}


def truths(scheme: dp.Scheme, asked: tuple[str, ...]) -> dict[str, float]:
    """What is true of the population."""
    if scheme.attributes["x"].has_density:
        x = np.linspace(0, 1, 20_001)
        law = np.array([scipy.stats.beta.cdf(x, a, b) for a, b in BETA])
        below, middle = PEOPLE.ravel() @ law, (x[1:] + x[:-1]) / 2
        mean = float(np.diff(below) @ middle)
        known = {"mean": mean, "variance": float(np.diff(below) @ (middle - mean) ** 2)}
        for name in asked:
            if name.startswith("cdf"):
                known[name] = float(np.interp(parse(name).x, x, below))
            if name.startswith("quantile"):
                known[name] = float(np.interp(parse(name).t, below, x))
        return known
    law = PEOPLE.ravel() @ laws_of(scheme)
    numbers = {name: parse(name).of_probabilities(law, np.arange(4.0)) for name in ("mean", "variance")}
    return {"share": float(law[0]), **numbers}


ENOUGH = 250  # rounds, in which the naive interval's share of some .8 is told from .93


@pytest.mark.parametrize(
    ("kind", "epsilon", "clients", "rounds"),
    [
        pytest.param("randomized_response", 1, 20_000, 250, marks=pytest.mark.slow),
        pytest.param("randomized_response", 4, 20_000, 400, marks=pytest.mark.slow),
        pytest.param("subset_selection", 1, 20_000, 400, marks=pytest.mark.slow),
        pytest.param("unary_encoding", 2, 20_000, 400, marks=pytest.mark.slow),
        pytest.param("dyadic_wave", 1, 50_000, 20, marks=pytest.mark.slow),
        pytest.param("dyadic_wave", 1, 50_000, 300, marks=STUDY),
        pytest.param("dyadic_wave", 4, 50_000, 300, marks=STUDY),
        pytest.param("square_wave", 2, 50_000, 300, marks=STUDY),
        pytest.param("wavelet_laplace", 4, 50_000, 300, marks=STUDY),
    ],
)
def test_intervals_hold_the_population(kind: str, epsilon: float, clients: int, rounds: int) -> None:
    """93 to 97 % of them, where the reports as they are say what lies ten standard errors off, and more.

    Weighted counts taken for so many reports, the curvature of their likelihood alone, are rejected by the same test.
    """
    scheme = scheme_of(kind, epsilon)
    asked = ASKED["numbers" if scheme.attributes["x"].has_density else "categories"]
    truth, margins, estimator = truths(scheme, asked), margins_of(scheme), named(scheme.attributes["x"])
    held, naive, off = dict.fromkeys(asked, 0), 0, []
    for seed in range(rounds):
        aggregate = drawn(scheme, clients, seed)
        weights = rake(aggregate.labelled.n, margins)
        found = estimate_weighted(aggregate, "x", weights, estimator)
        for name in asked:
            if name == "share":
                low, high = (float(end[0]) for end in found.interval())
            else:
                number = found.functional(parse(name))
                low, high = number.low, number.high
            held[name] += low <= truth[name] <= high
        mean = found.functional(parse("mean"))
        naive += abs(mean.value - truth["mean"]) <= 1.96 * mean.standard_error / mean.design_effect**0.5
        if seed < 3:
            plain = estimator.estimate(aggregate, "x").functional(parse("mean"))
            off.append(abs(plain.value - truth["mean"]) / plain.standard_error)
    assert min(off) > 10
    for name, count in held.items():
        least, most = binomial_interval(count, rounds, 0.99)
        assert least <= 0.97, (name, count / rounds)
        assert most >= 0.93, (name, count / rounds)
    if rounds >= ENOUGH:
        assert binomial_interval(naive, rounds, 0.99)[1] < 0.93
