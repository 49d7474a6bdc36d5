"""Sealing: from the store into Parquet files in the landing folder, each report in exactly one file.

A file (segment) takes four steps.  The store assigns arrivals to it; its bytes are written to a draft in the landing folder and
synced; the store replaces the arrivals by these bytes and their hash, which is the file's name; the draft is renamed.  After a
kill, the next collector finds the last completed step.  If the draft exists, it is written again.  If neither draft nor file
exists, a round has counted the file and it was deleted.  One collector seals at a time.

A file is sorted by report ids, and the store then deletes the order of arrival.  The store has a copy of a file's bytes as long
as the file exists, so a damaged file can be restored.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from functools import lru_cache
from pathlib import Path

from dpcore.collector.store.database import (
    TURN,
    checksum,
    connect,
    delete_in_turns,
    forget_order,
    store_errors,
    transaction,
)
from dpcore.collector.store.report_ids import WHOLE, Share
from dpcore.errors import StoreError
from dpcore.protocol.scheme import Scheme
from dpcore.wire import private_file, private_folder, sync_folder, write_segment
from dpcore.wire.inbox import sealed_name
from dpcore.wire.locks import Taken, alone

MOST_REPORTS = 131_072  # reports in a file, the block size of a round's aggregation
SECONDS = 10.0  # limit of one sealing run; the rest stays in the store for the next run
_PIECE = 1 << 24  # bytes of a file in one row of the store
_HURRY, _MOST_TO_DROP = 32_768, 8  # above so many new reports per run, the bodies of so many segments are deleted later
_AT_ONCE = 64  # files between two updates of the queue
_ALONE = 60  # factor by which refusal counts without reports wait longer
_log = logging.getLogger(__name__)


def landing(folder: Path, digest: str) -> Path:
    """Return the landing folder of a scheme, which `ldpflow collect` reads."""
    return folder / "reports" / digest[:16]


class Sealer:
    """Seals the accepted reports of a store; used by one thread at a time."""

    def __init__(self, folder: Path, seconds: float, share: Share = WHOLE) -> None:
        """seconds: how long reports wait for further reports before they are sealed.  share: the share that owns the store."""
        self._folder, self._place, self._share = folder, share.place(folder), share
        self._seconds = seconds
        self._to_drop: list[int] = []  # sealed segments whose bodies are not deleted yet
        self._last = 0  # number of the last arrival at the previous run
        self._waiting_since: dict[tuple[str, str], float] = {}
        with store_errors(self._place):
            self._database = connect(self._place)

    def close(self) -> None:
        self._database.close()

    def waiting(self) -> int:
        """Return the number of reports that are not sealed yet."""
        return self._reports("is null")

    def set_aside(self) -> int:
        """Return the number of accepted reports that were damaged in the store."""
        with store_errors(self._place):
            asked = "select coalesce(sum(reports), 0) from handing where share = 0"  # damaged reports of other owners
            return self._reports("= 0") + int(self._database.execute(asked).fetchone()[0])

    def _reports(self, segment: str) -> int:
        with store_errors(self._place):
            counted = self._database.execute(f"select coalesce(sum(reports), 0) from arrivals where segment {segment}")
            return int(counted.fetchone()[0])

    def mend(self) -> None:
        """Complete what a kill interrupted, and restore damaged files; raises StoreError if a file cannot be restored."""
        with suppress(Taken), store_errors(self._place), self._alone():
            self._finish_open()
            for number, digest, file in self._segments("sealed"):
                self._mend(number, digest, file)
            self._forget_what_is_left()

    def seal(self, everything: bool = False, seconds: float = SECONDS) -> int:
        """Seal reports that have waited long enough or fill a file, and return the number of new files.

        Rounds with the most reports come first, so a client that names many rounds does not delay others.

        everything: also seal reports that have not waited.  seconds: no file is begun after this time.  If another collector is
        sealing, `everything` waits up to `seconds` for it, since it may have started before the last report arrived; otherwise
        nothing is sealed in this run.  Raises StoreError; unsealed reports stay in the store.
        """
        count = 0
        with suppress(Taken), store_errors(self._place), self._alone(patience=seconds if everything else 0):
            self._finish_open()
            for chosen in self._turns(everything, time.monotonic() + seconds):
                self._finish(*self._open(*chosen), None)
                count += 1
            self._forget()
            self._forget_closed()
            is_hurried = self._arrived() > _HURRY and not everything
            while len(self._to_drop) > (_MOST_TO_DROP if is_hurried else 0):
                self._drop_bodies(self._to_drop.pop(0))
        return count

    def checkpoint(self) -> None:
        """Checkpoint the write-ahead log in this thread, so that no request has to.

        When everything is sealed the log is truncated, because it contains the reports in order of arrival.
        """
        with store_errors(self._place):
            kind = "passive" if self.waiting() else "truncate"
            self._database.execute(f"pragma wal_checkpoint({kind})").fetchall()

    def _turns(self, everything: bool, ends: float) -> Iterator[tuple[str, str]]:
        """Yield the scheme and round of each due segment until the time is up."""
        while due := self._due(everything):
            for chosen in due[:_AT_ONCE]:
                yield chosen
                if time.monotonic() >= ends:
                    return

    def _due(self, everything: bool) -> list[tuple[str, str]]:
        """Return the schemes and rounds that are due, those with the most reports first."""
        waiting = dict.fromkeys(self._database.execute("select scheme, '' from refused where count > 0"), 0)
        asked = "select scheme, sent_for, sum(reports) from arrivals where segment is null group by scheme, sent_for"
        waiting |= {(digest, sent_for): reports for digest, sent_for, reports in self._database.execute(asked)}
        now = time.monotonic()
        self._waiting_since = {key: self._waiting_since.get(key, now) for key in waiting}
        due = []
        for key, reports in waiting.items():
            patience = self._seconds if reports else _ALONE * self._seconds
            if everything or reports >= MOST_REPORTS or now - self._waiting_since[key] >= patience:
                due.append(key)
        with_reports = {
            digest for digest, sent_for in due if waiting[digest, sent_for]
        }  # their first file has the counts
        due = [key for key in due if waiting[key] or key[0] not in with_reports]
        return sorted(due, key=lambda key: -waiting[key])

    def _open(self, digest: str, sent_for: str) -> tuple[int, str]:
        """Create a segment: assign arrivals and the scheme's refusal counts to it."""
        with transaction(self._database) as database:
            refused = dict(database.execute("select reason, count from refused where scheme = ?", (digest,)))
            database.execute("delete from refused where scheme = ?", (digest,))
            row = (digest, sent_for, json.dumps(refused))
            number = database.execute(
                "insert into segments (scheme, sent_for, refused) values (?, ?, ?)", row
            ).lastrowid
            asked = "select number, reports from arrivals where segment is null and scheme = ? and sent_for = ? order by number"
            taken: list[int] = []
            total = 0
            for arrival, reports in database.execute(asked, (digest, sent_for)):
                if total and total + reports > MOST_REPORTS:
                    break
                taken.append(arrival)
                total += reports
            database.executemany(
                "update arrivals set segment = ? where number = ?", [(number, arrival) for arrival in taken]
            )
        return int(number or 0), digest

    def _set_aside_damaged(self, segment: int) -> None:
        """Remove damaged arrivals from a segment; reads outside of a transaction, so that requests do not wait."""
        asked = "select number, body, checksum from bodies join arrivals using (number) where segment = ?"
        damaged = [
            number for number, body, stored in self._database.execute(asked, (segment,)) if checksum(body) != stored
        ]
        for number in damaged:
            with transaction(self._database) as database:
                database.execute("update arrivals set segment = 0 where number = ?", (number,))
            _log.error(
                "the store in %s is damaged: arrival %d fails its checksum and is set aside", self._place, number
            )

    def _finish_open(self) -> None:
        for number, digest, file in self._segments("open"):
            place = landing(self._folder, digest)
            if file is None or self._draft(place, number).exists():
                self._finish(number, digest, file)
            else:  # the draft was renamed; if the file is missing, a round has counted it and it was deleted
                self._mark(number, "sealed")

    def _finish(self, number: int, digest: str, name: str | None) -> None:
        """Write a segment's file and rename it; name: the file's name if the store already has its bytes."""
        place = landing(self._folder, digest)
        for folder in (place.parent, place):
            private_folder(folder)
        draft = self._draft(place, number)
        if name is None or not self._is_stored(number):  # or format 1 named it without renaming the draft
            self._set_aside_damaged(number)
            content = self._content(number, digest)
            name = sealed_name(number, content)
            write_durably(draft, content)
            self._store_bytes(number, name, content)
        else:
            write_durably(draft, self._stored_bytes(number))
        os.replace(draft, place / name)
        sync_folder(place)
        self._mark(number, "sealed")
        self._to_drop.append(number)

    def _content(self, number: int, digest: str, *, as_they_came: bool = False) -> bytes:
        asked = "select sent_for, refused from segments where number = ?"
        sent_for, refused = self._database.execute(asked, (number,)).fetchone()
        asked = "select body from bodies join arrivals using (number) where segment = ? order by number"
        bodies = (body for (body,) in self._database.execute(asked, (number,)))
        segment = "" if as_they_came else f"{self._share}{number:08d}"
        content = sent_for, bodies, json.loads(refused)
        return write_segment(self._scheme(digest), *content, segment=segment, as_they_came=as_they_came)

    def _store_bytes(self, number: int, name: str, content: bytes) -> None:
        """Store a file's name and bytes, and delete the order of arrival of its reports."""
        pieces = [content[start : start + _PIECE] for start in range(0, len(content), _PIECE)]
        with transaction(self._database) as database:
            database.execute("update segments set file = ? where number = ?", (name, number))
            rows = [(number, place, piece) for place, piece in enumerate(pieces)]
            database.executemany("insert into contents values (?, ?, ?)", rows)
            forget_order(database, number)

    def _arrived(self) -> int:
        """Return the number of reports since the last call."""
        asked = "select coalesce(sum(reports), 0), max(number) from arrivals where number > ?"
        arrived, last = self._database.execute(asked, (self._last,)).fetchone()
        self._last = last or self._last
        return int(arrived)

    def _drop_bodies(self, number: int) -> None:
        """Delete the bodies of a segment's arrivals."""
        asked = "select number, length(body) from bodies join arrivals using (number) where segment = ?"
        delete_in_turns(self._database, "bodies", self._database.execute(asked, (number,)).fetchall())

    def _stored_bytes(self, number: int) -> bytes:
        asked = "select content from contents where segment = ? order by piece"
        return b"".join(piece for (piece,) in self._database.execute(asked, (number,)))

    def _is_stored(self, number: int) -> bool:
        return self._database.execute("select 1 from contents where segment = ?", (number,)).fetchone() is not None

    def _mend(self, number: int, digest: str, file: str) -> None:
        path = landing(self._folder, digest) / file
        if not path.exists():
            return
        for target in (path, path.parent, path.parent.parent):  # older versions of ldpflow wrote readable files
            target.chmod(target.stat().st_mode & ~0o077)
        content, is_stored = path.read_bytes(), self._is_stored(number)
        if hashlib.sha256(content).hexdigest()[:16] in file:
            if not is_stored:  # format 1 sealed it
                self._store_bytes(number, file, content)
            return
        content = self._stored_bytes(number) if is_stored else self._content(number, digest, as_they_came=True)
        if sealed_name(number, content) != file:
            raise StoreError(
                f"{path}: the file is damaged and the store cannot restore it (its copy is damaged too, or another version of "
                "pyarrow wrote the file); restore the file from a backup"
            )
        if not is_stored:
            self._store_bytes(number, file, content)
        draft = self._draft(path.parent, number)
        write_durably(draft, content)
        os.replace(draft, path)
        sync_folder(path.parent)
        _log.warning("%s was damaged and has been restored", path)

    def _forget_what_is_left(self) -> None:
        """Delete the arrival order and bodies of sealed segments that a kill or format 1 left behind."""
        sealed = "join arrivals using (number) join segments on segments.number = segment where state <> 'open'"
        asked = f"select segment from ids {sealed} group by segment having count(*) > 1"
        for (number,) in self._database.execute(asked).fetchall():
            with transaction(self._database) as database:
                forget_order(database, number)
        for (number,) in self._database.execute(f"select distinct segment from bodies {sealed}").fetchall():
            self._drop_bodies(number)

    def _forget(self) -> None:
        """Delete the stored bytes of files that no longer exist; their ids remain."""
        for number, digest, file in self._segments("sealed"):
            if (landing(self._folder, digest) / file).exists():
                continue
            with transaction(self._database) as database:
                database.execute("delete from contents where segment = ?", (number,))
                database.execute("update segments set state = 'gone' where number = ?", (number,))
            self._drop_bodies(number)  # only format 1 still has them

    def _forget_closed(self) -> None:
        """Delete the ids of closed rounds, one segment per statement; each round is done once."""
        asked = "select scheme, sent_for from closed where not is_done"
        for round_ in self._database.execute(asked).fetchall():
            for table in ("ids", "heard"):
                asked = f"select number from {table} join arrivals using (number) where scheme = ? and sent_for = ?"
                for row in self._database.execute(asked, round_).fetchall():
                    self._database.execute(f"delete from {table} where number = ?", row)
                    time.sleep(TURN)
            self._database.execute("update closed set is_done = 1 where scheme = ? and sent_for = ?", round_)

    def _segments(self, state: str) -> list[tuple[int, str, str]]:
        asked = "select number, scheme, file from segments where state = ? order by number"
        return self._database.execute(asked, (state,)).fetchall()

    def _mark(self, number: int, state: str) -> None:
        with transaction(self._database) as database:
            database.execute("update segments set state = ? where number = ?", (state, number))

    def _scheme(self, digest: str) -> Scheme:
        (canonical,) = self._database.execute("select canonical from schemes where digest = ?", (digest,)).fetchone()
        return _parsed(canonical)

    def _draft(self, place: Path, number: int) -> Path:
        return place / f".{self._share}{number:08d}.partial"

    def _alone(self, patience: float = 0) -> AbstractContextManager[None]:
        """Lock sealing against other collectors; raises Taken after waiting `patience` seconds."""
        resource = f"what came to {self._place}"
        return alone(self._place / ".sealing.lock", resource, "a collector that seals", patience=patience)


@lru_cache(maxsize=16)
def _parsed(canonical: str) -> Scheme:
    return Scheme.from_toml(canonical)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file with mode 0600 and sync its bytes and name to the disk; a failed write leaves no file."""
    try:
        private_file(path)
        with open(path, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise
