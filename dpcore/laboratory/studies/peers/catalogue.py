"""The peers by name: sixty-seven settings of nine methods.

One peer is what is drawn once and perhaps decoded in several ways, such as EMS under two stopping rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpcore._random import seeded
from dpcore.laboratory.studies import metrics
from dpcore.laboratory.studies.method import Method, Setting
from dpcore.laboratory.studies.peers import hierarchy, histogram, square_wave
from dpcore.laboratory.studies.targets.densities import FINEST, Target

PREFIX = "peer:"  # of a peer's method in tables
_BINS = (16, 32, 64, 128, 256, 512, 1024)
_CONVERGED_BINS = (16, 32, 64, 128, 256)  # with more, EMS carried to its end fits the noise
_CELLS = (8, 16, 32, 64, 128, 256, 512, 1024)
_LEAVES = (256, 1024)


@dataclass(frozen=True, eq=False, kw_only=True)
class Peer(Method):
    """What n clients' reports amount to, and how it is decoded.

    cells: number of equal cells of the population's distribution.  draw: see `histogram.Draw`.
    decode: from what was drawn, shape (repetitions, anything), and epsilon to cell probabilities (repetitions, d), one
    result for each setting.
    """

    settings: tuple[Setting, ...]
    cells: int
    draw: histogram.Draw
    decode: Callable[[np.ndarray, float], list[np.ndarray]]

    def estimates(self, target: Target, n: int, epsilon: float, seeds: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Return each setting's cell probabilities, shape (repetitions, d), one repetition a seed."""
        law = target.cells(self.cells)
        drawn = np.stack([self.draw(law, n, epsilon, seeded(seed).generator()) for seed in seeds])
        return self.decode(drawn, epsilon)

    def errors(
        self, target: str, n: int, epsilon: float, seeds: Sequence[Sequence[int]]
    ) -> list[Mapping[str, np.ndarray]]:
        truth = metrics.truth(target)
        return [metrics.score_cells(truth, cells) for cells in self.estimates(truth.target, n, epsilon, seeds)]


def peers() -> tuple[Peer, ...]:
    """Return all peers."""
    return (*_histograms(), *_hierarchies(), *_square_waves())


def _histograms() -> list[Peer]:
    return [
        Peer(
            settings=(Setting(PREFIX + name, f"cells={k}"),),
            cells=k,
            draw=draw,
            decode=lambda drawn, _: [histogram.norm_sub(drawn)],
        )
        for name, draw in histogram.ORACLES.items()
        for k in _CELLS
    ]


def _hierarchies() -> list[Peer]:
    trees: Mapping[str, histogram.Draw] = {
        "unary_tree": hierarchy.unary_tree,
        "haar_hadamard": hierarchy.haar_hadamard,
    }
    return [
        Peer(
            settings=tuple(Setting(PREFIX + name, f"leaves={leaves} {way}") for way in ("isotonic", "norm_sub")),
            cells=leaves,
            draw=draw,
            decode=lambda drawn, _: [hierarchy.monotone(drawn), histogram.norm_sub(drawn)],
        )
        for name, draw in trees.items()
        for leaves in _LEAVES
    ]


def _square_waves() -> list[Peer]:
    peers = []
    for bins in _BINS:
        for name, smoothing in (("sw_ems", True), ("sw_em", False)):
            rules = (False, True) if smoothing and bins in _CONVERGED_BINS else (False,)
            peers.append(
                Peer(
                    settings=tuple(Setting(PREFIX + name, f"bins={bins}" + " converged" * rule) for rule in rules),
                    cells=FINEST,
                    draw=partial(_reports, bins),
                    decode=partial(_fit, smoothing, rules),
                )
            )
    return peers


def _reports(bins: int, law: np.ndarray, n: int, epsilon: float, generator: np.random.Generator) -> np.ndarray:
    return square_wave.reports(law, n, epsilon, bins, generator)


def _fit(smoothing: bool, rules: tuple[bool, ...], counts: np.ndarray, epsilon: float) -> list[np.ndarray]:
    return square_wave.trajectory(counts, epsilon, smoothing, rules)
