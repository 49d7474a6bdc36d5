"""Conformance: cases that a client in any language is tried on, and how its answer differs from the expected one.

Here: schemes, records and random words that are known, and what a client makes of them.  Not here: the program that is tried,
and files (`cli`).  May import client, wire, protocol, mechanisms and errors; needs numpy alone.

Modules:
    cases: the cases of a scheme, as lines of JSON, with random words that are known
    differences: how an answer differs from the expected one
    schemes: schemes and records that every client is tried on
"""

from dpcore.conformance.cases import Case, all_cases, cases_of
from dpcore.conformance.differences import difference

__all__ = ["Case", "all_cases", "cases_of", "difference"]
