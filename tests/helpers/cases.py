"""Which cases of a test are quick, and which run by day: of many alike, as few as show each kind; others slow or nightly."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import pytest


def of_each_kind(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """The cases as parameters, of which all but `quick` are slow; a tuple holds the values of several arguments."""
    cases = list(cases)
    assert all(case in cases for case in quick), "a quick case is none of the cases"
    return [case if case in quick else pytest.param(*_values(case), marks=pytest.mark.slow) for case in cases]


def some_by_day(cases: Iterable[Any], *by_day: Any) -> list[Any]:
    """The cases of a slow test as parameters, of which CI leaves all but `by_day` to the night."""
    cases = list(cases)
    assert all(case in cases for case in by_day), "a case by day is none of the cases"
    nightly = pytest.mark.nightly("every case")
    return [case if case in by_day else pytest.param(*_values(case), marks=nightly) for case in cases]


def every_value_once(*axes: Iterable[Any]) -> list[Any]:
    """All combinations as parameters; quick are few that show every value of every axis, in as many pairs as they can."""
    lists = [list(axis) for axis in axes]
    cases = list(product(*(range(len(axis)) for axis in lists)))
    quick: list[tuple[int, ...]] = []
    while len({shown for case in quick for shown in enumerate(case)}) < sum(map(len, lists)):
        quick.append(max(cases, key=lambda case: _adds(case, quick)))
    return of_each_kind(
        product(*lists), *(tuple(axis[i] for axis, i in zip(lists, case, strict=True)) for case in quick)
    )


def _adds(case: tuple[int, ...], known: list[tuple[int, ...]]) -> tuple[int, int]:
    """How many values of axes, and how many pairs of them, the case shows first."""
    return tuple(
        len(
            set(combinations(enumerate(case), size)).difference(
                *(combinations(enumerate(other), size) for other in known)
            )
        )
        for size in (1, 2)
    )  # type: ignore[return-value]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
