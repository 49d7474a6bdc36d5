"""A ledger's lines in a file: locked, chained, counted, and durable when `append` returns.

A ledger begins with two heads of one length, each a line with the number of lines that follow and the end of their chain.  A
line is the chain's value there (SHA-256 of the value before and the text; first 16 hex digits), a space, the text and a line
break.  So no line can be changed, moved, or taken from between others, and none from the end without a head that shows it.

Who appends writes the line, has it on the disk, and only then counts it in the older head, so that one of the two is whole
at any moment.  So the traces of a kill or a power cut differ from damage.  One line more than was counted is a charge that was
never confirmed: it remains if it is whole, with or without its line break, and goes if it is torn.  Anything else is damage
and is refused: fewer lines than were counted, or a head that cannot be read where no line was just being counted.

The lock is on the file itself, by whatever name it was opened: links are other names of one ledger.

Before, a line was its own SHA-256, eight digits of it, and nothing counted them.  Such a ledger is read, and rewritten when it
is first held for a charge.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from dpcore.errors import DPCoreError
from dpcore.wire.files import sync_folder
from dpcore.wire.locks import locked

_MARK = b"ldpflow ledger 2 "
_NEWER = re.compile(rb"ldpflow ledger (?!2 )\d+ ")
_SHOWN = 16  # hex digits of the chain's value in a line
_HEAD = re.compile(_MARK + rb"(\d{12}) ([0-9a-f]{64}) [0-9a-f]{16}\n")
_HEAD_BYTES = len(_MARK) + 12 + 1 + 64 + 1 + _SHOWN + 1
_FIRST = hashlib.sha256(_MARK).hexdigest().encode()  # the chain's value before the first line


class _Refused(Exception):
    """Why a ledger is not used, as the end of a sentence that begins with its name."""


def _damaged(how: str) -> _Refused:
    return _Refused(f"is damaged: {how}; what was spent is unknown")


@dataclass(frozen=True)
class FileStore:
    """The lines of one client's ledger in a file of its own; only its owner can read it.

    path: the file, or a link to it.  Threads and processes exclude one another, whatever they call the file.
    """

    path: Path
    _mine: threading.local = field(default_factory=threading.local, init=False, repr=False, compare=False)

    def lines(self) -> list[str]:
        """Return the lines that were kept; raises DPCoreError where one is missing, was changed or cannot be read."""
        held = self._held()
        with self._named_errors("cannot be read", "what was spent is unknown"):
            texts = _read(self.path) if held is None else held.texts
            return [text.decode() for text in texts]

    def append(self, line: str) -> None:
        """Keep a line without a line break; raises DPCoreError where it cannot be made durable."""
        if "\n" in line:
            raise ValueError("a ledger's line has no line break")
        with self.held(), self._named_errors("cannot be written", "nothing was drawn"):
            held = self._held()
            assert held is not None
            held.add(line.encode())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep everybody else out, by a lock on the file that ends with the process; raises DPCoreError as `lines` does.

        What a crash has left is settled first: a whole line is counted, a torn one removed, and an older ledger rewritten.
        """
        if self._held() is not None:
            yield
            return
        with self._named_errors("cannot be opened for a charge", "nothing was drawn"):
            opened = _hold(self.path)
        try:
            self._mine.held = opened
            yield
        finally:
            self._mine.held = None
            os.close(opened.file)

    def _held(self) -> _Held | None:
        """What this thread holds; others wait at the lock."""
        return getattr(self._mine, "held", None)

    @contextmanager
    def _named_errors(self, problem: str, so: str) -> Iterator[None]:
        """Raise DPCoreError, with the ledger's name, for what goes wrong."""
        try:
            yield
        except _Refused as error:
            raise DPCoreError(f"the ledger {self.path} {error}") from None
        except UnicodeDecodeError:
            raise DPCoreError(f"the ledger {self.path} {_damaged('it holds what is no text')}") from None
        except OSError as error:
            raise DPCoreError(f"the ledger {self.path} {problem} ({error.strerror}); {so}") from None


