"""What every mechanism of a trusted curator keeps: a certificate that holds, a claim with its proof, secure randomness."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore._random import secure, seeded
from dpcore.errors import SchemeError
from dpcore.laboratory.central.base import CuratorMechanism
from dpcore.laboratory.central.densities.orthogonal_series import PerturbedSeries
from dpcore.laboratory.central.densities.perturbed_histogram import PerturbedHistogram
from dpcore.laboratory.central.densities.smoothed_histogram import SmoothedHistogram
from dpcore.laboratory.central.exponential.continuous_exponential import ContinuousExponential, Interval, RankLoss
from dpcore.laboratory.central.exponential.inverse_sensitivity import InverseSensitivity, median
from dpcore.laboratory.central.exponential.joint_quantiles import JointExp
from dpcore.laboratory.central.exponential.released_samples import (
    kolmogorov_smirnov_mechanism,
    orthogonal_series_mechanism,
)
from dpcore.laboratory.central.laplace_mechanism import LaplaceMechanism, ReportNoisyMax
from dpcore.laboratory.central.queries import Mean
from dpcore.laboratory.central.truncated_mean import SmoothMean
from dpcore.privacy.budget import Budget

UNIT, BUDGETS = np.linspace(0.01, 0.99, 200), [Budget.parse(text) for text in ("0.2", "ln 3", "2.5")]
CELLS = (UNIT * 8).astype(np.int64)


def every(budget: Budget) -> list[tuple[CuratorMechanism, np.ndarray]]:
    quartiles = (Fraction(1, 4), Fraction(3, 4))
    return [
        (LaplaceMechanism.design(budget, Mean((0.0,), (1.0,))), UNIT),
        (ReportNoisyMax.design(budget), np.bincount(CELLS)),
        (SmoothedHistogram(budget, 200, 3, 2, Fraction(1, 2)), UNIT),
        (PerturbedHistogram.design(budget, 5), UNIT),
        (PerturbedSeries.design(budget, 3), UNIT),
        (kolmogorov_smirnov_mechanism(budget, bins=4, size=3), UNIT[:20]),
        (orthogonal_series_mechanism(budget, 20, bins=4, size=3), UNIT[:20]),
        (InverseSensitivity(budget, median(8)), CELLS),
        (ContinuousExponential(budget, Interval(0, 1), RankLoss(Fraction(1, 2))), UNIT[:50]),
        (JointExp(budget, Interval(0, 1), quartiles, cells=16), UNIT[:20]),
        (SmoothMean.design(budget, n=200, moment=2.0, bound=1.0), UNIT),
    ]


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.text)
def test_certificates_hold_and_leave_little_unspent(budget: Budget) -> None:
    for mechanism, _ in every(budget):
        certificate = mechanism.certificate()
        assert certificate.holds, mechanism.name
        assert certificate.budget == budget
        loss = float(certificate.kept) if certificate.kind == "loss" else np.log(float(certificate.kept))
        if not isinstance(mechanism, SmoothedHistogram):
            assert loss > 0.999 * float(budget), mechanism.name


def test_noise_of_no_size_is_refused() -> None:
    """A scale below 1 is not noise, though its quotient with the sensitivity is below any epsilon."""
    for mechanism, _ in every(BUDGETS[0]):
        for field in ("scale", "sensitivity"):
            if field in {each.name for each in fields(mechanism)}:
                for value in (0, -(1 << 30), 1e7, True):
                    with pytest.raises(SchemeError, match="must be a whole number"):
                        replace(mechanism, **{field: value})
    with pytest.raises(SchemeError, match="sensitivity must be"):
        ReportNoisyMax.design(BUDGETS[0], 0)


def test_each_claims_its_privacy_with_a_proof_of_five_lines_and_has_a_name_of_its_own() -> None:
    kinds = {type(mechanism) for mechanism, _ in every(BUDGETS[0])}
    assert len({kind.name for kind in kinds}) == len(kinds)
    for kind in kinds:
        proof = (kind.__doc__ or "").split("Privacy.  Claim:")[1]
        assert all(f"{line}. " in proof for line in range(1, 6)), kind.name


def test_each_releases_from_secure_randomness_and_again_from_a_seed() -> None:
    for mechanism, records in every(BUDGETS[1]):
        mechanism.release(records, secure())
        assert repr(mechanism.release(records, seeded(7))) == repr(mechanism.release(records, seeded(7)))
