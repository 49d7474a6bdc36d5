"""A wave's O(inputs + outputs) products against the dense matrix, written out one pair of cells at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcore.errors import CalibrationError
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.wave_level import Wave


def dense(wave: Wave) -> np.ndarray:
    """The channel in words: is output z in the window of input cell c?"""
    rows = np.empty((wave.outputs, wave.inputs))
    for c in range(wave.inputs):
        a = (c // 2**wave.shift) % wave.cells
        if wave.circular:
            window = {(a + step) % wave.cells for step in range(-wave.half_width, wave.half_width + 1)}
        else:
            window = set(range(a, a + 2 * wave.half_width + 1))
        for z in range(wave.outputs):
            rows[z, c] = wave.weight_in if z in window else wave.weight_out
    return rows / rows.sum(axis=0)


def anchor(**changes: object) -> Wave:
    wave = Wave(inputs=64, cells=16, shift=2, half_width=3, circular=False, weight_in=178144, weight_out=65536)
    return replace(wave, **changes)  # type: ignore[arg-type]


WAVES = [
    anchor(),
    anchor(half_width=0),
    anchor(half_width=20),  # wider than the interval, as at a small epsilon
    anchor(shift=0, cells=64),
    anchor(shift=2, circular=True),
    anchor(shift=1, circular=True, half_width=7),
    anchor(shift=0, circular=True, half_width=0),
    anchor(shift=0, cells=2, circular=True, half_width=0),
    anchor(inputs=15, cells=5, shift=0, half_width=2, circular=False),  # three times around, on no power of two
]


def test_a_wave_is_its_dense_matrix(subtests: pytest.Subtests) -> None:
    for wave in WAVES:
        with subtests.test(wave=wave):
            matrix, rng = dense(wave), np.random.default_rng(1)
            np.testing.assert_allclose(wave.matrix(), matrix, rtol=1e-14)
            np.testing.assert_allclose(wave.matrix().sum(axis=0), 1, rtol=1e-14)
            assert wave.weights().sum(axis=1).tolist() == [wave.total] * wave.inputs
            laws, scores = rng.normal(size=(wave.inputs, 3)), rng.normal(size=(wave.outputs, 3))
            for pick in (slice(None), 1):  # many columns, and one
                np.testing.assert_allclose(wave.probabilities(laws[:, pick]), matrix @ laws[:, pick], atol=1e-12)
                np.testing.assert_allclose(wave.adjoint(scores[:, pick]), matrix.T @ scores[:, pick], atol=1e-12)
            phases = (np.arange(wave.inputs) >> wave.shift) % wave.cells
            np.testing.assert_allclose(wave.folded(laws[:, 0]), np.bincount(phases, laws[:, 0]), atol=1e-12)
            assert wave.folded(np.ones(wave.inputs, dtype=np.int64)).dtype == np.int64  # counts stay integers


def test_a_channel_is_its_levels_one_after_another() -> None:
    channel = FiniteChannel((anchor(), anchor(shift=1, circular=True), anchor(shift=0, circular=True)), np.ones(3) / 3)
    stacked, rng = np.vstack([dense(wave) for wave in channel.levels]), np.random.default_rng(2)
    np.testing.assert_allclose(np.vstack(channel.matrices), stacked, rtol=1e-14)
    law, scores = rng.dirichlet(np.ones(64)), rng.normal(size=(len(stacked), 2))
    np.testing.assert_allclose(channel.probabilities(law), stacked @ law, atol=1e-14)
    np.testing.assert_allclose(channel.probabilities(np.eye(64)), stacked, atol=1e-14)
    np.testing.assert_allclose(channel.adjoint(scores), stacked.T @ scores, atol=1e-12)
    expected = channel.expected(law, np.array([10.0, 20.0, 30.0]))
    np.testing.assert_allclose([part.sum() for part in channel.split(expected)], [10, 20, 30], rtol=1e-14)
    np.testing.assert_allclose(channel.reports(expected), [10, 20, 30], rtol=1e-14)
    np.testing.assert_allclose(channel.split(expected)[1], 20 * dense(channel.levels[1]) @ law, rtol=1e-12)


def test_what_is_no_wave_is_refused(subtests: pytest.Subtests) -> None:
    for changes, message in [
        ({"half_width": 2.5}, "no centre"),
        ({"half_width": -1}, "leave out a cell"),
        ({"half_width": 8, "circular": True}, "17 of 16"),
        ({"cells": 1}, "2 or more cells"),
        ({"inputs": 48, "shift": 3}, "divides the inputs"),
        ({"weight_in": 65536}, "weight_out < weight_in"),
        ({"weight_out": 0}, "weight_out < weight_in"),
        ({"weight_in": 2**30}, r"below 2\^32"),
        ({"weight_in": 178144.0}, "integers"),
    ]:
        with subtests.test(changes=changes, message=message), pytest.raises(CalibrationError, match=message):
            anchor(**changes)
