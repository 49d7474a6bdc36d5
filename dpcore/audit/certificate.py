"""An audit as something to sign: Markdown for people, JSON for programs, rows of `checks` for the warehouse."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import ROUND_CEILING, Context
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpcore.audit.enumeration.loss import Loss
from dpcore.audit.findings import AttributeAudit, SchemeAudit
from dpcore.privacy.shuffling.central_epsilon import upward
from dpcore.protocol.domain.label import in_words
from dpcore.protocol.syntax.fields import listed

if TYPE_CHECKING:
    from dpcore.audit.attacks.averaging import Averaging
    from dpcore.audit.attacks.lower_bound import LowerBound
    from dpcore.audit.publication import Crowd

_MEANING = (
    "For every two values of an attribute and every report, the probabilities of that report under the two values differ by "
    "a factor of at most e^epsilon.  The figures are exact: they come from enumerating the integers that clients draw with, "
    "not from a formula or a sample.  They hold for one report of one client, drawn with the operating system's randomness by "
    "a client that follows the scheme with this digest; rounds add up, and taking part is not hidden."
)
_TOGETHER = (
    "Joint counts of two attributes are made of the reports that are sent anyway.  The two are drawn independently of one "
    "another, so that whoever sees both learns at most what each tells, added up: a pair has no epsilon of its own."
)
_MEASURED = (
    "These are not figures to sign.  They are what an attacker finds who runs the clients' code and knows everything but the "
    "value: at {confidence} % confidence no epsilon below the one found is kept.  A faithful client stays below its promise."
)
_ROUND_UP = Context(prec=12, rounding=ROUND_CEILING)


def to_markdown(
    audits: Sequence[SchemeAudit], day: str, version: str, pictures: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the certificates of some schemes, one after another.

    day: when they were made, UTC.  version: of ldpflow.  pictures: where a scheme's picture is, by the scheme's name.
    """
    return "\n\n".join(_scheme_page(audit, day, version, pictures) for audit in audits) + "\n"


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
            "in_clear": dict(audit.in_clear),
            "published": _told(audit.published),
            "attributes": [_entry(attribute) for attribute in audit.attributes],
            "pairs": [{"pair": pair.names, **_numbers(pair.kept), "how": pair.how} for pair in audit.pairs],
            "averaging": None if audit.averaging is None else asdict(audit.averaging),
            "law_of_reports": None if audit.faithfulness is None else asdict(audit.faithfulness),
        }
        for audit in audits
    ]
    return json.dumps({"certificates": certificates}, indent=1) + "\n"


def check_rows(audit: SchemeAudit, day: str) -> list[dict[str, Any]]:
    """Return rows of `checks`: `exact_epsilon(ATTRIBUTE)` for each attribute and `exact_epsilon` for the whole.

    Where reports were looked at, also `lower_bound(ATTRIBUTE)` for each, `averaging` and `law_of_reports` for the whole.
    """
    subject = f"{audit.name} {audit.digest[:16]} on {day}"
    rows = [
        _check(
            f"exact_epsilon({attribute.name})",
            attribute.proven,
            attribute.found.kept,
            float(Loss.of(attribute.promised)),
            f"{subject}: {attribute.mechanism}, {attribute.found.kept.text}; {attribute.found.how}",
        )
        for attribute in audit.attributes
    ]
    beside = f"; sent in clear: {in_words(audit.in_clear)}" if audit.in_clear else ""
    total = f"{subject}: {_whole(audit)}, {audit.kept.text}{beside}"
    rows.append(_check("exact_epsilon", audit.proven, audit.kept, float(Loss.of(audit.promised)), total))
    for a in audit.attributes:
        if a.measured is not None:
            counted = f"{subject}: {_counted(a.measured)}; {a.measured.event}"
            rows.append(
                _check(f"lower_bound({a.name})", not a.belied, a.measured.epsilon, float(Loss.of(a.promised)), counted)
            )
    if audit.averaging is not None:
        averaging = audit.averaging
        rows.append(_check("averaging", averaging.holds, averaging.gain, 0.0, f"{subject}: {averaged(averaging)}"))
    if (drawn := audit.faithfulness) is not None:
        rows.append(_check("law_of_reports", drawn.holds, len(drawn.strays), 0.0, f"{subject}: {drawn.words}"))
    return rows


def _check(name: str, passed: bool, observed: Loss | float, threshold: float, detail: str) -> dict[str, Any]:
    return {"name": name, "passed": passed, "observed": float(observed), "threshold": threshold, "detail": detail}


def _counted(bound: LowerBound) -> str:
    confidence = f"{100 * bound.confidence:g} % confidence"
    return f"{bound.hits[0]:,} against {bound.hits[1]:,} of {bound.trials:,} reports each, {confidence}"


def averaged(averaging: Averaging) -> str:
    """Return what asking again found, in a sentence without its full stop."""
    first, last, fresh = (
        f"{100 * share:.1f} %" for share in (averaging.right[0], averaging.right[-1], averaging.fresh[-1])
    )
    return (
        f"of {averaging.people} people {first} are guessed right after one round and {last} after {len(averaging.right)}, "
        f"{fresh} where clients forget their secret; {averaging.changed} gave another answer though nothing had changed"
    )


def _entry(attribute: AttributeAudit) -> dict[str, Any]:
    finding = attribute.found
    return {
        "attribute": attribute.name,
        "mechanism": attribute.mechanism,
        "promised": attribute.promised.text,
        **_numbers(finding.kept),
        "holds": attribute.holds,
        "how": finding.how,
        "worst": finding.worst,
        "sensitivity": list(finding.sensitivity),
        "doubts": list(finding.doubts),
        "measured": None if attribute.measured is None else asdict(attribute.measured),
        **({} if attribute.of is None else {"of": list(attribute.of)}),
        "digest": attribute.digest,
        "configuration": dict(attribute.configuration),
    }


