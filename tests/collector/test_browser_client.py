"""The browser's client: its parts as they lie, and joined; in node, where it is installed (tests/browser has Chromium)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dpcore import wire
from dpcore.collector.browser import ENTRY, joined
from dpcore.mechanisms import Mechanism
from dpcore.protocol.scheme import Scheme

EXPORTS = (
    "Client DRAWS FORMAT InvalidRecord REASONS RefusedReport SchemeError cellOf epsilonOf fetchBundle fromText given keyed "
    "openBundle parseToml publicLevels readReport secure toText tokenOf writeReport"
)
TRY = """
import { readFile } from "node:fs/promises";
globalThis.fetch = async (path) => new Response(await readFile(path));
const { tryVectors } = await import(process.cwd() + "/vectors.mjs");
const exported = Object.keys(await import(process.cwd() + "/ldpflow.mjs"));
console.log(JSON.stringify([exported, await tryVectors("everything"), await tryVectors("one_of_three")]));
"""


@pytest.fixture
def static(root: Path) -> Path:
    return root / "dpcore/collector/static"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("form", ["parts", "joined"])
def test_node_gives_the_same_bytes_and_refuses_the_same(tmp_path: Path, root: Path, static: Path, form: str) -> None:
    shutil.copytree(static, tmp_path, dirs_exist_ok=True)
    shutil.copytree(root / "tests/vectors", tmp_path / "vectors")
    shutil.copy(root / "tests/browser/vectors.mjs", tmp_path)
    if form == "joined":
        shutil.rmtree(tmp_path / "client")
        (tmp_path / ENTRY).write_text(joined(static), "utf-8")
    for name in ("everything", "one_of_three"):
        vectors = json.loads((root / f"tests/vectors/{name}.json").read_text("utf-8"))
        wire.write_bundle(tmp_path / name, Scheme.from_toml(vectors["scheme"]))
    tried = subprocess.run(
        ["node", "--input-type=module", "-e", TRY], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert tried.stderr == ""
    exported, *wrong = json.loads(tried.stdout)
    assert " ".join(exported) == EXPORTS
    assert wrong == [[], []]


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
