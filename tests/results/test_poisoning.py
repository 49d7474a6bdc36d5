"""Malicious clients: what they gain, and that no estimate moves further than it says."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.errors import SchemeError
from dpcore.estimation.diagnostics.evidence import Sensitivity
from dpcore.estimation.diagnostics.poisoning_sensitivity import averaged, group_averaged
from dpcore.estimation.estimators import Fixed, Projection
from dpcore.functionals import Cdf, Entropy, Mean, Quantile
from dpcore.laboratory import attack_gains, attacks
from dpcore.laboratory.attacks import Attack, MaximalGain, MaximalInfluence, RandomItem, RandomReports, poisoned
from dpcore.mechanisms import (
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    Reports,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from dpcore.protocol import tokens
from dpcore.protocol.report import Answers, ReportBatch, batch_of
from dpcore.results.checks import poisoning

LN3 = Budget.parse("ln 3")
ORACLES: dict[str, Any] = {
    each.name: each for each in (RandomizedResponse, UnaryEncoding, SubsetSelection, HadamardResponse, LocalHashing)
}


def all_reports(mechanism: Mechanism) -> list[Reports]:
    """Every report of one level that the collector accepts."""
    lowest, highest = mechanism.ranges(0)
    rows = np.stack(np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(lowest, highest, strict=True))), axis=-1)
    each = [Reports(np.zeros(1, dtype=np.uint8), row) for row in rows.reshape(-1, len(lowest)).astype(np.int64)]
    return [one for one in each if mechanism.accepts(one).all()]


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("k", [3, 5])
def test_no_report_adds_more_than_the_furthest(name: str, k: int) -> None:
    mechanism = ORACLES[name].design(LN3, categories=k)
    for seed in range(5):
        weights = np.random.default_rng(seed).normal(size=k)
        found = mechanism.furthest(weights, 1)
        assert mechanism.accepts(found).all()
        most = max(weights @ mechanism.statistics(one) for one in all_reports(mechanism))
        assert weights @ mechanism.statistics(found) == pytest.approx(most)


@pytest.mark.parametrize("name", ORACLES)
def test_a_share_moves_as_far_as_the_worst_report_of_all_one_by_one(name: str) -> None:
    """Of each category, and of a number of them all: every report is tried, in both directions."""
    scheme = dp.Scheme.from_toml(f"""
