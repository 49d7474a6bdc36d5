"""From the store into the landing folder: Parquet files that rounds collect, each report in exactly one.

A segment's file goes through four steps: its arrivals are named in the store; its bytes are written beside their place and
synced; they and their hash, which is the file's name, are kept in the arrivals' stead; the file is moved to its place.  After a
kill the next collector reads which step was the last: with the bytes still beside their place they are written anew; with
neither them nor the file, a round has counted it and somebody has taken it away.  One collector seals at a time.

A file is sorted by the reports' ids, whatever came first, and with it goes all that the store knows of the order.  The store
keeps a file's bytes as long as the file stands, so that one that is damaged can be written again.
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
    transaction,
    words_of,
)
from dpcore.collector.store.partition import WHOLE, Share
from dpcore.errors import StoreError
from dpcore.protocol.scheme import Scheme
from dpcore.wire import private_file, private_folder, sync_folder, write_segment
from dpcore.wire.inbox import sealed_name
from dpcore.wire.locks import Taken, alone

MOST_REPORTS = 131_072  # in a file: what a round aggregates at a time
SECONDS = 10.0  # that sealing goes on before what else is to be done has its turn; what is left stays in the store
_PIECE = 1 << 24  # bytes of a file in one row of the store
_HURRY, _MOST_TO_DROP = 32_768, 8  # reports between two looks, beyond which the bodies of so many segments may wait
_AT_ONCE = 64  # files between two looks at what is to be sealed first
_ALONE = 60  # times longer do counts of refusals wait, which go with the next reports of their scheme
_log = logging.getLogger(__name__)


def landing(folder: Path, digest: str) -> Path:
    """Return the folder into which a scheme's reports are sealed, which `ldpflow collect` reads."""
    return folder / "reports" / digest[:16]


