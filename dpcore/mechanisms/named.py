"""Mechanisms by the names that schemes give them, and what their designs may be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.errors import SchemeError
from dpcore.mechanisms.base import Mechanism
from dpcore.mechanisms.dyadic_wave import DyadicWave
from dpcore.mechanisms.hadamard_response import HadamardResponse
from dpcore.mechanisms.local_hashing import LocalHashing
from dpcore.mechanisms.randomized_response import RandomizedResponse
from dpcore.mechanisms.square_wave import SquareWave
from dpcore.mechanisms.subset_selection import SubsetSelection
from dpcore.mechanisms.unary_encoding import UnaryEncoding
from dpcore.mechanisms.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget

# The default first.
CATEGORICAL: dict[str, Any] = {
    kind.name: kind for kind in (RandomizedResponse, UnaryEncoding, SubsetSelection, HadamardResponse, LocalHashing)
}
NUMERIC: dict[str, Any] = {kind.name: kind for kind in (WaveletLaplace, DyadicWave, SquareWave)}
_OF_WAVELETS = ("basis", "degree", "coarsest_level", "finest_level", "allocation", "a", "cells", "noise", "delta")
OPTIONS: dict[str, tuple[str, ...]] = {
    RandomizedResponse.name: ("design",),
    UnaryEncoding.name: ("variant",),
    WaveletLaplace.name: _OF_WAVELETS,
    DyadicWave.name: ("cells", "levels", "level_law", "widths"),
    SquareWave.name: ("cells", "widths"),
}


def options_of(kinds: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all that the designs of some mechanisms may be told."""
    return tuple(dict.fromkeys(option for name in kinds for option in OPTIONS.get(name, ())))


def from_parameters(kind: Any, budget: Budget, client: Any) -> Mechanism:
    """Return the mechanism whose integers a scheme holds; raises SchemeError where it does not hold them."""
    if not isinstance(client, Mapping):
        raise SchemeError(f"client must be a table of the mechanism's integers, got {client!r}")
    try:
        mechanism: Mechanism = kind.from_parameters(budget, client)
    except (KeyError, TypeError, ValueError) as error:
        raise SchemeError(
            f"client does not hold what {kind.name} needs ({error}); leave the table out to have it computed"
        ) from None
    return mechanism