@dataclass(frozen=True)
class _Content:
    """What a ledger's bytes say.

    chain: the chain's value after the last line, b"" where lines are not chained.  end: where the last whole line ends.
    counted: how many lines a head declares.  is_clean: whether nothing is behind the last line break, nor that missing.
    """

    texts: list[bytes]
    chain: bytes
    end: int
    counted: int
    is_clean: bool


@dataclass
class _Held:
    """A ledger that is open, locked and settled."""

    path: Path
    file: int
    texts: list[bytes]
    chain: bytes
    end: int
    has_failed: bool = False

    def add(self, text: bytes) -> None:
        """Write a line, then count it; it is kept once this has returned.

        After a failure nobody knows what the disk has; who opens the ledger again finds out, and takes a whole line for kept.
        """
        if self.has_failed:
            raise _Refused("could not be written before; nothing was drawn")
        self.has_failed = True
        chain = _next(self.chain, text)
        line = _line(chain, text)
        _write(self.file, line, self.end)
        os.fsync(self.file)
        _count(self.file, len(self.texts) + 1, chain)
        sync_folder(self.path.resolve().parent)  # the name, which somebody may just have made
        self.texts.append(text)
        self.chain, self.end, self.has_failed = chain, self.end + len(line), False


def make_whole(path: Path, data: bytes) -> None:
    """Put a file there, whole, on the disk and for its owner only, unless somebody else has just done so; raises OSError."""
    path = path.resolve()  # a link's target
    draft = _draft(path, data)
    try:
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.unlink(draft)


def _read(path: Path) -> list[bytes]:
    file = locked(path, os.O_RDONLY)
    if file is None:
        return []
    try:
        return _content(file).texts
    finally:
        os.close(file)


def _hold(path: Path) -> _Held:
    """Open a ledger to write to it, making it where there is none, and settle it."""
    while True:
        file = locked(path, os.O_RDWR)
        if file is None:
            make_whole(path, _whole([]))
            continue
        try:
            content = _content(file)
            if content.chain:
                _settle(file, content)
                return _Held(path, file, content.texts, content.chain, content.end)
            _rewrite(path, file, content.texts)
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _settle(file: int, content: _Content) -> None:
    """Count what is there, and remove what was torn: nothing may depend on a line that the disk may not have."""
    if not content.is_clean:
        os.ftruncate(file, content.end)
        _write(file, b"\n", content.end - 1)  # which may have been lost
    if not content.is_clean or content.counted < len(content.texts):
        os.fsync(file)
    if content.counted < len(content.texts):
        _count(file, len(content.texts), content.chain)


def _rewrite(path: Path, file: int, texts: list[bytes]) -> None:
    """Put a chained ledger in place of an older one, whose lock is held; who waits for that finds that the name has moved."""
    before = os.fstat(file)
    if before.st_nlink > 1:
        raise _Refused(
            f"was begun by an older ldpflow and has {before.st_nlink} names (hard links), but only one could be carried "
            "over; remove the others, or make them symbolic links; nothing was drawn"
        )
    path = path.resolve()
    draft = _draft(path, _whole(texts))
    try:
        os.chown(draft, before.st_uid, before.st_gid)
        os.chmod(draft, stat.S_IMODE(before.st_mode))
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    sync_folder(path.parent)


