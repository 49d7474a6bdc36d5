"""Small mechanisms of texts, and the texts that they ask for."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from dpcore.mechanisms.categorical.text_hashing import TextHashing
from dpcore.privacy.budget import Budget
from dpcore.protocol.records.texts import TextDomain

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@cache
def mechanism(symbols: int = 10, length: int = 4, epsilon: str = "4", buckets: int = 128) -> TextHashing:
    return TextHashing.design(Budget.parse(epsilon), symbols=symbols, length=length, buckets=buckets)


def every_text(symbols: int, length: int) -> np.ndarray:
    """All texts, (n, length) symbols."""
    rows = np.array(list(product(range(symbols + 1), repeat=length)))
    return rows[~((rows[:, :-1] == 0) & (rows[:, 1:] > 0)).any(axis=1)]


def words_of(words: list[str], length: int) -> np.ndarray:
    """Words of small letters as symbols, (n, length)."""
    cells = TextDomain(LETTERS, length).symbols_of(words)
    return cells.view(np.uint8).reshape(-1, length).astype(np.int64)