class Sealer:
    """Seals what the collectors of a store have taken; used by one thread at a time."""

    def __init__(self, folder: Path, seconds: float, share: Share = WHOLE) -> None:
        """seconds: how long reports wait for company before they are sealed.  share: whose store of the folder it is."""
        self._folder, self._place, self._share = folder, share.place(folder), share
        self._seconds = seconds
        self._to_drop: list[int] = []  # segments whose arrivals' bodies are still there
        self._last = 0  # the number of the last arrival when this was last looked at
        self._waiting_since: dict[tuple[str, str], float] = {}
        with words_of(self._place):
            self._database = connect(self._place)

    def close(self) -> None:
        self._database.close()

    def waiting(self) -> int:
        """Return how many reports are in the store and in no file."""
        return self._reports("is null")

    def set_aside(self) -> int:
        """Return how many reports were taken whose bytes have changed in the store since."""
        with words_of(self._place):
            asked = "select coalesce(sum(reports), 0) from handing where share = 0"  # of those that others own
            return self._reports("= 0") + int(self._database.execute(asked).fetchone()[0])

    def _reports(self, segment: str) -> int:
        with words_of(self._place):
            counted = self._database.execute(f"select coalesce(sum(reports), 0) from arrivals where segment {segment}")
            return int(counted.fetchone()[0])

    def mend(self) -> None:
        """Finish what a kill left, and write files anew that are not what was written; raises StoreError where it cannot."""
        with suppress(Taken), words_of(self._place), self._alone():
            self._finish_open()
            for number, digest, file in self._segments("sealed"):
                self._mend(number, digest, file)
            self._forget_what_is_left()

    def seal(self, everything: bool = False, seconds: float = SECONDS) -> int:
        """Seal what has waited long enough or makes a whole file, and return how many files there are more.

        The rounds of the most reports come first, so that nobody who names many rounds keeps those of others waiting.
        everything: whether it has waited or not.  seconds: after which no other file is begun.  Raises StoreError; what is not
        sealed then stays in the store.  Where another collector is sealing, `everything` waits up to as many seconds until it
        has ended, for it may have looked before the last report came; otherwise nothing is sealed now.
        """
        count = 0
        with suppress(Taken), words_of(self._place), self._alone(patience=seconds if everything else 0):
            self._finish_open()
            for chosen in self._turns(everything, time.monotonic() + seconds):
                self._finish(*self._open(*chosen), None)
                count += 1
            self._forget()
            self._forget_closed()
            is_hurried = self._came() > _HURRY and not everything
            while len(self._to_drop) > (_MOST_TO_DROP if is_hurried else 0):
                self._drop_bodies(self._to_drop.pop(0))
        return count

    def checkpoint(self) -> None:
        """Bring the write-ahead log over, so that no request has to; nobody waits for it.

        Where everything is sealed the log is emptied: it holds, in order, what came.
        """
        with words_of(self._place):
            kind = "passive" if self.waiting() else "truncate"
            self._database.execute(f"pragma wal_checkpoint({kind})").fetchall()

    def _turns(self, everything: bool, ends: float) -> Iterator[tuple[str, str]]:
        """Yield the scheme and round of every segment to be made, one after another, until the time is up."""
        while due := self._due(everything):
            for chosen in due[:_AT_ONCE]:
                yield chosen
                if time.monotonic() >= ends:
                    return

    def _due(self, everything: bool) -> list[tuple[str, str]]:
        """The schemes and rounds of which a segment is to be made, those of the most reports first."""
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
        take_counts_along = {digest for digest, sent_for in due if waiting[digest, sent_for]}  # their first file does
        due = [key for key in due if waiting[key] or key[0] not in take_counts_along]
        return sorted(due, key=lambda key: -waiting[key])

    def _open(self, digest: str, sent_for: str) -> tuple[int, str]:
        """Name a segment's arrivals, and take along what was refused under its scheme."""
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
        """Leave out of a segment what does not check; outside of a transaction, for nobody is to wait for it."""
        asked = "select number, body, checksum from bodies join arrivals using (number) where segment = ?"
        damaged = [
            number for number, body, stored in self._database.execute(asked, (segment,)) if checksum(body) != stored
        ]
        for number in damaged:
            with transaction(self._database) as database:
                database.execute("update arrivals set segment = 0 where number = ?", (number,))
            _log.error("the store in %s is damaged: arrival %d does not check and is set aside", self._place, number)

    def _finish_open(self) -> None:
        for number, digest, file in self._segments("open"):
            place = landing(self._folder, digest)
            if file is None or self._draft(place, number).exists():
                self._finish(number, digest, file)
            else:  # it was moved to its place; if it is not there, it was counted and taken away
                self._mark(number, "sealed")

    def _finish(self, number: int, digest: str, name: str | None) -> None:
        """Write a segment's file and move it to its place; name: where its bytes are kept already."""
        place = landing(self._folder, digest)
        for folder in (place.parent, place):
            private_folder(folder)
        draft = self._draft(place, number)
        if name is None or not self._is_kept(number):  # or format 1 named it, and did not move it to its place
            self._set_aside_damaged(number)
            content = self._content(number, digest)
            name = sealed_name(number, content)
            write_durably(draft, content)
            self._keep(number, name, content)
        else:
            write_durably(draft, self._kept(number))
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

    def _keep(self, number: int, name: str, content: bytes) -> None:
        """Keep a file's name and bytes, and forget in which order came what it holds."""
        pieces = [content[start : start + _PIECE] for start in range(0, len(content), _PIECE)]
        with transaction(self._database) as database:
            database.execute("update segments set file = ? where number = ?", (name, number))
            rows = [(number, place, piece) for place, piece in enumerate(pieces)]
            database.executemany("insert into contents values (?, ?, ?)", rows)
            forget_order(database, number)

    def _came(self) -> int:
        """How many reports have come since this was last asked."""
        asked = "select coalesce(sum(reports), 0), max(number) from arrivals where number > ?"
        came, last = self._database.execute(asked, (self._last,)).fetchone()
        self._last = last or self._last
        return int(came)

    def _drop_bodies(self, number: int) -> None:
        """Delete the bodies of a segment's arrivals."""
        asked = "select number, length(body) from bodies join arrivals using (number) where segment = ?"
        delete_in_turns(self._database, "bodies", self._database.execute(asked, (number,)).fetchall())

    def _kept(self, number: int) -> bytes:
        asked = "select content from contents where segment = ? order by piece"
        return b"".join(piece for (piece,) in self._database.execute(asked, (number,)))

    def _is_kept(self, number: int) -> bool:
        return self._database.execute("select 1 from contents where segment = ?", (number,)).fetchone() is not None

    def _mend(self, number: int, digest: str, file: str) -> None:
        path = landing(self._folder, digest) / file
        if not path.exists():
            return
        for target in (path, path.parent, path.parent.parent):  # an older ldpflow let others look
            target.chmod(target.stat().st_mode & ~0o077)
        content, is_kept = path.read_bytes(), self._is_kept(number)
        if hashlib.sha256(content).hexdigest()[:16] in file:
            if not is_kept:  # format 1 sealed it
                self._keep(number, file, content)
            return
        content = self._kept(number) if is_kept else self._content(number, digest, as_they_came=True)
        if sealed_name(number, content) != file:
            raise StoreError(
                f"{path} is damaged, and so is what the store keeps of it, or another pyarrow wrote it; put back a copy"
            )
        if not is_kept:
            self._keep(number, file, content)
        draft = self._draft(path.parent, number)
        write_durably(draft, content)
        os.replace(draft, path)
        sync_folder(path.parent)
        _log.warning("%s was damaged and has been written anew", path)

    def _forget_what_is_left(self) -> None:
        """Forget what a kill, or a store of format 1, left of what has been sealed: its order, and its arrivals' bodies."""
        sealed = "join arrivals using (number) join segments on segments.number = segment where state <> 'open'"
        asked = f"select segment from ids {sealed} group by segment having count(*) > 1"
        for (number,) in self._database.execute(asked).fetchall():
            with transaction(self._database) as database:
                forget_order(database, number)
        for (number,) in self._database.execute(f"select distinct segment from bodies {sealed}").fetchall():
            self._drop_bodies(number)

    def _forget(self) -> None:
        """Forget what files held that have been taken away; their ids stay."""
        for number, digest, file in self._segments("sealed"):
            if (landing(self._folder, digest) / file).exists():
                continue
            with transaction(self._database) as database:
                database.execute("delete from contents where segment = ?", (number,))
                database.execute("update segments set state = 'gone' where number = ?", (number,))
            self._drop_bodies(number)  # that a store of format 1 has

    def _forget_closed(self) -> None:
        """Delete the ids of closed rounds, those of a segment at a time; what still comes to lie there is looked for once."""
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
        """Keep other collectors from sealing; raises Taken where one is at it for longer than `patience` seconds."""
        held = f"what came to {self._place}"
        return alone(self._place / ".sealing.lock", held, "a collector that seals", patience=patience)


@lru_cache(maxsize=16)
def _parsed(canonical: str) -> Scheme:
    return Scheme.from_toml(canonical)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file for its owner alone, whose bytes and name are on the disk on return; a failed write leaves nothing."""
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
