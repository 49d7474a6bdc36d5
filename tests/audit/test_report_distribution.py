"""Clients that do not draw as their scheme says are refused, honest ones are not."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy

from dpcore import cli
from dpcore._random import seeded
from dpcore.audit import audit_scheme, measure
from dpcore.audit.attacks.report_distribution import faithfulness
from dpcore.audit.mechanisms.base import ranks
from dpcore.mechanisms import registry
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.protocol.scheme import Scheme
from dpcore.rounds import audit_run
from tests.audit.dishonest import CLIENTS, TABLES, TEXT
from tests.helpers.audits import ONE_BY_ONE, TOGETHER, on
from tests.helpers.cases import of_each_kind

SCHEME = Scheme.from_toml(TEXT)
KINDS = {name: kind for kinds in registry.BY_TYPE.values() for name, kind in kinds.items()}
_CATEGORIES = 'type = "categorical"\ncategories = ["cat", "dog", "fish", "bird", "none"]\nepsilon = 1\n'
_NUMBER = 'type = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\ncells = 64\n'
OTHERS = {
    name: f'{_CATEGORIES}mechanism = "{name}"\n'
    for name in ("hadamard_response", "local_hashing", "subset_selection", "unary_encoding")
} | {
    "square_wave": f'{_NUMBER}mechanism = "square_wave"\n',
    "set_selection": 'type = "set"\ncategories = ["cat", "dog", "fish"]\nsize = 2\nepsilon = 1\n',
    "text_hashing": 'type = "text"\nmax_bytes = 3\nalphabet = "abc"\nepsilon = 1\n',
    "split": f'{_NUMBER}mechanism = "wavelet_laplace"\nallocation = "split"\ndegree = 0\nfinest_level = 2\n',
}
# The attributes whose answers show it, and on which path: of a scheme of these alone, on the other path, nothing is drawn.
SEEN_AT_ONCE = {
    "the_level_of_the_last_cell_is_the_coarsest": (TOGETHER, "weight", "height"),
    "answers_are_remembered_by_level_alone": (ONE_BY_ONE, "weight", "height"),
    "two_attributes_share_their_noise": (TOGETHER, "weight", "height"),
    "the_lowest_bit_of_the_last_coefficient_says_whether_the_value_is_in_the_middle": (TOGETHER, "income"),
    "people_seventeen_places_apart_share_their_noise": (TOGETHER, "pet"),
    "ids_end_with_the_pet": (ONE_BY_ONE, "pet", "weight"),
    "tokens_end_with_the_pet": (ONE_BY_ONE, "pet", "weight"),
}


def asking(tables: Mapping[str, str]) -> Scheme:
    """A scheme of these attributes."""
    return Scheme.from_toml('name = "asked"\n' + "".join(f"[attributes.{name}]\n{tables[name]}" for name in tables))


PURPOSE = """
name = "purpose"
[attributes.x]
type = "numeric"
lower = 0
upper = 1
epsilon = 1
purpose = "curve"
"""


def test_a_wave_for_a_purpose_follows_its_law() -> None:
    """Ranks are those of lines and circles as they are stated: read as octaves, honest reports do not have their law."""
    assert faithfulness(Scheme.from_toml(PURPOSE), seeded(1), trials=20_000).holds
    wave = Scheme.from_toml(PURPOSE).attributes["x"].mechanism
    values = np.arange(20_000) % wave.inputs
    reports = wave.privatize(values, seeded(2))

    def spread(stated: Any) -> float:
        rank = ranks(stated, values, reports, np.random.default_rng(3))["the cell"]
        return float(scipy.stats.kstest(rank, "uniform").pvalue)

    assert spread(wave) > 1e-3
    assert spread(replace(wave, harmonics=(wave.harmonics[-1], *wave.harmonics[1:-1], wave.harmonics[0]))) < 1e-6


def test_honest_clients_follow_the_law_and_are_heard() -> None:
    found = faithfulness(SCHEME, seeded(1), trials=20_000)
    assert found.holds, found.words
    assert found.tables > 100
    assert found.people == 20_400


def test_every_mechanism_has_an_order_in_which_its_reports_are_uniform() -> None:
    others = asking(OTHERS)
    assert {a.mechanism.name for scheme in (SCHEME, others) for a in scheme.attributes.values()} == {*KINDS}
    found = faithfulness(others, seeded(3), trials=20_000)
    assert found.holds, found.words


@pytest.mark.parametrize(
    "name",
    of_each_kind(
        ["hadamard_response", "local_hashing", "subset_selection", "unary_encoding", "square_wave"], "square_wave"
    ),
)
def test_of_each_a_value_in_ten_in_place_of_another_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who answers for another value keeps every promise, and is no client of the scheme."""
    kind = KINDS[name]
    honest = kind.privatize

    def moved(self: Any, values: Any, random: Any, levels: Any = None) -> Any:
        return honest(
            self, (values + self.inputs // 2 * (random.words(len(values)) % 10 == 0)) % self.inputs, random, levels
        )

    monkeypatch.setattr(kind, "privatize", moved)
    assert not faithfulness(asking({name: OTHERS[name]}), seeded(4), trials=60_000).holds


@pytest.mark.parametrize("name", ["income", "rent"])
def test_ranks_of_noise_are_even_at_its_own_scale_alone(name: str) -> None:
    """Laplace and Gaussian noise: of twice the scale about two in seven lie in the middle half."""
    stated = cast(WaveletLaplace, SCHEME.attributes[name].mechanism)
    larger = replace(stated, noise_scales=tuple(2 * scale for scale in stated.noise_scales))
    values = np.arange(4000) % stated.inputs
    for drawn, middle in ((stated, 0.5), (larger, 2 / 7)):
        found = ranks(stated, values, drawn.privatize(values, seeded(5)), seeded(6).generator())
        for what in ("noise 1", "noise 2"):
            assert abs(float(np.mean(np.abs(found[what] - 0.5) < 0.25)) - middle) < 0.05


@pytest.mark.parametrize("name", SEEN_AT_ONCE)
def test_what_is_plainly_dishonest_is_seen_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    CLIENTS[name](monkeypatch)
    path, *attributes = SEEN_AT_ONCE[name]
    on(path, monkeypatch)
    asked = asking({attribute: TABLES[attribute] for attribute in attributes})
    assert not faithfulness(asked, seeded(2), trials=10_000).holds


@pytest.mark.nightly("every case")
@pytest.mark.parametrize("name", CLIENTS)
def test_every_dishonest_client_is_refused_at_a_million_trials(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kinds.toml").write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(audit_run, "draw", lambda audit: None)
    CLIENTS[name](monkeypatch)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as stop:
        cli.main(["audit", str(tmp_path / "kinds.toml"), "--trials", "1000000"])
    assert stop.value.code == 1
    assert said.getvalue().startswith("ldpflow: audit failed: ")


@pytest.mark.nightly("a study")
def test_no_honest_client_is_refused() -> None:
    for seed in range(30):
        audit = measure(audit_scheme(SCHEME), seeded(seed), trials=50_000)
        assert audit.holds, audit.broken


NEAR = """
name = "near"
[attributes.chronic]
type = "numeric"
lower = 0
upper = 60
epsilon = 2
"""


def test_values_of_one_state_are_answered_alike_by_who_remembers_honestly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wave's neighbouring cells are one state at its coarse levels; at epsilon 2 a window of 15 cells shows it at once."""
    on(ONE_BY_ONE, monkeypatch)
    found = faithfulness(Scheme.from_toml(NEAR), seeded(5), trials=400_000)
    assert found.holds, found.words
