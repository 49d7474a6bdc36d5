"""Curves of a table: what is drawn is what the rows say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpcore.laboratory.plots.curves import plot_curves
from dpcore.results.plots import new_axes, new_panels, png

NAN = float("nan")
ROWS = pd.DataFrame(
    {
        "curve": ["perturbed"] * 3 + ["bound"] * 2,
        "x": [100, 10_000, 1000, 100, 10_000],
        "value": [1.0, 0.01, 0.1, NAN, NAN],
        "error": [0.1, 0.001, 0.01, NAN, NAN],
        "stated": [2.0, 0.2, 0.02 * 10**1.5, 5.0, 500.0],
    }
)


@pytest.mark.slow
def test_lines_follow_the_rows_and_what_is_stated_is_dashed_beside_them() -> None:
    figure, axes = new_axes()
    plot_curves(ROWS, axes, x="n", y="error", logarithmic="xy", slope=True)
    drawn, stated, bound = (line for line in axes.lines if len(np.asarray(line.get_ydata())) > 1)
    assert np.asarray(drawn.get_ydata()).tolist() == [1.0, 0.1, 0.01]
    assert np.asarray(stated.get_ydata())[[0, -1]].tolist() == [2.0, 0.2]
    assert np.asarray(bound.get_ydata()).tolist() == [5, 500]
    assert drawn.get_linestyle() == "-"
    assert stated.get_linestyle() == bound.get_linestyle() == "--"
    assert stated.get_color() == drawn.get_color() != bound.get_color()
    assert axes.get_xscale() == axes.get_yscale() == "log"
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["perturbed: -1.00, stated -0.50", "bound: stated 1.00"]
    assert png(figure).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="needs the columns"):
        plot_curves(ROWS.drop(columns="x"), axes, x="n", y="error")


def test_a_curve_has_one_colour_in_every_panel() -> None:
    figure, panels = new_panels(4, title="four", subtitle="panels")
    assert len(panels) == len(figure.axes) == 4
    for axes, rows in zip(panels, (ROWS, ROWS[ROWS["curve"] == "bound"]), strict=False):
        plot_curves(rows, axes, x="n", y="error", names=["perturbed", "bound"])
    assert panels[1].lines[-1].get_color() == panels[0].lines[-1].get_color()


def test_a_logarithmic_axis_has_numbers_enough_to_be_read() -> None:
    for ends in ((0.25, 8.0), (0.03, 1.7), (4.0, 100.0), (100.0, 1e6)):
        figure, axes = new_axes()
        rows = pd.DataFrame({"curve": "one", "x": ends, "value": ends, "error": NAN, "stated": NAN})
        plot_curves(rows, axes, x="epsilon", y="error", logarithmic="xy")
        figure.canvas.draw()
        for side, (low, high), ticks in (
            (0, axes.get_xlim(), axes.get_xticklabels()),
            (1, axes.get_ylim(), axes.get_yticklabels()),
        ):
            said = [tick.get_text() for tick in ticks if low <= tick.get_position()[side] <= high]
            assert len([text for text in said if text]) >= 3, ends
