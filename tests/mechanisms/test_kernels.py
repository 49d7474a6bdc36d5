"""Which path is taken: compiled or numpy.  What both give is compared in tests/mechanisms/test_paths.py."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.errors import DPCoreError
from dpcore.mechanisms import _kernels

MACHINE_CODE = _kernels._machine_code


def loop() -> None:
    """Stands for a loop of the module."""


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels, "_machine_code", lambda loop: loop)  # numba takes a second to be imported
    monkeypatch.delenv(_kernels.SETTING, raising=False)
    monkeypatch.setattr(_kernels, "_handled", 0)


def is_compiled(integers: int) -> bool:
    return _kernels.chosen(loop, integers) is not None


def test_a_path_can_be_forced_and_ends_with_its_context() -> None:
    with _kernels.compiled(True):
        assert is_compiled(1)
        with _kernels.compiled(False):
            assert not is_compiled(10**9)
        assert is_compiled(1)
    assert not is_compiled(1)


def test_few_clients_never_wait_for_a_compiler() -> None:
    for _ in range(1000):
        assert not is_compiled(_kernels.FEW - 1)
    assert _kernels._handled == 0


def test_long_runs_are_compiled_once_the_wait_is_worth_it() -> None:
    size = _kernels._WORTH // 4
    assert [is_compiled(size) for _ in range(6)] == [False] * 4 + [True] * 2
    assert not is_compiled(1)


def test_the_setting_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_kernels.SETTING, "0")
    assert not is_compiled(10**12)
    monkeypatch.setenv(_kernels.SETTING, "1")
    assert is_compiled(1)
    monkeypatch.setenv(_kernels.SETTING, "yes")
    with pytest.raises(DPCoreError, match="LDPFLOW_COMPILED is 0, 1 or unset, got 'yes'"):
        is_compiled(1)


def test_without_numba_numpy_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels, "is_installed", lambda: False)
    assert not is_compiled(10**12)
    monkeypatch.setenv(_kernels.SETTING, "1")
    for ask in (lambda: is_compiled(1), lambda: _kernels.compiled(True).__enter__()):
        with pytest.raises(DPCoreError, match="need numba"):
            ask()


@pytest.mark.slow
def test_a_place_that_keeps_nothing_does_not_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    njit, asked = numba.njit, []

    def without_cache(cache: bool = False, **options: bool) -> object:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", without_cache)

    def fill(values: np.ndarray) -> None:
        values[:] = 7

    assert callable(MACHINE_CODE(fill))
    assert asked == [True, False]
