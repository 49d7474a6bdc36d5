"""Two numbers together as peers have them: a hybrid of grids, and two crossed hierarchies; both ask a pair in one report.

Here is what either makes of n people's reports, drawn from the exact distribution of its oracle: rectangles of a table on D x D
cells.

References: hybrid-dimensional grids (HDG), their sizes and the response matrix [Yang2020]; hierarchies crossed (HIO), of
branching four [Wang2019].
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import exp, sqrt

import numpy as np

from dpcore.laboratory.studies.peers.histogram import local_hashing, norm_sub

Rectangles = Callable[[np.ndarray], np.ndarray]  # ends (m, 4) in cells: x from, to, y from, to; -> probabilities (m,)
_BRANCHES = 4
_ALPHA_ONE, _ALPHA_TWO = 0.7, 0.03  # of the source
_PASSES = 100


def of_table(table: np.ndarray) -> Rectangles:
    """Return the rectangle estimates of a table (D, D)."""
    below = np.zeros((len(table) + 1, len(table) + 1))
    below[1:, 1:] = np.cumsum(np.cumsum(table, axis=0), axis=1)

    def answer(ends: np.ndarray) -> np.ndarray:
        a, b, c, d = ends.T
        return np.asarray(below[b, d] - below[a, d] - below[b, c] + below[a, c])

    return answer


def hybrid_grids(table: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> Rectangles:
    """Return what three groups of people say, of x, of y and of coarse cells of both, made consistent."""
    size, group = len(table), n // 3
    fine = _power((group * (exp(epsilon) - 1) ** 2 * _ALPHA_ONE**2 / (2 * exp(epsilon))) ** (1 / 3), size)
    coarse = min(fine, _power(sqrt(2 * _ALPHA_TWO * (exp(epsilon) - 1) * sqrt(group / exp(epsilon))), size))
    joint = _joined(_joined(table, coarse).T, coarse).T
    both = norm_sub(local_hashing(joint.ravel(), group, epsilon, generator)[None])[0].reshape(coarse, coarse)
    alone = []
    for axis, law in enumerate((table.sum(axis=1), table.sum(axis=0))):
        one = norm_sub(local_hashing(_joined(law, fine), group, epsilon, generator)[None])[0]
        parts, sums = one.reshape(coarse, -1), both.sum(axis=1 - axis)
        # Sums of as many cells of either grid, each of the same variance: weighted by their inverses.
        share = coarse / (coarse + parts.shape[1])
        agreed = share * parts.sum(axis=1) + (1 - share) * sums
        both = both + np.expand_dims((agreed - sums) / coarse, 1 - axis)
        alone.append((parts + ((agreed - parts.sum(axis=1)) / parts.shape[1])[:, None]).ravel())
    both = norm_sub(both.reshape(1, -1))[0].reshape(both.shape)
    first, second = (norm_sub(one[None])[0] for one in alone)
    response = np.full(table.shape, 1 / size**2)
    for _ in range(_PASSES):
        response = response * np.repeat(_ratio(first, _joined(response, fine).sum(axis=1)), size // fine)[:, None]
        response = response * np.repeat(_ratio(second, _joined(response.T, fine).sum(axis=1)), size // fine)
        coarse_table = _joined(_joined(response, coarse).T, coarse).T
        response = response * np.kron(_ratio(both, coarse_table), np.ones((size // coarse, size // coarse)))
    return of_table(response / response.sum())


def crossed_hierarchies(table: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> Rectangles:
    """Return what people say who tell a pair of nodes each, of one of all pairs of levels of two trees."""
    size = len(table)
    levels = [_BRANCHES**k for k in range(round(np.log(size) / np.log(_BRANCHES)) + 1)]
    group, estimates = n // (len(levels) ** 2 - 1), {}
    for one, other in product(levels, repeat=2):
        nodes = _joined(_joined(table, one).T, other).T
        estimates[one, other] = (
            np.ones((1, 1))
            if nodes.size == 1
            else local_hashing(nodes.ravel(), group, epsilon, generator).reshape(nodes.shape)
        )

    def answer(ends: np.ndarray) -> np.ndarray:
        values = []
        for a, b, c, d in ends.tolist():
            pieces = product(_nodes(a, b, size, levels), _nodes(c, d, size, levels))
            values.append(sum(estimates[one, other][i, j] for (one, i), (other, j) in pieces))
        return np.array(values)

    return answer


def _nodes(start: int, end: int, size: int, levels: list[int]) -> list[tuple[int, int]]:
    """The fewest nodes, (nodes of the level, place), that make up the cells from start up to end."""
    for nodes in levels:
        width = size // nodes
        first, last = -(-start // width), end // width
        if first < last:
            inside = [(nodes, place) for place in range(first, last)]
            return [*_nodes(start, first * width, size, levels), *inside, *_nodes(last * width, end, size, levels)]
    return []


def _power(wanted: float, most: int) -> int:
    """The power of two next to a number, from 2 to `most`."""
    return int(min(max(2 ** round(np.log2(max(wanted, 1.0))), 2), most))


def _joined(table: np.ndarray, rows: int) -> np.ndarray:
    """Sums over neighbouring rows, so that so many are left."""
    return np.asarray(table.reshape(rows, len(table) // rows, *table.shape[1:]).sum(axis=1))


def _ratio(wanted: np.ndarray, there: np.ndarray) -> np.ndarray:
    return np.asarray(wanted / np.maximum(there, 1e-300))
