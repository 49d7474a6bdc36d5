"""What the names in the tables mean, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpcore.results.plots import in_words, separated

WHAT_LEAVES = {  # of each mechanism
    "randomized_response": "one category: the true one with a known probability, otherwise another, drawn at random",
    "unary_encoding": "one bit for each category, every bit turned over at random with a known probability",
    "subset_selection": "a few categories drawn at random, in which the true one is likelier than others",
    "hadamard_response": "one symbol, drawn at random; the category makes half of the symbols likelier",
    "local_hashing": "a hash function drawn at random, and the category's hash, replaced at random with a known probability",
    "wavelet_laplace": "how coarsely the value was looked at, drawn without looking, and a few coefficients with noise",
    "dyadic_wave": "how coarsely the value was looked at, drawn without looking, and one cell: near the value or anywhere",
    "square_wave": "one cell of the range: near the value or, with a known probability, anywhere",
}

_NAMES = {  # where more than the underscores would be missed
    "em": "estimated by EM",
    "ems": "estimated by EM with smoothing",
    "frequency": "",  # what else
    "hadamard_response": "Hadamard response",
    "log_spline": "estimated by a log-spline",
    "projection": "estimated by projection",
    "wavelet_laplace": "wavelet Laplace",
}
_SHARE = "frequency("
_ORDER = ("mean", "quantile", "cdf", "probability", "atom", "variance")  # as people ask; then the others, by name


@dataclass(frozen=True)
class Phrase:
    """A number in words: what it is, its unit as printed, and by how much the landed value is multiplied for that."""

    text: str
    unit: str = ""
    factor: float = 1.0


def phrase(functional: str, unit: str) -> Phrase:
    """Return what a functional is, as in tables ('cdf(50000)'), of an attribute with this unit."""
    if is_share(functional):
        return Phrase(functional[len(_SHARE) : -1], "%", 100)
    name, arguments = _parts(functional)
    at = [f"{separated(value)} {unit}".strip() for value in arguments]
    if name == "mean":
        return Phrase("mean", unit)
    if name == "quantile" and arguments == [0.5]:
        return Phrase("median", unit)
    if name == "quantile" and len(arguments) == 1:
        return Phrase(f"{separated(100 * arguments[0])} % of clients are below", unit)
    if name == "cdf" and len(at) == 1:
        return Phrase(f"share at or below {at[0]}", "%", 100)
    if name == "probability" and len(at) == 2:
        return Phrase(f"share from {separated(arguments[0])} to {at[1]}", "%", 100)
    if name == "atom" and len(at) == 1:
        return Phrase(f"share at the bound, {at[0]}", "%", 100)
    if name in ("entropy", "kullback_leibler"):
        return Phrase(in_words(name), "nats")
    if name == "variance":
        return Phrase("variance", f"{unit}²" if unit else "")
    return Phrase(in_words(functional))


def name_of(name: str) -> str:
    """Return what people call a mechanism, or how they say that an estimator was used."""
    return _NAMES.get(name, in_words(name))


def is_share(functional: str) -> bool:
    """Whether the number is the share of a category: frequency(CATEGORY)."""
    return functional.startswith(_SHARE)


def rank(functional: str) -> tuple[int, str, list[float]]:
    """Return where a functional stands in a table: what people ask first, then by name; by argument within a name."""
    if is_share(functional):
        return (-1, "", [])  # in the order they come
    name, arguments = _parts(functional)
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name, arguments)


def _parts(functional: str) -> tuple[str, list[float]]:
    name, _, inside = functional.partition("(")
    return name, [float(number) for number in re.findall(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", inside)]
