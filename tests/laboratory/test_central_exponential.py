"""The exponential mechanism: exact privacy of its instances, its draws, its utility, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, sqrt

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.laboratory.central.densities.distances import kolmogorov_smirnov
from dpcore.laboratory.central.densities.orthogonal_series import distance_sensitivity
from dpcore.laboratory.central.densities.releases import series_estimate
from dpcore.laboratory.central.exponential import integer_weights
from dpcore.laboratory.central.exponential.approximate_exponential import (
    ApproximateExponential,
    kolmogorov_smirnov_loss,
    series_loss,
)
from dpcore.laboratory.central.exponential.exponential_mechanism import ExponentialMechanism, on_lattice
from dpcore.laboratory.central.exponential.integer_weights import largest_ratio
from dpcore.laboratory.central.exponential.released_samples import (
    LatticeSamples,
    kolmogorov_smirnov_mechanism,
    kolmogorov_smirnov_size,
    orthogonal_series_mechanism,
    orthogonal_series_size,
    series_terms,
)
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import law_agrees

ONE = Budget.parse(1)


def databases(n: int, bins: int, dimension: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of neighbours on the midpoints of cubes, records in order: the rest a multiset, the last two any."""
    cells = list(product(range(bins), repeat=dimension))
    rests = {tuple(sorted(rest)) for rest in product(cells, repeat=n - 1)}
    return [
        tuple((np.array([*rest, last]) + 0.5) / bins for last in pair)
        for rest in sorted(rests)
        for pair in product(cells, repeat=2)
        if pair[0] < pair[1]
    ]


@pytest.mark.parametrize(("bins", "size", "dimension"), [(4, 2, 1), (3, 3, 1), (2, 2, 2)])
@pytest.mark.parametrize("epsilon", ["1", "ln 3"])
def test_samples_by_kolmogorov_smirnov_distance_are_private(bins: int, size: int, dimension: int, epsilon: str) -> None:
    budget = Budget.parse(epsilon)
    mechanism = kolmogorov_smirnov_mechanism(budget, bins=bins, size=size, dimension=dimension)
    worst, moved = Fraction(1), 0
    for x, y in databases(3, bins, dimension):
        ratio = largest_ratio(mechanism.law(x), mechanism.law(y))
        assert ratio is not None
        worst = max(worst, ratio)
        moved = max(moved, int(np.abs(mechanism.losses(x) - mechanism.losses(y)).max()))
    assert moved == mechanism.sensitivity == size
    assert 1 < worst <= mechanism.certificate().kept <= budget.ratio_floor


def test_a_sensitivity_stated_too_small_breaks_the_promise() -> None:
    right = kolmogorov_smirnov_mechanism(ONE, bins=4, size=3)
    wrong = ExponentialMechanism(ONE, right.loss, 1, right.candidates, right.measure)
    ratios = [largest_ratio(wrong.law(x), wrong.law(y)) for x, y in databases(3, 4)]
    assert max(ratio for ratio in ratios if ratio) > ONE.ratio_floor


def test_losses_are_kolmogorov_smirnov_distances() -> None:
    mechanism = kolmogorov_smirnov_mechanism(ONE, bins=4, size=3)
    x = np.array([0.1, 0.3, 0.35, 0.8, 0.9])
    rounded = (np.floor(x * 4) + 0.5) / 4
    wanted = [
        15 * kolmogorov_smirnov(rounded, mechanism.candidates[i].points) for i in range(len(mechanism.candidates))
    ]
    assert np.allclose(mechanism.losses(x), wanted)


@pytest.mark.parametrize("size", [1, 3])
def test_samples_by_distance_of_series_are_private(size: int) -> None:
    mechanism = orthogonal_series_mechanism(ONE, 3, bins=4, size=size)
    worst, moved = Fraction(1), 0
    for x, y in databases(3, 4):
        ratio = largest_ratio(mechanism.law(x), mechanism.law(y))
        assert ratio is not None
        worst = max(worst, ratio)
        moved = max(moved, int(np.abs(mechanism.losses(x) - mechanism.losses(y)).max()))
    assert moved <= mechanism.sensitivity
    assert 1 < worst <= mechanism.certificate().kept <= ONE.ratio_floor


def test_lemma_13_is_loose_and_its_dropped_factor_leaves_no_proof_at_one_term() -> None:
    """The printed density exp(-epsilon xi / Delta), Delta = 2 c0^2 m / n, is proved private iff Delta is twice the true one."""
    for terms in (1, 2, 3, 5, 20, 50):
        true, reverse_triangle, printed = distance_sensitivity(terms), 2 * sqrt(2 * terms), 4 * terms  # times n
        assert true <= reverse_triangle + 1e-3 <= printed + 1e-3
        assert (printed >= 2 * reverse_triangle) == (sqrt(2 * terms) >= 2)  # iff c0 sqrt(m) >= 2
        proved = 2 * true / printed  # of epsilon, for the printed density
        assert (proved > 1) == (terms == 1)
        assert 2 * true / (2 * reverse_triangle) <= 1 + 1e-3  # ours


def test_the_utility_bound_holds_in_every_database() -> None:
    mechanism = kolmogorov_smirnov_mechanism(Budget.parse(4), bins=4, size=2)
    flat = ExponentialMechanism(mechanism.budget, mechanism.loss, mechanism.sensitivity, mechanism.candidates)
    for x, _ in databases(3, 4):
        losses, law = flat.losses(x), np.array([float(p) for p in flat.law(x)])
        for shortfall in range(1, 7):
            assert law[losses >= losses.min() + shortfall].sum() <= flat.utility_bound(shortfall) + 1e-12


