from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from dpcore import wire
from dpcore.protocol.scheme import Scheme


def test_a_client_of_another_language_finds_the_integers_it_needs(tmp_path: Path, small: Scheme) -> None:
    manifest = json.loads(wire.write_bundle(tmp_path, small).read_text())
    assert manifest["digest"] == small.digest == hashlib.sha256((tmp_path / "scheme.toml").read_bytes()).hexdigest()
    tables = small.attributes["height"].mechanism.model().tables  # type: ignore[union-attr]
    assert list(manifest["tables"]) == ["height"]
    for entry, table in zip(manifest["tables"]["height"], tables, strict=True):
        content = (tmp_path / entry["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
        assert np.array_equal(np.frombuffer(content, dtype="<i4").reshape(entry["shape"]), table)
    wire.write_bundle(tmp_path, small)  # again changes nothing
    assert len(list(tmp_path.iterdir())) == 2 + len(tables)
