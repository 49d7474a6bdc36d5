"""Backup of a project's folder to one file while rounds run, and its restoration.

Rule 1.  Every file is consistent: for a warehouse its published copy, for an SQLite database its own backup function; other
files are written atomically and read under the lock that ledgers use.
Rule 2.  No report is counted twice, and no round is lost.  The order is: Prefect's databases, because runs that they list as
ended have landed; files, each folder before its subfolders, because a run writes its markers after its files; warehouses, which
have the rounds that ended in the meantime; the ids that these have counted; finally the stores of collectors, which can write
missing sealed files again.
Rule 3.  A backup is written completely, and restored completely into an empty folder, or not at all.
Left out: folders of Git and Python, logs, unfinished files, dry runs on real records, links, and files outside the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader, BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import dpcore
from dpcore import wire
from dpcore.errors import DPCoreError
from dpcore.results import warehouse
from dpcore.rounds.defaults import DEFAULT_DATA, warehouse_of
from dpcore.rounds.project import Project
from dpcore.wire.locks import locked

FORMAT = 1
_MANIFEST = "ldpflow-backup.json"  # the last member; a truncated file does not have it
_PREFECT = Path(".prefect")
_COUNTED = "counted"  # the folder of ids in a folder of rounds
_NOT_OURS = {".git", ".venv", "__pycache__"}
_PASSING = (".lock", ".log", ".partial", ".tmp", ".wal", "-journal", "-shm", "-wal")  # endings of files left out
_SQLITE, _DUCKDB, _DUCKDB_AT = b"SQLite format 3\0", b"DUCK", 8
_PATIENCE = 60.0  # timeout for a locked SQLite database, seconds


@dataclass(frozen=True)
class Backup:
    """A written or restored backup.

    made_at: start of the backup; later changes may be missing.  elsewhere: parts of the project outside the backup.
    """

    files: int
    size: int
    made_at: datetime
    elsewhere: tuple[str, ...] = ()


class _Archive:
    """An open tar file.  sha256: of each file, by name; size: total, bytes."""

    tar: tarfile.TarFile

    def __init__(self, root: Path) -> None:
        self.root, self.sha256, self.size = root, dict[str, str](), 0

    def add(self, path: Path, content: BufferedReader) -> None:
        """Add a file under its name in the project."""
        status, name = os.fstat(content.fileno()), self._name(path)
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = status.st_size, path.stat().st_mode & 0o777, int(status.st_mtime)
        self.sha256[name] = hashlib.file_digest(content, "sha256").hexdigest()
        content.seek(0)
        self.tar.addfile(member, content)
        self.size += status.st_size

    def add_folder(self, path: Path) -> None:
        """Add a folder without its content."""
        member = tarfile.TarInfo(self._name(path))
        member.type, member.mode = tarfile.DIRTYPE, path.stat().st_mode & 0o777
        self.tar.addfile(member)

    def has(self, path: Path) -> bool:
        return self._name(path) in self.sha256

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def back_up(target: Path, root: Path) -> Backup:
    """Write a backup of a folder to a file that only its owner can read, because it contains the folder's secrets.

    root: a project, with all its content; for another folder, its data and Prefect's files.
    Raises DPCoreError, with nothing written, if the file exists or is inside the folder, or if a file cannot be read; OSError
    if there is no space.
    """
    root = root.absolute()
    if target.exists():
        raise DPCoreError(f"{target}: already exists; name another file")
    if target.resolve().is_relative_to(root.resolve()):
        raise DPCoreError(f"{target}: inside the folder of the backup; name a file outside {root}")
    project, made_at = Project.read(root), datetime.now(UTC)
    tops = [root] if project is not None else [root / DEFAULT_DATA, root / _PREFECT]
    if not any(file for top in tops if top.is_dir() for file in _files(top)):
        raise DPCoreError(f"{root}: no files of ldpflow; change to a project's folder")
    archive = _Archive(root)

    def write(draft: Path) -> None:
        with (
            tarfile.open(draft, "w", format=tarfile.PAX_FORMAT) as tar,
            tempfile.TemporaryDirectory(prefix=".ldpflow-", dir=target.absolute().parent) as beside,
        ):
            archive.tar = tar
            _fill(archive, tops, Path(beside))
            manifest = {
                "format": FORMAT,
                "version": dpcore.__version__,
                "made_at": made_at.isoformat(),
                "root": str(root),
            }
            text = json.dumps(manifest | {"sha256": archive.sha256}, indent=1).encode()
            member = tarfile.TarInfo(_MANIFEST)
            member.size, member.mode = len(text), 0o600
            tar.addfile(member, BytesIO(text))

    wire.write_whole(target, write, private=True)
    return Backup(len(archive.sha256), archive.size, made_at, tuple(_elsewhere(root, tops, project)))


def restore(source: Path, folder: Path) -> Backup:
    """Restore a backup to a new or empty folder.

    Raises DPCoreError, with nothing written, if the folder is not empty, or if the backup is invalid, truncated or damaged.
    """
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise DPCoreError(f"{folder}: not empty; name a new folder")
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        draft = Path(beside) / folder.name
        draft.mkdir(mode=0o700)
        manifest, size = _extract(source, draft)
        _move(draft, manifest["root"], str(folder))
        for file in _files(draft):
            if _kind(file) == "duckdb":
                warehouse.publish_copy(file)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    wire.sync_folder(folder.parent)
    return Backup(len(manifest["sha256"]), size, datetime.fromisoformat(manifest["made_at"]))


def _fill(archive: _Archive, tops: list[Path], beside: Path) -> None:
    """Add all files in the order of Rule 2."""
    databases = [file for top in tops for file in _files(top) if _kind(file) == "sqlite"]
    prefects = [
        file for file in databases if file.is_relative_to(archive.root / _PREFECT) and file.name == "prefect.db"
    ]
    for file in prefects:
        _add_database(archive, file, beside)
    warehouses = []
    for top in tops:
        for folder, files in _walk(top):
            archive.add_folder(folder)
            for file in files:
                kind = _kind(file)
                if kind == "duckdb" and _is_ours(file, archive.root):
                    warehouses.append(file)
                elif kind == "file":
                    _add_file(archive, file)
    for file in warehouses:
        _add_warehouse(archive, file)
    for top in tops:
        for file in _files(top):
            if _COUNTED in file.parts and _kind(file) == "file" and not archive.has(file):
                _add_file(archive, file)
    for file in databases:
        if file not in prefects:
            _add_database(archive, file, beside)


def _add_file(archive: _Archive, file: Path) -> None:
    handle = locked(file, os.O_RDONLY)
    if handle is None:  # it was deleted in the meantime
        return
    with open(handle, "rb") as content:
        archive.add(file, content)


def _add_database(archive: _Archive, file: Path, beside: Path) -> None:
    draft = beside / "database"
    draft.unlink(missing_ok=True)
    try:
        with (
            closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as database,
            closing(sqlite3.connect(draft)) as copy,
        ):
            database.backup(copy)
    except sqlite3.Error as error:
        raise DPCoreError(f"{file}: cannot be copied: {error}") from error
    with open(draft, "rb") as content:
        archive.add(file, content)


def _add_warehouse(archive: _Archive, file: Path) -> None:
    copy = warehouse.published(file)
    if not copy.exists() or copy.stat().st_mtime_ns != file.stat().st_mtime_ns:
        warehouse.publish_copy(file)
    with open(copy, "rb") as content:
        archive.add(file, content)


def _walk(top: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Yield the folders under one, each before its subfolders, with their files to back up."""
    for folder, below, names in os.walk(top):
        here = Path(folder)
        if warehouse.REHEARSAL in names:
            below.clear()
            continue
        below[:] = sorted(name for name in below if name not in _NOT_OURS and not (here / name).is_symlink())
        files = (here / name for name in sorted(names) if not name.endswith(_PASSING))
        yield here, [file for file in files if file.is_file() and not file.is_symlink()]


