"""A ledger's lines in a file: appended, checked, and durable when `append` returns.

A line is the first eight hex digits of its SHA-256, a space, the text and a line break.  A last line without its line break was
torn by a crash before anybody was told of it, and is dropped; any other line that does not check means that the file was
damaged, and is refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpcore.errors import DPCoreError
from dpcore.wire.files import sync_folder


@dataclass(frozen=True)
class FileStore:
    """The lines of one client's ledger in a file of its own; only its owner can read it."""

    path: Path

    def lines(self) -> list[str]:
        """Return the lines that were kept; raises DPCoreError where one was changed or the file cannot be read."""
        try:
            whole = self.path.read_bytes().decode("utf-8") if self.path.exists() else ""
            lines = whole.split("\n")[:-1]  # what follows the last line break was torn
            texts = [line[9:] for line in lines]
            if all(line == _checked(text) for line, text in zip(lines, texts, strict=True)):
                return texts
        except (OSError, UnicodeDecodeError):
            pass
        raise DPCoreError(f"the ledger {self.path} is damaged or cannot be read; what was spent is unknown") from None

    def append(self, line: str) -> None:
        """Keep a line; raises DPCoreError where it cannot be made durable."""
        try:
            with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
                file.seek(file.read().rfind(b"\n") + 1)
                file.truncate()
                file.write(_checked(line).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self.path.parent)
        except OSError as error:
            raise DPCoreError(
                f"the ledger {self.path} cannot be written ({error.strerror}); nothing was drawn"
            ) from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out; the lock is a file beside the ledger and ends with the process."""
        import fcntl  # POSIX only, as nothing else here is

        beside = self.path.with_name(f".{self.path.name}.lock")
        try:
            file = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DPCoreError(
                f"the ledger {self.path} cannot be locked ({error.strerror}); nothing was drawn"
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)


def _checked(text: str) -> str:
    return f"{hashlib.sha256(text.encode()).hexdigest()[:8]} {text}"
