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

_CHANGES = {  # integers so small that every edge of a draw is met, and noise whose trials do not fit a word
    "weight_in = 196608\nweight_out = 65536\n": "weight_in = 3\nweight_out = 1\n",
    f"coin_bits = 32\nweight_true = {2**31}\nweight_other = {2**30}\n": "coin_bits = 2\nweight_true = 2\nweight_other = 1\n",
    "    196608,\n": "    3,\n",
    "    65536,\n": "    1,\n",
    "noise_scales = [\n    119307,\n": f"noise_scales = [\n    {2**31 + 1},\n",
}
_LN_3 = 'type = "{type}"\nepsilon = "ln 3"\nmechanism = "{mechanism}"\n'
_ASKED = {
    "randomized_response": 3,
    "unary_encoding": 33,
    "subset_selection": 4,
    "hadamard_response": 5,
    "local_hashing": 5,
    "dyadic_wave": "cells = 4\nwidths = [3, 1]\n",
    "square_wave": "cells = 4\nwidths = [3]\n",
    "wavelet_laplace": "degree = 0\ncoarsest_level = 1\nfinest_level = 2\ncells = 64\n",
}
MANY = (1 << 15) + 3  # words of one call, more than a browser gives at once
_WORDS = dp.seeded(22).words(1 << 17)


def small() -> Scheme:
    """A scheme of every mechanism of the browser's, each with integers of which few reports meet every edge."""
    text = 'name = "small"\n'
    for name, more in _ASKED.items():
        text += f"[attributes.{name}]\n"
        if isinstance(more, int):
            categories = ", ".join(f'"{number}"' for number in range(more))
            text += _LN_3.format(type="categorical", mechanism=name) + f"categories = [{categories}]\n"
        else:
            text += _LN_3.format(type="numeric", mechanism=name) + f"lower = 0\nupper = 1\n{more}"
    text = Scheme.from_toml(text).canonical
    for old, new in _CHANGES.items():
        assert old in text, old
        text = text.replace(old, new)
    return Scheme.from_toml(text)


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
    vectors = {
        name: (root / f"tests/vectors/{name}.json").read_text("utf-8")
        for name in ("everything", "one_of_three", "labelled", "options", "texts")
    }
    schemes = {name: Scheme.from_toml(json.loads(text)["scheme"]) for name, text in vectors.items()} | {
        "small": small()
    }
    records = RECORDS | {
        "small": [
            {name: place / 24 if isinstance(more, str) else str(place % more) for name, more in _ASKED.items()}
            for place in range(24)
        ]
    }
    for name, scheme in schemes.items():
        wire.write_bundle(folder / name, scheme)
        for record in records[name]:
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