name = "enemies"
[attributes.x]
type = "categorical"
categories = ["a", "b", "c", "d", "e"]
values = [0, 1, 2, 5, 9]
epsilon = "ln 3"
mechanism = "{name}"
""")
    found = dp.simulate(scheme, {"x": np.repeat(list("abcde"), [100, 400, 50, 150, 300])}, random=dp.seeded(1))
    mechanism, n, estimate = scheme.attributes["x"].mechanism, 1000, dp.estimate(found, "x")
    moved = []
    for one in all_reports(mechanism):
        alone = mechanism.model().frequencies(mechanism.statistics(one), 1)
        moved.append(alone - estimate.raw)
    assert estimate.raw == pytest.approx(mechanism.model().frequencies(found.statistics["x"], n))
    assert estimate.sensitivities == pytest.approx(np.abs(moved).max(axis=0), rel=1e-12)
    stated = estimate.sensitivity(Mean())
    assert stated.is_exact
    assert stated.value == pytest.approx(np.abs(np.array(moved) @ [0, 1, 2, 5, 9]).max(), rel=1e-12)


def test_a_number_of_a_wave_moves_as_far_as_its_worst_cell_one_by_one() -> None:
    """Of everyone and of a group, whose reports count for more: by loops over levels and cells."""
    mechanism = DyadicWave.design(LN3, cells=16, levels=2)
    tables = np.random.default_rng(1).integers(1, 90, (2, len(mechanism.labels().level)))
    inverse = np.array([1.5, -0.5])
    weights = np.random.default_rng(2).normal(size=(3, tables.shape[1]))
    n = int(tables.sum())
    model = mechanism.model()
    for counted, factor in ((tables.sum(axis=0), 1.0), (inverse @ tables, 1.5 * n / (inverse @ tables).sum())):
        everyone, group = averaged(mechanism, counted, n, n), group_averaged(mechanism, tables, inverse, n)
        exposure = everyone if factor == 1 else group
        for row, stated in zip(weights, exposure.sensitivities(weights), strict=True):
            worst = 0.0
            for law, w, said in zip(model.level_law, model.split(row), model.split(counted), strict=True):
                least = max(law - 3 * np.sqrt(law * (1 - law) / n), law / 4)
                for one in w:
                    worst = max(worst, abs(one - w @ said / said.sum()) / least * factor)
            assert stated == pytest.approx(worst, rel=1e-12)
            assert exposure.sensitivity(row) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize("mechanism", [DyadicWave.design(LN3, cells=16), SquareWave.design(LN3, cells=16)])
def test_waves_send_the_best_cell_of_each_level(mechanism: Any) -> None:
    weights = np.random.default_rng(1).normal(size=len(mechanism.labels().level))
    found = mechanism.furthest(weights, 1)
    assert mechanism.accepts(found).all()
    for level, part in enumerate(mechanism.model().split(weights)):
        assert found.level[level] == level
        assert part[found.values[level]] == part.max()


@pytest.mark.parametrize("allocation", ["sample", "split"])
def test_lattice_reports_end_where_honest_noise_does(allocation: str) -> None:
    mechanism = WaveletLaplace.design(LN3, degree=1, coarsest_level=2, finest_level=3, allocation=allocation)
    weights = np.random.default_rng(1).normal(size=len(mechanism.labels().level))
    found = mechanism.furthest(weights, 1000)
    assert mechanism.is_likely(found, 1000).all()
    further = Reports(found.level, found.values + np.sign(found.values))
    assert not mechanism.is_likely(further, 1000).any()
    assert mechanism.accepts(further).all()  # what is sent is refused later, by whoever knows how many there are
    assert mechanism.is_likely(further, 10_000).all()  # more clients show more


def test_an_honest_round_loses_next_to_nobody_to_the_clip() -> None:
    n, mechanism = 1_000_000, WaveletLaplace.design(LN3, degree=1, coarsest_level=2, finest_level=3)
    K = max(mechanism.sizes)
    for table, t, high in zip(
        mechanism.tables,
        mechanism.noise_scales,
        np.split(mechanism.furthest(np.ones(20), n).values, [5, 9]),
        strict=True,
    ):
        spare = high.min() - np.abs(table).max()  # noise below it is never refused
        tail = 2 * np.exp(-spare / t) / (1 + np.exp(-1 / t))  # of |noise| >= spare
        assert 0.001 < n * K * tail < 0.02
        bias, error = tail * (high.max() + t), np.sqrt(2 * t**2 / n)  # at most, of one average
        assert bias < error / np.sqrt(n)


def test_a_report_beyond_honest_noise_is_refused_with_its_reason() -> None:
    scheme = dp.Scheme.from_toml(NUMERIC.format(mechanism="wavelet_laplace"))
    batch = dp.privatize(scheme, {"x": np.full(200, 0.3)}, random=dp.seeded(1))
    mechanism = scheme.attributes["x"].mechanism
    reports = batch.answers["x"].reports
    reports.values[0] = mechanism.ranges(int(reports.level[0]))[1][0]
    found = dp.aggregate(scheme, batch)
    assert dict(found.rejected) == {"x: beyond honest noise": 1}
    assert found.n == 199


def test_a_level_that_is_not_its_tokens_is_refused() -> None:
    """Or whoever looks for the level where a report is worth most would send it from there."""
    scheme = dp.Scheme.from_toml(NUMERIC.format(mechanism="dyadic_wave"))
    clients = [
        dp.Client(scheme, random=dp.seeded(i), token=tokens.token_of(bytes([i] * 16), scheme.digest)) for i in range(40)
    ]
    batch = batch_of(client.report({"x": 0.3}) for client in clients)
    assert dp.aggregate(scheme, batch).n == 40
    level = batch.answers["x"].reports.level
    level[:3] = (level[:3] + 1) % 4
    batch.answers["x"].reports.values[:3] = 0
    found = dp.aggregate(scheme, batch)
    assert dict(found.rejected) == {"x: not for its token": 3}
    assert found.n == 37
    assert dp.aggregate(scheme, replace(batch, tokens=None)).n == 40  # without a token nobody knows


NUMERIC = """
name = "enemies"
clients = 100000
[attributes.x]
type = "numeric"
lower = 0
upper = 1
epsilon = 1
mechanism = "{mechanism}"
"""

K, R = 101, 5
TARGETS = tuple(range(K - R, K))
HONEST = np.concatenate([np.full(K - R, 900 // (K - R) * 100), np.full(R, 2000)])  # targets: 1 in 10 or so
ATTACKS: dict[str, Attack] = {
    "random": RandomReports(100_000),
    "random item": RandomItem(TARGETS),
    "maximal gain": MaximalGain(TARGETS),
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", ORACLES)
def test_attacks_gain_what_theory_says_and_no_more_than_the_bound(name: str, attack: str) -> None:
    mechanism, n = ORACLES[name].design(LN3, categories=K), int(HONEST.sum())
    honest, model = mechanism.simulate(HONEST, dp.seeded(1)), mechanism.model()
    malicious = n // 19  # 5 % of all
    beta = malicious / (n + malicious)
    statistics = poisoned(mechanism, honest, ATTACKS[attack], malicious, dp.seeded(2))
    before, after = model.frequencies(honest, n), model.frequencies(statistics, n + malicious)
    gain = (after - before)[list(TARGETS)].sum()
    expected = attack_gains.gain(mechanism, ATTACKS[attack], TARGETS, before[list(TARGETS)].sum())
    error = beta * R / float(model.contrast) / 2 / np.sqrt(malicious)  # supports are between 0 and R
    assert abs(gain - beta * expected) <= 5 * error
    exposure = averaged(mechanism, statistics, n + malicious, n)
    moved = np.abs(after - before)
    most = np.maximum(1 - exposure.means, exposure.means) / float(model.contrast) * beta / (1 - beta)
    assert (moved <= most * (1 + 1e-12)).all()
    both = np.zeros(K)
    both[list(TARGETS)] = 1 / float(model.contrast)
    assert gain <= exposure.sensitivity(both) * beta / (1 - beta) * (1 + 1e-12)


@pytest.mark.parametrize("oracle", ["randomized_response", "unary_encoding", "local_hashing"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_the_gains_are_those_of_the_paper(oracle: str, attack: str) -> None:
    mechanism = ORACLES[oracle].design(LN3, categories=2003)
    epsilon = float(np.log(3))
    stated = attack_gains.printed(oracle, attack, epsilon=epsilon, categories=2003, targets=2, frequency=0.1)
    ours = attack_gains.gain(
        mechanism, ATTACKS["random item"] if attack == "random item" else _two(attack), (1, 2), 0.1
    )
    # 2,003 residues fall into four bins of 500 and 501; the paper's hash values are independent
    assert ours == pytest.approx(stated, abs=2e-3 if oracle == "local_hashing" else 1e-4, rel=1e-4)


def _two(attack: str) -> Attack:
    return RandomReports(1) if attack == "random" else MaximalGain((1, 2))


def test_gains_are_refused_where_nobody_knows_them() -> None:
    with pytest.raises(SchemeError, match="frequency oracles"):
        attack_gains.gain(SquareWave.design(LN3), RandomItem((1,)), (1,), 0.1)


def test_disguised_reports_have_as_many_ones_as_honest_ones() -> None:
    mechanism = UnaryEncoding.design(LN3, categories=K)
    sent = MaximalGain(TARGETS).reports(mechanism, 1000, dp.seeded(1))
    assert mechanism.statistics(sent).sum() == 1000 * round(attacks.honest_ones(mechanism))
    assert (mechanism.statistics(sent)[list(TARGETS)] == 1000).all()


def poisoned_aggregate(scheme: Any, attack: Attack, beta: float, n: int = 100_000) -> tuple[Any, Any]:
    """Honest people's aggregate, and the same with malicious clients."""
    people = np.random.default_rng(0).beta(2, 5, n)
    honest = dp.simulate(scheme, {"x": people}, random=dp.seeded(1))
    malicious = round(n * beta / (1 - beta))
    mechanism = scheme.attributes["x"].mechanism
    sent = attack.reports(mechanism, malicious, dp.seeded(2))
    batch = ReportBatch(scheme.digest, malicious, {"x": Answers(np.arange(malicious), sent)})
    together = honest.add(batch)
    assert not together.rejected
    return honest, together


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("beta", [0.01, 0.1])
@pytest.mark.parametrize("functional", [Mean(), Cdf(0.3)], ids=str)
def test_the_bound_of_a_linear_functional_at_a_fixed_level_holds(functional: Any, beta: float, chosen: bool) -> None:
    scheme = dp.Scheme.from_toml(NUMERIC.format(mechanism="wavelet_laplace"))
    estimator = Projection(level_rule=Fixed(3), unit_mass=False)
    clean = dp.estimate(
        dp.simulate(scheme, {"x": np.full(100_000, 0.3)}, random=dp.seeded(1)), "x", estimator=estimator
    )
    weights, _ = clean.inference.influence(functional)
    attack = MaximalInfluence(clean.exposure, weights, chosen)
    honest, together = poisoned_aggregate(scheme, attack, beta)
    before, after = (raw_value(dp.estimate(each, "x", estimator=estimator), functional) for each in (honest, together))
    stated = dp.estimate(together, "x", estimator=estimator).sensitivity(functional)
    assert stated.is_exact
    assert 0 < after - before <= stated.bias(beta)
    if chosen and beta == 0.01:  # nobody can do much better; at 0.1 what lowers it would do twice as much
        assert after - before > 0.85 * stated.bias(beta)


