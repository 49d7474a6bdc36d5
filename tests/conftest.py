"""Fixtures shared by every kind of test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # `import statistical` in any test


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


SMALL = """
name = "small"
clients = 20000
pairs = [["height", "side"]]

[attributes.side]
type = "categorical"
categories = ["left", "right"]
codes = { 1 = "left", 2 = "right" }
epsilon = "ln 3"
design = "two_coin"

[attributes.colour]
type = "categorical"
categories = ["red", "green", "blue"]
values = [0, 1, 2.5]
epsilon = 0.5

[attributes.height]
type = "numeric"
lower = 0.5
upper = 2.5
unit = "m"
degree = 1
finest_level = 3
epsilon = 1
"""


@pytest.fixture(scope="session")
def small_text() -> str:
    """A scheme small enough to try everything on."""
    return SMALL


@pytest.fixture(scope="session")
def small():  # type: ignore[no-untyped-def]
    from dpcore.scheme import Scheme

    return Scheme.from_toml(SMALL)


@pytest.fixture
def people():  # type: ignore[no-untyped-def]
    """A function: n people of the small scheme, as columns."""
    import numpy as np

    def make(n: int, seed: int = 3) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        return {
            "side": rng.choice(["left", "right"], n, p=[0.7, 0.3]),
            "colour": rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2]),
            "height": 0.5 + 2 * rng.beta(2, 5, n),
        }

    return make
