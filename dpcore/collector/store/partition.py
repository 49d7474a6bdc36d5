"""Who owns which reports where several collectors share a folder: collector K of N, those whose random ids begin in its part.

An id's first two bytes are a number below 65,536, of whose N equal parts the K-th is K's.  Each has a store of its own below
the folder, so that none waits for another and each remembers its own ids alone; all seal into the same folder.
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
_SAID = re.compile(r"([1-9]\d?)/([1-9]\d?)")


@dataclass(frozen=True, kw_only=True)
class Share:
    """Collector `number`, from 1 on, of `of` that share a folder; 1 of 1 has it all."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Share:
        """Return what K/N says, as 2/4; raises SchemeError."""
        match = _SAID.fullmatch(text)
        if not match or not int(match[1]) <= int(match[2]) <= MOST:
            raise SchemeError(
                f"a share is K/N, collector K of N, with N at most {MOST}; got {text!r}: say --share 1/4 to the first of four, "
                "2/4 to the next, and the same --into to all"
            )
        return cls(number=int(match[1]), of=int(match[2]))

    def __str__(self) -> str:
        return "" if self.of == 1 else f"{self.number}-of-{self.of}."

    def place(self, folder: Path) -> Path:
        """Return where the store is of a collector of a folder."""
        return folder if self.of == 1 else folder / SHARES / str(self).rstrip(".")

    def others(self) -> list[Share]:
        return [Share(number=k, of=self.of) for k in range(1, self.of + 1) if k != self.number]

    def owners(self, ids: np.ndarray) -> np.ndarray:
        """Return the number of the collector that owns each id, (n,) int64; ids: (n, 16) uint8."""
        first = ids[:, 0].astype(np.int64) << 8 | ids[:, 1]
        return np.asarray(1 + (first * self.of >> 16))

    def move_in(self, folder: Path) -> None:
        """Make the place; raises StoreError where the folder is shared by others in number, and OSError.

        Who owns an id would be another's, which does not know what was taken.
        """
        private_folder(folder)
        others = {int(place.name.rpartition("-")[2]) for place in (folder / SHARES).glob("*-of-*")} - {self.of}
        if others:
            (total,) = others
            raise StoreError(
                f"{folder} is shared by {total} collectors: say --share K/{total}, K from 1 to {total}, or give another --into"
            )
        if self.of == 1:
            return
        if (folder / STORE).exists():
            raise StoreError(
                f"{folder} belongs to one collector, which alone knows what it has taken: leave out --share, or give another "
                "--into"
            )
        private_folder(folder / SHARES)
        private_folder(self.place(folder))


WHOLE = Share()
