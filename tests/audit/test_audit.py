"""Audits: the exact loss of every mechanism, found without its certificate; planted bugs are found."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dpcore.audit import Loss, SchemeAudit, audit_mechanism, audit_scheme, check_rows, to_json, to_markdown
from dpcore.audit.enumeration.loss import largest_ratio
from dpcore.audit.mechanisms.base import report_classes
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
    registry,
)
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from dpcore.protocol.scheme import Scheme
from tests.helpers.cases import every_value_once
from tests.helpers.enumeration import law_of_clients
from tests.helpers.planted import CutDyadicWave, CutWave, CutWindow, OneTooMany, TellingLevel, lies
from tests.helpers.schemes import SMALL

ORACLES = (RandomizedResponse, UnaryEncoding, SubsetSelection, HadamardResponse, LocalHashing)


@pytest.fixture(scope="module")
def small_text() -> str:
    """The small scheme with few cells: an audit of its number looks at every two of them."""
    return SMALL.replace("degree = 1", "degree = 1\ncells = 256")


@pytest.fixture(scope="module")
def small(small_text: str) -> Scheme:
    return Scheme.from_toml(small_text)


EPSILONS = ("0.1", "1", "ln 3", "2.5", "6")


@pytest.mark.parametrize(("oracle", "categories", "epsilon"), every_value_once(ORACLES, [7, 3, 2], EPSILONS))
def test_listed_oracles_keep_exactly_what_they_certify(oracle: type, categories: int, epsilon: str) -> None:
    mechanism = oracle.design(Budget.parse(epsilon), categories=categories)
    found = audit_mechanism(mechanism)
    assert found.loss == Loss(ratio=mechanism.certificate().kept)
    assert found.loss.is_within(Loss.from_budget(mechanism.budget))
    assert "weights of the channel" in found.how


@pytest.mark.parametrize(("oracle", "categories", "epsilon"), every_value_once(ORACLES, [7, 3, 2], EPSILONS))
def test_classes_of_reports_give_what_the_list_gives(
    oracle: type, categories: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = oracle.design(Budget.parse(epsilon), categories=categories)
    listed = audit_mechanism(mechanism)
    monkeypatch.setattr(oracle, "channel", lambda self: None)
    by_classes = audit_mechanism(mechanism)
    assert "any two categories" in by_classes.how
    assert by_classes.loss == listed.loss


def test_ten_thousand_categories_are_enumerated_by_classes(subtests: pytest.Subtests) -> None:
    for oracle in ORACLES:
        with subtests.test(oracle=oracle):
            mechanism = oracle.design(Budget.parse("1"), categories=10_000)
            found = audit_mechanism(mechanism)
            assert found.loss == Loss(ratio=mechanism.certificate().kept)
            assert "any two categories" in found.how


def test_the_clients_own_code_leads_to_the_audited_ratio(subtests: pytest.Subtests) -> None:
    """Every draw a client can make, counted: no channel, no certificate."""
    for mechanism, draws in [
        (RandomizedResponse(Budget.parse("1"), 4, 5, 2), 11),
        (HadamardResponse(Budget.parse("1"), 3, 5, 2), 4 * 7),
        (LocalHashing(Budget.parse("1"), 3, 5, 3, 5, 2), 4 * 5 * 9),
    ]:
        with subtests.test(mechanism=mechanism, draws=draws):
            laws = [law_of_clients(mechanism, true, draws) for true in range(mechanism.inputs)]
            reports = sorted(set().union(*laws))
            counted = np.array([[law.get(report, 0) for report in reports] for law in laws])
            assert audit_mechanism(mechanism).loss == Loss(ratio=largest_ratio(counted).ratio)


def test_waves_keep_exactly_what_they_certify(subtests: pytest.Subtests) -> None:
    for epsilon in EPSILONS:
        for wave in [SquareWave, DyadicWave]:
            with subtests.test(epsilon=epsilon, wave=wave):
                mechanism = wave.design(Budget.parse(epsilon))
                found = audit_mechanism(mechanism)
                assert found.loss == Loss(ratio=mechanism.certificate().kept)
                assert found.loss.is_within(Loss.from_budget(mechanism.budget))
                assert found.doubts == ()


def test_the_clients_own_code_of_a_wave_leads_to_the_audited_ratio() -> None:
    wave = SquareWave(Budget.parse("1"), 8, 2, 5, 2)
    laws = [law_of_clients(wave, true, 5 * 5 + 7 * 2) for true in range(wave.inputs)]
    counted = np.array([[law.get((cell,), 0) for cell in range(12)] for law in laws])
    assert audit_mechanism(wave).loss == Loss(ratio=largest_ratio(counted).ratio) == Loss(ratio=Fraction(5, 2))


@pytest.mark.parametrize(("allocation", "degree"), every_value_once(["sample", "split", "paper"], [1, 0, 2]))
def test_wavelets_keep_exactly_what_they_certify(allocation: str, degree: int) -> None:
    mechanism = WaveletLaplace.design(
        Budget.parse("1"), degree=degree, finest_level=4, cells=512, allocation=allocation
    )
    found = audit_mechanism(mechanism)
    assert found.loss == Loss(mechanism.certificate().kept)
    assert found.sensitivity == mechanism.certificate().sensitivity
    assert found.loss.is_within(Loss.from_budget(mechanism.budget))
    assert found.doubts == ()


def test_wavelets_around_a_circle_keep_exactly_what_they_certify(subtests: pytest.Subtests) -> None:
    """Their functions go over the end, where the first and the last cell are neighbours."""
    for basis in ["bior1.3", "bior2.4", "bior3.9"]:
        with subtests.test(basis=basis):
            mechanism = WaveletLaplace.design(Budget.parse("1"), basis=basis, finest_level=4, cells=512)
            found = audit_mechanism(mechanism)
            assert found.loss == Loss(mechanism.certificate().kept)
            assert found.sensitivity == mechanism.certificate().sensitivity
            assert found.doubts == ()


def test_a_weight_one_unit_too_large_is_found() -> None:
    for epsilon in ("0.1", "1", "4"):
        budget = Budget.parse(epsilon)
        assert audit_mechanism(RandomizedResponse.design(budget, categories=5)).loss.is_within(Loss.from_budget(budget))
        assert not audit_mechanism(OneTooMany.design(budget, categories=5)).loss.is_within(Loss.from_budget(budget))


def test_a_window_cut_off_at_the_edge_is_found_by_its_row_s_total() -> None:
    """Every ratio of weights is within the promise; the ratio of probabilities is not."""
    honest = RandomizedResponse.design(Budget.parse("1"), categories=8)
    cut = CutWindow(honest.budget, 8, honest.weight_in, honest.weight_out)
    found = audit_mechanism(cut)
    edge, inner = 2 * cut.weight_in + 6 * cut.weight_out, 3 * cut.weight_in + 5 * cut.weight_out
    assert found.loss == Loss(ratio=Fraction(cut.weight_in * inner, cut.weight_out * edge))
    assert not found.loss.is_within(Loss.from_budget(cut.budget))


def test_a_square_wave_cut_off_at_the_ends_keeps_a_quarter_less_privacy() -> None:
    """1.258 at epsilon = 1 with 64 cells."""
    honest = SquareWave.design(Budget.parse("1"), cells=64)
    cut = CutWave(honest.budget, honest.cells, honest.half_width, honest.weight_in, honest.weight_out)
    found = audit_mechanism(cut)
    assert float(found.loss) == pytest.approx(1.258, abs=0.001)
    assert not found.loss.is_within(Loss.from_budget(cut.budget))
    assert sorted(int(cell) for cell in found.worst.replace(",", "").split() if cell.isdigit())[1] == 0


def test_a_dyadic_wave_cut_off_at_one_level_is_found_there() -> None:
    honest = DyadicWave.design(Budget.parse("1"), levels=3)
    cut = CutDyadicWave(honest.budget, honest.cells, honest.half_widths, honest.level_law, honest.weights)
    found = audit_mechanism(cut)
    assert not found.loss.is_within(Loss.from_budget(cut.budget))
    assert found.worst.startswith("level 1, ")


def test_a_level_that_depends_on_the_value_forbids_a_signature() -> None:
    honest = RandomizedResponse.design(Budget.parse("1"), categories=4)
    telling = TellingLevel(honest.budget, 4, honest.weight_in, honest.weight_out)
    assert "level" in audit_mechanism(telling).doubts[0]
    assert audit_mechanism(WaveletLaplace.design(Budget.parse("1"), degree=1, finest_level=3, cells=256)).doubts == ()


def test_noise_that_is_too_small_and_sensitivities_that_are_too_small_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = WaveletLaplace.design(Budget.parse("1"), degree=1, finest_level=3, cells=256)
    monkeypatch.setattr(WaveletLaplace, "certificate", lies)
    thin = replace(honest, noise_scales=tuple(t - 1 for t in honest.noise_scales))
    assert not audit_mechanism(thin).loss.is_within(Loss.from_budget(thin.budget))
    stated = tuple(delta - 1 for delta in honest.sensitivity)
    monkeypatch.setattr(WaveletLaplace, "sensitivity", stated)
    assert "sensitivity" in audit_mechanism(honest).doubts[0]


def test_tables_that_are_not_those_of_the_scheme_are_found() -> None:
    honest = WaveletLaplace.design(Budget.parse("1"), degree=1, finest_level=3, cells=256)
    changed = replace(honest)
    table = honest.tables[1].copy()
    table[7, 2] += 1
    changed.__dict__["tables"] = (honest.tables[0], table, *honest.tables[2:])
    assert "SHA-256" in audit_mechanism(changed).doubts[-1]


def test_a_mechanism_nobody_can_enumerate_is_refused() -> None:
    with pytest.raises(CalibrationError, match="randomized_response"):
        report_classes.dispatch(Mechanism)(RandomizedResponse(Budget.parse("1"), 2, 2, 1))


@pytest.mark.parametrize("name", [pytest.param("consumer_expenditure", marks=pytest.mark.slow), "health_insurance"])
def test_every_shipped_configuration_keeps_its_promise(root: Path, name: str) -> None:
    scheme = Scheme.from_toml(root / f"data/schemes/{name}.toml")
    audit = audit_scheme(scheme)
    assert audit.holds
    assert audit.broken == ()
    assert audit.digest == scheme.digest
    assert [a.name for a in audit.attributes] == list(scheme.attributes)
    for a in audit.attributes:
        low, high = a.finding.loss.bracket
        assert low <= float(a.promised)
        assert high > 0.999 * float(a.promised)


@cache
def audited(text: str) -> SchemeAudit:
    """The audit of a scheme's text, made once for the tests that ask for it."""
    return audit_scheme(Scheme.from_toml(text))


