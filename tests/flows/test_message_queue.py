"""What is to be told stands in a file until it was taken, whatever dies."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ldpflow_flows.monitoring.webhook import Message, Outbox, Waiting

FIRST, SECOND, THIRD = (Message(key, {"text": f"of {key}"}) for key in ("a/Failed/1", "b/Crashed/2", "c/Failed/3"))


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "messages.db")


def test_a_key_is_one_message_and_what_was_taken_is_never_due_again(outbox: Outbox) -> None:
    outbox.put([FIRST, SECOND], now=10.0)
    outbox.put([FIRST, Message(SECOND.key, {"text": "another"})], now=11.0)
    assert outbox.due(12.0) == [FIRST, SECOND]
    outbox.taken(FIRST, now=13.0)
    outbox.put([FIRST], now=14.0)
    assert outbox.due(15.0) == [SECOND]
    assert outbox.waiting() is None  # nothing was tried in vain
    outbox.put([THIRD], now=16.0, taken=True)
    outbox.put([THIRD], now=17.0)
    assert outbox.due(18.0) == [SECOND]


def test_its_files_are_for_the_owner_alone_and_stay_while_it_is_open(outbox: Outbox, tmp_path: Path) -> None:
    """POSIX frees what a process holds of a file when it closes any handle of it: another's end would remove our writes."""

    def files() -> dict[str, tuple[int, int]]:
        return {path.name: (path.stat().st_ino, stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.iterdir()}

    outbox.put([FIRST], now=10.0)
    before = files()
    assert before.keys() == {"messages.db", "messages.db-shm", "messages.db-wal"}
    assert {mode for _, mode in before.values()} == {0o600}
    again = Outbox(tmp_path / "messages.db")
    elsewhere = "import sqlite3; print(sqlite3.connect('messages.db').execute('select key from messages').fetchall())"
    read = subprocess.run([sys.executable, "-c", elsewhere], cwd=tmp_path, capture_output=True, text=True)
    assert FIRST.key in read.stdout
    again.put([SECOND], now=11.0)
    assert outbox.due(12.0) == [FIRST, SECOND]
    assert files() == before


def test_what_was_tried_least_goes_first_when_it_is_due(outbox: Outbox) -> None:
    outbox.put([FIRST], now=1.0)
    outbox.put([SECOND], now=2.0)
    outbox.put_off(FIRST, "answered 500", until=100.0)
    assert outbox.due(50.0) == [SECOND]
    assert outbox.due(100.0) == [SECOND, FIRST]
    assert outbox.waiting() == Waiting(1, 1.0, "answered 500")
    assert (outbox.attempts(FIRST), outbox.attempts(SECOND), outbox.attempts()) == (1, 0, 1)
    outbox.wait(200.0)
    assert outbox.due(199.0) == []
    outbox.wait(150.0)  # not sooner again
    assert outbox.due(199.0) == []
    outbox.taken(FIRST, now=201.0)
    assert outbox.waiting() is None


def test_when_runs_were_looked_at_is_known_and_what_was_taken_long_ago_is_forgotten(outbox: Outbox) -> None:
    assert outbox.looked() is None
    outbox.put([FIRST, SECOND], now=0.0)
    outbox.taken(FIRST, now=1.0)
    outbox.look(5.0, 89 * 86_400.0)
    outbox.put([FIRST], now=7.0)
    assert outbox.due(8.0) == [SECOND]
    outbox.look(5.0, 91 * 86_400.0)
    assert outbox.looked() == (5.0, 91 * 86_400.0)
    outbox.put([FIRST], now=9.0)
    assert outbox.due(10.0) == [SECOND, FIRST]  # what was not taken is kept


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    Outbox(tmp_path / "messages.db").put([FIRST], now=1.0)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_what_was_put_or_taken_stands_though_its_process_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom ldpflow_flows.monitoring.webhook import Message, Outbox\n"
        "box = Outbox(Path(sys.argv[1]))\nbox.put([Message('one', {}), Message('two', {})], now=1.0)\n"
        "box.taken(Message('one', {}), now=2.0)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path / "messages.db")])
    assert killed.returncode == -signal.SIGKILL
    box = Outbox(tmp_path / "messages.db")
    box.put([Message("one", {})], now=3.0)
    assert [message.key for message in box.due(4.0)] == ["two"]
