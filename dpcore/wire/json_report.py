"""One report as JSON: what a client posts, with the payload of each attribute.

    {"format":1,"scheme":"<64 hex digits>","report":"<id>","client":"<token>","round":"2026-11-20","answers":{"income":"AxQ"}}

One spelling.  These keys in this order without spaces, `client` left out where there is no token, the answers in the
scheme's order, ids and tokens 16 bytes and payloads (see below) those of the mechanism, all in base64url without padding.  Two
reports are the same exactly where their bytes are, so that a replay cannot hide in a space.

What is not one of these is refused with one reason of `REASONS`, looked for in their order (the answers one by one, in the
scheme's), and nothing that it holds is shown.  `collector/static/client/report.mjs` reads and writes the same; tests/vectors
holds both to it.

The payload: one attribute's level and integers as bytes, one spelling each.

The level is one byte, left out where the mechanism has a single level.  Every integer is written as its distance from the
lowest value that the mechanism's `ranges` allow there, little-endian, in as few bytes as the largest such distance needs.  So
a payload's length follows from its level, a dyadic-wave report is at most three bytes, and what is out of range has no
spelling or is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from dpcore.errors import InvalidReport, RefusedReport
from dpcore.mechanisms import Mechanism
from dpcore.protocol import tokens
from dpcore.protocol.report import Report
from dpcore.protocol.scheme import Scheme

FORMAT = 1
REASONS = (
    "too_large",  # longer than any report of the scheme
    "not_json",  # not an object of JSON in UTF-8
    "unknown_key",
    "missing_key",
    "wrong_type",
    "unknown_format",  # of another version
    "wrong_scheme",  # of another digest
    "malformed_id",  # not 16 bytes in base64url, or all of them zero
    "malformed_token",  # the same
    "malformed_round",
    "malformed_payload",  # not base64url without padding
    "incomplete",  # not the answers that the scheme asks of one client
    "wrong_unit",  # not the answers that the token determines
    "wrong_length",  # a payload shorter or longer than its level requires
    "unknown_level",
    "wrong_level",  # not the level that the token determines
    "out_of_range",  # integers that no client can send
    "not_canonical",  # the right content in another spelling: spaces, another order, a key twice, escapes
)
ROUND_NAME = re.compile(r"(?:[0-9A-Za-z](?:[0-9A-Za-z._:-]{0,62}))?")
LEAST_BYTES = len('{"format":1,"scheme":"","report":"","round":"","answers":{}}') + 64 + 22  # of a report of any scheme
_KEYS = ("format", "scheme", "report", "client", "round", "answers")
_ROOM = 1 + len('{"format":,"scheme":"","report":"","client":"","round":"","answers":{}}') + 64 + 22 + 22 + 63
Answer = tuple[int, tuple[int, ...]]


def write_report(report: Report, scheme: Scheme) -> bytes:
    """Return the bytes of one report; raises InvalidReport for no id, a token of another make, or a value out of range."""
    layout_of = layouts(scheme)
    answers = {
        name: tokens.to_text(layout_of[name].pack(report.answers[name])) for name in layout_of if name in report.answers
    }
    if not _is_name(report.id) or not (report.token is None or _is_name(report.token)):
        raise InvalidReport(
            "a report travels with an id and a token of 16 bytes each, or without a token; see dpcore.protocol.tokens"
        )
    if not ROUND_NAME.fullmatch(report.sent_for):
        raise InvalidReport("a round is at most 63 letters, digits and ._:- such as 2026-11-20")
    return _spell(report, answers)


def read_report(content: bytes, scheme: Scheme) -> Report:
    """Return the report in some bytes, `write_report`'s inverse; raises RefusedReport for any others."""
    if len(content) > most_bytes(scheme):
        raise RefusedReport("too_large", f"at most {most_bytes(scheme)} bytes")
    document = _document(content)
    _check_keys(document)
    _check_names(document, scheme)
    answers = _answers(document, scheme)
    report = Report(document["scheme"], answers, document["report"], document.get("client"), document["round"])
    if _spell(report, {name: document["answers"][name] for name in answers}) != content:
        raise RefusedReport("not_canonical", "keys in order, once each, without spaces or escapes")
    return report


