"""The browser's client reads sets of options as Python does, and numbers them alike; in node."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dpcore as dp
from dpcore import wire
from dpcore.collector.browser_client import ENTRY, joined
from dpcore.conformance.cases import KEY
from dpcore.errors import InvalidRecord
from dpcore.protocol.scheme import Scheme
from tests.helpers.node import node

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

ASKED = f"""
name = "sets"
[attributes.travel]
type = "set"
categories = ["bus", "car", "bike", "other", "7"]
codes = {{ 1 = "bus", 02 = "car", "x;y" = "bike" }}
at_most = 3
missing = "none"
outside = "other"
size = 2
functionals = ["mean", "both(bus, car)"]
epsilon = 1
[attributes.care]
type = "set"
column = "Care"
categories = ["child", "parent", "none", "friend"]
columns = ["c", "p", "n", "f"]
at_most = 2
epsilon = "ln 3"
[attributes.pets]
type = "set"
categories = ["cat", "dog", "fish"]
columns = ["cats", "dogs", "fishes"]
missing = "none"
separator = "&"
epsilon = 4
[attributes.papers]
type = "set"
categories = [{", ".join(f'"{number}"' for number in range(22))}]
codes = {{ "na " = "1", " na" = "2" }}
at_most = 7
separator = ","
missing = "none"
epsilon = 0.1
"""
GOOD: dict[str, Any] = {"travel": ["bus"], "Care": "child;parent", "pets": [], "papers": "1,5,21,7"}
VALUES: tuple[Any, ...] = (
    *(None, "", ";", " ; ", "bus", "bus;car", " bus ; car", "bus;car;bike", "bus;car;bike;7", "bus;bus;1", "x;y"),
    *("1", "2", "02", 2, 1, 1.0, 2.5, 7, "7.0", "7.0;1.0", 1e300, 2**53 - 1, True, False, [True], ["1"], [1, 2, 7]),
    *([], [None], [""], ["none"], ["bus", "bus"], ["bus", None], ["x;y"], [["bus"]], {}, [{}], ["strange", "odd"]),
    *("none", "none;", "none;bus", "NA", "na", " na", "na ", "na,3", "other;strange", "strange", "\u00a0bus\u00a0"),
    *("parent;child", ["child", "parent", "none"], "cat&dog", "cat & dog & fish", " cat & fish & ", "cat & dog & bird"),
    *("0,1,2,3,4,5,6", "0,1,2,3,4,5,6,7", "15,16,17,18,19,20,21", "21", "0"),
)
BOXES = (*("yes", "no", "Yes", "T", "n", "true", "maybe", "na", "1", "0", ""), *(1, 0, 2, True, False, None, []))
CELLS = """
import { readFileSync } from "node:fs";
const ldp = await import(process.cwd() + "/ldpflow.mjs");
const scheme = await ldp.openBundle(async (name) => new Uint8Array(readFileSync(`bundle/${name}`)));
const key = new TextEncoder().encode("words of vectors");
const sent = [];
for (const [number, record] of JSON.parse(readFileSync(0, "utf-8")).entries()) {
  const random = await ldp.keyed(key, [String(number)], 30);
  try {
    const cells = [...scheme.attributes.values()].map((attribute) => ldp.cellOf(attribute, record));
    sent.push([cells, ldp.writeReport(await new ldp.Client(scheme, { random }).report(record), scheme)]);
  } catch (error) {
    if (!(error instanceof ldp.InvalidRecord)) throw error;
    sent.push("refused");
  }
}
console.log(JSON.stringify(sent));
"""


def records() -> Iterator[dict[str, Any]]:
    """Yield records with one odd answer each, and the answers in columns of yes and no."""
    yield from ({**GOOD, name: value} for name in GOOD for value in VALUES)
    rest = {name: value for name, value in GOOD.items() if name != "Care"}
    yield from ({**rest, "care": value} for value in VALUES)
    yield rest
    yield {**GOOD, "care": "friend"}
    for value in BOXES:
        for other in ("no", "yes"):
            yield {**GOOD, "c": value, "p": other, "n": "no", "f": "no"}
            yield {**GOOD, "cats": value, "dogs": other, "fishes": other}
        yield {**GOOD, "c": value}
        yield {**GOOD, "cats": value, "dogs": "no"}


def test_records_of_sets_give_the_same_reports_or_are_refused_by_both(tmp_path: Path, root: Path) -> None:
    scheme = Scheme.from_toml(ASKED)
    wire.write_bundle(tmp_path / "bundle", scheme)
    (tmp_path / ENTRY).write_text(joined(root / "dpcore/collector/static"), "utf-8")
    asked = list(records())
    its = node(tmp_path, CELLS, json.dumps(asked))
    own = [_sent(scheme, record, number) for number, record in enumerate(asked)]
    assert [found for found in zip(asked, own, its, strict=True) if found[1] != found[2]] == []
    read = [found for found in own if found != "refused"]
    assert min(len(read), len(own) - len(read)) > 100
    numbers = {cells[3] for cells, _ in read}
    assert {0, 1, 22, 110056, scheme.attributes["papers"].mechanism.inputs - 1} <= numbers


def _sent(scheme: Scheme, record: dict[str, Any], number: int) -> Any:
    try:
        cells = [int(cell[0]) for cell in scheme.encode({name: [value] for name, value in record.items()}).values()]
        report = dp.Client(scheme, dp.keyed(KEY, str(number))).report(record)
    except InvalidRecord:
        return "refused"
    return [cells, wire.write_report(report, scheme).decode()]
