"""Simultaneous bands against simulation, and the inversion of a distribution function's band."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dpcore.estimation.inference.confidence_bands import critical_value, invert_band, standard_errors
from dpcore.mechanisms.bases import bspline

DRAWS = 5_000  # of curves: three eighths of what a band .85 as wide misses at .95 are ten standard errors


def test_standard_errors_are_those_of_each_point():
    rng = np.random.default_rng(1)
    features, root = rng.normal(size=(7, 4)), rng.normal(size=(4, 4))
    S = root @ root.T
    assert standard_errors(features, S) == pytest.approx(np.sqrt(np.diagonal(features @ S @ features.T)))
    assert standard_errors(features, np.zeros((4, 4))) == pytest.approx(np.zeros(7))


def test_a_curve_that_is_one_number_needs_the_pointwise_value(subtests):
    for confidence in [0.8, 0.95, 0.99]:
        with subtests.test(confidence=confidence):
            features = np.outer(np.linspace(0.5, 2.0, 30), np.ones(3))  # its length varies, its direction does not
            assert critical_value(features, np.eye(3), confidence) == pytest.approx(
                scipy.stats.norm.ppf((1 + confidence) / 2)
            )


def test_a_circle_has_the_law_of_its_radius():
    """max over a half-turn of |Z cos + W sin| is the radius: P(R > c) = exp(-c^2 / 2)."""
    angles = np.linspace(0, np.pi, 2001)
    features = np.column_stack([np.cos(angles), np.sin(angles)])
    for confidence in (0.9, 0.95, 0.99):
        found = critical_value(features, np.eye(2), confidence)
        # The tube counts the two ends, which are one point up to sign here, as ends: never too small.
        assert 0 <= found - np.sqrt(-2 * np.log(1 - confidence)) < 0.2
        assert found > scipy.stats.norm.ppf((1 + confidence) / 2) + 0.2


def test_splines_with_a_correlated_error_are_held_as_often_as_it_says(subtests):
    for confidence, slack in [(0.8, 0.05), (0.95, 0.01)]:
        with subtests.test(confidence=confidence, slack=slack):
            rng = np.random.default_rng(2)
            u = np.linspace(0, 1, 151)
            features = bspline.evaluate(u, 3, 3)
            root = rng.normal(size=(features.shape[1],) * 2) * np.linspace(0.1, 2, features.shape[1])
            S = root @ root.T
            found = critical_value(features, S, confidence)
            curves = rng.standard_normal((DRAWS, len(root))) @ root.T @ features.T / standard_errors(features, S)
            largest = np.abs(curves).max(axis=1)
            held = np.mean(largest <= found)
            sd = np.sqrt(confidence * (1 - confidence) / DRAWS)
            assert confidence - 5 * sd <= held <= confidence + slack + 5 * sd  # a bound, closer the rarer
            assert np.mean(largest <= 0.85 * found) < confidence - 10 * sd
            assert critical_value(features, 7 * S, confidence) == pytest.approx(found)


def test_points_without_error_do_not_disturb():
    features = np.vstack([np.zeros((3, 2)), np.outer(np.ones(5), [1.0, 2.0])])
    assert critical_value(features, np.eye(2), 0.95) == pytest.approx(scipy.stats.norm.ppf(0.975))


def test_an_inverted_band_is_where_the_quantile_may_be():
    x = np.linspace(2.0, 6.0, 401)
    cdf, z = (x - 2) / 4, scipy.stats.norm.ppf(0.975)
    value, error, low, high = invert_band(x, cdf, np.full(401, 0.05), 0.3, 0.95)
    assert (value, low, high) == pytest.approx((3.2, 3.2 - 4 * 0.05 * z, 3.2 + 4 * 0.05 * z))
    assert error == pytest.approx(4 * 0.05)


def test_an_inverted_band_is_interpolated_between_points():
    x = np.linspace(0.0, 1.0, 11)
    value, _, low, high = invert_band(x, x, np.full(11, 0.01), 0.333, 0.95)
    half = 0.01 * scipy.stats.norm.ppf(0.975)
    assert (value, low, high) == pytest.approx((0.333, 0.333 - half, 0.333 + half))


def test_an_inverted_band_ends_at_the_bounds():
    x = np.linspace(0.0, 1.0, 101)
    for t, end in ((0.0, 0), (1.0, 1)):
        value, error, low, high = invert_band(x, x, np.full(101, 0.03), t, 0.95)
        half = 0.03 * scipy.stats.norm.ppf(0.975)
        assert value == pytest.approx(end)
        assert (low, high) == pytest.approx((max(end - half, 0), min(end + half, 1)))
        assert error > 0


def test_a_flat_stretch_or_a_dip_leaves_all_of_it_open():
    x = np.linspace(0.0, 1.0, 1001)
    flat = np.interp(x, [0, 0.3, 0.7, 1], [0, 0.5, 0.5, 1])
    value, _, low, high = invert_band(x, flat, np.full(1001, 1e-6), 0.5, 0.95)
    assert value == pytest.approx(0.5, abs=1e-3)
    assert (low, high) == pytest.approx((0.3, 0.7), abs=2e-3)
    dip = np.interp(x, [0, 0.4, 0.6, 1], [0, 0.6, 0.4, 1])  # a raw distribution function may fall
    value, _, low, high = invert_band(x, dip, np.full(1001, 1e-6), 0.5, 0.95)
    assert value == pytest.approx((1 / 3 + 2 / 3) / 2, abs=2e-3)
    assert (low, high) == pytest.approx((1 / 3, 2 / 3), abs=2e-3)
