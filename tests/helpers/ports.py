"""Ports for the programs that tests start."""

from __future__ import annotations

import os
import socket
from itertools import count

HOST = "127.0.0.1"
# Systems hand out ports from 32,768 (Linux) or 49,152 on, also to connections of other tests between the choice of a
# port here and its use: those below are chosen by tests alone.
FIRST, PORTS = 15_000, 17_000
_STEP = 211  # ports of a process before it reaches those of the process started next
_turns = count()


def free_port() -> str:
    """Return a port on which nobody listens; another one at each call."""
    while True:
        port = FIRST + (os.getpid() * _STEP + next(_turns)) % PORTS
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        return str(port)
