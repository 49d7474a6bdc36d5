"""Pages: what a landed round shows, as one HTML file that needs nothing else, or in pieces.  The only door to jinja2.

Modules:
    cells: Markdown tables
    content: the content of a page, queried from the warehouse
    fragments: a round in pieces of Markdown
    latest_round: the latest landed round in a few words
    odds: odds on a round's page
    pairs: two attributes on a page
    pictures: pictures of a page and the tables behind them
    query: the SQL files of `queries/`
    round: the page of a round, written
    template: templates filled and escaped
    trends: trends over rounds
    vocabulary: names of mechanisms and estimators in plain words
"""

from dpcore.results.pages.cells import fitted
from dpcore.results.pages.content import NothingLanded, find
from dpcore.results.pages.fragments import Pieces, pieces
from dpcore.results.pages.latest_round import Newest, newest
from dpcore.results.pages.round import publish
from dpcore.results.pages.template import plain

__all__ = ["Newest", "NothingLanded", "Pieces", "find", "fitted", "newest", "pieces", "plain", "publish"]
