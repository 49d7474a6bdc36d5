"""Frequent texts: what a search finds in populations with known shares, its intervals and its false discoveries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.errors import NotEstimable
from dpcore.estimation.frequency import frequent_texts as module
from dpcore.estimation.frequency.frequent_texts import (
    Extensions,
    FrequentTexts,
    _regression,
    frequent_texts,
    visible_share,
)
from dpcore.laboratory.open_answers.study import population
from dpcore.laboratory.studies.peers.heavy_hitters import PEERS, K
from dpcore.mechanisms.categorical.text_hashing import ROWS, TextHashing
from dpcore.protocol.records.texts import TextDomain
from dpcore.protocol.simulation import counted
from tests.helpers.open_answers import LETTERS, every_text, mechanism, words_of

LICENSE = Path(__file__).parents[3] / "LICENSE"


def test_candidates_are_all_extensions_of_their_prefixes_and_have_the_buckets_of_texts() -> None:
    one = mechanism(3, 5, "1", 64)
    prefixes = np.array([[1, 2], [3, 0], [2, 2], [0, 0]])
    extensions = Extensions(prefixes, 5, 3)
    texts = extensions.take(np.arange(len(extensions)))
    every = every_text(3, 5)
    expected = {tuple(row) for row in every.tolist() if row[:2] in prefixes.tolist()}
    assert {tuple(row) for row in texts.tolist()} == expected
    assert len(texts) == len(expected)
    assert np.array_equal(prefixes[extensions.parents], texts[:, :2])
    assert extensions.siblings.tolist() == [int(np.sum(extensions.parents == parent)) for parent in extensions.parents]
    stage = one.estimation
    expected_buckets = [one.hashed(texts, row) for row in range(stage.first, stage.first + len(stage.bases))]
    assert np.array_equal(extensions.buckets(one, stage), expected_buckets)


def simulated(
    one: TextHashing, texts: np.ndarray, shares: np.ndarray, clients: int, seed: tuple[int, ...]
) -> FrequentTexts:
    counts = seeded((*seed, 0)).generator().multinomial(clients, shares)
    return frequent_texts(one, one.simulate(counted(one.cells_of(texts), counts), seeded(seed)))


def _rounds(one: TextHashing, texts: np.ndarray, shares: np.ndarray, clients: int, rounds: int) -> list[FrequentTexts]:
    return [simulated(one, texts, shares, clients, (17, r)) for r in range(rounds)]


def _words(one: TextHashing, found: FrequentTexts) -> list[str]:
    return TextDomain(LETTERS, one.length).texts_of(one.cells_of(found.texts[found.is_reported]))


def _truth(found: FrequentTexts, texts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    known = {text.tobytes(): share for text, share in zip(texts, shares.tolist(), strict=True)}
    return np.array([known.get(text.tobytes(), 0.0) for text in found.texts])


def test_estimates_have_their_stated_errors_and_intervals_cover_all_shares_at_once() -> None:
    one, texts = mechanism(), every_text(10, 4)[100:5100:5]
    shares = np.arange(1, len(texts) + 1) ** -1.2
    shares /= shares.sum()
    found = _rounds(one, texts, shares, 50_000, 60)
    truths = [_truth(result, texts, shares) for result in found]
    scores = np.concatenate([(a.shares - b) / a.errors for a, b in zip(found, truths, strict=True)])
    assert 0.9 < scores.std() < 1.1  # a scale that is 30 % off has 0.77 or 1.43
    assert abs(scores.mean()) < 0.1
    covered = [((a.low <= b) & (b <= a.high)).all() for a, b in zip(found, truths, strict=True)]
    assert np.mean(covered) >= 0.85  # 0.95 less three standard errors
    assert np.mean([result.is_reported[:3].all() for result in found]) > 0.9
    false = sum(int(np.sum(a.is_reported & (b == 0))) for a, b in zip(found, truths, strict=True))
    assert false <= 0.08 * sum(int(a.is_reported.sum()) for a in found)


def test_nothing_is_reported_where_no_text_is_frequent() -> None:
    one, texts = mechanism(), every_text(10, 4)
    found = _rounds(one, texts, np.full(len(texts), 1 / len(texts)), 50_000, 20)
    assert sum(result.is_reported.any() for result in found) <= 4  # each with probability 0.05


def test_one_text_of_everybody_is_found_alone() -> None:
    one, texts = mechanism(26, 8, buckets=1024), words_of(["same"], 8)
    [found] = _rounds(one, texts, np.ones(1), 50_000, 1)
    assert _words(one, found) == ["same"]
    assert found.shares[0] == pytest.approx(1, abs=4 * found.errors[0])
    assert not found.low[1:].any()


@pytest.mark.parametrize(("symbols", "length", "rounds", "stated"), [(10, 4, 60, 0.8), (3, 20, 20, 0.7)])
def test_a_text_of_the_visible_share_is_found_in_most_rounds(
    symbols: int, length: int, rounds: int, stated: float
) -> None:
    """Each round has other texts: which of them share a bucket with the one that is sought differs."""
    one = mechanism(symbols, length)
    share, reported = visible_share(one, 50_000), []
    for number in range(rounds):
        texts = seeded(number).generator().integers(1, symbols + 1, (2000, length))
        shares = np.append(share, np.full(len(texts) - 1, (1 - share) / (len(texts) - 1)))
        found = simulated(one, texts, shares, 50_000, (18, number))
        reported.append(bool(np.any(found.is_reported & (found.texts == texts[0]).all(axis=1))))
    assert abs(np.mean(reported) - stated) < 3 * np.sqrt(stated * (1 - stated) / rounds)


def test_the_visible_share_accounts_for_few_supports() -> None:
    """With 375 reports on whole texts and epsilon 4 a bucket has about seven; a normal test found a text in half the rounds."""
    one, clients = mechanism(buckets=1024), 1_500
    share, reported = visible_share(one, clients), []
    for number in range(30):
        texts = np.unique(seeded(number).generator().integers(1, 11, (1500, 4)), axis=0)
        shares = np.append(share, np.full(len(texts) - 1, (1 - share) / (len(texts) - 1)))
        texts = seeded((number, 1)).generator().permutation(texts)
        found = simulated(one, texts, shares, clients, (19, number))
        reported.append(bool(np.any(found.is_reported & (found.texts == texts[0]).all(axis=1))))
    assert 0.55 < np.mean(reported) < 1  # three standard errors below 0.8


def test_more_clients_see_smaller_shares_and_nobody_sees_none() -> None:
    one = mechanism()
    shares = [visible_share(one, clients) for clients in (10, 10_000, 1_000_000, 10**9)]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert visible_share(one, 10_000, 0.95) > shares[1]


def test_several_stages_find_texts_with_one_long_prefix() -> None:
    one = mechanism(3, 20)
    assert len(one.stages) > 2
    texts = np.concatenate([np.full((200, 10), 2), seeded(4).generator().integers(1, 4, (200, 10))], axis=1)
    shares = np.arange(1, len(texts) + 1) ** -1.3
    shares /= shares.sum()
    for found in _rounds(one, texts, shares, 200_000, 4):
        truth = _truth(found, texts, shares)
        assert set(np.sort(shares)[-5:]) <= set(truth[found.is_reported])
        assert ((found.low <= truth) & (truth <= found.high)).all()
        assert np.sum(truth[found.is_reported] == 0) <= 2


def test_shares_of_texts_that_share_buckets_are_solved_for() -> None:
    one = mechanism(buckets=16)
    rows = len(one.estimation.bases)
    buckets = np.zeros((rows, 5), dtype=np.int16)
    buckets[: rows // 2] = np.array([1, 1, 2, 2, 3])[None]
    buckets[rows // 2 :] = np.array([1, 2, 1, 2, 3])[None]  # the first four: the sum of two is that of the other two
    shares = np.array([0.3, 0.0, 0.0, 0.2, 0.1])
    table = np.full((ROWS, 16), (1 - shares.sum()) / 16)
    for row, places in zip(table[one.estimation.rows], buckets, strict=True):
        np.add.at(row, places, shares)
    clients = np.full(ROWS, 10**6)
    only, _, _ = _regression(one, table, clients, one.estimation, buckets[:, [0, 3, 4]], 3.0)
    assert only == pytest.approx(shares[[0, 3, 4]], abs=1e-9)
    everyone, errors, _ = _regression(one, table, clients, one.estimation, buckets, 3.0)
    assert everyone[4] == pytest.approx(0.1, abs=1e-9)
    assert abs(everyone[:4]).max() < 0.4
    assert np.isfinite(errors).all()


def test_a_frequent_text_that_the_search_misses_makes_no_other_text_significant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, texts = mechanism(), every_text(10, 4)
    candidates = texts[5000:6000]
    monkeypatch.setattr(module, "_searched", lambda *_: (candidates, np.zeros(len(candidates))))
    found = simulated(one, texts[:1], np.ones(1), 50_000, (6,))
    assert found.is_reported.sum() <= 2


@pytest.mark.slow
def test_frequent_words_of_a_real_text_are_found_within_intervals_of_the_truth() -> None:
    words = [word for word in LICENSE.read_text("utf-8").lower().split() if word.isascii() and word.isalpha()]
    words = [word[:12] for word in words]
    names, counts = np.unique(words, return_counts=True)
    texts, shares = words_of(names.tolist(), 12), counts / counts.sum()
    one = mechanism(26, 12, "2", 1024)
    clients = texts[seeded(2).generator().choice(len(texts), 300_000, p=shares)]
    found = frequent_texts(one, one.statistics(one.privatize(one.cells_of(clients), seeded(3))))
    truth = _truth(found, texts, shares)
    assert ((found.low <= truth) & (truth <= found.high)).all()
    frequent = names[np.argsort(-counts)][:4].tolist()
    assert set(frequent) <= set(_words(one, found))


@pytest.mark.slow
def test_more_of_the_most_frequent_texts_are_found_than_by_three_papers() -> None:
    texts, shares = population(1.3, 8)
    one, clients = mechanism(26, 8, "4", 1024), 100_000
    found = [_truth(result, texts, shares)[result.is_reported] for result in _rounds(one, texts, shares, clients, 4)]
    ours = np.mean([np.sum(one >= shares[K - 1]) for one in found])
    for name in ("pem", "sfp", "tree_hist"):
        theirs = [PEERS[name](texts, shares, clients, 4.0, np.random.default_rng(seed)) for seed in range(4)]
        assert ours > np.mean([np.sum(numbers < K) for numbers in theirs]), name


def test_each_paper_finds_the_frequent_texts_where_noise_is_small() -> None:
    texts, shares = population(1.5, 8)
    for name, peer in PEERS.items():
        found = peer(texts, shares, 10**9, 8.0, np.random.default_rng(1))
        assert set(range(10)) <= set(found.tolist()), name


def test_every_row_needs_reports() -> None:
    with pytest.raises(NotEstimable, match="needs about 1,000 reports, and there are 0"):
        frequent_texts(mechanism(), np.zeros(ROWS * 129, dtype=np.int64))
