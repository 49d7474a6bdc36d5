"""The browser's client: its parts as they lie, and joined; in node, where it is installed (tests/browser has Chromium)."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore import wire
from dpcore.collector.browser_client import ENTRY, joined
from dpcore.mechanisms import Mechanism
from dpcore.mechanisms.calibration.sensitivity import joint_loss
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from tests.helpers.bundles import KEPT, REFUSED, wrongly_judged
from tests.helpers.client_cases import RECORDS
from tests.helpers.node import OPEN_ALL, node
from tests.helpers.provenance import differ, prepare
from tests.helpers.tapes import Given

EXPORTS = (
    "Client DAYS DRAWS FORMAT INSTANTS InvalidRecord REASONS RefusedReport SchemeError cellOf dateIn epsilonOf "
    "fetchBundle fromText given isDate keyed openBundle parseToml publicLevels readReport secure toText tokenOf writeReport"
)
# Node computes 24,000 short digests in a pool of threads, each 50 microseconds of waking one; here they are computed at once.
# That the client asks WebCrypto for them as it should, every other test of this file shows.
TRY = """
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
const asked = crypto.subtle.digest.bind(crypto.subtle);
crypto.subtle.digest = async (name, bytes) =>
  name === "SHA-256" ? new Uint8Array(createHash("sha256").update(bytes).digest()).buffer : asked(name, bytes);
