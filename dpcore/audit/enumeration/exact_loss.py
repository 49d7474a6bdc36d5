"""The exact privacy loss of every attribute of a scheme, and of every pair of attributes, by enumeration.

A mechanism certifies itself; the audit does not use that certificate.  It reads the integers of the canonical scheme, with
which clients draw, and enumerates their effects:

- a channel that can be listed: every entry, each row divided by its own total;
- a frequency oracle with too many reports to list: every class of reports that are equivalent for a pair of categories.  Parts
  that do not depend on the value (a hash function, a column) or have equal probability under both values (other categories'
  bits) are the same factor in both probabilities, and cancel;
- additive noise: every pair of input cells of every coefficient table.

Rule: a figure is exact, never only a bound.  If there is no exact figure, the audit raises an error.  Tests verify that the
clients' code draws from these channels, by running it on every draw that it can make.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import add

import numpy as np

from dpcore._random import seeded
from dpcore.audit.enumeration.loss import Finding, Loss, largest_ratio
from dpcore.audit.findings import AttributeAudit, PairAudit, SchemeAudit
from dpcore.audit.mechanisms.base import enumerated_loss
from dpcore.errors import CalibrationError
from dpcore.mechanisms import Mechanism
from dpcore.protocol.scheme import Scheme

_SEEDS = 4  # seeds of the test that levels are independent of values; half as many if reports are long
_LISTED = 1 << 22  # most entries of a product channel that are listed, over all levels
_LARGE = 1 << 18  # the same if weights exceed 64 bits


def audit_scheme(scheme: Scheme) -> SchemeAudit:
    """Return the exact loss of every attribute and of the whole scheme, from the integers in its canonical text.

    Raises SchemeError if the canonical text cannot be parsed, CalibrationError if a mechanism cannot be enumerated.
    """
    read = Scheme.from_toml(scheme.canonical)
    if read.digest != scheme.digest:
        raise CalibrationError(
            f"the canonical text of {scheme.name} reads back as another scheme ({read.digest[:12]}..., not "
            f"{scheme.digest[:12]}...), so its digest is invalid; prepare the scheme again"
        )
    attributes = {
        name: AttributeAudit(
            name=name,
            mechanism=attribute.mechanism.name,
            configuration=attribute.mechanism.parameters(),
            digest=_digest(attribute.mechanism),
            promised=attribute.budget,
            finding=audit_mechanism(attribute.mechanism),
            columns=attribute.of,
        )
        for name, attribute in read.attributes.items()
    }
    units = [reduce(add, [attributes[name].finding.loss for name in unit]) for unit in read.units]
    return SchemeAudit(
        name=read.name,
        digest=read.digest,
        canonical=read.canonical,
        reporting=read.reporting,
        promised=read.budget,
        loss=reduce(add if read.reporting == "all" else _larger, units),
        attributes=tuple(attributes.values()),
        public={name: len(label.categories) for name, label in read.labels.items()},
        pairs=tuple(_pair(read, attributes, pair) for pair in read.pairs),
    )


def _pair(scheme: Scheme, audits: Mapping[str, AttributeAudit], pair: tuple[str, str]) -> PairAudit:
    first, second = pair
    mechanisms = scheme.attributes[first].mechanism, scheme.attributes[second].mechanism
    return audit_pair(pair, mechanisms, (audits[first].finding.loss, audits[second].finding.loss))


def audit_pair(names: tuple[str, str], mechanisms: tuple[Mechanism, Mechanism], spent: tuple[Loss, Loss]) -> PairAudit:
    """Return the joint loss of two reports, by enumerating the product of both channels where possible.

    spent: the exact loss of each report.

    A pair needs no further report, so it adds no loss.  Given a record, the two reports are drawn independently (`faithfulness`
    tests this on reports).  Their joint probability is therefore a product, and its largest ratio over two records is the
    product of both largest ratios.  If the product channel can be listed, this is verified entry by entry.
    """
    both, listed = spent[0] + spent[1], _product(*mechanisms)
    if not listed:
        how = "the sum of both exact losses, because the two reports are drawn independently"
        return PairAudit(names=names, spent=both, loss=both, how=how)
    ratios = [largest_ratio(weights).ratio for weights in listed]
    largest = None if None in ratios else max(ratio for ratio in ratios if ratio is not None)
    inputs, outputs = len(listed[0]), sum(weights.shape[1] for weights in listed)
    how = f"all {inputs:,} x {outputs:,} weights of the product of both channels, each row divided by its total"
    return PairAudit(names=names, spent=both, loss=Loss(Fraction(0), largest), how=how)


def _product(first: Mechanism, second: Mechanism) -> list[np.ndarray]:
    """Return the weights of the product channel, one matrix for each pair of levels; empty if they are too many to list."""
    ours, theirs = (_distinct(mechanism.channel() or ()) for mechanism in (first, second))
    is_large = max((int(left.max()) * int(right.max()) for left, right in product(ours, theirs)), default=0) >= 1 << 62
    if sum(left.size * right.size for left, right in product(ours, theirs)) > (_LARGE if is_large else _LISTED):
        return []
    kind = object if is_large else np.int64
    return [np.kron(left.astype(kind), right.astype(kind)) for left, right in product(ours, theirs)]


def _distinct(channel: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return a channel without duplicate rows: values that are indistinguishable at every level appear once."""
    if not channel or any(weights.dtype.kind == "O" for weights in channel):
        return list(channel)
    _, first = np.unique(np.concatenate(channel, axis=1), axis=0, return_index=True)
    return [weights[first] for weights in channel]


def audit_mechanism(mechanism: Mechanism) -> Finding:
    """Return the exact loss of one report of a mechanism.

    Levels are public.  They are drawn independently of the value, so the loss of (level, report) is the largest loss within a
    level.

    Raises CalibrationError if the mechanism cannot be enumerated.

    >>> from dpcore.mechanisms import RandomizedResponse
    >>> from dpcore.privacy.budget import Budget
    >>> two_coins = RandomizedResponse(Budget.parse("ln 3"), 2, 3, 1)
    >>> audit_mechanism(two_coins).loss
    Loss(rational=Fraction(0, 1), ratio=Fraction(3, 1))
    """
    finding = enumerated_loss(mechanism)
    if _levels_ignore_values(mechanism):
        return finding
    doubt = "the level of a report depends on the value, and is public"
    return replace(finding, doubts=(*finding.doubts, doubt))


def _levels_ignore_values(mechanism: Mechanism) -> bool:
    """Return whether clients with equal random words send equal levels, whatever their values.

    Runs the clients' code on every input cell, in both orders, and on the last cell only; `report_distribution` tests many
    reports.
    """
    if len(mechanism.sizes) == 1:
        return True
    cells = np.arange(mechanism.inputs)
    inputs = (cells, cells[::-1], np.full_like(cells, mechanism.inputs - 1))
    for seed in range(_SEEDS if set(mechanism.sizes) == {1} else _SEEDS // 2):
        first, *others = (mechanism.privatize(values, seeded(seed)).level for values in inputs)
        if not all(np.array_equal(first, level) for level in others):
            return False
    return True


def _larger(first: Loss, second: Loss) -> Loss:
    return second if first.is_within(second) else first


def _digest(mechanism: Mechanism) -> str:
    """Return the SHA-256 of the mechanism's name, epsilon and integers as JSON with sorted keys."""
    content = {"mechanism": mechanism.name, "epsilon": mechanism.budget.text, "client": dict(mechanism.parameters())}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
