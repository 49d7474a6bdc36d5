"""Around every path of the collector: how a request ends that is not carried out, whom it may ask for, and what is counted.

Nothing of a request but its path, its status and the name of its scheme is counted or logged, and no answer says more than
`responses` does.
"""

from __future__ import annotations

import logging
import math
import time
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpcore.collector.backend import Desk
from dpcore.collector.http import rate_limits
from dpcore.collector.http.responses import Refused, Trouble
from dpcore.collector.store.intake import where

_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_log = logging.getLogger(__name__)


class Ended(Exception):
    """A request that ends here, with a status and the body of its answer."""

    def __init__(self, status: int, body: Trouble | Refused, after: float | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = {} if after is None else {"Retry-After": str(max(1, math.ceil(after)))}
        if status == 401:
            self.headers["WWW-Authenticate"] = "Bearer"


def trouble(status: int, reason: Any, after: float | None = None) -> Ended:
    return Ended(status, Trouble(reason=reason), after)


def explain(app: FastAPI) -> None:
    """Let every error be one of `responses`, whoever finds it."""

    @app.exception_handler(Ended)
    async def ended(_: Request, error: Ended) -> Response:
        return JSONResponse(error.body.model_dump(), error.status, error.headers)

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        reason = {404: "no such place", 405: "no such method"}.get(error.status_code, "not understood")
        return JSONResponse(Trouble(reason=reason).model_dump(), error.status_code, dict(error.headers or {}))  # type: ignore[arg-type]

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> Response:
        return JSONResponse(Trouble(reason="no such place").model_dump(), 404)


class Watched:
    """Around everything: counts requests, adds headers, and lets no error out that says what was sent.

    A request for another host is refused.  Else a page elsewhere, whose name somebody has made to lead here, could read and
    send here as if it were ours (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, desk: Desk, names: frozenset[str]) -> None:
        self._app = app
        self._desk = desk
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        try:
            if self._is_ours(scope):
                await self._app(scope, receive, watched)
            else:
                await JSONResponse(Trouble(reason="another host").model_dump(), 421)(scope, receive, watched)
        except Exception as error:
            _log.error("a request failed: %s", where(error))
            if not status:
                await JSONResponse(Trouble(reason="internal").model_dump(), 500)(scope, receive, watched)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self._desk.metrics.requests.labels(path, status).inc()
            self._desk.metrics.seconds.labels(path).observe(time.perf_counter() - began)

    def _is_ours(self, scope: Scope) -> bool:
        """Whether a request asks for this host, or, as old clients do, for none."""
        asked = [value for name, value in scope["headers"] if name == b"host"]
        at = (scope.get("server") or ("",))[0]
        return all(rate_limits.is_asked_here(value.decode("latin-1"), self._names, at) for value in asked)
