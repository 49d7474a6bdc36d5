"""One contract for the mechanisms that report one cell of a wave: what they promise, send, and draw."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest

from dpcore._random import Source, seeded
from dpcore.errors import CalibrationError, InvalidRecord, SchemeError
from dpcore.mechanisms import DyadicWave, Reports, SquareWave
from dpcore.mechanisms.calibration import level_sampling, wave_design
from dpcore.mechanisms.numeric.wave import WaveMechanism, wave_weights
from dpcore.mechanisms.observation_model import FiniteChannel
from dpcore.mechanisms.wave_level import Wave
from dpcore.privacy.budget import Budget
from tests.helpers.cases import of_each_kind
from tests.helpers.enumeration import EveryDraw, largest_ratio
from tests.helpers.statistical import (
    by_variance,
    draws_for_law,
    law_agrees,
    mean_agrees,
    variance_agrees,
)

ONE = Budget.parse("1")
EPSILONS = [("0.001", "ln 3", "12"), pytest.param(("0.5", "1", "2", "4"), marks=pytest.mark.slow)]
DESIGNS: dict[str, Callable[[Budget], WaveMechanism]] = {
    "dyadic_wave": DyadicWave.design,
    "dyadic_wave of one level": lambda budget: DyadicWave.design(budget, levels=1, cells=16),
    "dyadic_wave of six": lambda budget: DyadicWave.design(
        budget, cells=32, level_law=[1] * 6, widths=[9, 7, 5, 3, 1, 21]
    ),
    "dyadic_wave of lines": lambda budget: purposed(budget, (0, 0), (1, 5)),
    "dyadic_wave of all harmonics": lambda budget: purposed(budget, (1, 0, 4), (2, 3, 1)),
    "square_wave": SquareWave.design,
    "square_wave of four cells": lambda budget: SquareWave.design(budget, cells=4, widths=[3]),
}


def purposed(budget: Budget, harmonics: tuple[int, ...], half_widths: tuple[int, ...]) -> DyadicWave:
    """A wave whose levels are no octaves, as a purpose asks for; of every budget."""
    weights = tuple(wave_weights(budget, 16, h, circular=k > 0) for k, h in zip(harmonics, half_widths, strict=True))
    law = level_sampling.apportion([1 + level for level in range(len(harmonics))])
    return DyadicWave(budget, 16, half_widths, law, weights, harmonics)


# --- exact epsilon ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilons", EPSILONS)
def test_the_certificate_is_the_enumerated_ratio(epsilons: tuple[str, ...], subtests: pytest.Subtests) -> None:
    for name, design in DESIGNS.items():
        for epsilon in epsilons:
            with subtests.test(design=name, epsilon=epsilon):
                mechanism = design(Budget.parse(epsilon))
                kept = mechanism.certificate().kept
                assert kept == max(
                    largest_ratio(weights) for weights in mechanism.channel()
                )  # of unequal totals it would complain
                assert kept <= mechanism.budget.ratio_floor
                assert kept >= mechanism.budget.ratio_floor * (1 - Fraction(1, 2**16))


def coarse(levels: int, cells: int = 4) -> WaveMechanism:
    """Weights small enough to try every draw; keeps ln 3."""
    if levels == 0:
        return SquareWave(Budget.parse("ln 3"), cells, 1, 3, 1)
    law = level_sampling.apportion([1] * levels)
    return DyadicWave(Budget.parse("ln 3"), cells, (2, *[1] * (levels - 1)), law, ((3, 1),) * levels)


def test_the_clients_code_has_exactly_the_channel_it_certifies(subtests: pytest.Subtests) -> None:
    for cells in [4, 8]:
        for levels in [0, 1, 3]:
            with subtests.test(cells=cells, levels=levels):
                mechanism = coarse(levels, cells)
                for level, weights in enumerate(mechanism.channel()):
                    total = mechanism.waves[level].total
                    for true in range(mechanism.inputs):
                        source = EveryDraw()
                        reports = mechanism.privatize(np.full(total, true), source, np.full(total, level))
                        assert source.combinations == total
                        assert mechanism.accepts(reports).all()
                        assert (
                            np.bincount(reports.values, minlength=weights.shape[1]).tolist() == weights[true].tolist()
                        )


def test_levels_are_drawn_from_their_law_without_a_value() -> None:
    mechanism = DyadicWave.design(ONE)
    drawn = mechanism.draw_levels(level_sampling.TOTAL, EveryDraw())
    assert np.bincount(drawn).tolist() == list(mechanism.level_law)
    assert not SquareWave.design(ONE).draw_levels(5, EveryDraw()).any()


def test_phases_are_the_value_wrapped_at_its_scale() -> None:
    """Level l sees 2^l x mod 1 in M cells; the anchor sees x in M cells."""
    mechanism = DyadicWave.design(ONE, cells=8, levels=3, widths=[1, 1, 1])
    x = (np.arange(mechanism.inputs) + 0.5) / mechanism.inputs
    for level, wave in enumerate(mechanism.waves):
        assert wave.circular == (level > 0)
        assert wave.starts(np.arange(mechanism.inputs)).tolist() == np.floor(8 * ((2**level * x) % 1)).tolist()


# --- planted bugs -------------------------------------------------------------------------------------------------------------


class Cut(Wave):
    """A window that is cut where the interval ends, instead of a range that is extended."""

    @property
    def outputs(self) -> int:
        return self.cells

    def weights(self) -> np.ndarray:
        return replace(Wave(**{field.name: getattr(self, field.name) for field in fields(Wave)})).weights()[
            :, self.half_width : self.half_width + self.cells
        ]


def test_a_window_cut_at_the_edge_leaks_and_is_refused() -> None:
    honest = DyadicWave.design(ONE)
    anchor = honest.waves[0]
    cut = Cut(**{field.name: getattr(anchor, field.name) for field in fields(Wave)})
    weights = cut.weights()
    law = [[Fraction(int(w), int(sum(row))) for w in row] for row in weights[:: anchor.inputs // anchor.cells].tolist()]
    ratio = max(max(column) / min(column) for column in zip(*law, strict=True))
    assert log(ratio) == pytest.approx(1.258, abs=5e-4)  # for a promise of 1

    class Careless(DyadicWave):
        @property
        def waves(self) -> tuple[Wave, ...]:  # type: ignore[override]
            return (cut, *honest.waves[1:])

    with pytest.raises(CalibrationError, match="cut at the edge"):
        Careless(ONE, honest.cells, honest.half_widths, honest.level_law, honest.weights)


def follows_model(
    mechanism: WaveMechanism, statistics: np.ndarray, counts: np.ndarray, model: FiniteChannel | None = None
) -> bool:
    """Whether counts could come from clients with those input cells, level by level."""
    model = model or mechanism.model()
    reports = model.reports(statistics)
    wanted = model.split(model.expected(counts / counts.sum(), reports))
    parts = zip(model.split(statistics), wanted, strict=True)
    levels = len(reports) == 1 or law_agrees(reports, model.level_law)
    return levels and all(law_agrees(said, expected) for said, expected in parts)


class Shifted(Wave):
    """The client's window begins one cell too far to the right."""

    def starts(self, values: np.ndarray) -> np.ndarray:
        return (super().starts(values) + 1) % self.outputs


