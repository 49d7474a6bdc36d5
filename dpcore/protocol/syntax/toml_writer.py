"""A TOML writer with exactly one spelling per document.  It must never change, because digests are hashes of its output.

It writes nested tables, texts, whole numbers, booleans and lists of these.  A list has one line per entry, and a table in a
list is one line.  `tomllib` reads the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'[\x00-\x08\x0a-\x1f\x7f"\\]')
_SHORT = {"\b": r"\b", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}


def dumps(document: Mapping[str, Any]) -> str:
    r"""Return a document as TOML.

    >>> print(dumps({"name": "pets", "level_law": [3, 1], "codes": {"1": 'a "cat"'}}), end="")
    name = "pets"
    level_law = [
        3,
        1,
    ]
    <BLANKLINE>
    [codes]
    1 = "a \"cat\""
    """
    return "\n".join(_tables(document, ""))


def _tables(table: Mapping[str, Any], name: str) -> Iterator[str]:
    """The table's own entries under its name, then nested tables; without own entries it has no header."""
    entries = "".join(f"{_key(k)} = {_value(v, 0)}\n" for k, v in table.items() if not isinstance(v, Mapping))
    tables = {k: v for k, v in table.items() if isinstance(v, Mapping)}
    if entries or (name and not tables):
        yield (f"[{name}]\n" if name else "") + entries
    for key, inner in tables.items():
        yield from _tables(inner, f"{name}.{_key(key)}" if name else _key(key))


def _value(value: Any, depth: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        lines = "".join(f"{'    ' * (depth + 1)}{_value(entry, depth + 1)},\n" for entry in value)
        return f"[\n{lines}{'    ' * depth}]" if value else "[]"
    if isinstance(value, Mapping):  # in a list
        return f"{{ {', '.join(f'{_key(key)} = {_value(entry, depth)}' for key, entry in value.items())} }}"
    raise TypeError(f"no scheme holds a {type(value).__name__}")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda match: _SHORT.get(match[0], f"\\u{ord(match[0]):04x}"), text) + '"'
