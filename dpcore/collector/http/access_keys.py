"""Access rights: a file with the hashes of API keys, the rights of each, and those of anyone without a key.

    anyone = ["read"]            # schemes, the page, the browser client

    [keys.clinic]
    sha256 = "64 hex digits"     # of the key; `ldpflow key` makes both
    may = ["submit"]
    rate = 50                    # requests a second, in place of the collector's own

A key is 32 random bytes, so a single unsalted hash suffices.  The comparison always visits all hashes, in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcore.errors import SchemeError

RIGHTS = ("read", "submit", "watch")  # schemes and pages; reports; metrics
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key's entry in the file; rate: requests a second, None for the collector's default."""

    name: str
    sha256: str
    may: frozenset[str]
    rate: float | None = None


@dataclass(frozen=True)
class Access:
    """The keys of a collector, and the rights of anyone without one."""

    anyone: frozenset[str] = frozenset(RIGHTS)
    keys: tuple[Key, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, file: Path) -> Access:
        """Read a file of keys; raises SchemeError, which names the entry and shows no hash."""
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            cause = error.strerror if isinstance(error, OSError) else "not TOML in UTF-8"
            raise SchemeError(f"{file}: the keys cannot be read ({cause}); write the file with `ldpflow key`") from None
        keys = document.get("keys", {})
        if set(document) - {"anyone", "keys"} or not isinstance(keys, dict):
            raise SchemeError(
                f"{file}: only `anyone` and tables `keys.NAME` are allowed; write the file with `ldpflow key`"
            )
        anyone = _rights(file, "anyone", document.get("anyone", []))
        return cls(anyone, tuple(_key(file, name, table) for name, table in keys.items()))

    def key_of(self, presented: str) -> Key | None:
        """Return the entry of a presented key, or None if the file has none."""
        digest = hashlib.sha256(presented.encode()).hexdigest()
        ours = None
        for key in self.keys:
            if hmac.compare_digest(key.sha256, digest):
                ours = key
        return ours


def _key(file: Path, name: str, table: Any) -> Key:
    if not isinstance(table, dict) or set(table) - {"sha256", "may", "rate"} or not _NAME.fullmatch(name):
        raise SchemeError(
            f"keys.{name} in {file} must be a table of sha256, may and rate, with a name of a-z, 0-9, _ and -"
        )
    rate = table.get("rate")
    if rate is not None and (type(rate) not in (int, float) or not 0 < rate < 1e9):
        raise SchemeError(f"keys.{name}.rate in {file} must be requests a second, above 0")
    if not _HASH.fullmatch(str(table.get("sha256"))):
        raise SchemeError(f"keys.{name}.sha256 in {file} must be 64 hex digits; `ldpflow key` writes them")
    may = _rights(file, f"keys.{name}.may", table.get("may", []))
    return Key(name=name, sha256=table["sha256"], may=may, rate=rate)


def _rights(file: Path, place: str, rights: Any) -> frozenset[str]:
    if not isinstance(rights, list) or not all(right in RIGHTS for right in rights):
        raise SchemeError(f"{place} in {file} must be a list of {', '.join(RIGHTS)}")
    return frozenset(rights)


def add_key(file: Path, name: str, may: Sequence[str], rate: float | None = None) -> str:
    """Add a new key to a file, which is created if necessary, and return the key; only its hash is stored.

    Raises SchemeError if the file cannot be read, already has a key of that name, or a right does not exist.
    """
    access = Access.read(file) if file.exists() else Access(frozenset())
    if any(key.name == name for key in access.keys):
        raise SchemeError(f"{file} already has a key {name}; delete its table first, or choose another name")
    secret = secrets.token_urlsafe(32)
    table: Mapping[str, Any] = {"sha256": hashlib.sha256(secret.encode()).hexdigest(), "may": list(may)}
    _key(file, name, {**table, **({} if rate is None else {"rate": rate})})
    rights = ", ".join(f'"{right}"' for right in may)
    lines = [f"\n[keys.{name}]", f'sha256 = "{table["sha256"]}"', f"may = [{rights}]"]
    lines += [] if rate is None else [f"rate = {rate:g}"]
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as written:
        written.write("\n".join(lines) + "\n")
    return secret
