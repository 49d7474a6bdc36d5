"""One contract for every frequency oracle: what it promises, what it sends, and the way from a scheme to an estimate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore._random import Source
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError
from dpcore.mechanisms import Mechanism, Reports
from dpcore.mechanisms.categorical.frequency_oracle import FrequencyOracle
from dpcore.mechanisms.registry import CATEGORICAL
from dpcore.privacy.budget import Budget
from dpcore.wire import read_aggregate, read_reports, write_aggregate, write_reports
from tests.helpers.cases import every_value_once
from tests.helpers.enumeration import largest_ratio, moments_agree
from tests.helpers.statistical import by_variance, draws_for_law, law_agrees, mean_agrees, variance_agrees

NAMES = tuple(name for name, kind in CATEGORICAL.items() if issubclass(kind, FrequencyOracle))
VARIANTS = [(name, {}) for name in NAMES] + [("unary_encoding", {"variant": "symmetric"})]
LABELS = [" ".join([name, *options.values()]) for name, options in VARIANTS]
Law = dict[tuple[int, ...], Fraction]


# --- exact epsilon ------------------------------------------------------------------------------------------------------------


class Script(Source):
    """A source that replays `digits` and then asks for more: walking all scripts enumerates everything a client can draw.

    lanes: how many low bits of a bare word the client looks at (one for each category); the others are zero here.
    """

    def __init__(self, digits: list[int], lanes: int) -> None:
        self.digits, self.used, self.bounds, self.lanes = digits, 0, [1] * len(digits), lanes

    def residues(self, bound: int, count: int) -> np.ndarray:
        drawn = []
        for _ in range(count):
            if self.used == len(self.digits):
                self.digits.append(0)
                self.bounds.append(bound)
            self.bounds[self.used] = bound
            drawn.append(self.digits[self.used])
            self.used += 1
        return np.array(drawn, dtype=np.uint32)

    def words(self, count: int) -> np.ndarray:
        return self.residues(1 << self.lanes, count)

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


def law_of(mechanism: Mechanism, value: int) -> Law:
    """The exact law of one client's report, by running the client's own code on every sequence of draws."""
    law: Law = defaultdict(Fraction)
    digits: list[int] = []
    while True:
        script = Script(digits, mechanism.inputs)
        report = mechanism.privatize(np.array([value]), script)
        assert script.used == len(digits)
        weight = Fraction(1)
        for bound in script.bounds:
            weight /= bound
        law[tuple(int(part) for part in report.values)] += weight
        while digits and digits[-1] == script.bounds[len(digits) - 1] - 1:
            digits.pop()
        if not digits:
            return law
        digits[-1] += 1


def loss(laws: list[Law]) -> Fraction | None:
    """The largest ratio of two probabilities of one report, or None where a report excludes a value."""
    seen = set().union(*laws)
    if any(report not in law for report in seen for law in laws):
        return None
    return max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in seen)


def sends_only_what_is_accepted(mechanism: Mechanism, laws: list[Law]) -> bool:
    seen = sorted(set().union(*laws))
    values = np.array(seen, dtype=np.int64).reshape(-1)
    return bool(mechanism.accepts(Reports(np.zeros(len(seen), dtype=np.uint8), values)).all())


COARSE = {"weight_in": 2, "weight_out": 1}
COARSE_BITS = {"coin_bits": 2, "weight_true": 2, "weight_other": 1}  # p = 1/2 and q = 1/4: odds 1 and 1/3


def coarse(name: str, k: int) -> Mechanism:
    """A mechanism whose weights are small enough to enumerate; it keeps ln 2, or ln 3 with unary encoding."""
    kind: Any = CATEGORICAL[name]
    bits = name == "unary_encoding"
    budget = Budget.parse("ln 3" if bits else "ln 2")
    parameters = dict(kind.design(budget, categories=k).parameters())
    if name == "subset_selection":
        parameters["size"] = min(2, k - 1)  # two members have an order to leak
    return kind.from_parameters(budget, {**parameters, **(COARSE_BITS if bits else COARSE)})


def weights_of(mechanism: Mechanism) -> np.ndarray | None:
    channel = mechanism.channel()
    return None if channel is None else channel[0]


@pytest.mark.parametrize(
    ("variant", "k", "epsilon"), every_value_once(VARIANTS, [2, 3, 5, 8, 64], ["ln 3", "0.1", "0.5", "1", "2", "4"])
)
def test_the_certificate_is_the_enumerated_ratio(variant: tuple[str, dict[str, str]], k: int, epsilon: str) -> None:
    name, options = variant
    budget = Budget.parse(epsilon)
    kind: Any = CATEGORICAL[name]
    mechanism = kind.design(budget, categories=k, **options)
    kept = mechanism.certificate().kept
    assert budget.ratio_floor * (1 - Fraction(1, 2**16)) <= kept <= budget.ratio_floor
    assert kind.from_parameters(budget, mechanism.parameters()) == mechanism
    weights = weights_of(mechanism)
    if weights is None:
        assert k == 64  # too many reports to list: a test of the mechanism's own enumerates two coordinates
        return
    assert largest_ratio(weights) == kept
    assert len({tuple(row) for row in weights.tolist()}) == k  # no two categories are answered alike


DRIVEN = [
    ("randomized_response", 2), ("randomized_response", 5), ("hadamard_response", 2), ("hadamard_response", 3),
    ("hadamard_response", 8), ("local_hashing", 2), ("local_hashing", 3), ("local_hashing", 5), ("subset_selection", 3),
    ("subset_selection", 5), ("unary_encoding", 2), ("unary_encoding", 3),
]  # fmt: skip


def test_the_clients_code_has_the_law_it_certifies(subtests: pytest.Subtests) -> None:
    for name, k in DRIVEN:
        with subtests.test(name=name, k=k):
            mechanism = coarse(name, k)
            laws = [law_of(mechanism, value) for value in range(k)]
            assert all(sum(law.values()) == 1 for law in laws)
            assert loss(laws) == mechanism.certificate().kept <= mechanism.budget.ratio_floor
            assert sends_only_what_is_accepted(mechanism, laws)
            weights = weights_of(mechanism)
            assert weights is not None
            for law, row in zip(
                laws, weights, strict=True
            ):  # the same law, up to the order in which reports are listed
                total = int(row.sum())
                assert sorted(law.values()) == sorted(Fraction(int(weight), total) for weight in row)
            model = mechanism.model()
            for true, law in enumerate(laws):  # E of the scores, through the aggregator's own code
                for said, expected in enumerate(_expected_scores(mechanism, law)):
                    assert expected == (model.true_mean if said == true else model.other_mean)


def _expected_scores(mechanism: Mechanism, law: Law) -> list[Fraction]:
    expected = [Fraction(0)] * mechanism.inputs
    for report, weight in law.items():
        one = Reports(np.zeros(1, dtype=np.uint8), np.array(report, dtype=np.int64))
        for category, score in enumerate(mechanism.statistics(one)):
            expected[category] += weight * int(score)
    return expected


def every_report(mechanism: Any) -> Reports:
    """One of each report, in the order of the channel's columns."""
    values = np.arange(mechanism.channel()[0].shape[1])
    if mechanism.name == "subset_selection":
        values = np.array(list(combinations(range(mechanism.categories), mechanism.size)))
    return Reports(np.zeros(len(values), dtype=np.uint8), values.reshape(-1))