class Straight(Wave):
    """The client forgets to centre the window on its phase."""

    def starts(self, values: np.ndarray) -> np.ndarray:
        return (np.asarray(values) >> self.shift) % self.cells


class Coarser(Wave):
    """The client looks at twice the scale."""

    def starts(self, values: np.ndarray) -> np.ndarray:
        return super().starts(np.asarray(values) >> 1)


class Lenient(Wave):
    """A contrast 30 % above the stated one."""

    def probabilities(self, law: np.ndarray) -> np.ndarray:
        p = super().probabilities(law)
        return p + 0.3 * (p - self.weight_out * self.folded(law).sum(axis=0) / self.total)


def planted(mechanism: WaveMechanism, kind: type[Wave], level: int) -> WaveMechanism:
    """The mechanism with one level's wave of another kind."""
    wrong = kind(**{field.name: getattr(mechanism.waves[level], field.name) for field in fields(Wave)})
    waves = tuple(wrong if number == level else wave for number, wave in enumerate(mechanism.waves))
    broken = type("Broken", (type(mechanism),), {"waves": property(lambda self: waves), "check": lambda self: None})
    return broken(**{field.name: getattr(mechanism, field.name) for field in fields(mechanism)})  # type: ignore[arg-type]


def test_counts_follow_the_model_and_planted_bugs_do_not(subtests: pytest.Subtests) -> None:
    for name, design in DESIGNS.items():
        for way in ("clients", "simulation"):
            with subtests.test(design=name, way=way):
                _bugs_are_seen(design(ONE), way)


