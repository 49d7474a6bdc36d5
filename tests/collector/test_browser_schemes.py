"""The browser's client opens no scheme that Python refuses, and reads a record's values as Python does; in node."""

from __future__ import annotations

import base64
import json
import shutil
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest

from dpcore import populations, wire
from dpcore.collector.browser_client import ENTRY, joined
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.protocol.domain import pairs
from dpcore.protocol.scheme import Scheme
from tests.helpers import client_keys
from tests.helpers.bundles import Bundle, honest
from tests.helpers.node import OPEN_ALL, node
from tests.helpers.odd_schemes import odd

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

ITS_OWN = (
    "estimator must be one of",
    "table_sha256 = ",
)  # what a browser does not know: estimators, and what tables are of


def test_the_keys_that_a_scheme_may_have_are_those_that_python_declares() -> None:
    assert client_keys.FILE.read_text("utf-8") == client_keys.text()


@pytest.mark.parametrize(
    ("of", "each"),
    [
        (
            (
                "codes",
                "pair",
                "paper",
                "steps",
                "points",
                "bins",
                "silence",
                "together",
                "plane",
                "options",
                "boxes",
                "texts",
            ),
            9,
        ),
        (("labels",), 2),
        pytest.param((), 1, marks=pytest.mark.nightly("every case")),
    ],
    ids=["some", "labels", "all"],
)
def test_what_python_refuses_is_not_opened(of: tuple[str, ...], each: int, tmp_path: Path, root: Path) -> None:
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    shutil.copy(root / "tests/browser/bundles.mjs", tmp_path)
    cases = {
        f"{bundle.name} {number}": Bundle(bundle.name, text, bundle.tables, "", "")
        for bundle in honest()
        if not of or bundle.name in of
        for number, text in enumerate(odd(bundle.scheme))
        if number % each == 0
    }
    said = node(tmp_path, OPEN_ALL, json.dumps({name: bundle.files() for name, bundle in cases.items()}))
    refused = {name: why for name, bundle in cases.items() if (why := _refused(bundle.scheme))}
    assert len(refused) > 100
    assert {
        name: why for name, why in refused.items() if not said[name] and not any(own in why for own in ITS_OWN)
    } == {}
    assert [text for text in said.values() if text.startswith("not a SchemeError") or "\n" in text] == []


def test_points_without_room_and_codes_that_are_values_are_not_opened(tmp_path: Path, root: Path) -> None:
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    shutil.copy(root / "tests/browser/bundles.mjs", tmp_path)
    wave = 'epsilon = 1\nmechanism = "dyadic_wave"\nmissing = "category"\ncodes = { -9 = "missing" }\n'
    fine = Scheme.from_toml(
        f'name = "s"\n[attributes.a]\ntype = "numeric"\nlower = 0\nupper = 380\nstep = 1\n{wave}'
    ).canonical
    cases = {
        "fine": fine,
        "room": fine.replace("upper = 380", "upper = 390"),
        "codes": fine.replace('-9 = "missing"', '09 = "missing"'),
    }
    assert len(set(cases.values())) == 3
    bundles = {name: Bundle(name, text, {}, "", "").files() for name, text in cases.items()}
    said = node(tmp_path, OPEN_ALL, json.dumps(bundles))
    assert said["fine"] == ""
    assert _refused(cases["room"])
    assert _refused(cases["codes"])
    assert "input cells" in said["room"]
    assert "is one of the attribute's values" in said["codes"]


def test_silence_that_no_report_hides_is_not_opened(tmp_path: Path, root: Path) -> None:
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    shutil.copy(root / "tests/browser/bundles.mjs", tmp_path)
    asked = 'name = "s"\n[attributes.a]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n'
    plain = {
        "room": f'{asked}mechanism = "square_wave"\ncells = 4\n',
        "noise": f'{asked}mechanism = "wavelet_laplace"\nfinest_level = 2\ndegree = 0\n',
    }
    cases = {
        name: Scheme.from_toml(text).canonical.replace('missing = "refuse"', 'missing = "category"')
        for name, text in plain.items()
    }
    said = node(
        tmp_path, OPEN_ALL, json.dumps({name: Bundle(name, text, (), "", "").files() for name, text in cases.items()})
    )
    assert all(_refused(text) for text in cases.values())
    assert "needs 8 input cells" in said["room"]
    assert said["noise"]


