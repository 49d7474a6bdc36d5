"""Fills templates: HTML is escaped, and so is what stands in Markdown through the filter `plain`."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from functools import cache
from typing import Any

import jinja2

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def fill(template: str, content: dict[str, Any]) -> str:
    """Return a template of this package's `templates` filled in; a name it lacks is an error."""
    return _environment().get_template(template).render(content)


def plain(text: object) -> str:
    """Return text that Markdown shows as it is, in one line, so that a table's cell holds it."""
    return _MARKS.sub(r"\\\1", " ".join(str(text).split()))


def digest(script: str) -> str:
    """Return the source that a content security policy allows a script by: its SHA-256."""
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
