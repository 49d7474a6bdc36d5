"""The partition of reports among collectors that share a folder, by the first two bytes of their random ids.

These bytes are a number below 65,536; its range is divided into N equal parts, and collector K of N owns part K.  Each
collector has its own store below the folder, so none waits for another and each remembers only its own ids.  All seal into one
folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpcore.errors import SchemeError, StoreError
from dpcore.wire import private_folder
from dpcore.wire.inbox import SHARES, STORE

MOST = 64  # collectors of a folder
_SHARE = re.compile(r"([1-9]\d?)/([1-9]\d?)")


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