MOMENTS: list[tuple[str, int, dict[str, Any]]] = [
    *(("hadamard_response", k, {}) for k in (2, 3, 8)),
    *(("unary_encoding", k, {"variant": variant}) for k in (2, 3, 5) for variant in ("optimized", "symmetric")),
    *(("subset_selection", k, {"size": w}) for k, w in [(2, 1), (3, 1), (3, 2), (5, 2), (6, 3), (6, 5)]),
]


def test_moments_of_the_model_are_those_of_the_channel(subtests: pytest.Subtests) -> None:
    for name, k, options in MOMENTS:
        with subtests.test(name=name, k=k, options=options):
            kind: Any = CATEGORICAL[name]
            mechanism, wrong = (kind.design(Budget.parse(one), categories=k, **options) for one in ("1", "1.001"))
            scores = mechanism.scores(every_report(mechanism))
            assert moments_agree(mechanism.model(), mechanism.channel()[0], scores)
            assert not moments_agree(wrong.model(), mechanism.channel()[0], scores)


def test_clients_follow_the_channel(subtests: pytest.Subtests) -> None:
    """With the weights of a design, which are too large to try all draws."""
    people = np.array([0.5, 0.25, 0.15, 0.1, 0.0])
    for name in ("randomized_response", "hadamard_response", "subset_selection", "unary_encoding"):
        with subtests.test(name=name):
            kind: Any = CATEGORICAL[name]
            mechanism = kind.design(Budget.parse("1"), categories=5)
            options = {"size": mechanism.size} if name == "subset_selection" else {}
            other = kind.design(Budget.parse("1.3"), categories=5, **options)
            law, planted = (people @ each.channel()[0].astype(float) for each in (mechanism, other))
            counts = np.rint(people * draws_for_law(law, planted)).astype(int)
            reports = mechanism.privatize(np.repeat(np.arange(5), counts), dp.seeded(1))
            rows = [each.values.reshape(-1, mechanism.sizes[0]) for each in (every_report(mechanism), reports)]
            said = np.unique(np.vstack(rows), axis=0, return_counts=True)[1] - 1
            assert law_agrees(said, law)
            assert not law_agrees(said, planted)
            if name == "randomized_response":
                assert law_agrees(mechanism.simulate(counts, dp.seeded(2)), law)


