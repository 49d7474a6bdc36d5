"""What a canonical scheme may say, for the browser's client: its part `keys.mjs`, written of what Python declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from types import GenericAlias
from typing import Any

from dpcore.mechanisms.declaration import Option
from dpcore.mechanisms.registry import BY_KIND, declaration
from dpcore.protocol.syntax import attribute_table, keys

_STATIC = Path(__file__).parents[2] / "dpcore/collector/static/client"
FILE = _STATIC / "keys.mjs"
_MECHANISMS = re.findall(
    r"\w+ as (\w+)(?=,| })", (_STATIC / "mechanisms.mjs").read_text("utf-8")
)  # that the browser has
_HEAD = """\
/**
 * The keys that a canonical scheme may have, as dpcore/protocol/syntax/keys.py and the mechanisms declare them: written by
 * tests/helpers/client_keys.py, and held to it.  How reports are estimated is the aggregator's: `estimator` may be any text.
 */

export const TABLES = """


def text() -> str:
    """Return the whole part."""
    tables = {"scheme": _declared(keys.SCHEME)}
    for kind in BY_KIND:
        options = [option for name in BY_KIND[kind] for option in declared_of(name).options]
        tables[kind] = _declared(option for option in attribute_table.of_attribute(kind, "") if option not in options)
        tables[kind]["estimator"] = {"type": "str"}
        tables[kind]["mechanism"] = {"type": "str", "choices": [name for name in BY_KIND[kind] if name in _MECHANISMS]}
        tables[kind]["mechanism"]["needed"] = True
    tables["label"] = _declared(keys.LABEL)
    kept = {name: [option for option in declared_of(name).options if option.is_kept] for name in _MECHANISMS}
    tables |= {name: _declared(options) for name, options in kept.items()}
    lines = [f'  "{name}": {_table(table)},' for name, table in tables.items()]
    return "\n".join([_HEAD + "{", *lines, "};"]) + "\n"


def declared_of(name: str) -> Any:
    """Return what the mechanism of a name declares, which there is."""
    found = declaration(name)
    assert found is not None
    return found


def _table(table: dict[str, Any]) -> str:
    entries = "".join(f'    "{key}": {json.dumps(said)},\n' for key, said in table.items())
    return f"{{\n{entries}  }}" if table else "{}"


def _declared(options: Iterable[Option]) -> dict[str, Any]:
    return {option.name: _said(option) for option in options}


def _said(option: Option) -> dict[str, Any]:
    said: dict[str, Any] = {"type": _name(option.type)}
    said |= {"choices": option.choices} if option.choices else {}
    said |= {"least": option.least, "most": option.most} if "int" in said["type"] else {}
    said |= {"fewest": option.fewest} if "list" in said["type"] else {}
    said |= {"needed": True} if option.is_needed else {}
    return said if option.default in (None, {}) else said | {"default": option.default}


def _name(kind: Any) -> str:
    """A type as it is written in Python, without modules."""
    return re.sub(r"\w+\.", "", str(kind)) if isinstance(kind, GenericAlias) else str(kind.__name__)
