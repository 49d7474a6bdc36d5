"""`prefect server start`, behind a door of ours, and with Python's garbage collector in a thread of its own.

The door: a request that names a host that is not ours is refused, as is one of a page that is not ours.  Prefect has no setting
for hosts, by which a page elsewhere reads a server of this machine under a name of its own; and what Prefect refuses to pages
is the answer, not the request.  The key is Prefect's own setting, which `flows/services/key.py` makes.

The collector: on SQLite the server could stand still for a minute, every page with it.  A statement that was not read to its
end, or, before Python 3.12, that failed, is reset when its cursor is collected, and that waits until nobody uses its
connection.  The user may be a writer that waits, as long as SQLite lets it, for a transaction of the event loop's to end; a
collector that runs in the event loop, as any allocation may start it, then waits for itself.  In a thread of its own the
collector waits alone, and Python runs the event loop on.
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

_EVERY = 1.0  # seconds; the objects made since the last time
_ALL = 10  # times of which one goes through the older ones as well, but for those that the start made
_HERE = ("127.0.0.1", "localhost")


def main() -> None:
    """Start the server in this process; it ends as Prefect's command does."""
    os.environ.update(environment.here())  # in a container nobody has told us
    collect_apart()
    put_up_door()
    sys.argv = ["prefect", "server", "start", *sys.argv[1:]]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


def own_origins(port: str, ui: str) -> list[str]:
    """Return the origins of our own pages; ui: the address at which people see them."""
    seen = urlsplit(ui)
    return list(dict.fromkeys([*(f"http://{host}:{port}" for host in _HERE), f"{seen.scheme}://{seen.netloc}"]))


def put_up_door() -> None:
    """Let what is served from now on by this process be served through the door."""
    import uvicorn

    serve = uvicorn.run

    @wraps(serve)
    def run(app: Any, **options: Any) -> None:
        if not callable(app):
            raise SystemExit("ldpflow: the server is one process; leave out --workers")
        serve(behind_door(app), **options)

    uvicorn.run = run


def behind_door(app: Callable[..., Any]) -> Callable[..., Any]:
    """Return an app that answers only who names one of our hosts, and no pages but our own."""
    from prefect.settings import get_current_settings
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    settings = get_current_settings()
    seen = urlsplit(settings.ui_url or "").hostname
    hosts = [*_HERE, settings.server.api.host, *([seen] if seen else [])]
    origins = [origin.strip() for origin in settings.server.api.cors_allowed_origins.split(",")]
    return TrustedHostMiddleware(_OwnPages(app, origins), allowed_hosts=hosts, www_redirect=False)


class _OwnPages:
    """An app that refuses what the pages of other origins send, read by them or not."""

    def __init__(self, app: Callable[..., Any], origins: list[str]) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        if scope["type"] in ("http", "websocket") and "*" not in self._origins:
            origins = Headers(scope=scope).getlist("origin")
            if any(origin not in self._origins for origin in origins):
                await PlainTextResponse("no page of this origin may ask", status_code=403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


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
