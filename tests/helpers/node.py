"""Programs for node, where it is installed: what they are told and what they say is JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

OPEN_ALL = """
import { readFileSync } from "node:fs";
const { openAll } = await import(process.cwd() + "/bundles.mjs");
console.log(JSON.stringify(await openAll(JSON.parse(readFileSync(0, "utf-8")))));
"""


def node(folder: Path, program: str, told: str = "") -> Any:
    """What a program for node prints as JSON; `told` is in its standard input."""
    tried = subprocess.run(
        ["node", "--input-type=module", "-e", program],
        cwd=folder,
        input=told,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tried.stderr == ""
    return json.loads(tried.stdout)
