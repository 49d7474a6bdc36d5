"""Pages: what a landed round shows, as one HTML file that needs nothing else, or in pieces.  The only door to jinja2."""

from dpcore.pages.filling import plain
from dpcore.pages.pieces import Pieces, pieces
from dpcore.pages.round import publish

__all__ = ["Pieces", "pieces", "plain", "publish"]
