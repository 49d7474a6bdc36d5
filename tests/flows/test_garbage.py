"""The server's garbage collector does not let SQLite stop the event loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.flows

# A writer waits in a thread for the lock of the main thread's transaction.  Before that transaction ends, garbage is collected,
# which frees a cursor of the writer's connection that was not read to its end.  Whoever frees it waits for the writer: another
# thread does so until the main one ends its transaction, the main thread until the writer has no patience left.
SCRIPT = """
import gc, sqlite3, sys, threading, time
from ldpflow_flows import server

apart = sys.argv[2] == "apart"
if apart:
    server._EVERY = 0.1
    server.collect_apart()
patience = 60 if apart else 1
holder, waiter = (
    sqlite3.connect(sys.argv[1], timeout=patience, isolation_level=None, check_same_thread=False) for _ in range(2)
)
holder.execute("pragma journal_mode = wal")
cursor = waiter.execute("select 1 union all select 2")
cursor.fetchone()
holder.execute("begin immediate")
waits, collected, said = threading.Event(), threading.Event(), []
waiter.set_trace_callback(lambda _: waits.set())

def write():
    try:
        waiter.execute("begin immediate")
        said.append("written")
    except sqlite3.OperationalError:  # its text is the connection's, which the cursor's end may have cleared by now
        said.append("refused")

writer = threading.Thread(target=write)
writer.start()
assert waits.wait(60)
time.sleep(0.1)  # the writer leaves its callback: there it could collect the cycle itself, and would not wait
cycle = [cursor]
cycle.append(cycle)
del cursor, cycle
gc.callbacks.append(lambda phase, _: phase == "start" and collected.set())
until = time.monotonic() + 60
while not collected.is_set() and time.monotonic() < until:
    [[] for _ in range(10_000)]
holder.execute("commit")
writer.join()
print(*said)
"""


@pytest.mark.parametrize(("where", "said"), [("apart", "written"), ("in the main thread", "refused")])
def test_a_cursor_that_is_freed_does_not_hold_up_who_has_the_lock(tmp_path: Path, where: str, said: str) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "numbers.db"), where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == f"{said}\n", done.stderr


def test_the_server_starts_with_its_collector_apart() -> None:
    script = (
        "import gc, runpy, sys, threading\n"
        "def run_module(name, **_):\n"
        "    print(sys.argv[1:], gc.isenabled(), [thread.name for thread in threading.enumerate()])\n"
        "runpy.run_module = run_module\n"
        "from ldpflow_flows import server\n"
        "server.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "['server', 'start'] False ['MainThread', 'garbage']\n", done.stderr


SLOW_START = """
import gc, time
from ldpflow_flows import server

server._EVERY, server._ALL = 0.02, 2
server.collect_apart()
until = time.monotonic() + 60
while not gc.get_freeze_count() and time.monotonic() < until:
    time.sleep(0.02)
early = gc.get_freeze_count()
late = [[number] for number in range(50_000)]
while gc.get_freeze_count() < early + len(late) and time.monotonic() < until:
    time.sleep(0.02)
print(gc.get_freeze_count() >= early + len(late))
"""


def test_what_a_slow_start_makes_after_the_first_collection_is_not_looked_at_again() -> None:
    done = subprocess.run([sys.executable, "-c", SLOW_START], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
