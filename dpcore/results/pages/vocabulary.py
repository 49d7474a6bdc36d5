"""What mechanisms and estimators are called, what leaves a device and what is kept of it, in plain words."""

from __future__ import annotations

import math
import re

from dpcore.estimation.registry import by_name
from dpcore.mechanisms.registry import declaration
from dpcore.results.text.phrases import in_words


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


def what_is_kept(certificate: str) -> str:
    """Return what a certificate says is kept: a factor between odds, or an epsilon; the fraction, and as a decimal number."""
    match = re.match(r"(ratio|loss) (\S+) \((\S+)\)", certificate)
    if match is None:
        return certificate
    kind, decimal, fraction = match.groups()
    if fraction == "inf":
        return "nothing"
    text = f"{fraction} = {decimal}" if "/" in fraction else fraction
    return f"factor {text}" if kind == "ratio" else f"ε = {text}"


def factor_of(epsilon: float) -> str:
    """Return e^epsilon, rounded up, so that no printed promise beats what is kept; '' where no number bounds it."""
    if math.isinf(epsilon):
        return ""
    if epsilon > 30:
        return f"e^{epsilon:.4g}"
    factor = math.exp(epsilon)
    digits = max(0, 2 - math.floor(math.log10(factor)))
    raised = math.ceil(factor * 10**digits * (1 - 1e-12)) / 10**digits
    return f"{raised:,.{digits}f}"
