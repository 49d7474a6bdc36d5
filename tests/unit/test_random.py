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
