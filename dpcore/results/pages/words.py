"""What mechanisms and estimators are called, and what leaves a device, in plain words."""

from __future__ import annotations

from dpcore.estimation.estimators.named import by_name
from dpcore.mechanisms.named import declaration
from dpcore.results.reading import in_words


def name_of(name: str) -> str:
    """Return what people call a mechanism, or how they say that an estimator was used."""
    if declared := declaration(name):
        return declared.title
    estimator = by_name().get(name)
    return in_words(name) if estimator is None else estimator.titles[name]


def is_asked(mechanism: str) -> bool:
    """Return whether our clients draw the answers of the mechanism of that name."""
    declared = declaration(mechanism)
    return declared is None or declared.is_asked


def what_leaves(mechanism: str) -> str:
    """Return what leaves a device under the mechanism of that name."""
    declared = declaration(mechanism)
    return "a report drawn at random" if declared is None else declared.words
