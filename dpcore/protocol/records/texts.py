"""Open answers as records hold them: their normalization, and their symbols, padded so that no length shows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, product
from typing import Any

import numpy as np

from dpcore.errors import SchemeError, check_whole
from dpcore.mechanisms.categorical.text_hashing import MOST_SYMBOLS
from dpcore.protocol.records.arrow_columns import as_list
from dpcore.protocol.records.category_names import ABSENT, BLANKS, UNKNOWN, is_known_whole, is_missing

TOO_LONG = -3  # in place of a text: more bytes than one may have
NORMALIZATIONS = ("nfc", "case", "blanks")  # in the order in which they are applied
_EXAMPLES = 1024
# Of terminals, lines and directions.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_BLANKS = re.compile(f"[{BLANKS}]+")


@dataclass(frozen=True)
class TextDomain:
    """The texts of an attribute.

    alphabet: their characters, '' for any but control ones.  max_bytes: of a text in UTF-8, 1..24.  normalize: of
    NORMALIZATIONS.  missing: the text for no answer, '' if there is none.  other: the text for all that are too long or have
    other characters, '' if these are refused.

    Symbols are the bytes of the alphabet's characters in UTF-8, numbered from 1 in increasing order; without an alphabet the
    bytes themselves.  Raises SchemeError for an alphabet whose characters differ from their normalized form, and for others
    that are not possible.
    """

    alphabet: str
    max_bytes: int
    normalize: tuple[str, ...] = NORMALIZATIONS
    missing: str = ""
    other: str = ""

    def __post_init__(self) -> None:
        check_whole(1, MOST_SYMBOLS, max_bytes=self.max_bytes)
        if len({*self.alphabet}) < len(self.alphabet) or not self.alphabet.isprintable():
            raise SchemeError("alphabet must be different printable characters")
        if not any(len(one.encode()) <= self.max_bytes for one in (self.alphabet or "a").replace(" ", "")):
            raise SchemeError(
                f"max_bytes = {self.max_bytes} is shorter than every character of alphabet, but for a blank"
            )
        for character in self.alphabet:
            if character != " " and self.normalized(character) != character:
                raise SchemeError(
                    f"alphabet: normalization changes {character!r}, so no text has it; leave it out, or change normalize"
                )
        if self.other and self._read(self.other) != self.other:
            raise SchemeError(f'outside = "other" needs an alphabet and max_bytes that allow the text {self.other!r}')

    def normalized(self, text: str) -> str:
        """Return a text in its normalized form.

        nfc: in Unicode form NFC.  case: without capitals.  blanks: one blank between words, and none around them.
        """
        composed = "nfc" in self.normalize
        text = unicodedata.normalize("NFC", text) if composed else text
        if "case" in self.normalize:
            text = unicodedata.normalize("NFC", text.lower()) if composed else text.lower()
        return _BLANKS.sub(" ", text).strip(" ") if "blanks" in self.normalize else text

    @cached_property
    def _bytes(self) -> bytes:
        """The byte of each symbol."""
        return bytes(sorted({*self.alphabet.encode()} or range(1, 256)))

    @property
    def symbols(self) -> int:
        """How many symbols there are, END not among them."""
        return len(self._bytes)

    @cached_property
    def _places(self) -> bytes:
        """The symbol of each byte."""
        places = {byte: place for place, byte in enumerate(self._bytes, 1)}
        return bytes(places.get(byte, 0) for byte in range(256))

    def _read(self, value: Any) -> str | int:
        """The normalized text of a value; UNKNOWN, ABSENT or TOO_LONG for one without."""
        if is_missing(value):
            return ABSENT
        if isinstance(value, (bool, np.bool_)):
            value = str(value).lower()
        elif isinstance(value, int) and abs(value) >= 10**MOST_SYMBOLS:  # of more digits than Python writes, perhaps
            return TOO_LONG
        elif isinstance(value, (int, np.integer)) or (
            isinstance(value, (float, np.floating)) and is_known_whole(float(value))
        ):
            value = str(int(value))
        if not isinstance(value, str):
            return UNKNOWN
        text = self.normalized(value)
        if not text or text == self.missing:
            return ABSENT
        if _CONTROL.search(text) or (self.alphabet and not {*text} <= {*self.alphabet}):
            return UNKNOWN
        try:
            return text if len(text.encode()) <= self.max_bytes else TOO_LONG
        except UnicodeEncodeError:  # half of a surrogate pair
            return UNKNOWN

    def cells(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the texts of a column as symbols, (n,) bytes, and what is wrong with each, (n,) int64: 0 or a code.

        A text with a code is empty.  Raises TypeError if a value is a list or another that is neither text nor number.
        """
        values = as_list(column)
        by_value: dict[Any, str | int] = {}
        read = []
        for value in values:
            key = (type(value), value)
            if key not in by_value:
                by_value[key] = self._read(value)
            read.append(by_value[key])
        codes = np.array([text if isinstance(text, int) else 0 for text in read], dtype=np.int64)
        if self.other:
            read = [self.other if text in (UNKNOWN, TOO_LONG) else text for text in read]
            codes[codes != ABSENT] = 0
        return self.symbols_of("" if isinstance(text, int) else text for text in read), codes

    def are_possible(self, cells: np.ndarray) -> np.ndarray:
        """Return which symbols are those of a text that records may hold, or of no answer, (n,) bool."""
        again, codes = replace(self, other="").cells(self.texts_of(cells))
        return np.asarray((again == cells) & ((codes == 0) | ((cells == b"") & bool(self.missing))))

    def examples(self) -> np.ndarray:
        """Return some texts that records may hold as input cells, increasing: the shortest, 1,024 at most."""
        characters = self.alphabet or "abcdefghijklmnopqrstuvwxyz"
        texts = map("".join, chain.from_iterable(product(characters, repeat=n + 1) for n in range(self.max_bytes)))
        return np.sort(self.symbols_of(islice((text for text in texts if self._read(text) == text), _EXAMPLES)))

    def symbols_of(self, texts: Iterable[str]) -> np.ndarray:
        """Return allowed texts as symbols, (n,) fixed-width bytes; `missing` is the empty text."""
        texts = ("" if text == self.missing else text for text in texts)
        return np.array([text.encode().translate(self._places) for text in texts], dtype=f"S{self.max_bytes}")

    def texts_of(self, cells: np.ndarray) -> list[str]:
        """Return the texts of symbols; `missing` for the empty text, and \\xNN for bytes that are no UTF-8."""
        back = bytes([0]) + self._bytes + bytes(255 - self.symbols)
        return [cell.translate(back).decode(errors="backslashreplace") or self.missing for cell in cells.tolist()]