def test_the_total_is_a_sum_or_the_dearest_unit(small_text: str) -> None:
    every = audited(small_text)
    assert (
        every.loss
        == every.attributes[0].finding.loss + every.attributes[1].finding.loss + every.attributes[2].finding.loss
    )
    assert every.promised.text == "1.5 + ln 3"
    one = audit_scheme(Scheme.from_toml(small_text.replace("clients =", 'reporting = "one"\nclients =')))
    assert one.loss == one.attributes[0].finding.loss + one.attributes[2].finding.loss  # a pair is one unit
    assert one.promised.text == "1 + ln 3"
    assert one.holds


def test_a_broken_promise_breaks_the_scheme_and_says_which(small_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.CATEGORICAL, "randomized_response", OneTooMany)
    audit = audit_scheme(Scheme.from_toml(small_text.replace('design = "two_coin"\n', "")))
    assert not audit.holds
    assert [a.holds for a in audit.attributes] == [False, False, True]
    assert "side of small has epsilon = 1.09" in audit.broken[0]
    assert "above the promised ln 3" in audit.broken[0]


def test_a_canonical_text_that_reads_back_as_another_scheme_is_refused(
    small: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Scheme.from_toml(small.canonical.replace("20000", "20001"))
    monkeypatch.setattr(Scheme, "from_toml", lambda text: other)
    with pytest.raises(CalibrationError, match="another scheme"):
        audit_scheme(small)


def test_the_certificate_says_everything_twice(small: Scheme) -> None:
    audit = audited(small.canonical)
    page = to_markdown([audit], "2026-11-20", "0.1.0")
    [written] = json.loads(to_json([audit], "2026-11-20", "0.1.0"))["certificates"]
    assert (written["scheme"], written["digest"], written["holds"]) == ("small", small.digest, True)
    for a, entry in zip(audit.attributes, written["attributes"], strict=True):
        kept = Loss(Fraction(entry["kept_loss"]), Fraction(entry["kept_ratio"]))
        assert kept == a.finding.loss
        assert kept.bracket == (entry["epsilon_low"], entry["epsilon_high"])
        assert len(a.digest) == 64
        for said in (a.name, a.mechanism, a.promised.text, a.finding.loss.text, a.finding.how, a.digest):
            assert said in page
    assert small.digest in page
    assert "Every promise is kept." in page
    assert "Signed:" in page
    rows = check_rows(audit, "2026-11-20")
    assert [row["name"] for row in rows] == [
        "exact_epsilon(side)",
        "exact_epsilon(colour)",
        "exact_epsilon(height)",
        "exact_epsilon",
    ]
    assert all(row["passed"] and row["observed"] <= row["threshold"] for row in rows)


def test_two_configurations_have_one_digest_only_where_they_are_equal(small_text: str) -> None:
    def digests(text: str) -> list[str]:
        return [a.digest for a in audited(text).attributes]

    first, second = digests(small_text), digests(small_text.replace("epsilon = 0.5", "epsilon = 0.6"))
    assert [a == b for a, b in zip(first, second, strict=True)] == [True, False, True]


def test_integers_of_one_kind_have_another_digest_under_another_promise(small_text: str) -> None:
    first = Scheme.from_toml(small_text).canonical
    audits = [audited(text).attributes for text in (first, first.replace('"0.5"', '"0.75"'))]
    (changed,) = [one for one, other in zip(*audits, strict=True) if one.digest != other.digest]
    assert changed.promised.text == "0.5"
    assert dict(changed.configuration) in [dict(other.configuration) for other in audits[1]]
