"""The browser's client as one file: `static/ldpflow.mjs` and the parts that it hands on names of, joined.

The parts are ES modules, which a browser or node loads as they lie.  What is served is one, for whoever hosts a page of their
own to copy, read and hash.  The rule: every part stands once, after those that it links to; lines that link parts go, and so
does `export` before a declaration; the names that the entry hands on are exported at the end.  `import * as NAME`, of a part
that only hands names on, becomes an object of those names.  Names at the top level of parts are one space: no two are alike.
"""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

ENTRY = "ldpflow.mjs"
_LINK = re.compile(r'^(import|export) (?:\{ ([\w, ]+) \}|\* as (\w+)) from "(\.[\w./]+)";\n', re.MULTILINE)
_DECLARED = re.compile(r"^export (?=(?:async )?(?:function|class|const) )", re.MULTILINE)
_LEFT = re.compile(r"^\s*(?:import|export)\b.*", re.MULTILINE)


def joined(static: Traversable) -> str:
    """Return the client in the folder of static files as one module; ValueError where the rule does not read a line."""
    texts: dict[str, str] = {}
    links: dict[str, list[str]] = {}
    waiting = [ENTRY]
    while waiting:
        part = waiting.pop()
        texts[part] = static.joinpath(part).read_text("utf-8")
        links[part] = [_linked(part, link) for link in _LINK.finditer(texts[part])]
        waiting += [linked for linked in links[part] if linked not in texts]
    *parts, _ = TopologicalSorter(links).static_order()
    bodies = [f"// ---- {part}\n\n{_unlinked(part, texts)}" for part in parts]
    exported = ", ".join(f"{name} as {public}" if public != name else name for name, public in _handed_on(texts[ENTRY]))
    return "\n".join([_unlinked(ENTRY, texts), *bodies, f"export {{ {exported} }};\n"])


def _linked(part: str, link: re.Match[str]) -> str:
    return normpath(join(dirname(part), link[4]))


def _unlinked(part: str, texts: dict[str, str]) -> str:
    """Return a part without its links to others."""

    def in_place_of(link: re.Match[str]) -> str:
        if link[3] is None:
            return ""
        entries = (f"  {public}: {name},\n" for name, public in _handed_on(texts[_linked(part, link)]))
        return f"const {link[3]} = {{\n  __proto__: null,\n{''.join(entries)}}};\n"

    text = _DECLARED.sub("", _LINK.sub(in_place_of, texts[part]))
    if left := _LEFT.search(text):
        raise ValueError(f"{part} cannot be joined to the other parts of the browser's client: {left[0].strip()}")
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _handed_on(text: str) -> list[tuple[str, str]]:
    """Return the names that a part hands on from others: each as it is there, and as it is here."""
    listed = [link[2].split(", ") for link in _LINK.finditer(text) if link[1] == "export" and link[2]]
    pairs = [entry.partition(" as ") for entries in listed for entry in entries]
    return [(name, public or name) for name, _, public in pairs]
