from __future__ import annotations

import os
import pickle
from copy import deepcopy

import numpy as np
import pytest

from dpcore import _random
from dpcore._random import Source, keyed, secure, seeded
from tests.helpers.statistical import law_agrees
from tests.helpers.tapes import Given


def test_words_past_the_last_whole_multiple_are_drawn_again() -> None:
    # 2^32 mod 3 = 1: only the last word is rejected
    assert Given([2**32 - 1, 7]).below(3, 1).tolist() == [1]
    assert Given([2**32 - 2]).below(3, 1).tolist() == [(2**32 - 2) % 3]
    assert Given([2**32 - 1]).below(2**32, 1).tolist() == [2**32 - 1]


def test_bounds_beyond_a_word_take_two_and_late_ones_are_drawn_again() -> None:
    bound = 3**35  # 5 % of all pairs of words lie beyond the last multiple
    last = (1 << 64) // bound * bound
    pairs = [[last >> 32, last & 0xFFFFFFFF], [(last - 1) >> 32, (last - 1) & 0xFFFFFFFF], [0, 1]]
    assert Given([word for pair in pairs for word in pair]).below(bound, 1).tolist() == [bound - 1]
    assert Given([5, 6]).below(bound, 1).tolist() == [(5 * 2**32 + 6) % bound]


def test_bounds_outside_62_bits_are_refused(subtests: pytest.Subtests) -> None:
    for bound in [0, 2**62 + 1]:
        with subtests.test(bound=bound), pytest.raises(ValueError, match="bound"):
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


def test_numbers_below_a_bound_are_words_modulo_it_and_late_ones_are_drawn_again(subtests: pytest.Subtests) -> None:
    for bound in [1, 2, 3, 1000, 1 << 16, (1 << 31) + 1, (1 << 32) - 1, 1 << 32]:
        with subtests.test(bound=bound):
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


def test_a_keyed_stream_never_begins_anew() -> None:
    """A long report asks for 1,252 blocks of its hash."""
    blocks = keyed(bytes(range(16)), "a").words(8 * 2000).view("V32").tolist()
    assert len(set(blocks)) == 2000


def test_a_keyed_streams_children_are_named_by_their_key_alone() -> None:
    root = keyed(bytes(range(16)), "a")
    first = root.spawn(1, 2).words(8).tolist()
    root.words(100)
    assert root.spawn(1, 2).words(8).tolist() == first
    others = [root.spawn(2, 1), root.spawn(12), root.spawn(1).spawn(2), keyed(bytes(16), "a").spawn(1, 2)]
    others.append(keyed(bytes(range(16)), "a"))
    assert first not in [other.words(8).tolist() for other in others]


def test_secure_words_differ_and_cover_the_range() -> None:
    words = secure().words(4096)
    assert words.dtype == np.dtype("<u4")
    assert len(np.unique(words)) > 4090
    assert words.max() > 2**31 > words.min()
    assert secure().is_secure
    assert not seeded(1).is_secure


def blocks(words: np.ndarray) -> set[bytes]:
    return set(words.view("V16").tolist())  # of the cipher


def repeats_after_a_fork(source: Source, count: int) -> bool:
    """Whether a forked process draws what this one draws next."""
    source.words(count)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(write, "wb") as pipe:
            pipe.write(source.words(count).tobytes())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        theirs = np.frombuffer(pipe.read(), dtype="<u4")
    os.waitpid(child, 0)
    assert len(theirs) == count
    return bool(blocks(theirs) & blocks(source.words(count)))


class Kept(Source):
    """A stream of one key, which goes on where it stopped: what a secure source must not be."""

    def __init__(self) -> None:
        self._expand, self._key, self._at = _random._expander(), os.urandom(32), 0

    def words(self, count: int) -> np.ndarray:
        assert self._expand is not None
        self._at += 4 * count
        return self._expand(self._key, self._at)[-4 * count :].view("<u4")

    def generator(self) -> np.random.Generator:
        raise NotImplementedError

    def spawn(self, *key: int) -> Source:
        return self


def test_a_forked_process_never_meets_the_same_words(subtests: pytest.Subtests) -> None:
    for count in [64, 5000]:
        with subtests.test(count=count):
            assert not repeats_after_a_fork(secure(), count)
            assert repeats_after_a_fork(Kept(), count)


def test_neither_does_a_spawned_or_a_pickled_stream() -> None:
    source = secure()
    streams = [source, source.spawn(1, 2), source.spawn(1, 2), pickle.loads(pickle.dumps(source)), deepcopy(source)]
    assert all(stream.is_secure for stream in streams)
    drawn = [blocks(stream.words(5000)) for stream in streams * 2]
    assert len(set().union(*drawn)) == sum(map(len, drawn)) == len(drawn) * 1250


def test_many_words_are_a_ciphers_stream_of_a_key_that_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    keys = [bytes(range(32)), bytes(32)]
    asked = []
    monkeypatch.setattr(_random.os, "urandom", lambda size: asked.append(size) or keys[len(asked) - 1])
    for key in keys:
        words = secure().words(50_000)
        counters = b"".join(block.to_bytes(16, "big") for block in range(12_500))
        assert words.tobytes() == Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(counters)
        assert words.dtype == np.dtype("<u4")
    assert asked == [32, 32]


def test_without_a_cipher_all_words_are_the_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_random, "_expander", lambda: None)
    assert len(np.unique(secure().words(50_000))) > 49_980


def test_many_secure_words_cover_the_range_evenly(subtests: pytest.Subtests) -> None:
    for count in [4096, 50_001]:
        with subtests.test(count=count):
            words = secure().words(count)
            assert len(words) == count
            for low_bits in (words & 15, words >> 28):
                assert law_agrees(np.bincount(low_bits, minlength=16), np.ones(16))
