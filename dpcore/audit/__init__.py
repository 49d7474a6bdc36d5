"""Audits: the privacy loss that a scheme guarantees, computed independently of its mechanisms' own certificates.

Here: the exact loss of every attribute by enumeration, attacks on reports (of one round and of repeated rounds), and the
certificate.  Not here: the mechanisms' own certificates (`mechanisms`), running and landing an audit (`rounds`).  May import
client, protocol, mechanisms, privacy and errors; it has its own exact arithmetic.

Modules:
    attacks/: attacks on reports: empirical lower bounds of epsilon, averaging, and tests of the reports' distribution
    certificate: all attacks of an audit, and its certificate as Markdown, JSON and rows of `checks`
    enumeration/: exact privacy loss by enumeration of the integers that clients draw with
    findings: result types of an audit
    mechanisms/: what the audit knows of each mechanism
    publication: central epsilon by shuffling of a round, and its conditions
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore._lazy import lazy

_EXPORTS = {
    "certificate": (
        "at_most",
        "averaged",
        "check_rows",
        "measure",
        "to_json",
        "to_markdown",
    ),
    "enumeration.exact_loss": (
        "audit_mechanism",
        "audit_scheme",
    ),
    "enumeration.loss": ("Loss",),
    "findings": (
        "AttributeAudit",
        "SchemeAudit",
    ),
}
__getattr__, __all__ = lazy(__name__, _EXPORTS)

if TYPE_CHECKING:
    from dpcore.audit.certificate import at_most, averaged, check_rows, measure, to_json, to_markdown
    from dpcore.audit.enumeration.exact_loss import audit_mechanism, audit_scheme
    from dpcore.audit.enumeration.loss import Loss
    from dpcore.audit.findings import AttributeAudit, SchemeAudit
