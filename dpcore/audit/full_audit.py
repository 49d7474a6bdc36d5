"""An audit's two halves together: what enumeration proves of the integers, and what running the clients' code shows."""

from __future__ import annotations

from dataclasses import replace

from dpcore._random import Source
from dpcore.audit.attacks.averaging import averaging
from dpcore.audit.attacks.lower_bound import TRIALS, lower_bound
from dpcore.audit.attacks.report_distribution import faithfulness
from dpcore.audit.findings import SchemeAudit
from dpcore.protocol.scheme import Scheme

_TRIALS_A_PERSON = 1000  # a person's answers cost as much as so many reports of a mechanism
_PEOPLE = (20, 500)


def measure(audit: SchemeAudit, random: Source, *, trials: int = TRIALS) -> SchemeAudit:
    """Return the audit with its black-box half: a lower bound for each attribute, the averaging attack, the law of reports.

    random: the operating system's, as clients use it; a seeded source makes it reproducible.  trials: reports of either of two
    values for each attribute, 1000 or more.

    Raises SchemeError for fewer trials, CalibrationError where the likelihood of a mechanism is not known.
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
