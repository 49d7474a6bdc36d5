"""Fixtures of commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.kept_open import commands_read_once


@pytest.fixture(scope="session", autouse=True)
def commands() -> Iterator[None]:
    """Let the signatures of commands be read once."""
    with commands_read_once():
        yield