def _bugs_are_seen(mechanism: WaveMechanism, way: str) -> None:
    counts = np.zeros(mechanism.inputs, dtype=np.int64)
    for cell, clients in ((0, 60_000), (mechanism.inputs // 3, 40_000), (mechanism.inputs * 6 // 7, 200_000)):
        counts[cell] += clients if way == "clients" else 40 * clients

    def statistics(client: WaveMechanism) -> np.ndarray:
        if way == "simulation":
            return client.simulate(counts, seeded(3))
        return client.statistics(client.privatize(np.repeat(np.arange(client.inputs), counts), seeded(3)))

    assert follows_model(mechanism, statistics(mechanism), counts)
    for level, wave in enumerate(mechanism.waves):
        bugs: list[type[Wave]] = [Shifted, Coarser, *([Straight] if wave.circular and wave.half_width else [])]
        for kind in bugs:
            assert not follows_model(mechanism, statistics(planted(mechanism, kind, level)), counts), (kind, level)
        if way == "simulation":  # the finest levels are answered by few
            lenient = planted(mechanism, Lenient, level).model()
            assert not follows_model(mechanism, statistics(mechanism), counts, lenient), level


# --- what is drawn ------------------------------------------------------------------------------------------------------------


def moments(mechanism: WaveMechanism, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the statistics, summing over clients: each is one draw of a level and a cell."""
    law = np.array(mechanism.level_weights) / level_sampling.TOTAL
    rows = np.concatenate(
        [
            share * weights / weights.sum(axis=1, keepdims=True)
            for share, weights in zip(law, mechanism.channel(), strict=True)
        ],
        axis=1,
    )
    mean = counts @ rows
    return mean, np.diag(mean) - (rows.T * counts) @ rows


@by_variance
@pytest.mark.parametrize("levels", of_each_kind([0, 1, 3], 1))
def test_simulation_and_clients_have_the_exact_moments(
    levels: int, too_large: float, too_small: float, draws: int
) -> None:
    mechanism = coarse(levels, 4)
    counts = np.arange(mechanism.inputs) * 6
    counts[-1] = 0
    mean, covariance = moments(mechanism, counts)
    values, random = np.repeat(np.arange(mechanism.inputs), counts), seeded(4)
    simulated = np.array([mechanism.simulate(counts, random) for _ in range(draws)])
    said = [mechanism.statistics(mechanism.privatize(values, random)) for _ in range(draws)]
    for statistics in (simulated, np.array(said)):
        assert np.all(statistics.sum(axis=1) == counts.sum())
        for z in range(len(mean)):
            assert mean_agrees(statistics[:, z], mean[z])
            assert variance_agrees(statistics[:, z], covariance[z, z])
            assert not variance_agrees(statistics[:, z], too_large * covariance[z, z])
            assert not variance_agrees(statistics[:, z], too_small * covariance[z, z])
            for y in range(z):
                difference = statistics[:, z] - statistics[:, y]
                assert variance_agrees(difference, covariance[z, z] + covariance[y, y] - 2 * covariance[y, z])


@pytest.mark.slow
def test_two_clients_have_the_same_whole_law_simulated() -> None:
    """Every pair of reports of two clients, against the simulated counts: no moment is left out."""
    mechanism = coarse(3, 4)
    counts = np.zeros(mechanism.inputs, dtype=np.int64)
    counts[[1, 14]] = 1
    law = np.array(mechanism.level_weights) / level_sampling.TOTAL
    rows = [
        np.concatenate([p * w[c] / w[c].sum() for p, w in zip(law, mechanism.channel(), strict=True)]) for c in (1, 14)
    ]
    pairs = np.outer(*rows)
    pairs = np.triu(pairs + pairs.T - np.diag(np.diag(pairs)))
    uneven = pairs.copy()
    uneven[: len(pairs) // 2] *= 1.3
    random, found = seeded(5), np.zeros_like(pairs)
    for _ in range(draws_for_law(pairs.ravel(), uneven.ravel(), missed=1e-3)):
        cells = np.repeat(np.arange(len(pairs)), mechanism.simulate(counts, random))
        found[cells[0], cells[1]] += 1
    assert law_agrees(found.ravel(), pairs.ravel())
    assert not law_agrees(found.ravel(), uneven.ravel())


class Counted:
    """A generator that counts the draws that it is asked for."""

    def __init__(self) -> None:
        self.inner, self.cost = np.random.default_rng(1), 0

    def binomial(self, n: np.ndarray, p: float) -> Any:
        self.cost += np.size(n)
        return self.inner.binomial(n, p)

    def multinomial(self, n: Any, p: np.ndarray) -> Any:
        self.cost += np.size(n) * len(p)
        return self.inner.multinomial(n, p)


def test_a_billion_clients_are_simulated_as_a_thousand_are(subtests: pytest.Subtests) -> None:
    """The draws asked of numpy have the same shapes whatever the number of clients."""
    for name, design in DESIGNS.items():
        with subtests.test(design=name):
            mechanism = design(ONE)

            costs = []
            for each in (1, 10**10 // mechanism.inputs):
                counted = Counted()
                source = type("Fake", (), {"generator": lambda self, counted=counted: counted})()
                counts = np.full(mechanism.inputs, each)
                statistics = mechanism.simulate(counts, source)
                assert statistics.sum() == counts.sum()
                costs.append(counted.cost)
            mean, covariance = moments(mechanism, counts)
            assert np.abs((statistics - mean) / np.sqrt(np.diag(covariance))).max() < 7
            cells = max(wave.outputs for wave in mechanism.waves)
            assert costs[0] == costs[1] <= len(mechanism.waves) * (mechanism.inputs + cells + cells**2)


# --- what is sent -------------------------------------------------------------------------------------------------------------


def test_statistics_are_counts_of_levels_and_cells(subtests: pytest.Subtests) -> None:
    for name, design in DESIGNS.items():
        with subtests.test(design=name):
            mechanism = design(ONE)
            values = np.arange(1000) % mechanism.inputs
            reports = mechanism.privatize(values, seeded(1))
            statistics, labels = mechanism.statistics(reports), mechanism.labels()
            assert statistics.dtype == np.int64
            assert set(labels.statistic.tolist()) == {"count"}
            for value, level, cell in zip(statistics, labels.level, labels.cell, strict=True):
                assert value == np.sum((reports.level == level) & (reports.values == cell))
            halves = [Reports(reports.level[part], reports.values[part]) for part in (slice(400), slice(400, None))]
            assert np.array_equal(sum(mechanism.statistics(half) for half in halves), statistics)


class Untouched(EveryDraw):
    def residues(self, bound: int, count: int) -> np.ndarray:
        raise AssertionError("drawn")


def test_what_is_no_input_cell_or_level_is_refused_before_anything_is_drawn(subtests: pytest.Subtests) -> None:
    for name, design in DESIGNS.items():
        with subtests.test(design=name):
            mechanism = design(ONE)

            silent: Source = Untouched()
            for values in ([mechanism.inputs], [-1], [0.5]):
                with pytest.raises(InvalidRecord, match="input cells"):
                    mechanism.privatize(np.array(values), silent)
            for levels in ([len(mechanism.waves)], [-1], [0, 0]):
                with pytest.raises(SchemeError, match="levels must be one per client"):
                    mechanism.privatize(np.array([0]), silent, np.array(levels))


# --- parameters ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilons", EPSILONS)
def test_parameters_read_back_through_text(epsilons: tuple[str, ...], subtests: pytest.Subtests) -> None:
    for name, design in DESIGNS.items():
        for epsilon in epsilons:
            with subtests.test(design=name, epsilon=epsilon):
                mechanism = design(Budget.parse(epsilon))
                parameters = json.loads(json.dumps(mechanism.parameters()))
                again = type(mechanism).from_parameters(mechanism.budget, parameters)
                assert again == mechanism
                assert again.parameters() == mechanism.parameters()
                for key in parameters.keys() - {"harmonics"}:  # without them it is another wave
                    with pytest.raises(SchemeError, match=f"does not hold what {mechanism.name} needs .*{key}"):
                        type(mechanism).from_parameters(
                            mechanism.budget, {k: v for k, v in parameters.items() if k != key}
                        )


TAMPERED: list[tuple[str, Callable[[Any], Any]]] = [
    ("cells", lambda value: value - 1),
    ("cells", lambda value: float(value)),
    ("cells", lambda value: str(value)),
    ("widths", lambda value: [value[0] + 1, *value[1:]]),  # an even window
    ("widths", lambda value: value[:-1]),
    ("widths", lambda value: [float(width) for width in value]),
    ("widths", lambda value: [value[0], 65, *value[2:]]),  # a window that covers everything
    ("level_law", lambda value: value[::-1][1:]),
    ("level_law", lambda value: [float(weight) for weight in value]),
    ("level_law", lambda value: [65536, 0, 0, 0]),
    ("level_law", lambda value: "abc"),
    ("weights_in", lambda value: [*value[:-1], value[-1] + 1]),  # e^epsilon rounded up
    ("weights_in", lambda value: [weight * 2**14 for weight in value]),
    ("weights_in", lambda value: value[:-1]),
    ("weights_out", lambda value: [value[0] - 1, *value[1:]]),
    ("weights_out", lambda value: [0] * len(value)),
    ("weights_out", lambda value: None),
]


def test_tampered_parameters_are_refused(subtests: pytest.Subtests) -> None:
    for number, (key, change) in enumerate(TAMPERED):
        with subtests.test(key=key, case=number):
            parameters = dict(DyadicWave.design(ONE).parameters())
            with pytest.raises(SchemeError) as caught:
                DyadicWave.from_parameters(ONE, parameters | {key: change(parameters[key])})
            assert "\n" not in str(caught.value)


def test_tampered_parameters_of_a_square_wave_are_refused(subtests: pytest.Subtests) -> None:
    for key, value in [
        ("cells", 255),
        ("width", 130),
        ("width", 0),
        ("weight_in", 178146),
        ("weight_out", 65535),
        ("weight_in", "many"),
    ]:
        with subtests.test(key=key, value=value):
            parameters = dict(SquareWave.design(ONE).parameters())
            with pytest.raises(SchemeError):
                SquareWave.from_parameters(ONE, parameters | {key: value})


def test_parameters_for_a_larger_budget_are_refused() -> None:
    for kind in (DyadicWave, SquareWave):
        with pytest.raises(CalibrationError, match=r"exceed e\^epsilon at epsilon = 0.9999"):
            kind.from_parameters(Budget.parse("0.9999"), kind.design(ONE).parameters())


def test_designs_out_of_range_are_refused(subtests: pytest.Subtests) -> None:
    for options in [
        {"cells": 48},
        {"cells": 1},
        {"cells": 2048},
        {"levels": 0},
        {"levels": 13, "cells": 2},
        {"levels": 8},
        {"levels": 3, "widths": [33, 25]},
        {"levels": 3, "level_law": [1, 1]},
        {"level_law": [1, 1, 0]},
        {"level_law": [1, -1, 1]},
        {"level_law": []},
        {"widths": [33, 24]},
        {"widths": [33, 65]},
        {"widths": [-1]},
    ]:
        with subtests.test(options=options):
            with pytest.raises(SchemeError) as caught:
                DyadicWave.design(ONE, **options)
            assert "\n" not in str(caught.value)


def test_square_wave_designs_out_of_range_are_refused(subtests: pytest.Subtests) -> None:
    for options in [{"cells": 100}, {"widths": [3, 3]}, {"widths": [4]}, {"widths": []}]:
        with subtests.test(options=options), pytest.raises(SchemeError):
            SquareWave.design(ONE, **options)


def test_given_constants_are_kept() -> None:
    mechanism = DyadicWave.design(
        ONE, cells=32, level_law=[Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], widths=[17, 9, 7]
    )
    assert mechanism.level_law == (32768, 16384, 16384)
    assert [wave.window for wave in mechanism.waves] == [17, 9, 7]
    assert mechanism.inputs == 128
    chosen = wave_design.choose(ONE)
    assert DyadicWave.design(ONE, level_law=chosen.level_law).level_law == chosen.level_law
    assert (
        DyadicWave.design(ONE, levels=2, cells=128).half_widths
        == wave_design.choose(ONE, levels=2, cells=128).half_widths
    )


def test_the_anchors_window_is_the_papers(subtests: pytest.Subtests) -> None:
    for epsilon, b in [("0.5", 0.358), ("1", 0.256), ("2", 0.129), ("4", 0.030)]:
        with subtests.test(epsilon=epsilon, b=b):
            e = np.exp(float(epsilon))
            width = wave_design.square_wave_width(float(epsilon))
            assert width == pytest.approx((float(epsilon) * e - e + 1) / (2 * e * (e - 1 - float(epsilon))), rel=1e-12)
            assert width == pytest.approx(b, abs=5e-4)
            assert SquareWave.design(Budget.parse(epsilon)).half_width == int(b * 256)


def test_the_papers_width_needs_no_difference_of_exponentials() -> None:
    assert wave_design.square_wave_width(1e-9) == pytest.approx(0.5, rel=1e-8)
    assert wave_design.square_wave_width(1e-4) == pytest.approx(0.5 * (1 - 2e-4 / 3), rel=1e-8)
    assert wave_design.square_wave_width(60.0) == pytest.approx(59 / 2 * np.exp(-60.0), rel=1e-9)


def test_a_budget_that_no_weights_fit_is_refused(subtests: pytest.Subtests) -> None:
    for epsilon in ["0.0000000001", "40"]:
        with subtests.test(epsilon=epsilon):
            for kind in (DyadicWave, SquareWave):
                with pytest.raises(SchemeError, match="32-bit weights"):
                    kind.design(Budget.parse(epsilon))


def test_nothing_private_is_printed(subtests: pytest.Subtests) -> None:
    for name, design in DESIGNS.items():
        with subtests.test(design=name):
            mechanism = design(ONE)
            assert "array" not in repr(mechanism)
            assert "array" not in repr(mechanism.privatize(np.array([1]), seeded(1)))
