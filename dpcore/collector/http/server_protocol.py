"""HTTP as the collector speaks it: uvicorn's, with doors, and without what two parsers read in two ways."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpcore.collector.http.connections import Doors
from dpcore.collector.http.responses import Trouble

_BACKLOG = 128  # connections that are accepted before any is looked at


def config_of(app: ASGIApp, doors: Doors, **more: Any) -> uvicorn.Config:
    """Return how a server gives an application to those whom the doors let in, through `Listener`."""

    def speaking(**options: Any) -> asyncio.Protocol:
        return Spoken(doors, **options)

    return uvicorn.Config(
        app,
        http=speaking,  # type: ignore[arg-type]  # whatever makes one
        ws="none",
        loop="asyncio",  # others accept by themselves
        backlog=_BACKLOG,
        access_log=False,  # it would hold addresses
        lifespan="on",
        server_header=False,
        proxy_headers=False,  # the service's own matter
        **more,
    )


class Server(uvicorn.Server):
    """A server whose doors are swept."""

    def __init__(self, config: uvicorn.Config, doors: Doors) -> None:
        super().__init__(config)
        self._doors = doors

    async def on_tick(self, counter: int) -> bool:
        """Do what is done ten times a second."""
        self._doors.sweep()
        return await super().on_tick(counter)


class Spoken(H11Protocol):
    """A connection, which tells the doors whether it waits or a request of it is being carried out."""

    def __init__(self, doors: Doors, **options: Any) -> None:
        super().__init__(**options)
        self.conn = _Strict(h11.SERVER)
        self._doors = doors
        self._number = -1

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._number = transport.get_extra_info("socket").fileno()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._tell()

    def on_response_complete(self) -> None:
        self._tell()
        super().on_response_complete()  # which may begin the next request
        self._tell()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is none, in the words of all answers, where it has no answer yet, and close."""
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

    def _tell(self) -> None:
        """An answer that its sender has yet to read is part of the request."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and not self.transport.get_write_buffer_size():
            self._doors.waits(self._number)
        elif not is_idle:
            self._doors.works(self._number, arrives=self.cycle.more_body)


class _Strict(h11.Connection):
    """Refuses a request that says its length twice over: a proxy before us may have believed the other."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = [name for name, _ in event.headers]
            if b"content-length" in names and b"transfer-encoding" in names:
                raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding")
        return event
