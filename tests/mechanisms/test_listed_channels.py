"""A channel that is listed is read as one that has a formula is: by models, by the audit, and by estimators."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import seeded
from dpcore.audit.enumeration.loss import largest_ratio
from dpcore.audit.mechanisms.base import Pair, hard_pairs, log_ratio
from dpcore.errors import CalibrationError
from dpcore.mechanisms import (
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from dpcore.mechanisms.categorical.set_selection import SetSelection
from dpcore.mechanisms.observation_model import FiniteChannel, Listed
from dpcore.privacy.budget import Budget
from dpcore.results.checks.poisoning import _contrasted, null_contrasts

ONE = Budget.parse("1")
WAVES = [SquareWave.design(ONE, cells=16), DyadicWave.design(ONE, cells=8, levels=3)]
ORACLES = [RandomizedResponse.design(ONE, categories=5), HadamardResponse.design(ONE, categories=5)]


def listed(channel: FiniteChannel) -> FiniteChannel:
    return FiniteChannel(tuple(Listed(wave.weights()) for wave in channel.levels), channel.level_law)  # type: ignore[union-attr]


def test_a_list_of_a_waves_weights_is_the_wave(subtests: pytest.Subtests) -> None:
    for mechanism in WAVES:
        with subtests.test(mechanism=mechanism):
            model, random = mechanism.model(), np.random.default_rng(1)
            other = listed(model)
            law, scores = random.dirichlet(np.ones(model.inputs)), random.normal(size=sum(mechanism.outputs))
            assert other.inputs == model.inputs
            assert np.allclose(other.probabilities(law), model.probabilities(law))
            assert np.allclose(other.adjoint(scores), model.adjoint(scores))
            assert np.allclose(other.adjoint(np.eye(len(scores))), model.adjoint(np.eye(len(scores))))
            for ours, theirs in zip(other.matrices, model.matrices, strict=True):
                assert np.allclose(ours, theirs)
                assert np.allclose(ours.sum(axis=0), 1.0)
            assert np.allclose(listed(WAVES[0].model()).response(), WAVES[0].model().matrices[0])


def test_the_audits_own_formulas_are_those_of_the_list(subtests: pytest.Subtests) -> None:
    for mechanism in [*ORACLES, *WAVES]:
        with subtests.test(mechanism=mechanism):
            reports = mechanism.privatize(np.arange(200) % mechanism.inputs, seeded(1))
            for pair in (Pair(0, mechanism.inputs - 1), Pair(2, 1)):
                found = log_ratio.dispatch(Mechanism)(mechanism, reports, pair)
                assert np.allclose(found, log_ratio(mechanism, reports, pair))
            (pair,) = hard_pairs.dispatch(Mechanism)(mechanism)
            weights = mechanism.channel()[pair.level or 0]
            assert np.max(weights[pair.first] / weights[pair.second]) == largest_ratio(weights).ratio


def test_defaults_read_reports_of_several_integers_and_weights_beyond_64_bits(subtests: pytest.Subtests) -> None:
    for mechanism in (
        SubsetSelection.design(ONE, categories=6, size=2),
        LocalHashing.design(ONE, categories=3),
        UnaryEncoding.design(ONE, categories=5),
        SetSelection.design(ONE, categories=4, at_most=2, size=2),
    ):
        with subtests.test(mechanism=mechanism):
            reports = mechanism.privatize(np.arange(200) % mechanism.inputs, seeded(1))
            for pair in (Pair(0, mechanism.inputs - 1), Pair(2, 1)):
                by_default = log_ratio.dispatch(Mechanism)(mechanism, reports, pair)
                assert np.allclose(by_default, log_ratio(mechanism, reports, pair))


def test_a_channel_of_as_many_reports_as_inputs_leaves_no_contrast_to_tell_lies_by() -> None:
    everywhere = FiniteChannel((Listed(np.array([[3, 1], [1, 3]])),), np.ones(1))
    assert not null_contrasts(everywhere.levels).size
    assert null_contrasts(WAVES[0].model().levels).size
    assert _contrasted(everywhere, np.array([1000, 1200])) is None


def test_what_is_not_listed_has_no_likelihood_unless_the_audit_has_one() -> None:
    with pytest.raises(CalibrationError, match="unary_encoding: the audit has no likelihood"):
        hard_pairs.dispatch(Mechanism)(UnaryEncoding.design(ONE, categories=30))
