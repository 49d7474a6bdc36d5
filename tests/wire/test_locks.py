"""Locks between real processes: who waits says for whom, who is killed frees at once, and no two are ever in."""

from __future__ import annotations

import logging
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpcore.errors import DPCoreError
from dpcore.wire import locks
from dpcore.wire.locks import Taken, alone

HOLDER = """
import sys, time
from pathlib import Path
from dpcore.wire.locks import alone
with alone(Path(sys.argv[1]), "the oven", "baker"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""
# In turn, so many times: finds nobody in, and is in itself for a moment.
IN_TURN = """
import os, sys, time
from pathlib import Path
from dpcore.wire.locks import alone
lock, room, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for _ in range(times):
    with alone(lock, "the room", "guest"):
        os.close(os.open(room, os.O_CREAT | os.O_EXCL))
        time.sleep(0.001)
        os.unlink(room)
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "deep" / ".lock"


@pytest.fixture
def hold(lock: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started = []

    def start(seconds: float) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", HOLDER, str(lock), str(seconds)], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_lock_is_its_holders_alone_says_who_that_is_and_goes_with_it(lock: Path) -> None:
    with alone(lock, "the oven", "ldpflow run"):
        assert lock.read_text().startswith(f"process {os.getpid()} (ldpflow run), since 2")
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    assert not lock.exists()


def test_patience_ends_in_one_line_that_names_the_holder(
    lock: Path, hold: Callable[..., subprocess.Popen[bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    process = hold(60)
    said = rf"^the oven is held by process {process.pid} \(baker\), since "
    with pytest.raises(Taken, match=said) as caught, alone(lock, "the oven", "cook", patience=0.1):
        pass
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, DPCoreError)
    assert not caplog.records  # of a moment nothing is said
    assert f"process {process.pid} (baker)" in lock.read_text()  # nor was anything changed


def test_who_waits_says_for_whom_once_and_is_in_when_that_has_ended(
    lock: Path,
    hold: Callable[..., subprocess.Popen[bytes]],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locks, "_UNSAID", 0.1)  # not to wait for a whole second
    process = hold(0.4)
    with alone(lock, "the oven", "cook"):
        assert "cook" in lock.read_text()
    [said] = caplog.records
    assert (said.name, said.levelno) == ("ldpflow", logging.WARNING)
    assert said.getMessage().startswith(f"the oven is held by process {process.pid} (baker), since ")


def test_a_killed_holder_frees_it_at_once_and_its_file_locks_nobody_out(
    lock: Path, hold: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = hold(60)
    process.kill()
    process.wait()
    assert "baker" in lock.read_text()  # it is left
    began = time.monotonic()
    with alone(lock, "the oven", "cook", patience=0):
        assert "baker" not in lock.read_text()
    assert time.monotonic() - began < 1


def test_what_a_file_says_is_shown_where_it_is_text(lock: Path, hold: Callable[..., subprocess.Popen[bytes]]) -> None:
    hold(60)
    for content in (b"", b"\x1b[2J", b"two\nlines"):
        lock.write_bytes(content)
        with (
            pytest.raises(Taken, match=r"^the oven is held by another process; try"),
            alone(lock, "the oven", "cook", patience=0),
        ):
            pass


def test_threads_keep_each_other_out(lock: Path) -> None:
    inside, most, guard = [0], [0], threading.Lock()

    def enter() -> None:
        with alone(lock, "the oven", "thread"):
            with guard:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0.01)
            with guard:
                inside[0] -= 1

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert not lock.exists()


def test_who_has_waited_for_a_file_that_was_removed_has_no_lock(tmp_path: Path) -> None:
    """Another may have made the next file of that name, and hold it."""
    path, had = tmp_path / "file", list[int | None]()
    path.touch()
    first = locks.locked(path, os.O_RDWR)
    assert first is not None
    second = threading.Thread(target=lambda: had.append(locks.locked(path, os.O_RDWR)))
    second.start()
    time.sleep(0.1)
    path.unlink()
    os.close(first)
    second.join()
    assert had == [None]


def test_what_fails_inside_gives_it_back(lock: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), alone(lock, "the oven", "cook", patience=0):
            raise KeyError


def test_a_link_is_not_followed(lock: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("kept")
    lock.parent.mkdir()
    lock.symlink_to(mine)
    with pytest.raises(OSError, match="symbolic link"), alone(lock, "the oven", "cook"):
        pass
    assert mine.read_text() == "kept"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_waiting(
    lock: Path, hold: Callable[..., subprocess.Popen[bytes]], number: signal.Signals
) -> None:
    hold(60)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock), "0"],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # what a shell started beside others ignores
    )
    assert process.stderr is not None
    assert b"the oven is held by" in process.stderr.readline()  # on standard error, where no log is set up
    process.send_signal(number)
    process.communicate(timeout=5)
    assert process.returncode == -number
    assert "baker" in lock.read_text()


@pytest.mark.slow
def test_eight_processes_are_never_in_at_once_though_some_are_killed(lock: Path, tmp_path: Path) -> None:
    """The file is unlinked at each end while the others have it open, which is when two might get in."""
    room = tmp_path / "room"
    killed = [
        subprocess.Popen([sys.executable, "-c", HOLDER, str(lock), "0.2"], stdout=subprocess.DEVNULL) for _ in "ab"
    ]
    command = [sys.executable, "-c", IN_TURN, str(lock), str(room), "40"]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(8)]
    for process in killed:
        time.sleep(0.3)
        process.kill()
        process.wait()
    said = [process.communicate(timeout=120)[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, said
    assert not lock.exists()
    assert not room.exists()
