"""How pictures are laid out and drawn: nothing reaches their edge, and texts stand where matplotlib has them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from dpcore.results.plots import new_axes, png, style
from dpcore.results.plots.canvas import Canvas


def _ink(dots: np.ndarray) -> tuple[int, int, int, int]:
    """The first and last rows and columns that are not white."""
    rows, columns = np.nonzero((np.asarray(dots)[..., :3] < 128).any(axis=2))
    return int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max())


def test_what_stands_around_the_axes_is_within_the_margins_and_fills_them() -> None:
    figure, axes = new_axes(height=3.0)
    axes.plot([0, 1e6], [0, 1], label="line")
    axes.set_yticks([0, 1], ["a name that needs much room", "b"])
    style.in_margin(axes, 0.5, 0, "beside", style.INK)
    style.dress(axes, title="Title", subtitle="below it")
    style.label(axes, x="x", y="y")
    style.legend(axes, below=True)
    dots = np.asarray(Image.open(io.BytesIO(png(figure))))
    top, bottom, left, right = _ink(dots)
    height, width = dots.shape[:2]
    for dots_beyond, margin in ((left, 0.12), (width - 1 - right, 0.12), (top, 0.1), (height - 1 - bottom, 0.19)):
        assert dots_beyond / style.DPI == pytest.approx(margin, abs=0.03)  # a legend has margins of its own


@pytest.mark.parametrize("angle", [0, 30, 90])
def test_a_text_stands_where_matplotlib_has_it(angle: float) -> None:
    found = []
    for canvas in (Canvas, FigureCanvasAgg):
        figure = Figure(figsize=(4, 4), dpi=160, facecolor="white")
        figure.text(0.4, 0.4, "Größe, p.\ntwo lines", fontsize=12, rotation=angle)
        drawn: Any = canvas(figure)
        drawn.draw()
        found.append(_ink(drawn.buffer_rgba()))
    np.testing.assert_allclose(found[0], found[1], atol=1.5)  # dots


def test_a_name_with_dollar_signs_is_no_formula_and_a_power_of_ten_is_one() -> None:
    def room(name: str) -> float:
        figure, axes = new_axes(height=3.0)
        axes.set_yticks([0, 1], [name, "b"])
        png(figure)
        return float(axes.get_window_extent().x0)

    assert room("$500 to $900") == pytest.approx(room("8500 to 8900"), abs=3)  # a formula leaves dollars and spaces out
    figure, axes = new_axes(height=3.0)
    axes.set_xscale("log")
    axes.plot([1, 1e6], [0, 1])
    png(figure)
    assert any(label.get_parse_math() for label in axes.get_xticklabels())
