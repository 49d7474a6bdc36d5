"""Audits: what a scheme really keeps, found without asking its mechanisms what they believe.

Here: the exact loss of every attribute by enumeration, what an attacker finds who has reports alone or asks again and again,
and the certificate.  Not here: what mechanisms certify of themselves (`mechanisms`), when an audit is made and landed
(`rounds`).  May import client, protocol, mechanisms, privacy and errors; its arithmetic is its own.
"""

from dpcore.audit.certificate import at_most, averaged, check_rows, to_json, to_markdown
from dpcore.audit.enumeration.exact_loss import audit_mechanism, audit_scheme
from dpcore.audit.enumeration.loss import Loss
from dpcore.audit.findings import AttributeAudit, SchemeAudit
from dpcore.audit.full_audit import measure

__all__ = [
    "AttributeAudit",
    "Loss",
    "SchemeAudit",
    "at_most",
    "averaged",
    "audit_mechanism",
    "audit_scheme",
    "check_rows",
    "measure",
    "to_json",
    "to_markdown",
]