def _numbers(loss: Loss) -> dict[str, Any]:
    """The loss as texts and floats; JSON has no infinity, so that an unbounded loss has no bracket."""
    low, high = loss.bracket
    bounded = loss.ratio is not None
    return {
        "kept": loss.text,
        "kept_ratio": str(loss.ratio) if bounded else None,
        "kept_loss": str(loss.rational),
        "epsilon_low": low if bounded else None,
        "epsilon_high": high if bounded else None,
    }


def _scheme_page(audit: SchemeAudit, day: str, version: str, pictures: Mapping[str, str]) -> str:
    verdict = "Every promise is kept." if audit.holds else "A promise is BROKEN.  Do not sign."
    sure = [attribute.name for attribute in audit.attributes if not attribute.promised.is_finite]
    if sure and audit.holds:
        verdict = f"Nothing is promised of {listed(tuple(sure))}, whose epsilon is infinite: a report may say for sure."
    head = [
        f"# Privacy certificate: {audit.name}",
        f"{verdict}  {audit.broken[0]}." if audit.broken else verdict,
        f"- scheme digest: `{audit.digest}`\n- made: {day} (UTC), by ldpflow {version}\n"
        f"- a client's total in a round: epsilon = {at_most(audit.kept)}, promised {audit.promised.text} ({_whole(audit)})"
        + (f"\n- public, not covered by epsilon: {in_words(audit.in_clear)}" if audit.in_clear else ""),
        _MEANING,
    ]
    lines = [
        "| attribute | mechanism | promised epsilon | kept epsilon | kept, exact | holds |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {a.name} | {a.mechanism} | {a.promised.text} | {at_most(a.found.kept)} | {a.found.kept.text} "
        f"| {'yes' if a.holds else 'NO'} |"
        for a in audit.attributes
    ]
    measured = _published(audit) + _measured(audit, pictures.get(audit.name))
    sign = "Signed: ______________________________    Date: ______________"
    sections = [_section(attribute) for attribute in audit.attributes]
    return "\n\n".join([*head, "\n".join(lines), *_pairs(audit), *measured, *sections, sign])


def _pairs(audit: SchemeAudit) -> list[str]:
    """What the joint counts of pairs cost; nothing where a scheme has none."""
    lines = [f"- {pair.words}" for pair in audit.pairs]
    return ["## Two answers together", _TOGETHER, "\n".join(lines)] if lines else []


def _published(audit: SchemeAudit) -> list[str]:
    """The second figure, attribute by attribute; nothing where nobody has looked."""
    told = audit.published
    if told is None:
        return []
    lines = ["| counted together | epsilon, published, at most | delta |", "|---|---|---|"]
    lines += [f"| {', '.join(unit)} | {upward(each.epsilon)} | {each.delta:.3g} |" for unit, each in told.units.items()]
    sentence = f"{told.words[0].upper()}{told.words[1:]}."
    return ["## What publication reveals", sentence, *(["\n".join(lines)] if told.units else [])]


def _told(told: Crowd | None) -> dict[str, Any] | None:
    if told is None:
        return None
    whole = None if told.whole is None else asdict(told.whole)
    units = [{"attributes": list(unit), **asdict(figure)} for unit, figure in told.units.items()]
    return {
        "reports": told.reports,
        "whole": whole,
        "units": units,
        "refusals": list(told.refusals),
        "words": told.words,
    }


def _measured(audit: SchemeAudit, picture: str | None) -> list[str]:
    """What reports alone show; nothing where nobody has looked."""
    bounds = [(a, a.measured) for a in audit.attributes if a.measured is not None]
    if not bounds:
        return []
    lines = ["| attribute | promised | reports show at least | counted | looked at |", "|---|---|---|---|---|"]
    lines += [
        f"| {a.name} | {a.promised.text} | {bound.epsilon:.4f} | {_counted(bound)} | {bound.event} |"
        for a, bound in bounds
    ]
    text = _MEASURED.format(confidence=f"{100 * bounds[0][1].confidence:g}")
    again = [] if audit.averaging is None else [f"Asked again and again: {averaged(audit.averaging)}."]
    again += [] if audit.faithfulness is None else [f"Drawn as stated: {audit.faithfulness.words}."]
    drawn = [] if picture is None else [f"![promised, proven and shown]({picture})"]
    return ["## What reports show", text, "\n".join(lines), *again, *drawn]


def _section(attribute: AttributeAudit) -> str:
    finding, sensitivity = attribute.found, ", ".join(map(str, attribute.found.sensitivity))
    together = (
        []
        if attribute.of is None
        else [f"- {' and '.join(attribute.of)} are asked together: the loss is of both at once"]
    )
    lines = [
        *together,
        f"- enumerated: {finding.how}",
        f"- attained: {finding.worst}",
        *([f"- sensitivity of each table, lattice units: {sensitivity}"] if sensitivity else []),
        *(f"- DOUBT: {doubt}" for doubt in finding.doubts),
        *(
            f"- {key} = {json.dumps(value) if isinstance(value, (list, tuple)) else value}"
            for key, value in attribute.configuration.items()
        ),
        f"- digest of these: `{attribute.digest}`",
    ]
    return f"## {attribute.name}\n\n" + "\n".join(lines)


def at_most(loss: Loss) -> str:
    """Twelve digits that are not below the loss."""
    return "unbounded" if loss.ratio is None else f"{_ROUND_UP.create_decimal(loss.bracket[1]).normalize():f}"


def _whole(audit: SchemeAudit) -> str:
    return "the sum over attributes" if audit.reporting == "all" else "the dearest unit; a client reports one"
