"""A folder of people's ledgers: which file is whose, for as long as the folder is kept.

A ledger's name is a keyed hash of the person's identifier.  The key of that hash is the folder's own, made with its first
ledger (`.salt`): with another key of answers the same ledgers are found, and without `.salt` nobody can try
identifiers.  Without it no ledger can be found, so that a folder that holds ledgers and has lost it is refused.

Before, names were made of the key of the answers.  Such ledgers are found by that key and renamed as their people are met.
Until the last is, only a key that has found one there is let in: to any other they would be nobody's, and their people new.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dpcore.errors import DPCoreError
from dpcore.protocol import tokens
from dpcore.wire.files import sync_folder
from dpcore.wire.ledger_file import FileStore, make_whole
from dpcore.wire.locks import locked

_SALT_BYTES = 32
_SALT = ".salt"
_KEY_OF = ".key-"  # followed by a digest of a key that has found an older ledger here
_ENDING = ".ledger"
_OLDER = re.compile(r"[A-Za-z0-9_-]{22}")
_NAMES, _KEYS = b"ldpflow ledger\0", b"ldpflow ledgers' key"


class LedgerFolder:
    """The ledgers of people who are told apart by an identifier.

    folder: made where there is none, for its owner only.  key: that of the people's answers.  older_names: what an older
    ldpflow named the ledgers of those who are asked now; only looked at where the folder holds such.

    Raises DPCoreError where the folder holds ledgers without the key of their names.
    """

    def __init__(self, folder: Path, key: bytes, older_names: Callable[[], Iterable[str]]) -> None:
        self._folder = folder
        with self._named_errors():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            names = os.listdir(folder)  # before the salt is looked for, which is there before any ledger
            self._older = {name for name in names if _OLDER.fullmatch(name)}
            if not (folder / _SALT).exists() and (count := sum(name.endswith(_ENDING) for name in names)):
                raise DPCoreError(
                    f"the folder {folder} holds {count:,} ledgers and no {_SALT}, the key of their names; put back the "
                    "one that was there, or name an empty folder, where everybody starts anew"
                )
            self._check_key(key, older_names)
            make_whole(folder / _SALT, f"{tokens.to_text(secrets.token_bytes(_SALT_BYTES))}\n".encode())
            sync_folder(folder)
            self._salt = self._read_salt()

    def store(self, person: str, older_names: Callable[[], Iterable[str]]) -> FileStore:
        """Return where a person's ledger is, which may yet have to be made; raises DPCoreError.

        older_names: what an older ldpflow named it, for each spelling of the person.
        """
        name = hmac.new(self._salt, _NAMES + person.encode(), hashlib.sha256).digest()[: tokens.NAME_BYTES]
        file = self._folder / (tokens.to_text(name) + _ENDING)
        for older in self._older.intersection(older_names()) if self._older else ():
            with self._named_errors():
                self._carry_over(self._folder / older, file)
            self._older.remove(older)
        return FileStore(file)

    def _check_key(self, key: bytes, older_names: Callable[[], Iterable[str]]) -> None:
        """Raise DPCoreError where older ledgers are here, and none is known to be of this key."""
        mark = self._folder / (_KEY_OF + tokens.to_text(hmac.digest(key, _KEYS, "sha256")[: tokens.NAME_BYTES]))
        if not self._older or mark.exists():
            return
        if self._older.isdisjoint(older_names()):
            raise DPCoreError(
                f"the folder {self._folder} holds {len(self._older):,} ledgers that an older ldpflow named by a key, and this "
                "key names none of them for the people in the records; use the key that they were made with, once, on records "
                "of those people, and then a new one, or name an empty folder, where everybody starts anew"
            )
        make_whole(mark, b"\n")

    def _carry_over(self, older: Path, file: Path) -> None:
        """Give an older ledger its new name; where the person has a ledger, it gets the charges of both."""
        lock = locked(self._folder / _SALT, os.O_RDWR)  # between looking and renaming nobody else does
        if lock is None:
            raise FileNotFoundError(2, f"{_SALT} is gone")
        try:
            if not older.exists():  # somebody else was faster
                return
            if not file.exists():
                older.rename(file)
            elif not older.samefile(file):
                theirs, both = FileStore(older), FileStore(file)
                with theirs.held(), both.held():
                    for (
                        line
                    ) in theirs.lines():  # killed before the older is gone, they are charged again: more, not less
                        both.append(line)
                    older.unlink()
            sync_folder(self._folder)
        finally:
            os.close(lock)

    def _read_salt(self) -> bytes:
        file = self._folder / _SALT
        salt = tokens.from_text(file.read_text(encoding="ascii", errors="replace").strip())
        if salt is None or len(salt) != _SALT_BYTES:
            raise DPCoreError(
                f"{file}, the key of the names of the ledgers beside it, is damaged; put back the one that was there"
            )
        if file.stat().st_mode & 0o077:
            raise DPCoreError(
                f"{file}: other users can read it, and find out which ledger is whose; run chmod 600 on it"
            )
        return salt

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DPCoreError(f"the folder of ledgers {self._folder} cannot be used ({error.strerror})") from None
