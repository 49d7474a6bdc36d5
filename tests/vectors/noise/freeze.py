"""Write the frozen noise: python tests/vectors/noise/freeze.py, for a new noise or order of draws, and never for a test.

Of each noise and scale what a sampler makes of written words, and of a scheme with Gaussian noise the reports that clients
make of them, value by value.  A stream is a counted one: how many words were taken is frozen with what they became.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))

import dpcore as dp
from dpcore import wire
from dpcore._random import Source
from dpcore.mechanisms.noise.noise_kinds import NOISES
from dpcore.protocol.scheme import Scheme

FILE = Path(__file__).parent / "noise.json"
SCALES = {
    "discrete_laplace": (1, 2, 7, 230_000, (1 << 31) + 1, 1 << 32),
    "discrete_gaussian": (1, 2, 7, 230_000, 1 << 30),
}
DRAWS = 24
VALUES = (0.0, 0.3, 0.999, 1.0)
SCHEME = """
name = "wavelet_gaussian"
clients = 5000
[attributes.x]
type = "numeric"
lower = 0
upper = 1
mechanism = "wavelet_laplace"
noise = "discrete_gaussian"
delta = "1e-6"
degree = 1
finest_level = 3
cells = 128
epsilon = 1
"""


class Written(Source):
    """Words that are read off a text, eight hexadecimal digits each, the lowest byte first."""

    def __init__(self, words: str) -> None:
        self._words, self.taken = np.frombuffer(bytes.fromhex(words), dtype="<u4"), 0

    def words(self, count: int) -> np.ndarray:
        self.taken += count
        assert self.taken <= len(self._words), "there are no more words"
        return self._words[self.taken - count : self.taken]

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


def draws(noise: str, scale: int, words: str) -> dict[str, Any]:
    source = Written(words)
    drawn = NOISES[noise].sample(scale, DRAWS, source).tolist()
    return {"noise": noise, "scale": scale, "draws": drawn, "words": words[: 8 * source.taken]}


def report(scheme: Scheme, value: float, words: str) -> dict[str, Any]:
    source = Written(words)
    content = wire.write_report(dp.Client(scheme, source).report({"x": value}, "2026-11-20"), scheme).decode()
    level, sent = wire.read_report(content.encode(), scheme).answers["x"]
    return {"x": value, "level": level, "sent": list(sent), "content": content, "words": words[: 8 * source.taken]}


def document() -> dict[str, Any]:
    scheme = Scheme.from_toml(Scheme.from_toml(SCHEME).canonical)
    streams = count()

    def words() -> str:
        return dp.keyed(b"words of noises ", str(next(streams))).words(4096).tobytes().hex()

    return {
        "draws": [draws(noise, scale, words()) for noise, scales in SCALES.items() for scale in scales],
        "scheme": scheme.canonical,
        "digest": scheme.digest,
        "reports": [report(scheme, value, words()) for value in VALUES for _ in range(3)],
    }


if __name__ == "__main__":
    text = json.dumps(document(), indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")
