"""The cases: a scheme's bundle, a record and the known random words of its draws, and the line that a client must print."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from dpcore._random import WORD, Source, keyed
from dpcore.client import Client
from dpcore.conformance.schemes import RECORDS, REFUSED_RECORDS, SCHEMES
from dpcore.errors import InvalidRecord
from dpcore.protocol import tokens
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import NAME_BYTES
from dpcore.wire import bundle_of, write_report

KEY = b"words of vectors"
SECRETS = (bytes(range(16)), bytes(range(200, 232)), b"a secret of a client")
ROUND = "2026-11-20"
REPEATS = 6  # reports of each record, with other words each
EDGES = 24  # reports of a scheme whose words are at the edges of draws
NO_RECORD, NO_SCHEME = '{"refused":"record"}', '{"refused":"scheme"}'


class Recorded(Source):
    """A stream whose words are recorded as they are drawn; taken: all of them, in order."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.taken: list[int] = []

    def words(self, count: int) -> np.ndarray:
        drawn = self._chosen(self._source.words(count))
        self.taken += drawn.tolist()
        return drawn

    def _chosen(self, drawn: np.ndarray) -> np.ndarray:
        return drawn

    def generator(self) -> np.random.Generator:
        raise TypeError("known words are for clients, which draw words alone")

    def spawn(self, *key: int) -> Source:
        raise TypeError("known words have one stream")


