"""The study of rectangles: shares of two numbers' ranges together, of our joint law and of peers that ask for it.

Squared errors are means over fifty rectangles of all sizes.  All have the same people and the same epsilon in all: ours answer
two questions with half each, or (`together`) both in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from dpcore._random import seeded
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.peers.grids import crossed_hierarchies, hybrid_grids, of_table
from dpcore.laboratory.studies.runner import Cell, seed
from dpcore.laboratory.studies.targets.joint_distributions import JointLaw, joint_laws
from dpcore.pipeline import aggregate, joint, privatize
from dpcore.protocol.scheme import Scheme

PAIRED, TOGETHER = "paired", "together"
CHUNK = 10
PEERS: Mapping[str, object] = MappingProxyType(
    {"hybrid_grids": hybrid_grids, "crossed_hierarchies": crossed_hierarchies}
)
METHODS = (PAIRED, TOGETHER, *PEERS)
LAWS = ("normal", "independent", "curve", "clusters")
_CELLS, _RECTANGLES = 64, 50
_TOGETHER = """
name = "plane"
clients = {cell.clients}
[attributes.plane]
type = "numeric"
of = ["x", "y"]
lower = [0, 0]
upper = [1, 1]
epsilon = {cell.epsilon}
"""


def measure(method: str, cell: Cell, chunk: int, upto: int) -> pd.DataFrame:
    """Return sums of a chunk's rounds: mean squared errors over the rectangles."""
    law, ends = joint_laws()[cell.target], rectangles()
    table = _joined(law.table)
    truth, total = of_table(table)(ends), 0.0
    repetitions = range(chunk * CHUNK, upto)
    for repetition in repetitions:
        if method in PEERS:
            shares = PEERS[method](
                table, cell.clients, cell.epsilon, seeded(seed(cell, method, repetition)).generator()
            )(ends)  # type: ignore[operator]
        else:
            shares = of_table(_ours(law, cell, method, repetition))(ends)
        total += float(np.mean((shares - truth) ** 2))
    return runner.rows(method, cell, chunk, len(repetitions), {"mse": total})


def rectangles() -> np.ndarray:
    """Return the ends in cells, (m, 4), of rectangles with sides of an eighth to all of the range, drawn once."""
    generator = np.random.default_rng(29)
    widths = generator.integers(_CELLS // 8, _CELLS + 1, size=(_RECTANGLES, 2))
    starts = generator.integers(0, _CELLS - widths + 1)
    return np.stack([starts[:, 0], starts[:, 0] + widths[:, 0], starts[:, 1], starts[:, 1] + widths[:, 1]], axis=1)


def _ours(law: JointLaw, cell: Cell, method: str, repetition: int) -> np.ndarray:
    asked = law.scheme(cell.epsilon / 2, cell.clients) if method == PAIRED else _TOGETHER.format(cell=cell)
    scheme = Scheme.from_toml(asked)
    people = law.people(cell.clients, seeded(seed(cell, method, repetition)).generator())
    batch = privatize(scheme, people, seeded(seed(cell, f"reports {method}", repetition)))
    estimated = joint(aggregate(scheme, batch), "x", "y").law
    width = _CELLS // len(estimated)
    return np.asarray(np.kron(estimated, np.full((width, width), 1 / width**2)))


def _joined(table: np.ndarray) -> np.ndarray:
    width = len(table) // _CELLS
    return np.asarray(table.reshape(_CELLS, width, _CELLS, width).sum(axis=(1, 3)))
