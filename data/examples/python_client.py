"""A client for `ldpflow conformance`: reads cases and prints reports, with numpy alone.

    ldpflow conformance python data/examples/python_client.py

A client of your own draws from `dpcore.secure()` and never prints a record: see data/guide/reference/client_specification.md.
"""

import json
import sys
from functools import lru_cache

import numpy as np

import dpcore as dp
from dpcore import wire
from dpcore._random import Source
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.protocol import tokens


class Given(Source):
    """The words of a case, in order."""

    def __init__(self, words: list[int]) -> None:
        self._words = np.array(words, dtype=np.uint32)

    def words(self, count: int) -> np.ndarray:
        if count > len(self._words):
            raise EOFError
        drawn, self._words = self._words[:count], self._words[count:]
        return drawn

    generator = spawn = None


read = lru_cache(maxsize=4)(dp.Scheme.from_toml)


def answer(case: dict) -> str:
    try:
        scheme = read(case["bundle"]["scheme.toml"])
        if scheme.digest != case["digest"]:
            raise SchemeError("another scheme")
        token = case["secret"] and tokens.token_of(bytes.fromhex(case["secret"]), scheme.digest)
        report = dp.Client(scheme, Given(case["words"]), token).report(case["record"], case["round"])
        return wire.write_report(report, scheme).decode()
    except SchemeError:
        return '{"refused":"scheme"}'
    except InvalidRecord:
        return '{"refused":"record"}'
    except EOFError:
        return '{"refused":"words"}'


for line in sys.stdin:
    print(answer(json.loads(line)), flush=True)