def _files(top: Path) -> Iterator[Path]:
    for _, files in _walk(top):
        yield from files


def _kind(file: Path) -> str:
    """Kind of a file by its first bytes: 'duckdb', 'copy' (a published one), 'sqlite', another 'file', or 'gone'."""
    try:
        with open(file, "rb") as content:
            start = content.read(len(_SQLITE))
    except FileNotFoundError:
        return "gone"
    if start == _SQLITE:
        return "sqlite"
    if start[_DUCKDB_AT : _DUCKDB_AT + len(_DUCKDB)] != _DUCKDB:
        return "file"
    original = file.with_name(file.name.replace(".published.", ".", 1))
    return "copy" if original != file else "duckdb"


def _is_ours(file: Path, root: Path) -> bool:
    """Whether a DuckDB file is a warehouse rather than the user's own: it has a published copy, or rounds land there."""
    project = Project.read(root)
    options = {} if project is None else project.options
    landing = options.get("warehouse") or warehouse_of(Path(options.get("data", DEFAULT_DATA)))
    return warehouse.published(file).exists() or file == root / landing


def _elsewhere(root: Path, tops: list[Path], project: Project | None) -> Iterator[str]:
    """Parts of a project that are not in its backup, because they are outside the folder or in another database."""
    yield from (
        str(file) for top in tops for file in _files(top) if _kind(file) == "duckdb" and not _is_ours(file, root)
    )
    for used in [] if project is None else project.used:
        if "://" in used or not (root / used).resolve().is_relative_to(root.resolve()):
            yield used
    home = os.environ.get("PREFECT_HOME")
    if home and not Path(home).resolve().is_relative_to(root.resolve()):
        yield home
    if "postgresql" in os.environ.get("PREFECT_SERVER_DATABASE_CONNECTION_URL", ""):
        yield "Prefect's database (PostgreSQL: pg_dump)"


