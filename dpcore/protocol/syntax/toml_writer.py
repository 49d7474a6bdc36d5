"""Writes TOML in one spelling: what a scheme's digest is taken of, so that it must never change.

Tables of tables, texts, whole numbers, true and false, and lists of these; a list has a line for each entry, and a table in a
list is one line.  The reader is the standard library's.
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
    """The table's own entries under its name, then the tables in it; one with tables alone has no name of its own."""
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
