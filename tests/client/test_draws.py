"""What answers a secret gives, frozen: who is asked again must get them from every later version, or be charged anew.

`python tests/client/test_draws.py` prints what is found, for a new version of draws alone.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore import wire
from dpcore.errors import SchemeError
from dpcore.mechanisms import RandomizedResponse, UnaryEncoding
from dpcore.mechanisms.bases.filter_bank import FilterBank
from dpcore.mechanisms.bases.spline_wavelet import SplineWavelet
from dpcore.mechanisms.calibration.allocation import ALLOCATIONS
from dpcore.mechanisms.categorical.randomized_response import DESIGNS
from dpcore.mechanisms.categorical.unary_encoding import VARIANTS
from dpcore.mechanisms.noise.noise_kinds import NOISES
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.registry import BY_KIND
from dpcore.mechanisms.reports import Reports
from dpcore.privacy.memoization import Memory
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.syntax import canonical
from dpcore.protocol.syntax.canonical import DRAWS

VECTORS = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in sorted((Path(__file__).parents[1] / "vectors").glob("*.json"))
}
SECRETS = (bytes(range(16)), bytes(range(100, 132)), b"the secret of another client")
SAY = (
    "the same secret gives {name} other answers than version {draws} of draws did: who has paid for an answer would draw fresh "
    "noise, unpaid. Raise DRAWS in dpcore/protocol/syntax/canonical.py and in static/client/scheme.mjs, so that the "
    "digest changes; "
    "then freeze the new version here beside this one, which stays as it is"
)
FROZEN: dict[int, dict[str, str]] = {
    1: {
        "everything.coin": "467914a51c15eabb",
        "everything.answer": "a8277a7b067581b1",
        "everything.bits": "63f63e45b35756be",
        "everything.plain_bits": "486d14c18c2a3dc7",
        "everything.subset": "225b3d7087c2a0ce",
        "everything.rows": "2d7f797efe380b50",
        "everything.hashed": "2428ef82d0748abf",
        "everything.dyadic": "6801f6198a9136ee",
        "everything.square": "bd21e12dcb9300b9",
        "everything.wavelet": "09e87d74acc2f087",
        "everything.split": "c1ab073b99470e1f",
        "everything": "3604d284eb91ac05",
        "labelled.pet": "c19edcd7e7f299b7",
        "labelled.income": "d43eb7d9c8a89bf6",
        "labelled": "eb2f6d906a954798",
        "one_of_three.place": "94aefb35b04e1354",
        "one_of_three.colour": "4b88d9b6e975b941",
        "one_of_three.income": "1e8eda4b45740a59",
        "one_of_three": "6484e122f39b5b73",
        "variants.paper": "e75679f5b2ef9b5c",
        "variants.periodic": "7734ee4814b5d6de",
        "variants.relaxed": "6d53f3f4c30d8731",
        "variants": "a2c7052c0ba8e43d",
        "together.job_region": "9bf3db846942e04e",
        "together.job": "d8b462b119ea8c7b",
        "together.habits": "f5684f2ddba01ae9",
        "together": "fb5d561cddfe8517",
        "together.income_age": "bd85910008af1ecc",
        "together.height_weight": "ad7be299a84b2f4c",
        "purposes.curve": "d535ba959966b47d",
        "purposes.lines": "6396bfcf93fb0d8a",
        "purposes": "d32485afbb4b6bbb",
        "options.travel": "4f6d7007dfbafa9e",
        "options.care": "e78ea6692febbfab",
        "options": "843c47a95ba61049",
        "texts.drug": "be94cba2cd9f1bba",
        "texts.code": "e8c1d6c63fe901fe",
        "texts.word": "750ecdb54c1b22d1",
        "texts": "9f01ca53a54f890d",
    },
}


def answers_of(scheme: Scheme, name: str) -> list[object]:
    """What three secrets answer at every level, for the cells at the ends and two between."""
    mechanism, found = scheme.attributes[name].mechanism, list[object]()
    cells = sorted({0, mechanism.inputs // 3, mechanism.inputs // 2, mechanism.inputs - 1})
    for secret in SECRETS:
        memory = Memory(secret, scheme.digest)
        for level in range(len(mechanism.sizes)):
            for cell in (np.array([cell]) for cell in cells):
                state = int(mechanism.states(cell, level)[0])
                said = mechanism.privatize(cell, memory.words(name, level, state), np.array([level], dtype=np.uint8))
                found.append([level, state, said.level.tolist(), said.values.tolist(), memory.name(name, level, state)])
    return found


def reports_of(scheme: Scheme, name: str) -> list[object]:
    """What clients with these secrets send, ids drawn from a stream that is known."""
    return [
        wire.write_report(
            dp.Client(scheme, dp.keyed(secret, "ids"), secret=secret).report(case["record"]), scheme
        ).decode()
        for secret in SECRETS
        for case in VECTORS[name]["reports"]
    ]


def found(*names: str) -> dict[str, str]:
    """A hash of the answers of every attribute, and one of the reports of every scheme; of all schemes where none is named."""
    hashes = {}
    for name in names or VECTORS:
        scheme = Scheme.from_toml(VECTORS[name]["scheme"])
        parts = {f"{name}.{each}": answers_of(scheme, each) for each in scheme.attributes}
        for what, content in (parts | {name: reports_of(scheme, name)}).items():
            hashes[what] = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
    return hashes


def check(hashes: dict[str, str]) -> None:
    for name, hash_ in hashes.items():
        assert FROZEN[DRAWS][name] == hash_, SAY.format(name=name, draws=DRAWS)


def test_a_secret_gives_the_answers_that_it_gave() -> None:
    hashes = found()
    check(hashes)
    assert set(hashes) == set(FROZEN[DRAWS])


def test_every_mechanism_in_every_variant_is_frozen() -> None:
    kinds = [a for v in VECTORS.values() for a in Scheme.from_toml(v["scheme"]).attributes.values()]
    assert {a.mechanism.name for a in kinds} == {name for kinds in BY_KIND.values() for name in kinds}
    wavelets = [a.mechanism for a in kinds if isinstance(a.mechanism, WaveletLaplace)]
    assert {mechanism.allocation for mechanism in wavelets} == set(ALLOCATIONS)
    assert {mechanism.noise for mechanism in wavelets} == set(NOISES)
    assert {type(mechanism.basis) for mechanism in wavelets} == {SplineWavelet, FilterBank}
    assert {a.design for a in kinds if isinstance(a.mechanism, RandomizedResponse)} == {None, *DESIGNS}
    assert {a.mechanism.variant for a in kinds if isinstance(a.mechanism, UnaryEncoding)} == set(VARIANTS)


def test_another_order_of_draws_fails_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = RandomizedResponse.privatize

    def later(self: RandomizedResponse, values: np.ndarray, random: dp.Source, levels: object = None) -> Reports:
        random.words(1)
        return honest(self, values, random)

    monkeypatch.setattr(RandomizedResponse, "privatize", later)
    with pytest.raises(AssertionError, match="Raise DRAWS in dpcore"):
        check(found("one_of_three"))


def test_the_version_is_in_the_digest_and_another_is_refused(
    monkeypatch: pytest.MonkeyPatch, small: Scheme, small_text: str
) -> None:
    assert "draws" not in small.canonical
    said = Scheme.from_toml(small.canonical.replace("format = 1\n", "format = 1\ndraws = 1\n"))
    assert (said.digest, said.canonical) == (small.digest, small.canonical)
    for other in ("2", "0", "true", '"1"', "1.0"):
        with pytest.raises(SchemeError, match="draws must be 1, this ldpflow's version of drawing answers") as refused:
            Scheme.from_toml(small.canonical.replace("format = 1\n", f"format = 1\ndraws = {other}\n"))
        assert "\n" not in str(refused.value)
    monkeypatch.setattr(canonical, "DRAWS", 2)  # as a later ldpflow has it
    new = Scheme.from_toml(small_text)
    assert new.canonical.startswith("format = 1\ndraws = 2\n")
    assert new.digest != small.digest
    assert Scheme.from_toml(new.canonical).digest == new.digest
    with pytest.raises(SchemeError, match=r"draws must be 2, .* got 1;"):
        Scheme.from_toml(small.canonical)


def test_the_schemes_that_are_out_keep_their_digests(root: Path) -> None:
    """Clients hold them: another digest is fresh noise for everybody."""
    out = {
        "consumer_expenditure": "857403f18872c6f810f85b478eaace539da982a89311f677a9120cf6ee652d98",
        "current_population": "9f57851c1bb5477cd1b0e29d990ca5d9ad94d70d7d6e96b67040558ab75aaa84",
        "health_insurance": "8949b67e691c2840d703215033ea6fb7fdeed9befec574ddfcf16d6a33f3fc53",
        "schooling_and_wages": "1e799d948d48ea3c80edcffad131f9eb1f7301dcd710ae3804eae270abd02be9",
    }
    assert {path.stem: Scheme.from_toml(path).digest for path in (root / "data/schemes").glob("*.toml")} == out


def test_the_browsers_client_knows_the_same_version(root: Path) -> None:
    client = (root / "dpcore/collector/static/client/scheme.mjs").read_text("utf-8")
    assert f"export const DRAWS = {DRAWS};" in client


if __name__ == "__main__":
    print(json.dumps(found(), indent=4))
