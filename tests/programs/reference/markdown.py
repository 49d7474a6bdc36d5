"""What the pages of the reference are made of: tables, and words as Markdown reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

MADE = "<!-- Written by `make reference`; change what it is made of. -->"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; what would end a cell is escaped."""
    lines = [tuple(head), ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def page(title: str, *parts: str) -> str:
    """Return a page that is written by this program."""
    return "\n\n".join((f"# {title}", MADE, *parts)) + "\n"


def code(text: Any) -> str:
    """Return a text as code, nothing of nothing."""
    return f"`{text}`" if str(text) else ""


def slug(heading: str) -> str:
    """Return the anchor that a heading has where pages are shown."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
