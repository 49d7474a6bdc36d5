"""Transfer of reports between collectors that share a folder: each report goes to its owner, through a file.

The collector that receives a report stores and answers it (`database`).  A moment later it writes the report into a file in the
owner's folder `handed`, sorted by ids and named by the hash of its content, and deletes its own copy.  The owner processes the
file like an upload, checks whether the ids are new, and deletes the file.  After a kill between two of these steps, a file is
written or processed again; its reports then count as replayed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dpcore.collector.store.database import checksum, connect, delete_in_turns, store_errors
from dpcore.collector.store.intake import Upload
from dpcore.collector.store.report_ids import Share
from dpcore.collector.store.sealing import write_durably
from dpcore.protocol.scheme import Scheme
from dpcore.wire import private_folder, sync_folder, write_kept
from dpcore.wire.locks import Taken, alone

MOST_BYTES = 4 << 20  # bytes of bodies in a file, which has at least one body
_NAME = re.compile(r"([0-9a-f]{16})\.sha256-([0-9a-f]{16})\.arrows")
_log = logging.getLogger(__name__)


def _inbox(folder: Path, share: Share) -> Path:
    """Return the folder of files that other collectors wrote for a collector."""
    return share.place(folder) / "handed"


class Transfer:
    """Sends reports to the other collectors of a folder and receives theirs; used by one thread at a time."""

    def __init__(self, folder: Path, schemes: Sequence[Scheme], share: Share) -> None:
        self._folder, self._share = folder, share
        self._schemes = {scheme.digest: scheme for scheme in schemes}
        self._unread: set[str] = set()  # rejected files that have been logged
        with store_errors(share.place(folder)):
            self._database = connect(share.place(folder))

    def close(self) -> None:
        self._database.close()

    def waiting(self) -> int:
        """Return the number of reports that wait for transfer."""
        with store_errors(self._share.place(self._folder)):
            asked = "select coalesce(sum(reports), 0) from handing where share > 0"
            return int(self._database.execute(asked).fetchone()[0])

    def send(self) -> int:
        """Write files for the owners of waiting reports, delete the reports here, and return the number of files.

        Raises StoreError.
        """
        count, place = 0, self._share.place(self._folder)
        one = alone(place / ".handing.lock", f"what is handed on from {place}", "a collector that hands on", patience=0)
        with suppress(Taken), store_errors(place), one:
            asked = "select distinct share, scheme, sent_for from handing where share > 0"
            for owner, digest, sent_for in self._database.execute(asked).fetchall():
                while numbers := self._write(Share(number=owner, count=self._share.count), digest, sent_for):
                    delete_in_turns(self._database, "handing", numbers)
                    count += 1
        return count

    def _write(self, owner: Share, digest: str, sent_for: str) -> list[tuple[int, int]]:
        """Write a file for an owner; return (number, length) of each of its bodies, or [] if there are none."""
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
                _log.error("the store in %s is damaged: a body for another collector is set aside", self._folder)
            if size >= MOST_BYTES:
                break
        if not taken:
            return []
        content = write_kept(self._schemes[digest], sent_for, bodies)
        place = _inbox(self._folder, owner)
        for folder in (place.parent.parent, place.parent, place):
            private_folder(folder)
        draft = place / f".{self._share}partial"
        write_durably(draft, content)
        os.replace(draft, place / f"{digest[:16]}.sha256-{hashlib.sha256(content).hexdigest()[:16]}.arrows")
        sync_folder(place)
        return taken

    def received(self) -> Iterator[tuple[Path, Upload]]:
        """Yield the files that other collectors wrote for this one; the caller deletes each file after processing it."""
        place = _inbox(self._folder, self._share)
        with store_errors(self._share.place(self._folder)):
            for path in sorted(place.glob("*.arrows")):
                try:
                    content, named = path.read_bytes(), _NAME.fullmatch(path.name)
                except FileNotFoundError:  # a stopping collector has just processed it
                    continue
                schemes = [scheme for digest, scheme in self._schemes.items() if named and digest.startswith(named[1])]
                if named and schemes and hashlib.sha256(content).hexdigest().startswith(named[2]):
                    yield path, Upload(scheme=schemes[0], kind="stream", content=content, is_handed=True)
                elif path.name not in self._unread:
                    self._unread.add(path.name)
                    reason = "its scheme is not served here" if named and not schemes else "it is damaged"
                    _log.error("%s is not processed: %s", path, reason)

    def left(self) -> list[Share]:
        """Return the other collectors that have unprocessed files."""
        return [other for other in self._share.others() if any(_inbox(self._folder, other).glob("*.arrows"))]
