"""What mechanisms and estimators are called, and what leaves a device, in plain words."""

from __future__ import annotations

from dpcore.mechanisms.named import declaration
from dpcore.results.reading import in_words

_ESTIMATORS = {
    "em": "estimated by EM",
    "ems": "estimated by EM with smoothing",
    "frequency": "",  # what else
    "log_spline": "estimated by a log-spline",
    "projection": "estimated by projection",
}


def name_of(name: str) -> str:
    """Return what people call a mechanism, or how they say that an estimator was used."""
    declared = declaration(name)
    return _ESTIMATORS.get(name, in_words(name)) if declared is None else declared.title


def what_leaves(mechanism: str) -> str:
    """Return what leaves a device under the mechanism of that name."""
    declared = declaration(mechanism)
    return "a report drawn at random" if declared is None else declared.words
