"""The HTTP protocol of the collector: uvicorn's, with limits on connections, and strict about ambiguous lengths.

Limits on connections: how many are open, per address and in total, and how long each may be idle.

A connection is idle from its start, or from its last response, until the headers of the next request are complete, including
the TLS handshake.  Connections that are idle for too long are closed.  If all connections are taken, a new one replaces the one
that has been idle longest; if none is idle, the one whose body has been arriving longest.  A client that opens a thousand
connections and sends half of a header or body therefore locks out nobody, not even others at its address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpcore.collector.http import rate_limits
from dpcore.collector.http.responses import Trouble

_SPARE = 300  # file descriptors that are reserved for the store and for connections that are closing
_BACKLOG = 128  # connections that asyncio accepts before it handles any


@dataclass(eq=False)
class _Connection:
    """An open connection; since: when it became idle, or when its request began."""

    accepted: socket.socket
    sender: str
    since: float


class ConnectionLimits:
    """The open connections of a collector, by file descriptor."""

    def __init__(
        self,
        per_sender: int,
        exempt: Sequence[str] = (),
        most: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """per_sender: limit of one address.  exempt: proxies, which have no such limit.  most: limit of all."""
        self._per_sender, self._most, self._clock = per_sender, most or _most(), clock
        self._exempt = [ipaddress.ip_network(network) for network in exempt]
        self._waiting: dict[int, _Connection] = {}  # the longest idle first
        self._working: dict[int, _Connection] = {}
        self._arriving: dict[int, _Connection] = {}  # those of `_working` with incomplete bodies, the oldest first
        self._waiting_of: dict[str, dict[int, _Connection]] = {}
        self._count: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._working)

    def enter(self, accepted: socket.socket, address: str) -> bool:
        """Admit a connection, closing another one for it if necessary; return whether it was admitted."""
        sender = "" if self._is_exempt(address) else rate_limits.network(address)
        if sender and self._count[sender] >= self._per_sender:
            own = self._waiting_of.get(sender)
            candidates = own or {
                number: connection for number, connection in self._arriving.items() if connection.sender == sender
            }
        elif len(self) >= self._most:
            candidates = self._waiting or self._arriving
        else:
            candidates = None
        if candidates is not None:
            if not candidates:
                return False
            self._end(next(iter(candidates)))
        self._count[sender] += 1
        self._put(accepted.fileno(), _Connection(accepted, sender, self._clock()))
        return True

    def leave(self, number: int) -> None:
        """Remove a connection, if it is still listed."""
        connection = self._take(number)
        if connection is not None:
            self._count[connection.sender] -= 1
            if not self._count[connection.sender]:
                del self._count[connection.sender]

    def waits(self, number: int) -> None:
        """Mark a connection as idle, if it is not already."""
        connection = self._working.pop(number, None)
        self._arriving.pop(number, None)
        if connection is not None:
            connection.since = self._clock()
            self._put(number, connection)

    def works(self, number: int, *, arrives: bool = False) -> None:
        """Mark a connection as working on a request; arrives: whether its body is incomplete."""
        if number in self._waiting:
            connection = self._take(number)
            if connection is not None:
                connection.since = self._clock()
                self._working[number] = connection
        if not arrives:
            self._arriving.pop(number, None)
        elif number in self._working:
            self._arriving.setdefault(number, self._working[number])

    def sweep(self) -> None:
        """Close connections that exceed the time limits for headers or requests."""
        now = self._clock()
        for connections, most in (
            (self._waiting, rate_limits.HEADER_SECONDS),
            (self._working, rate_limits.REQUEST_SECONDS),
        ):
            while connections and now - next(iter(connections.values())).since >= most:
                self._end(next(iter(connections)))

    def _put(self, number: int, connection: _Connection) -> None:
        self._waiting[number] = connection
        self._waiting_of.setdefault(connection.sender, {})[number] = connection

    def _take(self, number: int) -> _Connection | None:
        self._arriving.pop(number, None)
        connection = self._working.pop(number, None) or self._waiting.pop(number, None)
        waiting = None if connection is None else self._waiting_of.get(connection.sender)
        if connection is not None and waiting is not None:
            waiting.pop(number, None)
            if not waiting:
                del self._waiting_of[connection.sender]
        return connection

    def _end(self, number: int) -> None:
        """Shut a connection down; the event loop then closes it."""
        accepted = (self._working.get(number) or self._waiting[number]).accepted
        self.leave(number)
        with suppress(OSError):  # the sender has disconnected
            accepted.shutdown(socket.SHUT_RDWR)

    def _is_exempt(self, address: str) -> bool:
        if not self._exempt:
            return False
        sender = ipaddress.ip_address(address.partition("%")[0])
        sender = getattr(sender, "ipv4_mapped", None) or sender
        return any(sender in network for network in self._exempt)


class Listener(socket.socket):
    """A listening socket that accepts connections within the limits only."""

    limits: ConnectionLimits

    @classmethod
    def guarding(cls, listener: socket.socket, limits: ConnectionLimits) -> Listener:
        """Return a listener with the file descriptor of a bound socket, which is detached from it."""
        guarded = cls(listener.family, listener.type, listener.proto, fileno=listener.detach())
        guarded.limits = limits
        return guarded

    def listen(self, backlog: int = 0) -> None:
        """Listen with the system's longest backlog, whatever asyncio asks for, so that bursts lose no connection."""
        super().listen(max(backlog, socket.SOMAXCONN))

    def accept(self) -> tuple[socket.socket, Any]:
        """Return a connection and its address; raises ConnectionAbortedError, as for a lost connection, if limits refuse it."""
        plain, address = super().accept()
        accepted = _CountedSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
        accepted.limits = self.limits
        if not self.limits.enter(accepted, address[0]):
            accepted.close()
            raise ConnectionAbortedError
        return accepted, address


