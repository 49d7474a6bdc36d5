"""A complete audit: the exact loss by enumeration, and attacks on the clients' code."""

from __future__ import annotations

from dataclasses import replace

from dpcore._random import Source
from dpcore.audit.attacks.averaging import averaging
from dpcore.audit.attacks.lower_bound import TRIALS, lower_bound
from dpcore.audit.attacks.report_distribution import faithfulness
from dpcore.audit.findings import SchemeAudit
from dpcore.protocol.scheme import Scheme

_TRIALS_A_PERSON = 1000  # reports of a mechanism that take as long as the answers of one simulated respondent
_PEOPLE = (20, 500)  # least and most respondents of the averaging attack


def measure(audit: SchemeAudit, random: Source, *, trials: int = TRIALS) -> SchemeAudit:
    """Add the attacks to an audit: a lower bound per attribute, the averaging attack, and tests of the reports' distribution.

    random: the operating system's source, as clients use it, or a seeded source for reproducible results.  trials: reports for
    each of two values of each attribute, 1000 or more.

    Raises SchemeError for fewer trials, CalibrationError if a mechanism has no registered likelihood.
    """
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
