"""Fixtures of rounds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.kept_open import commands_read_once as commands_read_once
from tests.helpers.kept_open import kept_open

Copy = Callable[[Path], Path]


@pytest.fixture(scope="session")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which round r has landed, of a hundred people's records, whose reports are kept; copy it before you write."""
    import numpy as np
    import pandas as pd

    from tests.helpers import undrawn
    from tests.helpers.schemes import QUESTION

    data = tmp_path_factory.mktemp("answered")
    (data / "scheme.toml").write_text(QUESTION, encoding="utf-8")
    people = pd.DataFrame({"urban_rural": np.where(np.arange(100) % 3 == 0, "rural", "urban")})
    people.to_parquet(data / "people-100.parquet")
    given = {"records": data / "people-100.parquet", "round_": "r", "data": data, "keep_reports": True}
    with kept_open():
        undrawn.run(data / "scheme.toml", **given)
    return data


@pytest.fixture
def moved(tmp_path: Path) -> Copy:
    """A function that copies a folder with its rounds into the test's own, and returns that: their files name it."""

    def move(folder: Path) -> Path:
        target = Path(shutil.copytree(folder, tmp_path / "moved", symlinks=True))
        for file in target.glob("**/runs/*/*.json"):
            file.write_text(file.read_text(encoding="utf-8").replace(str(folder), str(target)), encoding="utf-8")
        return target

    return move
