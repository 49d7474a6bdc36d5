"""The browser's client reads texts as Python does, and reports them alike; in node."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.collector.browser_client import ENTRY, joined
from dpcore.conformance.cases import KEY, Recorded
from dpcore.errors import InvalidRecord
from dpcore.protocol import tokens
from dpcore.protocol.scheme import Scheme
from tests.helpers.node import node

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

ASKED = """
name = "texts"
[attributes.drug]
type = "text"
alphabet = "abcdefghijklmnopqrstuvwxyz -0123456789"
max_bytes = 12
epsilon = 1
[attributes.place]
type = "text"
column = "Place"
max_bytes = 16
missing = "category"
outside = "other"
epsilon = "ln 3"
[attributes.word]
type = "text"
alphabet = "abehimnorstABΣσς\u0131\u0307\u0301\U0001d49c -"
normalize = []
max_bytes = 9
missing = "category"
outside = "other"
epsilon = 4
[attributes.code]
type = "text"
alphabet = "0123456789"
normalize = ["blanks"]
max_bytes = 1
missing = "category"
epsilon = 0.1
[attributes.name]
type = "text"
normalize = ["case"]
max_bytes = 16
epsilon = 2
"""
GOOD: dict[str, Any] = {"drug": "aspirin", "Place": "Graz", "word": "other", "code": "7", "name": "x"}
TEXTS = (
    *(
        "aspirin",
        "Aspirin",
        " ASPIRIN ",
        "aspirin\t\n c",
        "a" * 12,
        "a" * 13,
        "b" * 16,
        "b" * 17,
        "x" * 10_000,
        "",
        " ",
    ),
    *("missing", "Missing", " missing ", "other", "OTHER", "null", "NA", "none", "nan", "true", "7", "07", "7.0", " 7"),
    *(
        "z\u00fcrich",
        "zu\u0308rich",
        "ZU\u0308RICH",
        "e\u0301",
        "\u0301",
        "a\u0301\u0323",
        "a\u0323\u0301",
        "\u212b",
        "\u2126",
    ),
    *("ΟΔΟΣ", "ΟΔΟΣ Α", "Σ", "ΑΣ'Σ", "αΣ.", "ΑΣ\u0301", "σς", "\u1e9e", "\u00df", "\u01c5", "\u017f", "\u212a"),
    *(
        "\u0130",
        "I\u0307",
        "i\u0307",
        "\u0131",
        "\u0130stanbul",
        "DI\u0307",
        "\ufb01",
        "\u0345",
        "\u03d2\u0301",
        "\u0344",
    ),
    *("\U0001f600", "\U0001d49c", "\U00010400", "\U0001f1e6" * 3, "\U0001f600" * 4, "\U0001f600" * 5, "\U0002f800"),
    *(
        "\ud800",
        "a\udc00",
        "\ud800\ud800",
        "\udc00\ud800",
        "\x00",
        "a\x00b",
        "\x00" * 30,
        "a\tb",
        "\x85",
        "\x1c",
        "\x7f",
    ),
    *(
        "\u00a0a\u00a0",
        "\u3000a\u2003b\u2028c",
        "\ufeffa",
        "a\ufeff\ufeffb",
        "\u200ba",
        "a\u180eb",
        "\u00ada",
        "\ufffe",
    ),
    *(
        "\uac00\u11a8",
        "\u1100\u1161",
        "\u0958",
        "\u0f73",
        "\u2adc",
        "\U0001d15e",
        "\u1e9b\u0323",
        "\u0130\u0131",
        "J\u030c",
        "T\u0308e",
        "\u1e9e\u0301",
    ),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 7, -3, 7.0, -0.0, 2.5, 1e300, -1e300, 2**53 - 1, 1 - 2**53, 10**12, 10.0**15, 1e-9),
    *([], ["aspirin"], [["a"]], {}, {"a": 1}, [None], *TEXTS),
)
SPECIAL = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan"), "2^53": 2.0**53, "-2^60": -(2.0**60)}
LONG = (2**53, 2**53 + 1, 10**23, 10**24, -(10**22), 10**4000)  # whole numbers of any length: BigInt in a browser
PARTS = (
    *(
        "a",
        "B",
        "e",
        "\u0301",
        "\u0307",
        "\u0323",
        "i",
        "I",
        "\u0130",
        "\u0131",
        "Σ",
        "σ",
        "ς",
        "ß",
        "ẞ",
        "Å",
        "\u212b",
        " ",
    ),
    *(
        "\t",
        "\u00a0",
        "\u2003",
        "-",
        "0",
        "9",
        "é",
        "E",
        "\U0001f600",
        "\U00010400",
        "\ud83d",
        "\ude00",
        "\x00",
        "'",
        "Ω",
        "z",
    ),
)
CELLS = """
import { readFileSync } from "node:fs";
const ldp = await import(process.cwd() + "/ldpflow.mjs");
const scheme = await ldp.openBundle(async (name) => new Uint8Array(readFileSync(`bundle/${name}`)));
const key = new TextEncoder().encode("words of vectors");
const { records, long, special } = JSON.parse(readFileSync(0, "utf-8"));
const named = { nan: NaN, inf: Infinity, "-inf": -Infinity, "2^53": 2 ** 53, "-2^60": -(2 ** 60) };
for (const value of [...long.map(BigInt), ...special.map((name) => named[name])]) {
  for (const each of Object.keys(records[0])) records.push({ ...records[0], [each]: value });
}
const sent = [];
for (const [number, record] of records.entries()) {
  const random = await ldp.keyed(key, [String(number)], 12);
  const secret = number % 3 ? new TextEncoder().encode(`the secret of client ${number}`) : null;
  const token = secret && await ldp.tokenOf(secret, scheme.digest);
  try {
    const cells = [...scheme.attributes.values()].map((attribute) => ldp.cellOf(attribute, record));
    const report = await new ldp.Client(scheme, { random, token }).report(record);
    sent.push([cells, ldp.writeReport(report, scheme), random.used()]);
  } catch (error) {
    if (!(error instanceof ldp.InvalidRecord)) throw error;
    sent.push(`refused: ${error.message}`);
  }
}
console.log(JSON.stringify(sent));
"""


def records() -> Iterator[dict[str, Any]]:
    """Yield records with one odd answer each, and records of random texts."""
    yield GOOD
    yield from ({**GOOD, name: value} for name in GOOD for value in VALUES)
    generator = np.random.default_rng(7)
    for _ in range(400):
        texts = ("".join(generator.choice(PARTS, generator.integers(0, 12))) for _ in range(3))
        yield {**GOOD, **dict(zip(("Place", "word", "name"), texts, strict=True))}
    yield {name: value for name, value in GOOD.items() if name != "Place"} | {"place": "Wien"}
    yield {name: value for name, value in GOOD.items() if name != "Place"}


def test_texts_give_the_same_reports_or_are_refused_by_both(tmp_path: Path, root: Path) -> None:
    scheme = Scheme.from_toml(ASKED)
    wire.write_bundle(tmp_path / "bundle", scheme)
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    asked = json.loads(json.dumps(list(records())))  # of two halves of a surrogate pair one character
    told = {"records": asked, "long": list(map(str, LONG)), "special": list(SPECIAL)}
    its = node(tmp_path, CELLS, json.dumps(told))
    asked += [{**GOOD, name: value} for value in (*LONG, *SPECIAL.values()) for name in GOOD]
    own = [_sent(scheme, record, number) for number, record in enumerate(asked)]
    differ = [
        (record, one, other)
        for record, one, other in zip(asked, own, its, strict=True)
        if one != other and (isinstance(one, list) or not str(other).startswith("refused: "))
    ]
    assert differ == []
    read = [found for found in own if found != "refused"]
    assert min(len(read), len(own) - len(read)) > 100
    assert len({len(sent) for _, sent, _ in read}) == 2  # with a token and without: no length depends on an answer
    assert {text for text in its if isinstance(text, str)} == {
        f"refused: {why}"
        for why in (
            *("drug: expected a text or a number", "place: expected a text or a number", "name: expected an answer"),
            *(
                "word: expected a text or a number",
                "code: expected a text or a number",
                "place: is missing from the record",
            ),
            *("name: expected a text or a number", "drug: expected an answer", "drug: expected at most 12 bytes"),
            *("drug: expected characters of alphabet", "code: expected characters of alphabet"),
            *(
                "code: expected at most 1 bytes",
                "name: expected a text without control characters",
                "name: expected at most 16 bytes",
            ),
        )
    }


def _sent(scheme: Scheme, record: dict[str, Any], number: int) -> Any:
    token = tokens.token_of(f"the secret of client {number}".encode(), scheme.digest) if number % 3 else None
    try:
        encoded = scheme.encode({name: [value] for name, value in record.items()})
        report = dp.Client(scheme, source := Recorded(dp.keyed(KEY, str(number))), token).report(record)
    except InvalidRecord:
        return "refused"
    mechanisms = [attribute.mechanism for attribute in scheme.attributes.values()]
    cells = [
        mechanism.symbols_of(encoded[name])[0].tolist() for name, mechanism in zip(encoded, mechanisms, strict=True)
    ]
    return [cells, wire.write_report(report, scheme).decode(), len(source.taken)]
