"""A landed round as a self-contained HTML page, or as Markdown.  The only importer of jinja2.

Modules:
    content: the content of a page, queried from the warehouse
    fragments: a round as Markdown, for Prefect's UI
    pictures: pictures of a page and their data
    query: the SQL of `queries.sql`, and a summary of the newest landed round
    relations: what the page shows of pairs of attributes, regressions and experiments
    round: writes the page of a round, with its odds
    template: fills and escapes templates, and lays out tables of Markdown
    trends: trends over rounds
    vocabulary: names of mechanisms and estimators in plain words
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore._lazy import lazy

_EXPORTS = {
    "content": ("find",),
    "fragments": (
        "Pieces",
        "pieces",
    ),
    "query": (
        "Newest",
        "NothingLanded",
        "newest",
    ),
    "round": ("publish",),
    "template": ("fitted", "plain"),
}
__getattr__, __all__ = lazy(__name__, _EXPORTS)

if TYPE_CHECKING:
    from dpcore.results.pages.content import find
    from dpcore.results.pages.fragments import Pieces, pieces
    from dpcore.results.pages.query import Newest, NothingLanded, newest
    from dpcore.results.pages.round import publish
    from dpcore.results.pages.template import fitted, plain
