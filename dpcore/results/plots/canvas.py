"""Layout and rendering of a figure with one Axes: texts are measured once and drawn a line at a time.

matplotlib measures every text twice and draws it letter by letter, which takes 2.5 times as long.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import cos, radians, sin
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontPath, FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags
from matplotlib.layout_engine import LayoutEngine

_SUBPIXELS = 64.0  # units of font metrics per pixel


class Margins(LayoutEngine):
    """A layout with room for the labels around a figure's only Axes, and margins in inches at the sides, above and below."""

    _adjust_compatible = True
    _colorbar_gridspec = True

    def __init__(self, beside: float, above: float) -> None:
        super().__init__()
        self._pads = np.array([beside, above])

    def set(self) -> None:
        """Do nothing: the margins are fixed."""

    def execute(self, fig: Figure) -> None:
        """Place the Axes."""
        (axes,) = fig.axes
        whole, own = axes.get_tightbbox(for_layout_only=True), axes.get_window_extent()
        if whole is None:
            return
        size, pads = np.array([fig.bbox.width, fig.bbox.height]), self._pads * fig.dpi
        (left, bottom), (right, top) = own.p0 - whole.p0 + pads, size - (whole.p1 - own.p1) - pads
        if left < right and bottom < top:  # otherwise no space is left for the Axes
            width, height = size
            fig.subplots_adjust(left=left / width, right=right / width, bottom=bottom / height, top=top / height)


class Canvas(FigureCanvasAgg):
    """Draws into memory."""

    @cached_property
    def _whole(self) -> _Renderer:
        make: Any = _Renderer
        return make(*self.get_width_height(), self.figure.dpi)

    def get_renderer(self) -> RendererAgg:
        return self._whole


class _Line(NamedTuple):
    """A rendered line of text and its metrics in dots: size, descent below the baseline, and offset."""

    dots: np.ndarray
    size: tuple[float, float]
    below: float
    begins: tuple[float, float]


@lru_cache(maxsize=1024)
def _line(text: str, path: FontPath, size: float, dpi: float) -> _Line:
    """A rendered line of text, size in points."""
    font = get_font(path)  # one per thread
    font.clear()
    font.set_size(size, dpi)
    font.set_text(text, 0.0, flags=LoadFlags.DEFAULT)
    font.draw_glyphs_to_bitmap(antialiased=True)
    measures = (*font.get_width_height(), font.get_descent(), *font.get_bitmap_offset())
    width, height, below, right, up = (measure / _SUBPIXELS for measure in measures)
    return _Line(font.get_image().copy(), (width, height), below, (right, up))


@lru_cache(maxsize=64)
def _heights(path: FontPath, size: float, dpi: float) -> tuple[float, float, float]:
    """Ascent, descent and line gap of a font, in dots."""
    font = get_font(path)
    table: Any = font.get_sfnt_table("OS/2")
    dots = size * dpi / 72 / font.units_per_EM
    return table["sTypoAscender"] * dots, -table["sTypoDescender"] * dots, table["sTypoLineGap"] * dots


class _Renderer(RendererAgg):
    """Renders each line of text once, for measuring and drawing."""

    def _font(self, prop: FontProperties) -> tuple[FontPath, float, float]:
        return findfont(prop), prop.get_size_in_points(), self.dpi

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
        """Return width, height and descent of a line of text, in dots; formulas as matplotlib does."""
        if ismath:
            plain: Any = super()
            return plain.get_text_width_height_descent(s, prop, ismath)
        line = _line(s, *self._font(prop))
        return *line.size, line.below

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        """Draw a line of text with its baseline starting at (x, y), y downwards, rotated by `angle` degrees."""
        if ismath:
            plain: Any = super()
            plain.draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        line, turn = _line(s, *self._font(prop)), radians(angle)
        at = x + line.begins[0] + line.below * sin(turn), y + line.begins[1] + line.below * cos(turn)
        self._renderer.draw_text_image(line.dots, round(at[0]), round(at[1]) + 1, angle, gc)

    def _get_font_height_metrics(self, prop: FontProperties) -> tuple[float, float, float]:
        """Font metrics, cached; matplotlib reads them from the font for each text."""
        return _heights(*self._font(prop))
