"""The client of data/examples/python_client.py with one planted fault, for `ldpflow conformance`: faulty_client.py FAULT."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import _random
from dpcore.mechanisms import DyadicWave, RandomizedResponse
from dpcore.mechanisms.reports import Reports
from dpcore.protocol import tokens

_draw_levels = DyadicWave.draw_levels


def _next_level(self: DyadicWave, n: int, random: _random.Source) -> np.ndarray:
    return np.minimum(_draw_levels(self, n, random) + 1, len(self.sizes) - 1)


def _biased(self: _random.Source, bound: int, count: int) -> np.ndarray:
    return _random._remainders(self.words(count), bound)  # no word is rejected


def _one_more(self: RandomizedResponse, values: np.ndarray, random: _random.Source, levels: Any = None) -> Reports:
    [drawn], [true] = random.residues(self.total, 1), values
    other = (int(drawn) - self.weight_in) // self.weight_out
    reported = true if drawn <= self.weight_in else other + (other >= true)  # <= in place of <
    return Reports(np.zeros(1, dtype=np.uint8), np.array([reported], dtype=np.int64))


def _padded(line: str) -> str:
    document = json.loads(line)
    if "answers" in document:
        document["answers"] = {name: f"{text}=" for name, text in document["answers"].items()}
    return json.dumps(document, separators=(",", ":"))


PATCHES: dict[str, tuple[Any, str, Any]] = {
    "level": (DyadicWave, "draw_levels", _next_level),
    "bias": (_random.Source, "residues", _biased),
    "threshold": (RandomizedResponse, "privatize", _one_more),
    "greedy": (tokens, "NAME_BYTES", 4000),
    "token": (tokens, "_TOKEN_LABEL", b"token"),
}
LINES: dict[str, Callable[[str], str]] = {
    "padding": _padded,
    "spaces": lambda line: json.dumps(json.loads(line)),
    "credulous": lambda line: line.replace('{"refused":"scheme"}', '{"format":1}'),
    "silent": lambda line: line.replace('{"refused":"record"}', "no"),
}


def main(fault: str) -> None:
    if fault in PATCHES:
        setattr(*PATCHES[fault])
    change = LINES.get(fault, str)

    def printed(line: str, flush: bool = False) -> None:
        sys.stdout.write(f"{change(line)}\n")
        sys.stdout.flush()

    client = Path(__file__).parents[2] / "data/examples/python_client.py"
    runpy.run_path(str(client), init_globals={"print": printed})


if __name__ == "__main__":
    main(sys.argv[1])