def raw_value(estimate: Any, functional: Any) -> float:
    """The linear functional of the raw density, which is not cut to its range."""
    influence = functional.expand(estimate.raw).influence
    return float(influence.on(estimate.raw.features, estimate.raw.breakpoints) @ estimate.raw.coefficients)


@pytest.mark.nightly("a study")
@pytest.mark.parametrize("functional", [Mean(), Cdf(0.3), Quantile(0.5), Entropy()], ids=str)
def test_the_first_order_bound_holds_at_one_percent(functional: Any) -> None:
    scheme = dp.Scheme.from_toml(NUMERIC.format(mechanism="dyadic_wave"))
    people = np.random.default_rng(0).beta(2, 5, 100_000)
    clean = dp.estimate(dp.simulate(scheme, {"x": people}, random=dp.seeded(1)), "x")
    weights, is_exact = clean.inference.influence(functional)
    assert not is_exact
    honest, together = poisoned_aggregate(scheme, MaximalInfluence(clean.exposure, weights), 0.01)
    before, after = dp.estimate(honest, "x"), dp.estimate(together, "x")
    moved = abs(after.functional(functional).value - before.functional(functional).value)
    assert moved <= 1.2 * after.sensitivity(functional).bias(0.01)
    assert moved >= 0.3 * before.sensitivity(functional).bias(0.01)  # and it says something