def _extract(source: Path, into: Path) -> tuple[dict[str, Any], int]:
    """Write the files of a backup to a folder, and return its manifest and their total size."""
    digests, size = dict[str, str](), 0
    manifest: dict[str, Any] | None = None
    try:
        with tarfile.open(source, "r:") as tar:
            for member in tar:
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
                    raise DPCoreError(f"{source}: not a backup of ldpflow, it has {member.name!r}; name another file")
                if member.isdir():
                    (into / name).mkdir(mode=0o700, parents=True, exist_ok=True)
                    (into / name).chmod(member.mode & 0o777 | 0o700)
                    continue
                content = tar.extractfile(member)
                assert content is not None
                if member.name == _MANIFEST:
                    manifest = json.loads(content.read())
                    continue
                (into / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # its own mode may be set later
                digests[member.name] = _write(into / name, content, member)
                size += member.size
    except tarfile.ReadError as error:
        raise DPCoreError(f"{source}: not a backup of ldpflow, or truncated ({error})") from error
    except FileNotFoundError as error:
        if error.filename != str(source):
            raise
        raise DPCoreError(f"{source}: no such backup") from None
    if manifest is None:
        raise DPCoreError(f"{source}: not a backup of ldpflow, or truncated: its last part is missing")
    if manifest.get("format") != FORMAT:
        raise DPCoreError(
            f"{source}: written by a newer ldpflow (format {manifest.get('format')}, this one reads {FORMAT}); update ldpflow"
        )
    if changed := sorted(name for name, sha256 in manifest["sha256"].items() if digests.get(name) != sha256):
        raise DPCoreError(f"{source}: damaged, {changed[0]} differs from its digest; use another backup")
    return manifest, size


def _write(path: Path, content: Any, member: tarfile.TarInfo) -> str:
    """Write a file, synchronize it to disk, and return its SHA-256."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
        while part := content.read(1 << 20):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    path.chmod(member.mode & 0o777)
    os.utime(path, (member.mtime, member.mtime))
    return digest


def _move(folder: Path, before: str, now: str) -> None:
    """Replace absolute paths in plans of runs and in `figures` by the new ones."""
    if before == now:
        return

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: moved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [moved(item) for item in value]
        is_under = isinstance(value, str) and (value == before or value.startswith(before + os.sep))
        return now + value[len(before) :] if is_under else value

    for file in list(_files(folder)):
        if file.suffix == ".json" and (file.with_name("plan.json")).exists() and file.parent.parent.name == "runs":
            content = json.loads(file.read_text(encoding="utf-8"))
            if (changed := moved(content)) != content:
                wire.write_bytes(file, json.dumps(changed, indent=1).encode(), private=True)
        elif _kind(file) == "duckdb":
            warehouse.move_figures(file, before + os.sep, now + os.sep)
