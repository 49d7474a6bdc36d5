"""A container image without a container daemon: a Containerfile's own lines, run in an empty root, and what runs in it.

What the base image would bring is this machine's, to be read only: /usr, and the Python that runs the tests.  Packages that pip
would fetch are those of its environment.  A network of their own, with nothing in it, is shared by what is started.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_ETC = ("ld.so.cache", "login.defs", "nsswitch.conf", "localtime", "mime.types")
_DEVICES = ("null", "zero", "random", "urandom")
_UP = """
import fcntl, socket, struct
with socket.socket() as any: fcntl.ioctl(any, 0x8914, struct.pack("16sh", b"lo", 0x49))
"""


class Image:
    """An image as its file makes it.  root: an empty folder; context: the folder of what is copied."""

    def __init__(self, root: Path, context: Path) -> None:
        self.root, self._context = root, context
        self.user, self.command, self._at = "0:0", list[str](), "/"
        self.environment = {
            "PATH": f"{sys.base_prefix}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
        }
        self._read_only = [Path("/usr"), Path(sys.base_prefix), Path(sysconfig.get_path("purelib"))]
        self._empty()

    def build(self) -> None:
        """Carry out the Containerfile, line by line."""
        text = (self._context / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if line and not line.startswith("#"):
                getattr(self, f"_{word.lower()}")(rest)

    def inside(
        self, command: Sequence[str], volumes: Mapping[str, Path] = {}, *, frozen: bool = True, **told: str
    ) -> list[str]:
        """Return the command that runs another in the root as the image's user, without its files to write but for volumes."""
        lines = ["mount --bind $0 $0"] if frozen else []
        lines.append("mount -t tmpfs tmpfs $0/tmp")  # which may hold what follows
        for path in self._read_only:
            lines += [f"mkdir -p $0{path}", f"mount --bind {path} $0{path}", f"mount -o remount,bind,ro $0{path}"]
        lines += [f"mount --bind /dev/{name} $0/dev/{name}" for name in _DEVICES]
        lines += ["mount -t proc proc $0/proc", "mount -t tmpfs tmpfs $0/dev/shm"]
        lines += [f"mount --bind {path} $0{place}" for place, path in volumes.items()]
        lines += ["mount -o remount,bind,ro $0"] if frozen else []
        said = [f"{name}={value}" for name, value in {**self.environment, "HOME": "/srv/survey", **told}.items()]
        own = shlex.join(["env", "-i", *said, "/bin/sh", "-c", f"cd {self._at} && exec {shlex.join(command)}"])
        lines.append(f"exec setpriv --no-new-privs chroot --userspec={self.user} $0 {own}")
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", "\n".join(lines), str(self.root)]

    def _empty(self) -> None:
        for name in (
            "dev/shm",
            "etc",
            "opt",
            "proc",
            "root",
            "srv",
            "tmp",
            "usr/lib64",
            *(str(path)[1:] for path in self._read_only),
        ):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        for name in _DEVICES:
            (self.root / "dev" / name).touch()
        for name in _ETC:
            if Path("/etc", name).exists():
                shutil.copy(Path("/etc", name), self.root / "etc" / name)
        (self.root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
        (self.root / "etc/group").write_text("root:x:0:\n")
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost server database collector\n")

    def _from(self, _: str) -> None:
        pass

    def _run(self, command: str) -> None:
        done = subprocess.run(
            self.inside(["sh", "-ec", command], frozen=False), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        for folder in self.root.glob("opt/*/lib/python*/site-packages"):  # what pip was not to fetch
            (folder / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def _copy(self, words: str) -> None:
        *sources, target = words.split()
        place = self.root / (target if target.startswith("/") else f"{self._at}/{target}").lstrip("/")
        for source in sources:
            found = list(self._context.glob(source.rstrip("/")))
            assert found, source
            for path in found:
                shutil.copytree(path, place) if path.is_dir() else shutil.copy(path, place)

    def _workdir(self, place: str) -> None:
        self._at = place
        (self.root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _env(self, words: str) -> None:
        self.environment |= dict(word.split("=", 1) for word in words.split())

    def _user(self, name: str) -> None:
        found = re.search(rf"^{name}:[^:]*:(\d+):(\d+):", (self.root / "etc/passwd").read_text(), re.MULTILINE)
        assert found is not None, name
        self.user = f"{found[1]}:{found[2]}"

    def _cmd(self, words: str) -> None:
        self.command = json.loads(words)


@contextmanager
def network() -> Iterator[list[str]]:
    """Make a network with nothing but 127.0.0.1 in it, and yield the words that let a command run there."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    try:
        words = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        while os.readlink(f"/proc/{holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            pass
        subprocess.run([*words, sys.executable, "-c", _UP], check=True)
        yield words
    finally:
        holder.kill()
        holder.wait()


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command and end it and all that it has started."""
    with log.open("ab") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
