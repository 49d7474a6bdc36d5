"""What publication reveals: bounds beside brute force, beside published figures, and the reasons not to give one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from dpcore.errors import CalibrationError, SchemeError
from dpcore.privacy.shuffling.blanket import Blanket
from dpcore.privacy.shuffling.central_epsilon import Publication, jointly, published
from dpcore.privacy.shuffling.channel import Level, level_of
from dpcore.privacy.shuffling.contrast import Contrast, TwoCategories
from dpcore.privacy.shuffling.kinds import Kinds

N, DELTA = 100_000, 1e-6
EPSILONS = (0.0, 0.2, 0.7, 1.2)


def randomized_response(categories: int, epsilon: float = 4.0) -> np.ndarray:
    heavy = int(2**16 * math.exp(epsilon))
    return np.full((categories, categories), 2**16) + (heavy - 2**16) * np.eye(categories, dtype=np.int64)


CHANNELS = {
    "two": np.array([[3, 1], [1, 3]]),
    "two, uneven": np.array([[5, 3], [1, 7]]),
    "three": np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4]]),
    "three, two of a kind": np.array([[3, 3, 1], [1, 3, 3], [3, 1, 3]]),
    "three, no symmetry": np.array([[6, 3, 1], [2, 5, 3], [2, 2, 6]]),
    "two values, three outputs": np.array([[5, 2, 1], [2, 2, 4]]),
}


Multisets = dict[tuple[int, ...], int]  # how many say each output -> its probability, in parts of what all laws share


def with_one_more(law: Multisets, row: list[int]) -> Multisets:
    """The law of how many say each output when somebody comes whose output has this law."""
    grown: Multisets = {}
    for counts, mass in law.items():
        for z, probability in enumerate(row):
            more = (*counts[:z], counts[z] + 1, *counts[z + 1 :])
            grown[more] = grown.get(more, 0) + mass * probability
    return grown


def law_of_all(rows: list[list[int]]) -> Multisets:
    """The exact law of how many of the people say each output."""
    return reduce(with_one_more, rows, {(0,) * len(rows[0]): 1})


def in_parts(laws: Iterable[Iterable[float | Fraction]]) -> tuple[list[list[int]], int]:
    """Probabilities as whole numbers of parts, and how many parts are one."""
    exact = [[Fraction(p) for p in law] for law in laws]
    parts = math.lcm(*(p.denominator for law in exact for p in law))
    return [[int(p * parts) for p in law] for law in exact], parts


def gained(one: Multisets, other: Multisets, epsilon: float, whole: int) -> Fraction:
    """The delta of one direction, term by term: what is likelier than e^epsilon times as likely."""
    factor = Fraction(math.exp(epsilon))
    total = sum(max(m * factor.denominator - factor.numerator * other[c], 0) for c, m in one.items())
    return Fraction(total, factor.denominator * whole)


def brute_force(weights: np.ndarray, reports: int, epsilon: float) -> float:
    """The largest delta over the person's two values and everything that others may hold."""
    rows, parts = in_parts([[Fraction(int(w), int(row.sum())) for w in row] for row in weights])
    worst = Fraction(0)
    for others in combinations_with_replacement(range(len(rows)), reports - 1):
        crowd = law_of_all([rows[value] for value in others]) if others else {(0,) * len(rows[0]): 1}
        laws = [with_one_more(crowd, row) for row in rows]
        worst = max(worst, *(gained(p, q, epsilon, parts**reports) for p, q in permutations(laws, 2)))
    return float(worst)


def test_bounds_hold_the_truth_of_few_reports(subtests):
    for name in CHANNELS:
        for reports in [1, 2, 5]:
            with subtests.test(name=name, reports=reports):
                level = level_of(CHANNELS[name])
                for epsilon in EPSILONS:
                    truth = brute_force(CHANNELS[name], reports, epsilon)
                    assert level.below(reports, epsilon) <= truth + 1e-15
                    assert level.above(reports, epsilon) >= truth - 1e-15


@pytest.mark.parametrize("name", ["two", "three", "three, no symmetry"])
def test_bounds_hold_the_truth_of_twelve_reports(name):
    level, truth = level_of(CHANNELS[name]), brute_force(CHANNELS[name], 12, 0.7)
    assert level.below(12, 0.7) <= truth <= level.above(12, 0.7)


def test_of_two_categories_the_law_of_counts_is_exact(subtests):
    for name in ["two", "two, uneven"]:
        for reports in [1, 2, 7, 12]:
            with subtests.test(name=name, reports=reports):
                level = level_of(CHANNELS[name])
                for epsilon in EPSILONS:
                    truth = brute_force(CHANNELS[name], reports, epsilon)
                    assert level.above(reports, epsilon) == pytest.approx(truth, rel=3e-3, abs=1e-12)


def one_among(laws: Iterable[Iterable[float]], reports: int, epsilon: float) -> float:
    """The delta of one who has the first law or the second, among others of the third."""
    (one, other, others), parts = in_parts(laws)
    crowd = law_of_all([others] * (reports - 1))
    return float(gained(with_one_more(crowd, one), with_one_more(crowd, other), epsilon, parts**reports))


