"""What a person may leave to ldpflow: the mechanism of an attribute, designed as its options say, or chosen.

A canonical text holds mechanisms as integers, and a client that reads one does not load this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.choose import choose, choose_for_points
from dpcore.privacy.budget import Budget


def design(kind: Any, budget: Budget, told: Mapping[str, int], options: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism of a class as the options say, or the one chosen where there is no class.

    told: 'categories', how many there are, of a categorical attribute; 'points' likewise and 'clients', how many are planned
    for, of a numeric one.
    """
    if kind is None and told.get("points"):
        return choose_for_points(budget, points=told["points"], clients=told["clients"])
    if kind is None:
        return choose(budget, categories=told["categories"])
    mechanism: Mechanism = kind.design(budget, **{key: told[key] for key in kind.declared.told}, **options)
    return mechanism
