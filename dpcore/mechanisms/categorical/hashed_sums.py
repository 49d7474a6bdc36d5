"""How the statistics of text hashing depend on texts: tables of buckets, one for each row of clients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.mechanisms.observation_model import ObservationModel, ScoreSums


@dataclass(frozen=True)
class HashedSums(ObservationModel):
    """The reports of each row, (rows,), then how many of them support each bucket, row after row.

    of_row: the supports of one row's buckets.
    """

    rows: int
    of_row: ScoreSums

    def split(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the reports of each row, (rows,), and the supports, (rows, buckets)."""
        return statistics[: self.rows], statistics[self.rows :].reshape(self.rows, -1)

    def means(self, law: np.ndarray) -> np.ndarray:
        """Return the mean statistics of one report, (S,); law: of the buckets, the same in every row."""
        return np.concatenate([np.ones(self.rows), np.tile(self.of_row.means(law), self.rows)]) / self.rows

    def expected_statistics(self, law: np.ndarray, n: int) -> np.ndarray:
        return n * self.means(law)

    def level_counts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.split(statistics)[0], np.full(self.rows, 1 / self.rows)
