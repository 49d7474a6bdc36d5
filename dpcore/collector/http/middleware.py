"""Middleware of every path: error responses, the check of the Host header, and request metrics.

Only a request's path, status and scheme name are counted or logged.  Every response body is a model of `responses`.
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

from dpcore.collector.backend import Collector
from dpcore.collector.http import rate_limits
from dpcore.collector.http.responses import Refused, Trouble
from dpcore.collector.store.intake import where

_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_log = logging.getLogger(__name__)


class Ended(Exception):
    """End a request with a status and a response body."""

    def __init__(self, status: int, body: Trouble | Refused, after: float | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = {} if after is None else {"Retry-After": str(max(1, math.ceil(after)))}
        if status == 401:
            self.headers["WWW-Authenticate"] = "Bearer"


def trouble(status: int, reason: Any, after: float | None = None) -> Ended:
    return Ended(status, Trouble(reason=reason), after)


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a model of `responses`, whichever layer raises it."""

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


class OuterMiddleware:
    """The outermost layer: counts requests, adds headers, and hides errors that may quote the request.

    It refuses requests for other hosts.  This prevents DNS rebinding: an attacker's page could point its own host name to this
    address, and then read and send as a page of this collector.
    """

    def __init__(self, app: ASGIApp, collector: Collector, names: frozenset[str]) -> None:
        self._app = app
        self._desk = collector
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        try:
            if self._is_ours(scope):
                await self._app(scope, receive, send_with_headers)
            else:
                await JSONResponse(Trouble(reason="another host").model_dump(), 421)(scope, receive, send_with_headers)
        except Exception as error:
            _log.error("a request failed: %s", where(error))
            if not status:
                await JSONResponse(Trouble(reason="internal").model_dump(), 500)(scope, receive, send_with_headers)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self._desk.metrics.requests.labels(path, status).inc()
            self._desk.metrics.seconds.labels(path).observe(time.perf_counter() - began)

    def _is_ours(self, scope: Scope) -> bool:
        """Return whether a request names this host, or no host, as old clients do."""
        asked = [value for name, value in scope["headers"] if name == b"host"]
        at = (scope.get("server") or ("",))[0]
        return all(rate_limits.is_asked_here(value.decode("latin-1"), self._names, at) for value in asked)