globalThis.fetch = async (path) => new Response(await readFile(path));
const { tryVectors } = await import(process.cwd() + "/vectors.mjs");
const exported = Object.keys(await import(process.cwd() + "/ldpflow.mjs"));
const [names, wrong] = [["everything", "one_of_three", "labelled", "together", "purposes", "options", "texts"], []];
for (const name of names) wrong.push(await tryVectors(name));
console.log(JSON.stringify([exported, ...wrong]));
"""

OPEN = """
import { readFile } from "node:fs/promises";
const ldp = await import(process.cwd() + "/ldpflow.mjs");
const [digest, ...names] = process.argv.slice(1);
const opened = {};
for (const name of names) {
  try {
    await ldp.openBundle((file) => readFile(`${name}/${file}`), digest === "any" ? undefined : digest);
    opened[name] = "";
  } catch (error) {
    if (!(error instanceof ldp.SchemeError)) throw error;
    opened[name] = error.message;
  }
}
console.log(JSON.stringify(opened));
"""

PROVENANCE = """
import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
globalThis.fetch = async (path) => new Response(await readFile(path));
const { drawn, twice } = await import(process.cwd() + "/provenance.mjs");
console.log(JSON.stringify([await drawn(), await twice("everything", JSON.parse(readFileSync(0, "utf-8")))]));
"""


@pytest.fixture
def static(root: Path) -> Path:
    return root / "dpcore/collector/static"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("form", [pytest.param("parts", marks=pytest.mark.slow), "joined"])
def test_node_gives_the_same_bytes_and_refuses_the_same(tmp_path: Path, root: Path, static: Path, form: str) -> None:
    shutil.copytree(static, tmp_path, dirs_exist_ok=True)
    shutil.copytree(root / "tests/vectors", tmp_path / "vectors")
    shutil.copy(root / "tests/browser/vectors.mjs", tmp_path)
    if form == "joined":
        shutil.rmtree(tmp_path / "client")
        (tmp_path / ENTRY).write_text(joined(static), "utf-8")
    for name in ("everything", "one_of_three", "labelled", "together", "purposes", "options", "texts"):
        vectors = json.loads((root / f"tests/vectors/{name}.json").read_text("utf-8"))
        wire.write_bundle(tmp_path / name, Scheme.from_toml(vectors["scheme"]))
    tried = subprocess.run(
        ["node", "--input-type=module", "-e", TRY], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert tried.stderr == ""
    exported, *wrong = json.loads(tried.stdout)
    assert " ".join(exported) == EXPORTS
    assert wrong == [[]] * 7


def opened(folder: Path, static: Path, digest: str, *names: str) -> dict[str, str]:
    """What the client that is served says of bundles in a folder, by their names: "" of those that it opens."""
    (folder / ENTRY).write_text(joined(static), "utf-8")
    tried = subprocess.run(
        ["node", "--input-type=module", "-e", OPEN, digest, *names],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tried.stderr == ""
    said: dict[str, str] = json.loads(tried.stdout)
    return said


@pytest.fixture
def everything(tmp_path: Path, root: Path) -> Scheme:
    """A scheme of every mechanism that the browser has, with its bundle."""
    vectors = json.loads((root / "tests/vectors/everything.json").read_text("utf-8"))
    scheme = Scheme.from_toml(vectors["scheme"])
    wire.write_bundle(tmp_path / "bundle", scheme)
    return scheme


WORSE: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {  # of what a scheme holds for clients
    "heavier": (("weight_in", "weight_true", "weights_in"), lambda weight: weight * 2),
    "equal": (("weight_in", "weights_in"), lambda weight: 65536),
    "nothing": (("weight_out", "weight_other", "weights_out", "noise_scales", "level_law"), lambda weight: 0),
    "less": (("noise_scales", "level_law", "sensitivity"), lambda one: one - 1),
    "below nothing": (("noise_scales",), lambda one: -one),
    "beyond": (("prime", "cells"), lambda one: 65537),
    "longer": (("coin_bits",), lambda one: one + 1),
    "of another noise": (("table_sha256",), lambda digest: f'"{digest}"\nnoise = "gaussian"'),
    "beyond a word": (("weight_in",), lambda one: f"{2**33}\nweight_out = {2**33 - 1}"),
    "huge": (("weight_out", "noise_scales", "size", "bins"), lambda one: 2**33),
}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_opens_no_scheme_that_promises_more_than_its_integers_keep(
    tmp_path: Path, static: Path, everything: Scheme
) -> None:
    cases = []
    manifest = json.loads((tmp_path / "bundle/manifest.json").read_text("utf-8"))
    for name, attribute in everything.attributes.items():
        client = attribute.mechanism.parameters()
        told = [(what, key) for what, (keys, _) in WORSE.items() for key in keys if key in client]
        places = [
            (what, key, place) for what, key in told for place in range(len(client[key]) if _many(client[key]) else 1)
        ]
        for what, key, place in places:
            said, change = client[key], WORSE[what][1]
            worse = (
                [change(one) if at == place else one for at, one in enumerate(said)] if _many(said) else change(said)
            )
            head, tail = everything.canonical.split(f"[attributes.{name}.client]", 1)
            now = re.sub(rf"^{key} = .*$", f"{key} = {worse}", tail, count=1, flags=re.MULTILINE)
            now = re.sub(rf"(weight_out = {2**33 - 1}\n)weight_out = .*\n", r"\1", now)  # it stands before
            assert now != tail
            text = f"{head}[attributes.{name}.client]{now}".encode()
            case = f"{name}-{key}-{what}-{place}"
            shutil.copytree(tmp_path / "bundle", tmp_path / case, copy_function=_linked)
            for file, content in (
                ("scheme.toml", text),
                ("manifest.json", json.dumps(manifest | {"digest": hashlib.sha256(text).hexdigest()}).encode()),
            ):
                (tmp_path / case / file).unlink()
                (tmp_path / case / file).write_bytes(content)
            cases.append(case)
    assert len(cases) > 40
    said = opened(tmp_path, static, "any", "bundle", *cases)
    assert [case for case in ("bundle", *cases) if not said[case]] == ["bundle"]


def _many(said: Any) -> bool:
    return isinstance(said, (list, tuple))


def _linked(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_opens_no_bundle_of_another_scheme_or_with_other_tables(
    tmp_path: Path, static: Path, everything: Scheme
) -> None:
    manifest = json.loads((tmp_path / "bundle/manifest.json").read_text("utf-8"))
    for case in ("digest", "table", "both"):
        shutil.copytree(tmp_path / "bundle", tmp_path / case)
    (tmp_path / "digest/manifest.json").write_text(json.dumps(manifest | {"digest": "0" * 64}), "utf-8")
    first = manifest["tables"]["wavelet"][0]
    table = bytearray((tmp_path / "bundle" / first["file"]).read_bytes())
    table[0] ^= 1
    for case in ("table", "both"):
        (tmp_path / case / first["file"]).write_bytes(table)
    first["sha256"] = hashlib.sha256(table).hexdigest()
    (tmp_path / "both/manifest.json").write_text(json.dumps(manifest), "utf-8")
    said = opened(tmp_path, static, everything.digest, "bundle", "digest", "table", "both")
    assert said["bundle"] == ""
    assert "digest" in said["digest"]
    assert "manifest" in said["table"]
    assert "table_sha256" in said["both"]
    assert "digest" in opened(tmp_path, static, "0" * 64, "bundle")["bundle"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_refuses_the_frozen_bundles_for_their_reasons(tmp_path: Path, root: Path, static: Path) -> None:
    (tmp_path / ENTRY).write_text(joined(static), "utf-8")
    shutil.copy(root / "tests/browser/bundles.mjs", tmp_path)
    said = node(tmp_path, OPEN_ALL, json.dumps({bundle.name: bundle.files() for bundle in (*KEPT, *REFUSED)}))
    assert wrongly_judged(said) == {}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_every_word_that_decides_a_report_is_the_systems(tmp_path: Path, root: Path, static: Path) -> None:
    """The same words give the Python client the same reports, and none is left over: nothing else had a say."""
    (tmp_path / ENTRY).write_text(joined(static), "utf-8")
    shutil.copy(root / "tests/browser/provenance.mjs", tmp_path)
    expected = prepare(tmp_path, root)
    found, sent = node(tmp_path, PROVENANCE, json.dumps(RECORDS["everything"][0]))
    assert found == expected
    assert differ(sent)


NOISE = """
import { readFileSync } from "node:fs";
const { discreteLaplace } = await import(process.cwd() + "/client/mechanisms/laplace.mjs");
const { given } = await import(process.cwd() + "/client/random.mjs");
const { scales, size, words } = JSON.parse(readFileSync(0, "utf-8"));
const source = given(words);
console.log(JSON.stringify(scales.map((t) => [discreteLaplace(t, size, source), source.used()])));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_draws_the_noise_that_python_draws_at_scales_where_ties_are_many(tmp_path: Path, static: Path) -> None:
    shutil.copytree(static / "client", tmp_path / "client")
    scales, size = [1, 2, 3, 5, 1 << 31], 300
    words = np.random.default_rng(1).integers(0, 1 << 32, 60_000)
    source = Given(words)
    expected = [[discrete_laplace.sample(t, size, source).tolist(), source.used] for t in scales]
    assert node(tmp_path, NOISE, json.dumps({"scales": scales, "size": size, "words": words.tolist()})) == expected