def trinomial(contrast: Contrast, reports: int, epsilon: float) -> float:
    """The delta of one direction, term by term."""
    laws = [(*law, 1 - sum(law)) for law in (contrast.one, contrast.other, contrast.others)]
    return one_among(laws, reports, epsilon)


def test_a_contrast_is_the_trinomial_law(subtests):
    for share in [1.0, 0.25]:
        for laws in [((0.5, 0.25), (0.25, 0.5), (0.125, 0.125)), ((0.5, 0.125), (0.25, 0.25), (0.375, 0.25))]:
            with subtests.test(share=share, laws=laws):
                contrast = Contrast(*laws).among(share)
                for epsilon in (0.1, 0.5):
                    low, high = contrast.delta(20, epsilon)
                    assert low <= trinomial(contrast, 20, epsilon) <= high <= low * (1 + 3e-6)


KINDS = {
    "four": ((4, 4, 6, 2), (4, 2, 4, 6), (8, 4, 2, 2)),
    "five, as of three rows": ((8, 1, 3, 3, 1), (8, 3, 1, 1, 3), (8, 1, 3, 1, 3)),
    "three, uneven": ((8, 7, 1), (8, 3, 5), (10, 5, 1)),
}


def test_many_kinds_are_at_most_the_law_of_counts_and_close_to_it(subtests):
    for share in [1.0, 0.25]:
        for name in KINDS:
            with subtests.test(share=share, name=name):
                kinds = Kinds(*(tuple(w / 16 for w in law) for law in KINDS[name])).among(share)
                assert sum(kinds.others) == pytest.approx(1)  # who is not there is of the first kind
                for epsilon in EPSILONS:
                    truth = one_among((kinds.one, kinds.other, kinds.others), 12, epsilon)
                    found = kinds.below(12, epsilon)
                    assert found <= truth + 1e-15
                    assert found >= 0.97 * truth - 2e-5  # of far ends what might be folded is taken off


def test_many_kinds_of_three_are_a_contrast():
    contrast = Contrast((0.2, 0.1), (0.1, 0.2), (0.1, 0.1))
    kinds = Kinds((0.7, 0.2, 0.1), (0.7, 0.1, 0.2), (0.8, 0.1, 0.1))
    for reports, epsilon in ((1_000, 0.1), (N, 0.03), (1_000_000, 0.01)):
        low, high = contrast.delta(reports, epsilon)
        assert 0.97 * low <= kinds.below(reports, epsilon) <= high


def test_a_large_crowd_hides_least_where_all_hold_the_same(subtests):
    def information(law: np.ndarray, shares: np.ndarray) -> float:
        inverse = np.linalg.pinv(np.tensordot(shares, [np.diag(row) - np.outer(row, row) for row in law], 1))
        return max((a - b) @ inverse @ (a - b) for a in law for b in law)

    for name in CHANNELS:
        with subtests.test(name=name):
            law = CHANNELS[name] / CHANNELS[name].sum(axis=1, keepdims=True)
            alike = max(information(law, shares) for shares in np.eye(len(law)))
            for shares in np.random.default_rng(1).dirichlet(np.full(len(law), 0.5), 50):
                assert information(law, shares) <= alike * (1 + 1e-9)


def test_any_channel_at_epsilon_four():
    figure = published([Level(ratio=math.exp(4))], N, DELTA)
    assert 0.1181 < figure.epsilon <= 0.1182 < 0.119


def test_randomized_response_is_met_from_both_sides(subtests):
    for categories, exact in [(3, 0.1170), (10, 0.1099)]:
        with subtests.test(categories=categories, exact=exact):
            figure = published([level_of(randomized_response(categories))], N, DELTA)
            assert figure.low == pytest.approx(exact, abs=5e-5)
            assert figure.low < figure.epsilon < 1.001 * figure.low


def test_two_categories_have_the_exact_law():
    figure = published([level_of(randomized_response(2))], N, DELTA)
    assert figure.low == pytest.approx(0.0847, abs=5e-5)
    assert figure.low < figure.epsilon < 0.08475


def test_a_million_reports_take_less_than_a_second(subtests):
    for categories, epsilon in [(2, 1), (3, 4)]:  # the law of counts, and the bound
        with subtests.test(epsilon=epsilon, categories=categories):
            level = level_of(randomized_response(categories, epsilon))
            published([level], 100, DELTA)  # imports scipy
            begun = time.process_time()
            least = min(published([level], 1_000_000, DELTA).epsilon, float("inf"))
            assert time.process_time() - begun < 1.0
            assert least < 0.04