@by_variance
@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=LABELS)
def test_closed_form_variance_accepts_the_truth_and_no_other(
    name: str, options: dict[str, str], too_large: float, too_small: float, draws: int
) -> None:
    kind: Any = CATEGORICAL[name]
    mechanism = kind.design(Budget.parse("1"), categories=5, **options)
    n = 300 if name in ("local_hashing", "subset_selection") else 10_000  # clients of a run, some drawn one by one
    rng, random, law = np.random.default_rng(12), dp.seeded(11), np.array([0.5, 0.2, 0.15, 0.15, 0.0])
    said = [mechanism.simulate(rng.multinomial(n, law), random) for _ in range(draws)]
    estimates = np.array([mechanism.model().frequencies(sums, n) for sums in said])
    for category, frequency in enumerate(law):
        variance = mechanism.variance(float(frequency), n)
        assert mean_agrees(estimates[:, category], frequency)
        assert variance_agrees(estimates[:, category], variance)
        assert not variance_agrees(estimates[:, category], variance * too_large)
        assert not variance_agrees(estimates[:, category], variance * too_small)


# --- planted bugs -------------------------------------------------------------------------------------------------------------


def with_privatize(mechanism: Mechanism, privatize: Callable[..., Reports]) -> Mechanism:
    """The mechanism with another client half; its certificate and its aggregator half are untouched."""
    broken = type("Broken", (type(mechanism),), {"privatize": privatize})
    return broken(**{field.name: getattr(mechanism, field.name) for field in fields(mechanism)})  # type: ignore[arg-type]


def test_a_subset_that_names_the_truth_first_is_caught() -> None:
    """As published elsewhere: the true value, where it is in the set, is element 0 [peers measured 4.1 for a claimed 1]."""
    mechanism = coarse("subset_selection", 5)
    honest = mechanism.privatize

    def truth_first(self: Mechanism, values: np.ndarray, random: Source, levels: Any = None) -> Reports:
        report = honest(values, random, levels)
        said = sorted(report.values.tolist(), key=lambda category: (category != values[0], category))
        return Reports(report.level, np.array(said))

    laws = [law_of(with_privatize(mechanism, truth_first), value) for value in range(5)]
    kept = loss(laws)
    assert kept is None or kept > mechanism.budget.ratio_floor
    assert not sends_only_what_is_accepted(mechanism, laws)


def test_a_value_outside_the_domain_that_is_sent_is_caught(subtests: pytest.Subtests) -> None:
    """As published elsewhere: an unchecked value k goes through the client's arithmetic, or past it in clear."""
    for name in NAMES:
        with subtests.test(name=name):
            _a_value_outside_is_caught(name)


def _a_value_outside_is_caught(name: str) -> None:
    mechanism = coarse(name, 3)

    def in_clear(self: Mechanism, values: np.ndarray, random: Source, levels: Any = None) -> Reports:
        report = mechanism.privatize(np.minimum(values, 2), random, levels)
        return Reports(report.level, np.where(values == 3, 1 << 40, report.values))

    laws = [law_of(with_privatize(mechanism, in_clear), value) for value in range(4)]
    assert loss(laws[:3]) == mechanism.certificate().kept
    assert loss(laws) is None
    assert not sends_only_what_is_accepted(mechanism, laws)


def test_weights_rounded_the_wrong_way_or_swapped_are_refused(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name=name):
            kind: Any = CATEGORICAL[name]
            mechanism = kind.design(Budget.parse("1"), categories=5)
            parameters = mechanism.parameters()
            favoured, other = (
                ("weight_true", "weight_other") if name == "unary_encoding" else ("weight_in", "weight_out")
            )
            up = {favoured: parameters[favoured] + 1}
            for wrong in (
                up,
                {other: parameters[other] - 1},
                {favoured: parameters[other], other: parameters[favoured]},
            ):
                with pytest.raises(CalibrationError, match=f"exceed|{other} < {favoured}"):
                    kind.from_parameters(mechanism.budget, {**parameters, **wrong})


