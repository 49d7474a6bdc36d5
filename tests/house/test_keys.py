"""The tables of keys in data/README.md are what schemes are read by: a key, its values with the default, and its words."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpcore.mechanisms.declared import Option
from dpcore.mechanisms.named import BY_TYPE
from dpcore.privacy.budget import Budget
from dpcore.protocol import keys

HEAD = "| key | values | what |\n|---|---|---|\n"
TYPES = {
    str: "a text",
    int: "a whole number",
    Fraction: "a number",
    Budget: "a number or a text",
    dict: "a table",
    list[str]: "a list of texts",
    list[int]: "a list of whole numbers",
    list[Fraction]: "a list of numbers",
    list[list[str]]: "a list of pairs",
}


def shared(kind: str) -> list[Option]:
    """What an attribute of a type may say, whatever its mechanism."""
    return [key for key in keys.of_attribute(kind, "") if key.name != "estimator"]


def tables() -> dict[str, list[str]]:
    """Rows of the table of schemes, of what all attributes share, and of each type's own keys and options."""
    kinds = {kind: shared(kind) for kind in BY_TYPE}
    common = [key for key in kinds["numeric"] if key in kinds["categorical"]]
    found = {"scheme": list(map(row, keys.SCHEME)), "attribute": list(map(row, common))}
    for kind, named in BY_TYPE.items():
        own = [row(key) for key in kinds[kind] if key not in common]
        own += [row(option, f"of `{name}`: ") for name, each in named.items() for option in each.declared.options]
        found[kind] = own
    return found


def row(key: Option, of: str = "") -> str:
    return f"| `{key.name}` | {values(key)} | {of}{key.words} |\n"


def values(key: Option) -> str:
    said = f"{key.least:,} to {key.most:,}" if key.type is int and key.most != 1 << 20 else TYPES[key.type]
    if key.choices:
        said = ", ".join(f'`"{each}"`' + (" (default)" if each == key.default else "") for each in key.choices)
    elif key.default not in (None, "", (), {}):
        said += f", default {shown(key.default)}"
    return said + (", needed" if key.is_needed else "")


def shown(default: Any) -> str:
    if isinstance(default, tuple):
        return ", ".join(f'"{each}"' for each in default)
    return f"{default:,}" if isinstance(default, int) else str(default)


@pytest.mark.parametrize("which", tables())
def test_the_table_of_keys_is_what_is_read(which: str, root: Path) -> None:
    text = (root / "data/README.md").read_text(encoding="utf-8")
    table = HEAD + "".join(tables()[which])
    assert table in text, f"data/README.md needs this table:\n{table}"