def test_who_is_at_a_rare_level_hides_among_those_at_it():
    fine, coarse = (Level(ratio=math.exp(2), share=share) for share in (0.05, 0.95))
    both = published([fine, coarse], N, DELTA)
    averaged = published([Level(ratio=math.exp(2))], N, DELTA, attacked=False)  # as if all hid among all
    alone = published([Level(ratio=math.exp(2))], N // 20, DELTA / 0.05, attacked=False)
    assert both.epsilon > 3 * averaged.epsilon
    assert both.epsilon == pytest.approx(alone.epsilon, rel=0.01)


def test_delta_is_the_average_of_the_levels():
    levels = [Level(ratio=math.exp(2), share=share) for share in (0.25, 0.75)]
    epsilon = published(levels, N, DELTA, attacked=False).epsilon
    mean = sum(level.share * level.above(N, epsilon) for level in levels)
    assert mean == pytest.approx(DELTA, rel=0.01)


def test_levels_that_are_alike_each_have_their_share_of_delta():
    level = Level(ratio=math.exp(2), share=0.25)
    alone = published([Level(ratio=math.exp(2))], N // 4, DELTA, attacked=False)
    assert published([level] * 4, N, DELTA, attacked=False).epsilon == pytest.approx(alone.epsilon, rel=0.01)


def test_an_attack_where_each_reports_one_of_several_sees_fewer():
    for name in ("two", "three"):
        level = level_of(CHANNELS[name])
        few, some, all_ = (level.below(n, 0.1, share) for n, share in ((250, 1.0), (1000, 0.25), (1000, 1.0)))
        assert few > 0.5 * some > 0
        assert some > 2 * all_ > 0


def test_a_crowd_of_a_share_is_a_binomial_number_of_people():
    whole = published([Level(ratio=4.0)], N, DELTA, crowd=0.1, attacked=False)
    fixed = published([Level(ratio=4.0)], N // 10, DELTA, attacked=False)
    assert whole.epsilon == pytest.approx(fixed.epsilon, rel=0.01)
    two = published([level_of(CHANNELS["two"])], N, DELTA, crowd=0.1)
    assert two.epsilon == pytest.approx(
        published([level_of(CHANNELS["two"])], N // 10, DELTA, attacked=False).epsilon, rel=0.06
    )
    assert two.epsilon > published([level_of(CHANNELS["two"])], N // 10, DELTA, attacked=False).epsilon


def test_attributes_counted_together_are_one_channel():
    one, other = level_of(CHANNELS["three"]), level_of(CHANNELS["two"])
    (both,) = jointly([[one], [other]])
    assert both.ratio == pytest.approx(one.ratio * other.ratio)
    exact = level_of(np.kron(CHANNELS["three"], CHANNELS["two"]))
    assert both.ratio == pytest.approx(exact.ratio)
    assert both.distance >= exact.distance
    figures = [published([level], N, DELTA, attacked=False).epsilon for level in (both, one)]
    assert figures[0] > figures[1]


def test_figures_of_rounds_add_up():
    figure = published([level_of(CHANNELS["three"])], N, DELTA)
    assert (figure + figure).epsilon == 2 * figure.epsilon
    assert figure.low > (figure + figure).low == 0  # what is found at one delta may not be found at two
    assert (figure + figure).delta == 2 * DELTA


def test_it_is_never_more_than_the_local_epsilon():
    assert published([Level(ratio=2.0)], 1, DELTA, attacked=False).epsilon == pytest.approx(math.log(2), rel=1e-4)
    assert published([level_of(np.ones((2, 2), dtype=int))], 10, DELTA).epsilon == 0


def test_a_certain_answer_has_no_crowd():
    with pytest.raises(CalibrationError, match="one answer can give and another cannot"):
        level_of(np.array([[1, 1, 0], [1, 1, 1]]))


def test_more_reports_tell_less_of_one():
    figures = [published([level_of(CHANNELS["three"])], n, DELTA, attacked=False).epsilon for n in (50, 500, 5_000)]
    assert figures == sorted(figures, reverse=True)


def test_it_is_refused_with_the_reason(subtests):
    for circumstance, reason in [
        ({"tokens": True}, "tokens, which link"),
        ({"memoized": True}, "remembered"),
        ({"keeps_reports": True}, "files of reports are kept"),
        ({"in_order": True}, "the order in which reports came"),
        ({"least_cell": 49}, "49 reports, fewer than 50"),
        ({"delta": 1e-6}, "Gaussian"),
    ]:
        with subtests.test(circumstance=circumstance, reason=reason):
            publication = Publication(**circumstance)
            assert len(publication.refusals) == 1
            assert reason in publication.refusals[0]
            with pytest.raises(SchemeError, match=reason):
                publication.require()


def test_nothing_is_refused_where_nothing_links():
    assert Publication(least_cell=50).refusals == ()
    Publication().require()


def test_two_categories_are_looked_for_over_what_others_hold():
    two = TwoCategories(0.75, 0.25)
    inside = max(two._bounds(19, m, m, 0.3)[1] for m in range(20))
    assert inside <= two.above(20, 0.3) <= inside * 1.003


def test_less_in_common_hides_a_person_less():
    deltas = [Blanket(4.0, 0.2, mass).delta(50, 0.1) for mass in (0.0, 0.5, 0.7, 0.8)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] > deltas[1] > deltas[2] > deltas[3]
