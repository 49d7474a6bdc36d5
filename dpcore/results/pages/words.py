"""What mechanisms and estimators are called, and what leaves a device, in plain words."""

from __future__ import annotations

from dpcore.results.reading import in_words

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


def name_of(name: str) -> str:
    """Return what people call a mechanism, or how they say that an estimator was used."""
    return _NAMES.get(name, in_words(name))
