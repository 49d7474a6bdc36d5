"""The operating system's randomness as a tape: bytes that are known, each counted, and no other source to draw from."""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpcore import _random
from dpcore._random import Source


class Tape:
    """What stands in for `os.urandom`; asked: the bytes of each call."""

    def __init__(self, seed: int) -> None:
        self._seed, self.asked = seed, list[int]()

    def __call__(self, size: int) -> bytes:
        self.asked.append(size)
        return hashlib.shake_256(f"{self._seed} {len(self.asked)}".encode()).digest(size)


class Written(Source):
    """What `secure` makes of a tape, the slow way: few words are its bytes, many a cipher's blocks under 32 of them."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def words(self, count: int) -> np.ndarray:
        if count < 4096:
            return np.frombuffer(self._tape(4 * count), dtype="<u4")
        cipher = Cipher(algorithms.AES(self._tape(32)), modes.ECB()).encryptor()
        blocks = b"".join(number.to_bytes(16, "big") for number in range(-(-count // 4)))
        return np.frombuffer(cipher.update(blocks)[: 4 * count], dtype="<u4")

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


@contextmanager
def only(tape: Tape, *, keyed: bool = False) -> Iterator[None]:
    """Let nothing of ours be drawn but from the tape; keyed: nor from a secret's stream, unless it is allowed."""

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("drawn from something else than the operating system")

    def refused_to_us(honest: Any) -> Any:
        def asked(*given: Any, **named: Any) -> Any:
            of = sys._getframe(1).f_globals["__name__"].partition(".")[0]
            return refused() if of in ("dpcore", "ldpflow_flows", "tests") else honest(*given, **named)

        return asked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", tape)
        patch.setattr(random, "_urandom", tape)  # what `secrets` draws from
        for module in (random, np.random):
            for name, honest in vars(module).copy().items():
                if callable(honest) and not name.startswith("_"):
                    patch.setattr(module, name, refused_to_us(honest))
        patch.setattr(_random._Seeded, "__init__", refused)
        if not keyed:
            patch.setattr(_random._Keyed, "__init__", refused)
        yield


class Hashed(Source):
    """A secret's stream, the slow way: SHA-256 of a seed and a counter; the seed that of length, key and framed labels."""

    def __init__(self, key: bytes, *labels: str) -> None:
        framed = [part for label in labels for part in (len(label.encode()).to_bytes(4, "little"), label.encode())]
        seed = hashlib.sha256(len(key).to_bytes(4, "little") + key + b"".join(framed)).digest()
        self._stream = b"".join(hashlib.sha256(seed + n.to_bytes(8, "little")).digest() for n in range(500))

    def words(self, count: int) -> np.ndarray:
        taken, self._stream = self._stream[: 4 * count], self._stream[4 * count :]
        assert len(taken) == 4 * count
        return np.frombuffer(taken, dtype="<u4")

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        raise AssertionError("answers that last have one stream each")


class Given(Source):
    """Words that are known, in order; used: how many were taken."""

    def __init__(self, words: Sequence[int] | np.ndarray) -> None:
        self._words, self.used = np.asarray(words, dtype=np.uint32), 0

    def words(self, count: int) -> np.ndarray:
        self.used += count
        assert self.used <= len(self._words)
        return self._words[self.used - count : self.used]

    def generator(self) -> np.random.Generator:
        raise AssertionError("given words make no numpy generator")

    def spawn(self, *key: int) -> Source:
        raise AssertionError("given words have one stream")