def _draft(path: Path, data: bytes) -> str:
    """A file beside another, with its content on the disk, for its owner only."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(draft)
        raise
    return draft


def _content(file: int) -> _Content:
    """The content of a ledger; raises _Refused where no ledger, killed at any moment, leaves such bytes."""
    size, kind = os.fstat(file).st_size, os.fstat(file).st_mode
    if not stat.S_ISREG(kind):
        raise _Refused("is no file; name one, or one that is not there")
    data, at = b"", 0
    while part := os.pread(file, max(size - at, 1), at):
        data, at = data + part, at + len(part)
    if not data:
        raise _damaged("it is empty, and a ledger never is (delete it if nothing was ever charged to it)")
    if _NEWER.match(data):
        raise _Refused("was written by a newer ldpflow; what was spent is unknown to this one: update ldpflow")
    return _chained(data) if data.startswith(_MARK) else _standing(data)


def _chained(data: bytes) -> _Content:
    heads = [head for at in (0, _HEAD_BYTES) if (head := _head(data[at : at + _HEAD_BYTES])) is not None]
    if not heads:
        raise _damaged("neither of its first two lines is what was written")
    chains, texts, end = [_FIRST], list[bytes](), 2 * _HEAD_BYTES
    rest = data[end:].split(b"\n")
    for line in rest:
        text = line[_SHOWN + 1 :]
        chain = _next(chains[-1], text)
        if line + b"\n" != _line(chain, text):
            break
        chains.append(chain)
        texts.append(text)
        end += len(line) + 1
    counted, torn = max(count for count, _ in heads), rest[len(texts) :]
    if b"\0" in b"".join(torn):  # a hole: of a long line a power cut may leave the end without the beginning
        torn = torn[:1]
    if len(texts) < counted:
        raise _damaged(
            f"it had {counted} charges or more, and line {len(texts) + 3} is missing or is not what was written"
        )
    if len(torn) > 1 or len(texts) > counted + 1:
        raise _damaged(f"line {counted + 3} and what follows is not what was written")
    if len(heads) < 2 and len(texts) == counted:
        raise _damaged("one of its first two lines is not what was written")
    if any(chains[count] != chain for count, chain in heads):
        raise _damaged("its lines are not those that were counted")
    return _Content(texts, chains[-1], end, counted, is_clean=torn == [b""])


def _standing(data: bytes) -> _Content:
    """The lines of an older ledger: the last may have been torn, or have lost its line break alone."""
    *lines, last = data.split(b"\n")
    whole = [*lines, last] if last == _stood(last[9:]) else lines
    if not whole or any(line != _stood(line[9:]) for line in lines):
        raise _damaged("it holds what no ledger wrote")
    return _Content([line[9:] for line in whole], b"", 0, 0, is_clean=False)


def _head(line: bytes) -> tuple[int, bytes] | None:
    """The count and chain in a head, None where it cannot be read."""
    match = _HEAD.fullmatch(line)
    if match is None or line != _head_of(int(match[1]), match[2]):
        return None
    return int(match[1]), match[2]


def _head_of(count: int, chain: bytes) -> bytes:
    head = b"%s%012d %s" % (_MARK, count, chain)
    return b"%s %s\n" % (head, _sha256(head)[:_SHOWN])


def _whole(texts: list[bytes]) -> bytes:
    """A settled ledger of these lines."""
    chains, lines = [_FIRST], b""
    for text in texts:
        chains.append(_next(chains[-1], text))
        lines += _line(chains[-1], text)
    counts = sorted((len(texts), max(len(texts) - 1, 0)), key=lambda count: count % 2)
    return b"".join(_head_of(count, chains[count]) for count in counts) + lines


def _count(file: int, count: int, chain: bytes) -> None:
    """Write the head of a count in place of the older one, and have it on the disk."""
    _write(file, _head_of(count, chain), count % 2 * _HEAD_BYTES)
    os.fsync(file)


def _next(chain: bytes, text: bytes) -> bytes:
    return _sha256(b"%s %s" % (chain, text))


def _line(chain: bytes, text: bytes) -> bytes:
    return b"%s %s\n" % (chain[:_SHOWN], text)


def _stood(text: bytes) -> bytes:
    """A line of an older ledger."""
    return b"%s %s" % (_sha256(text)[:8], text)


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def _write(file: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(file, data, at)
        data, at = data[written:], at + written