def test_a_curve_says_at_each_point_what_its_weights_say_one_by_one() -> None:
    scheme = dp.Scheme.from_toml(NUMERIC.format(mechanism="wavelet_laplace"))
    estimator = Projection(level_rule=Fixed(3), unit_mass=False)
    people = {"x": np.random.default_rng(0).beta(2, 5, 100_000)}
    found = dp.estimate(dp.simulate(scheme, people, random=dp.seeded(1)), "x", estimator=estimator)
    x = np.linspace(0.1, 0.9, 5)
    _, below = found.curve_sensitivity(x)
    assert below == pytest.approx([found.sensitivity(Cdf(float(at))).value for at in x])
    for mechanism in ("wavelet_laplace", "dyadic_wave"):
        made = dp.Scheme.from_toml(NUMERIC.format(mechanism=mechanism)).attributes["x"].mechanism
        statistics = made.simulate(np.full(made.inputs, 100), dp.seeded(1))
        exposure = averaged(made, statistics, 100 * made.inputs, 100_000)
        weights = np.random.default_rng(2).normal(size=(3, len(statistics)))
        assert exposure.sensitivities(weights) == pytest.approx([exposure.sensitivity(one) for one in weights])


@pytest.mark.nightly("a study")
def test_a_curve_moves_no_further_than_it_says_at_one_percent() -> None:
    scheme, x = dp.Scheme.from_toml(NUMERIC.format(mechanism="dyadic_wave")), np.linspace(0, 1, 33)
    people = np.random.default_rng(0).beta(2, 5, 100_000)
    clean = dp.estimate(dp.simulate(scheme, {"x": people}, random=dp.seeded(1)), "x")
    worst = int(np.argmax(clean.curve_sensitivity(x)[0]))
    attack = MaximalInfluence(clean.exposure, clean.inference.curve(x)[0][worst])
    after = dp.estimate(poisoned_aggregate(scheme, attack, 0.01)[1], "x")
    moved = np.abs(after(x) - clean(x)), np.abs(after.cdf(x) - clean.cdf(x))
    for most, stated in zip(moved, after.curve_sensitivity(x), strict=True):
        assert 0 < most.max() <= 1.2 * 0.01 / 0.99 * stated.max()


