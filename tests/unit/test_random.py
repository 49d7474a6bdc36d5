from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import Source, keyed, secure, seeded


class Scripted(Source):
    """Words written by the test."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def words(self, count: int) -> np.ndarray:
        taken, self._words = self._words[:count], self._words[count:]
        return np.array(taken, dtype=np.uint32)

    def generator(self) -> np.random.Generator:
        raise NotImplementedError

    def spawn(self, *key: int) -> Source:
        return self


def test_words_past_the_last_whole_multiple_are_drawn_again() -> None:
    # 2^32 mod 3 = 1: only the last word is rejected
    assert Scripted(2**32 - 1, 7).below(3, 1).tolist() == [1]
    assert Scripted(2**32 - 2).below(3, 1).tolist() == [(2**32 - 2) % 3]
    assert Scripted(2**32 - 1).below(2**32, 1).tolist() == [2**32 - 1]


@pytest.mark.parametrize("bound", [0, 2**32 + 1])
def test_bounds_outside_32_bits_are_refused(bound: int) -> None:
    with pytest.raises(ValueError, match="bound"):
        seeded(1).below(bound, 1)


def test_seeded_streams_are_named_by_their_key_alone() -> None:
    root = seeded(5)
    first = root.spawn(1, 2).words(8)
    root.words(100)
    root.spawn(9)
    assert np.array_equal(root.spawn(1, 2).words(8), first)
    assert np.array_equal(root.spawn(1).spawn(2).words(8), first)
    assert not np.array_equal(root.spawn(2, 1).words(8), first)


def test_seeded_words_are_numpys_whatever_the_pieces() -> None:
    """Frozen: the words of a seed are those of numpy's generator, one 32-bit draw after the other."""
    numpys = np.random.Generator(np.random.SFC64(np.random.SeedSequence(7)))
    source = seeded(7)
    for count in (1, 5000, 5001, 3, 4999, 0, 5000, 1, 4096):
        assert np.array_equal(source.words(count), numpys.integers(0, 1 << 32, size=count, dtype=np.uint32))
        assert source.generator().integers(10) == numpys.integers(10)  # which takes half a draw


@pytest.mark.parametrize("bound", [1, 2, 3, 1000, 1 << 16, (1 << 31) + 1, (1 << 32) - 1, 1 << 32])
def test_numbers_below_a_bound_are_words_modulo_it_and_late_ones_are_drawn_again(bound: int) -> None:
    count, limit = 70_001, (1 << 32) - (1 << 32) % bound
    words = seeded(3)
    drawn = words.words(count).astype(np.int64)
    late = np.flatnonzero(drawn >= limit)
    while late.size:
        drawn[late] = words.words(late.size)
        late = late[drawn[late] >= limit]
    residues = seeded(3).residues(bound, count)
    assert residues.dtype == np.uint32
    assert np.array_equal(residues, drawn % bound)
    assert np.array_equal(seeded(3).below(bound, count), residues)


def test_keyed_streams_do_not_depend_on_how_they_are_read() -> None:
    key = bytes(range(16))
    whole = keyed(key, "a", "b").words(40)
    source = keyed(key, "a", "b")
    assert np.array_equal(np.concatenate([source.words(3), source.words(37)]), whole)
    assert not np.array_equal(keyed(key, "ab").words(40), whole)
    with pytest.raises(ValueError, match="16 bytes"):
        keyed(b"short")


def test_secure_words_differ_and_cover_the_range() -> None:
    words = secure().words(4096)
    assert words.dtype == np.dtype("<u4")
    assert len(np.unique(words)) > 4090
    assert words.max() > 2**31 > words.min()
    assert secure().is_secure
    assert not seeded(1).is_secure
