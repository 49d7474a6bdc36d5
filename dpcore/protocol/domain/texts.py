"""Open answers: texts that nobody has listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpcore.errors import InvalidRecord, SchemeError
from dpcore.mechanisms.categorical.text_hashing import MOST_SYMBOLS
from dpcore.mechanisms.declaration import Option
from dpcore.protocol.attribute import MISSING, Attribute
from dpcore.protocol.records.category_names import ABSENT, UNKNOWN, refuse
from dpcore.protocol.records.texts import NORMALIZATIONS, TOO_LONG, TextDomain
from dpcore.protocol.syntax.fields import check_client
from dpcore.protocol.syntax.keys import OTHER, Kind, own

_SIMULATED = 30  # texts of a default distribution


@dataclass(frozen=True, eq=False, kw_only=True)
class TextAttribute(Attribute):
    """An attribute whose answers are texts."""

    answer = "a text"
    is_open = True
    alone = "a text"
    instead = "categories"
    most_label_cells = 31  # a combination of labels has 65,600 sums of an attribute, which land

    texts: TextDomain

    def _encode_answers(self, column: Any, first: int) -> np.ndarray:
        try:
            cells, codes = self.texts.cells(column)
        except TypeError:  # a list or another unhashable value
            raise InvalidRecord(
                f"column {self.column!r} must hold texts or numbers, and at least one value is neither; fix the file"
            ) from None
        self._refuse_absent(codes == ABSENT, first)
        remedy = 'correct the file, or set outside = "other"'
        refuse(
            codes == TOO_LONG,
            first,
            f"column {self.column!r} has a text too long",
            f"at most {self.texts.max_bytes} bytes; {remedy}",
        )
        allowed = "those of alphabet" if self.texts.alphabet else "texts or whole numbers, without control characters"
        refuse(
            codes == UNKNOWN,
            first,
            f"column {self.column!r} has a text with other characters",
            f"{allowed}; {remedy}",
        )
        return cells

    def codes_of(self, column: Any) -> np.ndarray:
        """Return 0 for every text of a column, (n,) int64, or a code below 0; raises TypeError for a list."""
        codes = replace(self.texts, other="").cells(column)[1]
        codes[codes == TOO_LONG] = UNKNOWN
        return codes

    @cached_property
    def cells(self) -> np.ndarray:
        return self.texts.examples()

    def names_of_shares(self, shares: Any = None) -> list[str]:
        if not isinstance(shares, Mapping):
            return self.texts.texts_of(self.cells[:_SIMULATED])
        for name, code in zip(shares, self.texts.cells(list(shares))[1].tolist(), strict=True):
            if code:
                raise SchemeError(f"no text of {self.name} can be {name!r}; see its alphabet and max_bytes")
        return list(shares)

    def value_of(self, cell: Any) -> str:
        return self.texts.texts_of(np.array([cell]))[0]

    def answers_in_words(self) -> str:
        return f"texts of {self.texts.max_bytes} bytes at most"


def _read(entries: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    if entries["functionals"]:
        raise SchemeError("functionals are of numbers, and texts have none; remove them")
    texts = TextDomain(
        entries["alphabet"],
        entries["max_bytes"],
        tuple(step for step in NORMALIZATIONS if step in entries["normalize"]),
        MISSING if entries["missing"] == "category" else "",
        OTHER if entries["outside"] == OTHER else "",
    )
    return {"texts": texts}


def _sizes(entries: Mapping[str, Any]) -> dict[str, int]:
    return {"symbols": entries["texts"].symbols, "length": entries["max_bytes"]}


def _check(entries: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    check_client(entries["mechanism"].parameters(), symbols=sizes["symbols"], length=sizes["length"])
    return {}


def _own_table(a: TextAttribute) -> dict[str, Any]:
    texts = a.texts
    return {
        "max_bytes": texts.max_bytes,
        "alphabet": texts.alphabet,
        "normalize": texts.normalize,
        "outside": a.outside,
    }


KIND = Kind(
    keys=(
        Option("max_bytes", int, least=1, most=MOST_SYMBOLS, is_needed=True, words="the most bytes of a text in UTF-8"),
        Option(
            "alphabet", str, default="", words="the characters of texts; default: all, with which fewer texts are found"
        ),
        Option(
            "normalize",
            list[str],
            choices=NORMALIZATIONS,
            fewest=0,
            default=NORMALIZATIONS,
            words="what makes two spellings one text: Unicode form NFC, small letters, single blanks; default: all three",
        ),
        own(
            "categorical",
            "outside",
            words='a text too long, or with other characters, is an error, or becomes the text "other"',
        ),
        own("categorical", "missing"),
    ),
    reason="the only mechanism for texts",
    attribute=TextAttribute,
    read=_read,
    sizes=_sizes,
    check=_check,
    own_table=_own_table,
)
