"""The style of all pictures, applied to one Axes at a time.

There is no pyplot and no rcParams: every size and colour is set on the artist itself, so pictures do not depend on global state
and can be drawn in several threads or inside another program.
Colours are those of Okabe and Ito, distinguishable with any colour vision; each series also has its own line or marker.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.dates import HOURLY, MINUTELY, MONTHLY, AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import ScaledTranslation
from PIL import Image

from dpcore.functionals.group import Group
from dpcore.protocol.domain import dates
from dpcore.results.plots.canvas import Canvas, Margins
from dpcore.results.text.phrases import in_words, separated, title_of, whose

ESTIMATE = "#0072B2"  # blue
TRUTH = "#D55E00"  # vermilion
PREVIOUS = "#7A7A7A"  # grey
GROUPS = (ESTIMATE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#5F6670")  # as many as can be distinguished
INK, FAINT, RULE = "#1F2328", "#5F6670", "#E4E6EA"
TITLE_SIZE, LABEL_SIZE, SMALL_SIZE = 13.0, 10.5, 9.5  # points
_ORDER = (
    "estimate",
    "interval",
    "true value",
    "previous round",
)  # in the legend; names of intervals have their confidence
_LINE = 13.0  # points between lines of a subtitle
_UNDER_LABEL = 0.5  # inches from the axis to a legend under its ticks and label
_FOOTER = 0.35  # inches under all panels
_REASON_WIDTH = 48  # characters of a reason on one line
_COMPRESSION = 3  # PNG level: two thirds of the default's time for a tenth more bytes
DPI = 160  # dots per inch; 7.2 inches are 1152 dots
# Between 3 and 4 days, matplotlib has only steps of up to 12 hours for 7 ticks, and warns; so for years and hours.
_DATE_STEPS = ((MONTHLY, 12), (HOURLY, 24), (MINUTELY, 60))


def new_axes(width: float = 7.2, height: float = 4.3) -> tuple[Figure, Axes]:
    """Return a figure of width x height inches with one Axes, outside pyplot's registry."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout=Margins(0.12, 0.1), facecolor="white")
    return figure, figure.add_subplot()


def groups_of(frame: pd.DataFrame) -> tuple[list[tuple[str, str]], str]:
    """Return (value of `given`, name) of each group in a picture, and the attribute that defines them.

    Raises ValueError for groups of several attributes, or for more groups than colours.
    """
    groups = [(text, Group.parse(text)) for text in dict.fromkeys(frame["given"])]
    others = {group.attribute for _, group in groups if group is not None}
    if len(groups) > len(GROUPS) or len(others) > 1:
        raise ValueError(f"a picture shows up to {len(GROUPS)} groups of one attribute, the frame holds {len(groups)}")
    named = [(text, title_of(group.attribute, group.category) if group else "all clients") for text, group in groups]
    return named, title_of("".join(others))


def whole_ticks(axes: Axes, values: pd.Series) -> None:
    """Place ticks along x at integers only, if all values (texts) are integers."""
    numbers = pd.to_numeric(values, errors="coerce").dropna()
    locator = axes.xaxis.get_major_locator()
    if (numbers == numbers.round()).all() and isinstance(locator, MaxNLocator):
        locator.set_params(integer=True)


