"""The frozen bundles of tests/vectors/bundles, and files that a client in another language opens."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "vectors/bundles"
_DOCUMENT: dict[str, Any] = json.loads((_FOLDER / "bundles.json").read_text("utf-8"))
_DOCUMENT["refused"] += json.loads((_FOLDER / "texts.json").read_text("utf-8"))["refused"]


@dataclass(frozen=True)
class Bundle:
    """A bundle: the text of its scheme, and the tables of its attribute x, {shape, content}.

    reason: what a client's message says that refuses it, "" of one that is opened; in_browser: where the browser has another.
    """

    name: str
    scheme: str
    tables: tuple[dict[str, Any], ...]
    reason: str
    in_browser: str

    def __str__(self) -> str:
        return self.name

    def files(self) -> dict[str, str]:
        """Return the files' contents, base64, by their names."""
        manifest: dict[str, Any] = {"digest": hashlib.sha256(self.scheme.encode()).hexdigest(), "tables": {}}
        files = {"scheme.toml": base64.b64encode(self.scheme.encode()).decode()}
        for block, table in enumerate(self.tables):
            name = f"x.{block}.int32"
            hashed = hashlib.sha256(base64.b64decode(table["content"])).hexdigest()
            manifest["tables"].setdefault("x", []).append({"file": name, "shape": table["shape"], "sha256": hashed})
            files[name] = table["content"]
        return files | {"manifest.json": base64.b64encode(json.dumps(manifest).encode()).decode()}


def honest() -> list[Bundle]:
    """Return the bundles that all others are made of, but the one that the browser does not open."""
    return [_bundle({"name": of, "of": of, "changes": {}}) for of in _DOCUMENT["honest"] if of != "gaussian"]


def _bundles(kind: str) -> list[Bundle]:
    return [_bundle(case) for case in _DOCUMENT[kind]]


def _bundle(case: dict[str, Any]) -> Bundle:
    honest, reason = _DOCUMENT["honest"][case["of"]], case.get("reason", "")
    text = honest["scheme"]
    for old, new in case["changes"].items():
        text = text.replace(old, new)
    return Bundle(case["name"], text, tuple(honest["tables"]), reason, case.get("in_browser", reason))


KEPT, REFUSED = _bundles("kept"), _bundles("refused")


def wrongly_judged(said: dict[str, str]) -> dict[str, str]:
    """Return what the browser's client said of bundles, "" of those that it opened, where it is not what it must say."""
    expected = {bundle.name: bundle.in_browser for bundle in (*KEPT, *REFUSED)}
    assert set(said) == set(expected)
    return {
        name: text for name, text in said.items() if bool(text) != bool(expected[name]) or expected[name] not in text
    }
