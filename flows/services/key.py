"""The key of this machine's Prefect server, required for every request: `make key` prints it.

The first start of a server creates it, in the profile that Prefect's own commands read, a file readable by its owner only.
Servers and clients find it there, also the temporary server of `make run`.  A key in the environment takes precedence.
Prefect is imported only if needed: `make up` runs without it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from dpcore.errors import DPCoreError

from . import environment

SERVER, CLIENT = "PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_AUTH_STRING"
URL = "PREFECT_API_URL"
_USER = "ldpflow"


def main(arguments: Sequence[str] = ()) -> int:
    """Print the key, with `--make` after creating one if there is none, and return the exit status.

    With `--withdraw` only record that no server runs.
    """
    try:
        if "--withdraw" in arguments:
            announce(None)
            return 0
        key = ensure() if "--make" in arguments else _one_of(os.environ) or _one_of(_profile()[1])
    except DPCoreError as error:
        print(f"ldpflow: {error}", file=sys.stderr)
        return 1
    if not key:
        print("ldpflow: there is no key yet; `make up` creates one", file=sys.stderr)
        return 1
    print(key)
    return 0


def ensure() -> str:
    """Return the key, created if there is none, and use it in this process; raises DPCoreError if two keys differ."""
    if key := _one_of(os.environ):
        return key
    from prefect.context import refresh_global_settings_context

    with _locked_profiles() as path:  # of two simultaneous first starts, one creates it
        name, settings = _profile()
        key = _one_of(settings) or f"{_USER}:{secrets.token_urlsafe(24)}"
        if any(settings.get(setting) != key for setting in (SERVER, CLIENT)):
            _keep(path, name, {SERVER: key, CLIENT: key})
        path.chmod(0o600)
    refresh_global_settings_context()
    return key


def announce(url: str | None) -> None:
    """Write the address of this folder's server into the profile that Prefect's commands read; None if none runs.

    Without a server these commands fail.  They must not start another server on the same files.
    An address of another machine, which an operator put there, stays.
    """
    with _locked_profiles() as path:
        name, settings = _profile()
        is_ours = URL not in settings or environment.is_here(urlsplit(settings[URL]).hostname or "")
        addresses = {URL: url} if is_ours else {}
        _keep(path, name, {**addresses, "PREFECT_SERVER_EPHEMERAL_ENABLED": "false"})


@contextmanager
def _locked_profiles() -> Iterator[Path]:
    """The file of profiles, locked against other processes of ldpflow."""
    from prefect.settings import get_current_settings

    path = Path(os.path.realpath(get_current_settings().profiles_path))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield path
    finally:
        os.close(folder)


def _one_of(settings: Mapping[str, str]) -> str:
    """The key among some settings, '' without one."""
    keys = {settings[name] for name in (SERVER, CLIENT) if settings.get(name)}
    if len(keys) > 1:
        raise DPCoreError(f"{SERVER} and {CLIENT} must be one key, got two; leave one of them out")
    return keys.pop() if keys else ""


def _profile() -> tuple[str, dict[str, str]]:
    """The active profile's name and its settings."""
    from prefect.settings.profiles import load_profiles

    profiles = load_profiles()
    name = os.environ.get("PREFECT_PROFILE") or profiles.active_name or "ephemeral"
    return name, profiles[name].to_environment_variables() if name in profiles.names else {}


def _keep(path: Path, name: str, settings: Mapping[str, str | None]) -> None:
    """Add settings to a profile in the file; None removes one."""
    import toml
    from prefect.settings.constants import DEFAULT_PROFILES_PATH
    from prefect.settings.profiles import load_profiles

    profiles = load_profiles()
    profiles.update_profile(name, settings, source=path)
    if profiles.active_name is None:
        profiles.set_active(name)
    document = profiles.without_profile_source(DEFAULT_PROFILES_PATH).to_dict()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(toml.dumps(document))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
