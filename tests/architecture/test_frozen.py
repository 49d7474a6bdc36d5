"""What a change of the inside must not change: digests, reports, tables, what is printed, pages and pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frozen import asked, behaviour
from tests.frozen.awkward import awkward


@pytest.mark.parametrize("name", behaviour.FAST)
def test_the_same_is_asked_and_answered(name: str) -> None:
    _is_as_it_was(name, behaviour.FAST[name]())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in behaviour.SLOW else ()) for name in behaviour.ROUNDS]
)
def test_a_round_finds_and_shows_the_same(name: str, tmp_path: Path) -> None:
    _is_as_it_was(name, behaviour.ROUNDS[name](tmp_path))


def test_the_flows_ask_for_the_same() -> None:
    _is_as_it_was("flows", asked.flows())


def test_an_awkward_round_is_the_same_whole(tmp_path: Path) -> None:
    _is_as_it_was("awkward", awkward(tmp_path))


def _is_as_it_was(name: str, found: behaviour.Document) -> None:
    told = behaviour.differences(name, found)
    if told:
        more = [f"... and {len(told) - 20} more"] if len(told) > 20 else []
        pytest.fail("\n".join([behaviour.WHAT_TO_DO, *told[:20], *more]), pytrace=False)
