"""Locks of the operating system: they end with the process that holds them, however it ends, and no clock decides.

A lock is on a file itself, by whatever name it was opened.  `alone` keeps one in a file of its own, in which who holds it has
written who that is: the program and its command, or the run's name, and never its arguments, which may hold what nobody is to
read.  A waiting process reports the holder once, after a second, and polls: signals and time limits end the waiting.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from dpcore.errors import DPCoreError

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5  # seconds
_UNSAID = 1.0  # seconds that are waited without a word
_SHOWN = 200  # bytes that are read of a holder in a file


class Taken(DPCoreError):
    """Somebody else has the lock, and had it until patience ended."""


@contextmanager
def alone(file: Path, resource: str, holder: str, *, patience: float | None = None) -> Iterator[None]:
    """Keep everybody else out, threads of this process too, until the end.

    file: the lock's own, made with its folders for its owner alone, and removed at the end; one that a killed process has left
    locks nobody out. resource: the locked thing, and holder: the program that locks it, as messages name them. patience:
    seconds; None: no end.  Raises Taken, which names the holder, and OSError where the file cannot be made.
    """

    def held() -> str:
        return f"{resource} is held by {_holder(file)}"

    for _ in attempts(patience, lambda: f"{held()}; waiting until that has ended"):
        file.parent.mkdir(parents=True, exist_ok=True)
        with suppress(BlockingIOError):
            if (handle := locked(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, waits=False)) is not None:
                break
    else:
        raise Taken(f"{held()}; try again when that has ended, or end it")
    try:
        with suppress(OSError):  # no room: the lock is held all the same
            os.ftruncate(handle, 0)
            since = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
            os.pwrite(handle, f"process {os.getpid()} ({holder}), since {since}\n".encode(), 0)
        yield
    finally:
        with suppress(OSError):
            file.unlink()  # while it is held: who has opened it meanwhile sees that the name has gone, and opens it anew
        os.close(handle)


def locked(path: Path, flags: int, *, waits: bool = True) -> int | None:
    """Open a file and lock it, shared or, for who may write, alone; None where there is none.

    A lock is on the file, not on its name: one that was put in place of another, or removed, while this waited is opened anew.
    Raises BlockingIOError where another has it and this does not wait, and OSError.
    """
    import fcntl  # POSIX only, as nothing else here is

    how = (fcntl.LOCK_EX if flags & os.O_RDWR else fcntl.LOCK_SH) | (0 if waits else fcntl.LOCK_NB)
    while True:
        try:
            file = os.open(path, flags | os.O_NONBLOCK, 0o600)  # not to wait for who writes into a pipe
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, how)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def attempts(patience: float | None, waiting: Callable[[], str]) -> Iterator[None]:
    """Let the caller try, and again at irregular intervals until patience ends; None: it does not.

    waiting: the message, shown once after a second: who holds the lock.
    """
    began, pause, has_said = time.monotonic(), _FIRST_PAUSE, False
    while True:
        yield
        waited = time.monotonic() - began
        left = _LONGEST_PAUSE if patience is None else patience - waited
        if left <= 0:
            return
        if waited >= _UNSAID and not has_said:
            has_said = True
            logging.getLogger("ldpflow").warning("%s", waiting())
        # Nothing private hangs on this jitter, so the clock's last digits do.
        time.sleep(min(pause * (0.5 + (time.perf_counter_ns() % 1009) / 1009), left))
        pause = min(2 * pause, _LONGEST_PAUSE)


def _holder(file: Path) -> str:
    """Who has written that it holds a lock; it may just have ended, or not have written yet."""
    try:
        with open(file, "rb") as held:
            holder = held.read(_SHOWN).decode(errors="replace").strip()
    except OSError:
        holder = ""
    return holder if holder.isprintable() and holder else "another process"