def test_a_share_of_all_reports_is_refused() -> None:
    with pytest.raises(SchemeError, match="beta"):
        Sensitivity(1.0, True).bias(1.0)


EVERY = (
    'name = "every"\nclients = 8000\n'
    + "".join(
        f'[attributes.{name}]\ntype = "categorical"\nepsilon = "ln 3"\nmechanism = "{name}"\ncategories = '
        f"{[f'c{i}' for i in range(20)]}\n"
        for name in ORACLES
    )
    + "".join(
        f'[attributes.{name}]\ntype = "numeric"\nepsilon = 1\nmechanism = "{name}"\nlower = 0\nupper = 1\n'
        for name in ("dyadic_wave", "square_wave", "wavelet_laplace")
    )
)
MADE = {  # by reports of each mechanism, of several levels and batches
    "randomized_response": {"possible", "homogeneity"},
    "unary_encoding": {"marginals", "possible", "consistency", "homogeneity"},
    "subset_selection": {"possible", "homogeneity"},
    "hadamard_response": {"marginals", "possible", "consistency", "homogeneity"},
    "local_hashing": {"marginals", "possible", "consistency", "homogeneity"},
    "dyadic_wave": {"levels", "consistency", "homogeneity"},
    "square_wave": {"consistency", "homogeneity"},
    "wavelet_laplace": {"levels", "possible", "consistency", "homogeneity"},
}


def a_round(scheme: Any, seed: int, n: int = 8000, batches: int = 4) -> tuple[Any, list[Any]]:
    """Honest people, most of them alike, so that frequencies and densities vanish elsewhere: the aggregate and its batches."""
    generator = np.random.default_rng(seed)
    people = {
        name: generator.beta(2, 8, n) if each.is_numeric else np.array([f"c{i}" for i in generator.binomial(1, 0.3, n)])
        for name, each in scheme.attributes.items()
    }
    parts = [
        dp.aggregate(
            scheme, dp.privatize(scheme, {k: v[i::batches] for k, v in people.items()}, random=dp.seeded([seed, i]))
        )
        for i in range(batches)
    ]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.merge(part)
    return whole, parts


@pytest.fixture(scope="module")
def everything() -> Any:
    return dp.Scheme.from_toml(EVERY)


@pytest.fixture(scope="module")
def honest(everything: Any) -> tuple[Any, list[Any]]:
    return a_round(everything, 1)


@pytest.fixture(scope="module")
def most_influential(honest: Any) -> Any:
    """A function: the attack on an attribute's mean that moves it furthest."""

    @cache
    def attack(name: str) -> Attack:
        clean = dp.estimate(honest[0], name)
        return MaximalInfluence(clean.exposure, clean.inference.influence(Mean())[0])

    return attack


def test_every_mechanism_has_its_checks_and_honest_clients_pass(honest: Any) -> None:
    found = poisoning.checks(*honest)
    made: dict[str, set[str]] = {}
    for check in found:
        made.setdefault(check.attribute, set()).add(check.name)
        assert check.passed, check
        assert (check.p_value > poisoning.FALSE_ALARMS) == check.passed
    assert made == MADE