def test_draws_follow_the_law() -> None:
    mechanism = kolmogorov_smirnov_mechanism(Budget.parse(6), bins=4, size=3)
    x = np.array([0.1, 0.3, 0.35, 0.8, 0.9])
    counts = np.bincount(mechanism.draw(x, 10_000, seeded(5)), minlength=len(mechanism.candidates))
    law = np.array([float(p) for p in mechanism.law(x)])
    assert law_agrees(counts, law)
    assert not law_agrees(counts, law**1.3)
    assert mechanism.release(x, seeded(1)).points.shape == (3, 1)


def test_draws_are_from_whole_masses_beyond_a_floats_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def draw(weights: list[int], size: int, random: object) -> np.ndarray:
        seen.append(list(weights))
        return np.zeros(size, dtype=np.int64)

    measure = np.array([2**53, 1, 5])
    mechanism = ExponentialMechanism(ONE, lambda _: np.array([0, 0, 1]), 1, range(3), measure)
    measure[:] = -1  # the mechanism keeps its own
    monkeypatch.setattr(integer_weights, "draw", draw)
    mechanism.draw(None, 1, seeded(1))
    assert Fraction(*seen[0]) == (2**53 + 1) / (5 * mechanism.ratio)
    assert seen[1] == [2**53, 1]


def test_integer_draws_follow_weights_beyond_a_word() -> None:
    weights = [5 << 90, 3 << 90, 2 << 90]
    counts = np.bincount(integer_weights.draw(weights, 5000, seeded(1)), minlength=3)
    assert law_agrees(counts, np.array([5.0, 3.0, 2.0]))
    assert not law_agrees(counts, np.array([5.0, 3.0, 3.0]))


@pytest.mark.parametrize("divisor", [1, 2, 7, 1000])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "ln 3", "0.5 + ln 2"])
def test_the_rational_stays_above_the_exponential_and_near_it(epsilon: str, divisor: int) -> None:
    budget = Budget.parse(epsilon)
    q = integer_weights.ratio_above(budget, divisor)
    assert q**-divisor <= budget.ratio_floor
    assert 1 - q >= Fraction(1 - exp(-float(budget) / divisor)) * Fraction(999, 1000)


def test_real_losses_become_whole_ones_of_the_stated_sensitivity() -> None:
    x = np.random.default_rng(2).uniform(0, 3, 1000)
    moved = x + np.random.default_rng(3).uniform(-0.25, 0.25, 1000)
    assert np.abs(on_lattice(x, 0.25, 8) - on_lattice(moved, 0.25, 8)).max() <= 8


def test_multisets_count_all_ordered_samples() -> None:
    samples = LatticeSamples(3, 4)
    assert samples.multiplicities.sum() == 3**4
    assert (samples.counts.sum(axis=1) == 4).all()
    assert len({tuple(row) for row in samples.counts.tolist()}) == len(samples) == 15


def test_what_cannot_be_gone_through_is_refused() -> None:
    with pytest.raises(SchemeError, match="the approximate mechanism"):
        kolmogorov_smirnov_mechanism(ONE, bins=64, size=10)
    with pytest.raises(SchemeError, match="at least one candidate"):
        ExponentialMechanism(ONE, lambda _: np.array([], dtype=int), 1, [])
    for measure in ([1], [-1, 2], [0, 1], [0.5, 0.5], [2**62, 2**62]):
        with pytest.raises(SchemeError, match="measure must be 2 whole numbers"):
            ExponentialMechanism(ONE, lambda _: np.array([0, 1]), 1, "ab", np.array(measure))
    for mechanism in (
        kolmogorov_smirnov_mechanism(ONE, bins=3, size=2),
        orthogonal_series_mechanism(ONE, 3, bins=3, size=2),
    ):
        with pytest.raises((InvalidRecord, SchemeError), match=r"at least one record|made for 3 records"):
            mechanism.release(np.array([]), seeded(1))
    with pytest.raises(SchemeError, match="n must be"):
        orthogonal_series_mechanism(ONE, 0, bins=3, size=2)


def test_sizes_are_the_documents() -> None:
    assert kolmogorov_smirnov_size(8000, 1.0, 1.0) / kolmogorov_smirnov_size(1000, 1.0, 1.0) == pytest.approx(
        4, rel=0.02
    )
    assert kolmogorov_smirnov_size(1000, 8.0, 2.0) == pytest.approx(kolmogorov_smirnov_size(1000, 4.0, 1.0), abs=1)
    assert orthogonal_series_size(10_000) == 100
    assert series_terms(3**5, 2.0) == 3


def test_the_approximate_mechanism_makes_no_claim() -> None:
    chain = ApproximateExponential(1.0, kolmogorov_smirnov_loss, 1 / 50, 3, 20)
    assert chain.is_approximate
    assert not hasattr(chain, "certificate")
    assert "no privacy is claimed" in chain.release(np.linspace(0.1, 0.9, 50), seeded(1)).remark


def test_approximate_losses_are_those_of_their_definitions() -> None:
    records, z = np.sort(np.random.default_rng(1).random(30)), np.random.default_rng(2).random((3, 5))
    wanted = [kolmogorov_smirnov(records, row) for row in z]
    assert np.allclose(kolmogorov_smirnov_loss(records)(z), wanted)
    x = (np.arange(4000) + 0.5) / 4000
    series = [series_estimate(records, 4).series(x) - series_estimate(row, 2).series(x) for row in z]
    assert np.allclose(series_loss(records, 4, 2)(z), [sqrt((each**2).mean()) for each in series], atol=1e-6)
    chosen = ApproximateExponential.for_orthogonal_series(1.0, 400, order=2.0, sweeps=1)
    assert chosen.size == 20
    assert chosen.sensitivity == distance_sensitivity(series_terms(400, 2.0)) / 400
