"""Collectors on 127.0.0.1, in this process or as `ldpflow serve`, and what is sent to them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dpcore as dp
from dpcore import wire
from dpcore.collector.backend import Collector
from dpcore.collector.http.access_keys import Access
from dpcore.collector.http.server_protocol import ConnectionLimits, Listener, Server, config_of
from dpcore.collector.http.service import LINES, ONE, STREAM, Service
from dpcore.collector.serve import listening
from dpcore.collector.store.report_ids import WHOLE, Share
from dpcore.protocol import tokens
from dpcore.protocol.report import ReportBatch, with_ids
from dpcore.protocol.scheme import Scheme

HOST = "127.0.0.1"
TEXT = """
name = "colours"
clients = 1000

[attributes.colour]
type = "categorical"
categories = ["red", "green", "blue"]
epsilon = 1

[attributes.height]
type = "numeric"
lower = 0
upper = 2
mechanism = "dyadic_wave"
epsilon = 1
"""
COLOUR = TEXT.partition("[attributes.height]")[
    0
]  # without a curve, whose check of its values takes longer than a small round
SCHEME = Scheme.from_toml(TEXT)
PATH = "/schemes/colours"


def reports(count: int, seed: int = 0, scheme: Scheme = SCHEME) -> ReportBatch:
    """So many reports of SCHEME, or one of its attributes, with ids that no other seed has."""
    rng = np.random.default_rng(seed)
    people = {"colour": rng.choice(["red", "green", "blue"], count), "height": 2 * rng.random(count)}
    return with_ids(dp.privatize(scheme, people, dp.seeded(seed)), dp.seeded((seed, 1)))


def stream(count: int, seed: int = 0, sent_for: str = "") -> bytes:
    return wire.write_stream(reports(count, seed), SCHEME, sent_for)


def single(seed: int = 0, sent_for: str = "") -> bytes:
    client = dp.Client(SCHEME, dp.seeded((seed, 2)))
    return wire.write_report(client.report({"colour": "red", "height": 1}, sent_for), SCHEME)


def of_token(seed: int, person: int = 0, sent_for: str = "", colour: str = "red") -> bytes:
    """The report of a person who sends a token; another seed is another report of theirs."""
    token = tokens.token_of(bytes([person] * 16), SCHEME.digest)
    report = dp.Client(SCHEME, dp.seeded((seed, 4)), token).report({"colour": colour, "height": 1}, sent_for)
    return wire.write_report(report, SCHEME)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def said(self) -> Any:
        return json.loads(self.content)


@dataclass
class Sender:
    """One connection, which is opened again where it was lost."""

    port: int
    key: str | None = None

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        self._used = time.monotonic()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """What is answered; raises OSError or http.client.HTTPException where nothing is."""
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if time.monotonic() - self._used > 2:  # the server closes what is idle for five seconds
            self._connection.close()
        try:
            self._connection.request(method, path, body, named)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        self._used = time.monotonic()
        if response.will_close:
            self._connection.close()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def one(self, content: bytes, path: str = PATH) -> Answer:
        return self.ask("POST", f"{path}/reports", content, Content_Type=ONE)

    def lines(self, content: bytes, path: str = PATH) -> Answer:
        return self.ask("POST", f"{path}/batches", content, Content_Type=LINES)

    def stream(self, content: bytes, path: str = PATH) -> Answer:
        return self.ask("POST", f"{path}/batches", content, Content_Type=STREAM)


@contextmanager
def collector(
    folder: Path,
    *schemes: Scheme,
    access: Access | None = None,
    rate: float = 1e6,
    most: int = 1 << 20,
    seconds: float = 3600,
    origins: tuple[str, ...] = (),
    proxies: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    connections: int = 100,
    share: Share = WHOLE,
    refuse_late: bool = False,
) -> Iterator[Sender]:
    """A collector in a thread of this process; at the end it is stopped in peace."""
    desk = Collector(folder, schemes or (SCHEME,), seconds=seconds, share=share, refuse_late=refuse_late)
    service = Service(collector=desk, access=access or Access(), rate=rate, most=most, names=frozenset(names))
    doors = ConnectionLimits(connections, proxies)
    server = Server(config_of(service.app(origins, proxies), doors, log_config=None), doors)
    with Listener.guarding(listening(HOST, 0), doors) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                thread.join(0.01)
                if not thread.is_alive():
                    raise AssertionError("the collector ended")
            sender = Sender(listener.getsockname()[1])
            yield sender
            sender.close()
        finally:
            server.should_exit = True
            thread.join(60)
    assert not thread.is_alive()


class Serving:
    """`ldpflow serve` as a process of its own; `before` runs in it before it starts."""

    def __init__(self, folder: Path, scheme: Path, *options: str, port: int = 0, before: Any = None) -> None:
        words = [sys.executable, "-m", "dpcore.cli", "serve", str(scheme), "--into", str(folder), "--port", str(port)]
        self.process = subprocess.Popen(
            [*words, "--rate", "1000000", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            preexec_fn=before,
        )

    def wait(self) -> int:
        """Wait until it listens and return the port; raises AssertionError where it ends before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("collecting at "):
                return int(line.split()[2].rpartition(":")[2])
        raise AssertionError(f"the collector ended: {self.ended()}")

    def ended(self) -> tuple[int, str]:
        """Wait for its end; its status and what it said of errors."""
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
