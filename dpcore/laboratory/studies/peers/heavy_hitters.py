"""Frequent texts as three papers find them: PEM, SFP and TreeHist, with optimized local hashing as the oracle of all.

The support count of each candidate is drawn from its exact distribution, instead of reports.  Each method returns about K
texts, without a test.  SFP and TreeHist are adapted: fragments of two symbols of the declared alphabet, and the
FRAGMENTS or K largest in place of a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from dpcore.laboratory.studies.peers.histogram import local_hashing_probabilities

K = 20  # texts asked for, and prefixes or fragments that each step keeps
_COMPARED = 1 << 20  # candidates of one step of PEM, the bound of [Wang2021]
_FRAGMENT = 2  # symbols of a fragment [Apple2017] [BassilyNissim2017]
FRAGMENTS = 200  # that SFP keeps at each position
_HASHES = 256  # values of the hash that joins fragments [Apple2017]


def pem(texts: np.ndarray, shares: np.ndarray, clients: int, epsilon: float, random: np.random.Generator) -> np.ndarray:
    """Return the texts found by the prefix extending method on bytes: each symbol is eight bits [Wang2021]."""
    return _extended(_bits(texts, 8), shares, clients, epsilon, random)


def pem_symbols(
    texts: np.ndarray, shares: np.ndarray, clients: int, epsilon: float, random: np.random.Generator
) -> np.ndarray:
    """Return the texts found by PEM if it knows the alphabet: a symbol has as few bits as it needs."""
    return _extended(_bits(texts, int(texts.max()).bit_length()), shares, clients, epsilon, random)


def tree_hist(
    texts: np.ndarray, shares: np.ndarray, clients: int, epsilon: float, random: np.random.Generator
) -> np.ndarray:
    """Return the texts found by a prefix tree of fragments, half of epsilon for a prefix and half for the text."""
    oracle, steps = local_hashing_probabilities(epsilon / 2), texts.shape[1] // _FRAGMENT
    extensions = (int(texts.max()) + 1) ** _FRAGMENT
    left = np.arange(len(texts))
    for step in range(1, steps + 1):
        left = _survivors(texts[:, : step * _FRAGMENT], left, shares, clients // steps, oracle, K * extensions, random)
    return _largest(left, shares, clients, oracle, random)


def sfp(texts: np.ndarray, shares: np.ndarray, clients: int, epsilon: float, random: np.random.Generator) -> np.ndarray:
    """Return the texts found by joining fragments with the same hash, half of epsilon for a fragment and half for the text."""
    oracle, positions = local_hashing_probabilities(epsilon / 2), texts.shape[1] // _FRAGMENT
    hashes = random.integers(0, _HASHES, len(texts))
    possible = (int(texts.max()) + 1) ** _FRAGMENT * _HASHES
    left = np.arange(len(texts))
    for position in range(positions):
        fragment = texts[:, position * _FRAGMENT : (position + 1) * _FRAGMENT]
        named = np.column_stack([hashes, fragment])
        every = np.arange(len(texts))
        frequent = _survivors(named, every, shares, clients // positions, oracle, possible, random, FRAGMENTS)
        left = np.intersect1d(left, frequent)
    return _largest(left, shares, clients, oracle, random)


Probabilities = tuple[float, float]  # with which a report supports its own value, and any other
Peer = Callable[[np.ndarray, np.ndarray, int, float, np.random.Generator], np.ndarray]
PEERS: Mapping[str, Peer] = MappingProxyType(
    {"pem": pem, "sfp": sfp, "tree_hist": tree_hist, "pem_symbols": pem_symbols}
)


def _counts(oracle: Probabilities, having: np.ndarray, clients: int, random: np.random.Generator) -> np.ndarray:
    """The support counts of values that so many of the clients have, of their shape."""
    true, other = oracle
    return np.asarray(random.binomial(having, true) + random.binomial(clients - having, other), dtype=np.int64)


def _bits(texts: np.ndarray, width: int) -> np.ndarray:
    """The texts as bits, (N, symbols times width)."""
    return ((texts[:, :, None] >> np.arange(width)[::-1]) & 1).reshape(len(texts), -1).astype(np.uint8)


def _extended(
    bits: np.ndarray, shares: np.ndarray, clients: int, epsilon: float, random: np.random.Generator
) -> np.ndarray:
    """The texts that prefixes of growing numbers of bits lead to; each group of clients reports one of them."""
    begin = math.ceil(math.log2(K))
    step = int(math.log2(_COMPARED / K))
    groups = math.ceil((bits.shape[1] - begin) / step)
    left, before, most = np.arange(len(bits)), begin, 1 << begin
    for group in range(1, groups + 1):
        end = min(bits.shape[1], begin + group * step)
        named = np.packbits(bits[:, :end], axis=1)
        left = _survivors(
            named, left, shares, clients // groups, local_hashing_probabilities(epsilon), most << (end - before), random
        )
        before, most = end, K
    return left


def _survivors(
    named: np.ndarray,
    texts: np.ndarray,
    shares: np.ndarray,
    clients: int,
    oracle: Probabilities,
    candidates: int,
    random: np.random.Generator,
    most: int = K,
) -> np.ndarray:
    """The numbers of the texts whose support counts are among the `most` largest of all candidates.

    named: (N, any) integers, equal for texts that are one candidate.  texts: the numbers of those still possible.
    """
    names = np.ascontiguousarray(named).view(np.dtype((np.void, named.dtype.itemsize * named.shape[1]))).ravel()
    _, place = np.unique(names, return_inverse=True)
    having = np.bincount(place, random.multinomial(clients, shares)).astype(np.int64)
    present = np.unique(place[texts])
    counts = _counts(oracle, having[present], clients, random)
    nameless = random.binomial(clients, oracle[1], max(candidates - len(present), 0))
    least = np.sort(np.concatenate([counts, nameless]))[-most]
    return texts[np.isin(place[texts], present[counts >= least])]


def _largest(
    texts: np.ndarray, shares: np.ndarray, clients: int, oracle: Probabilities, random: np.random.Generator
) -> np.ndarray:
    """The K texts with the largest support counts of whole texts."""
    counts = _counts(oracle, random.multinomial(clients, shares)[texts], clients, random)
    return texts[np.argsort(-counts, kind="stable")[:K]]
