"""Binary hierarchies: each client reports on one level of a tree over D cells, and the levels are made to agree.

Two of them: nodes by optimised unary encoding with constrained inference, and signed Haar coefficients by Hadamard response.
Both give leaves that may be negative; the distribution function is then made monotone, or the leaves put on the simplex.

References: the hierarchy with constrained inference, and HaarHRR, are those of [Cormode2019]; the inference is the least
squares of [Hay2010], the monotone function that of [Barlow1972].
"""

from __future__ import annotations

from math import log2

import numpy as np
import scipy

from dpcore.laboratory.studies.peers.histogram import hadamard_matrix, optimised_unary, signs


def unary_tree(cells: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Return the leaves, shape (D,), of a binary tree whose levels n clients share alike."""
    levels = []
    for level, people in enumerate(_groups(cells, n, generator), start=1):
        nodes = cells.reshape(1 << level, -1).sum(axis=1)
        levels.append(optimised_unary(nodes, int(people), epsilon, generator))
    return constrained_inference(levels)


def constrained_inference(levels: list[np.ndarray]) -> np.ndarray:
    """Return the leaves, shape (D,), of the tree nearest to the node values, all equally exact; the root is 1.

    levels: shapes (2,), (4,), ..., (D,).
    """
    upward = [levels[-1]]
    for height, own in enumerate(reversed(levels[:-1]), start=2):  # height: of the subtree, its leaves counted as 1
        children = upward[-1][0::2] + upward[-1][1::2]
        weight = 2 ** (height - 1) / (2**height - 1)
        upward.append(weight * own + (1 - weight) * children)
    consistent = np.ones(1)
    for values in reversed(upward):
        excess = consistent - values[0::2] - values[1::2]
        consistent = values + np.repeat(excess / 2, 2)
    return consistent


def haar_hadamard(cells: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    """Return the leaves, shape (D,): each client reports one bit on the Haar coefficients of one level."""
    nodes = np.ones(1)
    for level, people in enumerate(_groups(cells, n, generator)):
        matrix = hadamard_matrix(1 << level)
        halves = generator.multinomial(int(people), cells.reshape(2 << level, -1).sum(axis=1)) / max(int(people), 1)
        means = (halves[0::2] - halves[1::2]) @ matrix
        difference = signs(means, int(people), epsilon, generator) @ matrix / (1 << level)
        nodes = np.stack([nodes + difference, nodes - difference], axis=1).ravel() / 2
    return nodes


def monotone(leaves: np.ndarray) -> np.ndarray:
    """Return cell probabilities, shape (repetitions, D), whose distribution function is the nearest that increases."""
    cumulated = np.cumsum(leaves, axis=1)[:, :-1]
    rising = np.array([np.clip(scipy.optimize.isotonic_regression(row).x, 0.0, 1.0) for row in cumulated])
    return np.diff(rising, axis=1, prepend=0.0, append=1.0)


def _groups(cells: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """How many clients report on each of the log2 D levels."""
    height = int(log2(len(cells)))
    return generator.multinomial(n, np.full(height, 1 / height))
