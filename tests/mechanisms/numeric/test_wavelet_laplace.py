"""The contract of the wavelet Laplace mechanism, and the planted bugs that it must catch."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from dpcore._random import Source, keyed, secure, seeded
from dpcore.errors import CalibrationError, DPCoreError, InvalidRecord, SchemeError
from dpcore.laboratory.theory.noise_energy import noise_energy
from dpcore.mechanisms import Reports
from dpcore.mechanisms.bases import FilterBank, SplineWavelet
from dpcore.mechanisms.calibration.allocation import ALLOCATIONS
from dpcore.mechanisms.calibration.sensitivity import sensitivity
from dpcore.mechanisms.calibration.tables import default_finest_level, integer_tables, unscaled
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from tests.helpers.statistical import law_agrees, mean_agrees, variance_agrees

ONE = Budget.parse("1")
DESIGNS = [f"{degree} {allocation}" for degree in range(4) for allocation in ALLOCATIONS]
DESIGNS += ["bior1.3 sample", "bior2.4 split", "bior2.8 sample", "bior3.9 sample", "bior3.5 split"]
QUICK = ("0 sample", "1 split", "2 paper", "3 sample", "bior1.3 sample", "bior2.4 split")


REST = tuple(design for design in DESIGNS if design not in QUICK)


@cache
def designed(name: str) -> WaveletLaplace:
    basis, allocation = name.split()
    options = {"degree": int(basis)} if basis.isdigit() else {"basis": basis}
    return WaveletLaplace.design(ONE, finest_level=4, allocation=allocation, **options)


@pytest.fixture(params=[QUICK, pytest.param(REST, marks=pytest.mark.slow)], ids=["some", "others"], scope="module")
def mechanisms(request: pytest.FixtureRequest) -> dict[str, WaveletLaplace]:
    return {name: designed(name) for name in request.param}


def likewise(mechanism: WaveletLaplace, budget: Budget) -> WaveletLaplace:
    """The same design for another budget."""
    basis = mechanism.basis
    options = {"basis": basis.name} if isinstance(basis, FilterBank) else {"degree": basis.degree}
    return WaveletLaplace.design(budget, finest_level=4, allocation=mechanism.allocation, **options)


def some_values(mechanism: WaveletLaplace, n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, mechanism.inputs, n)


def variant(mechanism: WaveletLaplace, **changes: object) -> WaveletLaplace:
    return dataclasses.replace(mechanism, **changes)  # type: ignore[arg-type]


# What is promised


@pytest.mark.parametrize(
    "epsilon", [pytest.param("0.1", marks=pytest.mark.slow), "ln 3", pytest.param("16", marks=pytest.mark.slow)]
)
def test_the_loss_is_exact_and_all_of_the_budget_is_used(
    mechanisms: dict[str, WaveletLaplace], epsilon: str, subtests: pytest.Subtests
) -> None:
    for name, mechanism in mechanisms.items():
        with subtests.test(design=name):
            budget = Budget.parse(epsilon)
            kept = likewise(mechanism, budget).certificate()
            assert kept.kind == "loss"
            assert isinstance(kept.kept, Fraction)
            assert kept.holds
            assert kept.kept <= budget.floor
            if mechanism.allocation != "paper":
                assert kept.kept >= budget.floor * (1 - Fraction(1, 1000))


def test_the_certificate_is_the_maximum_over_all_pairs_of_cells(subtests: pytest.Subtests) -> None:
    """The slow twin: every pair of cells, every block, integers over a common denominator."""
    for basis in ["spline", "bior1.5", "bior2.4", "bior3.7"]:
        with subtests.test(basis=basis):
            for allocation in ALLOCATIONS if basis == "spline" else ("sample", "split"):
                mechanism = WaveletLaplace.design(ONE, basis=basis, finest_level=3, allocation=allocation, cells=256)
                scales = mechanism.noise_scales
                common = math.lcm(*scales)
                worst = 0
                for a in range(mechanism.inputs):
                    distances = [np.abs(table - table[a]).sum(axis=1).astype(object) for table in mechanism.tables]
                    losses = [d * (common // t) for d, t in zip(distances, scales, strict=True)]
                    worst = max(worst, int(np.max(losses if mechanism.is_sampled else sum(losses))))
                assert mechanism.certificate().kept == Fraction(worst, common)


def test_the_privacy_loss_of_a_report_is_bounded_pointwise() -> None:
    """Log-likelihood ratios of actual reports for the worst pair of cells stay below epsilon and come close to it."""
    mechanism = WaveletLaplace.design(ONE, degree=1, finest_level=3, cells=512)
    for level, table in enumerate(mechanism.tables):
        delta, t = mechanism.sensitivity[level], mechanism.noise_scales[level]
        a, b = next((a, b) for a in range(len(table)) for b in [int(np.argmax(np.abs(table - table[a]).sum(axis=1)))]
                    if np.abs(table[a] - table[b]).sum() == delta)  # fmt: skip
        n = 1000
        reports = mechanism.privatize(np.full(n, a), seeded(4), levels=np.full(n, level))
        z = reports.values.reshape(n, -1)
        ratios = (np.abs(z - table[b]).sum(axis=1) - np.abs(z - table[a]).sum(axis=1)) / t
        assert ratios.max() <= 1 + 1e-12
        assert ratios.max() > 0.9


# Planted bugs, each caught


def test_halved_noise_is_refused(mechanisms: dict[str, WaveletLaplace], subtests: pytest.Subtests) -> None:
    for name, mechanism in mechanisms.items():
        with subtests.test(design=name):
            if mechanism.allocation == "paper":  # the literal scales are loose by less than two
                scales = tuple(t // 3 for t in mechanism.noise_scales)
            else:
                scales = tuple(t // 2 for t in mechanism.noise_scales)
            with pytest.raises(CalibrationError, match="loss"):
                variant(mechanism, noise_scales=scales)


def test_one_lattice_unit_less_noise_is_refused(subtests: pytest.Subtests) -> None:
    for allocation in ["sample", "split"]:
        with subtests.test(allocation=allocation):
            mechanism = WaveletLaplace.design(ONE, degree=2, finest_level=4, allocation=allocation)
            with pytest.raises(CalibrationError, match="loss"):
                variant(mechanism, noise_scales=tuple(t - 1 for t in mechanism.noise_scales))


@pytest.mark.parametrize("degree", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_sensitivity_from_interior_wavelets_only_is_refused(degree: int) -> None:
    basis = SplineWavelet(degree, 3, 5)
    tables = integer_tables(basis, 4096, unscaled(basis))
    interior = [sensitivity(tables[0]), *(sensitivity(table[:, degree:-degree]) for table in tables[1:])]
    honest = WaveletLaplace.design(ONE, degree=degree, finest_level=5)
    with pytest.raises(CalibrationError, match="loss"):
        variant(honest, scales=unscaled(basis), noise_scales=tuple(interior))


def test_coarsest_level_zero_in_paper_is_refused(subtests: pytest.Subtests) -> None:
    """The printed j^a is zero at level 0: that level would go out without noise."""
    for degree in range(4):
        with subtests.test(degree=degree), pytest.raises(CalibrationError, match="coarsest_level"):
            WaveletLaplace.design(ONE, degree=degree, coarsest_level=0, finest_level=4, allocation="paper")


def audit(mechanism: WaveletLaplace, reports: Reports) -> bool:
    """What an audit of the wire finds: integers, and low bits that say nothing about the value."""
    if reports.values.dtype != np.int64:
        return False
    return law_agrees(np.bincount(reports.values & 7, minlength=8), np.ones(8))


class FloatNoise(WaveletLaplace):
    """A planted bug: floating-point Laplace noise."""

    def _noise(self, level: int, n: int, random: Source) -> np.ndarray:
        return np.random.default_rng(1).laplace(scale=self.noise_scales[level], size=(n, self.sizes[level]))


class ScaledUnitNoise(WaveletLaplace):
    """A planted bug: noise drawn at scale 1/1024 of what is needed and multiplied up, so that low bits show the value."""

    def _noise(self, level: int, n: int, random: Source) -> np.ndarray:
        t = self.noise_scales[level]
        return np.asarray(1024 * discrete_laplace.sample(t // 1024, n * self.sizes[level], random)).reshape(n, -1)


def test_float_and_porous_noise_are_caught() -> None:
    honest = WaveletLaplace.design(ONE, degree=1, finest_level=3)
    fields = {field.name: getattr(honest, field.name) for field in dataclasses.fields(honest)}
    values = np.full(4000, 7)
    assert audit(honest, honest.privatize(values, seeded(1)))
    assert not audit(honest, privatize_floats(FloatNoise(**fields), values))
    assert not audit(honest, ScaledUnitNoise(**fields).privatize(values, seeded(1)))


def privatize_floats(bug: WaveletLaplace, values: np.ndarray) -> Reports:
    noise = bug._noise(0, len(values), seeded(1))
    return Reports(np.zeros(len(values), dtype=np.uint8), (noise + bug._rows(0, values)).ravel())


class IntegersOnly(Source):
    """A client's source: words, and nothing that could make a float."""

    def __init__(self) -> None:
        self._source = seeded(6)

    def words(self, count: int) -> np.ndarray:
        return self._source.words(count)

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


