"""Every mechanism by its name in schemes: one line each, all else in its own file."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from dpcore.mechanisms.categorical.hadamard_response import HadamardResponse
from dpcore.mechanisms.categorical.local_hashing import LocalHashing
from dpcore.mechanisms.categorical.randomized_response import RandomizedResponse
from dpcore.mechanisms.categorical.set_selection import SetSelection
from dpcore.mechanisms.categorical.subset_selection import SubsetSelection
from dpcore.mechanisms.categorical.text_hashing import TextHashing
from dpcore.mechanisms.categorical.unary_encoding import UnaryEncoding
from dpcore.mechanisms.declaration import Declaration
from dpcore.mechanisms.numeric.crossed_wave import CrossedWave
from dpcore.mechanisms.numeric.dyadic_wave import DyadicWave
from dpcore.mechanisms.numeric.square_wave import SquareWave
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.stated.declarations import StatedCategories, StatedNumber

_ALL: tuple[Any, ...] = (  # of either type of attribute the default first; of categories then the simplest report first
    RandomizedResponse,
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    UnaryEncoding,
    DyadicWave,
    WaveletLaplace,
    SquareWave,
    CrossedWave,
    SetSelection,
    TextHashing,
)
_REFINED = ("lattice", "plane")  # kinds of numbers
_TYPES = dict.fromkeys(kind for one in _ALL for kind in sorted(one.declared.attributes) if kind not in _REFINED)
BY_TYPE: dict[str, dict[str, Any]] = {  # of attributes
    kind: {one.name: one for one in _ALL if kind in one.declared.attributes}
    for kind in dict.fromkeys(("numeric", "categorical", *_TYPES))
}
NUMERIC, CATEGORICAL = BY_TYPE["numeric"], BY_TYPE["categorical"]
# Of attributes by what their values are: a numeric one of few points is answered by whatever answers with one of many cells,
# and one of a number's ranges, or of two columns' categories, as other categories are.
BY_KIND = BY_TYPE | {
    "lattice": {kind.name: kind for kind in _ALL if kind.declared.attributes & {"categorical", "lattice"}},
    "binned": CATEGORICAL,
    "crossed": CATEGORICAL,
    "plane": {kind.name: kind for kind in _ALL if "plane" in kind.declared.attributes},
}
# What schemes may name: what is offered, which is above, and last what is stated of others, by which nobody is asked.
_STATED = {"numeric": StatedNumber} | dict.fromkeys(("categorical", "lattice", "binned", "crossed"), StatedCategories)
IN_SCHEMES: dict[str, Mapping[str, Any]] = {
    kind: ChainMap({"stated": _STATED[kind]}, kinds) if kind in _STATED else kinds for kind, kinds in BY_KIND.items()
}


def declaration(name: str) -> Declaration | None:
    """Return the declaration of a mechanism; None if there is none, as in tables of older versions."""
    return next((kinds[name].declared for kinds in IN_SCHEMES.values() if name in kinds), None)


def options_of(attributes: str) -> dict[str, tuple[str, ...]]:
    """Return the design keys of mechanisms for a type of attribute: key -> the names of the mechanisms with that option."""
    kinds = IN_SCHEMES[attributes].values()
    keys = dict.fromkeys(option.name for kind in kinds for option in kind.declared.options)
    return {key: tuple(k.name for k in kinds if key in [option.name for option in k.declared.options]) for key in keys}
