"""Tokens: a token links a client's reports within one scheme; tokens under different schemes are unlinkable.

A client has one secret, which it never sends.  Its token under a scheme is a keyed hash of the scheme's digest, so two tokens
of one client under two schemes are indistinguishable from those of two clients.  The level of each attribute and, for
`reporting = "one"`, the drawn unit never change and are known to both sides: they are a public hash of
(token, digest, attribute).  The collector recomputes the hash and rejects any other level or unit.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

import numpy as np

from dpcore._random import WORD, Source, keyed
from dpcore.errors import check_within
from dpcore.protocol.scheme import Scheme

NOT_ASKED, NO_TOKEN = -1, -2  # in place of a level
NAME_BYTES = 16  # of a token and of a report's id: a collision is likely from 2^64 of them on
_TOKEN_LABEL = b"ldpflow token\0"


def are_there(names: np.ndarray) -> np.ndarray:
    """Return which rows of (n, 16) uint8 contain an id or a token, (n,) bool: those that are not all zeros."""
    halves = np.ascontiguousarray(names).view(np.uint64)
    return np.asarray((halves[:, 0] | halves[:, 1]) != 0)


def token_of(secret: bytes, digest: str) -> str:
    """Return the token of a client under a scheme, 22 characters: HMAC-SHA256 of the digest, 16 bytes in base64url.

    secret: at least 16 bytes, which never leave the client.  Raises SchemeError for a shorter one.
    """
    check_within(16, 1 << 16, bytes_of_the_secret=len(secret))
    return to_text(hmac.new(secret, _TOKEN_LABEL + digest.encode(), hashlib.sha256).digest()[:NAME_BYTES])


def public_levels(scheme: Scheme, token: str) -> dict[str, int]:
    """Return the level of each attribute that the token's client answers, in the scheme's order."""
    return {
        name: int(scheme.attributes[name].mechanism.draw_levels(1, _public(scheme, token, name))[0])
        for name in unit(scheme, token, None)
    }


def levels_said(scheme: Scheme, names: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the level that each token assigns, attribute -> (n,) int16; NOT_ASKED if its client does not answer it.

    names: the tokens, (n, 16) uint8.  rows: the positions to compute; all others are NO_TOKEN.  Vectorized `public_levels`.
    """
    all_levels = {name: np.full(len(names), NO_TOKEN, dtype=np.int16) for name in scheme.attributes}
    if not len(rows):
        return all_levels
    texts = [to_text(names[row].tobytes()) for row in rows]
    asked = _assigned_units(scheme, texts)
    for name, levels in all_levels.items():
        mechanism = scheme.attributes[name].mechanism
        answering = np.flatnonzero(asked[name])
        levels[rows] = NOT_ASKED
        levels[rows[answering]] = 0
        if len(mechanism.sizes) > 1:
            words = _FirstWords([_public(scheme, texts[one], name) for one in answering])
            levels[rows[answering]] = mechanism.draw_levels(len(answering), words)
    return all_levels


def _assigned_units(scheme: Scheme, texts: list[str]) -> dict[str, np.ndarray]:
    """Whether each token's client answers an attribute, (n,) bool."""
    if scheme.reporting == "all":
        return {name: np.ones(len(texts), dtype=bool) for name in scheme.attributes}
    bound = len(scheme.units)
    words = _FirstWords([_public(scheme, text, "") for text in texts]).words(len(texts)).astype(np.int64)
    drawn = words % bound
    for late in np.flatnonzero(words >= WORD - WORD % bound):  # drawn again, as in `Source.residues`
        drawn[late] = scheme.units.index(unit(scheme, texts[late], None))
    return {name: np.array([name in members for members in scheme.units])[drawn] for name in scheme.attributes}


class _FirstWords(Source):
    """The first word of each of many streams."""

    def __init__(self, streams: list[Source]) -> None:
        self._words = np.array([stream.words(1)[0] for stream in streams], dtype=np.uint32)

    def words(self, count: int) -> np.ndarray:
        if count != len(self._words):
            raise ValueError("a level uses one word of each stream")
        return self._words

    def generator(self) -> np.random.Generator:
        raise TypeError("streams of tokens have no generator; simulate with seeded() or secure()")

    def spawn(self, *key: int) -> Source:
        raise TypeError("streams of tokens cannot be split")


def unit(scheme: Scheme, token: str | None, random: Source | None) -> tuple[str, ...]:
    """Return the attributes that a client answers, determined by a hash of its token or, without a token, drawn by `random`."""
    if scheme.reporting == "all":
        return tuple(scheme.attributes)
    source = random if token is None else _public(scheme, token, "")
    if source is None:
        raise TypeError("token and random are both None; pass one of them")
    return scheme.units[int(source.below(len(scheme.units), 1)[0])]


def _public(scheme: Scheme, token: str, attribute: str) -> Source:
    """The stream that both sides can compute: keyed by a hash of the token, labelled by digest and attribute."""
    return keyed(hashlib.sha256(token.encode()).digest(), scheme.digest, attribute)


def to_text(data: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_text(text: str) -> bytes | None:
    """Return the bytes that `to_text` writes as this text; None if there are none."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
    return data if to_text(data) == text else None