def test_a_control_arm_is_opened_if_it_is_one_of_the_categories(tmp_path: Path, root: Path) -> None:
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    shutil.copy(root / "tests/browser/bundles.mjs", tmp_path)
    text = 'name = "s"\n[attributes.a]\ntype = "boolean"\nepsilon = 1\n[labels.arm]\ncategories = ["x", "y"]\ncontrol = "y"'
    fine = Scheme.from_toml(text).canonical
    cases = {"fine": fine, "none": fine.replace('control = "y"', 'control = "z"')}
    said = node(
        tmp_path, OPEN_ALL, json.dumps({name: Bundle(name, case, {}, "", "").files() for name, case in cases.items()})
    )
    assert said["fine"] == ""
    assert "labels.arm: control must be one of the categories; got z" in said["none"]
    assert _refused(cases["none"])


PAIRABLE = {
    "wave": 'type = "numeric"\nlower = 0\nupper = 1\nmechanism = "square_wave"\ncells = 8',
    "levels": 'type = "numeric"\nlower = 0\nupper = 1\nmissing = "category"\nmechanism = "dyadic_wave"',
    "noisy": 'type = "numeric"\nlower = 0\nupper = 1\nmechanism = "wavelet_laplace"\ndegree = 0\nfinest_level = 2\ncells = 64',
    "split": 'type = "numeric"\nlower = 0\nupper = 1\nallocation = "split"\nfinest_level = 3\ncells = 128',
    "points": 'type = "numeric"\nlower = 0\nupper = 4\nstep = 1\nmechanism = "unary_encoding"',
    "named": 'type = "categorical"\ncategories = ["a", "b", "c"]\nmechanism = "randomized_response"',
    "subset": 'type = "categorical"\ncategories = ["a", "b", "c"]\nmechanism = "subset_selection"',
    "hashed": 'type = "categorical"\nbins = [1, 2]\nmechanism = "local_hashing"',
    "set": 'type = "set"\ncategories = ["a", "b", "c"]',
    "text": 'type = "text"\nmax_bytes = 8\nalphabet = "ab"',
    "symbols": 'type = "categorical"\ncategories = ["a", "b", "c"]\nmechanism = "hadamard_response"',
}
LABELS = "".join(f'[labels.l{i}]\ncategories = ["a", "b"]\n' for i in range(12))  # 4096 combinations