KINDS = """
import { readFileSync } from "node:fs";
const ldp = await import(process.cwd() + "/ldpflow.mjs");
const said = {};
for (const name of JSON.parse(readFileSync(0, "utf-8"))) {
  const read = async (file) => new Uint8Array(readFileSync(`${name}/${file}`));
  try { await ldp.openBundle(read); said[name] = ["", ""]; } catch (error) {
    said[name] = [error instanceof ldp.SchemeError ? "SchemeError" : error.name, error.message];
  }
}
console.log(JSON.stringify(said));
"""
PARTS = """
import { readFileSync } from "node:fs";
const part = (name) => import(`${process.cwd()}/client/${name}.mjs`);
const { largestDistance } = await part("mechanisms/sensitivity");
const [{ below, given }, { drawFrom }, promise, { tokenOf }, { Client }, { cellOf }, { openBundle }] =
  await Promise.all(["random", "mechanisms/levels", "promise", "tokens", "client", "kinds", "scheme"].map(part));
const { epsilons, digest, other, blocks, scales } = JSON.parse(readFileSync(0, "utf-8"));
const said = async (work) => { try { await work(); return ""; } catch (error) { return error.message; } };
const read = async (name) => new Uint8Array(readFileSync(`bundle/${name}`));
const bounds = epsilons.map((text) => promise.promiseOf(text))
  .flatMap((one) => [promise.ratioFloor(one), promise.lossFloor(one)]).map((found) => found.map(String));
const scheme = await openBundle(read, digest);
const client = new Client(scheme, {});
const record = Object.fromEntries([...scheme.attributes.values()].map((a) => [a.column, a.categories[0] ?? a.lower]));
const ids = [await client.report(record), await client.report(record)].map((report) => report.id);
const categorical = [...scheme.attributes.values()].find((attribute) => attribute.type === "categorical");
console.log(JSON.stringify({
  bounds,
  again: below(given([2 ** 32 - 1, 7]), 3, 1),
  levels: [0, 1, 65535].map((word) => drawFrom([1, 65535], given([word]))),
  losses: blocks.map((tables) => tables.map((values) => ({ rows: 16, columns: 2, values })))
    .map((tables) => largestDistance(tables, scales).map(String)),
  ids: new Set(ids).size,
  secret: await said(() => tokenOf(new Uint8Array(15), digest)),
  value: await said(() => cellOf(categorical, { [categorical.column]: "a secret" })),
  other: await said(() => openBundle(read, other)),
}));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_parts_of_the_client_do_what_python_does_at_their_edges(
    tmp_path: Path, static: Path, everything: Scheme
) -> None:
    shutil.copytree(static / "client", tmp_path / "client")
    epsilons = ["0.5", "1/3", "3", "17.25", "ln 3", "1 + ln 3/2", "1/7 + ln 11"]
    other = everything.digest[:60] + "".join("0" if digit != "0" else "1" for digit in everything.digest[60:])
    blocks, scales = np.random.default_rng(1).integers(-4, 5, (20, 3, 16, 2)), [3, 5, 7]
    told = {"epsilons": epsilons, "digest": everything.digest, "other": other, "scales": scales}
    found = node(tmp_path, PARTS, json.dumps(told | {"blocks": blocks.reshape(20, 3, -1).tolist()}))
    budgets = [Budget.parse(text) for text in epsilons]
    floors = [bound for budget in budgets for bound in (budget.ratio_floor, budget.floor)]
    assert [Fraction(int(top), int(bottom)) for top, bottom in found["bounds"]] == floors
    assert found["again"] == [1]  # 2^32 - 1 is no part of a whole multiple of three
    assert found["levels"] == [0, 1, 1]
    losses = [Fraction(int(top), int(bottom)) for top, bottom in found["losses"]]
    assert losses == [joint_loss(list(tables), scales) for tables in blocks]
    assert found["ids"] == 2
    assert "at least 16 bytes" in found["secret"]
    assert "one of the categories" in found["value"]
    assert "a secret" not in found["value"]
    assert f"expected {other}" in found["other"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_refuses_what_is_no_shape_and_no_scheme_in_one_line(tmp_path: Path, static: Path) -> None:
    """A shape of half a column, whose entries add up, opened once, found no loss and never ended a report."""
    told = (
        'name = "s"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\ndegree = 0\nfinest_level = 2\n'
        '[attributes.pet]\ntype = "categorical"\ncategories = ["cat", "dog"]\nepsilon = 1\n'
    )
    scheme = Scheme.from_toml(told)
    wire.write_bundle(tmp_path / "made", scheme)
    texts = {"whole": scheme.canonical}
    for name, (old, new) in {
        "weights": (r"weight_in = \d+", "weight_in = 9007199254740993"),
        "law": (r"level_law = \[[^]]*\]", 'level_law = "abc"'),
        "pairs": (r"pairs = \[\]", "pairs = [5]"),
        "bound": (r"lower = 0", 'lower = "0.5"'),
        "escape": (r'name = "s"', r'name = "\\U0001F600"'),
    }.items():
        texts[name], found = re.subn(old, new, scheme.canonical, count=1)
        assert found == 1, name
    for name, text in texts.items():
        shutil.copytree(tmp_path / "made", tmp_path / name)
        manifest = json.loads((tmp_path / "made/manifest.json").read_text("utf-8"))
        manifest["digest"] = hashlib.sha256(text.encode()).hexdigest()
        (tmp_path / name / "scheme.toml").write_text(text, "utf-8")
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for name, change in {"half": lambda n: [2 * n, 0.5], "below": lambda n: [-n, -1], "none": lambda n: [n, 0]}.items():
        shutil.copytree(tmp_path / "made", tmp_path / name)
        manifest = json.loads((tmp_path / name / "manifest.json").read_text("utf-8"))
        for table in manifest["tables"]["x"]:
            table["shape"] = change(table["shape"][0] * table["shape"][1])
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    (tmp_path / ENTRY).write_text(joined(static), "utf-8")
    said = node(tmp_path, KINDS, json.dumps([*texts, "half", "below", "none"]))
    assert said.pop("whole") == ["", ""]
    assert {kind for kind, _ in said.values()} == {"SchemeError"}
    assert all("shape" in said[name][1] for name in ("half", "below", "none"))


def test_the_page_sends_no_cookie_and_says_what_the_dearest_unit_costs(static: Path) -> None:
    text = (static / "consent.mjs").read_text("utf-8")
    assert text.count('credentials: "omit"') == len(re.findall(r"\bfetch\(", text)) == 1
    assert "Math.max(...sums)" in text
    assert "JSON.stringify({ reports, last: new Date().toISOString(), arrived })" in text  # all that stays here


def test_the_joined_client_is_one_module_of_every_part(static: Path) -> None:
    text = joined(static)
    declared = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", text, re.MULTILINE)
    exported = re.findall(r"^export \{ (.*) \};$", text, re.MULTILINE)
    assert len(declared) == len(set(declared))
    assert [" ".join(sorted(names.split(", "))) for names in exported] == [EXPORTS]
    assert re.findall(r"^\s*import\b.*", text, re.MULTILINE) == []
    for part in (static / "client").rglob("*.mjs"):
        assert f"\n// ---- {part.relative_to(static)}\n" in text, part
        assert part.read_text("utf-8").count("\n") < 400


def test_the_browser_names_mechanisms_as_schemes_do(static: Path) -> None:
    kinds = [kind for kind in kinds_of(Mechanism) if kind.__module__.startswith("dpcore.mechanisms.")]
    names = {kind.name for kind in kinds if isinstance(getattr(kind, "name", None), str)}
    listed = re.findall(
        r"^const MECHANISMS = \{\n  __proto__: null,\n((?:  \w+: \w+,\n)+)\};$", joined(static), re.MULTILINE
    )
    browsers = {line.split(":")[0].strip() for lines in listed for line in lines.splitlines()}
    assert browsers
    assert browsers <= names


def kinds_of(kind: type) -> list[type]:
    return [kind, *(below for child in kind.__subclasses__() for below in kinds_of(child))]


def test_what_the_rule_does_not_read_is_refused(tmp_path: Path) -> None:
    def client(part: str) -> Path:
        (tmp_path / ENTRY).write_text('export { a } from "./a.mjs";\n', "utf-8")
        (tmp_path / "a.mjs").write_text(part, "utf-8")
        return tmp_path

    assert joined(client("export const a = 1;\n")).endswith("\nconst a = 1;\n\nexport { a };\n")
    for line in ("export default a;", "import b from './b.mjs';", 'import "./b.mjs";', "export let a = 1;"):
        with pytest.raises(ValueError, match=re.escape(line)):
            joined(client(f"{line}\n"))
    with pytest.raises(ValueError, match=r"ldpflow\.mjs"):
        joined(client('import { b } from "./ldpflow.mjs";\n'))
