"""The server's garbage collector does not let SQLite stop the event loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.flows

# A writer waits in a thread for the lock of the main thread's transaction.  Before that transaction ends, the main thread makes
# garbage until the collector runs, which frees a cursor of the writer's connection whose statement had failed.
SCRIPT = """
import gc, sqlite3, sys, threading, time
from flows import server

if sys.argv[2] == "apart":
    server._EVERY = 0.1
    server.collect_apart()
holder, waiter = (sqlite3.connect(sys.argv[1], 3, isolation_level=None, check_same_thread=False) for _ in range(2))
holder.execute("pragma journal_mode = wal")
holder.execute("create table numbers (n integer primary key)")
holder.execute("insert into numbers values (1)")
cursor = waiter.cursor()
try:
    cursor.execute("insert into numbers values (1)")
except sqlite3.IntegrityError:
    pass
holder.execute("begin immediate")
said = []

def write():
    try:
        waiter.execute("begin immediate")
        said.append("written")
    except sqlite3.OperationalError as error:
        said.append(str(error))

writer = threading.Thread(target=write)
writer.start()
time.sleep(0.5)
cycle = [cursor]
cycle.append(cycle)
del cursor, cycle
until = time.monotonic() + 1
while time.monotonic() < until:
    [[] for _ in range(10_000)]
holder.execute("commit")
writer.join()
print(*said)
"""


@pytest.mark.parametrize(("where", "said"), [("apart", "written"), ("in the main thread", "database is locked")])
def test_a_cursor_that_is_freed_does_not_hold_up_who_has_the_lock(tmp_path: Path, where: str, said: str) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "numbers.db"), where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == f"{said}\n", done.stderr