def test_the_clients_half_draws_words_and_sends_integers(
    mechanisms: dict[str, WaveletLaplace], subtests: pytest.Subtests
) -> None:
    for name, mechanism in mechanisms.items():
        with subtests.test(design=name):
            for source in (IntegersOnly(), secure(), keyed(b"0123456789abcdef")):
                reports = mechanism.privatize(some_values(mechanism, 20), source)
                assert reports.values.dtype == np.int64
                assert reports.level.dtype == np.uint8
            assert all(table.dtype == np.int64 for table in mechanism.tables)


def test_statistics_match_their_labels(mechanisms: dict[str, WaveletLaplace], subtests: pytest.Subtests) -> None:
    for name, mechanism in mechanisms.items():
        with subtests.test(design=name):
            whole, labels = mechanism.privatize(some_values(mechanism, 60), seeded(3)), mechanism.labels()
            total = mechanism.statistics(whole)
            assert total.dtype == np.int64
            assert labels.statistic.shape == labels.level.shape == labels.cell.shape == total.shape
            reports = total[labels.statistic == "reports"]
            assert reports.sum() == 60 if mechanism.is_sampled else reports.tolist() == [60] * mechanism.basis.blocks
            for block in range(mechanism.basis.blocks):
                cells = labels.cell[(labels.statistic == "sum") & (labels.level == block)]
                assert cells.tolist() == list(range(mechanism.basis.size(block)))
            assert len(mechanism.sizes) == (mechanism.basis.blocks if mechanism.allocation == "sample" else 1)


