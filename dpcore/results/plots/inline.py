"""A figure as an SVG element of a page, with the page's colours and the positions of its values."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Literal

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

from dpcore.results.plots import style

Axis = Literal["x", "y"]
_NARROW = 4.4  # inches
_TITLE, _NAME = 32, 18  # letters on a line of a narrow picture's title, and of a category
_VARIABLES: Mapping[str, str] = {  # colour -> CSS variable of the page
    style.ESTIMATE: "blue",
    style.TRUTH: "truth",
    style.PREVIOUS: "previous",
    style.INK: "ink",
    style.FAINT: "faint",
    style.RULE: "rule",
    "#ffffff": "paper",
    **{colour: f"group{place}" for place, colour in enumerate(style.GROUPS[1:-1], 2)},
}


def inline(figure: Figure, name: str) -> str:
    """Return the figure as an <svg> on one line, hidden from screen readers: the page has to describe it.

    name: unique on the page, such as p1; prefix of all identifiers.
    """
    text = style.svg(figure)
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.S)
    text = re.sub(r'(<svg)[^>]*?(viewBox="[^"]*")[^>]*>', r'\1 class="picture" \2 aria-hidden="true">', text, count=1)
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    referenced = {identifier for pair in used for identifier in pair if identifier}
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in referenced else "", text)
    text = re.sub(r'(?<=href="#)|(?<=url\(#)', f"{name}-", text).replace("xlink:href", "href")
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour.lower(), f"var(--{variable})")
    text = re.sub(r"\b[1-9]\d*\.\d{3,}", lambda m: f"{float(m[0]):.2f}", text)
    return re.sub(r"> <", "><", " ".join(text.split()))


def narrow(figure: Figure) -> None:
    """Change the layout for a narrow page: same font size, wrapped lines, legends below the axis."""
    figure.set_size_inches(_NARROW, figure.get_size_inches()[1])
    for axes in figure.axes:
        title = axes.get_title(loc="left")
        for text in axes.findobj(Text):
            if isinstance(text, Text) and text.get_text() == title:
                text.set_text(textwrap.fill(title, _TITLE))
        if isinstance(axes.yaxis.get_major_locator(), FixedLocator):
            names = [textwrap.fill(label.get_text(), _NAME) for label in axes.get_yticklabels()]
            axes.set_yticks(axes.get_yticks(), names)
        longest = max(map(len, axes.get_legend_handles_labels()[1]), default=0)
        style.legend(axes, below=True, columns=2 if longest <= _NAME else 1)


def places(figure: Figure, axis: Axis, values: Sequence[float]) -> list[float]:
    """Return the positions of an axis' values in a drawn figure, as fractions from the left or from the top."""
    axes, is_x = figure.axes[0], axis == "x"
    points = axes.transData.transform([(value, 0.0) if is_x else (0.0, value) for value in values])
    shares = figure.transFigure.inverted().transform(points)
    return [float(point[0]) if is_x else 1 - float(point[1]) for point in shares]
