"""Pages: what a landed round shows, as one HTML file that needs nothing else.  The only door to jinja2."""

from dpcore.pages.round import publish

__all__ = ["publish"]
