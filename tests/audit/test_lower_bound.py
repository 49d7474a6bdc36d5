"""The black-box audit: bounds below epsilon for honest clients and near it, above it for every planted bug."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

from dpcore._random import Source, seeded
from dpcore.audit.attacks.lower_bound import clopper_pearson, lower_bound, lowest_bits
from dpcore.audit.mechanisms.base import Pair, hard_pairs, log_ratio
from dpcore.errors import SchemeError
from dpcore.mechanisms import (
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.budget import Budget
from tests.helpers.cases import of_each_kind, some_by_day
from tests.helpers.planted import even_noise, float_laplace, half_scale, known_seed, planted, releasing

ORACLES = (RandomizedResponse, UnaryEncoding, SubsetSelection, HadamardResponse, LocalHashing)
ONE = Budget.parse("1")
ANSWERS = RandomizedResponse.design(ONE, categories=5)
WAVE = DyadicWave.design(ONE)
NOISE = WaveletLaplace.design(ONE, degree=2, finest_level=3, cells=128)
GAUSSIAN = WaveletLaplace.design(
    ONE, degree=1, finest_level=2, cells=64, noise="discrete_gaussian", delta=Fraction(1, 1000)
)
TRIALS = 12_000


def finite(epsilon: str) -> list[Mechanism]:
    budget = Budget.parse(epsilon)
    return [
        *(kind.design(budget, categories=6) for kind in ORACLES),
        SquareWave.design(budget),
        DyadicWave.design(budget),
    ]


@pytest.mark.parametrize(
    "mechanism",
    of_each_kind([*finite("1"), NOISE, GAUSSIAN], finite("1")[0], WAVE, NOISE, GAUSSIAN),
    ids=lambda mechanism: mechanism.name,
)
def test_an_honest_client_shows_less_than_epsilon_and_not_much_less(mechanism: Mechanism) -> None:
    found = lower_bound(mechanism, seeded(1), trials=TRIALS)
    assert (0.1 if mechanism is GAUSSIAN else 0.75) < found.epsilon < 1
    assert found.hits[0] > found.hits[1]
    assert 0.9 * TRIALS < found.trials <= TRIALS


@pytest.mark.parametrize(
    "mechanism",
    [
        releasing(ANSWERS, 0.1),
        releasing(NOISE, 0.01),
        half_scale(NOISE),
        float_laplace(NOISE),
        even_noise(NOISE),
        known_seed(WAVE),
        known_seed(ANSWERS),
        pytest.param(known_seed(NOISE), marks=pytest.mark.slow),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_planted_bug_shows_more_than_epsilon(mechanism: Mechanism) -> None:
    assert mechanism.certificate().holds  # it believes in itself
    found = lower_bound(mechanism, seeded(2), trials=TRIALS)
    assert found.epsilon > 1.05


def test_what_the_second_value_alone_gives_away_is_found() -> None:
    class Telling(UnaryEncoding):
        """Of those who have the last category some say yes to all."""

        def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
            said = super().privatize(values, random)
            tells = (values == self.categories - 1) & (random.words(len(values)) < 1 << 28)
            return Reports(said.level, np.where(tells, (1 << self.categories) - 1, said.values))

    honest = UnaryEncoding.design(ONE, categories=6)
    found = lower_bound(planted(honest, Telling), seeded(2), trials=TRIALS)
    assert found.epsilon > 2
    assert found.values == (5, 0)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", some_by_day(["0.5", "1", "4"], "1"))
def test_a_million_trials_find_nineteen_twentieths_of_a_finite_channel_s_epsilon(epsilon: str) -> None:
    for mechanism in finite(epsilon):
        found = lower_bound(mechanism, seeded(3), trials=1_000_000)
        assert 0.95 * float(epsilon) <= found.epsilon < float(epsilon), (mechanism.name, found)


@pytest.mark.slow
def test_a_bound_of_half_confidence_is_none_less_often_than_it_may() -> None:
    """Bounds of the very event whose ratio is e^epsilon; one event in two may have a bound that is none."""
    inside, outside = ANSWERS.truth_probability, ANSWERS.other_probability
    assert math.isclose(inside / outside, math.e, rel_tol=1e-4)
    generator = np.random.default_rng(4)
    for confidence in (0.5, 0.9, 0.99):
        hits, others = (generator.binomial(2000, float(p), 20_000) for p in (inside, outside))
        false = np.mean(clopper_pearson(hits, others, 2000, confidence=confidence) > math.log(inside / outside))
        assert false <= 1 - confidence
    assert all(lower_bound(ANSWERS, seeded(seed), trials=1000).epsilon <= 1 for seed in range(60))


def test_ends_are_those_of_the_exact_intervals() -> None:
    grid = np.linspace(0, 1, 20_001)
    for hits, others in ((50, 3), (100, 0), (7, 7), (0, 0), (100, 100)):
        bound = float(clopper_pearson(np.array(hits), np.array(others), 100, confidence=0.9))
        if bound == 0:
            assert hits <= 2 * others or hits == others
            continue
        low, high = grid[bdtrc(hits - 1, 100, grid) >= 0.05][0], grid[bdtr(others, 100, grid) >= 0.05][-1]
        assert bound == pytest.approx(math.log(low / high), abs=0.01)
    assert float(clopper_pearson(np.array(50), np.array(3), 100, confidence=0.9, delta=0.6)) == 0


def test_the_likelihood_ratio_is_that_of_the_channel(subtests: pytest.Subtests) -> None:
    for mechanism in [*finite("1"), NOISE, GAUSSIAN]:
        with subtests.test(mechanism=mechanism):
            for pair in hard_pairs(mechanism)[:2]:
                levels = None if pair.level is None else np.full(50, pair.level, dtype=np.uint8)
                reports = mechanism.privatize(np.full(50, pair.first), seeded(5), levels)
                found = log_ratio(mechanism, reports, pair)
                assert np.array_equal(found, -log_ratio(mechanism, reports, Pair(pair.second, pair.first, pair.level)))
                assert mechanism is GAUSSIAN or np.abs(found).max() <= 1 + 1e-9
                channel = mechanism.channel()
                if channel is not None and mechanism.sizes[0] == 1 and not isinstance(mechanism, HadamardResponse):
                    chosen = [
                        channel[level][[pair.first, pair.second], value]
                        for level, value in zip(reports.level, reports.values, strict=True)
                    ]
                    if not isinstance(mechanism, UnaryEncoding):
                        assert found == pytest.approx([math.log(first / second) for first, second in chosen])


def test_windows_of_the_pair_are_disjoint_at_every_level(subtests: pytest.Subtests) -> None:
    for epsilon in ["1", "2", "6"]:
        with subtests.test(epsilon=epsilon):
            mechanism = DyadicWave.design(Budget.parse(epsilon))
            (pair,) = hard_pairs(mechanism)
            for weights in mechanism.channel() or ():
                assert not np.any((weights[pair.first] == weights.max()) & (weights[pair.second] == weights.max()))


def test_lowest_bits_are_those_of_the_binary_digits() -> None:
    values = np.array([1, -6, 2.0**40, 0.1, 0.0, 2.0**-80, 5e-300, 1e300])
    expected = [91, 92, 127, 91 - 55, 0, 11, 1, 127]
    assert lowest_bits(values).tolist() == expected


def test_too_few_trials_are_refused() -> None:
    with pytest.raises(SchemeError, match="trials"):
        lower_bound(ANSWERS, seeded(1), trials=999)


def test_a_report_of_neither_value_has_no_log_ratio() -> None:
    assert log_ratio(ANSWERS, Reports(np.zeros(1, np.uint8), np.array([2])), Pair(0, 4)).tolist() == [0.0]