class _CountedSocket(socket.socket):
    """A connection that counts towards the limits until it is closed."""

    limits: ConnectionLimits

    def close(self) -> None:
        if self.fileno() >= 0:
            self.limits.leave(self.fileno())
        super().close()


def _most() -> int:
    """Return how many connections fit into the process's limit of open files."""
    import resource  # the only POSIX-only import of this module

    return max(10, min(rate_limits.MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE))


def config_of(app: ASGIApp, limits: ConnectionLimits, **more: Any) -> uvicorn.Config:
    """Return the configuration of a server for an application behind connection limits and a `Listener`."""

    def make_protocol(**options: Any) -> asyncio.Protocol:
        return _CountedProtocol(limits, **options)

    return uvicorn.Config(
        app,
        http=make_protocol,  # type: ignore[arg-type]  # uvicorn calls it as a class
        ws="none",
        loop="asyncio",  # other loops bypass `Listener.accept`
        backlog=_BACKLOG,
        access_log=False,  # it would contain addresses
        lifespan="on",
        server_header=False,
        proxy_headers=False,  # the service trusts listed proxies only
        **more,
    )


class Server(uvicorn.Server):
    """A server that closes idle connections."""

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits) -> None:
        super().__init__(config)
        self._doors = limits

    async def on_tick(self, counter: int) -> bool:
        """Sweep the connections; uvicorn calls this ten times a second."""
        self._doors.sweep()
        return await super().on_tick(counter)


class _CountedProtocol(H11Protocol):
    """A connection that reports to the limits whether it is idle or working on a request."""

    def __init__(self, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(**options)
        self.conn = _Strict(h11.SERVER)
        self._doors = limits
        self._number = -1

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._number = transport.get_extra_info("socket").fileno()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_limits()

    def on_response_complete(self) -> None:
        self._update_limits()
        super().on_response_complete()  # which may begin the next request
        self._update_limits()

    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request with `Trouble`, unless a response has begun, and close the connection."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        content = Trouble(reason="not understood").model_dump_json().encode()
        length = str(len(content)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length), (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=content),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _update_limits(self) -> None:
        """Update the state; a request ends when its sender has read the response."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and not self.transport.get_write_buffer_size():
            self._doors.waits(self._number)
        elif not is_idle:
            self._doors.works(self._number, arrives=self.cycle.more_body)


class _Strict(h11.Connection):
    """Refuses requests with Content-Length and Transfer-Encoding, which a proxy may interpret differently (smuggling)."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = [name for name, _ in event.headers]
            if b"content-length" in names and b"transfer-encoding" in names:
                raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding")
        return event
