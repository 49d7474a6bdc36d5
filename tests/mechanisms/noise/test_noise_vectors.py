"""Frozen noise: the same words give the same integers and the same Gaussian report, and as many of them are taken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpcore.mechanisms import _kernels
from dpcore.mechanisms.noise.noise_kinds import NOISES
from dpcore.protocol.scheme import Scheme
from tests.vectors.noise.freeze import FILE, draws, report

FROZEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def test_the_same_words_are_the_same_noise(subtests: pytest.Subtests) -> None:
    for case in FROZEN["draws"]:
        with subtests.test(case=case):
            assert draws(case["noise"], case["scale"], case["words"]) == case


def test_the_same_words_are_the_same_gaussian_report() -> None:
    scheme = Scheme.from_toml(FROZEN["scheme"])
    assert scheme.digest == FROZEN["digest"]
    for case in FROZEN["reports"]:
        assert report(scheme, case["x"], case["words"]) == case


@pytest.mark.skipif(not _kernels.is_installed(), reason="needs numba")
@pytest.mark.slow
def test_compiled_loops_give_the_same(subtests: pytest.Subtests) -> None:
    with _kernels.compiled(True):
        test_the_same_words_are_the_same_gaussian_report()
        test_the_same_words_are_the_same_noise(subtests)


def test_every_noise_and_level_is_there() -> None:
    assert {case["noise"] for case in FROZEN["draws"]} == set(NOISES)
    assert {case["level"] for case in FROZEN["reports"]} == set(
        range(len(Scheme.from_toml(FROZEN["scheme"]).attributes["x"].mechanism.sizes))
    )
