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
from dpcore.laboratory.studies.joint_laws import JointLaw, joint_laws
from dpcore.laboratory.studies.peers.grids import crossed_hierarchies, hybrid_grids, of_table
from dpcore.laboratory.studies.runner import Cell, seed
from dpcore.pipeline import aggregate, joint, privatize
from dpcore.protocol.scheme import Scheme

PAIRED = "paired"
CHUNK = 10
PEERS: Mapping[str, object] = MappingProxyType(
    {"hybrid_grids": hybrid_grids, "crossed_hierarchies": crossed_hierarchies}
)
METHODS = (PAIRED, *PEERS)
LAWS = ("normal", "independent", "curve", "clusters")
_CELLS, _RECTANGLES = 64, 50


def measure(method: str, cell: Cell, chunk: int, upto: int) -> pd.DataFrame:
    """Return sums of a chunk's rounds: mean squared errors over the rectangles."""
    law, ends = joint_laws()[cell.target], rectangles()
    table = _joined(law.table)
    truth, total = of_table(table)(ends), 0.0
    repetitions = range(chunk * CHUNK, upto)
    for repetition in repetitions:
        generator = seeded(seed(cell, method, repetition)).generator()
        if method == PAIRED:
            found = of_table(_ours(law, cell, generator, repetition))(ends)
        else:
            found = PEERS[method](table, cell.clients, cell.epsilon, generator)(ends)  # type: ignore[operator]
        total += float(np.mean((found - truth) ** 2))
    return runner.rows(method, cell, chunk, len(repetitions), {"mse": total})


def rectangles() -> np.ndarray:
    """Return the ends in cells, (m, 4), of rectangles with sides of an eighth to all of the range, drawn once."""
    generator = np.random.default_rng(29)
    widths = generator.integers(_CELLS // 8, _CELLS + 1, size=(_RECTANGLES, 2))
    starts = generator.integers(0, _CELLS - widths + 1)
    return np.stack([starts[:, 0], starts[:, 0] + widths[:, 0], starts[:, 1], starts[:, 1] + widths[:, 1]], axis=1)


def _ours(law: JointLaw, cell: Cell, generator: np.random.Generator, repetition: int) -> np.ndarray:
    scheme = Scheme.from_toml(law.scheme(cell.epsilon / 2, cell.clients))
    people = law.people(cell.clients, generator)
    batch = privatize(scheme, people, seeded(seed(cell, "reports", repetition)))
    return joint(aggregate(scheme, batch), "x", "y").law


def _joined(table: np.ndarray) -> np.ndarray:
    width = len(table) // _CELLS
    return np.asarray(table.reshape(_CELLS, width, _CELLS, width).sum(axis=(1, 3)))
