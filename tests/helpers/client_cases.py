"""Schemes and records that every client is tried on: those of the conformance kit, and what the browser does not draw."""

from __future__ import annotations

from dpcore.conformance import schemes
from dpcore.conformance.schemes import EVERYTHING, LABELLED, NUMERIC, ONE

__all__ = ["EVERYTHING", "LABELLED", "ONE", "RECORDS", "REFUSED_RECORDS", "SCHEMES"]

VARIANTS = "\n".join(
    [
        'name = "variants"\ndescription = "Wavelets as the browser does not draw them"\nclients = 5000\n',
        "[attributes.periodic]\n"
        + NUMERIC.format(lower=0, upper=1, epsilon=1, mechanism="wavelet_laplace")
        + 'basis = "bior2.4"\nfinest_level = 4\n',
        "[attributes.paper]\n"
        + NUMERIC.format(lower=0, upper=1, epsilon=2, mechanism="wavelet_laplace")
        + 'degree = 2\nfinest_level = 3\nallocation = "paper"\n',
        "[attributes.relaxed]\n"
        + NUMERIC.format(lower=0, upper=1, epsilon=1, mechanism="wavelet_laplace")
        + 'degree = 1\nfinest_level = 3\nnoise = "discrete_gaussian"\ndelta = "1e-6"\n',
    ]
)
_NAMES = ("everything", "one_of_three", "variants", "labelled", "together", "purposes", "options", "texts")
_TEXTS = schemes.OF_SEVERAL | {"everything": EVERYTHING, "variants": VARIANTS}
SCHEMES = {name: _TEXTS[name] for name in _NAMES}
RECORDS = schemes.RECORDS | {
    "variants": [{"paper": 0.3, "periodic": 0.1, "relaxed": 0.999}, {"paper": 1, "periodic": 0, "relaxed": 0.5}]
}
REFUSED_RECORDS = schemes.REFUSED_RECORDS | {"variants": [{"paper": 0.3, "periodic": 0.1, "relaxed": "much"}]}
