"""Names of mechanisms and estimators, titles of attributes, descriptions of reports and of certificates, in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager

from dpcore.estimation.registry import by_name
from dpcore.mechanisms.registry import declaration
from dpcore.results.pages.query import Ask, read_query
from dpcore.results.text.phrases import in_words, records, titled


@contextmanager
def titles_of(ask: Ask, run_id: str) -> Iterator[None]:
    """Show the titles of a run's scheme in what is gathered and drawn, while the block runs."""
    [run] = records(ask(read_query("run", run_id=run_id).sql))
    with titled(run["canonical"]):
        yield


def name_of(name: str) -> str:
    """Return the title of a mechanism or of an estimator."""
    if declared := declaration(name):
        return declared.title
    estimator = by_name().get(name)
    return in_words(name) if estimator is None else estimator.titles[name]


def is_asked(mechanism: str) -> bool:
    """Return whether ldpflow's clients privatize the answers, rather than another system."""
    declared = declaration(mechanism)
    return declared is None or declared.is_asked


def what_leaves(mechanism: str) -> str:
    """Return a description of the report that a device sends."""
    declared = declaration(mechanism)
    return "a random report" if declared is None else declared.words


def certified_loss(certificate: str) -> str:
    """Return the certified loss as a factor between odds or an epsilon, as a fraction and a decimal number."""
    match = re.match(r"(ratio|loss) (\S+) \((\S+)\)", certificate)
    if match is None:
        return certificate
    kind, decimal, fraction = match.groups()
    if fraction == "inf":
        return "unbounded"
    text = f"{fraction} = {decimal}" if "/" in fraction else fraction
    return f"factor {text}" if kind == "ratio" else f"ε = {text}"


def factor_of(epsilon: float) -> str:
    """Return e^epsilon, rounded up so that the printed factor is a valid bound; '' if it is unbounded."""
    if math.isinf(epsilon):
        return ""
    if epsilon > 30:
        return f"e^{epsilon:.4g}"
    factor = math.exp(epsilon)
    digits = max(0, 2 - math.floor(math.log10(factor)))
    raised = math.ceil(factor * 10**digits * (1 - 1e-12)) / 10**digits
    return f"{raised:,.{digits}f}"
