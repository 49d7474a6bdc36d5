"""The averaging attack: nothing is gained after the first round where answers are memoized, and much where they are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from dpcore._random import Source, seeded
from dpcore.audit.attacks.averaging import Averaging, averaging, forgetting, memoizing
from dpcore.audit.mechanisms.base import hard_pairs
from dpcore.client import Client
from dpcore.errors import SchemeError
from dpcore.protocol.report import Report
from dpcore.protocol.scheme import Scheme
from tests.helpers import client_cases
from tests.helpers.schemes import SMALL


@pytest.fixture(scope="module")
def small_text() -> str:
    """The small scheme with few cells: an attack looks for the two that are told apart best."""
    return SMALL.replace("degree = 1", "degree = 1\ncells = 128")


@pytest.fixture(scope="module")
def small(small_text: str) -> Scheme:
    return Scheme.from_toml(small_text)


def now_and_then(scheme: Scheme, random: Source, secret: bytes) -> Callable[[Mapping[str, Any]], Report]:
    """A client that loses its secret after three rounds: the fault of an app that is installed anew."""
    old, new = (Client(scheme, random, secret=each) for each in (secret, secret[::-1]))
    said: list[Report] = []

    def answer(record: Mapping[str, Any]) -> Report:
        said.append((old if len(said) < 3 else new).report(record))
        return said[-1]

    return answer


def test_a_client_with_a_secret_tells_nothing_more_after_the_first_round(small: Scheme) -> None:
    found = averaging(small, seeded(1), people=60, rounds=8)
    assert found.right == (found.right[0],) * 8
    assert (found.changed, found.gain, found.holds) == (0, 0, True)
    assert 0.6 < found.right[0] < 0.95  # a total epsilon of 2.6
    assert found.fresh[-1] > 0.95  # the same attack, where there is something to average


@pytest.mark.parametrize("reporting", ["all", pytest.param("one", marks=pytest.mark.slow)])
def test_fresh_noise_on_replay_is_found(small_text: str, reporting: str) -> None:
    scheme = Scheme.from_toml(f'reporting = "{reporting}"\n{small_text}')
    assert averaging(scheme, seeded(2), people=10, rounds=3, client=memoizing).holds
    found = averaging(scheme, seeded(2), people=15, rounds=4, client=forgetting)
    assert not found.holds
    assert found.changed > 12
    assert found.gain > 0.05


def test_a_client_that_loses_its_secret_is_found(small: Scheme) -> None:
    found = averaging(small, seeded(3), people=10, rounds=4, client=now_and_then)
    assert found.right[0] == found.right[2]
    assert found.changed > 5
    assert not found.holds


def test_one_changed_answer_is_enough_to_break_the_promise() -> None:
    assert not Averaging(people=100, right=(0.8, 0.8), fresh=(0.8, 0.9), changed=1).holds
    assert not Averaging(people=100, right=(0.8, 0.9), fresh=(0.8, 0.9), changed=0).holds


@pytest.mark.parametrize("text", [client_cases.ONE, client_cases.EVERYTHING], ids=["one", "everything"])
def test_values_are_of_their_input_cells(text: str) -> None:
    for attribute in Scheme.from_toml(text).attributes.values():
        cells = np.arange(attribute.mechanism.inputs)
        assert np.array_equal(attribute.encode([attribute.value_of(int(cell)) for cell in cells]), cells)


COUNTED = 'name = "s"\n[attributes.a]\ntype = "numeric"\nlower = 0\nstep = 1\n'


def test_two_values_of_few_are_told_apart(subtests: pytest.Subtests) -> None:
    """Of a wave's best pair both cells may be next to the same value, of which nobody could learn anything."""
    for more in ["", 'missing = "category"\n']:
        for name in ["dyadic_wave", "square_wave", "unary_encoding"]:
            for upper, epsilon in [(1, 2), (30, 8)] if more else [(9, 4)]:
                with subtests.test(more=more, name=name, upper=upper, epsilon=epsilon):
                    scheme = Scheme.from_toml(
                        f'{COUNTED}upper = {upper}\nepsilon = {epsilon}\nmechanism = "{name}"\n{more}'
                    )
                    a = scheme.attributes["a"]
                    assert a.encode([a.value_of(int(cell)) for cell in a.cells]).tolist() == a.cells.tolist()
                    for pair in hard_pairs(a.mechanism, a.cells):
                        assert {pair.first, pair.second} <= set(a.cells.tolist())
                        assert pair.first != pair.second
                    found = averaging(scheme, seeded(4), people=20, rounds=4)
                    assert found.holds
                    assert found.fresh[-1] > 0.8


def test_too_few_people_and_rounds_are_refused(small: Scheme) -> None:
    with pytest.raises(SchemeError, match="people"):
        averaging(small, seeded(1), people=1)
    with pytest.raises(SchemeError, match="rounds"):
        averaging(small, seeded(1), rounds=1)
