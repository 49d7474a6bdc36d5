"""The HTTP protocol of the collector: uvicorn's, with connection limits, and strict about ambiguous lengths."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpcore.collector.http.connections import ConnectionLimits
from dpcore.collector.http.responses import Trouble

_BACKLOG = 128  # connections that asyncio accepts before it handles any


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
