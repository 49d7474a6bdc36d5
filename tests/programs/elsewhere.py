"""`make elsewhere`: the quick tests in other surroundings than those they were written in, each in a copy of the checkout.

The surroundings are other versions of Python, another time zone with the C locale, a user that is not root, a path with a space
and an umlaut, a umask that leaves others nothing, and one core.  `--ci` runs SUBSET in all of them at once.  Each copy has an
environment of its own, installed from requirements.lock.  A surrounding that this machine lacks is skipped in one line.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.programs.mutants import copied
from tests.programs.shaken import QUICK, tried

NOBODY = 65534  # the user and group that own nothing
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
LEFT_OUT = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VENV")
# Quick tests of what the surroundings change: files and their modes, locks, dates, texts, processes, the checkout itself.
SUBSET = (
    "tests/cli/test_projects.py",
    "tests/collector/test_modes.py",
    "tests/collector/test_database.py",
    "tests/flows/test_permitted_folders.py",
    "tests/flows/test_up.py",
    "tests/architecture/test_conventions.py",
    "tests/architecture/test_pages.py",
    "tests/architecture/test_running.py",
    "tests/privacy/test_ledger.py",
    "tests/results/test_warehouse_connection.py",
    "tests/results/test_warehouse_published.py",
    "tests/rounds/test_afterwards.py",
    "tests/rounds/test_outgoing_reports.py",
    "tests/wire/test_files.py",
    "tests/wire/test_locks.py",
    "tests/wire/test_private_files.py",
)


@dataclass(frozen=True)
class Surrounding:
    """Where tests run: python is a version, umask is -1 where it stays as it is."""

    python: str = THIS
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "checkout"
    is_unprivileged: bool = False
    umask: int = -1
    has_one_core: bool = False


FAR = {"LC_ALL": "C", "LANG": "C", "TZ": "Pacific/Kiritimati"}
ODD = "das Verzeichnis für Prüfungen"
SURROUNDINGS = {
    "Python 3.11": Surrounding(python="3.11"),
    "Python 3.12": Surrounding(python="3.12"),
    "Python 3.13": Surrounding(python="3.13"),
    "C locale, time zone Pacific/Kiritimati": Surrounding(environment=FAR),
    "C locale, time zone America/St_Johns": Surrounding(environment=FAR | {"TZ": "America/St_Johns"}),
    "not root": Surrounding(is_unprivileged=True),
    "path with a space and an umlaut": Surrounding(folder=ODD),
    "umask 077": Surrounding(umask=0o077),
    "one core": Surrounding(has_one_core=True),
}
ALL_AT_ONCE = Surrounding(environment=FAR, folder=ODD, is_unprivileged=True, umask=0o077, has_one_core=True)


def pythons(version: str) -> Iterator[str]:
    """Give the interpreters of a version that may be on this machine."""
    name = f"python{version}"
    yield from (path for place in os.get_exec_path() if (path := shutil.which(name, path=place)))
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout.strip()
        yield from map(str, Path(root, "versions").glob(f"{version}.*/bin/{name}"))
    if version == THIS:
        yield str(Path(sys.base_prefix, "bin", name))


def installed(checkout: Path, around: Surrounding, given: Mapping[str, object]) -> Path | None:
    """Install the checkout in an environment of its own; return its Python, or None where its user can run none."""
    starts_another = "import ensurepip, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    for found in pythons(around.python):
        try:
            subprocess.run([found, "-c", starts_another], cwd=checkout, capture_output=True, check=True, **given)  # type: ignore[call-overload]
        except (PermissionError, subprocess.CalledProcessError):
            continue
        break
    else:
        return None
    uv, python = Path(sysconfig.get_path("scripts"), "uv"), checkout / ".venv/bin/python"
    install = [uv, "pip", "install", "--quiet", "--python", python]
    for command in (
        [uv, "venv", "--quiet", "--python", found, ".venv"],
        [*install, "--require-hashes", "-r", "requirements.lock"],
        [*install, "--no-deps", "--no-build-isolation", "-e", "."],
    ):
        subprocess.run(command, cwd=checkout, check=True, env=_environment(), umask=0o022)
    return python


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in LEFT_OUT}


def run(name: str, around: Surrounding, tests: list[str]) -> bool:
    """Run tests in a surrounding, say how it went in one line, and return whether all passed or there is no such Python."""
    with TemporaryDirectory(prefix="elsewhere-") as folder:
        Path(folder).chmod(0o755)
        checkout = copied(Path(folder, around.folder))
        (checkout.parent / "home").mkdir()
        (checkout / "ldpflow_flows").unlink()  # of a copy that is not installed
        git = ["git", "-c", "core.excludesFile=/dev/null"]
        subprocess.run([*git, "init", "--quiet"], cwd=checkout, check=True)
        subprocess.run([*git, "add", "--all"], cwd=checkout, check=True)
        given: dict[str, object] = {"umask": around.umask}
        environment = _environment() | {"HOME": str(checkout.parent / "home"), "TMPDIR": folder} | around.environment
        if around.is_unprivileged and os.geteuid() == 0:
            given |= {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
        python = installed(checkout, around, given)
        if python is None:
            print(f"{name}: skipped: no python{around.python} that its user can run", flush=True)
            return True
        if "user" in given:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", folder], check=True)
        command = [str(python), "-m", "pytest", *tests]
        if around.has_one_core:
            command = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *command]
        return tried(name, command, cwd=checkout, env=environment, **given)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {'; '.join(SURROUNDINGS)}; default: all")
    parser.add_argument("--ci", action="store_true", help="the subset in all surroundings at once, with this Python")
    parser.add_argument("--subset", action="store_true", help="the subset instead of all quick tests")
    options = parser.parse_args()
    if unknown := set(options.names) - set(SURROUNDINGS):
        print(f"surroundings are {'; '.join(SURROUNDINGS)}; got {'; '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    some = ["-m", "not slow and not flows", *SUBSET]
    if options.ci:
        return 0 if run("not root, odd path, umask 077, C locale, far time zone, one core", ALL_AT_ONCE, some) else 1
    went_well = [
        run(name, SURROUNDINGS[name], some if options.subset else QUICK) for name in options.names or SURROUNDINGS
    ]
    return 0 if all(went_well) else 1


if __name__ == "__main__":
    sys.exit(main())