def new_panels(
    count: int, *, title: str, subtitle: str, width: float = 4.9, height: float = 4.9
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a title, a footer and `count` Axes of width x height inches, at most three in a row."""
    columns = 2 if count == 4 else min(count, 3)
    rows = -(-count // columns)
    size = (max(columns * width, 8.0), rows * height + 2 * _FOOTER)
    margin, foot = 0.12 / size[0], _FOOTER / size[1]
    margins = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12, rect=(0, foot, 1, 1 - foot))
    figure = Figure(figsize=size, dpi=DPI, layout=margins, facecolor="white")
    figure.suptitle(title, x=margin, ha="left", fontsize=TITLE_SIZE + 1, fontweight="bold", color=INK)
    figure.text(margin, 0.3 * foot, subtitle, fontsize=SMALL_SIZE, color=FAINT)
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(count)]


def height_for(rows: int) -> float:
    """Return the height in inches of a picture with so many rows."""
    return 1.7 + 0.46 * max(rows, 2)


def png(figure: Figure) -> bytes:
    """Return the figure as a PNG; the same figure gives the same bytes."""
    _take_literally(figure)
    buffer = io.BytesIO()
    canvas: Any = Canvas(figure)
    with warnings.catch_warnings():  # texts of respondents may have characters that the font lacks
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        canvas.draw()  # `savefig` would traverse all artists twice, for the layout and for drawing
    opaque = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba()).convert("RGB")
    opaque.save(buffer, "png", dpi=(DPI, DPI), compress_level=_COMPRESSION)
    return buffer.getvalue()


def svg(figure: Figure) -> str:
    """Return the figure as an SVG document with text as outlines; the same figure gives the same text."""
    _take_literally(figure)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    # Identifiers contain a random salt, which is a global setting; they are numbered instead.
    for number, salted in enumerate(dict.fromkeys(re.findall(r'id="([^"]*[0-9a-f]{10})"', text))):
        text = re.sub(rf"(?<=[\"#]){re.escape(salted)}(?=[\")])", f"i{number}", text)
    return text


def _take_literally(figure: Figure) -> None:
    """Show names with two dollar signs literally; only powers on a logarithmic axis are formulas."""
    every = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    powers = {label for axis in every if axis.get_scale() == "log" for label in axis.get_ticklabels(which="both")}
    for text in {*figure.findobj(Text)} - powers:
        text.set(parse_math=False)


def dress(axes: Axes, *, title: str, subtitle: str = "", rules: str = "y") -> None:
    """Set the title, thin spines and a light grid along the value axis ('x', 'y' or '')."""
    font: dict[str, Any] = {"fontsize": TITLE_SIZE, "fontweight": "bold", "color": INK}
    pad = 24 + _LINE * subtitle.count("\n") if subtitle else 10
    axes.set_title(title, loc="left", y=1.0, pad=pad, **font)  # y: avoids the search for free space
    if subtitle:
        axes.annotate(
            subtitle,
            xy=(0, 1),
            xycoords="axes fraction",
            xytext=(0, 8),
            textcoords="offset points",
            fontsize=SMALL_SIZE,
            color=FAINT,
        )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set(color=FAINT, in_layout=False)
    axes.tick_params(labelsize=SMALL_SIZE, labelcolor=INK, color=FAINT, length=3)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    if rules:
        axes.grid(visible=True, axis="x" if rules == "x" else "y", color=RULE, linewidth=0.8)


def label(axes: Axes, *, x: str = "", y: str = "") -> None:
    """Label the axes; the texts contain the units."""
    axes.set_xlabel(x, fontsize=LABEL_SIZE, color=INK, labelpad=6)
    axes.set_ylabel(y, fontsize=LABEL_SIZE, color=INK, labelpad=8)


def legend(axes: Axes, *, below: bool = False, columns: int | None = None) -> None:
    """Show the legend without a frame: at the best place inside, or below the axis in one row or so many columns."""
    entries = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    names = sorted(entries, key=lambda name: _ORDER.index(name) if name in _ORDER else 1)
    handles = [entries[name] for name in names]
    if below:
        place_below(axes, handles, names, columns)
    else:
        inside = axes.legend(handles, names, loc="best", frameon=False, fontsize=SMALL_SIZE, labelcolor=INK)
        inside.set_in_layout(False)


def place_below(
    axes: Axes, handles: Sequence[Artist], names: Sequence[str] | None = None, columns: int | None = None
) -> None:
    """Show a legend of these handles below the axis, in one row or so many columns; names replace their labels."""
    axes.legend(
        handles,
        names or [str(handle.get_label()) for handle in handles],
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=axes.transAxes + ScaledTranslation(0, -_UNDER_LABEL, axes.figure.dpi_scale_trans),
        ncols=columns or len(handles),
        frameon=False,
        fontsize=SMALL_SIZE,
        labelcolor=INK,
    )


def in_margin(axes: Axes, row: float, points: float, text: str, colour: str, **font: Any) -> None:
    """Write a text to the right of a row, so many points above its centre."""
    axes.annotate(
        text,
        xy=(1, row),
        xycoords=("axes fraction", "data"),
        xytext=(10, points),
        textcoords="offset points",
        va="center",
        fontsize=SMALL_SIZE,
        color=colour,
        **font,
    )


def separate_thousands(axes: Axes, *sides: str, unit: str = "") -> None:
    """Format ticks of the sides ('x', 'y') with thousands separators; on x as dates for a date attribute."""
    for side in sides:
        axis = axes.xaxis if side == "x" else axes.yaxis
        if side == "x" and unit in dates.EXAMPLES:  # the same day numbers as matplotlib's
            places = AutoDateLocator(minticks=4, maxticks=7)  # type: ignore[no-untyped-call]
            for step, longest in _DATE_STEPS:
                places.intervald[step] = [*places.intervald[step], longest]
            axis.set_major_locator(places)
            axis.set_major_formatter(ConciseDateFormatter(places, show_offset=False))  # type: ignore[no-untyped-call]
        else:
            axis.set_major_formatter(FuncFormatter(lambda value, _: separated(value)))


def with_unit(attribute: str, unit: str) -> str:
    """Return the label of an axis: the attribute's name with its unit, without a unit for dates."""
    unit = dates.SUFFIXES.get(unit, unit)
    return f"{attribute} ({unit})" if unit else attribute


def refusal(axes: Axes, row: float, note: str, reason: str) -> None:
    """Write a note next to a row without an estimate, and the reason in it, on at most two lines."""
    in_margin(axes, row, 0, note, FAINT, fontstyle="italic")
    axes.text(
        sum(axes.get_xlim()) / 2,
        row,
        "\n".join(textwrap.wrap(reason, _REASON_WIDTH, max_lines=2, placeholder=" …")),
        ha="center",
        va="center",
        fontsize=SMALL_SIZE - 1,
        color=FAINT,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2.0},
    )