def test_values_that_are_no_cells_are_refused_unshown(subtests: pytest.Subtests) -> None:
    for values in [[-1], [4096], [0.5], [float("nan")]]:
        with subtests.test(values=values):
            mechanism = WaveletLaplace.design(ONE, degree=1, finest_level=3)
            with pytest.raises(InvalidRecord) as caught:
                mechanism.privatize(np.array(values), seeded(1))
            assert str(values[0]) not in str(caught.value).replace("0..4095", "")


def test_what_no_client_could_send_is_not_accepted() -> None:
    mechanism = WaveletLaplace.design(ONE, degree=1, finest_level=3)
    level = np.array([0, 1, 2], dtype=np.uint8)
    good = mechanism.privatize(np.zeros(3, dtype=int), seeded(1), levels=level)
    for position, value in product((0, 6, 16), (2**50, -(2**50), -(2**63), 2**63 - 1)):
        values = good.values.copy()
        values[position] = value
        wanted = [position != 0, position != 6, position != 16]
        assert mechanism.accepts(Reports(level, values)).tolist() == wanted
    assert mechanism.accepts(Reports(np.array([0, 7, 2], np.uint8), np.delete(good.values, np.s_[5:9]))).tolist() == [
        True,
        False,
        True,
    ]
    assert not mechanism.accepts(Reports(level, good.values[:-1])).any()
    assert not mechanism.accepts(Reports(level, np.append(good.values, 0))).any()
    edge = int(np.abs(mechanism.tables[0]).max()) + 45 * mechanism.noise_scales[0]
    for value, accepted in ((edge, True), (edge + 1, False)):
        values = good.values.copy()
        values[0] = value
        assert mechanism.accepts(Reports(level, values))[0] == accepted


# The law


