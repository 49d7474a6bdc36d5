"""Curves of a table: what is drawn is what the rows say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpcore.plots import new_axes, plot_curves, plot_noise, png
from dpcore.studies.documents import hu

ROWS = pd.DataFrame({"n": [100, 10_000, 1000], "error": [1.0, 0.01, 0.1], "se": 0.01, "mechanism": "perturbed"})


def test_lines_follow_the_rows_and_theory_is_beside_them() -> None:
    figure, axes = new_axes()
    plot_curves(ROWS, axes, x="n", y="error", by="mechanism", error="se", logarithmic="xy", slopes={"perturbed": -1.0})
    drawn, stated = axes.lines[0], axes.lines[-1]
    assert np.asarray(drawn.get_ydata()).tolist() == [1.0, 0.1, 0.01]
    assert np.asarray(stated.get_ydata()) == pytest.approx([1.0, 0.1, 0.01])
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.lines[-1].get_label() == "perturbed: slope -1"
    assert png(figure).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="needs the columns"):
        plot_curves(ROWS.drop(columns="n"), axes, x="n", y="error", by="mechanism")


def test_noise_is_drawn_against_sensitivity_and_budget() -> None:
    figure, left = new_axes(10.0)
    left.remove()
    left, right = figure.subplots(1, 2)
    plot_noise(hu.noise_against_sensitivity(1000, "1"), hu.noise_against_budget(1000), left, right)
    points = sorted(float(np.asarray(line.get_ydata())[0]) for line in left.lines[1:])
    assert points == pytest.approx([1, 50, 250], rel=1e-3)
    assert [text.get_text() for text in right.get_legend().get_texts()] == list(hu.QUERIES)
    assert png(figure).startswith(b"\x89PNG")
