"""How an answer differs from the expected one: the first difference, in the order in which a client makes a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dpcore.conformance.cases import NO_RECORD, NO_SCHEME, Case
from dpcore.errors import RefusedReport
from dpcore.protocol import tokens
from dpcore.wire.json_report import layouts

_SHOWN = 60  # characters of an answer that is no report
_EXPECTED = {NO_RECORD: "the client must refuse the record", NO_SCHEME: "the client must refuse the scheme"}
_KEYS = {  # of a report -> what is wrong if they alone differ
    "format": "the format of reports",
    "scheme": "the digest: SHA-256 of scheme.toml, in lower-case hexadecimal",
    "report": "the report's id: the first four words, little-endian, in base64url",
    "client": "the token: made of the secret and the digest; absent without a secret",
    "round": "the round",
}


def difference(case: Case, answer: str) -> str | None:
    """Return in one line how a printed line differs from a case's expected one; None if it does not."""
    if answer == case.expected:
        return None
    document, expected = _parsed(answer), json.loads(case.expected)
    if not isinstance(document, dict):
        return f"expected one line of JSON, an object; got {_short(answer)}"
    if case.expected in _EXPECTED:
        return f"{_EXPECTED[case.expected]}: expected {case.expected}, got {_short(answer)}"
    if "answers" not in document:
        return f"expected a report, got {_short(answer)}"
    for key, name in _KEYS.items():
        if document.get(key) != expected.get(key):
            return f"{name}: {key} is {_short(document.get(key))}, expected {_short(expected.get(key))}"
    answers = document["answers"]
    if not isinstance(answers, dict) or set(answers) != set(expected["answers"]):
        names = list(answers) if isinstance(answers, dict) else answers
        return f"the attributes that are answered: {_short(names)}, expected {_short(list(expected['answers']))}"
    return _of_answers(case, answers, expected["answers"]) or (
        "the spelling: the content is right; no spaces, keys and attributes in their order, no escapes"
    )


def _of_answers(case: Case, answers: Mapping[str, Any], expected: Mapping[str, str]) -> str | None:
    """The first difference between answers, with its level or its integers."""
    for name, layout in layouts(case.scheme).items():
        if name not in expected or answers[name] == expected[name]:
            continue
        where = f"attribute {name!r} ({layout.mechanism.name})" if name in case.scheme.attributes else f"label {name!r}"
        data = tokens.from_text(answers[name]) if isinstance(answers[name], str) else None
        spelled = f"{where}: the encoding: {_short(answers[name])}, expected {_short(expected[name])}"
        if data is None:
            return f"{spelled}; it is not base64url without padding"
        right_level, right = layout.unpack(tokens.from_text(expected[name]) or b"")
        try:
            level, values = layout.unpack(data)
        except RefusedReport as refused:
            return f"{spelled}; {refused}"
        if level != right_level:
            return f"{where}: the level is {level}, expected {right_level}"
        place = next(place for place, (one, other) in enumerate(zip(values, right, strict=True)) if one != other)
        which = "" if len(right) == 1 else f" {place} of {len(right)}"
        return f"{where}: integer{which} at level {level} is {values[place]}, expected {right[place]}"
    return None


def _parsed(answer: str) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")
