"""A complete audit, and its certificate: Markdown to sign, JSON for programs, rows of `checks` for the warehouse."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from decimal import ROUND_CEILING, Context
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpcore._random import Source
from dpcore.audit.enumeration.loss import Loss
from dpcore.audit.findings import AttributeAudit, SchemeAudit
from dpcore.privacy.shuffling.central_epsilon import upward
from dpcore.protocol.domain.label import in_words
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax.fields import listed

if TYPE_CHECKING:
    from dpcore.audit.attacks.averaging import Averaging
    from dpcore.audit.attacks.lower_bound import LowerBound
    from dpcore.audit.publication import CentralGuarantee

_MEANING = (
    "For every two values of an attribute and every report, the probabilities of that report under the two values differ by "
    "a factor of at most e^epsilon.  The figures are exact: they come from enumerating the integers that clients draw with, "
    "not from a formula or a sample.  They apply to one report of one client that follows the scheme with this digest and uses "
    "the operating system's randomness.  Losses of several rounds add up, and participation is not hidden."
)
_TOGETHER = (
    "Joint counts of two attributes use the reports of the attributes.  The two reports are drawn independently, so the joint "
    "loss is at most the sum of both losses: a pair has no epsilon of its own."
)
_MEASURED = (
    "These figures are not part of the signed guarantee.  They are lower bounds of an attacker who runs the clients' code and "
    "knows everything but the value: with {confidence} % confidence, epsilon is at least this large.  For a correct client "
    "they "
    "stay below the promise."
)
_TRIALS_A_PERSON = 1000  # reports of a mechanism that take as long as the answers of one simulated respondent
_PEOPLE = (20, 500)  # least and most respondents of the averaging attack
_ROUND_UP = Context(prec=12, rounding=ROUND_CEILING)


def measure(audit: SchemeAudit, random: Source, *, trials: int | None = None) -> SchemeAudit:
    """Add the attacks to an audit: a lower bound per attribute, the averaging attack, and tests of the reports' distribution.

    random: the operating system's source, as clients use it, or a seeded source for reproducible results.  trials: reports for
    each of two values of each attribute, 1000 or more.

    Raises SchemeError for fewer trials, CalibrationError if a mechanism has no registered likelihood.
    """
    from dpcore.audit.attacks.averaging import averaging
    from dpcore.audit.attacks.lower_bound import TRIALS, lower_bound
    from dpcore.audit.attacks.report_distribution import faithfulness

    trials = TRIALS if trials is None else trials
    scheme = Scheme.from_toml(audit.canonical)
    attributes = tuple(
        replace(attribute, measured=lower_bound(scheme.attributes[attribute.name].mechanism, random, trials=trials))
        for attribute in audit.attributes
    )
    people = min(max(trials // _TRIALS_A_PERSON, _PEOPLE[0]), _PEOPLE[1])
    return replace(
        audit,
        attributes=attributes,
        averaging=averaging(scheme, random, people=people),
        faithfulness=faithfulness(scheme, random, trials=trials),
    )


def to_markdown(
    audits: Sequence[SchemeAudit], day: str, version: str, pictures: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the certificates of several schemes as one text.

    day: UTC date of the audit.  version: of ldpflow.  pictures: scheme's name -> path of its picture.
    """
    return "\n\n".join(_scheme_page(audit, day, version, pictures) for audit in audits) + "\n"


def to_json(audits: Sequence[SchemeAudit], day: str, version: str) -> str:
    """Return the certificates of several schemes as JSON; fractions are texts such as "178145/65536"."""
    certificates = [
        {
            "scheme": audit.name,
            "digest": audit.digest,
            "day": day,
            "version": version,
            "reporting": audit.reporting,
            "promised": audit.promised.text,
            **_numbers(audit.loss),
            "holds": audit.holds,
            "broken": list(audit.broken),
            "in_clear": dict(audit.public),
            "published": _guarantee_entry(audit.published),
            "attributes": [_entry(attribute) for attribute in audit.attributes],
            "pairs": [{"pair": pair.names, **_numbers(pair.loss), "how": pair.how} for pair in audit.pairs],
            "averaging": None if audit.averaging is None else asdict(audit.averaging),
            "law_of_reports": None if audit.faithfulness is None else asdict(audit.faithfulness),
        }
        for audit in audits
    ]
    return json.dumps({"certificates": certificates}, indent=1) + "\n"


