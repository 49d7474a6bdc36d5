"""The pages of the reference, made from the code; `tests/architecture/test_reference.py` compares them with the files."""

from __future__ import annotations

from pathlib import Path

from tests.programs.reference import commands, contract, decisions, http, keys, options, tables

ROOT = Path(__file__).parents[3]
FOLDER = "data/guide/reference"


def pages() -> dict[str, str]:
    """Return path, from the root -> text."""
    return {
        f"{FOLDER}/commands.md": commands.page(),
        f"{FOLDER}/settings.md": options.page(),
        f"{FOLDER}/scheme.md": keys.page(),
        f"{FOLDER}/tables.md": tables.page(),
        f"{FOLDER}/http.md": http.page(),
        f"{FOLDER}/python.md": contract.page(),
        "dpcore/DECISIONS.md": decisions.page(),
    }
