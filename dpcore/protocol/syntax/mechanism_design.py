"""What a person may leave to ldpflow: the mechanism of an attribute, designed as its options say, or chosen.

A canonical text holds mechanisms as integers, and a client that reads one does not load this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.choice import choose, choose_for_points
from dpcore.privacy.budget import Budget


def design(kind: Any, budget: Budget | None, sizes: Mapping[str, int], options: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism of a class as the options say, or the one chosen where there is no class.

    budget: None where it is what is found of a stated channel.
    told: what the scheme says, of categories how many there are; of a number 'clients', how many are planned for, and 'points',
    for how many there must be room; and 'values', how many there are, where it says that.
    """
    if kind is not None:
        mechanism: Mechanism = kind.design(budget, **{key: sizes[key] for key in kind.declared.scheme_facts}, **options)
        return mechanism
    assert budget is not None  # as keys have it of all that is asked
    if "values" in sizes:
        return choose_for_points(
            budget, points=sizes["values"], clients=sizes["clients"], is_silent=sizes["categories"] > sizes["values"]
        )
    return choose(budget, categories=sizes["categories"])