def check_rows(audit: SchemeAudit, day: str) -> list[dict[str, Any]]:
    """Return rows of `checks`: `exact_epsilon(ATTRIBUTE)` for each attribute and `exact_epsilon` for the scheme.

    If attacks were run, also `lower_bound(ATTRIBUTE)` for each attribute, and `averaging` and `law_of_reports` for the scheme.
    """
    subject = f"{audit.name} {audit.digest[:16]} on {day}"
    rows = [
        _check(
            f"exact_epsilon({attribute.name})",
            attribute.proven,
            attribute.finding.loss,
            float(Loss.from_budget(attribute.promised)),
            f"{subject}: {attribute.mechanism}, {attribute.finding.loss.text}; {attribute.finding.how}",
        )
        for attribute in audit.attributes
    ]
    public = f"; public: {in_words(audit.public)}" if audit.public else ""
    total = f"{subject}: {_whole(audit)}, {audit.loss.text}{public}"
    rows.append(_check("exact_epsilon", audit.proven, audit.loss, float(Loss.from_budget(audit.promised)), total))
    for a in audit.attributes:
        if a.measured is not None:
            counted = f"{subject}: {_counted(a.measured)}; {a.measured.event}"
            rows.append(
                _check(
                    f"lower_bound({a.name})",
                    not a.contradiction,
                    a.measured.epsilon,
                    float(Loss.from_budget(a.promised)),
                    counted,
                )
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
    """Return the result of the averaging attack, as a sentence without its full stop."""
    first, last, fresh = (
        f"{100 * share:.1f} %" for share in (averaging.right[0], averaging.right[-1], averaging.fresh[-1])
    )
    return (
        f"of the guesses on {averaging.people} respondents, {first} are correct after one round and {last} after "
        f"{len(averaging.right)} rounds (with fresh noise: {fresh}); {averaging.changed} respondents "
        "changed an answer although their value was the same"
    )


def _entry(attribute: AttributeAudit) -> dict[str, Any]:
    finding = attribute.finding
    return {
        "attribute": attribute.name,
        "mechanism": attribute.mechanism,
        "promised": attribute.promised.text,
        **_numbers(finding.loss),
        "holds": attribute.holds,
        "how": finding.how,
        "worst": finding.worst,
        "sensitivity": list(finding.sensitivity),
        "doubts": list(finding.doubts),
        "measured": None if attribute.measured is None else asdict(attribute.measured),
        **({} if attribute.columns is None else {"of": list(attribute.columns)}),
        "digest": attribute.digest,
        "configuration": dict(attribute.configuration),
    }


def _numbers(loss: Loss) -> dict[str, Any]:
    """Return the loss as texts and floats; an unbounded loss has no bracket, because JSON has no infinity."""
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
    unbounded = [attribute.name for attribute in audit.attributes if not attribute.promised.is_finite]
    if unbounded and audit.holds:
        verdict = f"Nothing is promised for {listed(tuple(unbounded))}: epsilon is infinite, so a report may reveal the value."
    head = [
        f"# Privacy certificate: {audit.name}",
        f"{verdict}  {audit.broken[0]}." if audit.broken else verdict,
        f"- scheme digest: `{audit.digest}`\n- made: {day} (UTC), by ldpflow {version}\n"
        f"- a client's total in a round: epsilon = {at_most(audit.loss)}, promised {audit.promised.text} ({_whole(audit)})"
        + (f"\n- public, not covered by epsilon: {in_words(audit.public)}" if audit.public else ""),
        _MEANING,
    ]
    lines = [
        "| attribute | mechanism | promised epsilon | certified epsilon | certified, exact | holds |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {a.name} | {a.mechanism} | {a.promised.text} | {at_most(a.finding.loss)} | {a.finding.loss.text} "
        f"| {'yes' if a.holds else 'NO'} |"
        for a in audit.attributes
    ]
    measured = _published(audit) + _measured(audit, pictures.get(audit.name))
    sign = "Signed: ______________________________    Date: ______________"
    sections = [_section(attribute) for attribute in audit.attributes]
    return "\n\n".join([*head, "\n".join(lines), *_pairs(audit), *measured, *sections, sign])


def _pairs(audit: SchemeAudit) -> list[str]:
    """Return the section on joint counts of pairs; empty if there are no pairs."""
    lines = [f"- {pair.words}" for pair in audit.pairs]
    return ["## Pairs of attributes", _TOGETHER, "\n".join(lines)] if lines else []


def _published(audit: SchemeAudit) -> list[str]:
    """Return the section on central epsilon by shuffling, by unit; empty if it was not computed."""
    guarantee = audit.published
    if guarantee is None:
        return []
    lines = ["| unit | central epsilon, at most | delta |", "|---|---|---|"]
    lines += [
        f"| {', '.join(unit)} | {upward(figure.epsilon)} | {figure.delta:.3g} |"
        for unit, figure in guarantee.units.items()
    ]
    sentence = f"{guarantee.words[0].upper()}{guarantee.words[1:]}."
    return ["## What publication reveals", sentence, *(["\n".join(lines)] if guarantee.units else [])]


def _guarantee_entry(guarantee: CentralGuarantee | None) -> dict[str, Any] | None:
    if guarantee is None:
        return None
    whole = None if guarantee.whole is None else asdict(guarantee.whole)
    units = [{"attributes": list(unit), **asdict(figure)} for unit, figure in guarantee.units.items()]
    return {
        "reports": guarantee.reports,
        "whole": whole,
        "units": units,
        "refusals": list(guarantee.refusals),
        "words": guarantee.words,
    }


def _measured(audit: SchemeAudit, picture: str | None) -> list[str]:
    """Return the section on attacks; empty if none were run."""
    bounds = [(a, a.measured) for a in audit.attributes if a.measured is not None]
    if not bounds:
        return []
    lines = ["| attribute | promised | lower bound from reports | counts | statistic |", "|---|---|---|---|---|"]
    lines += [
        f"| {a.name} | {a.promised.text} | {bound.epsilon:.4f} | {_counted(bound)} | {bound.event} |"
        for a, bound in bounds
    ]
    text = _MEASURED.format(confidence=f"{100 * bounds[0][1].confidence:g}")
    tests = [] if audit.averaging is None else [f"Repeated rounds: {averaged(audit.averaging)}."]
    tests += [] if audit.faithfulness is None else [f"Distribution of reports: {audit.faithfulness.words}."]
    drawn = [] if picture is None else [f"![promised, proven and shown]({picture})"]
    return ["## What reports show", text, "\n".join(lines), *tests, *drawn]


def _section(attribute: AttributeAudit) -> str:
    finding, sensitivity = attribute.finding, ", ".join(map(str, attribute.finding.sensitivity))
    together = (
        []
        if attribute.columns is None
        else [f"- joint attribute of {' and '.join(attribute.columns)}: the loss covers both"]
    )
    lines = [
        *together,
        f"- enumerated: {finding.how}",
        f"- largest loss: {finding.worst}",
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
    """Return the loss with twelve digits, rounded up."""
    return "unbounded" if loss.ratio is None else f"{_ROUND_UP.create_decimal(loss.bracket[1]).normalize():f}"


def _whole(audit: SchemeAudit) -> str:
    return (
        "the sum over attributes"
        if audit.reporting == "all"
        else "the largest per-unit loss; a client reports one unit"
    )
