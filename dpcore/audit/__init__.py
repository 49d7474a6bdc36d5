"""Audits: what a scheme really keeps, found without asking its mechanisms what they believe."""

from dpcore.audit.certificate import at_most, averaged, check_rows, to_json, to_markdown
from dpcore.audit.exact import AttributeAudit, SchemeAudit, audit_mechanism, audit_scheme
from dpcore.audit.loss import Loss
from dpcore.audit.measure import measure

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