def test_marginals_merge_travel_and_are_missed_where_nobody_saw_reports(everything: Any, tmp_path: Any) -> None:
    whole, _ = a_round(everything, 1, n=200)
    wire.write_aggregate(tmp_path / "a.parquet", whole)
    assert wire.read_aggregate(tmp_path / "a.parquet", everything).equals(whole)
    for name, counts in whole.marginals.items():
        laws = everything.attributes[name].mechanism.marginal_laws()
        assert counts.sum() == len(laws) * 200
        assert all(law.sum() == pytest.approx(1) for law in laws)
    drawn = whole.merge(
        dp.simulate(everything, {k: ["c0"] * 9 if k in ORACLES else [0.5] * 9 for k in MADE}, random=dp.seeded(1))
    )
    unseen = [check for check in poisoning.checks(drawn) if not check.is_available]
    assert {check.attribute for check in unseen} == whole.marginals.keys()
    assert {check.name for check in unseen} == {"marginals"}
    assert all(check.passed and check.detail.startswith("not available: ") for check in unseen)
    assert all(check.is_available for check in poisoning.checks(whole))


def test_contrasts_are_zero_for_every_density() -> None:
    model = DyadicWave.design(Budget.parse("1")).model()
    contrasts = poisoning.null_contrasts(model.levels)
    assert (
        contrasts.shape[1] == 128
    )  # 2 h of the level whose windows reach beyond the ends, M / 2 of each of the L - 1 others
    assert np.abs(model.adjoint(contrasts)).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "attack", "caught"),
    [
        ("unary_encoding", MaximalGain((19,)), "marginals"),
        ("hadamard_response", MaximalGain((18, 19)), "marginals"),
        ("local_hashing", MaximalGain((18, 19)), "marginals"),
        ("randomized_response", MaximalGain((19,)), "possible"),
        ("dyadic_wave", MaximalInfluence, "consistency"),
        ("dyadic_wave", MaximalInfluence, "levels"),
        ("square_wave", MaximalInfluence, "consistency"),
        ("wavelet_laplace", MaximalInfluence, "possible"),
        ("wavelet_laplace", MaximalInfluence, "levels"),
        ("wavelet_laplace", MaximalInfluence, "homogeneity"),
    ],
)
def test_a_tenth_of_malicious_clients_is_seen(
    everything: Any, honest: Any, most_influential: Any, name: str, attack: Any, caught: str
) -> None:
    whole, parts = honest
    mechanism = everything.attributes[name].mechanism
    sent = (most_influential(name) if attack is MaximalInfluence else attack).reports(mechanism, 900, dp.seeded(2))
    added = replace(
        whole,
        n=900,
        answered={**whole.answered, name: 900},
        statistics={**whole.statistics, name: mechanism.statistics(sent)},
        marginals={**whole.marginals, name: mechanism.marginals(sent)},
    )
    together = replace(
        whole,
        answered={**whole.answered, name: whole.answered[name] + 900},
        statistics={**whole.statistics, name: whole.statistics[name] + added.statistics[name]},
        marginals={k: v + (added.marginals[name] if k == name else 0) for k, v in whole.marginals.items()},
    )
    failed = {
        check.name
        for check in poisoning.checks(together, [*parts, added])
        if check.attribute == name and not check.passed
    }
    assert caught in failed


PLANE = """
name = "s"
[attributes.a]
type = "numeric"
of = ["x", "y"]
lower = [0, 0]
upper = [1, 1]
epsilon = 2
"""


def test_reports_of_two_numbers_are_asked_whether_a_law_explains_them() -> None:
    scheme, generator = dp.Scheme.from_toml(PLANE), np.random.default_rng(5)
    people = {"x": generator.normal(0.5, 0.1, 60_000), "y": generator.beta(2, 5, 60_000)}
    aggregate = dp.aggregate(scheme, dp.privatize(scheme, people, dp.seeded(3)))
    (honest,) = poisoning.checks(aggregate, names=["consistency"])
    assert 0.001 < honest.p_value < 0.999
    aggregate.statistics["a"][100] += 200  # one cell of the plane, said by colluders
    (found,) = poisoning.checks(aggregate, names=["consistency"])
    assert not found.passed
