"""`prefect server start`, with Python's garbage collector in a thread of its own.

On SQLite the server could stand still for a minute, every page with it.  A statement that was not read to its end, or, before
Python 3.12, that failed, is reset when its cursor is collected, and that waits until nobody uses its connection.  The user may
be a writer that waits, as long as SQLite lets it, for a transaction of the event loop's to end; a collector that runs in the
event loop, as any allocation may start it, then waits for itself.  In a thread of its own the collector waits alone, and Python
runs the event loop on.
"""

from __future__ import annotations

import gc
import runpy
import sys
import threading
import time
from itertools import count

_EVERY = 1.0  # seconds; the objects made since the last time
_ALL = 10  # times of which one goes through the older ones as well, but for those that the start made


def main() -> None:
    """Start the server in this process; it ends as Prefect's command does."""
    collect_apart()
    sys.argv = ["prefect", "server", "start", *sys.argv[1:]]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


def collect_apart() -> None:
    """Let the garbage collector run in a thread of its own from now on, and in no other."""
    gc.disable()
    threading.Thread(target=_collect, name="garbage", daemon=True).start()


def _collect() -> None:
    for turn in count(1):
        time.sleep(_EVERY)
        gc.collect(2 if turn % _ALL == 0 else 1)
        if turn == _ALL:
            gc.freeze()  # 280,000 objects that stay


if __name__ == "__main__":
    main()
