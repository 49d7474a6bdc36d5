"""From one collector to another: what a report's owner is to take lies in a file before its door until it has been taken.

Whatever door a report comes to, it is kept there and answered (`database`).  A moment later it is written into a file in the
owner's place, sorted by ids, under the hash of what it holds, and forgotten; the owner takes the file as it takes what is sent,
which is where it is seen whether the report is new, and deletes it.  After a kill between two of these steps a file is written
or taken once more: its reports are then known.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dpcore.collector.store.database import checksum, connect, delete_in_turns, words_of
from dpcore.collector.store.intake import Parcel
from dpcore.collector.store.partition import Share
from dpcore.collector.store.sealing import write_durably
from dpcore.protocol.scheme import Scheme
from dpcore.wire import private_folder, sync_folder, write_kept
from dpcore.wire.locks import Taken, alone

MOST_BYTES = 4 << 20  # of bodies in a file, at least one
_NAME = re.compile(r"([0-9a-f]{16})\.sha256-([0-9a-f]{16})\.arrows")
_log = logging.getLogger(__name__)


def _before(folder: Path, share: Share) -> Path:
    """Where files lie that a collector is to take."""
    return share.place(folder) / "handed"


class Handing:
    """What a collector has for the others of a folder, and they for it; used by one thread at a time."""

    def __init__(self, folder: Path, schemes: Sequence[Scheme], share: Share) -> None:
        self._folder, self._share = folder, share
        self._schemes = {scheme.digest: scheme for scheme in schemes}
        self._unread: set[str] = set()  # that are not taken, and of which that was said
        with words_of(share.place(folder)):
            self._database = connect(share.place(folder))

    def close(self) -> None:
        self._database.close()

    def waiting(self) -> int:
        """Return how many reports are to be handed on."""
        with words_of(self._share.place(self._folder)):
            asked = "select coalesce(sum(reports), 0) from handing where share > 0"
            return int(self._database.execute(asked).fetchone()[0])

    def give(self) -> int:
        """Write what waits for others before their doors, and forget it; return how many files.  Raises StoreError."""
        count, place = 0, self._share.place(self._folder)
        one = alone(place / ".handing.lock", f"what is handed on from {place}", "a collector that hands on", patience=0)
        with suppress(Taken), words_of(place), one:
            asked = "select distinct share, scheme, sent_for from handing where share > 0"
            for owner, digest, sent_for in self._database.execute(asked).fetchall():
                while numbers := self._write(Share(number=owner, of=self._share.of), digest, sent_for):
                    delete_in_turns(self._database, "handing", numbers)
                    count += 1
        return count

    def _write(self, owner: Share, digest: str, sent_for: str) -> list[tuple[int, int]]:
        """Write a file for an owner, and return the number and length of each of its bodies; [] where nothing is left."""
        asked = (
            "select number, body, checksum from handing where share = ? and scheme = ? and sent_for = ? order by number"
        )
        taken, bodies, size = [], [], 0
        for number, body, stored in self._database.execute(asked, (owner.number, digest, sent_for)):
            if checksum(body) == stored:
                taken.append((number, len(body)))
                bodies.append(body)
                size += len(body)
            else:
                self._database.execute("update handing set share = 0 where number = ?", (number,))
                _log.error("the store in %s is damaged: what it kept for another is set aside", self._folder)
            if size >= MOST_BYTES:
                break
        if not taken:
            return []
        content = write_kept(self._schemes[digest], sent_for, bodies)
        place = _before(self._folder, owner)
        for folder in (place.parent.parent, place.parent, place):
            private_folder(folder)
        draft = place / f".{self._share}partial"
        write_durably(draft, content)
        os.replace(draft, place / f"{digest[:16]}.sha256-{hashlib.sha256(content).hexdigest()[:16]}.arrows")
        sync_folder(place)
        return taken

    def given(self) -> Iterator[tuple[Path, Parcel]]:
        """Yield the files that others have written for this one; who has taken one deletes it."""
        place = _before(self._folder, self._share)
        with words_of(self._share.place(self._folder)):
            for path in sorted(place.glob("*.arrows")):
                try:
                    content, named = path.read_bytes(), _NAME.fullmatch(path.name)
                except FileNotFoundError:  # one that ends has just taken it for this one
                    continue
                schemes = [scheme for digest, scheme in self._schemes.items() if named and digest.startswith(named[1])]
                if named and schemes and hashlib.sha256(content).hexdigest().startswith(named[2]):
                    yield path, Parcel(scheme=schemes[0], kind="stream", content=content, is_handed=True)
                elif path.name not in self._unread:
                    self._unread.add(path.name)
                    why = "it is of a scheme that is not served here" if named and not schemes else "it is damaged"
                    _log.error("%s was handed on and is not taken: %s", path, why)

    def left(self) -> list[Share]:
        """Return the other collectors before whose doors files lie."""
        return [other for other in self._share.others() if any(_before(self._folder, other).glob("*.arrows"))]