# --- from a scheme to an estimate ---------------------------------------------------------------------------------------------


def scheme_of(name: str, k: int, epsilon: str = "1", extra: str = "", labels: list[str] | None = None) -> dp.Scheme:
    listed = ", ".join(f'"{label}"' for label in labels or [f"c{category}" for category in range(k)])
    text = f'name = "oracles"\n[attributes.answer]\ntype = "categorical"\ncategories = [{listed}]\n'
    return dp.Scheme.from_toml(text + f'mechanism = "{name}"\nepsilon = "{epsilon}"\n{extra}\n')


@pytest.mark.parametrize("k", [2, 3, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=LABELS)
def test_from_a_scheme_to_an_estimate(name: str, options: dict[str, str], k: int, tmp_path: Path) -> None:
    scheme = scheme_of(name, k, extra="\n".join(f'{key} = "{value}"' for key, value in options.items()))
    assert scheme.attributes["answer"].mechanism.name == name
    again = dp.Scheme.from_toml(scheme.canonical)
    assert again.digest == scheme.digest
    assert again.attributes["answer"].mechanism == scheme.attributes["answer"].mechanism
    people = {"answer": np.where(np.arange(300) % 4 == 0, "c0", "c1")}
    batch = dp.privatize(scheme, people, random=dp.seeded(1))
    write_reports(tmp_path / "reports.parquet", scheme, batch)
    aggregate = dp.aggregate(scheme, read_reports(tmp_path / "reports.parquet", scheme))
    assert aggregate.n == 300
    assert not aggregate.rejected
    few, nobody = (dp.privatize(scheme, {"answer": people["answer"][:n]}, random=dp.seeded(2)) for n in (9, 0))
    assert dp.aggregate(scheme, nobody).equals(dp.Aggregate.zero(scheme))
    assert dp.aggregate(scheme, few).merge(aggregate).n == 309
    write_aggregate(tmp_path / "aggregate.parquet", aggregate)
    assert read_aggregate(tmp_path / "aggregate.parquet", scheme).equals(aggregate)
    simulated = dp.simulate(scheme, people, random=dp.seeded(3))
    assert simulated.n == 300
    for held in (aggregate, simulated):
        estimate: Any = dp.estimate(held, "answer")
        assert estimate.n == 300
        assert estimate.values.sum() == pytest.approx(1)
        assert estimate.values.min() >= 0
        truth = np.array([0.25, 0.75] + [0.0] * (k - 2))
        mechanism: Any = scheme.attributes["answer"].mechanism
        model = mechanism.model()
        one = 1 / (300 * float(model.true_mean - model.other_mean))  # what one report moves: rare supports are Poisson
        errors = np.sqrt([mechanism.variance(f, 300) for f in (0.25, 0.75, 0.0)])
        errors = np.concatenate([errors[:2], np.full(k - 2, errors[2])])
        assert np.all(np.abs(estimate.raw - truth) < 7 * (errors + one))  # the k - 2 categories nobody has included


@pytest.mark.slow  # clients have the channel's law, whose moments are the model's, and so are those of what is simulated
@pytest.mark.parametrize("name", NAMES)
def test_simulation_and_clients_have_the_same_moments(name: str) -> None:
    kind: Any = CATEGORICAL[name]
    mechanism = kind.design(Budget.parse("1"), categories=4)
    counts, random = np.array([60, 30, 10, 0]), dp.seeded(4)
    values = np.repeat(np.arange(4), counts)
    runs = np.repeat(np.arange(3000), len(values))
    clients = mechanism.statistics_by(mechanism.privatize(np.tile(values, 3000), random), runs, 3000).astype(float)
    drawn = np.array([mechanism.simulate(counts, random) for _ in range(3000)], dtype=float)
    spread = np.sqrt(clients.var(axis=0) / 3000)
    assert np.all(np.abs(clients.mean(axis=0) - drawn.mean(axis=0)) < 7 * np.sqrt(2) * spread)
    assert np.allclose(clients.var(axis=0), drawn.var(axis=0), rtol=0.2)
    scale = np.sqrt(np.outer(clients.var(axis=0), clients.var(axis=0)))
    assert np.allclose(np.cov(clients.T) / scale, np.cov(drawn.T) / scale, atol=0.12)


def test_forged_reports_are_refused_and_counted(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name=name):
            scheme = scheme_of(name, 8)
            mechanism = scheme.attributes["answer"].mechanism
            size = mechanism.sizes[0]
            batch = dp.privatize(scheme, {"answer": ["c1"] * 6}, random=dp.seeded(1))
            values = batch.answers["answer"].reports.values.reshape(6, size)
            values[1, -1], values[3, 0], values[4, size // 2] = 1 << 40, -1, 1 << 33
            aggregate = dp.aggregate(scheme, batch)
            assert aggregate.n == 3
            assert sum(aggregate.rejected.values()) == 3


# --- domains ------------------------------------------------------------------------------------------------------------------


def test_a_value_outside_the_domain_is_refused_or_becomes_the_declared_other(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name=name):
            labels = ["a", "b", "other"]
            strict = scheme_of(name, 3, labels=labels)
            with pytest.raises(InvalidRecord, match="not one of the scheme's categories") as caught:
                dp.privatize(strict, {"answer": ["a", "zebra"]}, random=dp.seeded(1))
            assert "zebra" not in str(caught.value)
            open_ended = scheme_of(name, 3, labels=labels, extra='outside = "other"')
            assert open_ended.attributes["answer"].encode(["a", "zebra", "other", 17, "b"]).tolist() == [0, 2, 2, 2, 1]
            assert dp.privatize(open_ended, {"answer": ["a", "zebra"]}, random=dp.seeded(1)).n == 2
            assert dp.Scheme.from_toml(open_ended.canonical).digest == open_ended.digest != strict.digest
            with pytest.raises(InvalidRecord, match="has no value"):  # an absent value is not "other"
                dp.privatize(open_ended, {"answer": ["a", None]}, random=dp.seeded(1))
            both = scheme_of(name, 3, labels=labels, extra='outside = "other"\nmissing = "category"')
            assert both.attributes["answer"].encode(["zebra", None, float("nan"), "a"]).tolist() == [2, 3, 3, 0]


def test_other_has_to_be_declared() -> None:
    with pytest.raises(SchemeError, match='needs a category named "other"'):
        scheme_of("randomized_response", 2, extra='outside = "other"')
    with pytest.raises(SchemeError, match="outside must be one of"):
        scheme_of("randomized_response", 2, extra='outside = "clip"')


def test_a_long_domain_is_not_listed_in_a_message() -> None:
    scheme = scheme_of("hadamard_response", 10_000)
    with pytest.raises(InvalidRecord, match="and 9990 more") as caught:
        dp.privatize(scheme, {"answer": ["zebra"]}, random=dp.seeded(1))
    assert len(str(caught.value)) < 300


# --- what a scheme may say ----------------------------------------------------------------------------------------------------


def test_auto_is_resolved_and_recorded() -> None:
    scheme = scheme_of("auto", 64)
    mechanism = scheme.attributes["answer"].mechanism
    assert mechanism.name in NAMES
    assert f'mechanism = "{mechanism.name}"' in scheme.canonical
    assert "auto" not in scheme.canonical
    assert dp.Scheme.from_toml(scheme.canonical).digest == scheme.digest
    assert scheme.digest == scheme_of(mechanism.name, 64).digest  # naming it is the same agreement


def test_what_a_scheme_may_not_say(subtests: pytest.Subtests) -> None:
    for name, extra, match in [
        ("local_hashing", 'design = "two_coin"', "design needs"),
        ("auto", 'variant = "symmetric"', "variant needs"),
        ("unary_encoding", 'variant = "best"', "variant"),
        ("unary_encoding", "variant = 3", "variant"),
        ("olh", "", "mechanism must be one of"),
        ("auto", "client = { categories = 3 }", "client"),
        ("local_hashing", "client = { categories = 3 }", "client"),
        ("hadamard_response", 'client = { categories = 3, weight_in = 3, weight_out = "1" }', "client"),
        (
            "hadamard_response",
            "client = { categories = 4, weight_in = 2, weight_out = 1 }",
            "client.categories must be 3",
        ),
        ("hadamard_response", "client = 3", "client"),
    ]:
        with subtests.test(name=name, extra=extra, match=match), pytest.raises(SchemeError, match=match):
            scheme_of(name, 3, extra=extra)


def test_noisy_numbers_go_with_reports_of_one_output() -> None:
    text = 'name = "x"\npairs = [["height", "side"]]\n[attributes.height]\ntype = "numeric"\nlower = 0\nupper = 1\n'
    text += "epsilon = 1\ndegree = 1\nfinest_level = 3\n"
    text += '[attributes.side]\ntype = "categorical"\ncategories = ["l", "r"]\nepsilon = 1\n'
    assert dp.Scheme.from_toml(text).pairs
    with pytest.raises(SchemeError, match="cannot be counted"):
        dp.Scheme.from_toml(text + 'mechanism = "hadamard_response"\n')
