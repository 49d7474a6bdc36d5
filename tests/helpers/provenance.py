"""Given words in place of the operating system's: what a client sends with them, and how many it takes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

import dpcore as dp
from dpcore import wire
from dpcore._random import Source
from dpcore.protocol import tokens
from dpcore.protocol.scheme import Scheme
from tests.helpers.client_cases import RECORDS

NAMES = ("everything", "one_of_three")
MANY = (1 << 15) + 3  # words of one call, more than a browser gives at once
_WORDS = dp.seeded(22).words(1 << 16)


class Counted(Source):
    """The given words, in order."""

    def __init__(self) -> None:
        self.used = 0

    def words(self, count: int) -> np.ndarray:
        self.used += count
        assert self.used <= len(_WORDS)
        return _WORDS[self.used - count : self.used]

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client has no generator")

    def spawn(self, *key: int) -> Source:
        raise AssertionError("a client has one stream")


def prepare(folder: Path, root: Path) -> dict[str, Any]:
    """Write what tests/browser/provenance.mjs reads into a folder; return what it must find, by the Python client."""
    source, asked, sent = Counted(), [], []
    for name in NAMES:
        scheme = Scheme.from_toml(json.loads((root / f"tests/vectors/{name}.json").read_text("utf-8"))["scheme"])
        wire.write_bundle(folder / name, scheme)
        for record in RECORDS[name]:
            for token in (None, tokens.token_of(bytes(range(16)), scheme.digest)):
                before = source.used
                content = wire.write_report(dp.Client(scheme, source, token).report(record, "1"), scheme).decode()
                asked.append({"scheme": name, "record": record, "token": token, "round": "1"})
                sent.append({"content": content, "words": source.used - before})
    words = base64.b64encode(_WORDS.astype("<u4").tobytes()).decode()
    (folder / "provenance.json").write_text(json.dumps({"words": words, "many": MANY, "reports": asked}), "utf-8")
    return {"sent": sent, "isGiven": True}


def differ(contents: list[str]) -> bool:
    """Whether two reports of one record under the scheme of every mechanism have nothing in common that is drawn of much."""
    first, second = map(json.loads, contents)
    drawn = ("bits", "hashed", "split")
    return first["report"] != second["report"] and all(
        first["answers"][name] != second["answers"][name] for name in drawn
    )
