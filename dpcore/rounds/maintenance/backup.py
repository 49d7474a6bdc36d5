"""A backup: what a project's folder holds, in one file, taken while rounds run; and a folder made of it again.

Rule 1.  Every file is whole: a warehouse is taken as it was published, a database of SQLite by its own backup, all else, which
appears whole under its name, under the lock that ledgers are written under.
Rule 2.  No report is counted twice, and no round is lost.  Prefect's databases come first: what they know to have ended has
landed.  Then files, each folder's own before those below, as a run writes what says that its files stand after these.  Then
warehouses, in which rounds that ended meanwhile stand; the ids that these have counted; and at last the stores of collectors,
which make sealed files again that a folder lacks.
Rule 3.  A backup is written whole, and restored whole, into an empty folder, or not at all.
Not in it: Git's and Python's own folders, logs, what is being written, rehearsals, links, and what is elsewhere.
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
_MANIFEST = "ldpflow-backup.json"  # the last member: without it a file is cut short
_PREFECT = Path(".prefect")
_COUNTED = "counted"  # the folder of ids in a folder of rounds
_NOT_OURS = {".git", ".venv", "__pycache__"}
_PASSING = (".lock", ".log", ".partial", ".tmp", ".wal", "-journal", "-shm", "-wal")  # endings of what is not kept
_SQLITE, _DUCKDB, _DUCKDB_AT = b"SQLite format 3\0", b"DUCK", 8
_PATIENCE = 60.0  # seconds for a database of SQLite that is being written


@dataclass(frozen=True)
class Backup:
    """A backup that was written, or restored.

    made_at: since when what happened may not be in it.  elsewhere: what belongs to the project and is in no backup.
    """

    files: int
    size: int
    made_at: datetime
    elsewhere: tuple[str, ...] = ()


class _Archive:
    """A tar file that is being written.  sha256: of each file in it, by its name; size: of all of them, bytes."""

    tar: tarfile.TarFile

    def __init__(self, root: Path) -> None:
        self.root, self.sha256, self.size = root, dict[str, str](), 0

    def add(self, path: Path, content: BufferedReader) -> None:
        """Put a file in, under the name that it has in the project."""
        told, name = os.fstat(content.fileno()), self._name(path)
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = told.st_size, path.stat().st_mode & 0o777, int(told.st_mtime)
        self.sha256[name] = hashlib.file_digest(content, "sha256").hexdigest()
        content.seek(0)
        self.tar.addfile(member, content)
        self.size += told.st_size

    def add_folder(self, path: Path) -> None:
        """Put a folder in, without what is in it."""
        member = tarfile.TarInfo(self._name(path))
        member.type, member.mode = tarfile.DIRTYPE, path.stat().st_mode & 0o777
        self.tar.addfile(member)

    def has(self, path: Path) -> bool:
        return self._name(path) in self.sha256

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def back_up(target: Path, root: Path) -> Backup:
    """Write what a folder holds to a file that its owner alone can read; whoever can has the folder's secrets.

    root: of a project, all that is in it; of any other folder its data and what Prefect keeps there.
    Raises DPCoreError, with nothing written, where the file is there already or within the folder, or where something cannot be
    read; OSError where there is no room.
    """
    root = root.absolute()
    if target.exists():
        raise DPCoreError(f"{target} is there already; name another file")
    if target.resolve().is_relative_to(root.resolve()):
        raise DPCoreError(f"{target} is in the folder that it would be a backup of; name a file outside of {root}")
    project, made_at = Project.of(root), datetime.now(UTC)
    tops = [root] if project is not None else [root / DEFAULT_DATA, root / _PREFECT]
    if not any(file for top in tops if top.is_dir() for file in _files(top)):
        raise DPCoreError(f"{root} holds nothing of ldpflow's; change into a project's folder")
    archive = _Archive(root)

    def write(draft: Path) -> None:
        with (
            tarfile.open(draft, "w", format=tarfile.PAX_FORMAT) as tar,
            tempfile.TemporaryDirectory(prefix=".ldpflow-", dir=target.absolute().parent) as beside,
        ):
            archive.tar = tar
            _fill(archive, tops, Path(beside))
            said = {"format": FORMAT, "version": dpcore.__version__, "made_at": made_at.isoformat(), "root": str(root)}
            text = json.dumps(said | {"sha256": archive.sha256}, indent=1).encode()
            member = tarfile.TarInfo(_MANIFEST)
            member.size, member.mode = len(text), 0o600
            tar.addfile(member, BytesIO(text))

    wire.write_whole(target, write, private=True)
    return Backup(len(archive.sha256), archive.size, made_at, tuple(_elsewhere(root, tops, project)))


def restore(source: Path, folder: Path) -> Backup:
    """Make a folder of a backup again, where there is none or an empty one.

    Raises DPCoreError, with nothing written, where the folder holds something, or the backup is none, cut short or damaged.
    """
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise DPCoreError(f"{folder} is not empty; name a folder that is not there")
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        made = Path(beside) / folder.name
        made.mkdir(mode=0o700)
        said, size = _extract(source, made)
        _move(made, said["root"], str(folder))
        for file in _files(made):
            if _kind(file) == "duckdb":
                warehouse.publish_copy(file)
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    wire.sync_folder(folder.parent)
    return Backup(len(said["sha256"]), size, datetime.fromisoformat(said["made_at"]))


def _fill(archive: _Archive, tops: list[Path], beside: Path) -> None:
    """Put everything in, in the order of Rule 2."""
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
    if handle is None:  # it has gone meanwhile
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
        raise DPCoreError(f"{file} could not be copied: {error}") from error
    with open(draft, "rb") as content:
        archive.add(file, content)


def _add_warehouse(archive: _Archive, file: Path) -> None:
    copy = warehouse.published(file)
    if not copy.exists() or copy.stat().st_mtime_ns != file.stat().st_mtime_ns:
        warehouse.publish_copy(file)
    with open(copy, "rb") as content:
        archive.add(file, content)


def _walk(top: Path) -> Iterator[tuple[Path, list[Path]]]:
    """The folders under one, each before those below it, with their files that are to be kept."""
    for folder, below, names in os.walk(top):
        here = Path(folder)
        if warehouse.REHEARSAL in names:
            below.clear()
            continue
        below[:] = sorted(name for name in below if name not in _NOT_OURS and not (here / name).is_symlink())
        kept = (here / name for name in sorted(names) if not name.endswith(_PASSING))
        yield here, [file for file in kept if file.is_file() and not file.is_symlink()]


def _files(top: Path) -> Iterator[Path]:
    for _, files in _walk(top):
        yield from files


def _kind(file: Path) -> str:
    """What a file is, by its first bytes: of 'duckdb', a published 'copy' of such, of 'sqlite', another 'file', or 'gone'."""
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
    """Whether a file of DuckDB is a warehouse, and not a team's own: it has been published, or rounds land there."""
    project = Project.of(root)
    told = {} if project is None else project.told
    landing = told.get("warehouse") or warehouse_of(Path(told.get("data", DEFAULT_DATA)))
    return warehouse.published(file).exists() or file == root / landing


