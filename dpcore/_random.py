"""Sources of randomness, which are always arguments and never the state of a module.

There are three sources.  Clients use `secure()`, the operating system's randomness, expanded by a cipher in bulk.
`seeded(seed)` is reproducible, for simulation and tests.  `keyed(key)` is a keyed stream for memoization (SHA-256 in counter
mode): the same key and labels always give the same words.

The client half of a mechanism draws 32-bit words and compares integers, without floating point.  Simulations may use a
source's numpy generator.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

WORD = 1 << 32
LARGEST = 1 << 62  # largest bound of drawn integers
_CHUNK = 1 << 15  # words divided at a time, so that they fit into a core's cache
_MANY = 1 << 12  # number of words from which on a cipher is faster than the operating system
_KEY_BYTES = 32


class Source(ABC):
    """A stream of independent uniform 32-bit words."""

    is_secure: bool = False

    @abstractmethod
    def words(self, count: int) -> np.ndarray:
        """Return the next `count` words, shape (count,), dtype uint32."""

    @abstractmethod
    def generator(self) -> np.random.Generator:
        """Return a numpy generator for simulation; never used on a client."""

    @abstractmethod
    def spawn(self, *key: int) -> Source:
        """Return the independent stream named by `key` (attribute, block)."""

    def below(self, bound: int, count: int) -> np.ndarray:
        """Return `count` uniform integers in [0, bound), dtype int64; 1 <= bound <= 2^62, exact."""
        if bound <= WORD:
            return self.residues(bound, count).astype(np.int64)
        if bound > LARGEST:
            raise ValueError(f"bound must lie in 1..2^62, got {bound}")
        values = np.empty(count, dtype=np.int64)
        missing = np.arange(count)
        while missing.size:  # two words each, drawn again if above the last multiple of the bound
            pairs = self.words(2 * missing.size).astype(np.uint64).reshape(-1, 2)
            drawn = pairs[:, 0] << np.uint64(32) | pairs[:, 1]
            values[missing] = (drawn % np.uint64(bound)).astype(np.int64)
            missing = missing[drawn > np.uint64((1 << 64) - (1 << 64) % bound - 1)]
        return values

    def residues(self, bound: int, count: int) -> np.ndarray:
        """Return `count` uniform integers in [0, bound) for a bound of at most 2^32, as read-only uint32.

        A word r is rejected if r >= 2^32 - (2^32 mod bound), and otherwise reduced modulo bound, so every value has the same
        number of words (Knuth's rejection).  Rejected words are replaced after all others have been drawn.
        """
        if not 1 <= bound <= WORD:
            raise ValueError(f"bound must lie in 1..2^32, got {bound}")
        drawn = self.words(count)
        limit = WORD - WORD % bound
        if limit < WORD and count and drawn.max() >= limit:
            drawn = np.array(drawn)
            late = np.flatnonzero(drawn >= limit)
            while late.size:
                drawn[late] = self.words(late.size)
                late = late[drawn[late] >= limit]
        return _remainders(drawn, bound)


def _remainders(words: np.ndarray, bound: int) -> np.ndarray:
    """Return words % bound, uint32; numpy divides many times faster than it takes remainders."""
    if bound & (bound - 1) == 0:
        return words & np.uint32(bound - 1)
    remainders = np.empty(len(words), dtype=np.uint32)
    for first in range(0, len(words), _CHUNK):
        part, rest = words[first : first + _CHUNK], remainders[first : first + _CHUNK]
        np.floor_divide(part, np.uint32(bound), out=rest)
        rest *= np.uint32(bound)
        np.subtract(part, rest, out=rest)
    return remainders


class _Secure(Source):
    is_secure = True

    def words(self, count: int) -> np.ndarray:
        expand = _expander() if count >= _MANY else None
        if expand is None:
            return np.frombuffer(os.urandom(4 * count), dtype="<u4")
        return expand(os.urandom(_KEY_BYTES), 4 * count).view("<u4")

    def generator(self) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(secrets.randbits(128)))

    def spawn(self, *key: int) -> Source:
        return self


class _Seeded(Source):
    def __init__(self, sequence: np.random.SeedSequence) -> None:
        self._sequence = sequence
        self._generator = np.random.Generator(np.random.SFC64(sequence))

    def words(self, count: int) -> np.ndarray:
        # Equal to integers(0, 2^32, count, dtype=uint32), in less than half the time.  A 64-bit draw gives two words, the low
        # half first; the other half of an odd count is kept for the next call.
        bits = self._generator.bit_generator
        before = bits.state
        has_half = before["has_uint32"]
        words = bits.random_raw((count - has_half + 1) // 2).astype("<u8", copy=False).view("<u4")
        if has_half:
            words = np.concatenate([np.array([before["uinteger"]], dtype="<u4"), words])
        left = len(words) - count
        if left or has_half:
            bits.state = {**bits.state, "has_uint32": left, "uinteger": int(words[-1]) if left else 0}
        return words[:count]

    def generator(self) -> np.random.Generator:
        return self._generator

    def spawn(self, *key: int) -> Source:
        # SeedSequence.spawn counts its children; here a child depends on its key only.
        sequence = self._sequence
        return _Seeded(np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, *key)))


class _Keyed(Source):
    def __init__(self, key: bytes) -> None:
        self._key = key
        self._counter = 0
        self._left = b""

    def words(self, count: int) -> np.ndarray:
        need = 4 * count
        parts = [self._left]
        have = len(self._left)
        while have < need:
            parts.append(hashlib.sha256(self._key + self._counter.to_bytes(8, "little")).digest())
            self._counter += 1
            have += 32
        stream = b"".join(parts)
        self._left = stream[need:]
        return np.frombuffer(stream[:need], dtype="<u4")

    def generator(self) -> np.random.Generator:
        raise TypeError("a keyed source is for clients; simulate with seeded() or secure()")

    def spawn(self, *key: int) -> Source:
        return keyed(self._key, *(str(part) for part in key))


@cache
def _expander() -> Callable[[bytes, int], np.ndarray] | None:
    """Return a function that expands a 256-bit key, used once, into (n,) uint8: AES in counter mode.

    None if `cryptography` is not installed: a client needs only numpy, and never draws many words.
    """
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None
    zeros = bytes(1 << 16)

    def expanded(key: bytes, size: int) -> np.ndarray:
        encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        stream = np.empty(size + len(key), dtype=np.uint8)  # the cipher needs space for one more block
        for first in range(0, size, len(zeros)):
            encryptor.update_into(zeros[: size - first], stream[first:].data)
        return stream[:size]

    return expanded


def secure() -> Source:
    """Return the operating system's randomness, which every real client uses.

    A large draw is AES-256 in counter mode, under a key that the operating system generates for this call.  There is no state
    between calls, so threads and forked processes cannot draw the same words.
    """
    return _Secure()


def seeded(seed: int | Sequence[int]) -> Source:
    """Return a reproducible source for simulation and tests; never for real records."""
    return _Seeded(np.random.SeedSequence(seed))


def keyed(key: bytes, *labels: str) -> Source:
    """Return the stream of a secret key (at least 16 bytes) and a sequence of labels.

    Labels are length-prefixed, so ("ab", "c") and ("a", "bc") differ.
    """
    if len(key) < 16:
        raise ValueError(f"a key must hold at least 16 bytes, got {len(key)}")
    parts = [label.encode() for label in labels]
    framed = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    return _Keyed(hashlib.sha256(len(key).to_bytes(4, "little") + key + framed).digest())
