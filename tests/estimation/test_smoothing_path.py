"""Where the fit looks for smoothness: paths of penalties from the smoothest down, or from a likely spline both ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import cho_solve

from dpcore.estimation.estimators import penalised_likelihood, smoothing
from dpcore.estimation.estimators.likelihood import Counts
from dpcore.estimation.estimators.log_spline_family import Family, prior_of
from dpcore.laboratory.studies.targets import target
from tests.estimation.test_assumed import scheme


def counts(law: str, n: int, lines: str = "") -> Counts:
    """What n clients report of a law on average, in whole numbers."""
    model = scheme(lines, n=n).attributes["x"].mechanism.model()
    return Counts(model, np.round(model.expected(target(law).cells(model.inputs), n * model.level_law)))


def test_a_path_begun_at_a_likely_spline_of_another_order_finds_the_models_that_count(monkeypatch):
    """The slow twin walks from the smoothest down; of a billion reports most of that way is hopeless."""
    likelihood = counts("claw", 10**9)
    look = max(smoothing._path(Family(likelihood, prior_of(6, 3)), 6), key=lambda m: m.evidence)
    asked = []
    honest = penalised_likelihood.maximise
    monkeypatch.setattr(smoothing, "maximise", lambda *told: asked.append(1) or honest(*told))
    for order in (1, 2, 4):
        family = Family(likelihood, prior_of(6, order))
        asked.clear()
        slow = smoothing._path(family, 6)
        whole, near = len(asked), smoothing._path(family, 6, (look,))
        best = max(m.evidence for m in slow)
        found, wanted = ({m.penalty: m.evidence for m in path if m.evidence > best - 5} for path in (near, slow))
        assert found == pytest.approx(wanted, abs=0.02)
        assert len(asked) - whole < 0.7 * whole


def test_a_path_begun_too_rough_goes_up_while_models_count():
    family = Family(counts("beta_2_5", 10_000), prior_of(6, 2))
    slow = smoothing._path(family, 6)
    rough = min(slow, key=lambda m: m.penalty)
    near = smoothing._path(family, 6, (replace(rough, penalty=rough.penalty / 1e4),))
    assert {m.penalty for m in near} >= {m.penalty for m in slow}


def test_no_model_has_an_atom_less_certain_than_any_mass_is():
    """Sixteen cells hardly tell an atom from a density that piles up; of masses between 0 and 1 the mean square is a third."""
    likelihood = counts("lognormal", 200, "cells = 16")
    for found in smoothing._path(Family(likelihood, prior_of(6, 2), (False, True)), 6):
        assert cho_solve(found.factor, np.eye(len(found.eta)))[-1, -1] <= 1 / 3 + 1e-9
