"""A private PostgreSQL for the tests: a cluster in a folder of its own, reached through a socket there, gone at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")  # where its programs are, outside PATH


class Cluster:
    """A running PostgreSQL without a network port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database = 0

    def new_database(self) -> str:
        """Create an empty database and return the URL by which a Prefect server takes it."""
        self._database += 1
        name = f"prefect_{self._database}"
        run("createdb", "-h", str(self._folder), "-U", "prefect", name)
        return f"postgresql+asyncpg://prefect@/{name}?host={self._folder}"


def program(name: str) -> str:
    """Return the file of one of PostgreSQL's programs, the newest version's."""
    found = sorted(DEBIAN.glob(f"*/bin/{name}"), key=lambda file: float(file.parts[-3]))
    if path := str(found[-1]) if found else shutil.which(name):
        return path
    raise FileNotFoundError(f"PostgreSQL's {name} is not here; install it (apt-get install postgresql)")


def run(name: str, *arguments: str, there: Sequence[str] = ()) -> None:
    """Run one of its programs, which refuse to be root's, as the user that Debian's package made for that."""
    words = [*there, *(["setpriv", "--reuid=postgres", "--clear-groups"] if there else []), program(name), *arguments]
    user = "postgres" if os.geteuid() == 0 and not there else None  # another network is root's to enter
    subprocess.run(words, user=user, cwd="/", check=True, stdout=subprocess.DEVNULL)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Start a cluster whose superuser is `prefect`; only who may enter its folder may connect."""
    with tempfile.TemporaryDirectory(prefix="ldpflow-postgresql-") as made:
        folder = Path(made)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        run("initdb", "-D", f"{folder}/data", "-U", "prefect", "--auth=trust", "--encoding=UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        run("pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            yield Cluster(folder)
        finally:
            run("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "-w", "stop")


@contextmanager
def in_network(there: Sequence[str]) -> Iterator[None]:
    """Run a cluster that listens at 127.0.0.1 of another network, with a database and a superuser `prefect`.

    there: the words that let root run a command in that network.
    """
    with tempfile.TemporaryDirectory(prefix="ldpflow-postgresql-") as folder:
        shutil.chown(folder, "postgres")
        run("initdb", "-D", f"{folder}/data", "-U", "prefect", "--auth=trust", "--encoding=UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start", there=there)
        try:
            run("createdb", "-h", folder, "-U", "prefect", "prefect")
            yield
        finally:
            run("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "-w", "stop")
