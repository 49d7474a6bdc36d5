"""`prefect server start` with a filter of hosts and origins, and with Python's garbage collector in its own thread.

The filter refuses requests for another host name and requests from pages of other origins.  Prefect has no setting for hosts,
so a foreign page could read a local server under a host name of its own (DNS rebinding); and Prefect's CORS setting withholds
the answer from a page but carries out the request.  The key is Prefect's own setting, see `flows/services/key.py`.

The collector: on SQLite the server could freeze for a minute.  A cursor whose statement was not read to its end, or, before
Python 3.12, failed, is reset when it is collected, and the reset waits until nobody uses the connection.  Its user may be a
writer that waits for a transaction of the event loop.  If the event loop runs the collector, it waits for itself.  In its own
thread the collector waits alone.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from .services import environment

_EVERY = 1.0  # seconds between collections of young objects
_ALL = 10  # every tenth collection includes older objects, except those of the start
_START = 300  # collections, a second each, in which a server starts; `ldpflow up` waits as long
_HERE = ("127.0.0.1", "localhost")


def main() -> None:
    """Start the server in this process; it ends as Prefect's command does."""
    os.environ.update(environment.here())  # in a container the variables are not set yet
    collect_apart()
    filter_requests()
    leave_out_newer_pages()
    sys.argv = ["prefect", "server", "start", *sys.argv[1:]]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


def own_origins(port: str, ui: str) -> list[str]:
    """Return the origins of our own pages; ui: the address of the UI for users."""
    seen = urlsplit(ui)
    return list(dict.fromkeys([*(f"http://{host}:{port}" for host in _HERE), f"{seen.scheme}://{seen.netloc}"]))


def filter_requests() -> None:
    """Filter the requests of every app that this process serves from now on."""
    import uvicorn

    serve = uvicorn.run

    @wraps(serve)
    def run(app: Any, **options: Any) -> None:
        if not callable(app):
            raise SystemExit("ldpflow: the server is one process; leave out --workers")
        serve(filtered(app), **options)

    uvicorn.run = run


def filtered(app: Callable[..., Any]) -> Callable[..., Any]:
    """Return an app that answers only requests for our host names, and none from pages of other origins."""
    from prefect.settings import get_current_settings
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    settings = get_current_settings()
    seen = urlsplit(settings.ui_url or "").hostname
    hosts = [*_HERE, settings.server.api.host, *([seen] if seen else [])]
    origins = [origin.strip() for origin in settings.server.api.cors_allowed_origins.split(",")]
    return TrustedHostMiddleware(_OwnPages(app, origins), allowed_hosts=hosts, www_redirect=False)


def leave_out_newer_pages() -> None:
    """Do not serve the newer pages of the UI, nor the invitation to them, unless the operator asks for them.

    They load a tracker from another host before anybody has logged in.  Prefect's setting only chooses which ones open first.
    """
    import prefect
    from prefect.settings import get_current_settings

    if not get_current_settings().server.ui.v2_enabled:
        prefect.__ui_v2_static_path__ = prefect.__module_path__ / "not-served"


class _OwnPages:
    """An app that refuses requests from pages of other origins."""

    def __init__(self, app: Callable[..., Any], origins: list[str]) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        if scope["type"] in ("http", "websocket") and "*" not in self._origins:
            origins = Headers(scope=scope).getlist("origin")
            if any(origin not in self._origins for origin in origins):
                await PlainTextResponse("pages of this origin are not allowed", status_code=403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def collect_apart() -> None:
    """Run the garbage collector only in a thread of its own from now on."""
    gc.disable()
    threading.Thread(target=_collect, name="garbage", daemon=True).start()


def _collect() -> None:
    for turn in count(1):
        time.sleep(_EVERY)
        gc.collect(2 if turn % _ALL == 0 else 1)
        if turn % _ALL == 0 and turn <= _START:
            gc.freeze()  # 280,000 objects of the start, never collected: each later look at them would cost 0.3 s


if __name__ == "__main__":
    main()
