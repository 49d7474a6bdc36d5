"""A folder over HTTP on this machine, as a browser wants modules: on a port of its own, ended at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(SimpleHTTPRequestHandler):
    """Gives files, keeps what is posted to /reports, and says nothing."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.posted.append(self.rfile.read(length))  # type: ignore[attr-defined]
        self.send_response(202 if self.path == "/reports" else 404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Serve a folder; gives its URL and the list of what is posted."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        posted: list[bytes] = []
        server.posted = posted  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/", posted
        finally:
            server.shutdown()
            thread.join()
