"""Every word that decides a report comes from the operating system: it is a tape here, of which every byte is accounted for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore import wire
from dpcore._random import Source, keyed, secure, seeded
from dpcore.mechanisms import _kernels
from dpcore.mechanisms.noise import discrete_laplace
from dpcore.protocol.report import ReportBatch, with_ids
from dpcore.protocol.scheme import Scheme
from tests.helpers import client_cases
from tests.helpers.schemes import Parsed
from tests.helpers.tapes import Tape, Written, only

SCHEMES = Parsed(client_cases.SCHEMES)


def people(name: str, n: int) -> pd.DataFrame:
    records = client_cases.RECORDS[name]
    records = [record for record in records if record.keys() == records[0].keys()]  # of a set in one form of several
    return pd.DataFrame([records[row % len(records)] for row in range(n)])


def drawn(scheme: Scheme, records: pd.DataFrame, source: Source) -> dict[str, Any]:
    """Reports with ids as `ldpflow privatize` draws them, as bytes."""
    batch: ReportBatch = with_ids(dp.privatize(scheme, records, source), source)
    answers = {
        name: (each.reports.level.tobytes(), each.reports.values.tobytes()) for name, each in batch.answers.items()
    }
    assert batch.ids is not None
    return answers | {"": batch.ids.tobytes()}


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops as they are written: numba takes a second for each."""
    monkeypatch.setattr(_kernels, "_machine_code", lambda loop: loop)
    monkeypatch.setattr(discrete_laplace, "_LOOPED", 1)


def accounted_for(name: str, n: int, *, compiled: bool) -> None:
    """A label is not drawn: it is the same whatever the tape."""
    scheme, records, tapes = SCHEMES[name], people(name, n), [Tape(seed) for seed in (1, 1, 2)]
    with _kernels.compiled(compiled):
        found = []
        for tape in tapes:
            with only(tape):
                found.append(drawn(scheme, records, secure()))
    slow = Tape(1)
    with _kernels.compiled(False):
        assert found[0] == found[1] == drawn(scheme, records, Written(slow))
    assert tapes[0].asked == tapes[1].asked == slow.asked
    assert all((found[0][name] == other) == (name in scheme.labels) for name, other in found[2].items())


def test_reports_are_a_function_of_the_operating_systems_bytes(loops: None, subtests: pytest.Subtests) -> None:
    for compiled in [False, True]:
        for name in SCHEMES:
            with subtests.test(compiled=compiled, name=name):
                accounted_for(name, 40, compiled=compiled)


def test_so_are_those_of_many_whose_words_a_cipher_makes() -> None:
    accounted_for("one_of_three", 15_000, compiled=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMES)
def test_and_those_of_machine_code(name: str) -> None:
    with _kernels.compiled(True):
        drawn(SCHEMES[name], people(name, 5_000), secure())  # numba's compiler has names drawn at random
    accounted_for(name, 5_000, compiled=True)


def test_a_client_alone_draws_as_the_slow_twin_says(subtests: pytest.Subtests) -> None:
    for name in SCHEMES:
        with subtests.test(name=name):
            scheme, record = SCHEMES[name], client_cases.RECORDS[name][0]
            tape, slow = Tape(1), Tape(1)
            with only(tape):
                report = dp.Client(scheme, secure()).report(record)
            twin = dp.Client(scheme, Written(slow)).report(record)
            assert wire.write_report(report, scheme) == wire.write_report(twin, scheme)
            assert tape.asked == slow.asked
            with only(other := Tape(2)):
                assert dp.Client(scheme, secure()).report(record).answers != report.answers
            assert other.asked[0] == 16  # the id's


def test_categories_are_what_the_words_say_one_by_one() -> None:
    """The words of a round counted by hand: one for each answer, another where it is past the last multiple, four for an id."""
    scheme = Scheme.from_toml(
        'name = "two"\nclients = 50\n[attributes.a]\ntype = "categorical"\ncategories = ["x", "y", "z"]\nepsilon = 1\n'
        'mechanism = "randomized_response"\n'
        '[attributes.b]\ntype = "categorical"\ncategories = ["x", "y"]\nepsilon = 2\nmechanism = "randomized_response"\n'
    )
    records, tape, slow = pd.DataFrame({"a": ["x", "y", "z"] * 40, "b": ["y", "x", "x"] * 40}), Tape(4), Tape(4)
    with only(tape):
        found = drawn(scheme, records, secure())
    for name, attribute in scheme.attributes.items():
        truth = [attribute.categories.index(value) for value in records[name]]
        told, mechanism = attribute.mechanism.parameters(), attribute.mechanism
        weight_in, weight_out = told["weight_in"], told["weight_out"]
        total = weight_in + (mechanism.inputs - 1) * weight_out
        words = np.frombuffer(slow(4 * len(truth)), "<u4").astype(object)
        last = 2**32 - 2**32 % total
        while late := [row for row, word in enumerate(words) if word >= last]:
            words[late] = np.frombuffer(slow(4 * len(late)), "<u4").astype(object)
        said = []
        for true, word in zip(truth, words, strict=True):
            lie = (word % total - weight_in) // weight_out
            said.append(true if lie < 0 else lie + (lie >= true))
        assert np.frombuffer(found[name][1], dtype=np.int64).tolist() == said
    assert found[""] == slow(16 * len(records))
    assert tape.asked == slow.asked


def test_other_sources_are_noticed() -> None:
    """What the tests above would see of noise that somebody could know."""
    scheme, records = SCHEMES["one_of_three"], people("one_of_three", 10)
    for source in (lambda: seeded(0), lambda: keyed(bytes(16), "noise")):
        with only(Tape(1)), pytest.raises(AssertionError, match="something else than the operating system"):
            drawn(scheme, records, source())
    with only(Tape(1)), pytest.raises(AssertionError, match="something else"):
        np.random.default_rng(1)
