"""An audit as something to sign: Markdown for people, JSON for programs, rows of `checks` for the warehouse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from typing import Any

from dpcore.audit.exact import AttributeAudit, SchemeAudit
from dpcore.audit.loss import Loss

_MEANING = (
    "For every two values of an attribute and every report, the probabilities of that report under the two values differ by "
    "a factor of at most e^epsilon.  The figures are exact: they come from enumerating the integers that clients draw with, "
    "not from a formula or a sample.  They hold for one report of one client, drawn with the operating system's randomness by "
    "a client that follows the scheme with this digest; rounds add up, and taking part is not hidden."
)
_ROUND_UP = Context(prec=12, rounding=ROUND_CEILING)


def to_markdown(audits: Sequence[SchemeAudit], day: str, version: str) -> str:
    """Return the certificates of some schemes, one after another.

    day: when they were made, UTC.  version: of ldpflow.
    """
    return "\n\n".join(_scheme_page(audit, day, version) for audit in audits) + "\n"


def to_json(audits: Sequence[SchemeAudit], day: str, version: str) -> str:
    """Return the certificates of some schemes; fractions are texts such as "178145/65536"."""
    certificates = [
        {
            "scheme": audit.name,
            "digest": audit.digest,
            "day": day,
            "version": version,
            "reporting": audit.reporting,
            "promised": audit.promised.text,
            **_numbers(audit.kept),
            "holds": audit.holds,
            "broken": list(audit.broken),
            "attributes": [_entry(attribute) for attribute in audit.attributes],
        }
        for audit in audits
    ]
    return json.dumps({"certificates": certificates}, indent=1) + "\n"


def check_rows(audit: SchemeAudit, day: str) -> list[dict[str, Any]]:
    """Return rows of `checks`: `exact_epsilon(ATTRIBUTE)` for each attribute and `exact_epsilon` for the whole."""
    of = f"{audit.name} {audit.digest[:16]} on {day}"
    rows = [
        _check(
            f"exact_epsilon({attribute.name})",
            attribute.holds,
            attribute.found.kept,
            float(Loss.of(attribute.promised)),
            f"{of}: {attribute.mechanism}, {attribute.found.kept.text}; {attribute.found.how}",
        )
        for attribute in audit.attributes
    ]
    total = f"{of}: {_whole(audit)}, {audit.kept.text}"
    return [*rows, _check("exact_epsilon", audit.holds, audit.kept, float(Loss.of(audit.promised)), total)]


def _check(name: str, passed: bool, kept: Loss, promised: float, detail: str) -> dict[str, Any]:
    return {"name": name, "passed": passed, "observed": float(kept), "threshold": promised, "detail": detail}


def _entry(attribute: AttributeAudit) -> dict[str, Any]:
    found = attribute.found
    return {
        "attribute": attribute.name,
        "mechanism": attribute.mechanism,
        "promised": attribute.promised.text,
        **_numbers(found.kept),
        "holds": attribute.holds,
        "how": found.how,
        "worst": found.worst,
        "sensitivity": list(found.sensitivity),
        "doubts": list(found.doubts),
        "digest": attribute.digest,
        "configuration": dict(attribute.configuration),
    }


def _numbers(kept: Loss) -> dict[str, Any]:
    """The loss as texts and floats; JSON has no infinity, so that an unbounded loss has no bracket."""
    low, high = kept.bracket
    bounded = kept.ratio is not None
    return {
        "kept": kept.text,
        "kept_ratio": str(kept.ratio) if bounded else None,
        "kept_loss": str(kept.rational),
        "epsilon_low": low if bounded else None,
        "epsilon_high": high if bounded else None,
    }


def _scheme_page(audit: SchemeAudit, day: str, version: str) -> str:
    verdict = "Every promise is kept." if audit.holds else "A promise is BROKEN.  Do not sign."
    head = [
        f"# Privacy certificate: {audit.name}",
        f"{verdict}  {audit.broken[0]}." if audit.broken else verdict,
        f"- scheme digest: `{audit.digest}`\n- made: {day} (UTC), by ldpflow {version}\n"
        f"- a client's total in a round: epsilon = {at_most(audit.kept)}, promised {audit.promised.text} ({_whole(audit)})",
        _MEANING,
    ]
    lines = [
        "| attribute | mechanism | promised epsilon | kept epsilon | kept, exact | holds |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {a.name} | {a.mechanism} | {a.promised.text} | {at_most(a.found.kept)} | {a.found.kept.text} | {_yes(a)} |"
        for a in audit.attributes
    ]
    sign = "Signed: ______________________________    Date: ______________"
    return "\n\n".join([*head, "\n".join(lines), *(_section(attribute) for attribute in audit.attributes), sign])


def _section(attribute: AttributeAudit) -> str:
    found = attribute.found
    lines = [
        f"- enumerated: {found.how}",
        f"- attained: {found.worst}",
        *([f"- sensitivity of each table, lattice units: {_listed(found.sensitivity)}"] if found.sensitivity else []),
        *(f"- DOUBT: {doubt}" for doubt in found.doubts),
        *(f"- {key} = {_value(value)}" for key, value in attribute.configuration.items()),
        f"- digest of these: `{attribute.digest}`",
    ]
    return f"## {attribute.name}\n\n" + "\n".join(lines)


def _value(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (list, tuple)) else str(value)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def at_most(kept: Loss) -> str:
    """Twelve digits that are not below the loss."""
    return "unbounded" if kept.ratio is None else f"{_ROUND_UP.create_decimal(kept.bracket[1]).normalize():f}"


def _whole(audit: SchemeAudit) -> str:
    return "the sum over attributes" if audit.reporting == "all" else "the dearest unit; a client reports one"


def _yes(attribute: AttributeAudit) -> str:
    return "yes" if attribute.holds else "NO"
