"""The design of an attribute's mechanism from its options, and the choice of a mechanism if none is named.

A canonical text contains designed mechanisms as integers, so clients do not import this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.choice import choose, choose_for_points
from dpcore.privacy.budget import Budget


def design(kind: Any, budget: Budget | None, sizes: Mapping[str, int], options: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism of a class with the options, or a chosen mechanism if `kind` is None.

    budget: None if the epsilon is computed from a stated channel.
    sizes: 'categories', the number of answers; for numbers 'clients' (planned) and 'points' (input cells needed); 'values', the
    number of support points.
    """
    if kind is not None:
        mechanism: Mechanism = kind.design(budget, **{key: sizes[key] for key in kind.declared.scheme_facts}, **options)
        return mechanism
    assert budget is not None  # `keys` requires an epsilon unless a channel is stated
    if "values" in sizes:
        return choose_for_points(
            budget, points=sizes["values"], clients=sizes["clients"], is_silent=sizes["categories"] > sizes["values"]
        )
    return choose(budget, categories=sizes["categories"])
