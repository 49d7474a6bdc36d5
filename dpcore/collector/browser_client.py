"""The browser client as one file: `static/ldpflow.mjs` joined with the modules that it re-exports.

The modules are ES modules, which a browser or node loads directly.  The collector serves one joined file, so that operators of
other pages can copy, read and hash it.  Every module appears once, after its dependencies.  Import lines and the `export`
before a declaration are removed; the names that the entry re-exports are exported at the end.  `import * as NAME` of a module
that only re-exports becomes an object with those names.  Top-level names share one scope, so they must be unique.
"""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

ENTRY = "ldpflow.mjs"
_LINK = re.compile(r'^(import|export) (?:\{ ([\w, ]+) \}|\* as (\w+)) from "(\.[\w./]+)";\n', re.MULTILINE)
_DECLARED = re.compile(r"^export (?=(?:async )?(?:function|class|const) )", re.MULTILINE)
_LEFTOVER = re.compile(r"^\s*(?:import|export)\b.*", re.MULTILINE)


def joined(static: Traversable) -> str:
    """Return the client in the folder of static files as one module; raises ValueError for an unsupported import or export."""
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
    exported = ", ".join(
        f"{name} as {public}" if public != name else name for name, public in _re_exported(texts[ENTRY])
    )
    return "\n".join([_unlinked(ENTRY, texts), *bodies, f"export {{ {exported} }};\n"])


def _linked(part: str, link: re.Match[str]) -> str:
    return normpath(join(dirname(part), link[4]))


def _unlinked(part: str, texts: dict[str, str]) -> str:
    """Return a module without its imports and exports."""

    def replacement(link: re.Match[str]) -> str:
        if link[3] is None:
            return ""
        entries = (f"  {public}: {name},\n" for name, public in _re_exported(texts[_linked(part, link)]))
        return f"const {link[3]} = {{\n  __proto__: null,\n{''.join(entries)}}};\n"

    text = _DECLARED.sub("", _LINK.sub(replacement, texts[part]))
    if leftover := _LEFTOVER.search(text):
        raise ValueError(f"{part} cannot be joined with the other modules of the browser client: {leftover[0].strip()}")
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _re_exported(text: str) -> list[tuple[str, str]]:
    """Return the names that a module re-exports: (name in the other module, public name)."""
    listed = [link[2].split(", ") for link in _LINK.finditer(text) if link[1] == "export" and link[2]]
    pairs = [entry.partition(" as ") for entries in listed for entry in entries]
    return [(name, public or name) for name, _, public in pairs]
