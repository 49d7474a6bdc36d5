from __future__ import annotations

import traceback
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore import wire
from dpcore._random import WORD, Source
from dpcore.errors import InvalidRecord
from dpcore.protocol import tokens
from dpcore.protocol.report import batch_of
from dpcore.protocol.scheme import Scheme
from tests.helpers import client_cases

RECORD = {"side": "left", "colour": "red", "height": 1.2}


class Counting(Source):
    """Counts the words drawn, and refuses to be a simulation's generator."""

    def __init__(self) -> None:
        self.drawn = 0
        self._inner = dp.seeded(1)

    def words(self, count: int) -> np.ndarray:
        self.drawn += count
        return self._inner.words(count)

    def generator(self) -> np.random.Generator:
        raise AssertionError("a client must not ask for a numpy generator")

    def spawn(self, *key: int) -> Source:
        return self


@pytest.mark.parametrize("name", client_cases.SCHEMES)
def test_many_tokens_say_at_once_what_each_says_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = Scheme.from_toml(client_cases.SCHEMES[name])
    names = np.random.default_rng(1).integers(0, 256, (60, 16)).astype(np.uint8)
    texts, public = [tokens.to_text(row.tobytes()) for row in names], tokens._public

    class Late(Source):
        """A stream whose first word is of no unit and is drawn again."""

        def __init__(self, rest: Source) -> None:
            self._rest, self._first = rest, [WORD - 1]

        def words(self, count: int) -> np.ndarray:
            return np.array([self._first.pop()], dtype=np.uint32) if self._first else self._rest.words(count)

        def generator(self) -> np.random.Generator:
            raise AssertionError

        def spawn(self, *key: int) -> Source:
            raise AssertionError

    def some_late(scheme: Scheme, token: str, attribute: str) -> Source:
        stream = public(scheme, token, attribute)
        return Late(stream) if token in texts[:5] and not attribute else stream

    monkeypatch.setattr(tokens, "_public", some_late)
    said = tokens.levels_said(scheme, names, np.arange(0, 60, 2))
    each = [tokens.public_levels(scheme, text) for text in texts[::2]]
    for attribute, levels in said.items():
        assert levels[::2].tolist() == [of.get(attribute, tokens.NOT_ASKED) for of in each]
        assert set(levels[1::2]) == {tokens.NO_TOKEN}


def test_a_report_is_integers_only(small: Scheme) -> None:
    report = dp.Client(small, random=dp.secure()).report(RECORD)
    assert report.digest == small.digest
    assert set(report.answers) == set(small.attributes)
    for level, values in report.answers.values():
        assert type(level) is int
        assert all(type(value) is int for value in values)
    assert "1.2" not in repr(report)


def test_nothing_is_drawn_for_a_bad_record(small: Scheme) -> None:
    source = Counting()
    client = dp.Client(small, random=source)
    with pytest.raises(InvalidRecord):
        client.report(RECORD | {"colour": "purple"})
    assert source.drawn == 0
    client.report(RECORD)
    assert source.drawn > 0


def test_a_token_fixes_level_and_unit_for_life(small_text: str) -> None:
    scheme = Scheme.from_toml('reporting = "one"\n' + small_text)

    def public(token: str, seed: int) -> tuple[tuple[str, int], ...]:
        report = dp.Client(scheme, random=dp.seeded(seed), token=token).report(RECORD)
        return tuple((name, level) for name, (level, _) in report.answers.items())

    shapes = {token: public(token, 1) for token in map(str, range(60))}
    assert all(public(token, 2) == shape for token, shape in shapes.items())
    assert len(set(shapes.values())) > 3  # tokens differ in unit and level
    reports = [dp.Client(scheme, random=dp.secure(), token="7").report(RECORD) for _ in range(64)]
    assert len({tuple(report.answers.items()) for report in reports}) > 1  # the noise is fresh


def test_a_client_reports_one_record_only(small: Scheme, subtests: pytest.Subtests) -> None:
    for count in [0, 2, 50]:
        with subtests.test(count=count):
            source = Counting()
            with pytest.raises(InvalidRecord) as refused:
                dp.Client(small, random=source).report({name: [value] * count for name, value in RECORD.items()})
            assert source.drawn == 0
            assert not any(str(value) in str(refused.value) for value in RECORD.values())


def test_a_client_shows_neither_its_secret_nor_its_token(small: Scheme) -> None:
    secret = b"a secret of mine"
    client = dp.Client(small, dp.secure(), secret=secret)
    shown = [repr(client), str(client), repr(client._memory)]
    token = tokens.token_of(secret, small.digest)
    for text in shown:
        assert not any(hidden in text for hidden in (token, secret.decode(), secret.hex()))


MARK = "7125"  # digits of every value that must never be seen in an error
UNSEEN: tuple[Any, ...] = (
    f"x{MARK}",
    f"{MARK}e999",
    f"x{MARK}".encode(),
    [f"x{MARK}"],
    [[f"x{MARK}"]],
    np.array([f"x{MARK}", f"x{MARK}"]),
    np.array([f"x{MARK}".encode()]),
    {f"x{MARK}": 1},
    -7125e9,
    7.125e300,
    float(f"1{MARK}"),
    int(MARK) * 10**400,
    Fraction(int(MARK)) ** 400,
    complex(int(MARK), 1),
    np.datetime64("7125-01-01"),
)


def refusal_of(client: dp.Client, record: Mapping[str, Any]) -> str | None:
    """What the client says of a record that it refuses, with all that led to it."""
    try:
        client.report(record)
    except InvalidRecord as error:
        return "".join(traceback.format_exception(error))
    return None


def test_no_error_of_a_record_shows_a_value_and_nothing_is_drawn(subtests: pytest.Subtests) -> None:
    for name, text in client_cases.SCHEMES.items():
        with subtests.test(name):
            scheme = Scheme.from_toml(text)
            record: dict[str, Any] = {label.column: label.categories[0] for label in scheme.labels.values()}
            for attribute in scheme.attributes.values():
                record |= attribute.values_of(attribute.cells[0].item())
            source = Counting()
            client, refused = dp.Client(scheme, source), 0
            assert refusal_of(client, record) is None
            for column in record:
                for value in UNSEEN:
                    before = source.drawn
                    if (said := refusal_of(client, record | {column: value})) is not None:
                        refused += 1
                        assert MARK not in said
                        assert source.drawn == before
            assert refused > len(record)


def test_odd_values_are_refused_in_one_line(small: Scheme, subtests: pytest.Subtests) -> None:
    for value in [{"a": 1}, 10**400, b"red"]:
        with subtests.test(value=value):
            for column in ("colour", "height"):
                with pytest.raises(InvalidRecord, match=column):
                    dp.Client(small, random=dp.secure()).report(RECORD | {column: value})


def test_one_reports_travel_from_client_to_aggregate(small_text: str, tmp_path: Path) -> None:
    scheme = Scheme.from_toml('reporting = "one"\n' + small_text)
    client = dp.Client(scheme, random=dp.seeded(1))
    reports = [client.report(RECORD) for _ in range(40)]
    wire.write_reports(tmp_path / "r.parquet", scheme, batch_of(reports))
    whole = dp.aggregate(scheme, wire.read_reports(tmp_path / "r.parquet", scheme))
    assert whole.n == 40
    assert whole.reports("colour") + whole.reports("side") == 40
    assert dp.aggregate(scheme, batch_of(reports[:1])).n == 1
