"""Tokens: names that are there, and what is fixed for life by a token alone."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore._random import WORD, Source
from dpcore.errors import SchemeError
from dpcore.protocol import tokens
from dpcore.protocol.scheme import Scheme

TEXT = 'name = "{name}"\nclients = 10\n' + "".join(
    f'[attributes.{name}]\ntype = "numeric"\nlower = 0\nupper = 1\nmechanism = "dyadic_wave"\nepsilon = 1\n'
    for name in ("a", "b")
)


def test_a_name_is_there_if_any_of_its_bytes_is(subtests: pytest.Subtests) -> None:
    for byte in range(16):
        with subtests.test(byte=byte):
            names = np.zeros((2, 16), dtype=np.uint8)
            names[1, byte] = 1
            assert tokens.are_there(names).tolist() == [False, True]


def test_a_token_needs_a_secret_that_nobody_guesses() -> None:
    with pytest.raises(SchemeError, match="secret"):
        tokens.token_of(bytes(15), "digest")
    assert len({tokens.token_of(bytes(16), digest) for digest in ("digest", "other")}) == 2


def test_a_unit_is_drawn_again_where_its_word_is_past_the_last_multiple(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'name = "units"\nreporting = "one"\nclients = 10\n' + "".join(
        f'[attributes.{name}]\ntype = "categorical"\ncategories = ["x", "y"]\nepsilon = 1\n' for name in "abc"
    )
    scheme, names = Scheme.from_toml(text), np.arange(1, 641, dtype=np.uint8).reshape(40, 16)
    public = tokens._public

    class Late(Source):
        """A stream whose first word no unit has."""

        def __init__(self, rest: Source) -> None:
            self._rest, self._first = rest, [WORD - 1]

        def words(self, count: int) -> np.ndarray:
            return np.array([self._first.pop()], dtype=np.uint32) if self._first else self._rest.words(count)

        def generator(self) -> np.random.Generator:
            raise AssertionError

        def spawn(self, *key: int) -> Source:
            raise AssertionError

    monkeypatch.setattr(tokens, "_public", lambda *of: public(*of) if of[2] else Late(public(*of)))
    said = tokens.levels_said(scheme, names, np.arange(40))
    units = [tokens.unit(scheme, tokens.to_text(row.tobytes()), None) for row in names]
    assert {unit for (unit,) in units} == set("abc")
    for name, levels in said.items():
        assert levels.tolist() == [0 if name in unit else tokens.NOT_ASKED for unit in units]


def test_levels_are_of_one_token_scheme_and_attribute() -> None:
    one, other = (Scheme.from_toml(TEXT.format(name=name)) for name in ("one", "other"))
    texts = [tokens.token_of(bytes([client] * 16), one.digest) for client in range(40)]
    said = [[tokens.public_levels(scheme, text)[name] for text in texts] for scheme in (one, other) for name in "ab"]
    assert len(set(map(tuple, said))) == 4
    assert len(set(said[0])) > 1
    assert said[0] == [tokens.public_levels(one, text)["a"] for text in texts]
