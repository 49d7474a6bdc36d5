"""The frozen vectors, by the Python client; tests/browser holds the browser's client to the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore import wire
from dpcore._random import Source
from dpcore.errors import InvalidRecord, RefusedReport, SchemeError
from dpcore.mechanisms import RandomizedResponse, _kernels
from dpcore.mechanisms.reports import Reports
from dpcore.protocol import tokens
from dpcore.protocol.scheme import Scheme
from tests.helpers.schemes import Parsed

FILES = sorted((Path(__file__).parents[1] / "vectors").glob("*.json"))
VECTORS: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_text("utf-8")) for path in FILES}
SCHEMES = Parsed({name: vectors["scheme"] for name, vectors in VECTORS.items()})


def content_of(name: str, number: int) -> str:
    vectors, scheme = VECTORS[name], SCHEMES[name]
    report = vectors["reports"][number]
    source = dp.keyed(bytes.fromhex(vectors["key"]), str(number))
    sent = dp.Client(scheme, source, report["token"]).report(report["record"], report["round"])
    return wire.write_report(sent, scheme).decode()


def other_contents() -> dict[str, str]:
    """Reports that are not those of the vectors, by scheme and number."""
    return {
        f"{name} {number}": found
        for name, vectors in VECTORS.items()
        for number, report in enumerate(vectors["reports"])
        if (found := content_of(name, number)) != report["content"]
    }


def test_the_same_words_give_the_same_bytes() -> None:
    assert {name: SCHEMES[name].digest for name in VECTORS} == {name: of["digest"] for name, of in VECTORS.items()}
    assert other_contents() == {}
    for name, vectors in VECTORS.items():
        for report in vectors["reports"]:
            wire.read_report(report["content"].encode(), SCHEMES[name])


@pytest.mark.skipif(not _kernels.is_installed(), reason="needs numba")
def test_compiled_loops_give_the_same_bytes() -> None:
    with _kernels.compiled(True):
        assert other_contents() == {}


def test_a_secret_gives_the_same_token_and_levels() -> None:
    for name, vectors in VECTORS.items():
        for case in vectors["tokens"]:
            token = tokens.token_of(bytes.fromhex(case["secret"]), vectors["digest"])
            assert token == case["token"], name
            assert tokens.public_levels(SCHEMES[name], token) == case["levels"], name


def test_what_must_be_refused_is(subtests: pytest.Subtests) -> None:
    class Nothing(Source):
        def words(self, count: int) -> np.ndarray:
            raise AssertionError("something was drawn for a record that is refused")

        generator = spawn = words

    for name, vectors in VECTORS.items():
        with subtests.test(name):
            for record in vectors["refused_records"]:
                with pytest.raises(InvalidRecord):
                    dp.Client(SCHEMES[name], Nothing()).report(record)
            for case in vectors["refused_reports"]:
                with pytest.raises(RefusedReport) as refused:
                    wire.read_report(case["content"].encode(), SCHEMES[name])
                assert refused.value.reason == case["reason"], case["content"]
            for text in vectors["refused_schemes"]:
                with pytest.raises(SchemeError):
                    Scheme.from_toml(text)


def test_the_vectors_have_every_reason_and_every_mechanism() -> None:
    reasons = {case["reason"] for vectors in VECTORS.values() for case in vectors["refused_reports"]}
    assert reasons == set(wire.REASONS)
    from dpcore.mechanisms.registry import BY_KIND

    used = {a.mechanism.name for scheme in SCHEMES.values() for a in scheme.attributes.values()}
    assert used == {name for kinds in BY_KIND.values() for name in kinds}


def test_a_planted_bug_fails_them(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = RandomizedResponse.privatize

    def shifted(self: RandomizedResponse, values: np.ndarray, random: Source, levels: Any = None) -> Reports:
        said = honest(self, values, random, levels)
        return Reports(said.level, (said.values + 1) % self.categories)

    monkeypatch.setattr(RandomizedResponse, "privatize", shifted)
    assert other_contents()