def test_pairs_are_opened_where_python_opens_them(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every two kinds of questions, with and without labels, which leave no more than 4096 counts to a pair."""
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    shutil.copy(root / "tests/browser/bundles.mjs", tmp_path)
    schemes: dict[str, Scheme] = {}
    refused = set()
    both = [*combinations_with_replacement(PAIRABLE, 2), ("named", "noisy"), ("symbols", "split")]  # two turned round
    for (one, other), labels in product(both, ("", LABELS)):
        asked = dict.fromkeys((one, other))
        beside = (
            labels.partition("[labels.l4]")[0] if "text" in asked else labels
        )  # 16 combinations, as 31 are possible
        tables = "".join(f"[attributes.{name}]\nepsilon = 1\n{PAIRABLE[name]}\n" for name in asked)
        text, name = f'name = "s"\npairs = [["{one}", "{other}"]]\n{tables}{beside}', f"{one} {other} {bool(labels)}"
        try:
            schemes[name] = Scheme.from_toml(text)
        except SchemeError:
            refused.add(name)
            with monkeypatch.context() as patched:  # what nobody may ask, written as if one might
                patched.setattr(pairs, "_check", lambda *told: None)
                if one != other:
                    schemes[name] = Scheme.from_toml(text)
    assert {name.split()[0] for name in refused} == {*PAIRABLE}
    said = node(tmp_path, OPEN_ALL, json.dumps({name: _written(tmp_path / "b", of) for name, of in schemes.items()}))
    assert {name for name, why in said.items() if why} == refused & {*schemes}
    assert all("the pair" in why for why in said.values() if why)
    assert "cannot be counted" in said["noisy symbols False"]
    assert "counts for each of 4096 combinations" in said["levels split True"]
    assert not said["levels split False"]


def _written(folder: Path, scheme: Scheme) -> dict[str, str]:
    """The files of a scheme's bundle, base64."""
    shutil.rmtree(folder, ignore_errors=True)
    wire.write_bundle(folder, scheme)
    return {file.name: base64.b64encode(file.read_bytes()).decode() for file in folder.iterdir()}


def _refused(text: str) -> str:
    """What Python says of a scheme that it refuses, '' of another."""
    try:
        Scheme.from_toml(text)
    except SchemeError as error:
        return str(error)
    return ""


ASKED = """
name = "odd"
[attributes.clipped]
type = "numeric"
lower = 0
upper = 100
epsilon = 1
mechanism = "square_wave"
[attributes.bounded]
type = "numeric"
lower = -5
upper = 1000
epsilon = 1
mechanism = "square_wave"
outside = "refuse"
[attributes.listed]
type = "categorical"
categories = ["a", "b", "c", "d", "7", "true"]
codes = { 1 = "b", 01 = "a", 10 = "c", -3 = "d", 9007199254740992 = "a", 9007199254740993 = "b", "\u0665" = "c", "1.5" = "d" }
epsilon = 1
mechanism = "local_hashing"
[attributes.open]
type = "categorical"
categories = ["a", "other"]
codes = { 0 = "a", 18014398509481984 = "a" }
outside = "other"
missing = "category"
epsilon = 1
mechanism = "local_hashing"
[attributes.counted]
type = "numeric"
lower = 0
upper = 10
step = 1
epsilon = 1
mechanism = "local_hashing"
[attributes.halved]
type = "numeric"
lower = -1
upper = 1.5
step = 0.5
outside = "refuse"
epsilon = 1
mechanism = "dyadic_wave"
[attributes.rated]
type = "numeric"
values = [0.1, 0.3, 1, 7, 9007199254740992]
missing = "category"
codes = { "-3" = "missing", "1e2" = "missing", "a" = "missing", "1.5" = "missing" }
epsilon = 1
mechanism = "square_wave"
[attributes.quiet]
type = "numeric"
lower = -1
upper = 10
missing = "category"
codes = { "-3" = "missing", "1e2" = "missing", "a" = "missing", "1.5" = "missing" }
epsilon = 1
mechanism = "square_wave"
[attributes.binned]
type = "categorical"
bins = [-3, 0, 0.5, 1, 7, 9007199254740993]
epsilon = 1
[attributes.coded]
type = "numeric"
lower = 0
upper = 100
codes = { 7 = "missing", "-3" = "missing", "a" = "missing" }
epsilon = 1
mechanism = "square_wave"
[attributes.silently]
type = "categorical"
bins = [0.1]
missing = "category"
codes = { "-3" = "missing", "1e2" = "missing", "a" = "missing" }
epsilon = 1
[attributes.born]
type = "date"
lower = 1900-01-01
upper = 2030-12-31
outside = "refuse"
codes = { "1900-01-01" = "missing", "never" = "missing" }
missing = "category"
epsilon = 1
mechanism = "square_wave"
[attributes.at]
type = "datetime"
lower = 1960-01-01T00:00:00Z
upper = 2030-12-31T23:59:59.5+01:00
outside = "refuse"
codes = { "2000-01-01T00:00Z" = "missing", "never" = "missing" }
missing = "category"
epsilon = 1
mechanism = "square_wave"
[attributes.hour]
type = "datetime"
lower = 2026-01-01T00:00:00Z
upper = 2026-01-02T00:00:00Z
step = "1 hour"
epsilon = 1
[attributes.flag]
type = "boolean"
missing = "category"
epsilon = 1
"""
BLANKS = ("\t", "\n", "\r", "\v", "\f", "\u00a0", "\u3000", "\ufeff", "\u2028", "\x1c", "\x00", "_")
NUMERALS = (
    *(f"{blank}1" for blank in BLANKS),
    *(f"1{blank}" for blank in BLANKS),
    *(
        "1",
        " 1 ",
        "1_0",
        "1,5",
        "1 0",
        "01",
        "-3",
        "+1",
        "-0",
        "- 1",
        "--1",
        "+-1",
        "1.",
        ".5",
        ".",
        "-.5",
        "1.5",
        "1..5",
        "",
        " ",
    ),
    *(
        "1e2",
        "1E2",
        "1e+2",
        "1e-2",
        "1e",
        "e1",
        "1e400",
        "-1e400",
        "1e-400",
        "1d2",
        "1f",
        "1L",
        "1n",
        "0x10",
        "0b1",
        "0o7",
        "1/2",
    ),
    *(
        "inf",
        "-inf",
        "Infinity",
        "-Infinity",
        "infinity",
        "nan",
        "NaN",
        "None",
        "null",
        "NA",
        "true",
        "True",
        "yes\u00a0",
        "2026-01-31",
        " 2026-01-31\u00a0",
        "2026-02-30",
        "2024-02-29",
        "2023-02-29",
        "1900-01-01",
        "1899-12-31",
        "never",
        "26-01-31",
        "0000-01-01",
        "0001-01-01",
        "9999-12-31",
        "2026-1-31",
        "2026-01-31T00:00:00",
        "2026-01-31 23:59:59.5+0100",
        "2026-01-31T10:00Z",
        "2026-01-31T",
        "2026-01-31T10:00:00.9999Z",
        "2026-01-01T13:30+05:30",
        "1960-01-01T00:00:00.5-00:01",
        "1969-12-31 23:59:59.1239Z",
        "2026-01-31T24:00Z",
        "2026-01-31T10:60Z",
        "2026-01-31T23:59:60Z",
        "2026-01-31T10:00+24:00",
        "0001-01-01T00:00+23:59",
        "2026-01-31Z",
        "2000-01-01T00:00Z",
        "2000-01-01T01:00+01:00",
        "2026-01-31 1:00",
        "20484",
        "0.00",
        "-0.0",
        "n/a ",
        "7",
        "a",
        " a",
    ),
    *("\u0661", "\uff11", "\u0665", "\u00b2", "\u00bd", "\u2166", "\u22121", "1\u066b5", "9" * 40, "0." + "3" * 60),
    *("9007199254740992", "9007199254740993", "9007199254740994", "18014398509481984"),
)
OTHERS = (True, False, None, 1, 1.0, 1.5, 4, 0, -0.0, -3, 7, 10, 1e300, {}, 2**53 - 1)
LONG = (2**53, 2**53 + 1, 2**53 + 2, 2**54, 10**30, -3)  # whole numbers of any length: BigInt in a browser
SPECIAL = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "2^53": 2.0**53, "2^54": 2.0**54}