def exact_law(mechanism: WaveletLaplace, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the statistics given how many clients hold each cell, by summing over cells."""
    n, means, variances = counts.sum(), [], []
    law = np.array(mechanism.level_law) / 2**16 if mechanism.is_sampled else np.ones(mechanism.basis.blocks)
    for pi, table, t in zip(law, mechanism.tables, mechanism.noise_scales, strict=True):
        means.append(pi * (counts @ table))
        variances.append(pi * (1 - pi) * (counts @ table.astype(float) ** 2) + n * pi * discrete_laplace.variance(t))
    return np.concatenate([n * law, *means]), np.concatenate([n * law * (1 - law), *variances])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("basis", "allocation"), [*(("spline", allocation) for allocation in ALLOCATIONS), ("bior2.4", "sample")]
)
def test_simulation_and_clients_follow_one_law(basis: str, allocation: str) -> None:
    mechanism = WaveletLaplace.design(
        Budget.parse("8"), basis=basis, degree=1, finest_level=2, allocation=allocation, cells=64
    )
    counts = np.zeros(mechanism.inputs, dtype=np.int64)
    counts[[0, 21, 63]] = [20, 7, 3]
    means, variances = exact_law(mechanism, counts)
    values = np.repeat(np.arange(mechanism.inputs), counts)
    random = seeded(17)
    runs = 1000
    clients = np.array([mechanism.statistics(mechanism.privatize(values, random)) for _ in range(runs)])
    simulated = np.array([mechanism.simulate(counts, random) for _ in range(runs)])
    wider = variant(mechanism, noise_scales=tuple(math.ceil(1.3 * t) for t in mechanism.noise_scales))
    wrong = np.array([wider.simulate(counts, random) for _ in range(runs)])
    random_part = variances > 0
    noisy = np.arange(len(means)) >= mechanism.basis.blocks
    for statistics in (clients, simulated):
        assert np.array_equal(statistics[:, ~random_part], np.tile(means[~random_part], (runs, 1)))
        scaled = ((statistics - means) / np.sqrt(np.where(random_part, variances, 1)))[:, random_part]
        assert all(mean_agrees(column, 0) for column in scaled.T)
        # one number a run: the mean square over all sums
        squares = np.mean(scaled[:, noisy[random_part]] ** 2, axis=1)
        assert mean_agrees(squares, 1)
    squares = np.mean(((wrong - means)[:, noisy] ** 2) / variances[noisy], axis=1)
    assert not mean_agrees(squares, 1)
    if mechanism.is_sampled:
        for statistics in (clients, simulated):
            law = np.array(mechanism.level_law, dtype=float)
            assert law_agrees(statistics[:, : mechanism.basis.blocks].sum(axis=0), law)
            assert not law_agrees(statistics[:, : mechanism.basis.blocks].sum(axis=0), law[::-1].copy())


@pytest.mark.parametrize(
    "allocation", ["sample", *(pytest.param(each, marks=pytest.mark.slow) for each in ALLOCATIONS if each != "sample")]
)
def test_coefficients_are_unbiased_and_their_noise_has_the_stated_variance(allocation: str) -> None:
    mechanism = WaveletLaplace.design(ONE, degree=2, finest_level=4, allocation=allocation, cells=256)
    model = mechanism.model()
    cell = np.full(mechanism.inputs, 0, dtype=np.int64)
    cell[mechanism.inputs // 3] = 10_000
    runs = 1000
    random = seeded(8)
    drawn = [mechanism.simulate(cell, random) for _ in range(runs)]
    block, k = 1, 0
    truth = model.units[block][k] * model.tables[block][mechanism.inputs // 3, k]
    estimates, variances = [], []
    for statistics in drawn:
        reports, _ = model.split(statistics)
        estimates.append(model.coefficients(statistics)[block][k])
        variances.append(model.noise_covariances(reports)[block][k])
    scaled = (np.array(estimates) - truth) / np.sqrt(variances)
    assert mean_agrees(scaled, 0)
    assert variance_agrees(scaled, 1)
    assert not variance_agrees(scaled, 1.3**2)


def test_units_take_the_tables_back_to_the_functions(
    mechanisms: dict[str, WaveletLaplace], subtests: pytest.Subtests
) -> None:
    for name, mechanism in mechanisms.items():
        with subtests.test(design=name):
            model, centres = mechanism.model(), (np.arange(mechanism.inputs) + 0.5) / mechanism.inputs
            assert (model.block_law is None) == (not mechanism.is_sampled)
            for block in range(mechanism.basis.blocks):
                if isinstance(
                    mechanism.basis, FilterBank
                ):  # rough functions have means, here over 2^9 cells, and no values
                    functions = mechanism.basis.evaluate((np.arange(1 << 9) + 0.5) / (1 << 9), block)
                    means = (
                        (model.tables[block] * model.units[block]).reshape(1 << 9, -1, functions.shape[1]).mean(axis=1)
                    )
                    assert np.abs(means - functions).max() <= 0.5 * model.units[block].max()
                    continue
                functions = mechanism.basis.evaluate(centres, block)
                # means over cells differ from values at centres by second differences, and in half a lattice unit
                width = 2.0 ** mechanism.basis.level(block) / mechanism.inputs
                smooth = 0.0 if mechanism.basis.degree == 0 else 40 * width**2 * 2 ** (mechanism.basis.level(block) / 2)
                assert (
                    np.abs(model.tables[block] * model.units[block] - functions).max()
                    <= smooth + 0.6 * model.units[block].max()
                )


def test_a_billion_clients_keep_their_digits() -> None:
    mechanism = WaveletLaplace.design(ONE, degree=2, finest_level=5)
    counts = np.full(mechanism.inputs, 10**10 // mechanism.inputs)
    statistics = mechanism.simulate(counts, seeded(1))
    reports, _ = mechanism.model().split(statistics)
    assert reports.sum() == counts.sum()
    means, variances = exact_law(mechanism, counts)
    assert np.abs((statistics - means) / np.sqrt(variances)).max() < 7


# The price


@pytest.mark.parametrize(
    ("degree", "least"),
    [(1, 1_000), pytest.param(2, 10_000, marks=pytest.mark.slow), pytest.param(3, 10_000, marks=pytest.mark.slow)],
)
def test_the_literal_scales_cost_orders_of_magnitude(degree: int, least: int) -> None:
    coarsest = max(1, math.ceil(math.log2(2 * degree + 1)))
    for finest in (coarsest + 1, 5):
        paper = WaveletLaplace.design(ONE, degree=degree, finest_level=finest, allocation="paper", a=Fraction("1.5"))
        sample = WaveletLaplace.design(ONE, degree=degree, finest_level=finest)
        split = WaveletLaplace.design(ONE, degree=degree, finest_level=finest, allocation="split")
        n, level = 10**6, finest + 1
        assert noise_energy(paper.model(), n, level) >= least * noise_energy(sample.model(), n, level)
        assert noise_energy(split.model(), n, level) > noise_energy(sample.model(), n, level)


def test_noise_falls_as_one_over_n_epsilon_squared() -> None:
    energies = {
        (n, e): noise_energy(WaveletLaplace.design(Budget.parse(e), degree=2, finest_level=5).model(), n, 6)
        for n, e in ((10**7, "1"), (10**8, "1"), (10**7, "0.5"))
    }
    assert energies[10**7, "1"] == pytest.approx(10 * energies[10**8, "1"], rel=1e-4)
    assert energies[10**7, "0.5"] == pytest.approx(4 * energies[10**7, "1"], rel=1e-4)


# Parameters


def test_parameters_read_back_through_text(mechanisms: dict[str, WaveletLaplace], subtests: pytest.Subtests) -> None:
    for name, mechanism in mechanisms.items():
        with subtests.test(design=name):
            parameters = json.loads(json.dumps(mechanism.parameters()))
            again = WaveletLaplace.from_parameters(mechanism.budget, parameters)
            assert again == mechanism
            assert json.dumps(again.parameters()) == json.dumps(mechanism.parameters())
            assert "float" not in str({type(value) for value in parameters.values()})


def test_parameters_say_the_basis_where_it_is_not_the_sources() -> None:
    bank = dict(WaveletLaplace.design(ONE, basis="bior2.4", finest_level=4).parameters())
    assert bank["basis"] == "bior2.4"
    assert "basis" not in WaveletLaplace.design(ONE, degree=1, finest_level=4).parameters()
    for change, error in (
        ({"basis": "bior2.6"}, CalibrationError),
        ({"basis": "bior2.2"}, CalibrationError),
        ({"basis": "spline"}, DPCoreError),
        ({"basis": "bior3.5"}, SchemeError),
        ({"degree": 2}, SchemeError),
        ({"boundary_scales": [[256]] * 3}, SchemeError),
    ):
        with pytest.raises(error):
            WaveletLaplace.from_parameters(ONE, bank | change)
    with pytest.raises(CalibrationError, match="loss"):
        WaveletLaplace.from_parameters(Budget.parse("0.999999"), bank)


def test_filter_banks_that_cannot_be_used_are_refused_with_the_reason(subtests: pytest.Subtests) -> None:
    for options, reason in [
        ({"basis": "bior2.2"}, "unbounded"),
        ({"basis": "bior3.1"}, "not square integrable"),
        ({"basis": "bior3.3"}, "unbounded"),
        ({"basis": "bior4.4"}, "no splines"),
        ({"basis": "haar"}, "'spline', 'bior1.1'"),
        ({"basis": "bior2.4", "degree": 2}, "leave degree out"),
        ({"basis": "bior2.4", "allocation": "paper"}, "'sample' or 'split'"),
        ({"basis": "bior3.5", "coarsest_level": 2}, "at least 3"),
    ]:
        with subtests.test(options=options, reason=reason), pytest.raises(SchemeError, match=reason):
            WaveletLaplace.design(ONE, finest_level=4, **options)


TAMPERED = [
    ("noise_scales", lambda value: [t // 2 for t in value], CalibrationError),
    ("noise_scales", lambda value: [0, *value[1:]], CalibrationError),
    ("noise_scales", lambda value: value[:-1], CalibrationError),
    ("noise_scales", lambda value: [float(t) for t in value], SchemeError),
    ("table_sha256", lambda value: value[::-1], CalibrationError),
    ("sensitivity", lambda value: [delta - 1 for delta in value], CalibrationError),
    ("boundary_scales", lambda value: [[256] * len(level) for level in value], CalibrationError),
    ("boundary_scales", lambda value: [[0] * len(level) for level in value], SchemeError),
    ("boundary_scales", lambda value: value[1:], SchemeError),
    ("coarsest_level", lambda value: 0, CalibrationError),
    ("finest_level", lambda value: value + 1, DPCoreError),
    ("degree", lambda value: "two", SchemeError),
    ("cells", lambda value: value - 1, SchemeError),
    ("allocation", lambda value: "even", SchemeError),
    ("level_law", lambda value: [65536, 0, 0], CalibrationError),
    ("level_law", lambda value: "abc", SchemeError),
    ("a", lambda value: "1.5", SchemeError),
]


def test_tampered_parameters_are_refused(subtests: pytest.Subtests) -> None:
    for key, change, error in TAMPERED:
        with subtests.test(key=key, change=change, error=error):
            parameters = dict(WaveletLaplace.design(ONE, degree=2, finest_level=4).parameters())
            parameters[key] = change(parameters.get(key))
            with pytest.raises(error):
                WaveletLaplace.from_parameters(ONE, parameters)


def test_every_missing_parameter_is_refused() -> None:
    parameters = WaveletLaplace.design(ONE, degree=1, finest_level=3).parameters()
    for key in parameters:
        with pytest.raises(SchemeError):
            WaveletLaplace.from_parameters(ONE, {k: v for k, v in parameters.items() if k != key})


def test_parameters_for_a_larger_budget_are_refused() -> None:
    parameters = WaveletLaplace.design(ONE, degree=1, finest_level=3).parameters()
    with pytest.raises(CalibrationError, match="loss"):
        WaveletLaplace.from_parameters(Budget.parse("0.999999"), parameters)


def test_designs_out_of_range_are_refused(subtests: pytest.Subtests) -> None:
    for options in [
        {"degree": 4},
        {"degree": -1},
        {"finest_level": 2},
        {"finest_level": 30},
        {"coarsest_level": 1},
        {"allocation": "best"},
        {"allocation": "paper", "a": Fraction(1)},
        {"allocation": "paper", "a": Fraction(1, 2)},
        {"allocation": "sample", "a": Fraction(3, 2)},
        {"cells": 1000},
        {"cells": 64},
        {"clients": 0},
    ]:
        with subtests.test(options=options), pytest.raises(SchemeError):
            WaveletLaplace.design(ONE, **({"degree": 2} | options))


def test_a_budget_too_small_for_32_bit_noise_is_refused() -> None:
    with pytest.raises(CalibrationError, match="too small"):
        WaveletLaplace.design(Budget.parse("0.00001"), degree=2, finest_level=4)


def test_the_default_finest_level_is_what_the_clients_can_use(subtests: pytest.Subtests) -> None:
    for n, epsilon, level in [(10**6, 1, 5), (10**8, 1, 7), (10**12, 4, 9), (10, 1, 3), (10**6, 0.1, 3), (1000, 16, 3)]:
        with subtests.test(n=n, epsilon=epsilon, level=level):
            assert default_finest_level(n, epsilon, 2) == level


def test_nothing_private_is_printed(mechanisms: dict[str, WaveletLaplace], subtests: pytest.Subtests) -> None:
    for name, mechanism in mechanisms.items():
        with subtests.test(design=name):
            assert "array" not in repr(mechanism)
            assert "array" not in repr(mechanism.privatize(np.array([1]), seeded(1)))
