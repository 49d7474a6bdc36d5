"""Files here and elsewhere: a file appears whole under its name or not at all.

On this machine it is written beside its place and moved there; in an object store it is made here and put there in one piece.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from dpcore.errors import DPCoreError

_URL = re.compile(r"([a-z][a-z0-9+]+):/+(.*)")  # `Path` makes one slash of the two


def location(text: str | Path) -> Path:
    """Return where a file or folder is: a path of this machine, or the same for a URL that fsspec knows.

    text: such as `data/var`, `s3://bucket/ldpflow` or `memory://ldpflow`; a `Path` of a URL means the URL.
    Raises DPCoreError for a protocol that fsspec does not know or whose package is not installed, and for a URL with
    credentials, since tables and plans show paths.
    """
    if not isinstance(text, (str, Path)) or not (url := _URL.fullmatch(str(text))):
        return Path(text) if isinstance(text, str) else text
    if url[1] in ("file", "local"):
        return Path("/" + url[2])
    if "@" in url[2].partition("/")[0] or "?" in url[2]:
        raise DPCoreError(
            f"a URL of data is PROTOCOL://WHERE/NAME without users, keys or options, got one of {url[1]}:// that has them; say "
            "them in the environment, those of s3:// as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL"
        )
    from upath import UPath

    try:
        if url[1] == "s3":
            import_module("dpcore.wire.object_store")  # registers the class of such a path
        there = UPath(f"{url[1]}://{url[2]}")
        _ = there.fs
    except (ImportError, ValueError) as error:  # a protocol that needs another package, or none
        raise DPCoreError(f"{url[1]}://{url[2]} cannot be reached: {error}") from error
    return there  # type: ignore[return-value]  # has a path's methods, and is none


def is_here(path: Path) -> bool:
    """Return whether a path is of this machine."""
    return isinstance(path, Path)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a file for a reader of Parquet or CSV, who takes a path of this machine as it is."""
    if is_here(path):
        yield path
    else:
        with path.open("rb") as file:
            yield file


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder of this machine to the disk; raises OSError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def private_folder(path: Path) -> None:
    """Make a folder of this machine that its owner alone can look into; one that is there is left as it is.

    Folders above it are made as any are: they may be for others, too.
    """
    if is_here(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)


def private_file(path: Path) -> None:
    """Make a file of this machine, empty where there is none yet, that its owner alone can read and write.

    Its mode stays when it is opened later to be written; the process's mask is left alone, as all its threads share it.  A file
    that is there is not opened: closing it again would drop SQLite's locks.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            with suppress(PermissionError):  # another's
                path.chmod(0o600)


def remove_folder(path: Path) -> None:
    """Remove a folder and all that is in it, if it is there."""
    if is_here(path):
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():
        path.fs.rm(path.path, recursive=True)  # type: ignore[attr-defined]


def write_whole(path: Path, write: Callable[[Path], Any], *, private: bool = False) -> None:
    """Make folders, let `write` fill a file of this machine, and move it to `path`; a failed write leaves nothing.

    private: only its owner can read the file, and look into its folder where that is made here.  Raises OSError, which names
    `path` where there is no room for it.
    """
    if not is_here(path):
        _put_whole(path, write)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    if private:
        private_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if private:
            private_file(beside)
        write(beside)
        os.replace(beside, path)
    except OSError as error:
        if error.errno == errno.ENOSPC:  # pyarrow's error does not name the disk
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise
    finally:
        beside.unlink(missing_ok=True)


def _put_whole(path: Any, write: Callable[[Path], Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / path.name
        write(draft)
        path.fs.makedirs(path.parent.path, exist_ok=True)
        path.fs.pipe_file(path.path, draft.read_bytes())  # an object is there when its last byte is


def write_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write bytes as `write_whole` does."""
    write_whole(path, lambda beside: beside.write_bytes(content), private=private)
