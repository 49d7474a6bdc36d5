"""The guide's pictures are what their program draws, and each is used."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dpcore.results.plots import style
from tests.programs.pictures import FOLDER, PICTURES

_NUMBER = re.compile(r"-?\d+\.\d+")


def test_each_picture_is_shown_on_a_page() -> None:
    guide = "".join(page.read_text(encoding="utf-8") for page in FOLDER.parent.rglob("*.md"))
    assert {f"{name}.svg" for name in PICTURES} == {path.name for path in FOLDER.iterdir()}
    assert all(f"pictures/{name}.svg" in guide for name in PICTURES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_its_program_draws(name: str) -> None:
    """To a fifth of a point: another machine's last digits may differ."""
    drawn, kept = style.svg(PICTURES[name]()), (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert _NUMBER.sub("", drawn) == _NUMBER.sub("", kept), "run: make pictures"
    places = [np.array(_NUMBER.findall(text), dtype=float) for text in (drawn, kept)]
    np.testing.assert_allclose(*places, atol=0.2, err_msg="run: make pictures")
