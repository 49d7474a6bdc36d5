"""Text hashing: the client's draws by enumeration, its statistics, and its refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.mechanisms.categorical.text_hashing import ROWS, TextHashing, polynomials
from dpcore.privacy.budget import Budget
from dpcore.protocol.simulation import counted
from tests.helpers.enumeration import largest_ratio
from tests.helpers.open_answers import every_text, mechanism, words_of

BIG = mechanism(26, 8, buckets=1024)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_no_two_texts_have_reports_whose_probabilities_differ_by_more_than_promised(epsilon: str) -> None:
    small = mechanism(2, 3, epsilon, 5)
    channel = small.oracle.channel()
    assert channel is not None
    texts = every_text(2, 3)
    for row in range(ROWS):
        weights = channel[0][small.hashed(texts, row)]
        assert largest_ratio(weights) <= small.budget.ratio_floor
    assert small.certificate().holds


def test_the_row_and_the_public_hash_of_a_report_do_not_depend_on_the_text() -> None:
    texts = words_of(["a"] * 5000, 8), words_of(["zbcdefgh"] * 5000, 8)
    one, other = (BIG.privatize(BIG.cells_of(text), seeded(3)) for text in texts)
    assert np.array_equal(one.level, other.level)
    assert np.array_equal(one.values.reshape(-1, 3)[:, :2], other.values.reshape(-1, 3)[:, :2])
    assert len(one.values) == len(other.values) == 3 * 5000
    counts = np.bincount(one.level, minlength=ROWS)
    assert (
        (counts - 5000 / ROWS) ** 2 / (5000 / ROWS)
    ).sum() < 120  # chi-squared with 63 degrees of freedom: 1 in 10^5


@pytest.mark.parametrize("text", ["", "a", "abcdefgh"])
def test_reports_support_the_true_bucket_as_often_as_the_weights_state(text: str) -> None:
    one, n = mechanism(26, 8, "1", 1024), 200_000
    texts = words_of([text] * n, 8)
    reports = one.privatize(one.cells_of(texts), seeded(5))
    slope, shift, reported = reports.values.reshape(-1, 3).T
    buckets = np.array([one.hashed(texts[:1], row)[0] for row in range(ROWS)])[reports.level]
    share = np.mean(one.oracle.hash(slope, shift, buckets) == reported)
    truth = float(one.oracle.truth_probability)
    assert abs(share - truth) < 5 * np.sqrt(truth * (1 - truth) / n)


def test_rows_have_different_hash_functions_that_rarely_map_two_texts_to_one_bucket() -> None:
    one = BIG
    bases = [base for stage in (*one.stages, one.estimation) for base in stage.bases]
    assert len(set(bases)) == len(bases) == ROWS
    texts = words_of(["aaaaaaaa", "aaaaaaab", "aaaaaaba", "baaaaaaa", *map("".join, product("cdefgh", repeat=4))], 8)
    table = np.array([one.hashed(texts, row) for row in range(one.estimation.first, ROWS)])
    same = table[:, :, None] == table[:, None, :]
    pairs = len(texts) * (len(texts) - 1) / 2
    shared = np.triu(same, 1).sum(axis=(1, 2)) / pairs
    assert shared.mean() == pytest.approx(1 / one.oracle.categories, rel=0.1)


def test_a_hash_value_is_a_polynomial_in_the_base() -> None:
    assert polynomials(np.array([[3, 0, 2]]), 7).tolist() == [(4 * 7**3 + 1 * 7**2 + 3 * 7)]


def test_statistics_are_sums_of_the_supports_of_single_reports() -> None:
    one, texts = mechanism(buckets=16), every_text(10, 4)[::40]
    reports = one.privatize(one.cells_of(texts), seeded(1))
    clients, tables = one.model().split(one.statistics(reports))
    scores = one.oracle.scores(replace(reports, level=np.zeros_like(reports.level)))
    expected = np.zeros_like(tables)
    np.add.at(expected, reports.level, scores)
    assert np.array_equal(tables, expected)
    assert np.array_equal(clients, np.bincount(reports.level, minlength=ROWS))


def test_simulated_statistics_have_the_distribution_of_clients() -> None:
    one, shares = mechanism(buckets=16, epsilon="1"), np.array([0.5, 0.3, 0.2])
    texts, n = every_text(10, 4)[[1, 40, 900]], 60_000
    drawn = seeded(8).generator().choice(3, n, p=shares)
    cells = one.cells_of(texts)
    whole = counted(cells, (n * shares).round().astype(np.int64))
    sums = [one.statistics(one.privatize(cells[drawn], seeded(9))), one.simulate(whole, seeded(10))]
    shown, simulated = (tables / clients[:, None] for clients, tables in map(one.model().split, sums))
    error = np.sqrt(2 * 0.25 / (n / ROWS))
    assert abs(shown - simulated).max() < 5 * error
    assert np.mean((shown - simulated) ** 2) < 1.1 * error**2


def test_texts_and_parameters_that_do_not_fit_are_refused() -> None:
    one = mechanism()
    for strange in ([[0, 1, 0, 0]], [[11, 0, 0, 0]], [[1, 0, 2, 0]]):
        with pytest.raises(InvalidRecord, match=r"texts must be 4 bytes 0\.\.10"):
            one.privatize(one.cells_of(np.array(strange)), seeded(1))
    with pytest.raises(SchemeError, match="has 23 stages, too many for its 48 rows"):
        mechanism(255, 24)
    stated = dict(one.parameters())
    assert TextHashing.from_parameters(one.budget, stated) == one
    for key, value in (
        ("lengths", [1] * ROWS),
        ("lengths", [4] * 63),
        ("bases", [2] * ROWS),
        ("bases", [1, *range(3, 66)]),
    ):
        with pytest.raises(SchemeError, match=f"{key} must be 64"):
            TextHashing.from_parameters(one.budget, stated | {key: value})
    for key, value in (("weight_in", stated["weight_in"] + 2**16), ("symbols", 0), ("length", 25), ("prime", 128)):
        with pytest.raises(SchemeError):
            TextHashing.from_parameters(Budget.parse("4"), stated | {key: value})