def only(frame: pd.DataFrame, column: str) -> str:
    """Return the only value of a column, '' without the column; raises ValueError if values differ."""
    if column not in frame.columns or frame.empty:
        return ""
    values = frame[column].unique()
    if len(values) > 1:
        raise ValueError(f"a picture shows one {column}, the frame holds {len(values)}; select the rows first")
    return str(values[0])


def need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise ValueError unless the frame has rows and the columns."""
    if missing := [column for column in columns if column not in frame.columns]:
        raise ValueError(f"the frame needs the columns {', '.join(missing)}")
    if frame.empty:
        raise ValueError("the frame holds no rows to draw")


def share_of(frame: pd.DataFrame, word: str, kind: str = "") -> str:
    """Return the interval's name with its kind and confidence, such as "simultaneous 95 % interval"."""
    confidence = only(frame, "confidence")
    return " ".join(filter(None, (kind, f"{100 * float(confidence):.4g} %" if confidence else "", word)))


_SIMULTANEOUS = {  # estimator -> line style and name of its band
    "bias_aware": ((0, (1, 1.2)), "simultaneous, assumed smoothness"),
    "distribution_free": ((0, (4, 1.5, 1, 1.5)), "simultaneous, distribution-free"),
}


def outline(axes: Axes, frame: pd.DataFrame, estimator: str, ends: tuple[str, str], scale: float = 1.0) -> None:
    """Draw the limits of a simultaneous band, columns ESTIMATOR_END over x, if the frame has them."""
    line, words = _SIMULTANEOUS[estimator]
    for end, label in zip(ends, (words, None), strict=True):
        column = f"{estimator}_{end}"
        if column in frame and frame[column].notna().any():
            axes.plot(frame["x"], frame[column] * scale, color=ESTIMATE, linewidth=1.1, linestyle=line, label=label)


def about(frame: pd.DataFrame, *, interval: str, kind: str = "") -> str:
    """Return the subtitle: the group, the estimator and the confidence of the interval."""
    parts = [
        whose(only(frame, "given")),
        in_words(only(frame, "estimator")),
        share_of(frame, interval, kind) if only(frame, "confidence") else "",
    ]
    return "  ·  ".join(part for part in parts if part)
