"""Texts as symbols of an alphabet, padded to one length, so that the length of a report shows nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from dpcore.errors import InvalidRecord

END = 0  # the symbol after the last; the symbols of the alphabet are 1, 2, ..


def normalized(text: str) -> str:
    """Return a text in Unicode form NFC, without capitals, and with single blanks between words."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def symbols_of(texts: Iterable[str], alphabet: str, length: int) -> np.ndarray:
    """Return the symbols of texts, (n, length), int64, END after the last.

    alphabet: different characters.  length: the most symbols of a text.  Raises InvalidRecord, which names the record's number
    and never the text, for a text that is too long or has another character.
    """
    places = {character: place for place, character in enumerate(alphabet, 1)}
    rows = []
    for number, text in enumerate(texts, 1):
        row = [places.get(character, END) for character in text]
        if END in row:
            raise InvalidRecord(f"the text at record {number} has a character that is not in the alphabet")
        if len(row) > length:
            raise InvalidRecord(f"the text at record {number} is longer than {length} characters")
        rows.append(row + [END] * (length - len(row)))
    return np.array(rows, dtype=np.int64).reshape(-1, length)


def texts_of(symbols: np.ndarray, alphabet: str) -> Sequence[str]:
    """Return the texts of rows of symbols, (n, any length)."""
    return ["".join(alphabet[place - 1] for place in row if place != END) for row in symbols.tolist()]
