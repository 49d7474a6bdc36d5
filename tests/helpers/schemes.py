"""Small schemes, of rounds and of what is tried on one of everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from dpcore.protocol.scheme import Scheme

HOUSEHOLDS = """
name = "consumer_expenditure"
clients = 200000
pairs = [["income", "urban_rural"]]

[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural"]
codes = { 1 = "urban", 2 = "rural" }
design = "two_coin"
epsilon = "ln 3"

[attributes.income]
type = "numeric"
unit = "USD"
lower = 0
upper = 250_000
degree = 1
finest_level = 3
epsilon = 1
functionals = ["mean", "cdf(50000)"]
"""  # people can be simulated for it, it has every kind of table, and little work

QUESTION = """
name = "consumer_expenditure"
clients = 900
[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural"]
epsilon = 2
"""  # one that takes no time, of people who can be simulated

SMALL = """
name = "small"
clients = 20000
pairs = [["height", "side"]]

[attributes.side]
type = "categorical"
categories = ["left", "right"]
codes = { 1 = "left", 2 = "right" }
epsilon = "ln 3"
design = "two_coin"

[attributes.colour]
type = "categorical"
categories = ["red", "green", "blue"]
values = [0, 1, 2.5]
epsilon = 0.5

[attributes.height]
type = "numeric"
lower = 0.5
upper = 2.5
unit = "m"
degree = 1
finest_level = 3
epsilon = 1
"""


class Parsed(Mapping[str, Scheme]):
    """Schemes of texts, each read when it is first asked for: whoever only collects tests waits for none."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts, self._read = texts, cache(Scheme.from_toml)

    def __getitem__(self, name: str) -> Scheme:
        return self._read(self._texts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)