@lru_cache(maxsize=64)
def most_bytes(scheme: Scheme) -> int:
    """Return how many bytes a report of the scheme has at most."""
    answers = sum(len(f'"{name}":"",') - (-4 * layout.longest // 3) for name, layout in layouts(scheme).items())
    return _ROOM + answers


def _spell(report: Report, answers: dict[str, str]) -> bytes:
    document: dict[str, Any] = {"format": FORMAT, "scheme": report.digest, "report": report.id}
    if report.token is not None:
        document["client"] = report.token
    document |= {"round": report.sent_for, "answers": answers}
    return json.dumps(document, separators=(",", ":")).encode()


def _document(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise RefusedReport("not_json", "an object of JSON in UTF-8") from None
    if not isinstance(document, dict):
        raise RefusedReport("not_json", "an object of JSON in UTF-8")
    return document


def _no_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are no JSON


def _check_keys(document: dict[str, Any]) -> None:
    if any(key not in _KEYS for key in document):
        raise RefusedReport("unknown_key", f"keys of {', '.join(_KEYS)}")
    if any(key not in document for key in _KEYS if key != "client"):
        raise RefusedReport("missing_key", f"all of {', '.join(_KEYS)}, but for client")
    texts = all(type(document[key]) is str for key in document if key not in ("format", "answers"))
    answers = document["answers"]
    if not texts or type(document["format"]) not in (int, float) or type(answers) is not dict:
        raise RefusedReport("wrong_type", "a number as format, an object as answers, texts elsewhere")
    if any(type(answer) is not str for answer in answers.values()):
        raise RefusedReport("wrong_type", "a text for each answer")


def _check_names(document: dict[str, Any], scheme: Scheme) -> None:
    if document["format"] != FORMAT:
        raise RefusedReport("unknown_format", f"format {FORMAT}; a higher one was written by a newer ldpflow")
    if document["scheme"] != scheme.digest:
        raise RefusedReport("wrong_scheme", f"scheme {scheme.digest[:12]}")
    if not _is_name(document["report"]):
        raise RefusedReport("malformed_id", "16 bytes in base64url")
    if "client" in document and not _is_name(document["client"]):
        raise RefusedReport("malformed_token", "16 bytes in base64url")
    if not ROUND_NAME.fullmatch(document["round"]):
        raise RefusedReport("malformed_round", "at most 63 letters, digits and ._:-")


def _is_name(text: str) -> bool:
    data = tokens.from_text(text) if len(text) == 22 else None
    return data is not None and any(data)


def _answers(document: dict[str, Any], scheme: Scheme) -> dict[str, Answer]:
    payloads = {name: tokens.from_text(text) for name, text in document["answers"].items()}
    if any(data is None for data in payloads.values()):
        raise RefusedReport("malformed_payload", "base64url without padding")
    units = scheme.units if scheme.reporting == "one" else (tuple(scheme.attributes),)
    if set(payloads) not in [{*unit, *scheme.labels} for unit in units]:
        raise RefusedReport("incomplete", "an answer to everything that the scheme asks of one client, and its labels")
    levels = tokens.public_levels(scheme, document["client"]) if "client" in document else {}
    levels |= dict.fromkeys(scheme.labels, 0) if levels else {}
    if levels and set(payloads) != set(levels):
        raise RefusedReport("wrong_unit", "the answers that the client's token determines")
    layout_of, answers = layouts(scheme), {}
    for name in layout_of:
        data = payloads.get(name)
        if data is not None:
            answers[name] = layout_of[name].unpack(data)
            if levels and answers[name][0] != levels[name]:
                raise RefusedReport("wrong_level", "the level that the client's token determines")
    return answers


@dataclass(frozen=True, eq=False)
class Layout:
    """How the payloads of one mechanism are laid out."""

    mechanism: Mechanism

    @cached_property
    def levels(self) -> tuple[tuple[tuple[int, int, int], ...], ...]:
        """Of each level the lowest value, the highest value and the number of bytes of each integer."""
        levels = []
        for level in range(len(self.mechanism.sizes)):
            lowest, highest = (limit.tolist() for limit in self.mechanism.ranges(level))
            widths = [max(1, ((high - low).bit_length() + 7) // 8) for low, high in zip(lowest, highest, strict=True)]
            levels.append(tuple(zip(lowest, highest, widths, strict=True)))
        return tuple(levels)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many bytes a payload of each level has, its level's own left out."""
        return tuple(sum(width for _, _, width in level) for level in self.levels)

    @property
    def head(self) -> int:
        """How many bytes say the level: one, or none where there is a single level."""
        return int(len(self.levels) > 1)

    @cached_property
    def longest(self) -> int:
        """How many bytes the longest payload has."""
        return self.head + max(self.lengths)

    def pack(self, answer: Answer) -> bytes:
        """Return the bytes of an answer; raises InvalidReport where it is none of the mechanism's."""
        level, values = answer
        is_shaped = 0 <= level < len(self.levels) and len(values) == len(self.levels[level])
        if not is_shaped or not self._accepts(level, values):
            raise InvalidReport(f"a report that {self.mechanism.name} could not have sent has no spelling")
        parts = [bytes([level] * self.head)]
        for value, (low, _, width) in zip(values, self.levels[level], strict=True):
            parts.append((value - low).to_bytes(width, "little"))
        return b"".join(parts)

    def unpack(self, payload: bytes) -> Answer:
        """Return the answer that `pack` writes as these bytes.

        Raises RefusedReport with one of 'wrong_length', 'unknown_level', 'out_of_range' where there is none.
        """
        if len(payload) < self.head:
            raise RefusedReport("wrong_length", "a payload of at least one byte, which is its level")
        level = payload[0] if self.head else 0
        if level >= len(self.levels):
            raise RefusedReport("unknown_level", f"a level below {len(self.levels)}")
        if len(payload) != self.head + self.lengths[level]:
            raise RefusedReport("wrong_length", "a payload has as many bytes as its level requires")
        values, start = [], self.head
        for low, _, width in self.levels[level]:
            values.append(low + int.from_bytes(payload[start : start + width], "little"))
            start += width
        if not self._accepts(level, tuple(values)):
            raise RefusedReport("out_of_range", "integers that the mechanism can send")
        return level, tuple(values)

    def _accepts(self, level: int, values: tuple[int, ...]) -> bool:
        """As `mechanism.accepts`, without arrays: one report at a time is small."""
        inside = all(low <= value <= high for value, (low, high, _) in zip(values, self.levels[level], strict=True))
        return inside and not (self.mechanism.is_ascending and any(a >= b for a, b in pairwise(values)))


@lru_cache(maxsize=64)
def layouts(scheme: Scheme) -> dict[str, Layout]:
    """Return the layout of every attribute's payload."""
    return {name: Layout(attribute.mechanism) for name, attribute in scheme.reported.items()}
