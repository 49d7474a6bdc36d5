"""Fills templates; HTML is escaped automatically, Markdown by the filter `plain`."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from functools import cache
from typing import Any

import jinja2

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~$])")


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
