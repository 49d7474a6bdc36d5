"""Fills templates, escapes text, and lays out tables of Markdown; HTML is escaped automatically, Markdown by `plain`."""

from __future__ import annotations

import hashlib
import re
import textwrap
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from typing import Any
from unicodedata import east_asian_width

import jinja2

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~$])")
Row = dict[str, str]
_ROOM = 100.0  # width of a table in Prefect's UI in a window of 1280 pixels, in letters
_BESIDE = 3.4  # padding of a cell, in letters
_CAPITAL, _WIDE, _BOLD = 1.4, 2.1, 1.1  # width relative to other letters


def fill(template: str, content: dict[str, Any]) -> str:
    """Return a template of `templates/` filled in; an undefined name is an error."""
    return _environment().get_template(template).render(content)


def plain(text: object) -> str:
    """Return text escaped for Markdown, in one line, so that it fits a table cell."""
    return _MARKS.sub(r"\\\1", " ".join(str(text).split()))


def digest(script: str) -> str:
    """Return the SHA-256 source expression of a script for a content security policy."""
    return "sha256-" + b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dpcore.results.pages"),
        autoescape=lambda name: name is None or not name.endswith(".md"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"plain": plain, "digest": digest}
    return environment


class Strong(str):
    """A cell in bold type."""


def fitted(rows: Sequence[Row], *words: str) -> list[Row]:
    """Return rows with the same columns as Markdown, with cells broken into lines so that the table fits the window.

    words: text columns, which are broken before numeric ones.  Titles of columns are not broken.
    """
    if not rows:
        return []
    least = {name: _BOLD * _breadth(name) for name in rows[0]}
    widths = {name: max(least[name], *(_breadth(row[name]) for row in rows)) for name in rows[0]}
    while sum(widths.values()) > _ROOM - _BESIDE * len(widths):
        wide = [name for name in widths if widths[name] > least[name]]
        if not wide:
            break
        widths[max([name for name in wide if name in words] or wide, key=lambda name: widths[name])] -= 1
    return [{name: _lines(row[name], width) for name, width in widths.items()} for row in rows]


def table(rows: Sequence[Row], *words: str) -> str:
    """Return the rows as a table of Markdown, with columns other than `words` aligned right; '' without rows."""
    if not rows:
        return ""
    head = f"| {' | '.join(map(plain, rows[0]))} |"
    rule = f"|{'|'.join('---' if name in words else '--:' for name in rows[0])}|"
    lines = [head, rule, *(f"| {' | '.join(row.values())} |" for row in fitted(rows, *words))]
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str, width: float) -> str:
    """The text of a cell as Markdown, in lines of this width."""
    letters = max(1, int(width * len(text) / max(1.0, _breadth(text)) + 1e-9))
    broken = "<br>".join(map(plain, textwrap.wrap(text, letters, break_on_hyphens=False)))
    return f"**{broken}**" if isinstance(text, Strong) and broken else broken


def _breadth(text: str) -> float:
    """Width of a text, in letters."""
    width = 0.0
    for sign in text:
        is_wide = sign in "MWmw%@" or east_asian_width(sign) in "WF"
        width += _WIDE if is_wide else _CAPITAL if sign.isupper() else 1.0
    return _BOLD * width if isinstance(text, Strong) else width