def _elsewhere(root: Path, tops: list[Path], project: Project | None) -> Iterator[str]:
    """What belongs to a project and is not in its backup: it lies outside of the folder, or others keep it."""
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
    """Write the files of a backup into a folder, and return what its last member says, and their bytes."""
    found, size = dict[str, str](), 0
    said: dict[str, Any] | None = None
    try:
        with tarfile.open(source, "r:") as tar:
            for member in tar:
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
                    raise DPCoreError(f"{source} is no backup of ldpflow's: it holds {member.name!r}")
                if member.isdir():
                    (into / name).mkdir(mode=0o700, parents=True, exist_ok=True)
                    (into / name).chmod(member.mode & 0o777 | 0o700)
                    continue
                content = tar.extractfile(member)
                assert content is not None
                if member.name == _MANIFEST:
                    said = json.loads(content.read())
                    continue
                (into / name).parent.mkdir(
                    mode=0o700, parents=True, exist_ok=True
                )  # its own mode comes later, or is that
                found[member.name] = _write(into / name, content, member)
                size += member.size
    except tarfile.ReadError as error:
        raise DPCoreError(f"{source} is no backup of ldpflow's, or is cut short ({error})") from error
    except FileNotFoundError as error:
        if error.filename != str(source):
            raise
        raise DPCoreError(f"there is no backup {source}") from None
    if said is None:
        raise DPCoreError(f"{source} is no backup of ldpflow's, or is cut short: its last part is missing")
    if said.get("format") != FORMAT:
        raise DPCoreError(
            f"{source} was written by a newer ldpflow: it is of format {said.get('format')}, this code reads {FORMAT}; update "
            "ldpflow"
        )
    if changed := sorted(name for name, sha256 in said["sha256"].items() if found.get(name) != sha256):
        raise DPCoreError(f"{source} is damaged: {changed[0]} is not what was written; take another backup")
    return said, size


def _write(path: Path, content: Any, member: tarfile.TarInfo) -> str:
    """Write a file, on the disk when this returns, and return its SHA-256."""
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
    """Let what names files by their whole path name them where they are now: plans of runs, and `figures`."""
    if before == now:
        return

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: moved(each) for key, each in value.items()}
        if isinstance(value, list):
            return [moved(each) for each in value]
        is_under = isinstance(value, str) and (value == before or value.startswith(before + os.sep))
        return now + value[len(before) :] if is_under else value

    for file in list(_files(folder)):
        if file.suffix == ".json" and (file.with_name("plan.json")).exists() and file.parent.parent.name == "runs":
            said = json.loads(file.read_text(encoding="utf-8"))
            if (told := moved(said)) != said:
                wire.write_bytes(file, json.dumps(told, indent=1).encode(), private=True)
        elif _kind(file) == "duckdb":
            warehouse.move_figures(file, before + os.sep, now + os.sep)
