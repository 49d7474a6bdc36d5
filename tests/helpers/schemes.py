"""Small schemes, of rounds and of what is tried on one of everything."""

from __future__ import annotations

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
