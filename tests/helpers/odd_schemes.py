"""Canonical schemes with one thing odd: a line said otherwise, twice or not at all, and what no table holds.

What the browser's client says of each is compared with what Python says; no case has an answer of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

VALUES = (
    '""',
    '"x"',
    '"1_0"',
    '"\u0661"',
    '"a\u200bb"',
    '"\\ud800"',
    '"\\u0085"',
    "-1",
    "0",
    "5",
    "007",
    str(10**13),
    "true",
    "1.5",
    "[]",
    '["x"]',
    "[[]]",
    "{}",
)
EVERYWHERE = (
    "odd = 1",
    'level_rule = "fixed"',
    "level = 3",
    'design = "two_coin"',
    "values = [1, 2, 3]",
    "cells = 8",
    "codes = { }",
)
TEXTS = (
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r", 1),
    lambda text: text.replace(" = ", " =\u00a0", 1),
    lambda text: text.replace("\n", "\u2028\n", 1),
    lambda text: text + "\x0c",
    lambda text: text + "[attributes]\n",
    lambda text: text + "[attributes.Y]\n",
    lambda text: text + "[attributes.y]\n",
    lambda text: text.replace("[attributes.", "[attribute."),
    lambda text: text.replace("[labels.sex", "[labels.x"),
    lambda text: text.replace("[labels.sex", "[labels.weighted"),
    lambda text: text.replace("[labels.sex", "[labels.Sex"),
    lambda text: text.replace("[labels.sex", "[labels"),
    lambda text: text.replace('type = "numeric"', 'type = "categorical"'),
    lambda text: text.replace('type = "categorical"', 'type = "numeric"'),
)


def odd(text: str) -> Iterator[str]:
    """Yield texts that differ from a canonical one in one place."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        key = re.match(r"(\w+) = ", line)
        before, after = lines[:at], lines[at + 1 :]
        if line.startswith("["):
            yield from ("\n".join([*before, line, said, *after]) for said in EVERYWHERE)
        if key is None:
            continue
        if not line.endswith("["):
            yield "\n".join([*before, *after])
        if line.endswith(" = ["):
            after = after[after.index("]") + 1 :]
        yield from ("\n".join([*before, f"{key[1]} = {value}", *after]) for value in VALUES)
    yield from (change(text) for change in TEXTS)
