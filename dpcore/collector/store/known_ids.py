"""The set of report ids already seen: sorted runs in memory, 16 bytes per id, merged into runs of doubling length.

Runs are sorted by a hash of the id: a linear combination of its halves modulo 2^64, with odd multipliers that are secret and
drawn for this process.  Hash and second half together determine the id.  Senders may find ids with equal hashes, so a lookup
visits all ids of a hash; the answer is exact.
"""

from __future__ import annotations

import secrets

import numpy as np

LONG = 1 << 22  # ids of a run that is not merged further, because merging blocks all requests


class KnownIds:
    """A growing set of 16-byte ids; arrays of ids are (n, 16) uint8."""

    def __init__(self) -> None:
        self._factors = tuple(np.uint64(secrets.randbits(64) | 1) for _ in range(2))
        self._runs: list[tuple[np.ndarray, np.ndarray]] = []

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._runs)

    def __repr__(self) -> str:
        return f"<KnownIds of {len(self)}>"

    def seen(self, ids: np.ndarray) -> np.ndarray:
        """Return which ids are in the set or earlier in `ids`, (n,) bool."""
        keys, rests = self._images(ids)
        order = np.argsort(keys)
        if np.any(keys[order[1:]] == keys[order[:-1]]):
            order = np.lexsort((rests, keys))  # some hashes are equal: group equal ids, in stable order
        keys, rests = keys[order], rests[order]
        is_known = np.zeros(len(ids), dtype=bool)
        is_known[1:] = (keys[1:] == keys[:-1]) & (rests[1:] == rests[:-1])
        for run_keys, run_rests in self._runs:
            at, last = np.searchsorted(run_keys, keys), len(run_keys) - 1
            looking = np.arange(len(keys))
            while looking.size:
                place = np.minimum(at[looking], last)
                looking = looking[(at[looking] <= last) & (run_keys[place] == keys[looking])]
                is_there = run_rests[at[looking]] == rests[looking]
                is_known[looking[is_there]] = True
                looking = looking[~is_there]
                at[looking] += 1
        seen = np.empty(len(ids), dtype=bool)
        seen[order] = is_known
        return seen

    def add(self, ids: np.ndarray) -> None:
        """Add ids that are not in the set."""
        if not len(ids):
            return
        run = self._images(ids)
        while self._runs and len(self._runs[-1][0]) < min(2 * len(run[0]), LONG):
            last = self._runs.pop()
            run = np.concatenate([last[0], run[0]]), np.concatenate([last[1], run[1]])
        order = np.argsort(run[0])
        self._runs.append((run[0][order], run[1][order]))

    def _images(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        halves = np.ascontiguousarray(ids).view("<u8")
        first, second = halves[:, 0], halves[:, 1]
        return first * self._factors[0] + second * self._factors[1], second.copy()
