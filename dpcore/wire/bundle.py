"""The client bundle: the canonical scheme and the integer tables its clients look their values up in.

A client in any language reads integers and evaluates nothing: `scheme.toml`, one file per block of a coefficient table
(little-endian int32, a row per input cell), and `manifest.json`, which names them with shapes and SHA-256.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from dpcore.protocol.scheme import Scheme
from dpcore.wire.files import write_bytes


def bundle_of(scheme: Scheme) -> dict[str, bytes]:
    """Return the files of a scheme's client bundle, name -> content; raises SchemeError where nobody is asked."""
    scheme.check_asked()
    tables: dict[str, list[dict[str, object]]] = {}
    files: dict[str, bytes] = {}
    for name, attribute in scheme.attributes.items():
        for block, table in enumerate(attribute.mechanism.tables):
            file, content = f"{name}.{block}.int32", np.ascontiguousarray(table, dtype="<i4").tobytes()
            files[file] = content
            entry: dict[str, object] = {
                "file": file,
                "shape": list(table.shape),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
            tables.setdefault(name, []).append(entry)
    files["scheme.toml"] = scheme.canonical.encode()
    manifest = {"scheme": scheme.name, "digest": scheme.digest, "tables": tables}
    return files | {"manifest.json": json.dumps(manifest, indent=1).encode()}


def write_bundle(folder: Path, scheme: Scheme) -> Path:
    """Write a scheme's client bundle into a folder and return the manifest's file; raises SchemeError where nobody is asked."""
    for file, content in bundle_of(scheme).items():
        write_bytes(folder / file, content)
    return folder / "manifest.json"