class AtEdges(Recorded):
    """The same, with words at which a client's comparisons change, and words that must be rejected.

    thresholds: integers of a scheme that draws are compared with.  The words of a report's id are the stream's own.
    """

    def __init__(self, source: Source, thresholds: Iterable[int]) -> None:
        super().__init__(source)
        self._thresholds = sorted({edge for one in thresholds for edge in (one - 1, one)} | {0})
        self._bound = 0

    def residues(self, bound: int, count: int) -> np.ndarray:
        self._bound = bound
        try:
            return super().residues(bound, count)
        finally:
            self._bound = 0

    def _chosen(self, drawn: np.ndarray) -> np.ndarray:
        if len(self.taken) < NAME_BYTES // 4:
            return drawn
        return np.array([self._edge(int(word)) for word in drawn], dtype=np.uint32)

    def _edge(self, word: int) -> int:
        """A word that a random one chooses: rejected, at an edge, or itself; of raw bits none, all, or itself."""
        choice, number, bound = word % 4, word // 4, self._bound
        if bound == 0:
            return (0, WORD - 1, word, word)[choice]
        limit = WORD - WORD % bound
        if choice == 1 and limit < WORD:
            return (limit, WORD - 1)[number % 2]
        if choice < 2:
            return word
        edges = [edge for edge in (*self._thresholds, bound - 1) if 0 <= edge < bound]
        return edges[number % len(edges)] + bound * (number % (limit // bound))


def thresholds(scheme: Scheme) -> set[int]:
    """Return the integers that the draws of a scheme's clients are compared with, and sums and products of them."""
    numbers = set()
    for attribute in scheme.attributes.values():
        parameters = attribute.mechanism.parameters()
        numbers |= {value for value in parameters.values() if isinstance(value, int)}
        lists = {
            key: [one for one in value if isinstance(one, int)]
            for key, value in parameters.items()
            if isinstance(value, (list, tuple)) and key != "bases"
        }
        for values in lists.values():
            numbers |= {*values, *accumulate(values)}
        widths = lists.get("widths", [])
        numbers |= {width * weight for width, weight in zip(widths, lists.get("weights_in", widths), strict=True)}
    return numbers


@dataclass(frozen=True)
class Case:
    """One case: what a client is given, and the line that it must print.

    digest: what the bundle's scheme must hash to.  bundle: file -> content, tables in base64.  secret: 16 bytes or more whose
    token the report carries, None of a report without one.  words: the 32-bit words that the client draws, in order.
    """

    name: str
    scheme: Scheme
    digest: str
    bundle: Mapping[str, str]
    record: Mapping[str, Any]
    round: str
    secret: bytes | None
    words: tuple[int, ...]
    expected: str

    @property
    def question(self) -> dict[str, Any]:
        """What a client is given, as one object of JSON."""
        return {
            "case": self.name,
            "digest": self.digest,
            "bundle": self.bundle,
            "record": self.record,
            "round": self.round,
            "secret": None if self.secret is None else self.secret.hex(),
            "words": self.words,
        }

    @property
    def line(self) -> str:
        """What a client is given, as one line; every second case writes letters beyond ASCII as escapes."""
        return json.dumps(self.question, ensure_ascii=self.name[-1] in "13579", separators=(",", ":"))

    @property
    def mechanisms(self) -> set[str]:
        """The mechanisms of the case's scheme."""
        return {attribute.mechanism.name for attribute in self.scheme.attributes.values()}


def all_cases(mechanisms: set[str] | None = None) -> Iterator[Case]:
    """Yield the cases of all schemes or, where mechanisms are named, of the schemes that use no others."""
    for name in SCHEMES:
        cases = cases_of(name)
        if mechanisms is None or cases[0].mechanisms <= mechanisms:
            yield from cases


@cache
def cases_of(name: str) -> tuple[Case, ...]:
    """Return the cases of one scheme: reports, reports at the edges of draws, and what must be refused."""
    scheme = Scheme.from_toml(Scheme.from_toml(SCHEMES[name]).canonical)
    questions = [one for attribute in scheme.reported.values() for one in (attribute, *attribute.questions)]
    columns = {column for one in questions for column in (one.name, one.column)}
    records = [_restricted(record, columns) for record in RECORDS[name]]
    refused = [record for one in REFUSED_RECORDS[name] if _is_refused(scheme, record := _restricted(one, columns))]
    bundle, edges = _as_texts(bundle_of(scheme)), thresholds(scheme)

    def case(kind: str, number: int, record: Mapping[str, Any], expected: str, **other: Any) -> Case:
        facts: dict[str, Any] = {"digest": scheme.digest, "bundle": bundle, "round": ROUND, "secret": None, "words": ()}
        return Case(name=f"{name}/{kind}-{number}", scheme=scheme, record=record, expected=expected, **facts | other)

    cases = []
    for number, record in enumerate(records * REPEATS):
        secret, round_, expected, words = recorded(scheme, record, number)
        cases.append(case("report", number, record, expected, secret=secret, round=round_, words=words))
    for number in range(EDGES):
        record, source = records[number % len(records)], AtEdges(keyed(KEY, name, str(number)), edges)
        expected = write_report(Client(scheme, source).report(record, ROUND), scheme).decode()
        cases.append(case("edge", number, record, expected, words=tuple(source.taken)))
    cases += [case("refused-record", number, record, NO_RECORD) for number, record in enumerate(refused)]
    texts = [*(text for _, text in broken(scheme)), scheme.canonical]
    for number, text in enumerate(texts):  # the last one is whole, and not the one that is expected
        digest = hashlib.sha256(text.encode()).hexdigest()
        files = bundle | {"scheme.toml": text, "manifest.json": bundle["manifest.json"].replace(scheme.digest, digest)}
        wrong = "0" * 64 if text == scheme.canonical else digest
        cases.append(case("refused-scheme", number, records[0], NO_SCHEME, bundle=files, digest=wrong))
    return tuple(cases)


def recorded(scheme: Scheme, record: Mapping[str, Any], number: int) -> tuple[bytes | None, str, str, tuple[int, ...]]:
    """Return the secret, the round, the report and the words of report `number`: every third has no secret."""
    secret = None if number % 3 == 0 else SECRETS[number % 3]
    token = None if secret is None else tokens.token_of(secret, scheme.digest)
    round_, source = "" if number % 4 == 0 else ROUND, Recorded(keyed(KEY, str(number)))
    report = Client(scheme, source, token).report(record, round_)
    return secret, round_, write_report(report, scheme).decode(), tuple(source.taken)


Change = tuple[str, str | Callable[[re.Match[str]], str]]
CHANGES: tuple[
    Change, ...
] = (  # of canonical texts, after which they promise more than their integers keep, or cannot be read
    (r"weight_in = (\d+)", lambda match: f"weight_in = {int(match[1]) + 2}"),
    (r"weight_in = \d+", "weight_in = 65536"),
    (r"weight_in = \d+", "weight_in = 4294967296"),
    (r"weight_true = (\d+)", lambda match: f"weight_true = {int(match[1]) + 2**20}"),
    (r"weights_in = \[\n    (\d+)", lambda match: f"weights_in = [\n    {int(match[1]) + 2}"),
    (r"level_law = \[\n    (\d+)", lambda match: f"level_law = [\n    {int(match[1]) + 1}"),
    (r"widths = \[\n    \d+", "widths = [\n    32"),
    (r"noise_scales = \[\n    (\d+)", lambda match: f"noise_scales = [\n    {int(match[1]) - 1000}"),
    (r"sensitivity = \[\n    (\d+)", lambda match: f"sensitivity = [\n    {int(match[1]) - 1}"),
    (r'table_sha256 = "..', 'table_sha256 = "zz'),
    (r'mechanism = "randomized_response"', 'mechanism = "trust_me"'),
    (r"format = 1", "format = 2"),
    (r"format = 1", "format = 1\ndraws = 2"),
)


def broken(scheme: Scheme, changes: tuple[Change, ...] = CHANGES) -> list[tuple[str, str]]:
    """Return the changes that a scheme's canonical text can have, and what it is after each."""
    texts = ((pattern, re.sub(pattern, put, scheme.canonical, count=1)) for pattern, put in changes)
    return [(pattern, text) for pattern, text in texts if text != scheme.canonical]


def _restricted(record: Mapping[str, Any], columns: set[str]) -> dict[str, Any]:
    return {column: value for column, value in record.items() if column in columns}


def _is_refused(scheme: Scheme, record: Mapping[str, Any]) -> bool:
    try:
        cells = scheme.encode({column: [value] for column, value in record.items()})
        return any(len(column) != 1 for column in cells.values())
    except InvalidRecord:
        return True


def _as_texts(files: Mapping[str, bytes]) -> dict[str, str]:
    """The files of a bundle as texts: tables, which end in .int32, in base64."""
    return {
        name: base64.b64encode(content).decode() if name.endswith(".int32") else content.decode()
        for name, content in files.items()
    }
