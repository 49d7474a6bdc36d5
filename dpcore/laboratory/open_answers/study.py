"""The study of open answers: which of the most frequent texts are found, by ours and by three papers.

Texts are random letters, of a length that is uniform from three to the longest; their shares are Zipf's.
"""

from __future__ import annotations

import resource
import time
from functools import lru_cache

import numpy as np
import pandas as pd

from dpcore._random import Source, seeded
from dpcore.estimation.frequency.frequent_texts import frequent_texts
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.peers.heavy_hitters import PEERS, K
from dpcore.laboratory.studies.runner import Cell, seed
from dpcore.mechanisms.categorical.text_hashing import END, TextHashing
from dpcore.privacy.budget import Budget
from dpcore.protocol.simulation import counted

OURS, DECODING = "text_hashing", "decoding"
CHUNK = 2
TEXTS = 100_000
LETTERS = 26
_SHORTEST = 3


def target(exponent: float, length: int) -> str:
    """Return the name of a population."""
    return f"Zipf {exponent:g}, at most {length} letters"


def measure(method: str, cell: Cell, chunk: int, upto: int) -> pd.DataFrame:
    """Return sums over a chunk's rounds: the share of the K most frequent texts that are found.

    Of ours also: the share of them among the K largest reported texts, the number of reported texts, the share of these that
    nobody has, and whether all intervals cover the true shares.

    Of the method DECODING: see `_decoding`.
    """
    if method == DECODING:
        return _decoding(cell)
    repetitions = range(chunk * CHUNK, upto)
    sums: dict[str, float] = {}
    for repetition in repetitions:
        random = seeded(seed(cell, method, repetition))
        if method == OURS:
            measured = _round(cell, random)
        else:
            texts, shares = _population_of(cell)
            numbers = PEERS[method](texts, shares, cell.clients, cell.epsilon, random.generator())
            measured = {"recall": float(np.count_nonzero(numbers < K)) / K}
        for name, value in measured.items():
            sums[name] = sums.get(name, 0.0) + value
    return runner.rows(method, cell, chunk, len(repetitions), sums)


def _decoding(cell: Cell) -> pd.DataFrame:
    """The CPU seconds from one round's reports to its frequent texts, and the peak memory of the process in MiB."""
    mechanism, (texts, shares) = _mechanism_of(cell), _population_of(cell)
    random = seeded(seed(cell, DECODING, 0))
    drawn = random.generator().choice(len(texts), cell.clients, p=shares)
    reports = mechanism.privatize(mechanism.cells_of(texts)[drawn], random)
    begun = time.process_time()
    frequent_texts(mechanism, mechanism.statistics(reports))
    seconds = time.process_time() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return runner.rows(DECODING, cell, 0, 1, {"seconds": seconds, "memory": memory})


def _round(cell: Cell, random: Source) -> dict[str, float]:
    mechanism, (texts, shares) = _mechanism_of(cell), _population_of(cell)
    counts = random.generator().multinomial(cell.clients, shares)
    statistics = mechanism.simulate(counted(mechanism.cells_of(texts), counts), random.spawn(0))
    estimate = frequent_texts(mechanism, statistics)
    places = {text.tobytes(): place for place, text in enumerate(texts)}
    place = np.array([places.get(text.tobytes(), len(texts)) for text in estimate.texts])
    truth = np.append(shares, 0.0)[place]
    return {
        "recall": float(np.count_nonzero(estimate.is_reported & (place < K))) / K,
        "largest": float(np.count_nonzero(place[estimate.is_reported][:K] < K)) / K,
        "reported": float(np.count_nonzero(estimate.is_reported)),
        "false": float(np.mean(place[estimate.is_reported] == len(texts))) if estimate.is_reported.any() else 0.0,
        "covered": float(((estimate.low <= truth) & (truth <= estimate.high)).all()),
    }


def _mechanism_of(cell: Cell) -> TextHashing:
    length = _population_of(cell)[0].shape[1]
    return TextHashing.design(Budget.parse(repr(cell.epsilon)), symbols=LETTERS, length=length)


def _population_of(cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    words = cell.target.replace(",", "").split()
    return population(float(words[1]), int(words[-2]))


@lru_cache(maxsize=2)
def population(exponent: float, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return TEXTS different texts at most, (N, length) symbols, the most frequent first, and their shares, (N,)."""
    generator = seeded((length,)).generator()
    texts = generator.integers(1, LETTERS + 1, (TEXTS, length))
    texts[np.arange(length) >= generator.integers(_SHORTEST, length + 1, TEXTS)[:, None]] = END
    texts = generator.permutation(np.unique(texts, axis=0))
    shares = np.arange(1, len(texts) + 1, dtype=np.float64) ** -exponent
    return texts, shares / shares.sum()