CELLS = """
import { readFileSync } from "node:fs";
const ldp = await import(process.cwd() + "/ldpflow.mjs");
const { values, long, special } = JSON.parse(readFileSync(0, "utf-8"));
const scheme = await ldp.openBundle(async (name) => new Uint8Array(readFileSync(`bundle/${name}`)));
const named = { nan: NaN, inf: Infinity, "-inf": -Infinity, "2^53": 2 ** 53, "2^54": 2 ** 54 };
const cell = (attribute, value) => {
  try { return ldp.cellOf(attribute, { [attribute.name]: value }); } catch (error) {
    if (!(error instanceof ldp.InvalidRecord)) throw error;
    return "refused";
  }
};
const all = [...values, ...long.map(BigInt), ...special.map((name) => named[name])];
console.log(JSON.stringify(all.map((value) => [...scheme.attributes.values()].map((attribute) => cell(attribute, value)))));
"""


def test_odd_values_are_read_alike_or_refused_by_both(tmp_path: Path, root: Path) -> None:
    scheme = Scheme.from_toml(ASKED)
    wire.write_bundle(tmp_path / "bundle", scheme)
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    values: list[Any] = [*NUMERALS, *OTHERS]
    told = {"values": values, "long": [str(value) for value in LONG], "special": list(SPECIAL)}
    said = node(tmp_path, CELLS, json.dumps(told))
    values += [*LONG, *SPECIAL.values()]
    assert len(values) > 110
    found = [[_cell(attribute, value) for attribute in scheme.attributes.values()] for value in values]
    differ = {repr(value): (own, its) for value, own, its in zip(values, found, said, strict=True) if own != its}
    assert differ == {}
    verdicts = dict(zip(map(repr, values), (verdict[:4] for verdict in found), strict=True))
    assert verdicts["'1_0'"] == verdicts["'inf'"] == verdicts["True"][:2] + ["refused", 1] == ["refused"] * 3 + [1]
    assert verdicts["9007199254740992"][2:] == [0, 1]
    assert verdicts["9007199254740993"][2:] == [1, 1]
    assert verdicts["9007199254740992.0"][2:] == ["refused", 1]


def _cell(attribute: Any, value: Any) -> Any:
    try:
        (cell,) = attribute.encode([value]).tolist()
    except InvalidRecord:
        return "refused"
    return cell


def test_a_file_of_odd_numbers_is_read_as_records_are(tmp_path: Path) -> None:
    scheme = Scheme.from_toml(ASKED.partition("[attributes.bounded]")[0])
    file = tmp_path / "records.jsonl"
    for text in (
        "1_0",
        "inf",
        "-Infinity",
        "1e400",
        "+1",
        ".5",
        "1.",
        "\u0661",
        "\u00a01",
        " 1\v",
        "1\x00",
        "0x10",
        "true",
        "9" * 40,
    ):
        file.write_text(json.dumps({"clipped": text}) + "\n", "utf-8")
        try:
            cell: Any = scheme.encode(populations.read_records(file, scheme))["clipped"].tolist()[0]
        except InvalidRecord:
            cell = "refused"
        assert (text, cell) == (text, _cell(scheme.attributes["clipped"], text))
