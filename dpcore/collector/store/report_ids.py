"""Ids of reports: their partition among collectors that share a folder, and the set of those already seen.

The partition is by the first two bytes of the random ids.  These bytes are a number below 65,536; its range is divided into N
equal parts, and collector K of N owns part K.  Each collector has its own store below the folder, so none waits for another and
each remembers only its own ids.  All seal into one folder.

The set of report ids already seen: sorted runs in memory, 16 bytes per id, merged into runs of doubling length.

Runs are sorted by a hash of the id: a linear combination of its halves modulo 2^64, with odd multipliers that are secret and
drawn for this process.  Hash and second half together determine the id.  Senders may find ids with equal hashes, so a lookup
visits all ids of a hash; the answer is exact.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore.errors import SchemeError, StoreError
from dpcore.wire import private_folder
from dpcore.wire.inbox import SHARES, STORE

MOST = 64  # collectors of a folder
_SHARE = re.compile(r"([1-9]\d?)/([1-9]\d?)")
LONG = 1 << 22  # ids of a run that is not merged further, because merging blocks all requests


@dataclass(frozen=True, kw_only=True)
class Share:
    """Collector `number` (from 1) of the `count` collectors that share a folder; 1 of 1 owns everything."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Share:
        """Parse K/N, such as 2/4; raises SchemeError."""
        match = _SHARE.fullmatch(text)
        if not match or not int(match[1]) <= int(match[2]) <= MOST:
            raise SchemeError(
                f"--share must be K/N for collector K of N, with N at most {MOST}, got {text!r}; start the first of four "
                "collectors with --share 1/4, the next with 2/4, and all with the same --into"
            )
        return cls(number=int(match[1]), count=int(match[2]))

    def __str__(self) -> str:
        return "" if self.count == 1 else f"{self.number}-of-{self.count}."

    def place(self, folder: Path) -> Path:
        """Return the folder of this collector's store."""
        return folder if self.count == 1 else folder / SHARES / str(self).rstrip(".")

    def others(self) -> list[Share]:
        return [Share(number=k, count=self.count) for k in range(1, self.count + 1) if k != self.number]

    def owners(self, ids: np.ndarray) -> np.ndarray:
        """Return the number of the collector that owns each id, (n,) int64; ids: (n, 16) uint8."""
        first = ids[:, 0].astype(np.int64) << 8 | ids[:, 1]
        return np.asarray(1 + (first * self.count >> 16))

    def move_in(self, folder: Path) -> None:
        """Create the folder of this collector's store; raises OSError, and StoreError for a different number of collectors.

        With another number, ids would have other owners, which do not know the reports accepted before.
        """
        private_folder(folder)
        others = {int(place.name.rpartition("-")[2]) for place in (folder / SHARES).glob("*-of-*")} - {self.count}
        if others:
            (total,) = others
            raise StoreError(
                f"{folder} is shared by {total} collectors; use --share K/{total} with K from 1 to {total}, or another --into"
            )
        if self.count == 1:
            return
        if (folder / STORE).exists():
            raise StoreError(
                f"{folder} belongs to a single collector, and only its store knows the accepted reports; leave out --share, "
                "or use "
                "another --into"
            )
        private_folder(folder / SHARES)
        private_folder(self.place(folder))


WHOLE = Share()


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
