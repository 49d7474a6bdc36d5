"""Pages: what a landed round shows, as one HTML file that needs nothing else, or in pieces.  The only door to jinja2."""

from dpcore.results.pages.cells import fitted
from dpcore.results.pages.content import NothingLanded, find
from dpcore.results.pages.fragments import Pieces, pieces
from dpcore.results.pages.latest_round import Newest, newest
from dpcore.results.pages.round import publish
from dpcore.results.pages.template import plain

__all__ = ["Newest", "NothingLanded", "Pieces", "find", "fitted", "newest", "pieces", "plain", "publish"]
